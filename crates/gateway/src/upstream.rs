//! One server behind this one: where it is, how it is doing, and the connection to it while there
//! is one. Changed by `keeper`, used by `forward`.

use crate::discretion;
use crate::parked::Lot;
use crate::recent::Recent;
use arc_swap::ArcSwapOption;
use haft_client::{Client, ClientError, Launch, Options, Target};
use haft_manifest::{Reach, Upstream as Settings};
use haft_proto::error::{Mistake, Refusal};
use haft_server::Missing;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

/// How a server behind this one is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It was ended, as nobody used it; the next call starts it again.
    Idle,
    /// It is being connected to; calls wait.
    Connecting,
    /// It answers.
    Ready,
    /// It does not, and is tried again.
    Down {
        /// Why, for whoever runs it.
        reason: Arc<str>,
        /// Why, as clients are told.
        told: Arc<str>,
    },
    /// The gateway stops.
    Stopped,
}

/// See above.
pub(crate) struct Upstream {
    pub(crate) settings: Settings,
    client: ArcSwapOption<Client>,
    state: watch::Sender<State>,
    /// Told when somebody could not reach it.
    doubt: Notify,
    /// Told when somebody needs it who finds it idle.
    demand: Notify,
    /// How many requests have begun.
    calls: AtomicU64,
    /// And have not ended.
    running: AtomicU64,
    /// And had no result.
    failed: AtomicU64,
    restarts: AtomicU64,
    recent: Arc<Recent>,
    /// Requests that wait for their clients' answers.
    pub(crate) parked: Arc<Lot>,
    /// Clients watch what it has, so that it is not idle.
    pub(crate) watched: AtomicBool,
}

/// What has been asked of an upstream so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    pub(crate) calls: u64,
    pub(crate) running: u64,
    pub(crate) failed: u64,
    pub(crate) restarts: u64,
}

/// What a failure says of the request that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// It never began: there was nobody to take it.
    NotBegun,
    /// It may have been done, or not.
    Unknown,
    /// None so far: nothing came in time, of a request that may be slow, or a server that hangs.
    Late,
    /// None: it was answered.
    None,
}

impl Loss {
    pub(crate) fn by(error: &ClientError) -> Self {
        match error {
            ClientError::ConnectionClosed
            | ClientError::SessionLost
            | ClientError::Unreachable { .. } => Self::NotBegun,
            ClientError::ClosedMidAnswer { .. }
            | ClientError::ServerExited { .. }
            | ClientError::StdoutClosed { .. } => Self::Unknown,
            ClientError::TimedOut { .. } => Self::Late,
            _ => Self::None,
        }
    }
}

