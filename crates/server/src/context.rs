//! What a running call may do besides answering: say how far it is, log, and ask its client. Given
//! to handlers that answer later; knows no wire.

use crate::core::Core;
use crate::dispatch::Server;
use crate::headers::Headers;
use crate::nested::{Begun, Nesting};
use crate::registry::Snapshot;
use crate::rounds::{Rounds, Step, Steps};
use crate::state::State;
use crate::tasks::Running;
use haft_proto::encode::notice::{self, Progress};
use haft_proto::service::{Ask, Outlet, Principal};
use haft_proto::session::Session;
use haft_proto::spec::client::ClientCapabilities;
use haft_proto::spec::level::Level;
use haft_proto::version::Revision;
use serde::Serialize;
use std::cell::Cell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::mem::take;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;
use tokio::sync::watch;

/// One call's way back to its client. Cheap to clone.
#[derive(Clone)]
pub struct Context {
    pub(crate) inner: Arc<Inner>,
    pub(crate) nesting: Nesting,
}

pub(crate) struct Inner {
    pub(crate) revision: Revision,
    pub(crate) capabilities: ClientCapabilities,
    principal: Principal,
    headers: Headers,
    progress: Option<Told>,
    session: Option<Arc<Session>>,
    /// What this request alone wants to be logged.
    level: Option<Level>,
    pub(crate) outlet: Arc<dyn Outlet>,
    /// `_meta`, if it has members that are not for this server.
    pub(crate) carried: Option<Box<str>>,
    desk: Mutex<Desk>,
    can_become_task: bool,
    /// How many calls this one has made so far, and those within it.
    pub(crate) calls_within: AtomicUsize,
    /// Those that its handler itself began.
    pub(crate) calls_begun: Begun,
    pub(crate) core: Arc<Core>,
    /// What there was when the request came.
    pub(crate) snapshot: Arc<Snapshot>,
}

/// Where a client wants progress to be told.
struct Told {
    token: Box<str>,
    /// What was told last.
    last: Mutex<f64>,
}

/// Where questions go, and what has become of them.
pub(crate) struct Desk {
    pub(crate) place: Place,
    /// What is done once in a call, wherever its questions go.
    pub(crate) steps: Steps,
    /// How many of these are being done, and wait for no answer themselves.
    pub(crate) doing: usize,
    /// How often something had to wait for another round, or for what may wait for one.
    pub(crate) held_up: usize,
    /// What the client lacks that was needed.
    pub(crate) missing: Option<&'static str>,
    /// The keys of the addresses that a person has agreed to visit, and the ids of their questions.
    pub(crate) visits: VecDeque<(String, String)>,
    /// How long the call has waited for its client.
    pub(crate) waited: Duration,
    /// Since when it waits now, and for how many answers.
    pub(crate) waiting: Option<(tokio::time::Instant, usize)>,
    /// Why the driver stopped the handler, once it has.
    pub(crate) stopped: Option<Stop>,
    /// The handler asks to go on as a task.
    pub(crate) wants_task: bool,
    /// Those that wait until it is one, or cannot become one any more.
    wakers: Vec<Waker>,
    /// Polls the handler. It must look here when something is asked by a task that the handler
    /// has spawned, as nothing else wakes it then.
    driver: Option<Waker>,
}

/// Why a handler does not come to its end though somebody waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Its client is asked, and calls again.
    Asked,
    /// The client cannot be asked.
    Refused,
    /// It took too long.
    TimedOut,
}

/// Where questions go.
pub(crate) enum Place {
    /// Into the answer: the client makes the request again, with what was asked.
    Rounds(Rounds),
    /// To whoever looks at the task.
    Task(Arc<Running>),
    /// To the client, while the call runs.
    Wire,
    /// Nowhere: the call that asked in rounds has its answer.
    Over,
}

