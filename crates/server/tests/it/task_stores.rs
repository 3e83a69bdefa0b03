//! Where tasks are kept: what a store that fails, dawdles or outlives its server makes of them.

use crate::tasks::{ask, begin, call, client, listen, state, state_once, tools};
use crate::wire::next;
use futures_util::FutureExt;
use haft_proto::limits::Limits;
use haft_server::{FolderTasks, Server, Stored, TaskRecord, TaskState, TaskStore};
use serde_json::json;
use std::time::Duration;

/// Keeps nothing but that a task has begun.
struct Forgetful;

impl TaskStore for Forgetful {
    fn put(&self, record: TaskRecord) -> Stored<'_, ()> {
        let is_over = !matches!(record.state, TaskState::Working);
        let result = if is_over { Err(std::io::Error::other("full")) } else { Ok(()) };
        Box::pin(std::future::ready(result))
    }

    fn find<'a>(&'a self, _: &'a str) -> Stored<'a, Option<TaskRecord>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    fn sweep(&self, _: u64) -> Stored<'_, ()> {
        Box::pin(std::future::ready(Err(std::io::Error::other("no such folder"))))
    }
}

#[tokio::test]
async fn what_a_store_does_not_take_is_kept_here_until_it_expires() {
    let limits = Limits { tasks: 1, task_ttl: Duration::from_millis(5), ..Limits::default() };
    let built = Server::builder("s", "1").limits(limits).tools(tools());
    let server = built.task_store(Forgetful).build().expect("right");
    let task = begin(&server, "quick").await;
    loop {
        let answer = call(&server, &client(), "quick").await;
        if answer["result"]["resultType"] == "task" {
            break;
        }
        assert_eq!(answer["error"]["code"], -31003, "{answer}");
        tokio::task::yield_now().await;
    }
    let answer = ask(&server, "tasks/get", json!({"taskId": task})).await;
    assert_eq!(answer["error"]["code"], -32602, "it has expired: {answer}");
}

/// Never finishes its first writing of a task in that state.
struct Slow(std::sync::Mutex<Option<&'static str>>);

impl TaskStore for Slow {
    fn put(&self, record: TaskRecord) -> Stored<'_, ()> {
        let mut slow = self.0.lock().expect("free");
        if slow.is_some_and(|slow| format!("{:?}", record.state) == slow) {
            *slow = None;
            return Box::pin(std::future::pending());
        }
        Box::pin(std::future::ready(Ok(())))
    }

    fn find<'a>(&'a self, _: &'a str) -> Stored<'a, Option<TaskRecord>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    fn sweep(&self, _: u64) -> Stored<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }
}

#[tokio::test]
async fn a_client_that_goes_before_its_task_is_kept_takes_no_place_and_one_that_cancels_is_heard() {
    let limits = Limits { tasks: 1, ..Limits::default() };
    let server = |slow| {
        let built = Server::builder("s", "1").limits(limits.clone()).tools(tools());
        built.task_store(Slow(std::sync::Mutex::new(Some(slow)))).build().expect("right")
    };
    let (one, wire) = (server("Working"), client());
    assert!(call(&one, &wire, "endless").now_or_never().is_none());
    let task = begin(&one, "endless").await;
    assert_eq!(state(&one, &task).await["status"], "working");
    let two = server("Cancelled");
    let task = begin(&two, "endless").await;
    let mut feed = listen(&two, &task).await;
    while next(&mut *feed).is_some() {}
    let cancelled = ask(&two, "tasks/cancel", json!({"taskId": task})).now_or_never();
    assert!(cancelled.is_none(), "it is not on the disk");
    assert_eq!(next(&mut *feed).expect("its end")["params"]["status"], "cancelled");
}

#[tokio::test]
async fn results_in_a_folder_outlive_their_server_and_what_ran_has_failed() {
    let folder = tempfile::tempdir().expect("a folder");
    let build = || {
        let store = FolderTasks::open(folder.path()).expect("a store");
        Server::builder("s", "1").tools(tools()).task_store(store).build().expect("right")
    };
    let first = build();
    let (done, endless) = (begin(&first, "quick").await, begin(&first, "endless").await);
    state_once(&first, &done, "completed").await;
    // It is told before it is on the disk, and a folder has one writer at a time.
    let file = folder.path().join(format!("{done}.json"));
    while !std::fs::read_to_string(&file).expect("a file").contains("completed") {
        tokio::task::yield_now().await;
    }
    let second = build();
    assert_eq!(state(&second, &done).await["result"]["content"][0]["text"], "done");
    let failed = state(&second, &endless).await;
    assert_eq!(failed["status"], "failed");
    assert_eq!(failed["statusMessage"], "Cancelled: the server was restarted");
    // What has expired is swept away.
    let store = FolderTasks::open(folder.path()).expect("a store");
    store.sweep(u64::MAX).await.expect("swept");
    assert!(store.find(&done).await.expect("looked").is_none());
}

#[tokio::test]
async fn a_folder_holds_whole_files_for_its_owner_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tasks");
    let id = "0123456789abcdef0123456789abcdef".to_owned();
    let record = TaskRecord {
        id: id.clone(),
        owner: "local:".to_owned(),
        created_ms: 1,
        updated_ms: 1,
        ttl_ms: 1,
        state: TaskState::Cancelled,
        message: Some("x".repeat(100_000)),
    };
    let store = FolderTasks::open(&path).expect("a store");
    // A task that is done and cancelled at the same time is written twice at the same time.
    for _ in 0..20 {
        let (first, second, found) =
            tokio::join!(store.put(record.clone()), store.put(record.clone()), store.find(&id));
        first.and(second).expect("written");
        found.expect("whole, or not there yet");
    }
    let outside = TaskRecord { id: "../outside".to_owned(), ..record };
    store.put(outside).await.expect_err("no such id is ours");
    let left = path.join(format!("{id}.7.part"));
    std::fs::write(&left, "{").expect("written");
    #[cfg(unix)]
    for (path, mode) in [(path.clone(), 0o700), (path.join(format!("{id}.json")), 0o600)] {
        let metadata = std::fs::metadata(&path).expect("it is there");
        assert_eq!(std::os::unix::fs::MetadataExt::mode(&metadata) & 0o777, mode);
    }
    let store = FolderTasks::open(&path).expect("a store");
    assert!(!left.exists(), "what was not finished is gone");
    store.sweep(3).await.expect("swept");
    assert!(store.find(&id).await.expect("looked").is_none());
}
