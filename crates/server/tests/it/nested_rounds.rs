//! Calls within calls that ask: whatever runs beside them, before them or again, each is told what
//! it was told before, and does once what is done once.

use crate::wire::{TestWire, ask_on};
use futures_util::future::join;
use haft_proto::spec::tool_result::ToolResult;
use haft_proto::version::Revision;
use haft_server::around::Retry;
use haft_server::{AskError, Context, Server, Tool, handler};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Waker;

const ANY: &str = r#"{"type":"object"}"#;

/// Charges once, then asks whether that was right. Its arguments say for what.
fn pay(charged: &Arc<AtomicUsize>) -> Tool {
    let charged = Arc::clone(charged);
    let work = move |given: Value, context: Context| {
        let charged = Arc::clone(&charged);
        async move {
            let charge = async { charged.fetch_add(1, Ordering::Relaxed) };
            context.once("charge", charge).await;
            let question = format!("Was {} right?", given["what"]);
            let said = context.elicit::<Value>("right", &question, ANY).await?;
            Ok::<_, AskError>(said.action())
        }
    };
    Tool::new("pay", handler::future(work)).input_schema(ANY)
}

/// A tool of the server, which calls others.
fn calling<F>(work: impl Fn(Context) -> F + Send + Sync + 'static) -> Tool
where
    F: Future<Output = String> + Send + 'static,
{
    Tool::new("outer", handler::future(move |_: Value, context: Context| work(context)))
}

async fn paid(context: &Context, arguments: Value) -> String {
    match context.call("pay", arguments).await {
        Ok(result) => format!("{:?}", result.content),
        Err(refusal) => refusal.to_string(),
    }
}

/// What a call that brings the state and answers of a round before comes to.
async fn bring(server: &Server, before: &Value) -> Value {
    let wire = TestWire::to_client(json!({"elicitation": {}}));
    let asked = before["result"]["inputRequests"].as_object().into_iter().flatten();
    let accepted = json!({"action": "accept", "content": {}});
    let answers = asked.map(|(key, _)| (key.clone(), accepted.clone())).collect();
    let mut params = json!({"name": "outer"});
    if let Some(state) = before["result"].get("requestState") {
        params["requestState"] = state.clone();
        params["inputResponses"] = Value::Object(answers);
    }
    ask_on(&wire, server, Revision::LATEST, "tools/call", params).await
}

#[tokio::test]
async fn a_state_is_good_for_the_tools_that_it_was_made_with() {
    let charged = Arc::new(AtomicUsize::new(0));
    let described = |outer: &str, inner: &str| {
        let buy = calling(|context| async move {
            let said = context.elicit::<Value>("first", "Begin?", ANY).await;
            format!("{said:?} {}", paid(&context, json!({"what": "tea"})).await)
        });
        let tools = [buy.description(outer), pay(&charged).description(inner)];
        Server::builder("s", "1").tools(tools)
    };
    let server = described("Buys", "Pays").build().expect("right");
    let refused = |answer: &Value| {
        let why = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(why.contains("make the request again"), "{answer}");
    };
    let first = bring(&server, &json!({})).await;
    server.replace(described("Sells", "Pays")).expect("right");
    refused(&bring(&server, &first).await);
    // Nothing of the inner one is in the state yet.
    server.replace(described("Buys", "Pays more")).expect("right");
    let second = bring(&server, &first).await;
    assert_eq!(second["result"]["resultType"], "input_required", "{second}");
    server.replace(described("Buys", "Pays less")).expect("right");
    refused(&bring(&server, &second).await);
    // A replica, and an edit of something else, are no other tool.
    let replica =
        described("Buys", "Pays more").tool(Tool::new("x", handler::function(|_: Value| "x")));
    server.replace(replica).expect("right");
    let done = bring(&server, &second).await;
    assert_eq!(done["result"]["resultType"], "complete", "{done}");
    assert_eq!(charged.load(Ordering::Relaxed), 1);
}

/// Accepts all that is asked until there is a result; which questions there were, in each round.
async fn accept_all(server: &Server) -> (Vec<Vec<String>>, Value) {
    let wire = TestWire::to_client(json!({"elicitation": {}}));
    let (mut params, mut rounds) = (json!({"name": "outer"}), Vec::new());
    loop {
        let answer = ask_on(&wire, server, Revision::LATEST, "tools/call", params.clone()).await;
        let result = &answer["result"];
        let Some(asked) = result["inputRequests"].as_object() else {
            return (rounds, answer);
        };
        let text = |question: &Value| question["params"]["message"].as_str().map(str::to_owned);
        let mut texts: Vec<_> = asked.values().filter_map(text).collect();
        texts.sort();
        rounds.push(texts);
        assert!(rounds.len() < 5, "it is asked for ever: {rounds:?}");
        let accepted = json!({"action": "accept", "content": {}});
        let answers = asked.keys().map(|key| (key.clone(), accepted.clone())).collect();
        params["inputResponses"] = Value::Object(answers);
        params["requestState"] = result["requestState"].clone();
    }
}

async fn yields(count: usize) {
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn calls_that_begin_in_another_order_are_told_what_they_were_told() {
    let (charged, runs) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let outer = calling(move |context| {
        let run = runs.fetch_add(1, Ordering::Relaxed);
        async move {
            let (tea, milk) = (context.clone(), context);
            let tea = async {
                yields(if run == 0 { 3 } else { 0 }).await;
                paid(&tea, json!({"what": "tea"})).await
            };
            let milk = async {
                yields(1).await;
                paid(&milk, json!({"what": "milk"})).await
            };
            let (tea, milk) = join(tea, milk).await;
            tea + &milk
        }
    });
    let server = Server::builder("s", "1").tools([pay(&charged), outer]).build().expect("right");
    let (rounds, answer) = accept_all(&server).await;
    assert_eq!(rounds.concat().len(), 2, "each is asked once: {rounds:?} {answer}");
    assert_eq!(charged.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn what_one_attempt_did_once_the_next_does_not_do_again() {
    let (charged, runs) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let outer = handler::future(move |_: Value, context: Context| {
        let run = runs.fetch_add(1, Ordering::Relaxed);
        async move {
            let said = paid(&context, json!({"what": "tea"})).await;
            // The first run ends with the question, and the second fails after its answer.
            if run == 1 { ToolResult::error("it broke") } else { ToolResult::text(said) }
        }
    });
    let outer = Tool::new("outer", outer).idempotent(true).middleware(Retry::new(3));
    let server = Server::builder("s", "1").tools([pay(&charged), outer]).build().expect("right");
    let (rounds, answer) = accept_all(&server).await;
    assert_eq!(rounds, [["Was \"tea\" right?"]], "{answer}");
    assert_eq!(answer["result"]["isError"], Value::Null, "{answer}");
    assert_eq!(charged.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn what_stands_around_a_retry_calls_for_itself() {
    let charged = Arc::new(AtomicUsize::new(0));
    async fn pays(request: haft_server::Request, next: haft_server::Next) -> haft_server::Outcome {
        paid(&request.context, json!({"what": "tea"})).await;
        next.run(request).await
    }
    let outer = calling(|context| async move { paid(&context, json!({"what": "tea"})).await });
    let outer = outer.idempotent(true).middleware(pays).middleware(Retry::new(3));
    let server = Server::builder("s", "1").tools([pay(&charged), outer]).build().expect("right");
    let (rounds, answer) = accept_all(&server).await;
    assert_eq!((rounds.len(), charged.load(Ordering::Relaxed)), (2, 2), "{rounds:?} {answer}");
}

#[tokio::test]
async fn a_call_with_a_name_may_have_other_arguments_each_time() {
    let (charged, runs) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let outer = calling(move |context| {
        let run = runs.fetch_add(1, Ordering::Relaxed);
        async move {
            let mut said = String::new();
            for what in ["tea", "milk"] {
                let named = context.named("pay").named(what);
                said += &paid(&named, json!({"what": what, "at": run})).await;
            }
            said
        }
    });
    let server = Server::builder("s", "1").tools([pay(&charged), outer]).build().expect("right");
    let (rounds, answer) = accept_all(&server).await;
    assert_eq!(rounds.concat().len(), 2, "each is asked once: {rounds:?} {answer}");
    assert_eq!(charged.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn an_answer_counts_for_the_question_as_it_was_asked() {
    let (charged, runs) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let outer = calling(move |context| {
        // What another tool says, which is not always the same.
        let what = ["tea", "a house", "a house"][runs.fetch_add(1, Ordering::Relaxed)];
        async move { paid(&context.named("pay"), json!({ "what": what })).await }
    });
    let server = Server::builder("s", "1").tools([pay(&charged), outer]).build().expect("right");
    let (rounds, answer) = accept_all(&server).await;
    assert_eq!(rounds, [["Was \"tea\" right?"], ["Was \"a house\" right?"]], "{answer}");
    assert_eq!(charged.load(Ordering::Relaxed), 1, "that is done once all the same");
}

#[tokio::test]
async fn equal_calls_one_after_the_other_are_told_apart() {
    let charged = Arc::new(AtomicUsize::new(0));
    let outer = calling(|context| async move {
        let first = paid(&context.named(1), json!({"what": "tea"})).await;
        first + &paid(&context.named(1), json!({"what": "tea"})).await
    });
    let server = Server::builder("s", "1").tools([pay(&charged), outer]).build().expect("right");
    let (rounds, answer) = accept_all(&server).await;
    assert_eq!((rounds.len(), charged.load(Ordering::Relaxed)), (2, 2), "{rounds:?} {answer}");
}

#[tokio::test]
async fn no_two_questions_for_an_address_have_one_id() {
    let login = handler::future(|_: Value, context: Context| async move {
        let said = context.elicit_url("login", "Log in", "https://example.com/").await?;
        Ok::<_, AskError>(said.action())
    });
    let outer = calling(|context| async move {
        for _ in 0..2 {
            context.call("login", json!({})).await.expect("it is there");
        }
        "done".to_owned()
    });
    let tools = [Tool::new("login", login), outer];
    let server = Server::builder("s", "1").tools(tools).build().expect("right");
    let wire = TestWire::to_client(json!({"elicitation": {"url": {}}}));
    let params = json!({"name": "outer"});
    for _ in 0..2 {
        let accepted = || json!({"action": "accept"});
        *wire.answers.lock().expect("free") = vec![accepted(), accepted()];
        ask_on(&wire, &server, Revision::V2025_11_25, "tools/call", params.clone()).await;
    }
    let asked = wire.asked.lock().expect("free");
    let id = |question: &Value| question["elicitationId"].as_str().expect("an id").to_owned();
    let ids: BTreeSet<_> = asked.iter().map(|(_, question)| id(question)).collect();
    assert_eq!(ids.len(), 4, "{asked:?}");
}

/// Does something that takes a while beside a question, in this order.
async fn charged_beside_a_question(is_asked_first: bool, spawns: bool) -> (usize, Value) {
    let (charged, begun) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let charges = Arc::clone(&charged);
    let outer = calling(move |context| {
        let (charges, begins) = (Arc::clone(&charges), Arc::clone(&begun));
        async move {
            let asking = context.clone();
            let has_begun = Arc::clone(&begins);
            let ask = async move {
                while spawns && has_begun.load(Ordering::Relaxed) == 0 {
                    yields(1).await;
                }
                asking.elicit::<Value>("sure", "Sure?", ANY).await.is_ok()
            };
            let charge = async move {
                let slow = async {
                    begins.fetch_add(1, Ordering::Relaxed);
                    yields(5).await;
                    charges.fetch_add(1, Ordering::Relaxed)
                };
                context.once("charge", slow).await;
                assert_eq!(begins.load(Ordering::Relaxed), 1, "it was cut off and began again");
            };
            let charge = async {
                if spawns { tokio::spawn(charge).await.expect("no panic") } else { charge.await }
            };
            if is_asked_first {
                join(ask, charge).await;
            } else {
                join(charge, ask).await;
            }
            "done".to_owned()
        }
    });
    let server = Server::builder("s", "1").tool(outer).build().expect("right");
    let (rounds, answer) = accept_all(&server).await;
    assert_eq!(rounds, [["Sure?"]], "{answer}");
    (charged.load(Ordering::Relaxed), answer)
}

#[tokio::test]
async fn what_is_done_once_is_not_cut_off_by_a_question_beside_it() {
    for (is_asked_first, spawns) in [(true, false), (false, false), (true, true), (false, true)] {
        let (charged, answer) = charged_beside_a_question(is_asked_first, spawns).await;
        assert_eq!(charged, 1, "{answer}");
        assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
    }
}

#[tokio::test]
async fn what_is_done_once_is_not_cut_off_by_a_thread_that_asks_meanwhile() {
    let begun = Arc::new(AtomicUsize::new(0));
    let begins = Arc::clone(&begun);
    let outer = calling(move |context| {
        let begins = Arc::clone(&begins);
        async move {
            let asking = context.clone();
            let work = async move {
                begins.fetch_add(1, Ordering::Relaxed);
                let ask = move || {
                    let ask = pin!(asking.elicit::<Value>("sure", "Sure?", ANY));
                    ask.poll(&mut std::task::Context::from_waker(Waker::noop())).is_ready()
                };
                // It asks while this is polled.
                std::thread::spawn(ask).join().expect("no panic");
                yields(5).await;
            };
            context.once("work", work).await;
            context.elicit::<Value>("sure", "Sure?", ANY).await.is_ok().to_string()
        }
    });
    let server = Server::builder("s", "1").tool(outer).build().expect("right");
    let (rounds, answer) = accept_all(&server).await;
    assert_eq!(rounds, [["Sure?"]], "{answer}");
    assert_eq!(answer["result"]["content"][0]["text"], "true", "{answer}");
    assert_eq!(begun.load(Ordering::Relaxed), 1, "it was cut off and began again");
}

#[tokio::test]
async fn what_is_done_once_may_ask_itself() {
    let outer = calling(|context| async move {
        let ask = |context: Context| async move {
            let ask = async { context.elicit::<Value>("sure", "Sure?", ANY).await.is_ok() };
            context.once("a", ask).await
        };
        // The one waits for the answer, the other for the one.
        let (first, second) = (ask(context.clone()), context.clone());
        let second = async { second.once("b", ask(second.clone())).await };
        format!("{:?}", join(first, second).await)
    });
    let server = Server::builder("s", "1").tool(outer).build().expect("right");
    let (rounds, answer) = accept_all(&server).await;
    assert_eq!(rounds, [["Sure?"]], "{answer}");
    assert_eq!(answer["result"]["content"][0]["text"], "(true, true)");
}
