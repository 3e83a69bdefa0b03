//! Questions to the client: in the modern era by making the call again, in the legacy one while it
//! runs. What comes back is checked as if an enemy had sent it.

use crate::wire::{TestWire, ask_on};
use haft_proto::limits::Limits;
use haft_proto::service::Principal;
use haft_proto::spec::tool_result::ToolResult;
use haft_proto::version::Revision;
use haft_server::handler::{Answer, Call, Handler, Made};
use haft_server::{AskError, Context, Elicited, Server, StateKey, TaskUse, Tool, handler};
use serde::Deserialize;
use serde_json::{Value, json};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[derive(Deserialize)]
struct Nothing {}

#[derive(Deserialize)]
struct Name {
    name: String,
}

pub(crate) const NAME: &str =
    r#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#;

/// Asks for two names, one after the other; `once` counts how often its step ran.
fn two_names(ran: Arc<AtomicUsize>) -> Tool {
    let work = move |_: Nothing, context: Context| {
        let ran = Arc::clone(&ran);
        async move {
            let step = context.once("step", async { ran.fetch_add(1, Ordering::Relaxed) }).await;
            let Elicited::Accepted(first) = context.elicit::<Name>("first", "Who?", NAME).await?
            else {
                return Ok("nobody".to_owned());
            };
            let second = context.elicit::<Name>("second", "And who?", NAME).await?;
            let second = second.accepted().map_or_else(|| "nobody".to_owned(), |name| name.name);
            Ok::<_, AskError>(format!("{} and {second}, step {step}", first.name))
        }
    };
    Tool::new("names", handler::future(work))
        .input_schema(r#"{"type":"object","properties":{"a":{"type":"integer"}}}"#)
}

fn server(limits: Limits) -> Server {
    server_with(limits, vec![])
}

fn server_with(limits: Limits, keys: Vec<StateKey>) -> Server {
    let ran = Arc::new(AtomicUsize::new(0));
    let built = Server::builder("s", "1").limits(limits).state_keys(keys).tool(two_names(ran));
    built.build().expect("right")
}

fn client() -> TestWire {
    TestWire::to_client(json!({"elicitation": {}}))
}

async fn call(server: &Server, wire: &TestWire, more: Value) -> Value {
    let mut params = json!({"name": "names", "arguments": {}});
    for (key, value) in more.as_object().expect("members") {
        params[key] = value.clone();
    }
    ask_on(wire, server, Revision::LATEST, "tools/call", params).await
}

fn accept(key: &str, name: &str) -> Value {
    json!({key: {"action": "accept", "content": {"name": name}}})
}

fn state_of(answer: &Value) -> String {
    answer["result"]["requestState"].as_str().expect("a state").to_owned()
}

fn error_of(answer: &Value) -> (i64, String) {
    let error = &answer["error"];
    (error["code"].as_i64().expect("an error"), error["message"].to_string())
}

#[tokio::test]
async fn a_modern_call_goes_on_where_its_answers_lead() {
    let (server, wire) = (server(Limits::default()), client());
    let first = call(&server, &wire, json!({})).await;
    assert_eq!(first["result"]["resultType"], "input_required");
    let asked = &first["result"]["inputRequests"]["first"];
    assert_eq!(asked["method"], "elicitation/create");
    assert_eq!(asked["params"]["requestedSchema"]["required"], json!(["name"]));

    let again = json!({"inputResponses": accept("first", "Ada"), "requestState": state_of(&first)});
    let second = call(&server, &wire, again).await;
    assert!(second["result"]["inputRequests"]["second"].is_object(), "{second}");
    assert_ne!(state_of(&first), state_of(&second));

    let again =
        json!({"inputResponses": accept("second", "Bob"), "requestState": state_of(&second)});
    let third = call(&server, &wire, again).await;
    assert_eq!(third["result"]["content"][0]["text"], "Ada and Bob, step 0", "the step ran once");
    assert_eq!(third["result"]["resultType"], "complete");
}

#[tokio::test]
async fn a_legacy_call_asks_while_it_runs() {
    let (server, wire) = (server(Limits::default()), client());
    let answer = |name: &str| json!({"action": "accept", "content": {"name": name}});
    *wire.answers.lock().expect("free") = vec![answer("Ada"), answer("Bob")];
    let params = json!({"name": "names", "arguments": {}});
    let answer = ask_on(&wire, &server, Revision::V2025_11_25, "tools/call", params).await;
    assert_eq!(answer["result"]["content"][0]["text"], "Ada and Bob, step 0");
    let asked = wire.asked.lock().expect("free").clone();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].1["mode"], "form");
}

