//! Calls that go on after their answer (the extension `io.modelcontextprotocol/tasks`): those that
//! run here, and those that are over and kept. Called by `driver`, which hands a call over, and by
//! `task_calls`, which answers for it.

mod running;

pub(crate) use running::{Running, TaskQuestion};

use crate::changes::Changes;
use crate::task_ages::Ages;
use crate::task_store::{MemoryTasks, TaskRecord, TaskState, TaskStore};
use haft_proto::encode;
use haft_proto::error::{Mistake, Refusal};
use haft_proto::json::{JsonStr, member};
use haft_proto::limits::Limits;
use haft_proto::service::Principal;
use haft_proto::spec::task::{Stage, Task};
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

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
    /// What the store does not take.
    spare: MemoryTasks,
    changes: Arc<Changes>,
    most: usize,
    most_running: usize,
    message_bytes: usize,
    ttl: Duration,
    poll: Duration,
    /// When the store was last swept, in milliseconds since 1970.
    swept_ms: Mutex<u64>,
}

/// Tasks that began here.
#[derive(Default)]
struct All {
    running: HashMap<Arc<str>, Arc<Running>>,
    /// Those that are kept, over or not.
    ages: Ages,
}

impl All {
    fn forget(&mut self, id: &Arc<str>) {
        self.ages.forget(id);
        self.running.remove(id);
    }

    /// What has expired need not be known any more, stored or not.
    fn forget_expired(&mut self, now_ms: u64) {
        while let Some(id) = self.ages.first_expired(now_ms) {
            self.forget(&id);
        }
    }
}

/// How often the store is swept at most, in milliseconds, unless tasks are kept for less.
const SWEEP_MS: u64 = 10_000;

impl Tasks {
    pub(crate) fn new(store: Arc<dyn TaskStore>, changes: Arc<Changes>, limits: &Limits) -> Self {
        Self {
            all: Mutex::default(),
            store,
            spare: MemoryTasks::new(limits.task_bytes),
            changes,
            most: limits.tasks,
            most_running: limits.tasks_running,
            message_bytes: limits.task_message_bytes,
            ttl: limits.task_ttl,
            poll: limits.task_poll,
            swept_ms: Mutex::new(0),
        }
    }

