//! Calls over a link: what a client of a gateway gets of what an agent has.

use crate::pair::{Gateway, Running, client, here, whole};
use haft_agent::Presence;
use haft_agent::limits::ANSWER_BYTES_MAX;
use serde_json::json;
use serde_json::value::to_raw_value;
use std::time::Duration;

#[tokio::test]
async fn a_tool_of_an_agent_is_listed_and_called() {
    let gateway = Gateway::new().await;
    let member = gateway.member("plant-7");
    let _agent = gateway.agent("plant-7").await;
    here(&member).await;
    let client = client(&member).await;
    assert_eq!(client.handshake().server.name, "far");
    let tools = client.list_tools().await.expect("they are listed").tools;
    assert_eq!(
        tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(),
        ["echo", "long", "look", "nap", "wait", "once"]
    );
    let arguments = to_raw_value(&json!({"text": "far away"})).expect("it is JSON");
    let result = client.call_tool("echo", &arguments, &mut |_| {}).await.expect("it answers");
    assert!(!result.is_error);
    let refused = client.call_tool("none", &arguments, &mut |_| {}).await;
    assert!(refused.expect_err("there is no such tool").to_string().contains("none"));
}

#[tokio::test]
async fn a_long_result_comes_whole() {
    let gateway = Gateway::new().await;
    let member = gateway.member("plant-7");
    let _agent = gateway.agent("plant-7").await;
    here(&member).await;
    let client = client(&member).await;
    for bytes in [0, 1, 32 * 1024, 256 * 1024, 3 * 1024 * 1024] {
        let arguments = format!(r#"{{"bytes":{bytes}}}"#);
        let passed = client.call_tool_raw("long", &arguments, &mut |_| {}).await.expect("it comes");
        assert_eq!(whole(passed).await.matches('~').count(), bytes);
    }
}

#[tokio::test]
async fn a_second_agent_of_a_name_is_refused_and_the_first_goes_on() {
    let gateway = Gateway::new().await;
    let member = gateway.member("plant-7");
    let identity = gateway.joined("plant-7").await;
    let first = Running::begin(identity.clone(), &[gateway.at]);
    here(&member).await;
    let unknown = gateway.agent("plant-8").await;
    unknown.fails_with("no upstream of the gateway's file has this agent").await;
    let second = Running::begin(identity, &[gateway.at]);
    let taken = "another agent with this name is connected: give each a name of its own";
    second.fails_with(taken).await;
    assert_eq!(first.failures(), Vec::<String>::new());
    let ended = gateway.ended();
    for why in ["no upstream", "another agent"] {
        assert!(ended.iter().any(|said| said.starts_with(why)), "{ended:?}");
    }
    let client = client(&member).await;
    client.list_tools().await.expect("the first is still there");
}

#[tokio::test]
async fn one_that_is_started_again_takes_the_place_of_the_one_before() {
    let gateway = Gateway::new().await;
    let member = gateway.member("plant-7");
    let identity = gateway.joined("plant-7").await;
    let first = Running::begin(identity.clone(), &[gateway.at]);
    here(&member).await;
    let before = *member.presence().borrow();
    drop(first);
    let _second = Running::begin(identity, &[gateway.at]);
    let mut presence = member.presence();
    let is_new = |now: &Presence| {
        matches!(now, Presence::Here { revision: 1.., .. }) && now.session() != before.session()
    };
    let waited = tokio::time::timeout(Duration::from_secs(30), presence.wait_for(is_new)).await;
    waited.expect("in time").expect("it is told");
    client(&member).await.list_tools().await.expect("it answers");
}

#[tokio::test]
async fn an_answer_that_is_too_long_is_given_up_and_the_next_call_is_answered() {
    let gateway = Gateway::new().await;
    let member = gateway.member("plant-7");
    let _agent = gateway.agent("plant-7").await;
    here(&member).await;
    let client = client(&member).await;
    let arguments = format!(r#"{{"bytes":{ANSWER_BYTES_MAX}}}"#);
    let long = client.call_tool_raw("long", &arguments, &mut |_| {}).await;
    let said = long.expect_err("it is too long").to_string();
    assert!(said.contains(&ANSWER_BYTES_MAX.to_string()), "{said}");
    client.list_tools().await.expect("it answers");
}