#[tokio::test]
async fn an_answer_without_state_counts_for_the_first_round() {
    let (server, wire) = (server(Limits::default()), client());
    let answer = call(&server, &wire, json!({"inputResponses": accept("first", "Ada")})).await;
    assert!(answer["result"]["inputRequests"]["second"].is_object(), "{answer}");
}

#[tokio::test]
async fn missing_and_unknown_answers_are_asked_for_again() {
    let (server, wire) = (server(Limits::default()), client());
    for answers in [json!({}), Value::Null, accept("other", "Ada")] {
        let answer = call(&server, &wire, json!({"inputResponses": answers})).await;
        assert!(answer["result"]["inputRequests"]["first"].is_object(), "{answer}");
    }
}

#[tokio::test]
async fn what_is_no_answer_is_an_error() {
    let (server, wire) = (server(Limits::default()), client());
    for answers in [
        json!({"first": 12345}),
        json!({"first": {"action": "perhaps"}}),
        json!({"first": {"action": "accept", "content": {"name": 7}}}),
        json!({"first": {"role": "assistant", "content": {"type": "text", "text": "hi"}}}),
        json!({"first": {"roots": []}}),
        json!("first"),
        json!([1]),
    ] {
        let answer = call(&server, &wire, json!({"inputResponses": answers})).await;
        assert_eq!(error_of(&answer).0, -32602, "{answers} {answer}");
    }
}

#[tokio::test]
async fn a_state_is_refused_that_is_tampered_with_foreign_or_used() {
    let (server, wire) = (server(Limits::default()), client());
    let state = state_of(&call(&server, &wire, json!({})).await);
    let bring = |state: String, arguments: Value| {
        json!({"requestState": state, "inputResponses": accept("first", "Ada"),
               "arguments": arguments})
    };
    let mut changed = state.clone().into_bytes();
    for at in 0..changed.len() {
        let before = changed[at];
        changed[at] = if before == b'A' { b'B' } else { b'A' };
        let text = String::from_utf8(changed.clone()).expect("ASCII");
        let answer = call(&server, &wire, bring(text, json!({}))).await;
        assert_eq!(error_of(&answer).0, -32602, "byte {at}");
        changed[at] = before;
    }
    for broken in [String::new(), format!("{state}-TAMPERED"), "A".repeat(100_000)] {
        let answer = call(&server, &wire, bring(broken, json!({}))).await;
        assert_eq!(error_of(&answer).0, -32602);
    }
    // Made for other arguments, or for somebody else.
    let answer = call(&server, &wire, bring(state.clone(), json!({"a": 1}))).await;
    assert!(error_of(&answer).1.contains("does not belong"), "{answer}");
    let other = TestWire { principal: Principal::Named("eve".into()), ..client() };
    let answer = call(&server, &other, bring(state.clone(), json!({}))).await;
    assert!(error_of(&answer).1.contains("does not belong"), "{answer}");
    // Used: the first time counts, the second does not.
    let answer = call(&server, &wire, bring(state.clone(), json!({}))).await;
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    let answer = call(&server, &wire, bring(state, json!({}))).await;
    assert!(error_of(&answer).1.contains("has been used already"), "{answer}");
}

#[tokio::test]
async fn a_state_expires() {
    let limits = Limits { state_ttl: Duration::ZERO, ..Limits::default() };
    let (server, wire) = (server(limits), client());
    let state = state_of(&call(&server, &wire, json!({})).await);
    let begun = std::time::Instant::now();
    while begun.elapsed() < Duration::from_millis(3) {
        tokio::task::yield_now().await;
    }
    let answer = call(&server, &wire, json!({"requestState": state})).await;
    assert!(error_of(&answer).1.contains("has expired"), "{answer}");
}

#[tokio::test]
async fn a_state_that_an_error_came_of_may_be_brought_again() {
    let (server, wire) = (server(Limits::default()), client());
    let state = state_of(&call(&server, &wire, json!({})).await);
    let wrong = json!({"requestState": state, "inputResponses": {"first": 1}});
    assert_eq!(error_of(&call(&server, &wire, wrong).await).0, -32602);
    let right = json!({"requestState": state, "inputResponses": accept("first", "Ada")});
    let answer = call(&server, &wire, right).await;
    assert!(answer["result"]["inputRequests"]["second"].is_object(), "{answer}");
}