impl Context {
    /// `can_become_task` says whether the tool's calls may become tasks.
    pub(crate) fn new(
        (core, snapshot): (&Arc<Core>, &Arc<Snapshot>),
        ask: &Ask<'_>,
        rounds: Option<Box<Rounds>>,
        headers: Headers,
        can_become_task: bool,
    ) -> Self {
        let is_token = |raw: &&str| {
            raw.starts_with(['"', '-']) || raw.starts_with(|c: char| c.is_ascii_digit())
        };
        let meta = &ask.message.params.meta;
        let token = meta.progress_token.filter(is_token);
        let progress =
            token.map(|token| Told { token: token.into(), last: Mutex::new(f64::NEG_INFINITY) });
        let capabilities = match (ask.session, meta.client_capabilities) {
            (Some(session), _) => session.capabilities(),
            (None, Some(raw)) if raw.len() > 2 => ClientCapabilities::read(raw),
            _ => ClientCapabilities::default(),
        };
        let level = meta.log_level.map(|raw| raw.trim_matches('"')).and_then(Level::parse);
        let fresh = || ask.revision.asks_in_rounds().then(Rounds::default);
        let mut rounds = rounds.map(|rounds| *rounds).or_else(fresh);
        let steps = rounds.as_mut().map(|rounds| take(&mut rounds.steps)).unwrap_or_default();
        let place = rounds.map_or(Place::Wire, Place::Rounds);
        let can_become_task =
            can_become_task && capabilities.tasks && ask.revision.has_extensions();
        let desk = Desk {
            place,
            steps,
            doing: 0,
            held_up: 0,
            missing: None,
            visits: VecDeque::new(),
            waited: Duration::ZERO,
            waiting: None,
            stopped: None,
            wants_task: false,
            wakers: Vec::new(),
            driver: None,
        };
        let inner = Inner {
            revision: ask.revision,
            capabilities,
            principal: ask.principal.clone(),
            headers,
            progress,
            session: ask.session.cloned(),
            level,
            outlet: ask.wire.outlet(),
            carried: meta.raw.filter(|_| meta.has_more).map(Box::from),
            desk: Mutex::new(desk),
            can_become_task,
            calls_within: AtomicUsize::new(0),
            calls_begun: Begun::default(),
            core: Arc::clone(core),
            snapshot: Arc::clone(snapshot),
        };
        Self { inner: Arc::new(inner), nesting: Nesting::default() }
    }

    /// The server that was asked. Not to be kept by a handler beyond its call: see [`Server`].
    #[must_use]
    pub fn server(&self) -> Server {
        Server::of(Arc::clone(&self.inner.core))
    }

    /// The value of that type that the server was built with.
    #[must_use]
    pub fn state<T: Send + Sync + 'static>(&self) -> Option<State<T>> {
        self.inner.core.states.find()
    }

    /// Who asks.
    #[must_use]
    pub fn principal(&self) -> &Principal {
        &self.inner.principal
    }

    /// The conversation that the call belongs to, in the legacy era. It lives until the client ends
    /// it or is idle for too long: who wants to know that holds it weakly.
    #[must_use]
    pub fn session(&self) -> Option<&Arc<Session>> {
        self.inner.session.as_ref()
    }

    /// The HTTP headers of the request: empty over other wires, and unless the tool, resource or
    /// prompt wants them (see [`Tool::with_headers`](crate::Tool::with_headers)).
    #[must_use]
    pub fn headers(&self) -> &Headers {
        &self.inner.headers
    }

    /// What the client can do, by its own word.
    #[must_use]
    pub fn client(&self) -> ClientCapabilities {
        self.inner.capabilities
    }

    /// The revision of the protocol that the client speaks.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.inner.revision
    }

    /// Says how far the call has come, if its client wants to know. What does not rise is not told
    /// (Progress: "MUST increase"). A client that reads slowly misses some; the result is never
    /// delayed.
    pub fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        if let Place::Task(task) = &self.desk().place {
            // A task has no progress of its own; its message is what a person sees.
            message.inspect(|message| task.note(message));
            return;
        }
        let Some(told) = &self.inner.progress else { return };
        let (progress, total) = self.nesting.progress(progress, total);
        // Held until it is queued: of two that come at once the lower must not be told last.
        let mut last = told.last.lock().unwrap_or_else(PoisonError::into_inner);
        if !progress.is_finite() || progress <= *last {
            return;
        }
        *last = progress;
        let total = total.filter(|total| total.is_finite());
        let mut out = Vec::with_capacity(128);
        let now = Progress { progress, total, message };
        notice::progress(&mut out, self.inner.revision, &told.token, now);
        self.inner.outlet.progress(out);
    }

    /// Whether a log message of that level would be sent.
    #[must_use]
    pub fn logs(&self, level: Level) -> bool {
        self.log_level().is_some_and(|least| level >= least)
    }

    /// The least severe level that the client wants to be sent; nothing if it wants none.
    #[must_use]
    pub fn log_level(&self) -> Option<Level> {
        match &self.inner.session {
            Some(session) => session.level(),
            None => self.inner.level,
        }
    }

    /// Sends a log message, if the client wants such (Logging): the modern era says so with each
    /// request, the legacy one for the session. Never log secrets. A client that reads slowly
    /// misses some.
    pub fn log(&self, level: Level, data: impl Serialize) {
        if !self.logs(level) {
            return;
        }
        // What cannot be written as JSON is not worth failing a call for.
        if let Ok(data) = serde_json::to_string(&data) {
            let mut out = Vec::with_capacity(data.len() + 96);
            notice::log(&mut out, level, None, &data);
            self.inner.outlet.send(out);
        }
    }

    /// Sends a log message of level `info`.
    pub fn info(&self, text: &str) {
        self.log(Level::Info, text);
    }

    /// Sends a log message of level `warning`.
    pub fn warning(&self, text: &str) {
        self.log(Level::Warning, text);
    }

    /// Lets a client go and fetch the result after that time, where its wire can be resumed
    /// (2025-11-25, "Polling"). Elsewhere nothing happens. Worth it before a long silence.
    pub fn disconnect(&self, retry: Duration) {
        self.inner.outlet.disconnect(retry);
    }

    /// Goes on as a task, if the client takes tasks and the tool's calls may become some (see
    /// [`Tool::task`](crate::Tool::task)): the client gets its answer now, a task to look at later,
    /// and whatever is asked from here on is asked of the task. Elsewhere nothing happens. Worth it
    /// before the long part of the work.
    pub async fn become_task(&self) {
        if !self.inner.can_become_task {
            return;
        }
        poll_fn(|cx| {
            let mut desk = self.desk();
            if !desk.ask_for_task() {
                return Poll::Ready(());
            }
            // Parts of the work may each wait for it, with wakers of their own.
            if !desk.wakers.iter().any(|known| known.will_wake(cx.waker())) {
                desk.wakers.push(cx.waker().clone());
            }
            desk.wake_driver();
            Poll::Pending
        })
        .await;
    }

    /// The same for whoever does not wait for it: it is one once the work waits for anything.
    pub fn ask_for_task(&self) {
        if self.inner.can_become_task {
            let mut desk = self.desk();
            desk.ask_for_task();
            desk.wake_driver();
        }
    }

    /// One line for whoever looks at the task that this call has become. Elsewhere nothing happens.
    pub fn status(&self, message: &str) {
        if let Place::Task(task) = &self.desk().place {
            task.note(message);
        }
    }

    pub(crate) fn desk(&self) -> MutexGuard<'_, Desk> {
        self.inner.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

