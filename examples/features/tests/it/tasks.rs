//! The example of tasks: what becomes one, how it ends, and that a restart does not lose it.

use crate::server::{Client, Era, text};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tasks");

/// A client that takes tasks, if its era has them.
fn start(folder: &Path, era: Era) -> Client {
    let capabilities = match era {
        Era::Legacy => json!({}),
        Era::Modern => json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } }),
    };
    let mut command = Command::new(PROGRAM);
    command.env("TASKS", folder.join("tasks"));
    Client::command(&mut command, era, capabilities, |method, _| panic!("nobody answers {method}"))
}

#[track_caller]
fn task_of(result: &Value) -> String {
    assert_eq!(result["resultType"], "task", "{result}");
    result["taskId"].as_str().expect("an id").to_owned()
}

/// Looks at a task until it is over.
fn ended(client: &mut Client, id: &str) -> Value {
    loop {
        let task = client.ask("tasks/get", json!({ "taskId": id }));
        if task["status"] != "working" {
            return task;
        }
    }
}

#[test]
fn a_task_completes_and_survives_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("nightly.csv");
    let mut client = start(folder.path(), Era::Modern);
    let task = task_of(&client.call("wait_for_file", json!({ "path": file })));
    let stuck = task_of(&client.call("wait_for_file", json!({ "path": "/nowhere/at/all" })));
    client.send("subscriptions/listen", json!({ "notifications": { "taskIds": [task] } }));
    client.wait_for("notifications/subscriptions/acknowledged");
    std::fs::write(&file, "1,2").expect("a file");
    assert_eq!(client.wait_for("notifications/tasks")["status"], "completed");
    drop(client);

    let mut client = start(folder.path(), Era::Modern);
    let kept = client.ask("tasks/get", json!({ "taskId": task }));
    assert_eq!(kept["status"], "completed");
    assert_eq!(text(&kept["result"]), format!("{} is there", file.display()));
    // What ran when the process ended has failed, and says why.
    let lost = client.ask("tasks/get", json!({ "taskId": stuck }));
    assert_eq!(lost["status"], "failed");
    assert!(lost["error"]["message"].as_str().expect("why").contains("restarted"), "{lost}");
}

#[test]
fn a_task_is_cancelled_where_it_waits() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut client = start(folder.path(), Era::Modern);
    let task = task_of(&client.call("wait_for_file", json!({ "path": "/nowhere/at/all" })));
    client.ask("tasks/cancel", json!({ "taskId": task }));
    assert_eq!(ended(&mut client, &task)["status"], "cancelled");
}

#[test]
fn long_work_becomes_a_task_and_short_work_does_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let directory = folder.path().join("files");
    std::fs::create_dir(&directory).expect("a folder");
    std::fs::write(directory.join("0"), "a needle").expect("a file");
    let mut client = start(folder.path(), Era::Modern);
    let search = json!({ "directory": directory, "word": "needle" });
    assert!(client.text("search", search.clone()).starts_with("1 files: "));
    let size = task_of(&client.call("total_size", json!({ "directory": directory })));
    assert_eq!(text(&ended(&mut client, &size)["result"]), "8 bytes");

    for number in 1..=100 {
        std::fs::write(directory.join(number.to_string()), "hay").expect("a file");
    }
    let task = task_of(&client.call("search", search));
    let found = text(&ended(&mut client, &task)["result"]);
    assert!(found.starts_with("1 files: ") && found.ends_with("/0"), "{found}");
}

#[test]
fn a_client_without_tasks_waits_or_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("file"), "12345").expect("a file");
    let mut client = start(folder.path(), Era::Legacy);
    assert_eq!(client.text("total_size", json!({ "directory": folder.path() })), "5 bytes");
    let call = json!({ "name": "wait_for_file", "arguments": { "path": "/nowhere" } });
    let mut command = Command::new(PROGRAM);
    command.env("TASKS", folder.path().join("tasks"));
    let mut client = Client::command(&mut command, Era::Modern, json!({}), |_, _| json!({}));
    let refused = client.answer("tools/call", call);
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
}
