//! What happens to datagrams on their way: an address that changes, and a way that is cut for a
//! while. Over QUIC, through a relay that is what is between an agent and its gateway.

use crate::pair::{Gateway, Running, client, here};
use crate::relay::Relay;
use haft_client::{Client, ClientError, Passed};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;
use tokio::time::timeout;

async fn through_relay() -> (Gateway, Relay, Running, Arc<Client>) {
    let gateway = Gateway::new().await;
    let relay = Relay::to(gateway.at).await;
    let member = gateway.member("plant-7");
    let agent = Running::begin(gateway.joined("plant-7").await, &[relay.at]);
    here(&member).await;
    let client = Arc::new(client(&member).await);
    (gateway, relay, agent, client)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_address_is_not_noticed() {
    let (gateway, relay, agent, client) = through_relay().await;
    for number in 0..20 {
        if number % 5 == 4 {
            relay.change_address();
        }
        let text = json!({"text": number.to_string()}).to_string();
        client.call_tool_raw("once", &text, &mut |_| {}).await.expect("it comes");
    }
    assert_eq!((agent.done(), agent.failures()), (20, Vec::new()));
    assert_eq!(gateway.ended(), ["it has joined"]);
}

/// A call that is made.
type Calling = JoinHandle<Result<Passed, ClientError>>;

/// Cuts the way, until something, while a call runs and another begins: what becomes of both.
async fn cut_until(until: impl AsyncFnOnce(&Running, &mut Calling)) -> (Running, [bool; 2]) {
    let (_gateway, relay, agent, client) = through_relay().await;
    let call = |tool: &'static str, arguments: String| {
        let client = Arc::clone(&client);
        tokio::spawn(async move { client.call_tool_raw(tool, &arguments, &mut |_| {}).await })
    };
    let mut running = call("wait", json!({"bytes": 100_000}).to_string());
    agent.begun(1).await;
    relay.cut(true);
    let begun = call("once", json!({"text": "meanwhile"}).to_string());
    agent.let_go();
    until(&agent, &mut running).await;
    assert!(!running.is_finished() && !begun.is_finished());
    relay.cut(false);
    let mut came = [false; 2];
    for (call, came) in [running, begun].into_iter().zip(&mut came) {
        let ended = timeout(Duration::from_secs(40), call).await;
        *came = ended.expect("in time").expect("no panic").is_ok();
    }
    assert_eq!((agent.done(), agent.said_twice()), (2, Vec::new()));
    (agent, came)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_cut_for_a_second_comes_after_it() {
    let second = async |_: &Running, running: &mut Calling| {
        let late = timeout(Duration::from_secs(1), running).await;
        assert!(late.is_err(), "nothing passes");
    };
    let (agent, came) = cut_until(second).await;
    assert_eq!((came, agent.failures()), ([true; 2], Vec::new()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_cut_for_longer_than_a_link_lasts_comes_over_the_next() {
    let given_up = async |agent: &Running, _: &mut Calling| {
        agent.fails_with("nothing came over it any more").await;
    };
    let (_agent, came) = cut_until(given_up).await;
    assert_eq!(came, [true; 2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r23_what_may_be_done_twice_is_refused_soon_when_its_agent_is_gone() {
    let (gateway, relay, _agent, client) = through_relay().await;
    // What may be done twice is known from the list.
    client.list_tools().await.expect("it answers");
    relay.cut(true);
    let since = Instant::now();
    let text = json!({"text": "around"}).to_string();
    let called = client.call_tool_raw("look", &text, &mut |_| {}).await;
    let took = since.elapsed();
    let why = called.map(|_| ()).expect_err("nobody is there").to_string();
    assert!(why.contains("agent `plant-7`") && why.contains("link"), "{why}");
    // Without calls it is noticed after 15 s, and what was begun is kept for two minutes.
    assert!(took < Duration::from_secs(14), "{took:?}: {why}");
    println!("refused after {took:?}: {why}");
    assert!(gateway.ended().iter().any(|why| why == "nothing came over it any more"));
}
