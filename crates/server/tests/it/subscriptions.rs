//! What is told without being asked for each time: to modern subscriptions, and to legacy sessions.

use crate::wire::{TestWire, ask_on, next};
use haft_proto::limits::Limits;
use haft_proto::service::{Feed, Service};
use haft_proto::session::Session;
use haft_proto::spec::client::ClientCapabilities;
use haft_proto::version::Revision;
use haft_server::{Prompt, Resource, Server, Tool, handler};
use serde_json::{Value, json};
use std::sync::Arc;

fn tool(name: &str) -> Tool {
    Tool::new(name, handler::function(|_: Value| "done"))
}

fn server() -> Server {
    let built = Server::builder("s", "1")
        .limits(Limits { watched: 3, ..Limits::default() })
        .tool(tool("a"))
        .resource(Resource::text("a:1", "one", "1"));
    built.build().expect("right")
}

async fn listen(server: &Server, wishes: Value) -> (Option<Box<dyn Feed>>, Value) {
    let wire = TestWire::default();
    let params = json!({"notifications": wishes});
    let answer = ask_on(&wire, server, Revision::LATEST, "subscriptions/listen", params).await;
    let feed = wire.feed.lock().expect("free").take();
    (feed, answer)
}

#[tokio::test]
async fn a_subscription_is_acknowledged_first_and_told_what_it_asked_for() {
    let server = server();
    let wishes = json!({"toolsListChanged": true, "promptsListChanged": true,
                        "resourceSubscriptions": ["a:1"]});
    let (feed, _) = listen(&server, wishes).await;
    let mut feed = feed.expect("a stream");
    server.add_tool(tool("b")).expect("right");
    let first = next(&mut *feed).expect("the acknowledgement");
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    let honoured = json!({"toolsListChanged": true, "resourceSubscriptions": ["a:1"]});
    assert_eq!(first["params"]["notifications"], honoured, "there are no prompts");
    let told = next(&mut *feed).expect("what changed before it was acknowledged");
    assert_eq!(told["method"], "notifications/tools/list_changed");
    assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    assert_eq!(next(&mut *feed), None);

    for _ in 0..1000 {
        server.resource_updated("a:1");
        server.resource_updated("a:2");
        server.add_resource(Resource::text("a:2", "two", "2")).expect("right");
    }
    let told = next(&mut *feed).expect("a change");
    assert_eq!(told["method"], "notifications/resources/updated");
    assert_eq!(told["params"]["uri"], "a:1");
    assert_eq!(next(&mut *feed), None, "the list of resources was not asked for");

    let mut last = Vec::new();
    assert!(feed.end(&mut last));
    let last = crate::wire::read(&last);
    assert_eq!((&last["id"], &last["result"]["resultType"]), (&json!(1), &json!("complete")));
}

#[tokio::test]
async fn a_subscription_watches_so_much_and_no_more() {
    let (_, answer) =
        listen(&server(), json!({"resourceSubscriptions": ["a:1", "a:2", "a:3", "a:4"]})).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let long = "a".repeat(10_000);
    let (_, answer) = listen(&server(), json!({"resourceSubscriptions": [long]})).await;
    assert_eq!(answer["error"]["code"], -32602);
    let long: Vec<_> = (0..3).map(|n| format!("a:{n}{}", "a".repeat(30_000))).collect();
    let (_, answer) = listen(&server(), json!({"resourceSubscriptions": long})).await;
    assert_eq!(answer["error"]["code"], -32602, "together they are too long");
    let (_, answer) = listen(&server(), json!("\u{7f}evil".repeat(10_000))).await;
    let message = answer["error"]["message"].as_str().expect("an error");
    assert!(message.len() < 300 && !message.contains(char::is_control), "{message}");
    let (_, answer) = listen(&server(), json!(7)).await;
    assert_eq!(answer["error"]["code"], -32602);
}

#[tokio::test]
async fn a_legacy_session_is_told_of_lists_and_of_what_it_subscribed_to() {
    let server = server();
    let capabilities = ClientCapabilities::default();
    let session = Arc::new(Session::new(Revision::V2025_06_18, capabilities));
    let wire = TestWire { session: Some(Arc::clone(&session)), ..TestWire::default() };
    let ask = async |method: &str, uri: &str| {
        ask_on(&wire, &server, Revision::V2025_06_18, method, json!({"uri": uri})).await
    };
    assert_eq!(ask("resources/subscribe", "a:1").await["result"], json!({}));
    let mut feed = server.news(&session).expect("there is news");
    server.resource_updated("a:1");
    server.remove_tool("a");
    let told = next(&mut *feed).expect("told");
    assert_eq!(told["params"], json!({"uri": "a:1"}));
    assert_eq!(next(&mut *feed).expect("told")["method"], "notifications/tools/list_changed");
    // The stream may break; what changes meanwhile is told on the next.
    drop(feed);
    server.resource_updated("a:1");
    let mut feed = server.news(&session).expect("there is news");
    assert!(next(&mut *feed).is_some());
    assert_eq!(ask("resources/unsubscribe", "a:1").await["result"], json!({}));
    server.resource_updated("a:1");
    assert_eq!(next(&mut *feed), None);
    for uri in ["a:1", "a:2", "a:3"] {
        assert_eq!(ask("resources/subscribe", uri).await["result"], json!({}));
    }
    assert_eq!(ask("resources/subscribe", "a:4").await["error"]["code"], -32602);
}

#[tokio::test]
async fn a_server_that_never_changes_says_so() {
    let built = Server::builder("s", "1").tool(tool("a")).fixed().build().expect("right");
    let wire = TestWire::default();
    let hello = ask_on(&wire, &built, Revision::LATEST, "server/discover", json!({})).await;
    assert_eq!(hello["result"]["capabilities"]["tools"], json!({}));
    let (_, answer) = listen(&built, json!({"toolsListChanged": true})).await;
    assert_eq!(answer["error"]["code"], -32601);
    let added = built.add_prompt(Prompt::new("p", |_| async { "hi" }));
    assert!(added.is_err());
}
