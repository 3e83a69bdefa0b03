//! A gateway's end and agents' ends, each on a socket of its own, with an authority in a directory.

use haft_agent::limits::EARLY_BYTES;
use haft_agent::trust::{Authority, EarlyData};
use haft_agent::{
    Agent, AgentSettings, Dialled, Door, Guests, Hub, HubSettings, Member, Presence, join,
};
use haft_client::{Carrier, Client, Options, Passed, connect_carried};
use haft_proto::limits::Limits;
use haft_server::{Server, Tool, handler};
use serde::Deserialize;
use std::collections::HashMap;
use std::future::{pending, poll_fn};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use tempfile::TempDir;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

/// A hub, and the port that it is at.
pub(crate) struct Gateway {
    pub(crate) hub: Arc<Hub>,
    pub(crate) at: SocketAddr,
    pub(crate) authority: Arc<Authority>,
    pub(crate) directory: Arc<TempDir>,
    /// Why links ended.
    ended: Arc<Mutex<Vec<String>>>,
    tls: Arc<rustls::ServerConfig>,
    guests: Guests,
    door: JoinHandle<()>,
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.door.abort();
    }
}

impl Gateway {
    pub(crate) async fn new() -> Self {
        let directory = Arc::new(TempDir::new().expect("a directory"));
        Self::replica(directory, "gw-1", Vec::new()).await
    }

    /// One of several that share a directory.
    pub(crate) async fn replica(directory: Arc<TempDir>, name: &str, peers: Vec<String>) -> Self {
        Self::hearing(EARLY_BYTES, directory, name, peers).await
    }

    /// One that hears so many bytes before a handshake has ended.
    pub(crate) async fn hearing(
        early_bytes: usize,
        directory: Arc<TempDir>,
        name: &str,
        peers: Vec<String>,
    ) -> Self {
        let now = SystemTime::now();
        let authority = Authority::open(&directory.path().join("gateway"), now);
        let authority = Arc::new(authority.expect("it is made"));
        let hub = Hub::new(HubSettings {
            gateway: name.into(),
            epoch: 1,
            peers,
            software: "test".into(),
            authority: Arc::clone(&authority),
            early_bytes,
        });
        let early = if early_bytes == 0 { EarlyData::Refused } else { EarlyData::Taken };
        let tls = authority.server_config(now, early, None).expect("keys can be made");
        let here = (Ipv4Addr::LOCALHOST, 0).into();
        let door = Door::open(here, Arc::clone(&tls), &authority).await.expect("a port");
        let at = door.address().expect("it has one");
        let ended: Arc<Mutex<Vec<String>>> = Arc::default();
        let guests: Guests = {
            let ended = Arc::clone(&ended);
            Arc::new(move |_, why| ended.lock().expect("no panics").push(why.to_owned()))
        };
        let door = tokio::spawn(door.serve(Arc::clone(&hub), Arc::clone(&guests)));
        Self { hub, at, authority, directory, ended, tls, guests, door }
    }

    /// Ends all links, and is there again at another port.
    pub(crate) async fn reopen(&mut self) {
        self.door.abort();
        let here = (Ipv4Addr::LOCALHOST, 0).into();
        let door = Door::open(here, Arc::clone(&self.tls), &self.authority).await;
        let door = door.expect("a port");
        self.at = door.address().expect("it has one");
        self.door = tokio::spawn(door.serve(Arc::clone(&self.hub), Arc::clone(&self.guests)));
    }

    /// Why links ended so far.
    pub(crate) fn ended(&self) -> Vec<String> {
        self.ended.lock().expect("no panics").clone()
    }

    pub(crate) fn member(&self, name: &str) -> Arc<Member> {
        self.hub.member(name).expect("there is room")
    }

    /// Where an agent of that name keeps who it is, which it is made to be.
    pub(crate) async fn joined(&self, name: &str) -> PathBuf {
        let life = Duration::from_secs(60);
        let token = self.authority.invite(name, SystemTime::now(), life).expect("it may join");
        let identity = self.directory.path().join(format!("{name}.pem"));
        let gateways = [self.at.to_string()];
        join(&gateways, &token, &identity).await.expect("it is let in");
        identity
    }

    /// An agent of that name, which has joined and runs.
    pub(crate) async fn agent(&self, name: &str) -> Running {
        let identity = self.joined(name).await;
        Running::begin(identity, &[self.at])
    }
}