thread_local! {
    /// How often something that this thread polls has come to wait for the end of a round. A
    /// handler may have tasks of its own, so that the count of its desk does not say who waits.
    static HELD_UP_HERE: Cell<u64> = const { Cell::new(0) };
}

/// How often something that this thread polls has come to wait for the end of a round.
pub(crate) fn held_up_here() -> u64 {
    HELD_UP_HERE.get()
}

impl Desk {
    /// False if it is one, or cannot become one any more.
    fn ask_for_task(&mut self) -> bool {
        self.wants_task |= !matches!(self.place, Place::Over | Place::Task(_));
        self.wants_task
    }

    /// The call has become a task.
    pub(crate) fn move_to(&mut self, task: Arc<Running>) {
        self.place = Place::Task(task);
        self.wants_task = false;
        self.wakers.drain(..).for_each(Waker::wake);
    }

    /// The handler waits for another round: its driver is told, and it hears when this one is over.
    pub(crate) fn end_round(&mut self) -> watch::Receiver<()> {
        self.hold_up();
        self.wake_driver();
        match &mut self.place {
            Place::Rounds(rounds) => rounds.until_over(),
            // It is over.
            Place::Over | Place::Task(_) | Place::Wire => watch::channel(()).1,
        }
    }

    /// Something waits for the end of the round.
    pub(crate) fn hold_up(&mut self) {
        self.held_up += 1;
        HELD_UP_HERE.set(HELD_UP_HERE.get() + 1);
    }

    /// What is done once under that key.
    pub(crate) fn step(&mut self, key: &str) -> Step {
        Arc::clone(self.steps.entry(key.to_owned()).or_default())
    }

    /// A step is done, or waits for an answer: the round may end now.
    pub(crate) fn end_step(&mut self) {
        self.doing -= 1;
        if self.doing == 0 && self.held_up > 0 {
            self.wake_driver();
        }
    }

    /// Whom to wake when something is asked.
    pub(crate) fn driven_by(&mut self, driver: &Waker) {
        if !self.driver.as_ref().is_some_and(|known| known.will_wake(driver)) {
            self.driver = Some(driver.clone());
        }
    }

    fn wake_driver(&mut self) {
        self.driver.take().inspect(Waker::wake_by_ref);
    }

    /// The call has been answered: what its client brought cannot be brought again.
    pub(crate) fn burn(&mut self) {
        if let Place::Rounds(rounds) = &mut self.place {
            rounds.burn();
        }
    }

    /// Nothing can be asked in rounds any more, and whoever waits is told.
    pub(crate) fn close(&mut self) {
        if let Place::Rounds(_) = self.place {
            self.place = Place::Over;
            self.wakers.drain(..).for_each(Waker::wake);
        }
        self.driver = None;
    }

    /// How long the call has waited for its client so far.
    pub(crate) fn waited(&self) -> Duration {
        let now = self.waiting.map_or(Duration::ZERO, |(since, _)| since.elapsed());
        self.waited + now
    }

    pub(crate) fn begin_waiting(&mut self) {
        let (_, count) = self.waiting.get_or_insert_with(|| (tokio::time::Instant::now(), 0));
        *count += 1;
    }

    pub(crate) fn end_waiting(&mut self) {
        if let Some((since, count)) = &mut self.waiting {
            *count -= 1;
            if *count == 0 {
                self.waited += since.elapsed();
                self.waiting = None;
            }
        }
    }
}
