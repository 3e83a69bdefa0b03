//! What a server gives to functions beside their arguments: the way back to the client, who asks,
//! and what all share.

use haft::testing::{Client, Reply, client};
use haft::{AskError, Context, Elicited, Headers, Principal, Sample, State, Tool};
use serde_json::{Value, json};

/// A client of a server of these tools.
fn serving<const N: usize>(tools: [Tool; N]) -> Client {
    client(haft::server("test", "1.0.0").tools(tools))
}

#[haft::json]
struct Name {
    /// Their name.
    #[schemars(length(min = 1))]
    name: String,
    nick: Option<String>,
}

#[haft::tool]
async fn form(context: &Context) -> Result<String, AskError> {
    let form = context.form::<Name>("name", "Who are you?").await?;
    Ok(form.accepted().map_or_else(|| "nobody".to_owned(), |form| form.name))
}

#[tokio::test]
async fn a_form_is_made_from_a_type() {
    let client = serving([form::tool()]).answering(|question| {
        let expected = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 1, "description": "Their name."},
                "nick": {"type": "string"},
            },
            "required": ["name"],
        });
        assert_eq!(question.params()["requestedSchema"], expected);
        Reply::accept(json!({"name": "Ada"}))
    });
    assert_eq!(client.call("form", json!({})).await.text(), "Ada");
}

#[haft::tool]
async fn slow(steps: u32, context: Context) -> &'static str {
    for step in 1..=steps {
        context.progress(f64::from(step), Some(f64::from(steps)), Some("step"));
        tokio::task::yield_now().await;
    }
    "done"
}

#[haft::tool]
async fn slow_borrowed(context: &Context) -> &'static str {
    context.progress(1.0, None, None);
    "done"
}

#[haft::tool]
fn at_once(context: &Context, n: u32) -> u32 {
    context.progress(f64::from(n), None, None);
    n
}

#[haft::tool(blocking)]
fn blocked(n: u32, context: Context) -> u32 {
    context.info("blocked");
    context.progress(f64::from(n), None, None);
    n
}

#[tokio::test]
async fn a_context_is_given_and_is_no_argument() {
    let client = serving(haft::tools![slow, slow_borrowed, at_once, blocked]);
    let tools = client.list_tools().await;
    assert_eq!(tools[0]["inputSchema"]["required"], json!(["steps"]));
    assert_eq!(tools[1]["inputSchema"].get("properties"), None);
    let said = client.call("slow", json!({"steps": 3})).await;
    assert_eq!(said.text(), "done");
    let told: Vec<_> = said.progress().iter().map(|told| (told.progress, told.total)).collect();
    assert_eq!(told, [(1.0, Some(3.0)), (2.0, Some(3.0)), (3.0, Some(3.0))]);
    assert_eq!(said.progress()[0].message.as_deref(), Some("step"));
    assert_eq!(client.call("slow_borrowed", json!({})).await.progress().len(), 1);
    for tool in ["at_once", "blocked"] {
        let said = client.call(tool, json!({"n": 7})).await;
        assert_eq!((&*said.text(), said.progress().len()), ("7", 1), "{tool}");
    }
    let said = client.legacy().call("blocked", json!({"n": 7})).await;
    assert_eq!(said.logs(), [json!("blocked")]);
}

/// Takes its time.
#[haft::tool(task = on_demand, task_ttl = "1h")]
async fn long(context: &Context) -> &'static str {
    context.become_task().await;
    "long"
}

#[tokio::test]
async fn a_call_may_become_a_task() {
    let client = serving([long::tool()]);
    assert_eq!(client.call("long", json!({})).await.text(), "long", "for who takes no tasks");
    let client = client.capable_of(json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}));
    let task = client.call("long", json!({})).await;
    assert_eq!(
        (&task.result()["resultType"], &task.result()["ttlMs"]),
        (&json!("task"), &json!(3_600_000))
    );
    let ended = loop {
        let seen = client.ask("tasks/get", json!({"taskId": task.result()["taskId"]})).await;
        if seen.result()["status"] != "working" {
            break seen;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(ended.result()["result"]["content"][0]["text"], "long");
}

struct Greeting(&'static str);

#[haft::tool]
fn greet(name: String, greeting: State<Greeting>) -> String {
    format!("{} {name}", greeting.0)
}

#[haft::tool]
async fn greet_later(greeting: &State<Greeting>) -> &'static str {
    greeting.0
}

#[tokio::test]
async fn what_handlers_share_is_given_and_missed_when_the_server_is_built() {
    let server = || haft::server("test", "1.0.0").tools(haft::tools![greet, greet_later]);
    let client = client(server().state(Greeting("Hi")));
    assert_eq!(client.call("greet", json!({"name": "Ada"})).await.text(), "Hi Ada");
    assert_eq!(client.call("greet_later", json!({})).await.text(), "Hi");
    let error = server().build().err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.starts_with("the tool `greet` needs a `"), "{error}");
}

