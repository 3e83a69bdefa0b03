//! A server that becomes another while it runs.

use crate::wire::{TestWire, ask_on, next, read};
use haft_proto::service::Feed;
use haft_proto::version::Revision;
use haft_server::{
    BuildError, Completing, Context, Get, Prompt, Resource, Server, ServerBuilder, TaskUse, Tool,
    handler,
};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Semaphore;

fn tool(name: &str, says: &'static str) -> Tool {
    Tool::new(name, handler::function(move |_: Value| says))
}

fn first() -> ServerBuilder {
    Server::builder("first", "1")
        .instructions("Ask.")
        .tool(tool("a", "old"))
        .resource(Resource::text("a:1", "one", "1"))
}

async fn ask(server: &Server, method: &str, params: Value) -> Value {
    ask_on(&TestWire::default(), server, Revision::LATEST, method, params).await
}

async fn feed(server: &Server) -> Box<dyn Feed> {
    let wire = TestWire::default();
    let all = json!({"toolsListChanged": true, "promptsListChanged": true,
        "resourcesListChanged": true});
    let params = json!({ "notifications": all });
    ask_on(&wire, server, Revision::LATEST, "subscriptions/listen", params).await;
    let mut feed = wire.feed.lock().expect("free").take().expect("a stream");
    next(&mut *feed).expect("the acknowledgement");
    feed
}

fn told(feed: &mut dyn Feed) -> Vec<String> {
    let method = |message: Value| message["method"].as_str().unwrap_or_default().to_owned();
    std::iter::from_fn(|| next(feed)).map(method).collect()
}

#[tokio::test]
async fn everything_is_swapped_at_once() {
    let server = first().build().expect("right");
    let second = Server::builder("second", "2")
        .instructions("Answer.")
        .tool(tool("b", "new"))
        .prompt(Prompt::new("p", |_| async { "Hi" }));
    server.replace(second).expect("right");
    assert_eq!((server.name(), server.tool_names()), ("second".to_owned(), vec!["b".to_owned()]));
    let hello = ask(&server, "server/discover", json!({})).await;
    assert_eq!(hello["result"]["instructions"], "Answer.");
    assert!(hello["result"]["capabilities"]["prompts"].is_object(), "{hello}");
    let list = ask(&server, "tools/list", json!({})).await;
    assert_eq!(list["result"]["tools"][0]["name"], "b");
    let gone = ask(&server, "tools/call", json!({"name": "a"})).await;
    assert_eq!(gone["error"]["code"], -32602);
    let said = ask(&server, "prompts/get", json!({"name": "p"})).await;
    assert_eq!(said["result"]["messages"][0]["content"]["text"], "Hi");
}

#[tokio::test]
async fn what_clients_were_told_of_stays_though_there_is_nothing_of_it_left() {
    let work = |_: Value, _| std::future::pending::<String>();
    let slow = Tool::new("slow", handler::future(work)).task(TaskUse::Always);
    let prompt = Prompt::new("p", |_| async { "" }).optional("a", "Anything");
    let prompt = prompt.complete("a", async |typing: Completing| typing.among(["b"]));
    let server = first().tool(slow).prompt(prompt).build().expect("right");
    let mut feed = feed(&server).await;
    let extensions = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let wire = TestWire::to_client(extensions);
    let latest = Revision::LATEST;
    let begun = ask_on(&wire, &server, latest, "tools/call", json!({"name": "slow"})).await;
    let before = ask(&server, "server/discover", json!({})).await;
    server.replace(Server::builder("second", "2").tool(tool("a", "old"))).expect("right");
    let after = ask(&server, "server/discover", json!({})).await;
    assert_eq!(before["result"]["capabilities"], after["result"]["capabilities"]);
    let all =
        ["tools", "prompts", "resources"].map(|kind| format!("notifications/{kind}/list_changed"));
    assert_eq!(told(&mut *feed), all);
    for kind in ["prompts", "resources"] {
        let list = ask(&server, &format!("{kind}/list"), json!({})).await;
        assert_eq!(list["result"][kind], json!([]), "{list}");
    }
    let task = json!({"taskId": begun["result"]["taskId"]});
    let task = ask_on(&wire, &server, latest, "tasks/get", task).await;
    assert_eq!(task["result"]["status"], "working", "{task}");
    let typed = json!({"ref": {"type": "ref/prompt", "name": "p"},
        "argument": {"name": "a", "value": ""}});
    let gone = ask(&server, "completion/complete", typed).await;
    assert_eq!(gone["error"]["code"], -32602, "the prompt is unknown, not the method: {gone}");
    let uri = json!({"uri": "a:1"});
    for method in ["resources/subscribe", "resources/unsubscribe"] {
        let answer = ask_on(&wire, &server, Revision::V2025_11_25, method, uri.clone()).await;
        assert_eq!(answer["result"], json!({}), "{answer}");
    }
}

