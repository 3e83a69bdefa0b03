//! What stands around handlers, and what handlers share.

use crate::wire::{TestWire, ask, ask_on, call};
use haft_proto::error::{Mistake, Refusal};
use haft_proto::spec::tool_result::ToolResult;
use haft_proto::version::Revision;
use haft_server::{
    BuildError, Context, Next, Outcome, Prompt, Request, Resource, Server, State, TaskUse, Tool,
    handler,
};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

type Log = Arc<Mutex<Vec<String>>>;

fn logging(log: &Log, name: &'static str) -> impl haft_server::Middleware + use<> {
    let log = Arc::clone(log);
    move |request: Request, next: Next| {
        let log = Arc::clone(&log);
        async move {
            log.lock().expect("free").push(format!("{name} > {}", request.name));
            let outcome = next.run(request).await;
            log.lock().expect("free").push(format!("{name} <"));
            outcome
        }
    }
}

async fn shout(mut request: Request, next: Next) -> Outcome {
    request.arguments = request.arguments.to_uppercase();
    match next.run(request).await {
        Outcome::Tool(_) => Outcome::Tool(ToolResult::text("changed")),
        other => other,
    }
}

async fn refuse(request: Request, next: Next) -> Outcome {
    match request.name.as_str() {
        "secret" | "a:secret" => {
            Outcome::Refused(Refusal::new(Mistake::InvalidParams, "not for you"))
        }
        "wrong" => Outcome::Prompt(haft_proto::spec::prompt::PromptResult::default()),
        "bang" => panic!("a middleware may panic"),
        _ => next.run(request).await,
    }
}

fn echo(name: &str) -> Tool {
    Tool::new(name, handler::function(|all: Value| all.to_string()))
        .input_schema(r#"{"type":"object"}"#)
}

#[tokio::test]
async fn the_servers_stand_around_the_tools_own_in_their_order() {
    let log = Log::default();
    let server = Server::builder("s", "1")
        .middleware(logging(&log, "outer"))
        .middleware(logging(&log, "inner"))
        .tool(echo("echo").middleware(logging(&log, "own")))
        .resource(Resource::text("a:1", "one", "1"))
        .prompt(Prompt::new("p", |_| async { "hi" }))
        .build()
        .expect("right");
    assert_eq!(call(&server, "echo", json!({"a": 1})).await["content"][0]["text"], "{\"a\":1}");
    let said = std::mem::take(&mut *log.lock().expect("free"));
    let expected = ["outer > echo", "inner > echo", "own > echo", "own <", "inner <", "outer <"];
    assert_eq!(said, expected);
    let read = ask(&server, Revision::LATEST, "resources/read", json!({"uri": "a:1"})).await;
    assert_eq!(read["result"]["contents"][0]["text"], "1");
    let got = ask(&server, Revision::LATEST, "prompts/get", json!({"name": "p"})).await;
    assert_eq!(got["result"]["messages"][0]["content"]["text"], "hi");
    let said = std::mem::take(&mut *log.lock().expect("free"));
    assert_eq!((said.len(), &*said[0], &*said[4]), (8, "outer > a:1", "outer > p"));
}

#[tokio::test]
async fn a_middleware_changes_refuses_and_panics_for_its_own_request_alone() {
    let server = Server::builder("s", "1")
        .middleware(refuse)
        .tools(["echo", "secret", "wrong", "bang"].map(echo))
        .tool(echo("loud").middleware(shout))
        .resource(Resource::text("a:secret", "one", "1"))
        .build()
        .expect("right");
    let answer = |tool: &str| {
        let params = json!({"name": tool, "arguments": {}});
        let server = server.clone();
        async move { ask(&server, Revision::LATEST, "tools/call", params).await }
    };
    assert_eq!(answer("secret").await["error"]["message"], "not for you");
    assert_eq!(answer("wrong").await["error"]["code"], -32603);
    assert_eq!(answer("bang").await["error"]["code"], -32603);
    assert_eq!(answer("loud").await["result"]["content"][0]["text"], "changed");
    assert_eq!(answer("echo").await["result"]["content"][0]["text"], "{}");
    let read = ask(&server, Revision::LATEST, "resources/read", json!({"uri": "a:secret"})).await;
    assert_eq!(read["error"]["message"], "not for you");
}

#[tokio::test]
async fn questions_and_tasks_pass_through_middleware() {
    let asks = handler::future(|_: Value, context: Context| async move {
        let name = context.elicit::<Value>("name", "Who?", r#"{"type":"object"}"#).await?;
        Ok::<_, haft_server::AskError>(name.action())
    });
    let server = Server::builder("s", "1")
        .middleware(logging(&Log::default(), "outer"))
        .tool(Tool::new("asks", asks))
        .tool(echo("long").task(TaskUse::Always))
        .build()
        .expect("right");
    let extensions = json!({"io.modelcontextprotocol/tasks": {}});
    let wire = TestWire::to_client(json!({"elicitation": {}, "extensions": extensions}));
    let params = json!({"name": "asks"});
    let answer = ask_on(&wire, &server, Revision::LATEST, "tools/call", params).await;
    assert_eq!(answer["result"]["resultType"], "input_required");
    let params = json!({"name": "long"});
    let answer = ask_on(&wire, &server, Revision::LATEST, "tools/call", params).await;
    assert_eq!(answer["result"]["resultType"], "task");
}

#[tokio::test]
async fn handlers_share_values_by_their_type() {
    struct Greeting(&'static str);
    struct Greeter;
    impl handler::Handler for Greeter {
        fn call(&self, call: handler::Call<'_>, answer: handler::Answer<'_>) -> handler::Made {
            let greeting: State<Greeting> = call.state().expect("the tool needs one");
            answer.text(greeting.0);
            handler::Made::Now
        }
    }
    let greeter = || Tool::new("greet", Greeter).needs_state::<Greeting>();
    let built = Server::builder("s", "1").tool(greeter()).build();
    let error = built.err().expect("there is none yet");
    assert!(matches!(&error, BuildError::MissingState { .. }), "{error}");
    assert!(error.to_string().contains("Greeting"), "{error}");
    let server = Server::builder("s", "1").state(Greeting("Hello")).tool(greeter()).build();
    let server = server.expect("right");
    assert_eq!(call(&server, "greet", json!({})).await["content"][0]["text"], "Hello");
}

#[tokio::test]
async fn a_middleware_changes_the_arguments_of_a_prompt() {
    async fn loud(mut request: Request, next: Next) -> Outcome {
        request.arguments = request.arguments.replace("ada", "ADA");
        next.run(request).await
    }
    let prompt = Prompt::new("p", |get: haft_server::Get| async move {
        format!("Hello, {}", get.argument("name"))
    });
    let built = Server::builder("s", "1").middleware(loud).prompt(prompt.required("name", "whose"));
    let server = built.build().expect("right");
    let params = json!({"name": "p", "arguments": {"name": "ada"}});
    let got = ask(&server, Revision::LATEST, "prompts/get", params).await;
    assert_eq!(got["result"]["messages"][0]["content"]["text"], "Hello, ADA");
}
