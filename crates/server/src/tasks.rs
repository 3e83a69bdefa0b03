//! Calls that go on after their answer (the extension `io.modelcontextprotocol/tasks`): those that
//! run here, and those that are over and kept. Called by `driver`, which hands a call over, and by
//! `task_calls`, which answers for it.

use crate::ask::AskError;
use crate::changes::{Change, Changes};
use crate::task_store::{TaskRecord, TaskState, TaskStore};
use haft_proto::encode;
use haft_proto::error::{Mistake, Refusal};
use haft_proto::json::{JsonStr, member};
use haft_proto::limits::Limits;
use haft_proto::service::Principal;
use haft_proto::spec::question::Question;
use haft_proto::spec::task::{Stage, Task};
use serde_json::value::RawValue;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

/// When a tool's calls become tasks, for clients that take tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskUse {
    /// At once; for other clients they stay calls.
    Always,
    /// Never.
    #[default]
    Never,
    /// When the handler says so: [`Context::become_task`](crate::Context::become_task).
    OnDemand,
    /// At once; other clients are refused. Those of the legacy era cannot say that they take tasks,
    /// and wait for the answer.
    Required,
}

/// All tasks of a server.
pub(crate) struct Tasks {
    all: Mutex<All>,
    store: Arc<dyn TaskStore>,
    changes: Arc<Changes>,
    most: usize,
    ttl: Duration,
    poll: Duration,
    /// When the store was last swept, in milliseconds since 1970.
    swept_ms: Mutex<u64>,
}

/// Tasks that began here.
#[derive(Default)]
struct All {
    running: HashMap<Arc<str>, Arc<Running>>,
    /// Those that are kept, over or not, by when they expire.
    kept: BTreeSet<(u64, Arc<str>)>,
}

impl All {
    /// What has expired need not be known any more, stored or not.
    fn forget_expired(&mut self, now_ms: u64) {
        while self.kept.first().is_some_and(|(expires_ms, _)| *expires_ms < now_ms) {
            let (_, id) = self.kept.pop_first().expect("one is there");
            self.running.remove(&id);
        }
    }
}

/// A task that runs here.
pub(crate) struct Running {
    id: Arc<str>,
    owner: String,
    created_ms: u64,
    ttl_ms: u64,
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
    /// How it ended.
    over: Option<TaskRecord>,
}

/// How often the store is swept at most, in milliseconds.
const SWEEP_MS: u64 = 10_000;

impl Tasks {
    pub(crate) fn new(store: Arc<dyn TaskStore>, changes: Arc<Changes>, limits: &Limits) -> Self {
        Self {
            all: Mutex::default(),
            store,
            changes,
            most: limits.tasks,
            ttl: limits.task_ttl,
            poll: limits.task_poll,
            swept_ms: Mutex::new(0),
        }
    }

