//! Calls within calls: what they go through, how they fail, and what bounds them.

use crate::wire::{TestWire, ask, ask_on, call};
use haft_proto::error::{Mistake, Refusal};
use haft_proto::limits::Limits;
use haft_proto::service::Principal;
use haft_proto::spec::tool_result::ToolResult;
use haft_proto::version::Revision;
use haft_server::{Context, Next, Outcome, Request, Server, Tool, handler};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const TWICE: &str = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],
    "additionalProperties":false}"#;
const ANY: &str = r#"{"type":"object"}"#;

/// A tool that calls `tool` with `arguments`, both arguments of its own, and says what came of it.
fn caller() -> Tool {
    let handler = handler::future(|given: Value, context: Context| async move {
        let tool = given["tool"].as_str().expect("a test names a tool").to_owned();
        match context.call(&tool, &given["arguments"]).await {
            Ok(result) => result,
            Err(refusal) => ToolResult::error(format!("refused: {refusal}")),
        }
    });
    Tool::new("caller", handler).input_schema(ANY)
}

fn twice() -> Tool {
    let handler = handler::function(|given: Value| {
        ToolResult::json(&json!({ "twice": given["n"].as_i64().map(|n| n * 2) }).to_string())
    });
    Tool::new("twice", handler).input_schema(TWICE)
}

fn server(tools: impl IntoIterator<Item = Tool>) -> Server {
    let builder = Server::builder("s", "1").tool(caller());
    tools.into_iter().fold(builder, |builder, tool| builder.tool(tool)).build().expect("right")
}

async fn outcome(server: &Server, tool: &str, arguments: Value) -> (bool, String) {
    let result = call(server, "caller", json!({"tool": tool, "arguments": arguments})).await;
    let text = result["content"][0]["text"].as_str().expect("a text").to_owned();
    (result["isError"] == true, text)
}

#[tokio::test]
async fn arguments_are_checked_and_mended() {
    let server = server([twice()]);
    let result = call(&server, "caller", json!({"tool": "twice", "arguments": {"n": 4}})).await;
    assert_eq!(result["structuredContent"], json!({"twice": 8}));
    assert_eq!(outcome(&server, "twice", json!({"n": "4"})).await, (false, "{\"twice\":8}".into()));
    let (is_error, why) = outcome(&server, "twice", json!({"n": "four"})).await;
    assert!(is_error && why.contains("`n` must be an integer"), "{why}");
    let (is_error, why) = outcome(&server, "twice", json!(3)).await;
    assert!(is_error && why.contains("must be an object"), "{why}");
}

#[tokio::test]
async fn an_unknown_tool_is_refused_with_the_nearest() {
    let (is_error, why) = outcome(&server([twice()]), "twiec", json!({})).await;
    assert!(is_error);
    assert_eq!(why, "refused: Unknown tool: \"twiec\"; did you mean \"twice\"?");
}

