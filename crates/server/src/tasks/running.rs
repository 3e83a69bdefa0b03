//! A task that runs here: how far it is, what it asks, and how it ends. Begun and ended by the
//! parent; its handler's context and its client change it meanwhile.

use super::{iso, now_ms, with_record};
use crate::ask::AskError;
use crate::changes::{Change, Changes};
use crate::task_store::{TaskRecord, TaskState};
use haft_proto::spec::question::Question;
use haft_proto::spec::task::{Stage, Task};
use serde_json::value::RawValue;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

/// A task that runs here.
pub(crate) struct Running {
    id: Arc<str>,
    owner: String,
    created_ms: u64,
    ttl_ms: u64,
    /// The longest message that is kept.
    message_bytes: usize,
    progress: Mutex<Progress>,
    changes: Arc<Changes>,
}

/// What changes while it runs.
#[derive(Default)]
struct Progress {
    updated_ms: u64,
    message: Option<String>,
    questions: Vec<(Box<str>, Question)>,
    answers: HashMap<Box<str>, oneshot::Sender<Box<str>>>,
    /// The keys of all questions so far: none may stand for two.
    keys: HashSet<Box<str>>,
    abort: Option<AbortHandle>,
    /// How it ends is known, and being kept.
    is_ending: bool,
    /// How it ended.
    over: Option<TaskRecord>,
}

impl Running {
    /// One that begins now.
    pub(super) fn new(
        (id, owner): (Arc<str>, String),
        ttl: Duration,
        message_bytes: usize,
        changes: &Arc<Changes>,
    ) -> Self {
        let now = now_ms();
        Self {
            id,
            owner,
            created_ms: now,
            ttl_ms: u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX),
            message_bytes,
            progress: Mutex::new(Progress { updated_ms: now, ..Progress::default() }),
            changes: Arc::clone(changes),
        }
    }

    /// What it takes to end it before it is done.
    pub(crate) fn set_abort(&self, abort: AbortHandle) {
        self.lock().abort = Some(abort);
    }

    /// How long it may run.
    pub(crate) fn ttl(&self) -> Duration {
        Duration::from_millis(self.ttl_ms)
    }

    pub(super) fn expires_ms(&self) -> u64 {
        self.created_ms.saturating_add(self.ttl_ms)
    }

    /// Whether nothing will change any more.
    pub(crate) fn is_over(&self) -> bool {
        self.lock().over.is_some()
    }

    pub(super) fn belongs_to(&self, owner: &str) -> bool {
        self.owner == owner
    }

    /// How it ends, as it is to be kept; `None` if that is known already. Until it is kept, nobody
    /// sees it.
    pub(super) fn begin_end(&self, state: TaskState) -> Option<TaskRecord> {
        {
            let mut progress = self.lock();
            if progress.is_ending {
                return None;
            }
            progress.is_ending = true;
            if matches!(state, TaskState::Cancelled) {
                progress.abort.take().inspect(AbortHandle::abort);
            }
        }
        Some(self.record(state))
    }

    /// It is over; whoever watches is told.
    pub(super) fn end(&self, record: TaskRecord) {
        self.lock().over = Some(record);
        self.changes.publish(Change::Task(Arc::clone(&self.id)));
    }

    /// Says how far it is, for a person: the beginning, if it is longer than what is kept.
    pub(crate) fn note(&self, message: &str) {
        let limit = self.message_bytes.min(message.len());
        let end = (0..=limit).rev().find(|at| message.is_char_boundary(*at)).unwrap_or_default();
        self.change(|progress| {
            progress.message = Some(message[..end].to_owned());
            true
        });
    }

    /// Asks its client, who finds the question when it looks next.
    ///
    /// # Errors
    /// [`AskError::TooMany`] wait already, or the task is over.
    pub(crate) fn ask(
        self: &Arc<Self>,
        key: &str,
        question: Question,
        limit: usize,
    ) -> Result<TaskQuestion, AskError> {
        let (answer, answered) = oneshot::channel();
        let mut asked = Err(AskError::Gone);
        self.change(|progress| {
            if progress.questions.len() >= limit {
                asked = Err(AskError::TooMany);
                return false;
            }
            let (mut own, mut count) = (Box::<str>::from(key), progress.keys.len());
            while !progress.keys.insert(own.clone()) {
                own = format!("{key}-{count}").into();
                count += 1;
            }
            let key = own;
            progress.questions.push((key.clone(), question));
            progress.answers.insert(key.clone(), answer);
            asked = Ok(key);
            true
        });
        asked.map(|key| TaskQuestion { running: Arc::clone(self), key, answered })
    }

    /// Calls `act` with how far it is.
    pub(crate) fn with_task(&self, poll: Duration, act: impl FnOnce(&Task<'_>)) {
        let progress = self.lock();
        if let Some(record) = &progress.over {
            return with_record(record, poll, act);
        }
        let stage = match &*progress.questions {
            _ if progress.is_ending => Stage::Working,
            [] => Stage::Working,
            questions => Stage::InputRequired(questions),
        };
        act(&Task {
            id: &self.id,
            stage,
            message: progress.message.as_deref(),
            created_at: &iso(self.created_ms),
            updated_at: &iso(progress.updated_ms),
            ttl_ms: Some(self.ttl_ms),
            poll_ms: u64::try_from(poll.as_millis()).ok(),
        });
    }

    /// Its id.
    pub(crate) fn id(&self) -> &Arc<str> {
        &self.id
    }

    pub(super) fn answer(&self, mut answers: HashMap<Box<str>, Box<RawValue>>) {
        self.change(|progress| {
            let asked = progress.questions.len();
            let known: Vec<_> = progress.questions.iter().map(|(key, _)| key.clone()).collect();
            for key in known {
                let Some(answer) = answers.remove(&key) else { continue };
                progress.questions.retain(|(asked, _)| *asked != key);
                if let Some(waiting) = progress.answers.remove(&key) {
                    // Whoever asked may not wait any more.
                    let _ = waiting.send(answer.get().into());
                }
            }
            progress.questions.len() < asked
        });
    }

    /// Tells whoever watches, if `act` says that it has changed something. What ends stays as it
    /// is.
    fn change(&self, act: impl FnOnce(&mut Progress) -> bool) {
        {
            let mut progress = self.lock();
            if progress.is_ending || !act(&mut progress) {
                return;
            }
            progress.updated_ms = now_ms();
        }
        self.changes.publish(Change::Task(Arc::clone(&self.id)));
    }

    pub(super) fn record(&self, state: TaskState) -> TaskRecord {
        TaskRecord {
            id: self.id.to_string(),
            owner: self.owner.clone(),
            created_ms: self.created_ms,
            updated_ms: now_ms(),
            ttl_ms: self.ttl_ms,
            state,
            message: self.lock().message.clone(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question that a task has asked; taken back when it is dropped.
pub(crate) struct TaskQuestion {
    running: Arc<Running>,
    key: Box<str>,
    pub(crate) answered: oneshot::Receiver<Box<str>>,
}

impl Drop for TaskQuestion {
    fn drop(&mut self) {
        self.running.change(|progress| {
            let asked = progress.questions.len();
            progress.questions.retain(|(asked, _)| *asked != self.key);
            progress.answers.remove(&self.key);
            progress.questions.len() < asked
        });
    }
}
