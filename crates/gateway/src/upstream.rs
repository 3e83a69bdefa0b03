//! One server behind this one: where it is, how it is doing, and what was asked of it. Its
//! connections are in `seats`; changed by `keeper`, used by `forward`.

use crate::alike::Alike;
use crate::circle::{ABOVE, Above, Mark};
use crate::discretion;
use crate::murmur::Murmur;
use crate::news::Telling;
use crate::nursery::Adopting;
use crate::own::Owned;
use crate::parked::Lot;
use crate::recent::Recent;
use crate::room::{For, Place, Room};
use crate::running::Running;
use crate::seats::{Seats, Taken};
use crate::secrets::Secrets;
use haft_agent::{Arrivals, Group, Hub};
use haft_client::{
    Carrier, Client, ClientError, Eras, Inherit, Launch, Options, Target, connect_carried,
    connect_unless,
};
use haft_manifest::{Reach, Sessions, Upstream as Settings};
use haft_proto::error::{Mistake, Refusal};
use haft_proto::limits::Limits;
use haft_server::{Context, Missing};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// How a server behind this one is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
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

impl State {
    /// How an upstream is doing whose connections are in these: as the best of them.
    fn of_all(states: &[Self]) -> Self {
        let worth = |state: &&Self| match state {
            Self::Ready => 4,
            Self::Connecting => 3,
            Self::Idle => 2,
            Self::Down { .. } => 1,
            Self::Stopped => 0,
        };
        // Of equals, the first.
        states.iter().rev().max_by_key(worth).cloned().unwrap_or(Self::Stopped)
    }
}

/// See above.
pub(crate) struct Upstream {
    pub(crate) settings: Settings,
    pub(crate) seats: Arc<Seats>,
    /// Those of single sessions.
    pub(crate) own: Owned,
    /// For the processes of all upstreams.
    pub(crate) room: Arc<Room>,
    /// What its first process is begun for.
    pub(crate) sake: For,
    /// What is asked for several clients at once.
    pub(crate) alike: Alike,
    /// How many requests have begun.
    calls: AtomicU64,
    /// And have not ended.
    running: AtomicU64,
    /// And had no result.
    failed: AtomicU64,
    recent: Arc<Recent>,
    /// Requests that wait for their clients' answers.
    pub(crate) parked: Arc<Lot>,
    /// Clients watch what it has, so that it is not idle.
    pub(crate) watched: AtomicBool,
    /// What tells its gateway from others.
    pub(crate) mark: Arc<Mark>,
    above: Above,
    /// What was found out of it.
    eras: Eras,
    murmur: Arc<Murmur>,
    /// Behind whom it is.
    agents: Option<Group>,
    /// What is not told of it.
    pub(crate) secrets: Arc<Secrets>,
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
            | ClientError::NotCarried { .. }
            | ClientError::SessionLost
            | ClientError::Unreachable { .. } => Self::NotBegun,
            ClientError::ClosedMidAnswer { .. }
            | ClientError::LostOnTheWay { .. }
            | ClientError::ServerExited { .. }
            | ClientError::StdoutClosed { .. } => Self::Unknown,
            ClientError::TimedOut { .. } => Self::Late,
            _ => Self::None,
        }
    }
}