#[haft::tool]
fn who(principal: Principal, headers: &Headers, name: String) -> String {
    format!("{name} {principal:?} {:?}", headers.get("X-Team"))
}

#[tokio::test]
async fn who_asks_and_with_which_headers_is_given_too() {
    let client = serving([who::tool()]);
    let call =
        |client: Client| async move { client.call("who", json!({"name": "a"})).await.text() };
    assert_eq!(call(client.clone()).await, "a Local None");
    let somebody = client.named("ada").header("X-Team", "blue");
    assert_eq!(call(somebody.clone()).await, "a Named(\"ada\") Some(\"blue\")");
    assert_eq!(call(somebody.legacy()).await, "a Named(\"ada\") Some(\"blue\")");
}

#[haft::resource("team://own")]
fn own_team(headers: &Headers) -> String {
    headers.get("X-Team").unwrap_or("none").to_owned()
}

#[haft::resource("team://{name}")]
async fn other_team(name: String, headers: Headers) -> String {
    format!("{name}, not {:?}", headers.get("X-Team"))
}

#[haft::prompt]
fn cheer(headers: Headers) -> String {
    format!("Cheer for {:?}!", headers.get("X-Team"))
}

#[tokio::test]
async fn resources_and_prompts_are_given_headers_too() {
    let server = haft::server("test", "1.0.0").resource(own_team::resource());
    let server = server.resource(other_team::resource()).prompt(cheer::prompt());
    let client = client(server).header("X-Team", "blue");
    for client in [client.clone(), client.legacy()] {
        assert_eq!(client.read("team://own").await.text(), "blue");
        assert_eq!(client.read("team://red").await.text(), "red, not Some(\"blue\")");
        assert_eq!(client.prompt("cheer", json!({})).await.text(), "Cheer for Some(\"blue\")!");
    }
}

const NAME: &str =
    r#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#;

/// Asks a person, a model, and where it may work.
#[haft::tool]
async fn curious(context: &Context) -> Result<String, AskError> {
    let person: Elicited<Value> = context.elicit("name", "Who are you?", NAME).await?;
    let name =
        person.accepted().map_or_else(|| "nobody".to_owned(), |form| form["name"].to_string());
    let said = context.sample("poem", Sample::text("A poem", 10)).await?.text();
    let roots = context.roots("roots").await?.len();
    Ok(format!("{name} {said} {roots}"))
}

#[tokio::test]
async fn what_a_call_asks_is_answered_by_the_test() {
    let client = serving([curious::tool()]).answering(|question| match question.method() {
        "elicitation/create" if question.message() == "Who are you?" => {
            Reply::accept(json!({"name": "Ada"}))
        }
        "sampling/createMessage" => Reply::text("Roses are red."),
        "roots/list" => Reply::roots(["file:///a", "file:///b"]),
        other => panic!("{other} is not asked"),
    });
    for client in [client.clone(), client.legacy()] {
        assert_eq!(client.call("curious", json!({})).await.text(), "\"Ada\" Roses are red. 2");
    }
    let shy = client.answering(|_| Reply::decline());
    let said = shy.legacy().call("curious", json!({})).await;
    assert!(said.failure().contains("the client's answer is none"), "{}", said.failure());
    let refusing = client.answering(|_| Reply::Refused("not now".to_owned()));
    let said = refusing.legacy().call("curious", json!({})).await;
    assert_eq!(said.failure(), "the client refused: not now");
    let unable = serving([curious::tool()]);
    let said = unable.call("curious", json!({})).await.refusal();
    assert!(said.starts_with("Missing capability"), "{said}");
}