    /// Begins a task; when this is done, it can be asked for.
    pub(crate) async fn begin(
        &self,
        principal: &Principal,
        ttl: Option<Duration>,
    ) -> Result<Arc<Running>, Refusal> {
        self.sweep().await;
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| internal(&error))?;
        let now = now_ms();
        let running = Arc::new(Running {
            id: format!("{:032x}", u128::from_ne_bytes(random)).into(),
            owner: owner(principal),
            created_ms: now,
            ttl_ms: u64::try_from(ttl.unwrap_or(self.ttl).as_millis()).unwrap_or(u64::MAX),
            progress: Mutex::new(Progress { updated_ms: now, ..Progress::default() }),
            changes: Arc::clone(&self.changes),
        });
        {
            let mut all = self.lock();
            all.forget_expired(now);
            if all.kept.len() >= self.most {
                let message = format!("Overloaded: {} tasks are kept; try again later", self.most);
                return Err(Refusal::new(Mistake::Overloaded, message));
            }
            all.kept.insert((running.expires_ms(), Arc::clone(&running.id)));
            all.running.insert(Arc::clone(&running.id), Arc::clone(&running));
        }
        // Its client may go before it is kept, and nobody would know of it.
        let beginning = Beginning { tasks: self, running: Some(&running) };
        let stored = self.store.put(running.record(TaskState::Working)).await;
        stored.map_err(|error| internal(&error))?;
        beginning.has_begun();
        Ok(running)
    }

    /// A task is over. What cannot be stored stays here until it expires.
    pub(crate) async fn end(&self, running: &Running, state: TaskState) {
        let record = running.record(state);
        // Cancelled and done at the same time, it is what came first.
        let record = running.lock().over.get_or_insert(record).clone();
        // It is told once it is kept, and all the same if whoever cancels it goes before.
        let _told = Told { tasks: self, running };
        if self.store.put(record).await.is_ok() {
            self.lock().running.remove(&running.id);
        }
    }

    /// Writes how far a task is.
    pub(crate) async fn write_state(
        &self,
        id: &str,
        principal: &Principal,
        write: impl FnOnce(&Task<'_>),
    ) -> Result<(), Refusal> {
        if let Some(running) = self.running(id, principal) {
            running.with_task(self.poll, write);
            return Ok(());
        }
        let record = self.store.find(id).await.map_err(|error| internal(&error))?;
        let is_theirs =
            |record: &TaskRecord| record.owner == owner(principal) && !record.is_expired(now_ms());
        let record = record.filter(is_theirs).ok_or_else(unknown)?;
        with_record(&record, self.poll, write);
        Ok(())
    }

    /// Gives answers to a task that waits for them; others are ignored.
    pub(crate) async fn answer(
        &self,
        id: &str,
        principal: &Principal,
        answers: HashMap<Box<str>, Box<RawValue>>,
    ) -> Result<(), Refusal> {
        match self.running(id, principal) {
            Some(running) => {
                running.answer(answers);
                Ok(())
            }
            None => self.write_state(id, principal, |_| {}).await,
        }
    }

    /// Ends a task that runs; one that is over stays as it is.
    pub(crate) async fn cancel(&self, id: &str, principal: &Principal) -> Result<(), Refusal> {
        match self.running(id, principal) {
            Some(running) => {
                running.lock().abort.take().inspect(AbortHandle::abort);
                self.end(&running, TaskState::Cancelled).await;
                Ok(())
            }
            None => self.write_state(id, principal, |_| {}).await,
        }
    }

    /// Those of the tasks that are the asker's and run here: others have no news.
    pub(crate) fn running_of(&self, ids: &[Arc<str>], principal: &Principal) -> Vec<Arc<Running>> {
        ids.iter().filter_map(|id| self.running(id, principal)).collect()
    }

    pub(crate) fn poll_interval(&self) -> Duration {
        self.poll
    }

    fn running(&self, id: &str, principal: &Principal) -> Option<Arc<Running>> {
        self.lock().running.get(id).filter(|running| running.owner == owner(principal)).cloned()
    }

    /// What cannot be swept is tried again: no reason to refuse a new task.
    async fn sweep(&self) {
        let now = now_ms();
        {
            let mut swept = self.swept_ms.lock().unwrap_or_else(PoisonError::into_inner);
            if now.saturating_sub(*swept) < SWEEP_MS {
                return;
            }
            *swept = now;
        }
        let _ = self.store.sweep(now).await;
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells that a task is over, when it is dropped.
struct Told<'a> {
    tasks: &'a Tasks,
    running: &'a Running,
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        self.tasks.changes.publish(Change::Task(Arc::clone(&self.running.id)));
    }
}

/// A task that is not kept yet; dropped before it is, it never was.
struct Beginning<'a> {
    tasks: &'a Tasks,
    running: Option<&'a Running>,
}

impl Beginning<'_> {
    fn has_begun(mut self) {
        self.running = None;
    }
}

