//! Where tasks are kept: what a store that fails, dawdles or outlives its server makes of them.

use crate::tasks::{ask, begin, call, client, listen, state, state_once, tools};
use crate::wire::next;
use futures_util::FutureExt;
use haft_proto::limits::Limits;
use haft_server::{
    Context, FolderTasks, MemoryTasks, Server, Stored, TaskRecord, TaskState, TaskStore, TaskUse,
    Tool, handler,
};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};
use tokio::sync::{mpsc, oneshot};

/// Keeps nothing but that a task has begun.
#[derive(Default)]
struct Forgetful(MemoryTasks);

impl TaskStore for Forgetful {
    fn put(&self, record: TaskRecord) -> Stored<'_, ()> {
        match record.state {
            TaskState::Working => self.0.put(record),
            _ => Box::pin(std::future::ready(Err(std::io::Error::other("full")))),
        }
    }

    fn find<'a>(&'a self, id: &'a str) -> Stored<'a, Option<TaskRecord>> {
        self.0.find(id)
    }

    fn remove<'a>(&'a self, id: &'a str) -> Stored<'a, ()> {
        self.0.remove(id)
    }

    fn sweep(&self, _: u64) -> Stored<'_, ()> {
        Box::pin(std::future::ready(Err(std::io::Error::other("no such folder"))))
    }
}

#[tokio::test]
async fn what_a_store_does_not_take_is_kept_here_until_it_expires() {
    let built = Server::builder("s", "1").tools(tools()).task_store(Forgetful::default());
    let server = built.build().expect("right");
    let task = begin(&server, "quick").await;
    state_once(&server, &task, "completed").await;
    assert_eq!(state(&server, &task).await["result"]["content"][0]["text"], "done");
    let limits = Limits { task_ttl: Duration::from_millis(5), ..Limits::default() };
    let built = Server::builder("s", "1").limits(limits).tools(tools());
    let server = built.task_store(Forgetful::default()).build().expect("right");
    let task = begin(&server, "quick").await;
    until_unknown(&server, &task).await;
}

#[tokio::test]
async fn what_a_store_did_not_take_is_unknown_once_it_is_forgotten_and_failed_if_nothing_took_it() {
    let build = |task_bytes| {
        let limits = Limits { task_bytes, ..Limits::default() };
        let built = Server::builder("s", "1").limits(limits).tools(tools());
        built.task_store(Forgetful::default()).build().expect("right")
    };
    let server = build(500);
    let first = begin(&server, "quick").await;
    state_once(&server, &first, "completed").await;
    let second = begin(&server, "quick").await;
    state_once(&server, &second, "completed").await;
    let gone = ask(&server, "tasks/get", json!({"taskId": first})).await;
    assert_eq!(gone["error"]["code"], -32602, "{gone}");
    let server = build(1);
    let task = begin(&server, "quick").await;
    state_once(&server, &task, "failed").await;
    let error = &state(&server, &task).await["error"];
    assert_eq!(error["code"], -32603, "{error}");
}

