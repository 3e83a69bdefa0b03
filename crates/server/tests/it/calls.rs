//! `tools/call`: arguments, results, failures, and what one call may do to others.

use crate::wire::{TestWire, ask, ask_on, call};
use haft_proto::error::{Mistake, Refusal};
use haft_proto::spec::tool_result::ToolResult;
use haft_proto::version::Revision;
use haft_server::{Server, Tool, handler};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use tokio::sync::Notify;

#[derive(Deserialize)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Deserialize)]
struct Nothing {}

#[derive(JsonSchema, Serialize)]
struct Sum {
    sum: i64,
}

const ADD: &str = r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},
    "required":["a","b"],"additionalProperties":false}"#;
const SUM: &str = r#"{"type":"object","properties":{"sum":{"type":"integer","minimum":0}}}"#;

fn server(tools: impl IntoIterator<Item = Tool>) -> Server {
    tools
        .into_iter()
        .fold(Server::builder("s", "1"), |builder, tool| builder.tool(tool))
        .build()
        .expect("it is right")
}

fn sum() -> Tool {
    let add = handler::function(|add: Add| handler::Json(Sum { sum: add.a + add.b }));
    Tool::new("sum", add).input_schema(ADD).output_schema(SUM)
}

#[tokio::test]
async fn a_structured_result_is_also_text_and_only_where_the_revision_has_it() {
    let server = server([sum()]);
    let params = json!({"name": "sum", "arguments": {"a": 1, "b": 2}});
    for revision in Revision::ALL {
        let result = &ask(&server, revision, "tools/call", params.clone()).await["result"];
        assert_eq!(result["content"], json!([{"type": "text", "text": "{\"sum\":3}"}]));
        let structured = result.get("structuredContent");
        if revision.as_str() >= "2025-06-18" {
            assert_eq!(structured, Some(&json!({"sum": 3})));
        } else {
            assert_eq!(structured, None);
        }
    }
}

