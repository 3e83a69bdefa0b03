//! Legacy clients that lose a stream, or are sent away, and come back for the rest.

use crate::changes::Changes;
use crate::fixture::Fixture;
use crate::hook::{reply, tool_of};
use crate::pipe_client::DEADLINE;
use crate::raw_client::{Event, EventReader, RawClient, Session};
use haft_proto::limits::Limits;
use haft_proto::service::{Ask, Turn};
use serde_json::{Value, json};
use std::collections::HashSet;
use tokio::time::timeout;

const STEPS: &str = r#"{"name":"steps","_meta":{"progressToken":"t"}}"#;
const LEAVE: &str = r#"{"name":"leave","_meta":{"progressToken":"t"}}"#;

async fn open(fixture: &Fixture, request: &[u8]) -> EventReader {
    RawClient::connect(fixture.address).await.open(request).await
}

/// Comes back after an event.
async fn back(fixture: &Fixture, session: &Session, last: &Event) -> EventReader {
    let id = last.id.as_deref().expect("an id");
    let stream = open(fixture, &session.get(&[("last-event-id", id)])).await;
    assert_eq!(stream.head.status, 200, "{:?}", stream.head);
    stream
}

async fn started(limits: Limits) -> (Fixture, RawClient, Session) {
    let fixture = Fixture::with(limits, Default::default()).await;
    let mut client = RawClient::connect(fixture.address).await;
    let session = client.session("2025-11-25").await;
    (fixture, client, session)
}

fn step(event: &Event) -> &Value {
    let json: &'static Value = Box::leak(Box::new(event.json()));
    &json["params"]["progress"]
}

fn text(event: &Event) -> String {
    event.json()["result"]["content"][0]["text"].as_str().expect("a text").to_owned()
}

#[tokio::test]
async fn events_have_ids_from_2025_03_26_on_and_streams_begin_with_one_from_2025_11_25_on() {
    for (version, has_ids, is_primed) in [
        ("2024-11-05", false, false),
        ("2025-03-26", true, false),
        ("2025-06-18", true, false),
        ("2025-11-25", true, true),
    ] {
        let fixture = Fixture::start().await;
        let mut client = RawClient::connect(fixture.address).await;
        let session = client.session(version).await;
        let mut ids = HashSet::new();
        for call in 1..=2 {
            let progress = r#"{"name":"progress","_meta":{"progressToken":"t"}}"#;
            let mut events = open(&fixture, &session.call(call, progress)).await.end().await;
            if is_primed {
                let first = events.remove(0);
                assert_eq!((first.data.as_deref(), first.retry), (Some(""), Some(1000)));
                assert!(ids.insert(first.id.expect("an id")));
            }
            assert_eq!(events.len(), 4, "{events:?}");
            for event in events {
                assert_eq!((event.id.is_some(), event.retry), (has_ids, None));
                assert!(event.json().is_object());
                assert!(event.id.is_none_or(|id| ids.insert(id)), "unique in the session");
            }
        }
    }
}

#[tokio::test]
async fn a_client_that_lost_its_stream_gets_the_rest_and_the_result() {
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let fixture = Fixture::start().await;
        let mut client = RawClient::connect(fixture.address).await;
        let session = client.session(version).await;
        let mut stream = open(&fixture, &session.call(1, STEPS)).await;
        let mut last = stream.next().await;
        while last.data.as_deref() == Some("") {
            last = stream.next().await;
        }
        assert_eq!(step(&last), &json!(1.0));
        drop(stream);
        // Another call says something on a stream of its own in the meantime.
        let other = r#"{"name":"say","_meta":{"progressToken":"t"}}"#;
        assert_eq!(client.ask(&session.call(2, other)).await.status, 200);
        fixture.gate.open.notify_one();

        let mut stream = back(&fixture, &session, &last).await;
        let missed = stream.next().await;
        assert_eq!(step(&missed), &json!(2.0), "it goes on though its client was away");
        fixture.gate.open.notify_one();
        assert_eq!(step(&stream.next().await), &json!(3.0), "and is heard again");
        fixture.gate.open.notify_one();
        let answer = stream.next().await;
        assert_eq!((answer.json()["id"].as_u64(), &*text(&answer)), (Some(1), "done"));
        assert_eq!(stream.end().await, []);

        // It is all there again, as it may have been lost on the way.
        let rest = back(&fixture, &session, &missed).await.end().await;
        assert_eq!(rest.len(), 2);
        assert_eq!(text(&rest[1]), "done");
        let id = answer.id.expect("an id");
        let nothing = client.ask(&session.get(&[("last-event-id", &id)])).await;
        assert_eq!(nothing.status, 400, "it has everything");
    }
}