/// Asks for a task until it is not there any more.
async fn until_unknown(server: &Server, task: &str) {
    loop {
        let answer = ask(server, "tasks/get", json!({"taskId": task})).await;
        if answer["error"]["code"] == -32602 {
            return;
        }
        assert!(answer["error"].is_null(), "{answer}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_result_that_nothing_has_room_for_is_a_failure_that_says_so() {
    let long = handler::future(|_: Value, _: Context| async { "x".repeat(10_000) });
    let limits = Limits { task_bytes: 5000, ..Limits::default() };
    let tool = Tool::new("long", long).task(TaskUse::Always);
    for forgets in [false, true] {
        let built = Server::builder("s", "1").limits(limits.clone()).tool(tool.clone());
        let built = if forgets { built.task_store(Forgetful::default()) } else { built };
        let server = built.build().expect("right");
        let task = begin(&server, "long").await;
        let failed = state_once(&server, &task, "failed").await;
        let why = failed["statusMessage"].as_str().expect("why");
        assert!(why.contains("room for: 5000"), "{why}");
    }
}

#[tokio::test]
async fn tasks_in_memory_are_bounded_in_bytes_and_the_oldest_that_is_over_goes_first() {
    let record = |id: &str, over: bool| {
        let result = serde_json::value::to_raw_value(&"x".repeat(1000)).expect("JSON");
        let state = if over { TaskState::Completed { result } } else { TaskState::Working };
        record(id, state)
    };
    let store = MemoryTasks::new(4500);
    store.put(record("running", false)).await.expect("there is room");
    for id in ["a", "b", "c", "d"] {
        store.put(record(id, false)).await.expect("there is room");
        store.put(record(id, true)).await.expect("another goes");
    }
    let mut found = Vec::new();
    for id in ["running", "a", "b", "c", "d"] {
        found.push(store.find(id).await.expect("looked").is_some());
    }
    assert_eq!(found, [true, false, true, true, true]);
    store.remove("b").await.expect("removed");
    store.put(record("e", true)).await.expect("there is room again");
    assert!(store.find("c").await.expect("looked").is_some());
    let tight = MemoryTasks::new(500);
    tight.put(record("one", false)).await.expect("there is room");
    tight.put(record("one", true)).await.expect_err("it alone is too large");
    assert!(tight.find("one").await.expect("looked").is_some(), "what was there stays");
}

#[tokio::test]
async fn the_last_results_go_once_they_have_expired_though_no_task_begins() {
    let store = Arc::new(MemoryTasks::default());
    let limits = Limits { task_ttl: Duration::from_millis(5), ..Limits::default() };
    let built = Server::builder("s", "1").limits(limits).tools(tools());
    let server = built.task_store(Arc::clone(&store)).build().expect("right");
    let task = begin(&server, "quick").await;
    while store.find(&task).await.expect("looked").is_some() {
        ask(&server, "tasks/get", json!({"taskId": "0".repeat(32)})).await;
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_task_of_another_process_is_cancelled_in_the_store_and_takes_no_answers() {
    let store = Arc::new(MemoryTasks::default());
    let (finish, finished) = tokio::sync::watch::channel(false);
    let waits = handler::future(move |_: Value, _: Context| {
        let mut finished = finished.clone();
        async move {
            finished.wait_for(|is_finished| *is_finished).await.expect("the test lives");
            "done"
        }
    });
    let tool = Tool::new("waits", waits).task(TaskUse::Always);
    let build = || {
        let built = Server::builder("s", "1").tools(tools()).tool(tool.clone());
        built.task_store(Arc::clone(&store)).build().expect("right")
    };
    let (here, there) = (build(), build());
    let task = begin(&here, "waits").await;
    let mut feed = listen(&here, &task).await;
    assert_eq!(state(&there, &task).await["status"], "working");
    let update = json!({"taskId": task, "inputResponses": {"sure": {"action": "accept"}}});
    let refused = ask(&there, "tasks/update", update.clone()).await;
    let why = refused["error"]["message"].as_str().expect("why");
    assert!(why.contains("another process"), "{why}");
    let cancel = json!({"taskId": task});
    let answer = ask(&there, "tasks/cancel", cancel.clone()).await;
    assert_eq!(answer["result"], json!({"resultType": "complete"}));
    assert_eq!(state(&there, &task).await["status"], "cancelled");
    // Where it runs, its end does not bring it back.
    finish.send(true).expect("the tool waits");
    state_once(&here, &task, "cancelled").await;
    assert_eq!(state(&there, &task).await["status"], "cancelled");
    while let Some(told) = next(&mut *feed) {
        assert_eq!(told["params"]["status"], "cancelled");
    }
    // One that is over stays as it is, and ignores answers, as where it ran.
    let done = begin(&here, "quick").await;
    state_once(&here, &done, "completed").await;
    for (method, params) in [("tasks/update", update), ("tasks/cancel", cancel)] {
        let params = json!({"taskId": done, "inputResponses": params["inputResponses"]});
        let answer = ask(&there, method, params).await;
        assert_eq!(answer["result"], json!({"resultType": "complete"}), "{answer}");
    }
    assert_eq!(state(&there, &done).await["status"], "completed");
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

    fn remove<'a>(&'a self, _: &'a str) -> Stored<'a, ()> {
        Box::pin(std::future::ready(Ok(())))
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
    // Whoever listens late is told too, and nobody twice.
    let mut late = listen(&two, &task).await;
    assert_eq!(next(&mut *late).expect("its end")["params"]["status"], "cancelled");
    assert_eq!((next(&mut *late), next(&mut *feed)), (None, None));
}

/// Says when the end of a task comes, and keeps it when it is told to.
struct Prompted {
    memory: Arc<MemoryTasks>,
    came: mpsc::Sender<oneshot::Sender<()>>,
}

impl TaskStore for Prompted {
    fn put(&self, record: TaskRecord) -> Stored<'_, ()> {
        if matches!(record.state, TaskState::Working) {
            return self.memory.put(record);
        }
        Box::pin(async move {
            let (go, told) = oneshot::channel();
            self.came.send(go).await.expect("the test waits");
            told.await.expect("the test says when");
            self.memory.put(record).await
        })
    }

    fn find<'a>(&'a self, id: &'a str) -> Stored<'a, Option<TaskRecord>> {
        self.memory.find(id)
    }

    fn remove<'a>(&'a self, id: &'a str) -> Stored<'a, ()> {
        self.memory.remove(id)
    }

    fn sweep(&self, now_ms: u64) -> Stored<'_, ()> {
        self.memory.sweep(now_ms)
    }
}

#[tokio::test]
async fn nobody_sees_a_result_before_it_is_kept() {
    let (came, mut coming) = mpsc::channel(1);
    let store = Prompted { memory: Arc::default(), came };
    let built = Server::builder("s", "1").tools(tools()).task_store(store);
    let server = built.build().expect("right");
    let task = begin(&server, "quick").await;
    let mut feed = listen(&server, &task).await;
    let go = coming.recv().await.expect("a result");
    assert_eq!(state(&server, &task).await["status"], "working");
    // Whoever cancels it now is too late, and does not keep it from being kept.
    ask(&server, "tasks/cancel", json!({"taskId": task})).await;
    assert_eq!(state(&server, &task).await["status"], "working");
    assert_eq!(next(&mut *feed), None);
    go.send(()).expect("the store waits");
    state_once(&server, &task, "completed").await;
    assert_eq!(next(&mut *feed).expect("its end")["params"]["status"], "completed");
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

fn record(id: &str, state: TaskState) -> TaskRecord {
    let (created_ms, updated_ms, ttl_ms) = (1, 1, 1);
    let (id, owner) = (id.to_owned(), "local:".to_owned());
    TaskRecord { id, owner, created_ms, updated_ms, ttl_ms, state, message: None }
}

const ID: &str = "0123456789abcdef0123456789abcdef";

/// The names of what is in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.expect("an entry").file_name().into_string().expect("a name of ours")
    };
    entries.map(name).collect()
}

#[tokio::test]
async fn a_writing_that_fails_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = FolderTasks::open(folder.path()).expect("a store");
    let place = folder.path().join(format!("{ID}.json"));
    std::fs::create_dir(&place).expect("in the way");
    store.put(record(ID, TaskState::Working)).await.expect_err("something is in the way");
    assert_eq!(names(folder.path()), [format!("{ID}.json")]);
    std::fs::remove_dir(&place).expect("out of the way");
    store.put(record(ID, TaskState::Working)).await.expect("written");
    for _ in 0..2 {
        store.remove(ID).await.expect("removed, or gone");
    }
    assert_eq!(names(folder.path()), [""; 0]);
}

#[tokio::test]
async fn a_file_that_is_no_task_stays_for_a_day() {
    let folder = tempfile::tempdir().expect("a folder");
    let (torn, other) = (format!("{ID}.json"), format!("{}.json", "f".repeat(32)));
    std::fs::write(folder.path().join(&torn), "{").expect("written");
    let text = serde_json::to_string(&record(ID, TaskState::Working)).expect("JSON");
    std::fs::write(folder.path().join(&other), text).expect("written");
    let written = std::fs::metadata(folder.path().join(&torn)).expect("there").modified();
    let since = written.expect("a time").duration_since(UNIX_EPOCH).expect("after 1970");
    let now_ms = u64::try_from(since.as_millis()).expect("a time of ours");
    let store = FolderTasks::open(folder.path()).expect("a store");
    store.sweep(now_ms + 23 * 60 * 60 * 1000).await.expect("swept");
    assert_eq!(names(folder.path()).len(), 2, "a person may want to see them");
    store.sweep(now_ms + 25 * 60 * 60 * 1000).await.expect("swept");
    assert_eq!(names(folder.path()), [""; 0]);
}

#[tokio::test]
async fn a_folder_holds_whole_files_for_its_owner_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tasks");
    let id = ID.to_owned();
    let record =
        TaskRecord { message: Some("x".repeat(100_000)), ..record(ID, TaskState::Cancelled) };
    let store = FolderTasks::open(&path).expect("a store");
    // Two processes may end a task at the same time.
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