#[tokio::test]
async fn arguments_that_nest_too_deep_are_refused_unread() {
    let deep = handler::future(|_: Value, context: Context| async move {
        let text = format!("{{\"n\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        let arguments = serde_json::value::RawValue::from_string(text).expect("it is JSON");
        context.call_raw("twice", arguments).await.expect("it is told in the result")
    });
    let server = server([twice(), Tool::new("deep", deep)]);
    let result = call(&server, "deep", json!({})).await;
    assert_eq!(result["isError"], true, "{result}");
}

#[tokio::test]
async fn the_tools_own_middleware_stands_around_and_the_servers_stood_already() {
    let seen = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&seen);
    let count = move |request: Request, next: Next| {
        counted.fetch_add(1, Ordering::Relaxed);
        next.run(request)
    };
    async fn refuse(_: Request, _: Next) -> Outcome {
        Outcome::Refused(Refusal::new(Mistake::InvalidParams, "not for you"))
    }
    async fn change(mut request: Request, next: Next) -> Outcome {
        request.arguments = r#"{"n":21}"#.to_owned();
        next.run(request).await
    }
    let closed = Tool::new("closed", handler::function(|_: Value| "open")).middleware(refuse);
    let server = Server::builder("s", "1")
        .middleware(count)
        .tools([caller(), twice().middleware(change), closed])
        .build()
        .expect("right");
    assert_eq!(outcome(&server, "twice", json!({"n": 1})).await.1, "{\"twice\":42}");
    assert_eq!(outcome(&server, "closed", json!({})).await.1, "refused: not for you");
    assert_eq!(seen.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_result_that_does_not_fit_its_schema_is_an_error() {
    let lies = Tool::new("lies", handler::function(|_: Value| ToolResult::json("{\"a\":1}")))
        .output_schema(r#"{"type":"object","properties":{"a":{"type":"string"}}}"#);
    let (is_error, why) = outcome(&server([lies]), "lies", json!({})).await;
    assert!(is_error && why.contains("does not fit its own output schema"), "{why}");
}

#[tokio::test]
async fn a_panic_is_told_to_the_caller_which_goes_on() {
    fn bang(_: Value) -> &'static str {
        panic!("a tool may panic")
    }
    let later = handler::future(|_: Value, _| async move {
        tokio::task::yield_now().await;
        bang(Value::Null)
    });
    let server = server([Tool::new("bang", handler::function(bang)), Tool::new("later", later)]);
    for tool in ["bang", "later"] {
        let (is_error, why) = outcome(&server, tool, json!({})).await;
        assert!(is_error && why.starts_with("refused: Internal error: the tool panicked"), "{why}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_tools_own_timeout_ends_it() {
    let endless = handler::future(|_: Value, _| std::future::pending::<String>());
    let endless = Tool::new("endless", endless).timeout(Duration::from_millis(200));
    let (is_error, why) = outcome(&server([endless]), "endless", json!({})).await;
    assert!(is_error);
    assert_eq!(why, "The tool `endless` was stopped: it took longer than 200ms.");
}

#[tokio::test]
async fn dropping_the_outer_call_drops_the_inner_one() {
    struct Told(Arc<AtomicUsize>);
    impl Drop for Told {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let told = Arc::clone(&dropped);
    let endless = handler::future(move |_: Value, _| {
        let told = Told(Arc::clone(&told));
        async move {
            let _told = told;
            std::future::pending::<String>().await
        }
    });
    let server = server([Tool::new("endless", endless)]);
    let params = json!({"tool": "endless", "arguments": {}});
    let mut outer = Box::pin(call(&server, "caller", params));
    assert!(futures_util::poll!(outer.as_mut()).is_pending());
    assert_eq!(dropped.load(Ordering::Relaxed), 0);
    drop(outer);
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
}

/// A tool that calls itself: `n` says how deep.
fn recursive() -> Tool {
    let handler = handler::future(|given: Value, context: Context| async move {
        match given["n"].as_i64() {
            Some(n) if n > 0 => context.call("recursive", json!({ "n": n - 1 })).await,
            _ => Ok(ToolResult::text("bottom")),
        }
    });
    Tool::new("recursive", handler).input_schema(ANY)
}

#[tokio::test]
async fn calls_nest_as_deep_as_the_limit_and_no_deeper() {
    let limits = Limits { call_depth: 5, ..Limits::default() };
    let server = Server::builder("s", "1").limits(limits).tool(recursive()).build().expect("right");
    assert_eq!(call(&server, "recursive", json!({"n": 5})).await["content"][0]["text"], "bottom");
    let params = json!({"name": "recursive", "arguments": {"n": 6}});
    let answer = ask(&server, Revision::LATEST, "tools/call", params).await;
    let why = "Internal error: calls within calls nest deeper than 5";
    assert_eq!(answer["error"]["message"], why);
}

#[tokio::test]
async fn one_request_makes_as_many_calls_as_the_limit_and_no_more() {
    let many = handler::future(|_: Value, context: Context| async move {
        for made in 0.. {
            if let Err(refusal) = context.call("twice", json!({"n": 1})).await {
                return format!("{made}: {refusal}");
            }
        }
        String::new()
    });
    let limits = Limits { calls_within: 7, ..Limits::default() };
    let server = Server::builder("s", "1")
        .limits(limits)
        .tools([twice(), Tool::new("many", many)])
        .build()
        .expect("right");
    let result = call(&server, "many", json!({})).await;
    let expected = "7: Internal error: one call made more than 7 others";
    assert_eq!(result["content"][0]["text"], expected);
}

#[tokio::test]
async fn the_caller_and_its_progress_are_those_of_the_whole_call() {
    let inner = handler::future(|_: Value, context: Context| async move {
        context.progress(1.0, Some(4.0), Some("a quarter"));
        format!("{:?}", context.principal())
    });
    let outer = handler::future(|_: Value, context: Context| async move {
        context.part(1.0..3.0, 3.0).call("inner", json!({})).await
    });
    let server = server([Tool::new("inner", inner), Tool::new("outer", outer)]);
    let principal = Principal::Named("ada".into());
    let wire = TestWire { principal, ..TestWire::default() };
    let params = json!({"name": "outer", "_meta": {"progressToken": 1}});
    let answer = ask_on(&wire, &server, Revision::LATEST, "tools/call", params).await;
    assert_eq!(answer["result"]["content"][0]["text"], "Named(\"ada\")");
    let told = wire.told.lock().expect("free");
    let params = &told[0]["params"];
    assert_eq!((&params["progress"], &params["total"]), (&json!(1.5), &json!(3.0)));
    assert_eq!(params["message"], "a quarter");
}

#[tokio::test]
async fn a_question_of_the_inner_call_goes_to_the_client() {
    let asks = handler::future(|_: Value, context: Context| async move {
        let name = context.elicit::<Value>("name", "Who?", r#"{"type":"object"}"#).await?;
        Ok::<_, haft_server::AskError>(name.action())
    });
    let server = server([Tool::new("asks", asks)]);
    let params = json!({"name": "caller", "arguments": {"tool": "asks", "arguments": {}}});
    let wire = TestWire::to_client(json!({"elicitation": {}}));
    let answer = ask_on(&wire, &server, Revision::LATEST, "tools/call", params.clone()).await;
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    let answer = ask(&server, Revision::LATEST, "tools/call", params).await;
    assert!(answer.get("error").is_some() || answer["result"]["isError"] == true, "{answer}");
}
