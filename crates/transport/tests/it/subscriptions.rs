//! Subscriptions of the modern era over both wires: what is told, how it ends, and what it costs
//! the others.

use crate::changes::Changes;
use crate::fixture::Fixture;
use crate::pipe_client::{DEADLINE, PipeClient};
use crate::raw_client::{RawClient, modern, modern_with};
use haft_proto::limits::Limits;
use haft_proto::method::Method;
use haft_proto::service::{Ask, Feed, Turn};
use haft_transport::stop::Stop;
use serde_json::{Value, json};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::timeout;

const LISTEN: &str = "subscriptions/listen";
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

fn listen() -> Vec<u8> {
    modern(LISTEN, r#"{"notifications":{}}"#)
}

fn line(id: u64, method: &str) -> String {
    let version = "io.modelcontextprotocol/protocolVersion";
    let capabilities = "io.modelcontextprotocol/clientCapabilities";
    let meta = json!({version: "2026-07-28", capabilities: {}});
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"_meta": meta}}).to_string()
}

fn cancel(id: u64) -> String {
    let params = json!({"requestId": id});
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}).to_string()
}

async fn is_gone(changes: &Changes) {
    timeout(DEADLINE, changes.are_open(0)).await.expect("the feed is dropped");
}

#[tokio::test]
async fn over_http_changes_come_as_events_until_the_client_goes() {
    let changes = Changes::default();
    let fixture = Fixture::hooked(Limits::default(), changes.clone()).await;
    let mut stream = RawClient::connect(fixture.address).await.open(&listen()).await;
    assert_eq!(stream.head.status, 200);
    assert_eq!(stream.head.header("x-accel-buffering"), Some("no"));
    assert_eq!(stream.message().await["method"], ACKNOWLEDGED);
    for number in 1..=3 {
        changes.rise(1);
        assert_eq!(stream.message().await["params"], json!({"number": number, "of": 1}));
    }
    changes.rise(1000);
    assert_eq!(stream.message().await["params"]["number"], 1003);
    drop(stream);
    is_gone(&changes).await;
}