#[tokio::test]
async fn what_is_remembered_of_used_states_is_bounded_and_forgets_towards_refusal() {
    let limits = Limits { states_used: 3, ..Limits::default() };
    let (server, wire) = (server(limits), client());
    let mut states = Vec::new();
    for _ in 0..8 {
        states.push(state_of(&call(&server, &wire, json!({})).await));
    }
    for state in &states {
        let more = json!({"requestState": state, "inputResponses": accept("first", "Ada")});
        call(&server, &wire, more).await;
    }
    for state in &states {
        let more = json!({"requestState": state, "inputResponses": accept("first", "Ada")});
        let answer = call(&server, &wire, more).await;
        assert_eq!(error_of(&answer).0, -32602, "no state counts twice");
    }
}

#[tokio::test]
async fn replicas_share_keys_and_keys_rotate() {
    let key = |secret: &str| StateKey::from_text(secret).expect("long enough");
    let (old, new) = (key("the key of last month"), key("the key of this month"));
    let wire = client();
    let first = server_with(Limits::default(), vec![old.clone()]);
    let second = server_with(Limits::default(), vec![new.clone(), old.clone()]);
    let state = state_of(&call(&first, &wire, json!({})).await);
    let more =
        |state: &str| json!({"requestState": state, "inputResponses": accept("first", "Ada")});
    let answer = call(&second, &wire, more(&state)).await;
    let state = state_of(&answer);
    assert_eq!(error_of(&call(&first, &wire, more(&state)).await).0, -32602, "it lacks the key");
    first.set_state_keys(&[new, old]);
    let more = json!({"requestState": state, "inputResponses": accept("second", "Bob")});
    let answer = call(&first, &wire, more).await;
    assert_eq!(answer["result"]["content"][0]["text"], "Ada and Bob, step 0");
}

#[tokio::test]
async fn a_key_that_is_taken_away_opens_and_seals_nothing_more() {
    let key = || vec![StateKey::from_text("a key that somebody published").expect("long enough")];
    let (thief, wire) = (server_with(Limits::default(), key()), client());
    let answers = accept("first", "Ada");
    let bring =
        |answer: &Value| json!({"requestState": state_of(answer), "inputResponses": answers});
    let server = server_with(Limits::default(), key());
    server.replace(Server::builder("s", "2").tool(two_names(Arc::default()))).expect("right");
    let forged = call(&thief, &wire, json!({})).await;
    assert_eq!(error_of(&call(&server, &wire, bring(&forged)).await).0, -32602);
    let sealed = call(&server, &wire, json!({})).await;
    assert_eq!(error_of(&call(&thief, &wire, bring(&sealed)).await).0, -32602);
    // What the server made up stays, edit after edit.
    server.replace(Server::builder("s", "3").tool(two_names(Arc::default()))).expect("right");
    server.set_state_keys(&[]);
    let answer = call(&server, &wire, bring(&sealed)).await;
    assert!(answer["result"]["inputRequests"]["second"].is_object(), "{answer}");
    // What whoever holds the server gave is his to take away.
    server.set_state_keys(&key());
    server.replace(Server::builder("s", "4").tool(two_names(Arc::default()))).expect("right");
    let answer = call(&server, &wire, bring(&forged)).await;
    assert!(answer["result"]["inputRequests"]["second"].is_object(), "{answer}");
}

#[tokio::test]
async fn a_client_that_cannot_is_told_what_it_lacks() {
    let server = server(Limits::default());
    let answer = call(&server, &TestWire::default(), json!({})).await;
    assert_eq!(error_of(&answer).0, -32021);
    assert_eq!(answer["error"]["data"], json!({"requiredCapabilities": {"elicitation": {}}}));
    // The legacy era has no code for it; the model reads why.
    let params = json!({"name": "names", "arguments": {}});
    let wire = TestWire::default();
    let answer = ask_on(&wire, &server, Revision::V2025_11_25, "tools/call", params).await;
    assert_eq!(answer["result"]["isError"], true);
}