impl Drop for Beginning<'_> {
    fn drop(&mut self) {
        if let Some(running) = self.running {
            let mut all = self.tasks.lock();
            all.kept.remove(&(running.expires_ms(), Arc::clone(&running.id)));
            all.running.remove(&running.id);
        }
    }
}

impl Running {
    /// What it takes to end it before it is done.
    pub(crate) fn set_abort(&self, abort: AbortHandle) {
        self.lock().abort = Some(abort);
    }

    /// How long it may run.
    pub(crate) fn ttl(&self) -> Duration {
        Duration::from_millis(self.ttl_ms)
    }

    fn expires_ms(&self) -> u64 {
        self.created_ms.saturating_add(self.ttl_ms)
    }

    /// Whether nothing will change any more.
    pub(crate) fn is_over(&self) -> bool {
        self.lock().over.is_some()
    }

    /// Says how far it is, for a person.
    pub(crate) fn note(&self, message: &str) {
        self.change(|progress| {
            progress.message = Some(message.to_owned());
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
            let mut own: Box<str> = key.into();
            while !progress.keys.insert(own.clone()) {
                own = format!("{key}-{}", progress.keys.len()).into();
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

    fn answer(&self, mut answers: HashMap<Box<str>, Box<RawValue>>) {
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

    /// Tells whoever watches, if `act` says that it has changed something. What is over stays as it
    /// is.
    fn change(&self, act: impl FnOnce(&mut Progress) -> bool) {
        {
            let mut progress = self.lock();
            if progress.over.is_some() || !act(&mut progress) {
                return;
            }
            progress.updated_ms = now_ms();
        }
        self.changes.publish(Change::Task(Arc::clone(&self.id)));
    }

    fn record(&self, state: TaskState) -> TaskRecord {
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

/// Calls `act` with a task that is over.
fn with_record(record: &TaskRecord, poll: Duration, act: impl FnOnce(&Task<'_>)) {
    let stage = match &record.state {
        TaskState::Cancelled => Stage::Cancelled,
        TaskState::Completed { result } => Stage::Completed(result.get()),
        TaskState::Failed { error } => Stage::Failed(error.get()),
        TaskState::Working => Stage::Working,
    };
    // What a person reads of a failure is why; how far it was helps nobody any more.
    let why = match &record.state {
        TaskState::Failed { error } => member(error.get(), "message"),
        _ => None,
    };
    let why = why.and_then(JsonStr::from_raw).map(JsonStr::decode);
    act(&Task {
        id: &record.id,
        stage,
        message: why.as_deref().or(record.message.as_deref()),
        created_at: &iso(record.created_ms),
        updated_at: &iso(record.updated_ms),
        ttl_ms: Some(record.ttl_ms),
        poll_ms: u64::try_from(poll.as_millis()).ok(),
    });
}

/// The JSON of a refusal, as a failed task keeps it.
pub(crate) fn failure(refusal: &Refusal) -> TaskState {
    let mut error = Vec::new();
    encode::error_object(&mut error, refusal);
    let error = String::from_utf8(error).expect("encoders write UTF-8");
    TaskState::Failed { error: RawValue::from_string(error).expect("encoders write JSON") }
}

/// What is told of a task that is not there, or somebody else's.
pub(crate) fn unknown() -> Refusal {
    let message = "Invalid params: unknown `taskId`; it may have expired";
    Refusal::new(Mistake::InvalidParams, message)
}

fn owner(principal: &Principal) -> String {
    let (kind, name) = principal.key();
    format!("{kind}:{name}")
}

fn internal(error: &impl std::fmt::Display) -> Refusal {
    Refusal::new(Mistake::Internal, format!("Internal error: the task cannot be kept: {error}"))
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

fn iso(ms: u64) -> String {
    let moment = OffsetDateTime::from_unix_timestamp_nanos(i128::from(ms) * 1_000_000);
    moment.ok().and_then(|moment| moment.format(&Rfc3339).ok()).unwrap_or_default()
}