#[tokio::test]
async fn bad_arguments_are_told_so_that_a_model_can_mend_them() {
    let server = server([sum()]);
    let cases = [
        (json!({"a": "one", "b": 2}), "`a` must be an integer, not \"one\""),
        (json!({"a": 1.5, "b": 2}), "`a` must be an integer, not 1.5"),
        (json!({"a": 1}), "`b` is missing; it must be an integer"),
        (json!({"a": 1, "b": 2, "c": 3}), "`c` is not known; known are a, b"),
        (json!([]), "must be an object, not []"),
    ];
    for (arguments, problem) in cases {
        let result = call(&server, "sum", arguments).await;
        assert_eq!(result["isError"], true);
        let text = format!("Invalid arguments for `sum`: {problem}.");
        assert_eq!(result["content"], json!([{"type": "text", "text": text}]));
    }
    let absent = ask(&server, Revision::LATEST, "tools/call", json!({"name": "sum"})).await;
    let text = absent["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("`a` is missing") && text.contains("`b` is missing"), "{text}");
}

#[tokio::test]
async fn a_result_that_breaks_its_schema_is_not_passed_on() {
    let later = handler::future(|add: Add, _| async move {
        ToolResult {
            structured: to_raw_value(&json!({"sum": add.a + add.b})).ok(),
            ..ToolResult::text("?")
        }
    });
    let later = Tool::new("later", later).input_schema(ADD).output_schema(SUM);
    let server = server([sum(), later]);
    for tool in ["sum", "later"] {
        let result = call(&server, tool, json!({"a": 1, "b": -2})).await;
        assert_eq!(result["isError"], true);
        assert_eq!(result.get("structuredContent"), None);
        let text = "The tool's answer does not fit its own output schema: `sum` must be at least \
                    0, not -1";
        assert_eq!(result["content"][0]["text"], text);
        assert_eq!(call(&server, tool, json!({"a": 1, "b": 2})).await["isError"], Value::Null);
    }
}

#[tokio::test]
async fn a_promised_structure_that_is_missing_is_told() {
    let plain = Tool::new("now", handler::function(|_: Add| "text only"))
        .input_schema(ADD)
        .output_schema(SUM);
    let later = Tool::new("later", handler::future(|_: Add, _| async { "text only" }))
        .input_schema(ADD)
        .output_schema(SUM);
    let server = server([plain, later]);
    for tool in ["now", "later"] {
        let result = call(&server, tool, json!({"a": 1, "b": 2})).await;
        assert_eq!(result["isError"], true);
        let text = "The tool's answer does not fit its own output schema: it has no structured \
                    content";
        assert_eq!(result["content"][0]["text"], text);
    }
}

#[tokio::test]
async fn an_error_result_is_not_held_against_the_output_schema() {
    let failing = handler::function(|_: Add| Err::<handler::Json<Sum>, _>("no sums today"));
    let server = server([Tool::new("f", failing).input_schema(ADD).output_schema(SUM)]);
    let result = call(&server, "f", json!({"a": 1, "b": 2})).await;
    assert_eq!(result["isError"], true);
    assert_eq!(result["content"][0]["text"], "no sums today");
}

#[tokio::test]
async fn a_panic_is_the_error_of_its_own_call_wherever_it_happens() {
    let server = server([
        Tool::new("now", handler::function(|Nothing {}| -> &str { panic!("on purpose") })),
        Tool::new(
            "later",
            handler::future(|Nothing {}, _| async {
                tokio::task::yield_now().await;
                if true {
                    panic!("on purpose");
                }
                "never"
            }),
        ),
        Tool::new("thread", handler::blocking(|Nothing {}| -> &str { panic!("on purpose") })),
        Tool::new("fine", handler::function(|Nothing {}| "fine")),
    ]);
    for tool in ["now", "later", "thread"] {
        let answer = ask(&server, Revision::LATEST, "tools/call", json!({"name": tool})).await;
        assert_eq!(answer["error"]["code"], -32603, "{tool}: {answer}");
        assert_eq!(call(&server, "fine", json!({})).await["content"][0]["text"], "fine");
    }
}

#[tokio::test]
async fn progress_is_told_to_who_asked_and_to_nobody_else() {
    let steps = handler::future(|Nothing {}, context| async move {
        context.progress(0.5, None, Some("half"));
        context.progress(1.0, Some(1.0), None);
        "done"
    });
    let server = server([Tool::new("steps", steps)]);
    let token = |token: Value| json!({"name": "steps", "_meta": {"progressToken": token}});
    let wire = TestWire::default();
    let latest = Revision::LATEST;
    ask_on(&wire, &server, latest, "tools/call", token(json!(7))).await;
    let told = std::mem::take(&mut *wire.told.lock().expect("free"));
    let params = json!({"progressToken": 7, "progress": 0.5, "message": "half"});
    assert_eq!(told[0]["params"], params);
    assert_eq!(told[1]["params"], json!({"progressToken": 7, "progress": 1.0, "total": 1.0}));
    ask_on(&wire, &server, latest, "tools/call", json!({"name": "steps"})).await;
    ask_on(&wire, &server, latest, "tools/call", token(json!({"no": "token"}))).await;
    assert!(wire.told.lock().expect("free").is_empty());
}

#[tokio::test]
async fn a_call_in_flight_finishes_on_the_tools_that_it_began_with() {
    let gate = Arc::new(Notify::new());
    let inner = Arc::clone(&gate);
    let wait = handler::future(move |Nothing {}, _| {
        let gate = Arc::clone(&inner);
        async move {
            gate.notified().await;
            "old"
        }
    });
    let server = server([Tool::new("t", wait)]);
    let mut in_flight = Box::pin(call(&server, "t", json!({})));
    assert!(futures_util::poll!(&mut in_flight).is_pending());
    let new = Tool::new("t", handler::function(|Nothing {}| "new"));
    server.replace_tools(vec![new]).expect("they are right");
    assert_eq!(call(&server, "t", json!({})).await["content"][0]["text"], "new");
    gate.notify_one();
    assert_eq!(in_flight.await["content"][0]["text"], "old");
}

#[tokio::test]
async fn blocking_calls_have_a_bounded_number_of_threads_even_when_cancelled() {
    let gate = Arc::new(std::sync::Barrier::new(handler::BLOCKING_MAX + 1));
    let began = Arc::new(AtomicUsize::new(0));
    let (inner, count) = (Arc::clone(&gate), Arc::clone(&began));
    let block = handler::blocking(move |Nothing {}| {
        count.fetch_add(1, Ordering::SeqCst);
        inner.wait();
        "done"
    });
    let server = server([Tool::new("block", block)]);
    for _ in 0..10 * handler::BLOCKING_MAX {
        let mut cancelled = Box::pin(call(&server, "block", json!({})));
        assert!(futures_util::poll!(&mut cancelled).is_pending());
    }
    let mut last = Box::pin(call(&server, "block", json!({})));
    assert!(futures_util::poll!(&mut last).is_pending());
    tokio::task::spawn_blocking(move || gate.wait()).await.expect("the calls are let go");
    // Only those that had a thread ran, and this one had to wait for them.
    assert!(began.load(Ordering::SeqCst) <= handler::BLOCKING_MAX);
    drop(last);
}

/// A future whose end is a panic.
struct Brittle;

impl Future for Brittle {
    type Output = &'static str;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<&'static str> {
        Poll::Pending
    }
}

impl Drop for Brittle {
    fn drop(&mut self) {
        panic!("on purpose");
    }
}

#[tokio::test]
async fn a_call_that_panics_when_it_is_cancelled_harms_nobody() {
    let server = server([Tool::new("brittle", handler::future(|Nothing {}, _| Brittle))]);
    let mut cancelled = Box::pin(call(&server, "brittle", json!({})));
    assert!(futures_util::poll!(&mut cancelled).is_pending());
    drop(cancelled);
}

/// What a tool fails with that was told to fail in that way.
fn failing(how: &str) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    let closed = Refusal::new(Mistake::Own { code: 4003 }, "closed").with_data("[1]".to_owned());
    match how {
        "refused" => Err(closed.into()),
        _ => Err("the model may mend this".into()),
    }
}