#[tokio::test(start_paused = true)]
async fn a_question_from_another_task_ends_the_call_and_that_task_learns_of_it() {
    let (left, mut leaves) = tokio::sync::mpsc::channel(2);
    let work = move |_: Nothing, context: Context| {
        let left = left.clone();
        async move {
            let inner = tokio::spawn(async move {
                let name = context.elicit::<Name>("first", "Who?", NAME).await;
                // Nobody may listen any more.
                let _ = left.try_send(name.as_ref().err().cloned());
                name.map(|name| name.accepted().map_or_else(String::new, |name| name.name))
            });
            inner.await.expect("no panic")
        }
    };
    let tool = Tool::new("names", handler::future(work));
    let server = Server::builder("s", "1").tool(tool).build().expect("right");
    let wire = client();
    let first = call(&server, &wire, json!({})).await;
    assert_eq!(first["result"]["resultType"], "input_required", "{first}");
    assert_eq!(leaves.recv().await, Some(Some(AskError::Gone)));
    let again = json!({"inputResponses": accept("first", "Ada"), "requestState": state_of(&first)});
    assert_eq!(call(&server, &wire, again).await["result"]["content"][0]["text"], "Ada");
}

#[tokio::test]
async fn a_call_may_take_for_ever() {
    let work = |_: Nothing, _| async {
        tokio::task::yield_now().await;
        "done"
    };
    let tool = Tool::new("names", handler::future(work)).timeout(Duration::MAX);
    let server = Server::builder("s", "1").tool(tool).build().expect("right");
    let answer = call(&server, &client(), json!({})).await;
    assert_eq!(answer["result"]["content"][0]["text"], "done");
}

/// Asks for a name, and answers at once when it has been told.
struct AtOnce;

impl Handler for AtOnce {
    fn call(&self, call: Call<'_>, answer: Answer<'_>) -> Made {
        let context = call.context();
        let mut asking = Box::pin(async move {
            let name = context.elicit::<Name>("first", "Who?", NAME).await;
            name.map_or_else(
                |error| ToolResult::error(error.to_string()),
                |_| ToolResult::text("done"),
            )
        });
        match asking.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop())) {
            std::task::Poll::Ready(result) => {
                answer.result(&result);
                Made::Now
            }
            std::task::Poll::Pending => Made::Later(Box::pin(async { Ok(asking.await) })),
        }
    }
}

#[tokio::test]
async fn a_state_counts_once_for_a_handler_that_answers_at_once() {
    let tool = Tool::new("names", AtOnce);
    let server = Server::builder("s", "1").tool(tool).build().expect("right");
    let wire = client();
    let state = state_of(&call(&server, &wire, json!({})).await);
    let again = json!({"inputResponses": accept("first", "Ada"), "requestState": state});
    let done = call(&server, &wire, again.clone()).await;
    assert_eq!(done["result"]["content"][0]["text"], "done");
    let answer = call(&server, &wire, again).await;
    assert!(error_of(&answer).1.contains("has been used already"), "{answer}");
}

/// Does one step twice in a row and twice at once.
fn steps(ran: Arc<AtomicUsize>) -> Tool {
    let work = move |_: Nothing, context: Context| {
        let ran = Arc::clone(&ran);
        async move {
            let step = async || {
                let slow = async {
                    tokio::task::yield_now().await;
                    ran.fetch_add(1, Ordering::Relaxed)
                };
                context.once("step", slow).await
            };
            let (first, second) = tokio::join!(step(), step());
            let third = step().await;
            context.become_task().await;
            format!("{first} {second} {third} {}", step().await)
        }
    };
    Tool::new("names", handler::future(work)).task(TaskUse::OnDemand)
}