#[tokio::test]
async fn clients_are_told_of_the_lists_that_differ_and_of_no_others() {
    let server = first().open_ended().build().expect("right");
    let mut feed = feed(&server).await;
    server.replace(first().tool(tool("b", "new"))).expect("right");
    assert_eq!(told(&mut *feed), ["notifications/tools/list_changed"]);
    // Another handler behind the same list.
    server.replace(first().tool(tool("b", "newer"))).expect("right");
    assert_eq!(told(&mut *feed), [""; 0]);
    let answer = ask(&server, "tools/call", json!({"name": "b"})).await;
    assert_eq!(answer["result"]["content"][0]["text"], "newer");
    let other =
        first().tool(tool("b", "newer").title("B")).prompt(Prompt::new("p", |_| async { "" }));
    server.replace(other.resource(Resource::text("a:2", "two", "2"))).expect("right");
    let all =
        ["tools", "prompts", "resources"].map(|kind| format!("notifications/{kind}/list_changed"));
    assert_eq!(told(&mut *feed), all);
    let resources = || vec![Resource::text("a:3", "three", "3")];
    server.replace_resources(resources(), Vec::new()).expect("right");
    server.replace_resources(resources(), Vec::new()).expect("right");
    assert_eq!(told(&mut *feed), [all[2].clone()]);
}

