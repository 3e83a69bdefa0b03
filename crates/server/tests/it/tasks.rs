//! Calls that go on after their answer: who gets a task, what can be asked of it, and how it ends.

use crate::wire::{TestWire, ask_on, next};
use futures_util::stream::{FuturesUnordered, StreamExt};
use haft_proto::error::{Mistake, Refusal};
use haft_proto::limits::Limits;
use haft_proto::service::{Feed, Principal};
use haft_proto::version::Revision;
use haft_server::around::Retry;
use haft_server::{AskError, Context, Server, TaskUse, Tool, handler};
use serde_json::{Value, json};
use std::time::Duration;

const CONFIRM: &str = r#"{"type":"object","properties":{"confirm":{"type":"boolean"}}}"#;

pub(crate) fn tools() -> Vec<Tool> {
    let quick = handler::future(|_: Value, _: Context| async { "done" });
    let broken = handler::future(|_: Value, _: Context| async { Err::<String, _>("it broke") });
    let panics = handler::future(|_: Value, _: Context| async { panic!("tools may") as String });
    let endless = handler::future(|_: Value, context: Context| async move {
        context.progress(1.0, None, Some("far from done"));
        std::future::pending::<String>().await
    });
    let confirm = handler::future(|_: Value, context: Context| async move {
        let ask = |key: &'static str| {
            let context = context.clone();
            async move { context.elicit::<Value>(key, "Sure?", CONFIRM).await }
        };
        let (first, second) = tokio::join!(ask("first"), ask("second"));
        let again = context.elicit::<Value>("first", "Really?", CONFIRM).await?;
        let words = [first?.action(), second?.action(), again.action()];
        Ok::<_, AskError>(words.join(" "))
    });
    let on_demand = handler::future(|_: Value, context: Context| async move {
        let name = context.elicit::<Value>("name", "Who?", r#"{"type":"object"}"#).await?;
        context.become_task().await;
        let name = name.accepted().unwrap_or_default();
        Ok::<_, AskError>(format!("Hello, {}", name["name"]))
    });
    let refused = handler::future(|_: Value, _: Context| async {
        Err::<String, _>(Refusal::new(Mistake::Own { code: 4003 }, "closed"))
    });
    vec![
        Tool::new("refused", refused).task(TaskUse::Always),
        Tool::new("quick", quick).task(TaskUse::Always),
        Tool::new("broken", broken).task(TaskUse::Required),
        Tool::new("panics", panics).task(TaskUse::Always),
        Tool::new("endless", endless).task(TaskUse::Always),
        Tool::new("confirm", confirm).task(TaskUse::Always),
        Tool::new("on_demand", on_demand).task(TaskUse::OnDemand),
        Tool::new("short", handler::future(|_: Value, _| std::future::pending::<String>()))
            .task(TaskUse::Always)
            .task_ttl(Duration::from_secs(60)),
    ]
}

fn server() -> Server {
    Server::builder("s", "1").tools(tools()).build().expect("right")
}

pub(crate) fn client() -> TestWire {
    let extensions = json!({"io.modelcontextprotocol/tasks": {}});
    TestWire::to_client(json!({"elicitation": {}, "extensions": extensions}))
}

pub(crate) async fn call(server: &Server, wire: &TestWire, tool: &str) -> Value {
    ask_on(wire, server, Revision::LATEST, "tools/call", json!({"name": tool})).await
}

pub(crate) async fn ask(server: &Server, method: &str, params: Value) -> Value {
    ask_on(&client(), server, Revision::LATEST, method, params).await
}

/// Begins a task and returns its id.
pub(crate) async fn begin(server: &Server, tool: &str) -> String {
    let answer = call(server, &client(), tool).await;
    let task = &answer["result"];
    assert_eq!(task["resultType"], "task", "{answer}");
    assert_eq!(task["status"], "working");
    assert!(task["createdAt"].as_str().is_some_and(|at| at.contains('T') && at.ends_with('Z')));
    task["taskId"].as_str().expect("an id").to_owned()
}

pub(crate) async fn state(server: &Server, task: &str) -> Value {
    ask(server, "tasks/get", json!({"taskId": task})).await["result"].clone()
}