#[tokio::test]
async fn a_step_is_done_once_in_a_call_of_any_era() {
    let ran = Arc::new(AtomicUsize::new(0));
    let server = Server::builder("s", "1").tool(steps(Arc::clone(&ran))).build().expect("right");
    let params = json!({"name": "names", "arguments": {}});
    for (n, revision) in [Revision::V2025_11_25, Revision::LATEST].into_iter().enumerate() {
        let answer = ask_on(&client(), &server, revision, "tools/call", params.clone()).await;
        let text = format!("{n} {n} {n} {n}");
        assert_eq!(answer["result"]["content"][0]["text"], text, "{revision:?}");
    }
    let extensions = json!({"io.modelcontextprotocol/tasks": {}});
    let wire = TestWire::to_client(json!({"extensions": extensions}));
    let answer = ask_on(&wire, &server, Revision::LATEST, "tools/call", params).await;
    let task = json!({"taskId": answer["result"]["taskId"]});
    let done = loop {
        let state = ask_on(&wire, &server, Revision::LATEST, "tasks/get", task.clone()).await;
        if state["result"]["status"] == "completed" {
            break state;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(done["result"]["result"]["content"][0]["text"], "2 2 2 2", "{done}");
    assert_eq!(ran.load(Ordering::Relaxed), 3);
}

thread_local! {
    static CURRENT: std::cell::RefCell<Option<Context>> = const { std::cell::RefCell::new(None) };
}

/// Reports progress when it is read.
struct Busy;

impl<'de> Deserialize<'de> for Busy {
    fn deserialize<D: serde::Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        CURRENT.with_borrow(|context| {
            let context = context.as_ref().expect("a call runs");
            context.progress(1.0, None, Some("reading"));
        });
        serde::de::IgnoredAny::deserialize(reader).map(|_| Self)
    }
}

impl serde::Serialize for Busy {
    fn serialize<S: serde::Serializer>(&self, writer: S) -> Result<S::Ok, S::Error> {
        writer.serialize_unit()
    }
}

#[test]
fn what_is_read_may_use_its_context() {
    let work = |_: Nothing, context: Context| async move {
        CURRENT.set(Some(context.clone()));
        let said = context.elicit::<Busy>("first", "Who?", NAME).await.map(|busy| busy.action());
        context.once("step", async { Busy }).await;
        context.once("step", async { Busy }).await;
        CURRENT.set(None);
        said.unwrap_or("nothing").to_owned()
    };
    let (done, is_done) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let tool = Tool::new("names", handler::future(work));
        let server = Server::builder("s", "1").tool(tool).build().expect("right");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let more = json!({"inputResponses": accept("first", "Ada")});
        let answer = runtime.expect("a runtime").block_on(call(&server, &client(), more));
        let _ = done.send(answer["result"]["content"][0]["text"].clone());
    });
    let text = is_done.recv_timeout(Duration::from_secs(20)).expect("nobody waits for himself");
    assert_eq!(text, "accept");
}

/// Asks in each round for the next of these, by its key and in its words; the rounds that were
/// asked, as keys, until it is done.
async fn rounds_of(asks: &'static [&'static [(&'static str, &'static str)]]) -> Vec<String> {
    let runs = AtomicUsize::new(0);
    let work = move |_: Nothing, context: Context| {
        let asks = asks[runs.fetch_add(1, Ordering::Relaxed)];
        async move {
            let mut names = Vec::new();
            for (key, text) in asks {
                let name = context.elicit::<Name>(key, text, NAME).await?.accepted();
                names.push(name.expect("it is given").name);
            }
            Ok::<_, AskError>(names.join(" "))
        }
    };
    let tool = Tool::new("names", handler::future(work));
    let server = Server::builder("s", "1").tool(tool).build().expect("right");
    let (mut rounds, mut more) = (Vec::new(), json!({}));
    loop {
        let answer = call(&server, &client(), more).await;
        let Some(asked) = answer["result"]["inputRequests"].as_object() else {
            rounds.push(answer["result"]["content"][0]["text"].as_str().expect("a text").into());
            return rounds;
        };
        let key = asked.keys().next().expect("a question").clone();
        more = json!({"inputResponses": accept(&key, &format!("{key}{}", rounds.len()))});
        more["requestState"] = state_of(&answer).into();
        rounds.push(key);
    }
}

#[tokio::test]
async fn an_answer_is_kept_until_its_question_comes_again() {
    const A: (&str, &str) = ("a", "A?");
    const B: (&str, &str) = ("b", "B?");
    assert_eq!(rounds_of(&[&[B], &[A, B], &[B, A]]).await, ["b", "a", "b0 a1"]);
}

#[tokio::test]
async fn an_answer_counts_for_the_form_that_it_was_given_to() {
    const STAGING: &[(&str, &str)] = &[("a", "Delete staging?")];
    const ALL: &[(&str, &str)] = &[("a", "Delete all?")];
    assert_eq!(rounds_of(&[STAGING, ALL, ALL]).await, ["a", "a", "a1"]);
    // Two under one key are two.
    const BOTH: &[(&str, &str)] = &[("a", "Sure?"), ("a", "Really?")];
    assert_eq!(rounds_of(&[BOTH; 3]).await, ["a", "a", "a0 a1"]);
}