#[tokio::test]
async fn a_server_that_cannot_be_built_changes_nothing() {
    let server = first().build().expect("right");
    let mut feed = feed(&server).await;
    let bad = first().tool(tool("b", "new").input_schema(r#"{"type":"array"}"#));
    assert!(matches!(server.replace(bad), Err(BuildError::BadSchema { .. })));
    let twice = first().tool(tool("a", "new"));
    assert!(matches!(server.replace(twice), Err(BuildError::Duplicate { .. })));
    assert_eq!((server.tool_names(), told(&mut *feed)), (vec!["a".to_owned()], Vec::new()));
}

#[tokio::test]
async fn a_tool_that_stays_may_not_bring_a_schema_that_is_none() {
    let schema = |text: &'static str| tool("a", "new").input_schema(text);
    let server = first().build().expect("right");
    server.replace(first().tool(schema(r#"{"type":"object"}"#))).expect_err("`a` is there twice");
    let build = |tool: Tool| Server::builder("first", "1").tool(tool);
    server.replace(build(schema(r#"{"type":"object"}"#))).expect("right");
    for bad in [
        schema(r#"{"type":"object"} garbage"#),
        schema(r#"{"type":"object"},"x":1"#),
        schema(r#"{"type":"object"}"#).output_schema("{nonsense"),
        schema(r#"{"type":"object"}"#).output_schema(r#"{"type":1}"#),
    ] {
        assert!(matches!(server.replace(build(bad)), Err(BuildError::BadSchema { .. })));
    }
    let list = ask(&server, "tools/list", json!({})).await;
    assert_eq!(list["result"]["tools"][0]["inputSchema"], json!({"type": "object"}));
}

#[tokio::test]
async fn a_call_in_flight_ends_on_the_tool_that_it_began_with() {
    let (begun, may_end) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (begins, ends) = (Arc::clone(&begun), Arc::clone(&may_end));
    let slow = Tool::new(
        "slow",
        handler::future(move |_: Value, _| {
            let (begins, ends) = (Arc::clone(&begins), Arc::clone(&ends));
            async move {
                begins.add_permits(1);
                ends.acquire().await.expect("it is never closed").forget();
                "old"
            }
        }),
    );
    let server = Server::builder("first", "1").tool(slow).build().expect("right");
    let asked = server.clone();
    let call =
        tokio::spawn(async move { ask(&asked, "tools/call", json!({"name": "slow"})).await });
    begun.acquire().await.expect("it is never closed").forget();
    server.replace(Server::builder("second", "2").tool(tool("slow", "new"))).expect("right");
    let now = ask(&server, "tools/call", json!({"name": "slow"})).await;
    assert_eq!(now["result"]["content"][0]["text"], "new");
    may_end.add_permits(1);
    let then = call.await.expect("it does not panic");
    assert_eq!(then["result"]["content"][0]["text"], "old");
    let named = &then["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"];
    assert_eq!(named, "first", "{then}");
}

#[tokio::test]
async fn a_request_that_asks_listens_or_becomes_a_task_ends_with_the_name_that_it_began_with() {
    let (begun, may_go_on) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (begins, goes_on) = (Arc::clone(&begun), Arc::clone(&may_go_on));
    let slow = move |asked: Value, context: Context| {
        let (begins, goes_on) = (Arc::clone(&begins), Arc::clone(&goes_on));
        async move {
            begins.add_permits(1);
            goes_on.acquire().await.expect("it is never closed").forget();
            if asked["task"] == true {
                context.become_task().await;
            }
            context.elicit::<Value>("a", "A?", r#"{"type":"object"}"#).await.map(|_| "done")
        }
    };
    let slow = Tool::new("slow", handler::future(slow)).task(TaskUse::OnDemand);
    let slow = slow.input_schema(r#"{"type":"object"}"#);
    let server = Server::builder("first", "1").tool(slow).build().expect("right");
    let mut feed = feed(&server).await;
    let extensions = json!({"io.modelcontextprotocol/tasks": {}});
    let wire = TestWire::to_client(json!({"elicitation": {}, "extensions": extensions}));
    let calls = [false, true].map(|task| {
        let (server, wire) = (server.clone(), wire.clone());
        let params = json!({"name": "slow", "arguments": {"task": task}});
        tokio::spawn(
            async move { ask_on(&wire, &server, Revision::LATEST, "tools/call", params).await },
        )
    });
    begun.acquire_many(2).await.expect("it is never closed").forget();
    server.replace(Server::builder("second", "2")).expect("right");
    may_go_on.add_permits(2);
    let name = |answer: &Value| {
        answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"].clone()
    };
    for (call, kind) in calls.into_iter().zip(["input_required", "task"]) {
        let answer = call.await.expect("it does not panic");
        assert_eq!(
            (&answer["result"]["resultType"], name(&answer)),
            (&json!(kind), json!("first"))
        );
    }
    let mut end = Vec::new();
    assert!(feed.end(&mut end));
    assert_eq!(name(&read(&end)), "first");
}

#[tokio::test]
async fn what_a_prompt_was_told_is_good_for_that_prompt() {
    let described = |text: &str| {
        let prompt = Prompt::new("p", |get: Get| async move {
            let said = get.context.elicit::<Value>("a", "A?", r#"{"type":"object"}"#).await;
            said.map_or("nothing", |said| said.action())
        });
        Server::builder("s", "1").prompt(prompt.description(text))
    };
    let server = described("one").build().expect("right");
    let wire = TestWire::to_client(json!({"elicitation": {}}));
    let mut params = json!({"name": "p"});
    let first = ask_on(&wire, &server, Revision::LATEST, "prompts/get", params.clone()).await;
    params["requestState"] = first["result"]["requestState"].clone();
    params["inputResponses"] = json!({"a": {"action": "accept", "content": {}}});
    server.replace(described("two")).expect("right");
    let refused = ask_on(&wire, &server, Revision::LATEST, "prompts/get", params.clone()).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    server.replace(described("one")).expect("right");
    let said = ask_on(&wire, &server, Revision::LATEST, "prompts/get", params).await;
    assert_eq!(said["result"]["messages"][0]["content"]["text"], "accept", "{said}");
}