#[tokio::test]
async fn over_http_a_stop_ends_subscriptions_with_their_result() {
    let changes = Changes::default();
    let limits = Limits { shutdown_grace: Duration::from_secs(60), ..Limits::default() };
    let fixture = Fixture::hooked(limits, changes.clone()).await;
    let mut stream = RawClient::connect(fixture.address).await.open(&listen()).await;
    assert_eq!(stream.message().await["method"], ACKNOWLEDGED);
    let ended = async {
        let last = stream.message().await;
        assert_eq!(last, json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
        assert_eq!(stream.end().await, []);
    };
    let stopped = fixture.stop(Stop::Gracefully);
    timeout(DEADLINE, async { tokio::join!(stopped, ended) }).await.expect("long before the grace");
    assert_eq!(changes.open(), 0);
}

#[tokio::test]
async fn over_http_a_feed_may_end_by_itself() {
    let changes = Changes::default();
    let fixture = Fixture::hooked(Limits::default(), changes.clone()).await;
    let mut stream = RawClient::connect(fixture.address).await.open(&listen()).await;
    assert_eq!(stream.message().await["method"], ACKNOWLEDGED);
    changes.end();
    assert_eq!(stream.end().await, []);
    is_gone(&changes).await;
}

#[tokio::test]
async fn a_quiet_subscription_is_kept_alive_by_comments() {
    let limits = Limits { keep_alive: Duration::from_millis(10), ..Limits::default() };
    let fixture = Fixture::hooked(limits, Changes::default()).await;
    let mut stream = RawClient::connect(fixture.address).await.open(&listen()).await;
    assert_eq!(stream.message().await["method"], ACKNOWLEDGED);
    for _ in 0..3 {
        assert_eq!(stream.next().await.comment.as_deref(), Some("still working"));
    }
}

#[tokio::test]
async fn subscriptions_have_a_bound_of_their_own() {
    let changes = Changes::default();
    let limits = Limits { subscriptions: 2, requests_in_flight: 1, ..Limits::default() };
    let fixture = Fixture::hooked(limits, changes.clone()).await;
    let first = RawClient::connect(fixture.address).await.open(&listen()).await;
    let _second = RawClient::connect(fixture.address).await.open(&listen()).await;
    let mut client = RawClient::connect(fixture.address).await;
    let refused = client.ask(&listen()).await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    let error = &refused.json()["error"];
    let message = "Overloaded: 2 subscriptions are open; try again in a second";
    assert_eq!((&error["code"], &error["message"]), (&json!(-31003), &json!(message)));
    assert_eq!(client.ask(&modern("tools/list", "{}")).await.status, 200, "others have room");
    drop(first);
    timeout(DEADLINE, changes.are_open(1)).await.expect("the first is gone");
    let third = client.open(&listen()).await;
    assert_eq!(third.head.status, 200);
}

#[tokio::test]
async fn a_client_that_takes_no_stream_cannot_subscribe() {
    let changes = Changes::default();
    let fixture = Fixture::hooked(Limits::default(), changes.clone()).await;
    let mut client = RawClient::connect(fixture.address).await;
    let json_only = modern_with(&[("accept", "application/json")], LISTEN, "{}");
    let refused = client.ask(&json_only).await;
    assert_eq!((refused.status, &refused.json()["id"]), (406, &json!(1)));
    assert_eq!((changes.open(), changes.opened()), (0, 1));
}

#[tokio::test]
async fn over_pipes_subscriptions_and_calls_share_the_line() {
    let changes = Changes::default();
    let mut client = PipeClient::hooked(Limits::default(), changes.clone());
    for id in [1, 2] {
        assert_eq!(client.ask(&line(id, LISTEN)).await["method"], ACKNOWLEDGED);
    }
    let refused = client.ask(&line(1, "tools/list")).await;
    assert_eq!(refused["error"]["code"], -32600, "its id is in use: {refused}");
    changes.rise(1);
    let mut told = [client.read().await, client.read().await];
    told.sort_by_key(|message| message["params"]["of"].as_u64());
    let told = told.map(|message| message["params"].clone());
    assert_eq!(told, [json!({"number": 1, "of": 1}), json!({"number": 1, "of": 2})]);

    client.send(&cancel(1)).await;
    assert_eq!(client.ask(&line(1, "tools/list")).await["result"]["resultType"], "complete");
    assert_eq!(changes.open(), 1, "the id is free and the feed is gone");
    changes.rise(1);
    assert_eq!(client.read().await["params"], json!({"number": 2, "of": 2}));
    client.close_input();
    let last = json!({"jsonrpc": "2.0", "id": 2, "result": {}});
    assert_eq!(client.end().await, [last], "who closes the line ends what is left");
    assert_eq!(changes.open(), 0);
}

#[tokio::test]
async fn over_pipes_a_stop_ends_subscriptions_with_their_result() {
    let changes = Changes::default();
    let limits = Limits { shutdown_grace: Duration::from_secs(60), ..Limits::default() };
    let mut client = PipeClient::hooked(limits, changes.clone());
    assert_eq!(client.ask(&line(7, LISTEN)).await["method"], ACKNOWLEDGED);
    client.stop(Stop::Gracefully);
    let last = json!({"jsonrpc": "2.0", "id": 7, "result": {}});
    assert_eq!(client.end().await, [last]);
}

#[tokio::test]
async fn over_pipes_a_feed_that_ends_by_itself_frees_its_id() {
    let changes = Changes::default();
    let mut client = PipeClient::hooked(Limits::default(), changes.clone());
    assert_eq!(client.ask(&line(1, LISTEN)).await["method"], ACKNOWLEDGED);
    changes.rise(1);
    changes.end();
    assert_eq!(client.read().await["params"]["number"], 1);
    is_gone(&changes).await;
    assert_eq!(client.ask(&line(1, "tools/list")).await["result"]["resultType"], "complete");
}

#[tokio::test]
async fn over_pipes_a_feed_without_end_holds_up_neither_calls_nor_its_own_end() {
    let changes = Changes::default().telling_each();
    let mut client = PipeClient::hooked(Limits::default(), changes.clone());
    assert_eq!(client.ask(&line(1, LISTEN)).await["method"], ACKNOWLEDGED);
    changes.rise(u64::MAX / 2);
    client.send(&line(2, "tools/list")).await;
    let mut answered = Value::Null;
    while answered["id"] != 2 {
        answered = client.read().await;
    }
    client.send(&cancel(1)).await;
    timeout(DEADLINE, async {
        while changes.open() > 0 {
            client.read().await;
        }
    })
    .await
    .expect("it is cancelled");
}

/// A feed that panics after it has begun to say something.
struct Broken;

impl Feed for Broken {
    fn poll_next(&mut self, _: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<bool> {
        out.extend_from_slice(b"half a mess");
        panic!("on purpose");
    }
}

fn broken(ask: &Ask<'_>, _: &mut Vec<u8>) -> Option<Turn> {
    (ask.method == Method::SubscriptionsListen).then(|| Turn::Stream(Box::new(Broken)))
}

#[tokio::test]
async fn a_feed_that_panics_ends_and_harms_nothing_else() {
    let fixture = Fixture::hooked(Limits::default(), broken).await;
    let mut client = RawClient::connect(fixture.address).await;
    let ended = client.ask(&listen()).await;
    assert_eq!((ended.status, ended.body.as_str()), (200, ""));
    assert_eq!(client.ask(&modern("tools/list", "{}")).await.status, 200);

    let mut client = PipeClient::hooked(Limits::default(), broken);
    client.send(&line(1, LISTEN)).await;
    let answer = client.ask(&line(2, "tools/list")).await;
    assert_eq!((&answer["id"], &answer["result"]["resultType"]), (&json!(2), &json!("complete")));
}
