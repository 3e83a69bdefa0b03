//! A listener with threads of its own: connections are spread over them, and what a client has
//! begun on one it finds on all.

use crate::fixture::Fixture;
use crate::hook::{self, tool_of};
use crate::raw_client::{RawClient, modern, post};
use haft_proto::limits::Limits;
use haft_proto::service::{Ask, Turn};
use haft_transport::http::{Listener, Options, Threads};
use haft_transport::stop::Stop;
use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::num::NonZeroUsize;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::Notify;

fn own(count: usize, is_pinned: bool) -> Options {
    let count = NonZeroUsize::new(count).expect("some");
    Options {
        threads: Threads::Own { count, is_pinned, is_accepting: false },
        ..Options::default()
    }
}

/// Each accepts by a socket of its own.
fn accepting(count: usize) -> Options {
    let count = NonZeroUsize::new(count).expect("some");
    let threads = Threads::Own { count, is_pinned: false, is_accepting: true };
    Options { threads, ..Options::default() }
}

/// Answers `hello` with the thread that it runs on, and on which processors that may run.
fn where_it_runs(ask: &Ask<'_>, out: &mut Vec<u8>) -> Option<Turn> {
    let thread = thread::current();
    let (name, id) = (thread.name().unwrap_or("?"), thread.id());
    let status = std::fs::read_to_string("/proc/thread-self/status").expect("Linux");
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:\t"));
    let told = format!("{name} {id:?} {}", allowed.expect("Linux tells").replace(' ', ""));
    (tool_of(ask) == "\"hello\"").then(|| hook::text(ask, out, &told))
}

