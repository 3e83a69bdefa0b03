//! Agents that come back: what they say before the handshake has ended, what it saves, who may
//! repeat it, and what is not said to whoever may be such a one.

use crate::pair::{Gateway, Running, client, here};
use crate::relay::Relay;
use haft_agent::Ending;
use haft_agent::limits::EARLY_BYTES;
use haft_agent::trust::Identity;
use haft_client::{Client, Passed};
use haft_link::{Hello, Register, VERSION, write};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, ConnectionError, Endpoint};
use serde_json::json;
use std::fs;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

/// An agent behind a relay, its gateway, and a client of it.
struct Far {
    gateway: Gateway,
    relay: Relay,
    agent: Running,
    client: Arc<Client>,
}

impl Far {
    async fn new(early_bytes: usize) -> Self {
        let directory = Arc::new(TempDir::new().expect("a directory"));
        let gateway = Gateway::hearing(early_bytes, directory, "gw-1", Vec::new()).await;
        let relay = Relay::to(gateway.at).await;
        let member = gateway.member("plant-7");
        let agent = Running::begin(gateway.joined("plant-7").await, &[relay.at]);
        here(&member).await;
        let client = Arc::new(client(&member).await);
        // What may be done twice is known from the list.
        client.list_tools().await.expect("it answers");
        Self { gateway, relay, agent, client }
    }

    /// Its link is lost, and the next is dialled in a moment.
    async fn lose_link(&mut self) {
        self.gateway.reopen().await;
        self.agent.fails_with("the other end stops").await;
        self.relay.sent();
        let at = self.gateway.at;
        self.relay.change(|way| way.gateway = at);
    }

    fn call(&self, tool: &'static str, text: &'static str) -> JoinHandle<bool> {
        let (client, arguments) = (Arc::clone(&self.client), json!({"text": text}).to_string());
        tokio::spawn(async move {
            let called = client.call_tool_raw(tool, &arguments, &mut |_| {}).await;
            matches!(called, Ok(Passed::Whole(result)) if result.contains(text))
        })
    }
}

async fn answered(call: JoinHandle<bool>) -> bool {
    timeout(Duration::from_secs(20), call).await.expect("in time").expect("no panic")
}

const ONE_WAY: Duration = Duration::from_millis(200);