impl Upstream {
    pub(crate) fn new(settings: Settings, recent: Arc<Recent>) -> Self {
        Self {
            settings,
            client: ArcSwapOption::empty(),
            state: watch::Sender::new(State::Connecting),
            doubt: Notify::new(),
            demand: Notify::new(),
            calls: AtomicU64::new(0),
            running: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            restarts: AtomicU64::new(0),
            recent,
            parked: Arc::default(),
            watched: AtomicBool::new(false),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.settings.name
    }

    /// How it is doing.
    pub(crate) fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// It is in another state; there is a connection only if it is ready.
    pub(crate) fn set(&self, state: State, client: Option<Arc<Client>>) -> Option<Arc<Client>> {
        let before = self.client.swap(client);
        self.state.send_replace(state);
        before
    }

    /// How long a request may take.
    pub(crate) fn timeout(&self) -> Duration {
        self.settings.timeout.unwrap_or_else(|| Options::default().timeout)
    }

    /// The connection; waits while it is being made.
    ///
    /// # Errors
    /// It is down, there is none in time, or the gateway stops.
    pub(crate) async fn client(&self) -> Result<Arc<Client>, Refusal> {
        if let Some(client) = self.client.load_full() {
            return Ok(client);
        }
        let limit = self.timeout();
        let late = |_| self.failed(&format!("it is not connected after {limit:?}"));
        timeout(limit, self.connected()).await.map_err(late)?
    }

    async fn connected(&self) -> Result<Arc<Client>, Refusal> {
        let mut states = self.state.subscribe();
        loop {
            let state = states.borrow_and_update().clone();
            match (self.client.load_full(), state) {
                (Some(client), _) => return Ok(client),
                (None, State::Down { .. } | State::Stopped) => return Err(self.absent()),
                (None, State::Idle) => self.demand.notify_one(),
                (None, State::Connecting | State::Ready) => {}
            }
            if states.changed().await.is_err() {
                return Err(self.absent());
            }
        }
    }

    /// A request could not be brought to an end over this connection: nobody else shall use it
    /// before it has been looked at.
    pub(crate) fn suspect(&self, client: &Arc<Client>) {
        let current = self.client.compare_and_swap(client, None);
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, client)) {
            // Unless it has been stopped meanwhile.
            self.state.send_if_modified(|state| {
                let was_ready = *state == State::Ready;
                if was_ready {
                    *state = State::Connecting;
                }
                was_ready
            });
            self.doubt.notify_one();
        }
    }

    /// Somebody waited in vain: whether it hangs is to be found out, while others go on.
    pub(crate) fn doubt(&self) {
        self.doubt.notify_one();
    }

    /// Waits until somebody could not reach it.
    pub(crate) async fn doubted(&self) {
        self.doubt.notified().await;
    }

    /// Waits until somebody needs it.
    pub(crate) async fn demanded(&self) {
        self.demand.notified().await;
    }

    /// Who answers there, while somebody does: name, version, and the revision that is spoken.
    pub(crate) fn server(&self) -> Option<(String, String, &'static str)> {
        let client = self.client.load_full()?;
        let shaken = client.handshake();
        Some((shaken.server.name.clone(), shaken.server.version.clone(), shaken.revision.as_str()))
    }

    /// Counts a request, until what is returned is dropped.
    pub(crate) fn count<'a>(&'a self, method: &'static str, name: &'a str) -> Running<'a> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.running.fetch_add(1, Ordering::Relaxed);
        let (began, failure) = (self.recent.begin(), Some(Cow::Borrowed("cancelled")));
        Running { upstream: self, method, name, began, failure }
    }

    pub(crate) fn note_restart(&self) {
        self.restarts.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts {
            calls: self.calls.load(Ordering::Relaxed),
            running: self.running.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            restarts: self.restarts.load(Ordering::Relaxed),
        }
    }

    /// Whether only one request runs: what is said without saying whose it is, is about that.
    pub(crate) fn runs_one(&self) -> bool {
        self.running.load(Ordering::Relaxed) == 1
    }

    /// How many calls have begun so far, unless one still runs.
    pub(crate) fn calls_at_rest(&self) -> Option<u64> {
        let is_watched = self.watched.load(Ordering::Relaxed);
        let is_at_rest = self.running.load(Ordering::Relaxed) == 0 && !is_watched;
        is_at_rest.then(|| self.calls.load(Ordering::Relaxed))
    }

    /// Where and how it is connected to.
    pub(crate) fn target(&self) -> (Target, Options) {
        let (era, timeout) = (self.settings.era, self.timeout());
        let mut options = Options { era, timeout, passes: true, ..Options::default() };
        let target = match &self.settings.reach {
            Reach::Command { argv, env, directory } => {
                let mut words = argv.iter();
                let program = words.next().cloned().unwrap_or_default();
                let launch = Launch::new(program, words).variables(env.iter().cloned());
                Target::Command(launch.directory(directory))
            }
            Reach::Url { url, headers } => {
                options.headers = headers.clone();
                Target::Url(url.to_string())
            }
        };
        (target, options)
    }

    /// What a client is told of a request that has no answer: as the upstream says it, if it is
    /// the one that refused.
    pub(crate) fn refusal(&self, error: ClientError) -> Refusal {
        match error {
            ClientError::Refused { error, .. } => {
                let refusal = Refusal::new(Mistake::of_code(error.code), error.message);
                match error.data {
                    Some(data) => refusal.with_data(Box::<str>::from(data).into()),
                    None => refusal,
                }
            }
            error => self.failed(&discretion::told(&error)),
        }
    }

    /// What a client is told while there is no connection.
    fn absent(&self) -> Refusal {
        match self.state() {
            State::Down { told, .. } => self.failed(&format!("down, and tried again: {told}")),
            _ => self.failed("it is stopped"),
        }
    }

    /// What a client is told of a request that failed for that reason.
    pub(crate) fn failed(&self, why: &str) -> Refusal {
        Refusal::new(Mistake::Upstream, self.told(why))
    }

    /// What a client is told who asks for something that it may have had.
    pub(crate) fn missing(&self) -> Missing {
        let why = match self.state() {
            State::Down { told, .. } => self.told(&format!("down, and tried again: {told}")),
            State::Ready => self.told("it is asked nothing now"),
            _ => self.told("it has not said yet what it has"),
        };
        Missing::new(&self.settings.prefix, why)
    }

    fn told(&self, why: &str) -> String {
        format!("Upstream `{}`: {why}", self.name())
    }
}

/// A request that an upstream has been asked. One that is dropped before its end was cancelled.
pub(crate) struct Running<'a> {
    upstream: &'a Upstream,
    method: &'static str,
    name: &'a str,
    began: Option<Instant>,
    failure: Option<Cow<'static, str>>,
}

impl Running<'_> {
    /// It is over.
    pub(crate) fn end<T>(&mut self, ended: &Result<T, Refusal>) {
        self.failure = ended.as_ref().err().map(|refusal| refusal.message.clone());
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let Self { upstream, method, name, began, failure } = self;
        upstream.running.fetch_sub(1, Ordering::Relaxed);
        if failure.is_some() {
            upstream.failed.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(began) = *began {
            upstream.recent.end(began, method, (upstream.name(), name), failure.as_deref());
        }
    }
}