#[derive(Deserialize)]
struct How {
    how: String,
}

#[tokio::test]
async fn a_refusal_is_an_error_of_the_protocol_and_any_other_failure_a_result() {
    const SCHEMA: &str = r#"{"type":"object","properties":{"how":{"type":"string"}}}"#;
    let plain = |_: How| Err::<String, _>(Refusal::new(Mistake::InvalidParams, "never"));
    let tools = || {
        let now = Tool::new("now", handler::function(|how: How| failing(&how.how)));
        let later = |how: How, _| async move { failing(&how.how) };
        let thread = Tool::new("thread", handler::blocking(|how: How| failing(&how.how)));
        let later = Tool::new("later", handler::future(later));
        [now, later, thread, Tool::new("plain", handler::function(plain))]
    };
    let through = |request, next: haft_server::Next| next.run(request);
    let tools = || tools().map(|tool| tool.input_schema(SCHEMA));
    let layered = Server::builder("s", "1").middleware(through).tools(tools()).build();
    for server in [server(tools()), layered.expect("right")] {
        for name in ["now", "later", "thread"] {
            let call = async |how: &str| {
                let params = json!({"name": name, "arguments": {"how": how}});
                ask(&server, Revision::LATEST, "tools/call", params).await
            };
            let expected = json!({"code": 4003, "message": "closed", "data": [1]});
            assert_eq!(call("refused").await["error"], expected, "{name}");
            let answer = call("otherwise").await;
            assert_eq!(answer["result"]["isError"], true, "{name}: {answer}");
            assert_eq!(answer["result"]["content"][0]["text"], "the model may mend this");
        }
        let params = json!({"name": "plain", "arguments": {"how": ""}});
        let answer = ask(&server, Revision::LATEST, "tools/call", params).await;
        assert_eq!(answer["error"], json!({"code": -32602, "message": "never"}));
    }
}