/// The state of a task once it has that status.
pub(crate) async fn state_once(server: &Server, task: &str, status: &str) -> Value {
    loop {
        let state = state(server, task).await;
        if state["status"] == status {
            return state;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_task_keeps_the_result_that_the_call_would_have_had() {
    let server = server();
    let task = begin(&server, "quick").await;
    let state = state_once(&server, &task, "completed").await;
    assert_eq!(state["result"]["content"][0]["text"], "done");
    assert_eq!(state["resultType"], "complete");
    assert_eq!((&state["ttlMs"], &state["pollIntervalMs"]), (&json!(3_600_000), &json!(1000)));
    // What the tool itself says of its failure is a result; a panic is none.
    let task = begin(&server, "broken").await;
    let state = state_once(&server, &task, "completed").await;
    assert_eq!(state["result"]["isError"], true);
    let task = begin(&server, "panics").await;
    let state = state_once(&server, &task, "failed").await;
    assert_eq!((&state["error"]["code"], state.get("result")), (&json!(-32603), None));
    assert_eq!(state["statusMessage"], state["error"]["message"], "{state}");
    let task = begin(&server, "refused").await;
    let state = state_once(&server, &task, "failed").await;
    assert_eq!(state["error"], json!({"code": 4003, "message": "closed"}));
}

#[tokio::test]
async fn a_client_that_takes_no_tasks_gets_none() {
    let (server, plain) = (server(), TestWire::default());
    let answer = call(&server, &plain, "quick").await;
    assert_eq!(answer["result"]["content"][0]["text"], "done");
    let answer = call(&server, &plain, "broken").await;
    assert_eq!(answer["error"]["code"], -32021);
    let needed = &answer["error"]["data"]["requiredCapabilities"]["extensions"];
    assert_eq!(*needed, json!({"io.modelcontextprotocol/tasks": {}}));
    let task = json!({"taskId": begin(&server, "quick").await});
    let answer = ask_on(&plain, &server, Revision::LATEST, "tasks/get", task).await;
    assert_eq!(answer["error"]["code"], -32021);
    // The legacy era has no such tasks.
    let params = json!({"name": "quick"});
    let answer = ask_on(&client(), &server, Revision::V2025_11_25, "tools/call", params).await;
    assert_eq!(answer["result"]["content"][0]["text"], "done");
}

#[tokio::test]
async fn a_task_waits_for_answers_that_come_one_by_one() {
    let server = server();
    let task = begin(&server, "confirm").await;
    let asked = state_once(&server, &task, "input_required").await;
    assert_eq!(asked["inputRequests"].as_object().map(serde_json::Map::len), Some(2));
    assert_eq!(asked["inputRequests"]["first"]["method"], "elicitation/create");
    let answer = async |key: &str, action: &str| {
        let answers = json!({key: {"action": action}, "nobody-asked": {"action": "accept"}});
        let params = json!({"taskId": task, "inputResponses": answers});
        let answer = ask(&server, "tasks/update", params).await;
        assert_eq!(answer["result"], json!({"resultType": "complete"}), "{answer}");
    };
    answer("first", "accept").await;
    let asked = state(&server, &task).await;
    assert_eq!(
        asked["inputRequests"].as_object().map(|all| all.contains_key("first")),
        Some(false)
    );
    answer("second", "decline").await;
    // The same key is asked again under another name: no key ever stands for two questions.
    let asked = state_once(&server, &task, "input_required").await;
    let keys: Vec<_> = asked["inputRequests"].as_object().expect("questions").keys().collect();
    assert_eq!(keys, ["first-2"]);
    answer("first-2", "cancel").await;
    let done = state_once(&server, &task, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "accept decline cancel");
}

#[tokio::test]
async fn a_task_that_is_cancelled_stays_so() {
    let server = server();
    let task = begin(&server, "endless").await;
    loop {
        let state = state(&server, &task).await;
        if state["statusMessage"] == "far from done" {
            break;
        }
        tokio::task::yield_now().await;
    }
    for _ in 0..2 {
        let answer = ask(&server, "tasks/cancel", json!({"taskId": task})).await;
        assert_eq!(answer["result"], json!({"resultType": "complete"}));
        assert_eq!(state(&server, &task).await["status"], "cancelled");
    }
}

#[tokio::test]
async fn questions_come_first_where_a_call_becomes_a_task_late() {
    let (server, wire) = (server(), client());
    let first = call(&server, &wire, "on_demand").await;
    assert_eq!(first["result"]["resultType"], "input_required");
    let params = json!({
        "name": "on_demand",
        "requestState": first["result"]["requestState"],
        "inputResponses": {"name": {"action": "accept", "content": {"name": "Alice"}}},
    });
    let second = ask_on(&wire, &server, Revision::LATEST, "tools/call", params.clone()).await;
    assert_eq!(second["result"]["resultType"], "task");
    assert_eq!(second["result"].get("requestState"), None);
    let task = second["result"]["taskId"].as_str().expect("an id");
    let done = state_once(&server, task, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "Hello, \"Alice\"");
    let again = ask_on(&wire, &server, Revision::LATEST, "tools/call", params).await;
    assert_eq!(again["error"]["code"], -32602, "one state makes one task");
}

#[tokio::test]
async fn nobody_sees_the_tasks_of_others() {
    let server = server();
    let task = begin(&server, "endless").await;
    let eve = TestWire { principal: Principal::Named("eve".into()), ..client() };
    for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
        for id in [json!(task), json!("0".repeat(32)), json!("../../etc/passwd"), json!(7)] {
            let params = json!({"taskId": id, "inputResponses": {}});
            let answer = ask_on(&eve, &server, Revision::LATEST, method, params).await;
            assert_eq!(answer["error"]["code"], -32602, "{method} {answer}");
        }
    }
    assert_eq!(state(&server, &task).await["status"], "working");
}

#[tokio::test]
async fn what_becomes_of_a_task_is_told_to_whoever_listens() {
    let (server, wire) = (server(), client());
    let task = begin(&server, "confirm").await;
    let params = json!({"notifications": {"taskIds": [task, "unknown"]}});
    ask_on(&wire, &server, Revision::LATEST, "subscriptions/listen", params.clone()).await;
    let mut feed = wire.feed.lock().expect("free").take().expect("a stream");
    let first = next(&mut *feed).expect("the acknowledgement");
    assert_eq!(first["params"]["notifications"], json!({"taskIds": [task]}));
    state_once(&server, &task, "input_required").await;
    let told = next(&mut *feed).expect("that it waits");
    assert_eq!(told["method"], "notifications/tasks");
    assert_eq!(told["params"]["status"], "input_required");
    ask(&server, "tasks/cancel", json!({"taskId": task})).await;
    assert_eq!(next(&mut *feed).expect("its end")["params"]["status"], "cancelled");
    let plain = TestWire::default();
    let answer = ask_on(&plain, &server, Revision::LATEST, "subscriptions/listen", params).await;
    assert_eq!(answer["error"]["code"], -32021);
}

/// Listens for what becomes of a task, and reads the acknowledgement.
pub(crate) async fn listen(server: &Server, task: &str) -> Box<dyn Feed> {
    let (wire, params) = (client(), json!({"notifications": {"taskIds": [task]}}));
    ask_on(&wire, server, Revision::LATEST, "subscriptions/listen", params).await;
    let mut feed = wire.feed.lock().expect("free").take().expect("a stream");
    next(&mut *feed).expect("the acknowledgement");
    feed
}

#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_answers_is_told_to_be_gone() {
    let hasty = handler::future(|_: Value, context: Context| async move {
        let asked = context.elicit::<Value>("first", "Sure?", CONFIRM).await;
        assert_eq!(asked.err(), Some(AskError::TimedOut));
        std::future::pending::<String>().await
    });
    let limits = Limits { question_timeout: Duration::from_secs(1), ..Limits::default() };
    let tool = Tool::new("hasty", hasty).task(TaskUse::Always);
    let server = Server::builder("s", "1").limits(limits).tool(tool).build().expect("right");
    let task = begin(&server, "hasty").await;
    state_once(&server, &task, "input_required").await;
    let mut feed = listen(&server, &task).await;
    while let Some(told) = next(&mut *feed) {
        assert_eq!(told["params"]["status"], "input_required");
    }
    tokio::time::advance(Duration::from_secs(2)).await;
    state_once(&server, &task, "working").await;
    assert_eq!(next(&mut *feed).expect("a change")["params"]["status"], "working");
    assert_eq!(next(&mut *feed), None);
}

#[tokio::test]
async fn all_parts_of_a_call_go_on_that_want_it_to_be_a_task() {
    let work = |_: Value, context: Context| async move {
        let parts: FuturesUnordered<_> = (0..3).map(|_| context.become_task()).collect();
        parts.count().await.to_string()
    };
    let parts = Tool::new("parts", handler::future(work)).task(TaskUse::OnDemand);
    let server = Server::builder("s", "1").tool(parts).build().expect("right");
    let task = begin(&server, "parts").await;
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while state(&server, &task).await["status"] != "completed" {
        assert!(std::time::Instant::now() < deadline, "some parts wait for ever");
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_person_who_answers_a_task_late_takes_no_time_of_a_tool() {
    let work = |_: Value, context: Context| async move {
        let said = context.elicit::<Value>("sure", "Sure?", CONFIRM).await?;
        Ok::<_, AskError>(said.action())
    };
    let within = Duration::from_secs(1);
    let timed = Tool::new("timed", handler::future(work)).timeout(within);
    let tried = Tool::new("tried", handler::future(work)).idempotent(true);
    let tried = tried.middleware(Retry::new(2).each(within));
    for inner in [timed, tried] {
        let name = inner.definition().expect("right").name;
        let outer = move |_: Value, context: Context| {
            let name = name.clone();
            async move {
                context.become_task().await;
                context.call(&name, json!({})).await
            }
        };
        let outer = Tool::new("outer", handler::future(outer)).task(TaskUse::OnDemand);
        let server = Server::builder("s", "1").tools([inner, outer]).build().expect("right");
        let task = begin(&server, "outer").await;
        let asked = state_once(&server, &task, "input_required").await;
        let keys: Vec<_> = asked["inputRequests"].as_object().expect("questions").keys().collect();
        for _ in 0..10 {
            tokio::time::advance(Duration::from_secs(1)).await;
            assert_eq!(state(&server, &task).await["inputRequests"], asked["inputRequests"]);
        }
        let answers = json!({keys[0]: {"action": "accept"}});
        let params = json!({"taskId": task, "inputResponses": answers});
        ask(&server, "tasks/update", params).await;
        let done = state_once(&server, &task, "completed").await;
        assert_eq!(done["result"]["content"][0]["text"], "accept", "{done}");
    }
}

#[tokio::test]
async fn what_a_task_leaves_behind_says_nothing_more() {
    let (noting, mut notes) = tokio::sync::mpsc::channel::<Context>(1);
    let leaving = handler::future(move |_: Value, context: Context| {
        let noting = noting.clone();
        async move {
            noting.send(context).await.expect("the test waits");
            "done"
        }
    });
    let tool = Tool::new("leaving", leaving).task(TaskUse::Always);
    let server = Server::builder("s", "1").tool(tool).build().expect("right");
    let task = begin(&server, "leaving").await;
    let mut feed = listen(&server, &task).await;
    let left = notes.recv().await.expect("a context");
    state_once(&server, &task, "completed").await;
    while let Some(told) = next(&mut *feed) {
        assert_eq!(told["params"]["status"], "completed");
    }
    left.progress(1.0, None, Some("still there"));
    assert_eq!(next(&mut *feed), None, "it is over");
    let asked = left.elicit::<Value>("late", "Sure?", CONFIRM).await;
    assert_eq!(asked.err(), Some(AskError::Gone));
    assert_eq!(next(&mut *feed), None);
    assert_eq!(state(&server, &task).await.get("statusMessage"), None);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_takes_longer_than_it_is_kept_is_stopped() {
    let server = server();
    let task = begin(&server, "short").await;
    let told = loop {
        let answer = ask(&server, "tasks/get", json!({"taskId": task})).await;
        if answer["result"]["status"] != "working" {
            break answer;
        }
        // What is kept expires by the clock on the wall, which hardly moves meanwhile.
        tokio::time::advance(Duration::from_secs(5)).await;
    };
    let text = &told["result"]["result"]["content"][0]["text"];
    assert!(text.as_str().is_some_and(|text| text.contains("took longer")), "{told}");
}

#[tokio::test]
async fn tasks_are_bounded_in_number_and_the_oldest_that_is_over_makes_room() {
    let limits = Limits { tasks: 2, ..Limits::default() };
    let server = Server::builder("s", "1").limits(limits).tools(tools()).build().expect("right");
    let first = begin(&server, "endless").await;
    let second = begin(&server, "endless").await;
    let answer = call(&server, &client(), "endless").await;
    assert_eq!(answer["error"]["code"], -31003, "{answer}");
    for task in [&second, &first] {
        ask(&server, "tasks/cancel", json!({"taskId": task})).await;
    }
    // What is over is kept for as long as was said, unless somebody else needs the place.
    assert_eq!(state(&server, &second).await["status"], "cancelled");
    let third = begin(&server, "endless").await;
    let forgotten = ask(&server, "tasks/get", json!({"taskId": second})).await;
    assert_eq!(forgotten["error"]["code"], -32602, "{forgotten}");
    assert_eq!(state(&server, &first).await["status"], "cancelled");
    begin(&server, "endless").await;
    assert_eq!(call(&server, &client(), "endless").await["error"]["code"], -31003);
    assert_eq!(state(&server, &third).await["status"], "working");
}

#[tokio::test]
async fn fewer_tasks_run_than_are_kept() {
    let limits = Limits { tasks_running: 1, ..Limits::default() };
    let server = Server::builder("s", "1").limits(limits).tools(tools()).build().expect("right");
    let first = begin(&server, "endless").await;
    let answer = call(&server, &client(), "quick").await;
    assert_eq!(answer["error"]["code"], -31003, "{answer}");
    ask(&server, "tasks/cancel", json!({"taskId": first})).await;
    let second = begin(&server, "quick").await;
    state_once(&server, &second, "completed").await;
    assert_eq!(state(&server, &first).await["status"], "cancelled");
}

#[tokio::test]
async fn a_message_of_progress_is_kept_up_to_its_bound() {
    let says = |said: &'static str| {
        let work = move |_: Value, context: Context| async move {
            context.progress(1.0, None, Some(said));
            std::future::pending::<String>().await
        };
        Tool::new("says", handler::future(work)).task(TaskUse::Always)
    };
    let limits = Limits { task_message_bytes: 8, ..Limits::default() };
    for (said, kept) in
        [("12345678", "12345678"), ("123456789", "12345678"), ("1234567ä", "1234567")]
    {
        let built = Server::builder("s", "1").limits(limits.clone()).tool(says(said));
        let server = built.build().expect("right");
        let task = begin(&server, "says").await;
        while state(&server, &task).await["statusMessage"] != kept {
            tokio::task::yield_now().await;
        }
    }
}

#[test]
fn no_choice_of_keys_keeps_a_task_from_asking() {
    let (tell, told) = std::sync::mpsc::sync_channel(1);
    // Whoever spins holds its thread and all that wait for it: the limit is another thread's.
    std::thread::spawn(move || {
        let asking = handler::future(|_: Value, context: Context| async move {
            let ask = |key| context.elicit::<Value>(key, "Sure?", CONFIRM);
            let _ = tokio::join!(ask("a"), ask("a-2"), ask("a"));
            "asked"
        });
        let tool = Tool::new("asking", asking).task(TaskUse::Always);
        let server = Server::builder("s", "1").tool(tool).build().expect("right");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let asked = runtime.expect("a runtime").block_on(async {
            let task = begin(&server, "asking").await;
            state_once(&server, &task, "input_required").await["inputRequests"].take()
        });
        tell.send(asked).expect("the test waits");
    });
    let asked = told.recv_timeout(Duration::from_secs(20)).expect("it asks");
    let keys: Vec<_> = asked.as_object().expect("questions").keys().collect();
    assert_eq!(keys, ["a", "a-2", "a-3"]);
}
