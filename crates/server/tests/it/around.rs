//! The middleware that comes with haft: retries, breakers, turns, caches, sizes, redaction.

use crate::wire::{TestWire, ask_on, call};
use haft_proto::error::{Mistake, Refusal};
use haft_proto::service::Principal;
use haft_proto::spec::tool_result::{Cause, ToolResult};
use haft_proto::version::Revision;
use haft_server::around::{Breaker, Cache, MaxSize, Redact, Retry, Turns};
use haft_server::{Next, Outcome, Request, Server, Tool, handler};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinHandle;
use tokio::time::advance;

type Count = Arc<AtomicU64>;

fn of(count: &Count) -> u64 {
    count.load(Ordering::SeqCst)
}

/// A tool that fails until it has been called so often.
fn shaky(calls: &Count, failures: u64) -> Tool {
    let calls = Arc::clone(calls);
    let handler = handler::function(move |_: Value| {
        let number = calls.fetch_add(1, Ordering::SeqCst) + 1;
        if number > failures { Ok(format!("call {number}")) } else { Err(format!("no {number}")) }
    });
    Tool::new("shaky", handler).input_schema(r#"{"type":"object"}"#)
}

fn serve(tool: Tool) -> Server {
    Server::builder("s", "1").tool(tool).build().expect("right")
}

async fn said(server: &Server, arguments: Value) -> String {
    said_by(server, "shaky", arguments).await
}

async fn said_by(server: &Server, tool: &str, arguments: Value) -> String {
    let result = call(server, tool, arguments).await;
    let text = result["content"][0]["text"].as_str().expect("a text").to_owned();
    if result["isError"] == true { format!("error: {text}") } else { text }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_may_be_repeated_is_made_again_until_it_succeeds() {
    let calls = Count::default();
    let server = serve(shaky(&calls, 2).read_only(true).middleware(Retry::new(3)));
    assert_eq!(said(&server, json!({})).await, "call 3");
    let calls = Count::default();
    let server = serve(shaky(&calls, 9).read_only(true).middleware(Retry::new(3)));
    assert_eq!(said(&server, json!({})).await, "error: no 3");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_may_not_be_repeated_is_made_once() {
    let calls = Count::default();
    let server = serve(shaky(&calls, 2).middleware(Retry::new(3)));
    assert_eq!(said(&server, json!({})).await, "error: no 1");
}

#[tokio::test(start_paused = true)]
async fn only_failures_that_may_end_otherwise_are_tried_again() {
    let calls = Count::default();
    let is_first = |result: &ToolResult| format!("{:?}", result.content).contains("no 1");
    let retry = Retry::new(5).when(is_first);
    let server = serve(shaky(&calls, 9).read_only(true).middleware(retry));
    assert_eq!(said(&server, json!({})).await, "error: no 2");
}

#[tokio::test(start_paused = true)]
async fn all_attempts_are_within_the_time_limit_of_the_tool() {
    let calls = Count::default();
    let retry = Retry::new(10).delay(Duration::from_secs(600)).delay_max(Duration::from_secs(600));
    let tool = shaky(&calls, 99).read_only(true).timeout(Duration::from_secs(1));
    let server = serve(tool.middleware(retry));
    let answer = said(&server, json!({})).await;
    assert!(answer.starts_with("error: The tool `shaky` was stopped"), "{answer}");
    assert!(of(&calls) < 10);
}

#[tokio::test(start_paused = true)]
async fn a_breaker_rests_a_failing_tool_and_tries_it_once() {
    let calls = Count::default();
    let server = serve(shaky(&calls, 4).middleware(Breaker::new(3, Duration::from_secs(30))));
    for number in 1..=3 {
        assert_eq!(said(&server, json!({})).await, format!("error: no {number}"));
    }
    let open = "error: The tool `shaky` has failed 3 times in a row and rests. Try again in";
    assert!(said(&server, json!({})).await.starts_with(open));
    assert_eq!(of(&calls), 3);
    advance(Duration::from_secs(31)).await;
    assert_eq!(said(&server, json!({})).await, "error: no 4");
    assert!(said(&server, json!({})).await.starts_with(open));
    advance(Duration::from_secs(31)).await;
    assert_eq!(said(&server, json!({})).await, "call 5");
    assert_eq!(said(&server, json!({})).await, "call 6");
}

#[tokio::test(start_paused = true)]
async fn who_tries_a_resting_tool_and_never_ends_is_not_waited_for() {
    let calls = Count::default();
    let made = Arc::clone(&calls);
    let handler = handler::future(move |_: Value, _| {
        let number = made.fetch_add(1, Ordering::SeqCst);
        async move {
            match number {
                0 => Err("no"),
                1 => std::future::pending().await,
                _ => Ok("back"),
            }
        }
    });
    let tool = Tool::new("shaky", handler).timeout(Duration::from_secs(86_400));
    let server = serve(tool.middleware(Breaker::new(1, Duration::from_secs(30))));
    assert_eq!(said(&server, json!({})).await, "error: no");
    advance(Duration::from_secs(31)).await;
    let trying = server.clone();
    tokio::spawn(async move { said(&trying, json!({})).await });
    while of(&calls) < 2 {
        tokio::task::yield_now().await;
    }
    assert!(said(&server, json!({})).await.contains("rests"));
    advance(Duration::from_secs(31)).await;
    assert_eq!(said(&server, json!({})).await, "back");
}

type End = Result<&'static str, &'static str>;
type Ends = Arc<Mutex<Vec<Option<oneshot::Receiver<End>>>>>;

/// A tool whose calls end as the test says, in any order, and what ends each.
fn told<const N: usize>() -> (Tool, Ends, [oneshot::Sender<End>; N]) {
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..N).map(|_| oneshot::channel()).unzip();
    let ends: Ends = Arc::new(Mutex::new(receivers.into_iter().map(Some).collect()));
    let all = Arc::clone(&ends);
    let handler = handler::future(move |arguments: Value, _| {
        let number = arguments["n"].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        let end = all.lock().expect("no panic")[number].take().expect("called once");
        async move { end.await.expect("it is told") }
    });
    let tool = Tool::new("shaky", handler).input_schema(r#"{"type":"object"}"#);
    (tool, ends, senders.try_into().expect("there are as many"))
}

/// Begins a call, which has reached its tool or been answered when this returns.
async fn begin(server: &Server, ends: &Ends, number: usize) -> JoinHandle<String> {
    let served = server.clone();
    let call = tokio::spawn(async move { said(&served, json!({"n": number})).await });
    while ends.lock().expect("no panic")[number].is_some() && !call.is_finished() {
        tokio::task::yield_now().await;
    }
    call
}

#[tokio::test(start_paused = true)]
async fn calls_that_began_before_a_breaker_opened_are_of_no_account() {
    let (tool, ends, [one, two, three, four]) = told();
    let server = serve(tool.middleware(Breaker::new(1, Duration::from_secs(30))));
    let (first, second) = (begin(&server, &ends, 0).await, begin(&server, &ends, 1).await);
    let third = begin(&server, &ends, 2).await;
    one.send(Err("no")).expect("it waits");
    assert_eq!(first.await.expect("no panic"), "error: no");
    // A success from before does not close it.
    two.send(Ok("late")).expect("it waits");
    assert_eq!(second.await.expect("no panic"), "late");
    assert!(said(&server, json!({"n": 3})).await.contains("rests"));
    // A failure from before does not make it rest for longer.
    advance(Duration::from_secs(20)).await;
    three.send(Err("no")).expect("it waits");
    assert_eq!(third.await.expect("no panic"), "error: no");
    advance(Duration::from_secs(11)).await;
    four.send(Ok("back")).expect("it waits");
    assert_eq!(said(&server, json!({"n": 3})).await, "back");
}

#[tokio::test(start_paused = true)]
async fn a_breaker_that_closed_does_not_count_failures_from_before() {
    let (tool, ends, [one, two, three, four]) = told();
    let server = serve(tool.middleware(Breaker::new(1, Duration::from_secs(30))));
    let (first, second) = (begin(&server, &ends, 0).await, begin(&server, &ends, 1).await);
    one.send(Err("no")).expect("it waits");
    first.await.expect("no panic");
    advance(Duration::from_secs(31)).await;
    three.send(Ok("back")).expect("it waits");
    assert_eq!(said(&server, json!({"n": 2})).await, "back");
    two.send(Err("no")).expect("it waits");
    assert_eq!(second.await.expect("no panic"), "error: no");
    four.send(Ok("well")).expect("it waits");
    assert_eq!(said(&server, json!({"n": 3})).await, "well");
}

/// Answers what the arguments say.
async fn ends_as_asked(request: Request, _: Next) -> Outcome {
    let arguments: Value = serde_json::from_str(&request.arguments).expect("JSON");
    match arguments["end"].as_str() {
        Some("refused") => Outcome::Refused(Refusal::new(Mistake::InvalidParams, "not so")),
        Some("busy") => {
            let busy = ToolResult::error("busy");
            Outcome::Tool(ToolResult { cause: Some(Cause::Busy), ..busy })
        }
        Some("failed") => Outcome::Tool(ToolResult::error("failed")),
        _ => Outcome::Tool(ToolResult::text("well")),
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_or_finds_no_turn_says_nothing_of_a_tool() {
    let tool = shaky(&Count::default(), 0).middleware(Breaker::new(2, Duration::from_secs(30)));
    let server = serve(tool.middleware(ends_as_asked));
    let end = async |end: &str| call(&server, "shaky", json!({"end": end})).await.to_string();
    for ends in ["busy", "busy", "refused", "refused"] {
        assert!(!end(ends).await.contains("rests"));
    }
    // Nor do they come between two failures.
    end("failed").await;
    end("refused").await;
    end("busy").await;
    end("failed").await;
    assert!(end("well").await.contains("rests"));
    // Who tries whether it works and is refused knows nothing; the next one tries.
    advance(Duration::from_secs(31)).await;
    end("refused").await;
    assert!(end("well").await.contains("well"));
}

#[tokio::test(start_paused = true)]
async fn who_waited_for_a_turn_does_not_go_on_to_a_tool_that_rests() {
    let (tool, ends, [one, _two]) = told();
    let tool = tool.middleware(Turns::new(1, 9));
    let server = serve(tool.middleware(Breaker::new(1, Duration::from_secs(30))));
    let first = begin(&server, &ends, 0).await;
    let served = server.clone();
    let waits = tokio::spawn(async move { said(&served, json!({"n": 1})).await });
    tokio::task::yield_now().await;
    one.send(Err("no")).expect("it waits");
    assert_eq!(first.await.expect("no panic"), "error: no");
    assert!(waits.await.expect("no panic").contains("rests"));
    assert!(ends.lock().expect("no panic")[1].is_some(), "the tool was left in peace");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_counts_though_it_waited_for_its_turn() {
    let (tool, ends, [one, _two]) = told();
    let tool = tool.timeout(Duration::from_secs(10)).middleware(Turns::new(1, 9));
    let server = serve(tool.middleware(Breaker::new(1, Duration::from_secs(30))));
    let first = begin(&server, &ends, 0).await;
    let served = server.clone();
    let waits = tokio::spawn(async move { said(&served, json!({"n": 1})).await });
    tokio::task::yield_now().await;
    advance(Duration::from_secs(6)).await;
    one.send(Ok("well")).expect("it waits");
    assert_eq!(first.await.expect("no panic"), "well");
    // It had four seconds left of its ten.
    assert!(waits.await.expect("no panic").contains("was stopped"));
    assert!(said(&server, json!({"n": 1})).await.contains("rests"));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_counts_for_the_breaker() {
    let slow = handler::future(|_: Value, _| async { std::future::pending::<&str>().await });
    let tool = Tool::new("shaky", slow).timeout(Duration::from_secs(1));
    let server = serve(tool.middleware(Breaker::new(1, Duration::from_secs(30))));
    assert!(said(&server, json!({})).await.contains("was stopped"));
    assert!(said(&server, json!({})).await.contains("rests"));
}

#[tokio::test]
async fn calls_wait_for_their_turn_and_the_rest_is_told_to_come_back() {
    let gate = Arc::new(Semaphore::new(0));
    let (running, most) = (Count::default(), Count::default());
    let opened = Arc::clone(&gate);
    let (now, peak) = (Arc::clone(&running), Arc::clone(&most));
    let waits = handler::future(move |_: Value, _| {
        let (gate, now, peak) = (Arc::clone(&opened), Arc::clone(&now), Arc::clone(&peak));
        async move {
            peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            gate.acquire().await.expect("open").forget();
            now.fetch_sub(1, Ordering::SeqCst);
            "done"
        }
    });
    let server = serve(Tool::new("shaky", waits).middleware(Turns::new(2, 1)));
    let calls: Vec<_> = (0..5)
        .map(|_| {
            let server = server.clone();
            tokio::spawn(async move { said(&server, json!({})).await })
        })
        .collect();
    while calls.iter().filter(|call| call.is_finished()).count() < 2 {
        tokio::task::yield_now().await;
    }
    gate.add_permits(3);
    let mut answers = Vec::new();
    for call in calls {
        answers.push(call.await.expect("no panic"));
    }
    answers.sort();
    let busy =
        "error: The tool `shaky` is busy: 2 calls run and 1 wait already. Call it again later.";
    assert_eq!(answers, ["done", "done", "done", busy, busy]);
    assert_eq!(of(&most), 2);
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_kept_for_its_time_arguments_and_principal() {
    let calls = Count::default();
    let cache = Cache::new(Duration::from_secs(60));
    let server = serve(shaky(&calls, 0).read_only(true).middleware(cache));
    assert_eq!(said(&server, json!({"a": 1, "b": 2})).await, "call 1");
    assert_eq!(said(&server, json!({"b": 2, "a": 1})).await, "call 1");
    assert_eq!(said(&server, json!({"a": 1})).await, "call 2");
    let wire = TestWire { principal: Principal::Named("ada".into()), ..TestWire::default() };
    let params = json!({"name": "shaky", "arguments": {"a": 1}});
    let answer = ask_on(&wire, &server, Revision::LATEST, "tools/call", params).await;
    assert_eq!(answer["result"]["content"][0]["text"], "call 3");
    advance(Duration::from_secs(61)).await;
    assert_eq!(said(&server, json!({"a": 1})).await, "call 4");
}

#[tokio::test(start_paused = true)]
async fn a_cache_keeps_no_failure_and_nothing_of_what_changes_things() {
    let calls = Count::default();
    let cache = Cache::new(Duration::from_secs(60));
    let server = serve(shaky(&calls, 1).read_only(true).middleware(cache.clone()));
    assert_eq!(said(&server, json!({})).await, "error: no 1");
    assert_eq!(said(&server, json!({})).await, "call 2");
    assert_eq!(said(&server, json!({})).await, "call 2");
    // Setting a thing again is like setting it once, unless somebody else set it in between.
    for changes in [shaky(&Count::default(), 0), shaky(&Count::default(), 0).idempotent(true)] {
        let server = serve(changes.middleware(cache.clone()));
        assert_eq!(said(&server, json!({})).await, "call 1");
        assert_eq!(said(&server, json!({})).await, "call 2");
    }
}

#[tokio::test(start_paused = true)]
async fn a_full_cache_lets_the_oldest_go() {
    let calls = Count::default();
    let cache = Cache::new(Duration::from_secs(60)).entries_max(2);
    let server = serve(shaky(&calls, 0).read_only(true).middleware(cache));
    for (key, expected) in
        [(1, "call 1"), (2, "call 2"), (3, "call 3"), (2, "call 2"), (1, "call 4")]
    {
        assert_eq!(said(&server, json!({"key": key})).await, expected);
    }
    let calls = Count::default();
    let cache = Cache::new(Duration::from_secs(60)).bytes_max(10);
    let server = serve(shaky(&calls, 0).read_only(true).middleware(cache));
    assert_eq!(said(&server, json!({})).await, "call 1");
    assert_eq!(said(&server, json!({})).await, "call 2");
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_an_error_that_says_so() {
    let text = |length: usize| "x".repeat(length);
    let tool = Tool::new(
        "shaky",
        handler::function(move |n: Value| {
            text(n["n"].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(0))
        }),
    );
    let tool = tool.input_schema(r#"{"type":"object"}"#).middleware(MaxSize::new(100));
    let server = serve(tool);
    assert_eq!(said(&server, json!({"n": 100})).await.len(), 100);
    let expected = "error: The answer of `shaky` has 101 bytes, and 100 is the most that it may \
                    have. Ask for less at once.";
    assert_eq!(said(&server, json!({"n": 101})).await, expected);
}

#[tokio::test]
async fn what_must_not_be_seen_is_taken_out_everywhere() {
    let tool = Tool::new(
        "leaky",
        handler::function(|arguments: Value| {
            if arguments["fail"] == true {
                return Err("token hunter2hunter2 refused".to_owned());
            }
            let value = json!({"hunter2": ["a hunter2hunter2 b", 4111_1111], "ok": "abc"});
            Ok(handler::Json(value))
        }),
    );
    let redact = Redact::new().word("hunter2").word("hunter2hunter2").word("abc");
    let redact = redact.pattern(r"\b4\d{7}\b").expect("a pattern");
    let tool = tool.input_schema(r#"{"type":"object"}"#).middleware(redact);
    let server = serve(tool);
    let result = call(&server, "leaky", json!({})).await;
    let clean = json!({"[redacted]": ["a [redacted] b", "[redacted]"], "ok": "abc"});
    assert_eq!(result["structuredContent"], clean);
    assert!(!result.to_string().contains("hunter2") && !result.to_string().contains("4111"));
    let said = said_by(&server, "leaky", json!({"fail": true})).await;
    assert_eq!(said, "error: token [redacted] refused");
    let large = json!({"n": 1}).to_string().replace('1', "123456789012345678901234567890");
    let json = large.clone();
    let tool = Tool::new(
        "escaped",
        handler::function(move |arguments: Value| match arguments["large"] == true {
            true => ToolResult::json(&json),
            false => ToolResult::json(r#"{"key":"a\"b\/c"}"#),
        }),
    );
    let tool = tool.input_schema(r#"{"type":"object"}"#);
    let server = serve(tool.middleware(Redact::new().word("a\"b/c")));
    let result = call(&server, "escaped", json!({})).await;
    assert_eq!(result["structuredContent"], json!({"key": "[redacted]"}));
    assert_eq!(result["content"][0]["text"], r#"{"key":"[redacted]"}"#);
    let said = said_by(&server, "escaped", json!({"large": true})).await;
    assert_eq!(said, large, "nothing is hidden, so nothing is changed");
    let bad = Redact::new().pattern("a(").expect_err("it is none").to_string();
    assert_eq!(bad, "this is no regular expression: unclosed group");
}

#[tokio::test(start_paused = true)]
async fn around_a_server_each_tool_has_its_own_count() {
    let (one, other) = (Count::default(), Count::default());
    let fails = |name: &str, calls: &Count| {
        let calls = Arc::clone(calls);
        Tool::new(
            name,
            handler::function(move |_: Value| {
                calls.fetch_add(1, Ordering::SeqCst);
                Err::<String, _>("no")
            }),
        )
    };
    let server = Server::builder("s", "1")
        .middleware(Breaker::new(1, Duration::from_secs(30)))
        .tools([fails("one", &one), fails("other", &other)])
        .build()
        .expect("right");
    for tool in ["one", "one", "other", "other"] {
        said_by(&server, tool, json!({})).await;
    }
    assert_eq!((of(&one), of(&other)), (1, 1));
}
