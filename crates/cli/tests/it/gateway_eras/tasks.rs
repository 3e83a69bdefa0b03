//! Tasks of a modern server, for clients that take tasks, and for those that do not.

use super::by_hand::post_as;
use super::{Gate, call, run};
use crate::gateway::DEADLINE;
use haft_client::ClientError;
use haft_proto::version::Era;
use serde_json::{Value, json};
use std::thread;
use std::time::Instant;

/// Makes a request as a client that takes tasks; its result.
fn ask(gate: &Gate, method: &str, params: &Value) -> Value {
    let capabilities = json!({
        "extensions": { "io.modelcontextprotocol/tasks": {} },
        "elicitation": { "form": {} },
    });
    let name = params.get("taskId").or_else(|| params.get("name")).and_then(Value::as_str);
    let name = name.expect("a name");
    post_as(&capabilities, &gate.served.url, method, name, params)["result"].take()
}

#[test]
fn tasks_of_a_server_are_waited_for() {
    for gate in [Gate::piped(Era::Modern), Gate::http(Era::Modern)] {
        run(async {
            let (client, _) = gate.client(Era::Modern).await;
            let said = call(&client, "slow_compute", json!({"seconds": 0.2})).await;
            assert_eq!(said.expect("an answer"), "Computed work for 0.2 seconds.");
            let said = call(&client, "confirm_delete", json!({"filename": "x"})).await;
            assert_eq!(said.expect("an answer"), "Deleted x.");
            let refused = call(&client, "protocol_error_job", json!({})).await;
            assert!(refused.is_err_and(|error| error.to_string().contains("this job fails")));
            // Whoever takes no tasks is told so by the server itself.
            let (legacy, _) = gate.client(Era::Legacy).await;
            let refused = call(&legacy, "failing_job", json!({})).await;
            let Err(ClientError::Refused { error, .. }) = refused else { panic!("{refused:?}") };
            assert_eq!(error.code, -32021, "{error}");
            let said = call(&legacy, "slow_compute", json!({"seconds": 0.2})).await;
            assert_eq!(said.expect("an answer"), "Computed work for 0.2 seconds.");
        });
    }
    let gate = Gate::piped(Era::Modern);
    run(async {
        let (client, _) = gate.client(Era::Modern).await;
        call(&client, "slow_compute", json!({"seconds": 0.2})).await.expect("an answer");
        assert!(!gate.sent("tasks/get").is_empty(), "it was a task there");
    });
}

#[test]
fn a_task_there_is_a_task_here_for_clients_that_take_tasks() {
    let gate = Gate::piped(Era::Modern);
    let ask = |method: &str, params: Value| ask(&gate, method, &params);
    let begin = |tool: &str, arguments: Value| {
        let task = ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert_eq!(task["resultType"], "task", "{task}");
        task["taskId"].as_str().expect("an id").to_owned()
    };
    let state = |task: &str| ask("tasks/get", json!({ "taskId": task }));
    let until = |task: &str, status: &str| {
        let since = Instant::now();
        loop {
            let found = state(task);
            if found["status"] == status {
                return found;
            }
            assert!(since.elapsed() < DEADLINE, "{found}");
        }
    };
    let task = begin("slow_compute", json!({ "seconds": 0.2 }));
    let done = until(&task, "completed");
    assert_eq!(done["result"]["content"][0]["text"], "Computed work for 0.2 seconds.");

    // What the task there asks, the task here asks.
    let task = begin("confirm_delete", json!({ "filename": "x" }));
    let asked = until(&task, "input_required");
    let questions = asked["inputRequests"].as_object().expect("questions");
    let (key, question) = questions.iter().next().expect("one");
    assert_eq!(question["method"], "elicitation/create");
    let answer = json!({ "action": "accept", "content": { "confirm": true } });
    ask("tasks/update", json!({ "taskId": task, "inputResponses": { key: answer } }));
    let done = until(&task, "completed");
    assert_eq!(done["result"]["content"][0]["text"], "Deleted x.");

    let task = begin("slow_compute", json!({ "seconds": 60 }));
    ask("tasks/cancel", json!({ "taskId": task }));
    until(&task, "cancelled");
    let since = Instant::now();
    while gate.sent("tasks/cancel").is_empty() {
        assert!(since.elapsed() < DEADLINE, "the server behind is not told");
        thread::yield_now();
    }
}