async fn told(client: &mut RawClient) -> String {
    let answer = client.ask(&modern("tools/call", r#"{"name":"hello"}"#)).await.json();
    answer["result"]["content"][0]["text"].as_str().expect("a text").to_owned()
}

#[tokio::test]
async fn connections_are_spread_and_stay_where_they_are() {
    let fixture = Fixture::hooked_with(Limits::default(), where_it_runs, own(3, false)).await;
    let mut spread: HashMap<String, usize> = HashMap::new();
    let mut clients = Vec::new();
    for _ in 0..9 {
        let mut client = RawClient::connect(fixture.address).await;
        let thread = told(&mut client).await;
        assert!(thread.starts_with("haft-http-"), "{thread}");
        assert_eq!(told(&mut client).await, thread);
        *spread.entry(thread).or_default() += 1;
        clients.push(client);
    }
    let spread: Vec<usize> = spread.into_values().collect();
    assert_eq!(spread, [3, 3, 3]);
    fixture.stop(Stop::Gracefully).await;
}

#[tokio::test]
async fn every_thread_accepts_by_its_own_socket_and_keeps_what_it_accepts() {
    let fixture = Fixture::hooked_with(Limits::default(), where_it_runs, accepting(3)).await;
    let mut seen = HashSet::new();
    // The system spreads them by a hash of their addresses: it takes a few to reach all.
    while seen.len() < 3 {
        let mut client = RawClient::connect(fixture.address).await;
        let thread = told(&mut client).await;
        assert!(thread.starts_with("haft-http-"), "{thread}");
        assert_eq!(told(&mut client).await, thread);
        seen.insert(thread);
    }
    fixture.stop(Stop::Gracefully).await;
}

#[tokio::test]
async fn an_address_is_not_shared_with_other_listeners_by_mistake() {
    for (first, second) in [
        (accepting(2), accepting(2)),
        (accepting(2), Options::default()),
        (Options::default(), accepting(2)),
    ] {
        let fixture = Fixture::with(Limits::default(), first).await;
        let refused = Listener::bind(fixture.address, second).await.map(|_| ());
        let refused = refused.expect_err("somebody listens there");
        assert_eq!(refused.kind(), ErrorKind::AddrInUse);
        fixture.stop(Stop::AtOnce).await;
    }
}

#[tokio::test]
async fn a_pinned_thread_has_one_processor() {
    let fixture = Fixture::hooked_with(Limits::default(), where_it_runs, own(2, true)).await;
    let mut clients =
        [RawClient::connect(fixture.address).await, RawClient::connect(fixture.address).await];
    let mut processors = HashSet::new();
    for client in &mut clients {
        let thread = told(client).await;
        let allowed = thread.split(' ').next_back().expect("there is a last word");
        processors.insert(allowed.parse::<usize>().expect("one processor, and no range"));
    }
    let there = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    assert_eq!(processors.len(), there.min(2));
}

#[tokio::test]
async fn a_session_is_known_on_every_thread() {
    let fixture = Fixture::with(Limits::default(), own(2, false)).await;
    let begin = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{},
        "protocolVersion":"2025-11-25","clientInfo":{"name":"t","version":"1"}}}"#;
    let mut first = RawClient::connect(fixture.address).await;
    let begun = first.ask(&post(&[], begin)).await;
    let session = [("mcp-session-id", begun.header("mcp-session-id").expect("a session"))];
    let ping = post(&session, r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#);
    for _ in 0..2 {
        let mut client = RawClient::connect(fixture.address).await;
        assert_eq!(client.ask(&ping).await.body, r#"{"jsonrpc":"2.0","id":"p","result":{}}"#);
    }
}

#[tokio::test]
async fn calls_in_flight_are_answered_when_it_stops() {
    for options in [own(2, false), accepting(2)] {
        is_answered_when_it_stops(options).await;
    }
}

async fn is_answered_when_it_stops(options: Options) {
    let fixture = Fixture::with(Limits::default(), options).await;
    let mut slow = RawClient::connect(fixture.address).await;
    slow.send(&modern("tools/call", r#"{"name":"wait"}"#)).await;
    fixture.gate.began.notified().await;
    let (gate, address) = (Arc::clone(&fixture.gate), fixture.address);
    let stopping = tokio::spawn(fixture.stop(Stop::Gracefully));
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    gate.open.notify_one();
    assert_eq!(slow.answer().await.json()["result"]["content"][0]["text"], "waited");
    stopping.await.expect("it stops");
}

#[tokio::test]
async fn a_thread_that_a_tool_keeps_busy_is_left_behind() {
    let (began, held) = (Arc::new(Notify::new()), Arc::new(Barrier::new(2)));
    let busy = {
        let (began, held) = (Arc::clone(&began), Arc::clone(&held));
        move |ask: &Ask<'_>, _: &mut Vec<u8>| -> Option<Turn> {
            if tool_of(ask) == "\"hello\"" {
                began.notify_one();
                held.wait();
            }
            None
        }
    };
    let limits = Limits { shutdown_grace: Duration::ZERO, ..Limits::default() };
    let fixture = Fixture::hooked_with(limits, busy, own(1, false)).await;
    let mut client = RawClient::connect(fixture.address).await;
    client.send(&modern("tools/call", r#"{"name":"hello"}"#)).await;
    began.notified().await;
    fixture.stop(Stop::Gracefully).await;
    held.wait();
}

#[tokio::test]
async fn connections_are_bounded_whoever_has_them() {
    // With three, there are more threads than places for connections.
    for options in [Options::default(), own(2, false), accepting(3)] {
        are_bounded(options).await;
    }
}

async fn are_bounded(options: Options) {
    let limits = Limits { connections: 2, ..Limits::default() };
    let fixture = Fixture::hooked_with(limits, where_it_runs, options).await;
    let mut first = RawClient::connect(fixture.address).await;
    let mut second = RawClient::connect(fixture.address).await;
    told(&mut first).await;
    told(&mut second).await;
    let mut third = RawClient::connect(fixture.address).await;
    third.send(&modern("tools/call", r#"{"name":"hello"}"#)).await;
    // It waits for a place, which is there once another has gone.
    for _ in 0..20 {
        told(&mut second).await;
    }
    let more = third.stream.get_ref().try_read(&mut [0]);
    assert_eq!(more.map_err(|error| error.kind()), Err(ErrorKind::WouldBlock));
    drop(first);
    assert!(third.answer().await.body.contains("ThreadId"));
}