#[tokio::test]
async fn a_result_that_comes_while_the_client_is_away_waits_for_it() {
    let (fixture, _client, session) = started(Limits::default()).await;
    let mut stream = open(&fixture, &session.call(1, STEPS)).await;
    let primed = stream.next().await;
    assert_eq!(step(&stream.next().await), &json!(1.0));
    drop(stream);
    // A permit that nobody waits for yet is kept, and there is never more than one.
    let opening = async {
        loop {
            fixture.gate.open.notify_one();
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        () = opening => {}
        ended = timeout(DEADLINE, fixture.gate.ended.notified()) => ended.expect("the call ends"),
    }
    let rest = back(&fixture, &session, &primed).await.end().await;
    assert_eq!(rest[..3].iter().map(step).collect::<Vec<_>>(), [1.0, 2.0, 3.0]);
    assert_eq!(text(&rest[3]), "done");
}

#[tokio::test]
async fn a_client_that_is_sent_away_gets_questions_and_the_result_when_it_is_back() {
    let (fixture, mut client, session) = started(Limits::default()).await;
    let sent_away = open(&fixture, &session.call(1, LEAVE)).await.end().await;
    let [primed, leave] = &sent_away[..] else { panic!("{sent_away:?}") };
    assert_eq!((primed.data.as_deref(), primed.retry), (Some(""), Some(1000)));
    assert_eq!((leave.retry, &leave.data), (Some(70), &None));
    fixture.gate.open.notify_one();

    let mut stream = back(&fixture, &session, primed).await;
    assert_eq!(step(&stream.next().await), &json!(1.0));
    let question = stream.next().await.json();
    assert_eq!(question["method"], "elicitation/create");
    let result = json!({"action": "accept", "content": {"name": "Ada"}});
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": result}).to_string();
    assert_eq!(client.ask(&session.post(&answer)).await.status, 202);
    assert_eq!(text(&stream.next().await), "Ada came back");
    assert_eq!(stream.end().await, []);
}

#[tokio::test]
async fn only_who_can_come_back_is_sent_away() {
    let fixture = Fixture::start().await;
    let mut client = RawClient::connect(fixture.address).await;
    let session = client.session("2025-06-18").await;
    fixture.gate.open.notify_one();
    let mut stream = open(&fixture, &session.call(1, LEAVE)).await;
    assert_eq!(step(&stream.next().await), &json!(1.0));
    assert_eq!(stream.message().await["method"], "elicitation/create", "it goes on");
}

#[tokio::test]
async fn whoever_comes_back_twice_is_heard_once() {
    let (fixture, _client, session) = started(Limits::default()).await;
    let mut first = open(&fixture, &session.call(1, STEPS)).await;
    let primed = first.next().await;
    let mut second = back(&fixture, &session, &primed).await;
    assert_eq!(step(&second.next().await), &json!(1.0));
    let rest = first.end().await;
    assert!(rest.iter().all(|event| step(event) == &json!(1.0)), "{rest:?}");
    fixture.gate.open.notify_one();
    assert_eq!(step(&second.next().await), &json!(2.0));
}

#[tokio::test]
async fn an_event_that_the_session_has_not_had_is_refused() {
    let (fixture, mut client, session) = started(Limits::default()).await;
    let mut stream = open(&fixture, &session.call(1, STEPS)).await;
    let primed = stream.next().await.id.expect("an id");
    let other = client.session("2025-11-25").await;
    let ahead = format!("{}9", primed);
    for (asked_by, id) in [
        (&session, "garbled"),
        (&session, ""),
        (&session, "-1--1"),
        (&session, "00000000-1-1"),
        (&session, &*ahead),
        (&other, &*primed),
    ] {
        let refused = client.ask(&asked_by.get(&[("last-event-id", id)])).await;
        assert_eq!((refused.status, &refused.json()["error"]["code"]), (400, &json!(-32600)));
    }
    // A revision that knows no such header does not mind it.
    let session = client.session("2024-11-05").await;
    let refused = client.ask(&session.get(&[("last-event-id", &primed)])).await;
    assert_eq!(refused.status, 405, "this server has no news");
}

/// Says a million things after the first, and is done.
fn million(ask: &Ask<'_>, _: &mut Vec<u8>) -> Option<Turn> {
    if tool_of(ask) != r#""million""# {
        return None;
    }
    let (outlet, id) = (ask.wire.outlet(), ask.id.raw().to_owned());
    Some(Turn::Later(Box::pin(async move {
        let note = |number: u64| format!(r#"{{"number":{number}}}"#).into_bytes();
        outlet.send(note(0));
        while outlet.disconnect(std::time::Duration::ZERO) {
            tokio::task::yield_now().await;
        }
        let taken = (1..=1_000_000).filter(|number| outlet.send(note(*number))).count();
        reply(&id, &taken.to_string())
    })))
}

#[tokio::test]
async fn of_a_million_events_for_a_client_that_is_away_the_last_are_kept() {
    let limits = Limits { replay_events: 10, ..Limits::default() };
    let fixture = Fixture::hooked(limits, million).await;
    let mut client = RawClient::connect(fixture.address).await;
    let session = client.session("2025-11-25").await;
    let sent_away = open(&fixture, &session.call(1, r#"{"name":"million"}"#)).await.end().await;
    let rest = back(&fixture, &session, &sent_away[0]).await.end().await;
    let last = rest.last().expect("an answer");
    assert_eq!(text(last), "1000000");
    assert!(rest.len() <= 10 + 1, "{}, the answer beside them", rest.len());
}

/// Says as many things as its name tells after a `-`, and then answers with a megabyte, once the
/// client is away.
fn megabyte(ask: &Ask<'_>, _: &mut Vec<u8>) -> Option<Turn> {
    let said = tool_of(ask).strip_prefix(r#""megabyte-"#)?.trim_end_matches('"').parse::<u64>();
    let said = said.expect("a number");
    let (outlet, id) = (ask.wire.outlet(), ask.id.raw().to_owned());
    Some(Turn::Later(Box::pin(async move {
        outlet.send(br#"{"number":0}"#.to_vec());
        while outlet.disconnect(std::time::Duration::ZERO) {
            tokio::task::yield_now().await;
        }
        let note = br#"{"number":1}"#;
        (0..said).for_each(|_| assert!(outlet.send(note.to_vec())));
        reply(&id, &"x".repeat(1 << 20))
    })))
}

/// Calls `megabyte`; returns the last event before its client was sent away.
async fn called(fixture: &Fixture, session: &Session, id: u64, said: u64) -> Event {
    let call = session.call(id, &format!(r#"{{"name":"megabyte-{said}"}}"#));
    let mut sent_away = open(fixture, &call).await.end().await;
    sent_away.swap_remove(1)
}

/// Waits until a call is over: until then nobody else may have its id.
async fn ended(client: &mut RawClient, session: &Session, id: u64) {
    let ping = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
    let over = async { while client.ask(&session.post(&ping)).await.json()["result"].is_null() {} };
    timeout(DEADLINE, over).await.expect("the call ends");
}

/// The last event of a call whose client comes back after an event: the call may not be over yet,
/// and then goes on with this client.
async fn last_after(fixture: &Fixture, session: &Session, last: &Event) -> Event {
    let rest = timeout(DEADLINE, back(fixture, session, last).await.end()).await;
    rest.expect("the call ends").pop().expect("an event")
}

#[tokio::test]
async fn a_result_that_is_larger_than_all_a_session_may_keep_waits_for_its_client() {
    let fixture = Fixture::hooked(Limits::default(), megabyte).await;
    let mut client = RawClient::connect(fixture.address).await;
    let session = client.session("2025-11-25").await;
    let last = called(&fixture, &session, 1, 0).await;
    ended(&mut client, &session, 1).await;
    for time in ["first", "second"] {
        assert_eq!(text(&last_after(&fixture, &session, &last).await).len(), 1 << 20, "{time}");
    }
}

#[tokio::test]
async fn a_result_that_waits_outlives_all_that_is_said_of_another_call() {
    let fixture = Fixture::hooked(Limits::default(), megabyte).await;
    let mut client = RawClient::connect(fixture.address).await;
    let session = client.session("2025-11-25").await;
    let (one, other) =
        (called(&fixture, &session, 1, 0).await, called(&fixture, &session, 2, 1000).await);
    ended(&mut client, &session, 1).await;
    ended(&mut client, &session, 2).await;
    for (last, id) in [(other, 2), (one, 1)] {
        let answer = last_after(&fixture, &session, &last).await;
        assert_eq!((answer.json()["id"].as_u64(), text(&answer).len()), (Some(id), 1 << 20));
    }
}

#[tokio::test]
async fn a_result_that_waits_takes_the_place_of_what_other_clients_were_sent() {
    let limits = Limits { replays_bytes: (1 << 20) + 1000, ..Limits::default() };
    let fixture = Fixture::hooked(limits, megabyte).await;
    let mut client = RawClient::connect(fixture.address).await;
    let sessions = [client.session("2025-11-25").await, client.session("2025-11-25").await];
    for session in &sessions {
        let last = called(&fixture, session, 1, 0).await;
        ended(&mut client, session, 1).await;
        assert_eq!(text(&last_after(&fixture, session, &last).await).len(), 1 << 20);
    }
}

#[tokio::test]
async fn a_result_that_there_is_no_room_for_becomes_an_error_in_its_place() {
    let limits = Limits { replays_bytes: (1 << 20) + 1000, ..Limits::default() };
    let fixture = Fixture::hooked(limits, megabyte).await;
    let mut client = RawClient::connect(fixture.address).await;
    let session = client.session("2025-11-25").await;
    let kept = called(&fixture, &session, 1, 0).await;
    ended(&mut client, &session, 1).await;
    let refused = called(&fixture, &session, 2, 0).await;
    ended(&mut client, &session, 2).await;
    let error = last_after(&fixture, &session, &refused).await.json();
    assert_eq!((&error["id"], &error["error"]["code"]), (&json!(2), &json!(-31003)), "{error}");
    assert_eq!(text(&last_after(&fixture, &session, &kept).await).len(), 1 << 20);
}

#[tokio::test]
async fn where_nothing_can_be_kept_whoever_comes_back_is_refused() {
    let limits = Limits { replays_bytes: 10, ..Limits::default() };
    let fixture = Fixture::hooked(limits, megabyte).await;
    let mut client = RawClient::connect(fixture.address).await;
    let session = client.session("2025-11-25").await;
    let last = called(&fixture, &session, 1, 0).await;
    ended(&mut client, &session, 1).await;
    let last = last.id.expect("an id");
    let lost = client.ask(&session.get(&[("last-event-id", &last)])).await;
    assert_eq!((lost.status, &lost.json()["error"]["code"]), (400, &json!(-32600)));
}

#[tokio::test]
async fn news_that_were_lost_on_the_way_are_told_again() {
    let changes = Changes::default();
    let fixture = Fixture::hooked(Limits::default(), changes.clone()).await;
    let mut client = RawClient::connect(fixture.address).await;
    let session = client.session("2025-11-25").await;
    let mut stream = open(&fixture, &session.get(&[])).await;
    let primed = stream.next().await;
    assert_eq!((primed.data.as_deref(), primed.retry), (Some(""), Some(1000)));
    for number in 1..=2 {
        changes.rise(1);
        assert_eq!(stream.message().await["params"]["number"], number);
    }
    let mut stream = back(&fixture, &session, &primed).await;
    for number in 1..=2 {
        assert_eq!(stream.message().await["params"]["number"], number);
    }
    changes.rise(1);
    assert_eq!(stream.message().await["params"]["number"], 3);
}