/// How long after the first datagram of an agent that comes back its first answer is there.
async fn first_answer(early_bytes: usize) -> Duration {
    let mut far = Far::new(early_bytes).await;
    far.relay.change(|way| way.delay = ONE_WAY);
    far.lose_link().await;
    assert!(answered(far.call("look", "around")).await);
    let there = Instant::now();
    assert_eq!(far.agent.early(), [false, early_bytes > 0]);
    there - far.relay.sent().first().expect("it has dialled").0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_answer_after_a_reconnect_comes_a_round_trip_earlier() {
    let (early, late) = tokio::join!(first_answer(EARLY_BYTES), first_answer(0));
    println!("a round trip of {:?}: {early:?} early, {late:?} without", ONE_WAY * 2);
    // Nothing is faster than the wire, however fast this machine is.
    assert!(early >= ONE_WAY * 3 && late >= ONE_WAY * 5, "{early:?}, {late:?}");
    assert!(early + ONE_WAY < late, "{early:?}, {late:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_what_may_be_done_twice_is_asked_before_the_handshake_has_ended() {
    let mut far = Far::new(EARLY_BYTES).await;
    // Its first words pass; that it is there itself, it cannot show.
    far.relay.change(|way| way.passes = Some(0));
    far.lose_link().await;
    far.relay.change(|way| way.passes = Some(2));
    let once = far.call("once", "only");
    let look = far.call("look", "around");
    far.agent.begun(1).await;
    assert_eq!((far.agent.done(), far.agent.said("only")), (1, 0));
    assert!(!look.is_finished() && !once.is_finished());
    far.relay.change(|way| way.passes = None);
    assert_eq!((answered(look).await, answered(once).await), (true, true));
    assert_eq!((far.agent.done(), far.agent.said("only")), (2, 1));
    assert_eq!(far.agent.early(), [false, true]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn early_words_that_somebody_repeats_are_not_heard_and_nobody_else_notices() {
    let mut far = Far::new(EARLY_BYTES).await;
    let directory = Arc::clone(&far.gateway.directory);
    far.lose_link().await;
    assert!(answered(far.call("once", "first")).await);
    assert_eq!(far.agent.early(), [false, true]);
    let words = far.relay.sent();
    // Another replica, which would hear them, as it has never had them before.
    let other = Gateway::replica(directory, "gw-2", Vec::new()).await;
    other.member("plant-7");
    let mut echoes = other.authority.echoes();
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    for (_, datagram) in words.iter().take(2) {
        socket.send_to(datagram, other.at).await.expect("it is sent");
    }
    let heard = timeout(Duration::from_secs(15), echoes.wait_for(|echoes| *echoes == 1)).await;
    heard.expect("in time").expect("it is told");
    // Nobody came, and who is there stays.
    assert!(other.member("plant-7").presence().borrow().session().is_none());
    assert!(answered(far.call("once", "second")).await);
    assert_eq!(far.agent.failures(), ["the other end stops"]);
    assert_eq!((far.agent.said("first"), far.agent.said("second")), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn early_words_that_cannot_be_read_are_said_again() {
    let mut far = Far::new(EARLY_BYTES).await;
    let sessions = far.gateway.directory.path().join("gateway/sessions");
    for file in fs::read_dir(&sessions).expect("there").flatten() {
        fs::remove_file(file.path()).expect("it is mine");
    }
    far.lose_link().await;
    assert!(answered(far.call("once", "first")).await);
    assert_eq!((far.agent.early(), far.agent.said("first")), (vec![false, false], 1));
}

#[tokio::test]
async fn so_much_is_heard_early_and_no_more() {
    let gateway = Gateway::new().await;
    gateway.member("plant-7");
    let identity = gateway.joined("plant-7").await;
    let identity = Identity::load(&identity, SystemTime::now()).expect("it has joined");
    let tls = identity.client_config().expect("they fit");
    let config = QuicClientConfig::try_from(tls).expect("it has ciphers");
    let config = ClientConfig::new(Arc::new(config));
    let endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).expect("a port");
    let dial = || {
        let dialled = endpoint.connect_with(config.clone(), gateway.at, "gateway.haft.internal");
        dialled.expect("it can be dialled")
    };
    let hello = |length: usize| {
        let mut words = Vec::new();
        let software = "x".repeat(length);
        let (agent, session_id) = ("plant-7", &[7; 16]);
        let software = &*software;
        let hello = Hello { version: VERSION, agent, session_id, software, ..Default::default() };
        write(&hello.into(), &mut words);
        words
    };
    let over = hello(EARLY_BYTES);
    let (first, _) = says(dial().await.expect("it is let in"), &over).await;
    assert!(first, "late, it is long and no mistake");
    let (connection, accepted) = dial().into_0rtt().expect("it was here before");
    let (welcomed, ended) = says(connection, &over).await;
    assert!(accepted.await, "it was heard early");
    assert_eq!((welcomed, &*ended), (false, "it broke the rules of the link"));
    // What nobody knows is passed over, and counts.
    let mut unknown = vec![0x9a, 0x06, 0x80, 0x18];
    unknown.resize(4 + 0xc00, 0);
    let over = [&unknown.repeat(3)[..], &hello(64)].concat();
    let (connection, accepted) = dial().into_0rtt().expect("it was here before");
    let (welcomed, ended) = says(connection, &over).await;
    assert!(accepted.await, "it was heard early");
    assert_eq!((welcomed, &*ended), (false, "it broke the rules of the link"));
    let within = hello(EARLY_BYTES - 64);
    let (connection, accepted) = dial().into_0rtt().expect("it was here before");
    let (welcomed, _) = says(connection, &within).await;
    assert!(welcomed && accepted.await);
}

#[tokio::test]
async fn who_has_not_shown_to_be_there_takes_nobodys_place() {
    let gateway = Gateway::new().await;
    let member = gateway.member("plant-7");
    let relay = Relay::to(gateway.at).await;
    let identity = gateway.joined("plant-7").await;
    let identity = Identity::load(&identity, SystemTime::now()).expect("it has joined");
    let tls = identity.client_config().expect("they fit");
    let config = QuicClientConfig::try_from(tls).expect("it has ciphers");
    let config = ClientConfig::new(Arc::new(config));
    let endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).expect("a port");
    let dial = |at| {
        let dialled = endpoint.connect_with(config.clone(), at, "gateway.haft.internal");
        dialled.expect("it can be dialled")
    };
    let mut words = Vec::new();
    let (agent, session_id) = ("plant-7", &[7; 16]);
    let hello = Hello { version: VERSION, agent, session_id, ..Default::default() };
    write(&hello.into(), &mut words);
    write(&Register { slots: 1 }.into(), &mut words);
    let link = dial(gateway.at).await.expect("it is let in");
    let mut control = link.open_bi().await.expect("it may open one");
    control.0.write_all(&words).await.expect("it is sent");
    // Behind the welcome comes what the next handshake needs.
    assert!(matches!(control.1.read(&mut [0]).await, Ok(Some(1))));
    here(&member).await;
    // The same words, early, of whoever cannot end the handshake.
    relay.change(|way| way.passes = Some(1));
    let (echo, _) = dial(relay.at).into_0rtt().expect("it was here before");
    let (mut send, mut receive) = echo.open_bi().await.expect("it may open one");
    send.write_all(&words).await.expect("it is sent");
    let mut first = [0];
    let heard = timeout(Duration::from_secs(1), receive.read(&mut first)).await;
    assert!(heard.is_err() && link.close_reason().is_none(), "{heard:?}");
    relay.change(|way| way.passes = None);
    let heard = timeout(Duration::from_secs(15), receive.read(&mut first)).await;
    assert!(matches!(heard.expect("in time"), Ok(Some(1))));
    let ended = timeout(Duration::from_secs(15), link.closed()).await.expect("in time");
    assert_eq!(Ending::why(&ended), "the same agent has connected again");
}

/// Whether that is answered, or why the link ends.
async fn says(connection: quinn::Connection, words: &[u8]) -> (bool, String) {
    let (mut send, mut receive) = connection.open_bi().await.expect("it may open one");
    send.write_all(words).await.expect("it is sent");
    let mut first = [0];
    let read = timeout(Duration::from_secs(15), receive.read(&mut first)).await;
    if matches!(read.expect("in time"), Ok(Some(1))) {
        return (true, String::new());
    }
    match connection.closed().await {
        ConnectionError::ApplicationClosed(close) => {
            (false, String::from_utf8_lossy(&close.reason).into_owned())
        }
        error => (false, error.to_string()),
    }
}
