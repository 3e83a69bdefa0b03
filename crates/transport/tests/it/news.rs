//! What legacy clients are told unasked: over stdio once they are ready, over HTTP on the one
//! stream that a GET opens.

use crate::changes::Changes;
use crate::fixture::Fixture;
use crate::pipe_client::{DEADLINE, PipeClient, initialize};
use crate::raw_client::{EventReader, RawClient, Session};
use haft_proto::limits::Limits;
use haft_transport::stop::Stop;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::timeout;

const PING: &str = r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#;

async fn listen(fixture: &Fixture, session: &Session) -> EventReader {
    let stream = RawClient::connect(fixture.address).await.open(&session.get(&[])).await;
    assert_eq!(stream.head.status, 200, "{:?}", stream.head);
    stream
}

async fn started(changes: &Changes, limits: Limits) -> (Fixture, RawClient, Session) {
    let fixture = Fixture::hooked(limits, changes.clone()).await;
    let mut client = RawClient::connect(fixture.address).await;
    let session = client.session("2025-11-25").await;
    (fixture, client, session)
}

#[tokio::test]
async fn over_pipes_a_client_is_told_once_it_is_ready() {
    for first in [r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, PING] {
        let changes = Changes::default();
        let mut client = PipeClient::hooked(Limits::default(), changes.clone());
        changes.rise(1);
        client.ask(&initialize("2025-06-18")).await;
        assert_eq!(changes.opened(), 0, "it has not read yet what was agreed on");
        client.send(first).await;
        let mut told = client.read().await;
        if told["id"] == 9 {
            told = client.read().await;
        }
        assert_eq!(told["params"]["number"], 1);
        changes.rise(1);
        assert_eq!(client.read().await["params"]["number"], 2);
        // Who begins anew is told anew.
        client.ask(&initialize("2025-06-18")).await;
        client.send(first).await;
        let mut told = client.read().await;
        if told["id"] == 9 {
            told = client.read().await;
        }
        assert_eq!((&told["params"]["number"], changes.open()), (&json!(2), 1));
        client.close_input();
        assert_eq!(client.end().await, Vec::<Value>::new());
        assert_eq!(changes.open(), 0);
    }
}

#[tokio::test]
async fn over_http_a_get_is_told_of_changes() {
    let changes = Changes::default();
    let (fixture, mut client, session) = started(&changes, Limits::default()).await;
    assert_eq!(changes.opened(), 0);
    let mut stream = listen(&fixture, &session).await;
    changes.rise(3);
    assert_eq!(stream.message().await["params"]["number"], 3);
    changes.rise(1);
    assert_eq!(stream.message().await["params"]["number"], 4);
    assert_eq!(client.ask(&session.post(PING)).await.status, 200);
    drop(stream);
    timeout(DEADLINE, changes.are_open(0)).await.expect("it is given up");
}

#[tokio::test]
async fn a_get_that_opens_nothing_says_why() {
    let changes = Changes::default();
    let (fixture, mut client, session) = started(&changes, Limits::default()).await;
    let nobody = Session { id: "no-such".to_owned(), ..session.clone() };
    let modern = Session { version: "2026-07-28".to_owned(), ..session.clone() };
    let json_only = session.get(&[("accept", "application/json")]);
    let without = b"GET /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n";
    let elsewhere = session.get(&[("origin", "https://evil.example")]);
    for (status, request) in [
        (400, without.to_vec()),
        (404, nobody.get(&[])),
        (405, modern.get(&[])),
        (406, json_only),
        (403, elsewhere),
    ] {
        let refused = client.ask(&request).await;
        assert_eq!(refused.status, status, "{refused:?}");
        assert!(refused.json()["error"]["message"].is_string());
    }
    assert_eq!(changes.opened(), 0);
    drop(fixture);

    let fixture = Fixture::start().await;
    let mut client = RawClient::connect(fixture.address).await;
    let session = client.session("2025-11-25").await;
    let refused = client.ask(&session.get(&[])).await;
    assert_eq!(refused.status, 405, "there never is any news");
    assert_eq!(refused.header("allow"), Some("GET, POST, DELETE, OPTIONS"));
    assert!(refused.json()["error"]["message"].is_string());
}

#[tokio::test]
async fn a_second_get_takes_the_place_of_the_first() {
    let changes = Changes::default();
    let (fixture, mut client, session) = started(&changes, Limits::default()).await;
    let mut first = listen(&fixture, &session).await;
    changes.rise(1);
    assert_eq!(first.message().await["params"]["number"], 1);
    let mut second = listen(&fixture, &session).await;
    assert_eq!(first.end().await, []);
    assert_eq!(changes.opened(), 1, "nothing is missed in between");
    changes.rise(1);
    assert_eq!(second.message().await["params"]["number"], 2);
    assert_eq!(client.ask(&session.delete()).await.status, 204);
    assert_eq!(second.end().await, [], "the session has ended");
    assert_eq!(changes.open(), 0);
}

#[tokio::test]
async fn a_session_that_listens_is_not_idle() {
    let changes = Changes::default();
    let limits = Limits { session_idle: Duration::from_millis(40), ..Limits::default() };
    let (fixture, mut client, session) = started(&changes, limits).await;
    let mut stream = listen(&fixture, &session).await;
    let quiet = timeout(Duration::from_millis(400), stream.message()).await;
    assert!(quiet.is_err(), "nothing is said for ten times as long as it may be idle");
    assert_eq!(client.ask(&session.post(PING)).await.status, 200);
    drop(stream);
    let idle = std::future::pending::<()>();
    timeout(Duration::from_millis(400), idle).await.expect_err("time passes");
    let mut client = RawClient::connect(fixture.address).await;
    assert_eq!(client.ask(&session.post(PING)).await.status, 404);
}

#[tokio::test]
async fn a_session_that_only_listens_makes_room_when_there_is_no_other() {
    let changes = Changes::default();
    let limits = Limits { sessions: 2, ..Limits::default() };
    let (fixture, mut client, listening) = started(&changes, limits).await;
    let stream = listen(&fixture, &listening).await;
    let idle = client.session("2025-11-25").await;
    let third = client.session("2025-11-25").await;
    assert_eq!(client.ask(&idle.post(PING)).await.status, 404, "the idle one goes first");
    assert_eq!(client.ask(&listening.post(PING)).await.status, 200);
    let also = listen(&fixture, &third).await;
    let _fourth = client.session("2025-11-25").await;
    assert_eq!(client.ask(&listening.post(PING)).await.status, 404, "then who has slept longest");
    assert!(stream.end().await.iter().all(|event| event.data.as_deref() == Some("")));
    drop(also);
}

#[tokio::test]
async fn a_stop_ends_streams_that_only_listen_at_once() {
    let changes = Changes::default();
    let limits = Limits { shutdown_grace: Duration::from_secs(60), ..Limits::default() };
    let (fixture, client, session) = started(&changes, limits).await;
    drop(client);
    let stream = listen(&fixture, &session).await;
    let stopped = fixture.stop(Stop::Gracefully);
    let (_, rest) = timeout(DEADLINE, async { tokio::join!(stopped, stream.end()) })
        .await
        .expect("long before the grace");
    assert!(rest.iter().all(|event| event.data.as_deref() == Some("")), "{rest:?}");
    assert_eq!(changes.open(), 0);
}
