//! What a call says before its answer comes before it, and within its bounds, over both wires.

use crate::fixture::Fixture;
use crate::hook::{text, tool_of};
use crate::pipe_client::PipeClient;
use crate::raw_client::{RawClient, modern, modern_with};
use haft_proto::limits::Limits;
use haft_proto::service::{Ask, Turn};
use serde_json::{Value, json};

const SAY: &str = r#"{"name":"say","_meta":{"progressToken":"t"}}"#;

fn assert_said(messages: &[Value]) {
    let [said @ .., answer] = messages else { panic!("nothing: {messages:?}") };
    let steps: Vec<_> = said.iter().map(|note| &note["params"]["progress"]).collect();
    assert_eq!(steps, [&json!(1.0), &json!(2.0), &json!(3.0)]);
    assert_eq!(answer["result"]["content"][0]["text"], "done");
}

#[tokio::test]
async fn over_pipes_notifications_come_before_an_answer_that_is_there_at_once() {
    let mut client = PipeClient::start();
    client.initialize("2025-11-25").await;
    let call = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{SAY}}}"#);
    let quick = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    client.send(&format!("{quick}\n{call}")).await;
    client.send(&call).await;
    client.close_input();
    let all = client.end().await;
    assert_said(&all[all.len() - 4..]);
}

#[tokio::test]
async fn over_http_notifications_come_before_an_answer_that_is_there_at_once() {
    let fixture = Fixture::start().await;
    let mut client = RawClient::connect(fixture.address).await;
    assert_said(&client.ask(&modern("tools/call", SAY)).await.events());
    let session = client.session("2025-06-18").await;
    assert_said(&client.ask(&session.call(1, SAY)).await.events());
    let plain = client.ask(&modern("tools/call", r#"{"name":"say"}"#)).await;
    assert_eq!(plain.json()["result"]["content"][0]["text"], "done");
    let only_json = [("accept", "application/json")];
    let plain = client.ask(&modern_with(&only_json, "tools/call", SAY)).await;
    assert_eq!(plain.json()["result"]["content"][0]["text"], "done");
}

/// Says a gigabyte, and answers how much of it was taken.
fn gigabyte(ask: &Ask<'_>, out: &mut Vec<u8>) -> Option<Turn> {
    if tool_of(ask) != r#""gigabyte""# {
        return None;
    }
    let outlet = ask.wire.outlet();
    let message = format!(r#"{{"jsonrpc":"2.0","method":"{}"}}"#, "x".repeat(1 << 20));
    let taken = (0..1024).filter(|_| outlet.send(message.clone().into_bytes())).count();
    let small = (0..1024).filter(|_| outlet.send(b"{}".to_vec())).count();
    Some(text(ask, out, &format!("{taken} {small}")))
}

#[tokio::test]
async fn a_gigabyte_that_is_said_at_once_is_dropped_but_for_the_bound() {
    let limits = Limits { queued_bytes: 3 << 20, queued_notifications: 10, ..Limits::default() };
    let fixture = Fixture::hooked(limits.clone(), gigabyte).await;
    let mut client = RawClient::connect(fixture.address).await;
    let call = r#"{"name":"gigabyte"}"#;
    let answer = client.ask(&modern("tools/call", call)).await;
    let events = answer.events();
    assert_eq!(events.last().expect("an answer")["result"]["content"][0]["text"], "2 8");
    assert_eq!(events.len(), 11);
    let only_json = [("accept", "application/json")];
    let answer = client.ask(&modern_with(&only_json, "tools/call", call)).await.json();
    assert_eq!(answer["result"]["content"][0]["text"], "0 0", "nobody reads it");

    let mut client = PipeClient::hooked(limits, gigabyte);
    client.initialize("2025-11-25").await;
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"gigabyte"}}"#)
        .await;
    client.close_input();
    let all = client.end().await;
    assert_eq!(all.last().expect("an answer")["result"]["content"][0]["text"], "2 8");
    assert_eq!(all.len(), 11);
}

fn assert_far(messages: &[Value]) {
    let [said @ .., answer] = messages else { panic!("nothing: {messages:?}") };
    let steps: Vec<_> = said.iter().map(|note| note["params"]["progress"].as_f64()).collect();
    assert_eq!(steps, [1.0, 2.0, 3.0, 4.0, 1000.0].map(Some));
    assert_eq!(answer["result"]["content"][0]["text"], "done");
}

#[tokio::test]
async fn who_reads_slowly_hears_how_far_a_call_has_come_at_last() {
    let limits = Limits { queued_notifications: 5, ..Limits::default() };
    let call = r#"{"name":"far","_meta":{"progressToken":"t"}}"#;
    let fixture = Fixture::with(limits.clone(), Default::default()).await;
    let mut client = RawClient::connect(fixture.address).await;
    assert_far(&client.ask(&modern("tools/call", call)).await.events());
    let session = client.session("2025-06-18").await;
    assert_far(&client.ask(&session.call(1, call)).await.events());

    let mut client = PipeClient::hooked(limits, |_: &Ask<'_>, _: &mut Vec<u8>| None);
    client.initialize("2025-11-25").await;
    client
        .send(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{call}}}"#))
        .await;
    client.close_input();
    let all = client.end().await;
    assert_far(&all[all.len() - 6..]);
}