    /// Begins a task; when this is done, it can be asked for. Where all places are taken, the one
    /// that has been over for longest is forgotten.
    pub(crate) async fn begin(
        &self,
        principal: &Principal,
        ttl: Option<Duration>,
    ) -> Result<Arc<Running>, Refusal> {
        self.sweep().await;
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| internal(&error))?;
        let id: Arc<str> = format!("{:032x}", u128::from_ne_bytes(random)).into();
        let (named, ttl) = ((id, owner(principal)), ttl.unwrap_or(self.ttl));
        let running = Arc::new(Running::new(named, ttl, self.message_bytes, &self.changes));
        let forgotten = self.take_place(&running)?;
        // Its client may go before it is kept, and nobody would know of it.
        let beginning = Beginning { tasks: self, running: Some(&running) };
        if let Some(id) = forgotten {
            // What cannot be removed expires some time.
            let _ = self.spare.remove(&id).await;
            let _ = self.store.remove(&id).await;
        }
        let stored = self.store.put(running.record(TaskState::Working)).await;
        stored.map_err(|error| internal(&error))?;
        beginning.has_begun();
        Ok(running)
    }

    /// Says which task is forgotten for it, if one is.
    fn take_place(&self, running: &Arc<Running>) -> Result<Option<Arc<str>>, Refusal> {
        let mut all = self.lock();
        all.forget_expired(now_ms());
        let overloaded = |message| Err(Refusal::new(Mistake::Overloaded, message));
        if all.ages.running() >= self.most_running {
            let most = self.most_running;
            return overloaded(format!("Overloaded: {most} tasks run; try again later"));
        }
        let mut forgotten = None;
        if all.ages.count() >= self.most {
            let Some(oldest) = all.ages.oldest_over() else {
                let most = self.most;
                return overloaded(format!("Overloaded: {most} tasks are kept; try again later"));
            };
            all.forget(&oldest);
            forgotten = Some(oldest);
        }
        all.ages.add(running.id(), running.expires_ms());
        all.running.insert(Arc::clone(running.id()), Arc::clone(running));
        Ok(forgotten)
    }

    /// A task is over. What the store does not take stays here until it expires.
    pub(crate) async fn end(&self, running: &Running, state: TaskState) {
        // Cancelled and done at the same time, it is what came first.
        let Some(record) = running.begin_end(state) else { return };
        // It is told once it is kept, and all the same if whoever cancels it goes before.
        let mut ending = Ending { tasks: self, running, record: Some(record.clone()), kept: false };
        let (record, kept) = self.keep(record).await;
        (ending.record, ending.kept) = (Some(record), kept);
    }

    /// Keeps how a task ended, and says what that is and whether it is kept: nothing else, if
    /// somebody has cancelled it in another process.
    async fn keep(&self, record: TaskRecord) -> (TaskRecord, bool) {
        if !matches!(record.state, TaskState::Cancelled)
            && let Ok(Some(found)) = self.store.find(&record.id).await
            && matches!(found.state, TaskState::Cancelled)
        {
            return (found, true);
        }
        let Err(error) = self.put(&record).await else { return (record, true) };
        let failed = TaskRecord { state: failure(&internal(&error)), ..record };
        // It is small, and others give way to it.
        let kept = self.put(&failed).await.is_ok();
        (failed, kept)
    }

    /// Keeps how a task ended, here if the store does not take it.
    async fn put(&self, record: &TaskRecord) -> io::Result<()> {
        if self.store.put(record.clone()).await.is_ok() {
            return Ok(());
        }
        self.spare.put(record.clone()).await?;
        // When it is forgotten here, it is unknown: there, it would go on for ever.
        let _ = self.store.remove(&record.id).await;
        Ok(())
    }

    /// Writes how far a task is.
    pub(crate) async fn write_state(
        &self,
        id: &str,
        principal: &Principal,
        write: impl FnOnce(&Task<'_>),
    ) -> Result<(), Refusal> {
        self.sweep().await;
        if let Some(running) = self.running(id, principal) {
            running.with_task(self.poll, write);
            return Ok(());
        }
        with_record(&self.kept(id, principal).await?, self.poll, write);
        Ok(())
    }

    /// Gives answers to a task that waits for them; others are ignored.
    pub(crate) async fn answer(
        &self,
        id: &str,
        principal: &Principal,
        answers: HashMap<Box<str>, Box<RawValue>>,
    ) -> Result<(), Refusal> {
        self.sweep().await;
        if let Some(running) = self.running(id, principal) {
            running.answer(answers);
            return Ok(());
        }
        match self.kept(id, principal).await?.state {
            TaskState::Working => Err(elsewhere()),
            _ => Ok(()),
        }
    }

    /// Ends a task that runs; one that is over stays as it is. Where it runs in another process,
    /// that one goes on, and its result is not kept.
    pub(crate) async fn cancel(&self, id: &str, principal: &Principal) -> Result<(), Refusal> {
        self.sweep().await;
        if let Some(running) = self.running(id, principal) {
            self.end(&running, TaskState::Cancelled).await;
            return Ok(());
        }
        let record = self.kept(id, principal).await?;
        if !matches!(record.state, TaskState::Working) {
            return Ok(());
        }
        let cancelled = TaskRecord { state: TaskState::Cancelled, updated_ms: now_ms(), ..record };
        self.store.put(cancelled).await.map_err(|error| internal(&error))
    }

    /// What is kept of a task that does not run here, if it is the asker's.
    async fn kept(&self, id: &str, principal: &Principal) -> Result<TaskRecord, Refusal> {
        let find = async || match self.spare.find(id).await {
            Ok(None) => self.store.find(id).await,
            found => found,
        };
        let record: io::Result<Option<TaskRecord>> = find().await;
        let is_theirs =
            |record: &TaskRecord| record.owner == owner(principal) && !record.is_expired(now_ms());
        record.map_err(|error| internal(&error))?.filter(is_theirs).ok_or_else(unknown)
    }

    /// Those of the tasks that are the asker's and run here: others have no news.
    pub(crate) fn running_of(&self, ids: &[Arc<str>], principal: &Principal) -> Vec<Arc<Running>> {
        ids.iter().filter_map(|id| self.running(id, principal)).collect()
    }

    pub(crate) fn poll_interval(&self) -> Duration {
        self.poll
    }

    fn running(&self, id: &str, principal: &Principal) -> Option<Arc<Running>> {
        let owner = owner(principal);
        self.lock().running.get(id).filter(|running| running.belongs_to(&owner)).cloned()
    }

    /// Whoever asks for a task sweeps too: the results of the last tasks go though no more begin.
    /// What cannot be swept is tried again: no reason to refuse anybody.
    async fn sweep(&self) {
        let now = now_ms();
        let every = u64::try_from(self.ttl.as_millis()).map_or(SWEEP_MS, |ttl| ttl.min(SWEEP_MS));
        {
            let mut swept = self.swept_ms.lock().unwrap_or_else(PoisonError::into_inner);
            if now.saturating_sub(*swept) < every {
                return;
            }
            *swept = now;
        }
        self.lock().forget_expired(now);
        let _ = self.spare.sweep(now).await;
        let _ = self.store.sweep(now).await;
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A task that is being kept as it ended; when this is dropped, it is over.
struct Ending<'a> {
    tasks: &'a Tasks,
    running: &'a Running,
    record: Option<TaskRecord>,
    /// Whether it can be found where tasks are kept.
    kept: bool,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let id = self.running.id();
        if let Some(record) = self.record.take() {
            self.running.end(record);
        }
        let mut all = self.tasks.lock();
        all.ages.end(id);
        if self.kept {
            all.running.remove(id);
        }
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
            self.tasks.lock().forget(running.id());
        }
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

/// Why a task that does not run here takes no answers.
fn elsewhere() -> Refusal {
    let message = "Internal error: the task runs in another process of this server, or its process \
                   has ended; no answer reaches it from here";
    Refusal::new(Mistake::Internal, message)
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