impl Upstream {
    pub(crate) fn new(
        settings: Settings,
        (recent, room): (Arc<Recent>, Arc<Room>),
        (mark, above): (Arc<Mark>, Above),
        agents: Option<&Hub>,
        tell: Telling,
    ) -> Self {
        let secrets = Arc::new(Secrets::of(&settings.reach, &settings.secrets));
        let murmur = Murmur::new(&settings.name, Arc::clone(&secrets), tell);
        Self {
            agents: agents.and_then(|hub| group(hub, &settings.reach)),
            seats: Arc::new(Seats::new(settings.instances)),
            own: Owned::default(),
            room,
            sake: For::Itself,
            settings,
            alike: Alike::default(),
            calls: AtomicU64::new(0),
            running: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            recent,
            parked: Arc::default(),
            watched: AtomicBool::new(false),
            mark,
            above,
            eras: Eras::default(),
            murmur: Arc::new(murmur),
            secrets,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.settings.name
    }

    /// How it is doing.
    pub(crate) fn state(&self) -> State {
        State::of_all(&self.seats.states())
    }

    /// Whether it is no child process, and so none of its failures says that it is gone.
    pub(crate) fn is_far(&self) -> bool {
        !matches!(self.settings.reach, Reach::Command { .. })
    }

    /// How long a request may take.
    pub(crate) fn timeout(&self) -> Duration {
        self.settings.timeout.unwrap_or_else(|| Options::default().timeout)
    }

    /// A connection; waits while it is being made.
    ///
    /// # Errors
    /// It is down, there is none in time, or the gateway stops.
    pub(crate) async fn client(self: &Arc<Self>, context: &Context) -> Result<Taken, Refusal> {
        let is_own = self.settings.sessions == Sessions::Own;
        let Some(session) = context.session().filter(|_| is_own) else {
            return self.connection(&self.seats).await;
        };
        let full = |why: String| Refusal::new(Mistake::Overloaded, self.told(&why));
        let seats = self.own.of(self, session).map_err(full)?;
        let taken = self.connection(&seats).await?;
        Ok(taken.of(seats))
    }

    /// One that belongs to no session.
    ///
    /// # Errors
    /// As above.
    pub(crate) async fn shared(&self) -> Result<Taken, Refusal> {
        self.connection(&self.seats).await
    }

    async fn connection(&self, seats: &Seats) -> Result<Taken, Refusal> {
        if let Some(taken) = seats.take() {
            return Ok(taken);
        }
        let limit = self.timeout();
        let late = |_| self.failed(&format!("it is not connected after {limit:?}"));
        timeout(limit, self.connected(seats)).await.map_err(late)?
    }

    async fn connected(&self, seats: &Seats) -> Result<Taken, Refusal> {
        let mut states = seats.watch();
        loop {
            let state = State::of_all(&states.borrow_and_update());
            match (seats.take(), state) {
                (Some(taken), _) => return Ok(taken),
                (None, state @ (State::Down { .. } | State::Stopped)) => {
                    return Err(self.absent(state));
                }
                (None, State::Idle) => seats.demand(),
                (None, State::Connecting | State::Ready) => {}
            }
            if states.changed().await.is_err() {
                return Err(self.absent(State::Stopped));
            }
        }
    }

    /// A request was lost over this connection, or is late. Over HTTP that says nothing of other
    /// requests, unless nobody is there or nobody knows the session; they go on while it is looked
    /// at. A process that is gone answers nobody.
    pub(crate) fn lost(&self, taken: &Taken, loss: Loss) {
        let seats = taken.own().unwrap_or(&self.seats);
        match loss {
            Loss::NotBegun => seats.suspect(taken),
            Loss::Unknown if !self.is_far() => seats.suspect(taken),
            Loss::Unknown | Loss::Late => seats.doubt(taken),
            Loss::None => {}
        }
    }

    /// Who answers there, while somebody does: name, version, and the revision that is spoken.
    pub(crate) fn server(&self) -> Option<(String, String, &'static str)> {
        let client = self.seats.any()?;
        let shaken = client.handshake();
        Some((shaken.server.name.clone(), shaken.server.version.clone(), shaken.revision.as_str()))
    }

    /// Counts a request, until what is returned is dropped.
    pub(crate) fn count<'a>(&'a self, method: &'static str, name: &'a str) -> Running<'a> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.running.fetch_add(1, Ordering::Relaxed);
        Running::new(self, self.recent.begin(), (method, name))
    }

    /// One that was counted is over.
    pub(crate) fn over(
        &self,
        (method, name): (&'static str, &str),
        began: Option<Instant>,
        failure: Option<&str>,
    ) {
        self.running.fetch_sub(1, Ordering::Relaxed);
        if failure.is_some() {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(began) = began {
            let failure = failure.map(|failure| self.secrets.hide(failure));
            self.recent.end(began, method, (self.name(), name), failure.as_deref());
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts {
            calls: self.calls.load(Ordering::Relaxed),
            running: self.running.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            restarts: self.seats.counts().map(|(_, restarts)| restarts).sum(),
        }
    }

    /// Whether only one request runs, and none waits for its client: what is said without saying
    /// whose it is, is about that.
    pub(crate) fn runs_one(&self) -> bool {
        self.running.load(Ordering::Relaxed) == 1 && self.parked.is_empty()
    }

    /// How many calls have begun so far, unless one still runs.
    pub(crate) fn calls_at_rest(&self) -> Option<u64> {
        let is_watched = self.watched.load(Ordering::Relaxed);
        let runs = self.running.load(Ordering::Relaxed) > 0 || !self.parked.is_empty();
        let is_at_rest = !runs && !is_watched;
        is_at_rest.then(|| self.calls.load(Ordering::Relaxed))
    }

    /// When one of its agents comes from now on; nothing, if it has none.
    pub(crate) fn arrivals(&self) -> Option<Arrivals> {
        self.agents.as_ref().map(Group::arrivals)
    }

    /// Connects to it, unless that is given up before. If that starts a process, it holds the
    /// place.
    pub(crate) async fn connect(
        &self,
        place: Option<Place>,
        given_up: impl Future<Output = ()>,
    ) -> Result<Option<Client>, ClientError> {
        let Reach::Agent { .. } = self.settings.reach else {
            let (target, options) = self.target(place);
            let client = Box::pin(connect_unless(&target, &options, given_up)).await?;
            return Ok(client.map(|client| self.bounded(client)));
        };
        let Some(agents) = &self.agents else {
            let reason = "no agent can dial this server; start it with --agents ADDRESS".to_owned();
            return Err(ClientError::NotCarried { reason });
        };
        let carrier: Arc<dyn Carrier> = Arc::new(agents.clone());
        let (timeout, limits) = (self.timeout(), self.limits());
        let options = Options { timeout, limits, passes: true, ..Options::default() };
        let client = Box::pin(connect_carried(&carrier, &options, given_up)).await?;
        Ok(client.map(|client| self.bounded(client)))
    }

    /// What it may make this server hold.
    fn limits(&self) -> Limits {
        let mut limits = Options::default().limits;
        limits.message_bytes = self.settings.answer_bytes.unwrap_or(limits.message_bytes);
        limits
    }

    fn bounded(&self, client: Client) -> Client {
        match self.settings.list_bytes {
            Some(list_bytes) => client.list_bytes(list_bytes),
            None => client,
        }
    }

    /// Where and how it is connected to.
    fn target(&self, place: Option<Place>) -> (Target, Options) {
        let (era, timeout) = (self.settings.era, self.timeout());
        let eras = self.eras.clone();
        let limits = self.limits();
        let mut options =
            Options { era, eras, timeout, limits, passes: true, ..Options::default() };
        let target = match &self.settings.reach {
            Reach::Command { argv, env, inherit, directory } => {
                let mut words = argv.iter();
                let program = words.next().cloned().unwrap_or_default();
                let above = (ABOVE, self.above.as_str());
                let launch = Launch::new(program, words).variables(env.iter().cloned());
                let murmur = Arc::clone(&self.murmur);
                let adopting = Arc::new(Adopting(place.map(Arc::new)));
                let launch =
                    launch.variables([above]).hearing(Arc::new(move |line| murmur.hear(line)));
                let launch = launch.directory(directory).nursery(adopting);
                let inherit = inherit.clone().map_or(Inherit::All, Inherit::Usual);
                Target::Command(launch.inherit(inherit))
            }
            Reach::Agent { .. } => unreachable!("its agents dial"),
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
            error => {
                if is_unreadable(&error) {
                    self.murmur.hear(&error.to_string());
                }
                self.failed(&discretion::told(&error))
            }
        }
    }

    /// What a client is told while there is no connection.
    fn absent(&self, state: State) -> Refusal {
        match state {
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

/// Whether something is wrong with what the upstream says, which whoever runs it should know of.
fn is_unreadable(error: &ClientError) -> bool {
    matches!(
        error,
        ClientError::AnsweredAnotherId { .. }
            | ClientError::GarbageInStream { .. }
            | ClientError::GarbageOnStdout { .. }
            | ClientError::MalformedResult { .. }
            | ClientError::NotJsonRpc { .. }
            | ClientError::UnknownContentType { .. }
    )
}

/// The agents that have what is there.
fn group(hub: &Hub, reach: &Reach) -> Option<Group> {
    let Reach::Agent { names } = reach else { return None };
    // One for whom there is no room cannot come.
    Group::new(names.iter().filter_map(|name| hub.member(name).ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upstream_does_as_well_as_its_best_connection() {
        let down = |why: &str| State::Down { reason: why.into(), told: why.into() };
        for (states, expected) in [
            (vec![down("a"), State::Ready, State::Connecting], State::Ready),
            (vec![down("a"), State::Idle, State::Connecting], State::Connecting),
            (vec![down("a"), State::Idle], State::Idle),
            (vec![State::Stopped, down("a"), down("b")], down("a")),
            (vec![State::Stopped], State::Stopped),
        ] {
            assert_eq!(State::of_all(&states), expected, "{states:?}");
        }
    }
}
