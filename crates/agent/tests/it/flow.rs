//! How fast results come: as fast as each is read, and those that nobody reads hold up no other.

use crate::pair::{Gateway, Running, client, here, whole};
use haft_agent::trust::EarlyData;
use haft_client::{Client, Passed};
use haft_link::{Ack, Credit, ExecuteRequest, Frame, Read, Welcome, read, write};
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Endpoint, RecvStream, ServerConfig};
use serde_json::json;
use std::future::pending;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::time::timeout;

const LONG: usize = 1 << 20;

async fn call(client: &Client) -> Passed {
    let arguments = json!({"bytes": LONG}).to_string();
    let mut nobody = |_| {};
    let called = client.call_tool_raw("long", &arguments, &mut nobody);
    let called = timeout(Duration::from_secs(20), called);
    called.await.expect("in time").expect("it comes")
}

async fn is_whole(passed: Passed) -> bool {
    let read = timeout(Duration::from_secs(20), whole(passed)).await;
    read.expect("in time").matches('~').count() == LONG
}

async fn pair() -> (Gateway, Running, Client) {
    let gateway = Gateway::new().await;
    let member = gateway.member("plant-7");
    let agent = gateway.agent("plant-7").await;
    here(&member).await;
    let client = client(&member).await;
    (gateway, agent, client)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_nobody_reads_holds_up_none_of_a_hundred() {
    let (_gateway, _agent, client) = pair().await;
    let slow = call(&client).await;
    assert!(matches!(slow, Passed::Long(_)), "it comes in pieces");
    for _ in 0..99 {
        assert!(is_whole(call(&client).await).await);
    }
    assert!(is_whole(slow).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_many_as_an_agent_works_on_may_be_unread_and_one_that_is_dropped_makes_room() {
    let (_gateway, _agent, client) = pair().await;
    let client = Arc::new(client);
    // As many as it has slots.
    let mut unread = Vec::new();
    for _ in 0..8 {
        unread.push(call(&client).await);
    }
    let ninth = {
        let client = Arc::clone(&client);
        tokio::spawn(async move { is_whole(call(&client).await).await })
    };
    _ = timeout(Duration::from_millis(200), pending::<()>()).await;
    assert!(!ninth.is_finished());
    drop(unread.pop());
    assert!(ninth.await.expect("no panic"));
    for slow in unread {
        assert!(is_whole(slow).await);
    }
}

/// A gateway that says what it is told to, and no more.
struct Impostor {
    control: (quinn::SendStream, RecvStream),
    link: quinn::Connection,
    /// The agent's.
    session_id: Vec<u8>,
    _endpoint: Endpoint,
}

impl Impostor {
    /// In the place of that gateway; an agent has come, whose calls may have so much under way.
    async fn of(gateway: &Gateway, messages: u64, bytes: u64) -> (Self, Running) {
        let tls = gateway.authority.server_config(SystemTime::now(), EarlyData::Refused, None);
        let tls = QuicServerConfig::try_from(tls.expect("keys can be made")).expect("ciphers");
        let config = ServerConfig::with_crypto(Arc::new(tls));
        let here = (Ipv4Addr::LOCALHOST, 0).into();
        let endpoint = Endpoint::server(config, here).expect("a port");
        let at = endpoint.local_addr().expect("it has one");
        let agent = Running::begin(gateway.joined("plant-7").await, &[at]);
        let link = endpoint.accept().await.expect("it comes").await.expect("it is let in");
        let mut control = link.accept_bi().await.expect("it greets");
        let hello = frame(&mut control.1).await;
        let Ok(Read::Frame { frame: Frame::Hello(hello), .. }) = read(&hello, hello.len()) else {
            panic!("it greets")
        };
        let session_id = hello.session_id.to_vec();
        let welcome = Welcome { version: 1, gateway: "gw", messages, bytes, ..Default::default() };
        say(&mut control.0, welcome.into()).await;
        assert_eq!(next(&mut control.1).await.0, "Register");
        (Self { control, link, session_id, _endpoint: endpoint }, agent)
    }

    /// Calls `long` for a megabyte, with so much under way at first.
    async fn calls(&self, stream_id: u64, messages: u64, window: u64) -> Stream {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "long", "arguments": {"bytes": LONG}, "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "a", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        }});
        let (message, deadline_ms) = (message.to_string(), 60_000);
        let message = message.as_bytes();
        let (mut send, receive) = self.link.open_bi().await.expect("a call");
        let execute = ExecuteRequest {
            session_id: &self.session_id,
            stream_id,
            deadline_ms,
            window,
            messages,
            message,
            ..Default::default()
        };
        say(&mut send, execute.into()).await;
        Stream { stream_id, send, receive }
    }
}

/// Of a call.
struct Stream {
    stream_id: u64,
    send: quinn::SendStream,
    receive: RecvStream,
}

impl Stream {
    async fn grants(&mut self, messages: u64, bytes: u64) {
        let credit = Credit { stream_id: self.stream_id, messages, bytes };
        say(&mut self.send, credit.into()).await;
    }

    /// How many responses come until none does any more, and how many bytes of payloads.
    async fn comes(&mut self) -> (u64, u64) {
        let (mut messages, mut bytes) = (0, 0);
        while let Ok((name, length)) =
            timeout(Duration::from_millis(300), next(&mut self.receive)).await
        {
            assert_eq!(name, "StreamResponse");
            (messages, bytes) = (messages + 1, bytes + length);
        }
        (messages, bytes)
    }
}

async fn say(send: &mut quinn::SendStream, frame: Frame<'_>) {
    let mut bytes = Vec::new();
    write(&frame, &mut bytes);
    send.write_all(&bytes).await.expect("it is sent");
}

/// The bytes of the next frame; none at the end.
async fn frame(receive: &mut RecvStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let missing = match read(&bytes, 64 * 1024).expect("it is a frame") {
            Read::Frame { .. } | Read::Unknown { .. } => return bytes,
            Read::More { needed } => needed - bytes.len(),
        };
        let had = bytes.len();
        bytes.resize(had + missing, 0);
        if receive.read_exact(&mut bytes[had..]).await.is_err() {
            return Vec::new();
        }
    }
}

/// The name of the next frame, and how many bytes of payload it has.
async fn next(receive: &mut RecvStream) -> (&'static str, u64) {
    let bytes = frame(receive).await;
    match read(&bytes, bytes.len()).expect("it was read") {
        Read::Frame { frame: Frame::StreamResponse(said), .. } => {
            ("StreamResponse", said.payload.len() as u64)
        }
        Read::Frame { frame, .. } => (frame.name(), 0),
        Read::Unknown { .. } => ("", 0),
        Read::More { .. } => ("the end", 0),
    }
}

const PART: u64 = 32 * 1024;

#[tokio::test]
async fn no_more_of_a_call_is_under_way_than_was_granted() {
    let gateway = Gateway::new().await;
    let (impostor, _agent) = Impostor::of(&gateway, 1000, 1 << 24).await;
    let mut call = impostor.calls(1, 100, 3 * PART + 7).await;
    assert_eq!(call.comes().await, (3, 3 * PART));
    call.grants(100, 4 * PART).await;
    assert_eq!(call.comes().await, (1, PART));
    // Of short ones as few as of long ones.
    let mut call = impostor.calls(2, 2, 100 * PART).await;
    assert_eq!(call.comes().await, (2, 2 * PART));
    call.grants(4, 100 * PART).await;
    assert_eq!(call.comes().await, (2, 2 * PART));
}

#[tokio::test]
async fn no_more_of_all_calls_is_under_way_than_the_link_may_have() {
    let gateway = Gateway::new().await;
    let (mut impostor, _agent) = Impostor::of(&gateway, 1000, 8 * PART).await;
    let mut first = impostor.calls(1, 100, 3 * PART).await;
    assert_eq!(first.comes().await, (3, 3 * PART));
    // Half of it is for those that have nothing under way.
    let mut others = Vec::new();
    for id in 2..7 {
        let mut other = impostor.calls(id, 100, 100 * PART).await;
        assert_eq!(other.comes().await, (1, PART), "{id}");
        others.push(other);
    }
    let mut late = impostor.calls(7, 100, 100 * PART).await;
    assert_eq!(late.comes().await, (0, 0));
    // What was read of one can be sent again, of another.
    first.grants(101, 4 * PART).await;
    assert_eq!(late.comes().await, (1, PART));
    // Those that are not wanted give back all that they had.
    say(&mut impostor.control.0, Ack { stream_ids: (&[1, 3, 4, 5][..]).into() }.into()).await;
    let (mut second, mut sixth) = (others.swap_remove(0), others.pop().expect("some"));
    assert_ne!(second.stream_id, sixth.stream_id);
    let (one, two, three) = tokio::join!(second.comes(), sixth.comes(), late.comes());
    assert_eq!(one.1 + two.1 + three.1, PART);
}

#[tokio::test]
async fn whoever_grants_more_than_was_sent_hears_so_and_the_agent_dials_again() {
    let gateway = Gateway::new().await;
    let (impostor, agent) = Impostor::of(&gateway, 1000, 1 << 24).await;
    let mut call = impostor.calls(1, 100, PART).await;
    assert_eq!(call.comes().await, (1, PART));
    call.grants(u64::MAX, u64::MAX).await;
    let why = "it granted more than it was sent";
    let closed = timeout(Duration::from_secs(15), impostor.link.closed()).await.expect("in time");
    assert!(closed.to_string().contains(why), "{closed}");
    agent.fails_with(why).await;
}