/// An agent that runs.
pub(crate) struct Running {
    work: Arc<Work>,
    heard: Arc<Mutex<Vec<Dialled>>>,
    task: JoinHandle<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Running {
    pub(crate) fn begin(identity: PathBuf, gateways: &[SocketAddr]) -> Self {
        Self::with_slots(8, identity, gateways)
    }

    /// One that works on so many calls at once.
    pub(crate) fn with_slots(slots: usize, identity: PathBuf, gateways: &[SocketAddr]) -> Self {
        let heard: Arc<Mutex<Vec<Dialled>>> = Arc::default();
        let settings = AgentSettings {
            identity,
            software: "test".into(),
            gateways: gateways.iter().map(ToString::to_string).collect(),
            slots,
            reprobe: Duration::from_secs(1),
            limits: Limits::default(),
            hears: {
                let heard = Arc::clone(&heard);
                Arc::new(move |said| heard.lock().expect("no panics").push(said.clone()))
            },
        };
        let work = Arc::<Work>::default();
        let agent = Agent::new(Arc::new(tools(&work)), settings).expect("it has joined");
        Self { work, heard, task: tokio::spawn(agent.run(pending())) }
    }

    /// How many calls of `wait` and `once` it has begun.
    pub(crate) fn done(&self) -> u64 {
        *self.work.begun.borrow()
    }

    /// Waits until it has begun so many.
    pub(crate) async fn begun(&self, count: u64) {
        let mut begun = self.work.begun.subscribe();
        let waited = tokio::time::timeout(Duration::from_secs(15), begun.wait_for(|n| *n >= count));
        waited.await.expect("in time").expect("it is told");
    }

    /// Lets a call of `wait` be answered.
    pub(crate) fn let_go(&self) {
        self.work.gate.notify_one();
    }

    /// How often `once` has said that.
    pub(crate) fn said(&self, text: &str) -> u64 {
        self.work.said.lock().expect("no panics").get(text).copied().unwrap_or_default()
    }

    /// What `once` was asked to say more often than that.
    pub(crate) fn said_twice(&self) -> Vec<String> {
        let said = self.work.said.lock().expect("no panics");
        said.iter().filter(|(_, count)| **count > 1).map(|(text, _)| text.clone()).collect()
    }

    /// For each link so far, whether it was heard before its handshake had ended.
    pub(crate) fn early(&self) -> Vec<bool> {
        let is_early = |said: Dialled| match said {
            Dialled::Linked { is_early, .. } => Some(is_early),
            _ => None,
        };
        self.heard().into_iter().filter_map(is_early).collect()
    }

    /// How it went so far.
    pub(crate) fn heard(&self) -> Vec<Dialled> {
        self.heard.lock().expect("no panics").clone()
    }

    /// Why it had no link, each time.
    pub(crate) fn failures(&self) -> Vec<String> {
        let why = |said: Dialled| match said {
            Dialled::Failed { why, .. } => Some(why),
            _ => None,
        };
        self.heard().into_iter().filter_map(why).collect()
    }

    /// Waits until it hears that it has no link for that reason.
    pub(crate) async fn fails_with(&self, why: &str) {
        let waited = tokio::time::timeout(Duration::from_secs(30), async {
            while !self.failures().iter().any(|said| said == why) {
                tokio::task::yield_now().await;
            }
        });
        assert!(waited.await.is_ok(), "{why}: {:?}", self.failures());
    }
}

/// Waits until it is there and has said what it has.
pub(crate) async fn here(member: &Member) {
    let mut presence = member.presence();
    let is_here = |now: &Presence| matches!(now, Presence::Here { revision: 1.., .. });
    let waited = tokio::time::timeout(Duration::from_secs(15), presence.wait_for(is_here));
    waited.await.expect("in time").expect("it is told");
}

/// A client of whatever the agent has.
pub(crate) async fn client(member: &Arc<Member>) -> Client {
    let carrier: Arc<dyn Carrier> = Arc::<Member>::clone(member);
    client_of(&carrier).await
}

/// A client of whatever is carried by that.
pub(crate) async fn client_of(carrier: &Arc<dyn Carrier>) -> Client {
    let client = connect_carried(carrier, &Options::default(), pending()).await;
    client.expect("it answers").expect("nobody gives it up")
}

/// All of a result, however it comes.
pub(crate) async fn whole(passed: Passed) -> String {
    let mut long = match passed {
        Passed::Whole(text) => return text.to_string(),
        Passed::Long(long) => long,
    };
    let mut all = long.begun().to_vec();
    while let Some(piece) = poll_fn(|cx| long.poll_piece(cx)).await {
        all.extend_from_slice(&piece.expect("it comes"));
    }
    // The last brace is left to whoever passes it on.
    String::from_utf8(all).expect("it is text") + "}"
}

#[derive(Deserialize)]
struct Words {
    text: String,
}

#[derive(Deserialize)]
struct Size {
    bytes: usize,
}

/// What an agent has done.
#[derive(Default)]
pub(crate) struct Work {
    begun: watch::Sender<u64>,
    gate: Notify,
    said: Mutex<HashMap<String, u64>>,
}

/// What the agents of these tests have.
pub(crate) fn tools(work: &Arc<Work>) -> Server {
    let text = r#"{"type":"object","properties":{"text":{"type":"string"}}}"#;
    let size = r#"{"type":"object","properties":{"bytes":{"type":"integer"}}}"#;
    let echo = Tool::new("echo", handler::function(|words: Words| words.text)).input_schema(text);
    let long = Tool::new("long", handler::function(|size: Size| "~".repeat(size.bytes)));
    let wait = {
        let work = Arc::clone(work);
        handler::future(move |size: Size, _| {
            let work = Arc::clone(&work);
            async move {
                work.begun.send_modify(|begun| *begun += 1);
                work.gate.notified().await;
                "~".repeat(size.bytes)
            }
        })
    };
    let once = {
        let work = Arc::clone(work);
        handler::function(move |words: Words| {
            work.begun.send_modify(|begun| *begun += 1);
            *work.said.lock().expect("no panics").entry(words.text.clone()).or_default() += 1;
            words.text
        })
    };
    let server = Server::builder("far", "1").tool(echo).tool(long.input_schema(size));
    let look = {
        let work = Arc::clone(work);
        handler::function(move |words: Words| {
            work.begun.send_modify(|begun| *begun += 1);
            words.text
        })
    };
    let server = server.tool(Tool::new("look", look).input_schema(text).read_only(true));
    let nap = handler::future(|words: Words, _| async {
        // As long as it takes, however many do so at once.
        _ = tokio::time::timeout(Duration::from_millis(100), pending::<()>()).await;
        words.text
    });
    let server = server.tool(Tool::new("nap", nap).input_schema(text));
    let server = server.tool(Tool::new("wait", wait).input_schema(size));
    server.tool(Tool::new("once", once).input_schema(text)).build().expect("right")
}
