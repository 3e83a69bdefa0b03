//! A file that is edited while it is served: by `haft dev`, and by `haft serve` when SIGHUP says
//! so. The built binary, real clients, real edits.

use haft_client::{Change, Client, Content, Interest, Launch, Options, Target, connect};
use haft_proto::version::Era;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json, value::to_raw_value};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};
use tempfile::TempDir;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::timeout;

/// How long anything may take that should take milliseconds.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// A server of a file that is edited.
pub(crate) struct Served {
    child: Child,
    url: String,
    said: Receiver<String>,
    pub(crate) folder: TempDir,
}

fn folder(text: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("there is a directory for temporary files");
    fs::write(folder.path().join("haft.yaml"), text).expect("it is ours");
    folder
}

fn says(word: &str) -> String {
    const TOOLS: &str = "server: { name: edited }
tools:
  - { name: say, text: WORD }
  - name: slow
    input: { file: string }
    command:
      - sh
      - -c
      - ': > $0.begun; read go < $0; echo WORD'
      - '{{ file }}'
";
    TOOLS.replace("WORD", word)
}

impl Served {
    pub(crate) async fn start(verb: &str, text: &str, more: &[&str]) -> Self {
        Self::start_in(folder(text), verb, more).await
    }

    /// Serves the haft.yaml of a folder.
    pub(crate) async fn start_in(folder: TempDir, verb: &str, more: &[&str]) -> Self {
        let mut served = Self::spawn(folder, verb, more);
        served.listens().await;
        served
    }

    fn spawn(folder: TempDir, verb: &str, more: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
        command.arg(verb).arg(folder.path().join("haft.yaml")).args(["--http", "127.0.0.1:0"]);
        command.args(more).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary is built");
        let stderr = BufReader::new(child.stderr.take().expect("it is piped"));
        let (send, said) = channel(1024);
        thread::spawn(move || {
            stderr.lines().map_while(Result::ok).try_for_each(|line| send.blocking_send(line))
        });
        Self { child, url: String::new(), said, folder }
    }

    /// Waits until it does, and notes where.
    async fn listens(&mut self) {
        let first = self.hear("serving").await;
        if let Ok(said) = serde_json::from_str::<Value>(&first) {
            said["serving"]["url"].as_str().expect("its url").clone_into(&mut self.url);
            return;
        }
        first.rsplit_once(" at ").expect("it is there").1.clone_into(&mut self.url);
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("haft.yaml")
    }

    /// As editors do: nobody sees half of it.
    pub(crate) fn edit(&self, text: &str) {
        replace(&self.file(), text);
    }

    /// Waits for a line with these words on stderr.
    pub(crate) async fn hear(&mut self, words: &str) -> String {
        let mut heard = Vec::new();
        let hear = async {
            loop {
                let line = self.said.recv().await.expect("the server runs");
                if line.contains(words) {
                    return line;
                }
                heard.push(line);
            }
        };
        timeout(DEADLINE, hear).await.unwrap_or_else(|_| panic!("{words:?} is not in {heard:?}"))
    }

    pub(crate) async fn client(&self, era: Era) -> Client {
        let options = Options { era: Some(era), ..Options::default() };
        connect(&Target::Url(self.url.clone()), &options).await.expect("it listens")
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("it runs");
        kill_process(pid, signal).expect("it is ours");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

async fn call(client: &Client, tool: &str, arguments: Value) -> String {
    let arguments = to_raw_value(&arguments).expect("it is JSON");
    let result = client.call_tool(tool, &arguments, &mut |_| {}).await.expect("no call fails");
    match result.content.first() {
        Some(Content::Text(text)) => text.clone(),
        other => panic!("{other:?}"),
    }
}

/// Puts another file in its place.
pub(crate) fn replace(path: &Path, text: &str) {
    let new = path.with_extension("new");
    fs::write(&new, text).expect("it is ours");
    fs::rename(new, path).expect("it is ours");
}

/// Two new pipes: one that says that a slow call has begun, and the one that it waits for.
fn pipes(folder: &Path) -> (PathBuf, PathBuf) {
    let (go, begun) = (folder.join("go"), folder.join("go.begun"));
    let made = Command::new("mkfifo").args([&go, &begun]).status();
    assert!(made.expect("every machine has mkfifo").success());
    (go, begun)
}

/// Writes to a pipe, or waits until somebody did.
async fn at_pipe<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> T {
    let done = timeout(DEADLINE, tokio::task::spawn_blocking(act)).await;
    done.expect("somebody is at the other end").expect("it does not panic")
}

async fn say(client: &Client) -> String {
    call(client, "say", json!({})).await
}

pub(crate) async fn next(changes: &mut haft_client::Changes) -> Change {
    let next = timeout(DEADLINE, changes.next()).await.expect("it comes in time");
    next.expect("it is not over").expect("it does not fail")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_is_served_while_calls_run_and_none_of_them_fails() {
    for era in [Era::Modern, Era::Legacy] {
        let mut served = Served::start("dev", &says("old"), &[]).await;
        let (client, poller) = (Arc::new(served.client(era).await), served.client(era).await);
        let over = Arc::new(AtomicBool::new(false));
        let polling = tokio::spawn({
            let over = Arc::clone(&over);
            async move {
                let mut heard = Vec::new();
                while !over.load(Ordering::Relaxed) {
                    let word = say(&poller).await;
                    if heard.last() != Some(&word) {
                        heard.push(word);
                    }
                }
                heard
            }
        });
        let (go, begun) = pipes(served.folder.path());
        let slow = tokio::spawn({
            let (client, go) = (Arc::clone(&client), json!({ "file": go.clone() }));
            async move { call(&client, "slow", go).await }
        });
        at_pipe(move || fs::read(begun)).await.expect("the slow call begins");
        assert_eq!(say(&client).await, "old");
        served.edit(&says("new"));
        let told = served.hear("was read again in").await;
        assert!(told.ends_with("tools ~ say, slow"), "{told}");
        assert_eq!(say(&client).await, "new");
        at_pipe(move || fs::write(go, "go\n")).await.expect("it is ours");
        assert_eq!(slow.await.expect("it does not panic"), "old", "{era:?}");
        over.store(true, Ordering::Relaxed);
        assert_eq!(polling.await.expect("no call fails"), ["old", "new"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_edit_changes_nothing_and_is_shown_once() {
    let mut served = Served::start("dev", &says("old"), &[]).await;
    let client = served.client(Era::Modern).await;
    let bad = says("new").replace("text:", "txet:");
    served.edit(&bad);
    served.hear("cannot be used; what was served still is").await;
    served.hear("haft.yaml:3:18: `txet` is no known key of a tool").await;
    served.hear("3 |   - { name: say, txet: new }").await;
    served.hear("help: did you mean `text`?").await;
    assert_eq!(say(&client).await, "old");
    // The same fault again, and then what was there before.
    served.edit(&format!("{bad}\n# still\n"));
    served.edit(&says("old"));
    let told = served.hear("haft.yaml").await;
    assert!(told.ends_with("nothing else is served"), "{told}");
    let listens =
        says("new").replace("tools:", "listen: [{ http: 127.0.0.1:0, path: /x }]\ntools:");
    served.edit(&listens.replace("name: slow", "name: slower"));
    let told = served.hear("was read again").await;
    assert!(told.ends_with("tools + slower; ~ say; - slow"), "{told}");
    served.hear("`listen` has changed").await;
    assert_eq!(say(&client).await, "new");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_of_an_upstream_is_told() {
    let mut served = Served::start("dev", &says("old"), &[]).await;
    let upstream = "upstreams: { docs: { url: https://docs.invalid/mcp, start: lazy } }";
    served.edit(&format!("{}{upstream}\n", says("old")));
    let told = served.hear("was read again").await;
    assert!(told.ends_with(": upstreams + docs"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_hundred_quick_edits_the_last_one_is_served() {
    let mut served = Served::start("dev", &says("old"), &["--json"]).await;
    let client = served.client(Era::Modern).await;
    let interest = Interest { tools: true, prompts: true, resources: true, ..Interest::default() };
    let mut changes = client.listen(interest).await.expect("one may listen");
    let file = served.file();
    for count in 0..100 {
        let text = says(&format!("w{count}"));
        // Written in place, and replaced by rename as editors do.
        if count % 2 == 0 {
            fs::write(&file, text).expect("it is ours");
        } else {
            fs::write(file.with_extension("new"), text).expect("it is ours");
            fs::rename(file.with_extension("new"), &file).expect("it is ours");
        }
    }
    // Each that is served is told.
    served.hear("\"edit\"").await;
    while say(&client).await != "w99" {
        served.hear("\"edit\"").await;
    }
    // No list has changed so far: what is told next is of this edit.
    served.edit(&format!("{}prompts: [{{ name: p, text: P }}]\n", says("w99")));
    assert_eq!(next(&mut changes).await, Change::Prompts);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_it_names_and_directories_that_go_and_come_are_seen() {
    let mut served = Served::start("dev", &says("old"), &[]).await;
    let client = served.client(Era::Modern).await;
    let (folder, inner) = (served.folder.path().to_owned(), served.folder.path().join("inner"));
    let text = "server: { name: edited }\ntools:\n  - name: say\n    text: ${file:inner/word}\n";
    served.edit(text);
    served.hear("cannot be used").await;
    fs::create_dir(&inner).expect("it is ours");
    replace(&inner.join("word"), "one");
    served.hear("was read again").await;
    assert_eq!(say(&client).await, "one");
    fs::rename(&inner, folder.join("away")).expect("it is ours");
    served.hear("cannot be used").await;
    assert_eq!(say(&client).await, "one");
    fs::create_dir(&inner).expect("it is ours");
    replace(&inner.join("word"), "two");
    served.hear("was read again").await;
    assert_eq!(say(&client).await, "two");
    replace(&inner.join("word"), "three");
    served.hear("tools ~ say").await;
    assert_eq!(say(&client).await, "three");
}

/// As files of a `ConfigMap` are changed: a link in the middle of the path is replaced.
#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_is_swapped_on_the_way_to_a_file_is_seen() {
    let text = "server: { name: edited }\ntools:\n  - name: say\n    text: ${file:word}\n";
    let folder = folder(text);
    let path = |name: &str| folder.path().join(name);
    for (directory, word) in [("v1", "one"), ("v2", "two")] {
        fs::create_dir(path(directory)).expect("it is ours");
        fs::write(path(directory).join("word"), word).expect("it is ours");
    }
    symlink("v1", path("..data")).expect("it is ours");
    symlink("..data/word", path("word")).expect("it is ours");
    let (link, other) = (path("..data"), path("..data.new"));
    let mut served = Served::start_in(folder, "dev", &[]).await;
    let client = served.client(Era::Modern).await;
    assert_eq!(say(&client).await, "one");
    symlink("v2", &other).expect("it is ours");
    fs::rename(&other, &link).expect("it is ours");
    served.hear("tools ~ say").await;
    assert_eq!(say(&client).await, "two");
}

/// Half of it would do, and is not served before it has been waited for.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn who_is_writing_a_file_is_waited_for() {
    const UNFINISHED_MAX: Duration = Duration::from_secs(2);
    let mut served = Served::start("dev", &says("old"), &["--json"]).await;
    // From then on it is watched.
    served.edit(&says("older"));
    served.hear("\"edit\"").await;
    let text = says("new");
    let half = text.find("  - name: slow").expect("it is there");
    let mut file = fs::File::create(served.file()).expect("it is ours");
    let began = Instant::now();
    file.write_all(&text.as_bytes()[..half]).expect("it is ours");
    let told = served.hear("\"edit\"").await;
    assert!(told.contains(r#""removed":["slow"]"#), "{told}");
    assert!(began.elapsed() >= UNFINISHED_MAX, "{:?}", began.elapsed());
    file.write_all(&text.as_bytes()[half..]).expect("it is ours");
    drop(file);
    let told = served.hear("\"edit\"").await;
    assert!(told.contains(r#""added":["slow"]"#), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn over_stdio_a_client_hears_which_lists_have_changed() {
    for era in [Era::Modern, Era::Legacy] {
        let folder = folder(&says("old"));
        let file = folder.path().join("haft.yaml");
        let launch = launch(&file);
        let options = Options { era: Some(era), ..Options::default() };
        let client = connect(&Target::Command(launch), &options).await.expect("it is started");
        let interest = Interest { tools: true, prompts: true, ..Interest::default() };
        let mut changes = client.listen(interest).await.expect("one may listen");
        replace(&file, &says("new").replace("name: slow", "name: slower"));
        assert_eq!(next(&mut changes).await, Change::Tools, "{era:?}");
        let tools = client.list_tools().await.expect("it is asked").tools;
        assert_eq!(tools[1].name, "slower");
        assert_eq!(say(&client).await, "new");
        let prompt = "prompts: [{ name: p, text: P }]\n";
        let text = says("new").replace("name: slow", "name: slower");
        replace(&file, &format!("{text}{prompt}"));
        assert_eq!(next(&mut changes).await, Change::Prompts, "{era:?}");
        client.close().await;
    }
}

fn launch(file: &Path) -> Launch {
    let words = ["dev".as_ref(), file.as_os_str(), "--stdio".as_ref()];
    Launch::new(env!("CARGO_BIN_EXE_haft"), words)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_told_to_reads_its_file_again_once() {
    let mut served = Served::start("serve", &says("old"), &[]).await;
    let client = served.client(Era::Modern).await;
    served.edit(&says("new"));
    served.signal(Signal::HUP);
    served.hear("tools ~ say, slow").await;
    assert_eq!(say(&client).await, "new");
    served.edit("server: [");
    served.signal(Signal::HUP);
    served.hear("cannot be used").await;
    assert_eq!(say(&client).await, "new");
    served.edit(&says("newer"));
    served.signal(Signal::HUP);
    served.hear("tools ~ say, slow").await;
    assert_eq!(say(&client).await, "newer");
    served.signal(Signal::TERM);
    assert!(served.child.wait().expect("it ends").success());
}

/// The file is a pipe, so that the server is known to be in the middle of reading it.
#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_comes_while_the_file_is_read_first_is_neither_the_end_nor_lost() {
    let folder = tempfile::tempdir().expect("there is a directory for temporary files");
    let file = folder.path().join("haft.yaml");
    let made = Command::new("mkfifo").arg(&file).status();
    assert!(made.expect("every machine has mkfifo").success());
    let mut served = Served::spawn(folder, "serve", &[]);
    let first = file.clone();
    let opened = at_pipe(move || fs::OpenOptions::new().write(true).open(first)).await;
    served.signal(Signal::HUP);
    opened.and_then(|mut pipe| pipe.write_all(says("old").as_bytes())).expect("it reads");
    served.listens().await;
    let client = served.client(Era::Modern).await;
    assert_eq!(say(&client).await, "old");
    at_pipe(move || fs::write(file, says("new"))).await.expect("it reads once more");
    served.hear("tools ~ say, slow").await;
    assert_eq!(say(&client).await, "new");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_never_reads_stderr_holds_up_nothing() {
    let folder = folder(&says("old"));
    let (_unread, mut full) = std::io::pipe().expect("there is room for a pipe");
    // The flag is the pipe's end's, which the server gets as it was.
    let flags = fcntl_getfl(&full).expect("it is ours");
    fcntl_setfl(&full, flags | OFlags::NONBLOCK).expect("it is ours");
    while full.write(&[b'\n'; 4096]).is_ok() {}
    while full.write(b"\n").is_ok() {}
    fcntl_setfl(&full, flags).expect("it is ours");
    let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
    command.args(["dev".as_ref(), folder.path().join("haft.yaml").as_os_str()]).arg("--stdio");
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(full).spawn();
    let mut child = child.expect("the binary is built");
    let mut input = child.stdin.take().expect("it is piped");
    let mut output = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let asking = tokio::task::spawn_blocking(move || {
        for word in ["one", "two", "three"] {
            replace(&folder.path().join("haft.yaml"), &says(word));
            let is_served = |line: &str| line.contains(&format!("\"{word}\""));
            loop {
                let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {}});
                let params = json!({"name": "say", "arguments": {}, "_meta": meta});
                let call =
                    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
                writeln!(input, "{call}").expect("it listens");
                let line = output.next().expect("it answers").expect("it is text");
                assert!(line.contains("\"result\""), "{line}");
                if is_served(&line) {
                    break;
                }
            }
        }
    });
    let asked = timeout(DEADLINE, asking).await;
    _ = child.kill();
    _ = child.wait();
    asked.expect("it answers in time").expect("it serves what is edited");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_is_needed_while_the_file_says_other_places_than_are_in_force() {
    let mut served = Served::start("dev", &says("old"), &["--json"]).await;
    let listens = |text: String, listen: &str| text.replace("tools:", &format!("{listen}\ntools:"));
    let elsewhere = "listen: [{ http: 127.0.0.1:0, path: /x }]";
    for (text, is_needed) in [
        (listens(says("one"), elsewhere), true),
        (listens(says("two"), elsewhere), true),
        (says("two"), false),
        // Another address stands on the command line.
        (listens(says("three"), "listen: [{ http: 127.0.0.1:9 }]"), false),
    ] {
        served.edit(&text);
        let told = served.hear("\"edit\"").await;
        assert!(told.contains(&format!("\"restart_needed\":{is_needed}")), "{told} {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_is_written_anew_is_told_to_its_subscribers() {
    let text = |word: &str| {
        let one = "resources: [{ uri: 'a:1', text: WORD }, { uri: 'a:2', text: two }]\n";
        format!("{}{}", says("old"), one.replace("WORD", word))
    };
    for era in [Era::Modern, Era::Legacy] {
        let served = Served::start("serve", &text("one"), &[]).await;
        let client = served.client(era).await;
        let uris = vec!["a:2".to_owned(), "a:1".to_owned()];
        let interest = Interest { uris, ..Interest::default() };
        let mut changes = client.listen(interest).await.expect("one may listen");
        served.edit(&text("other"));
        served.signal(Signal::HUP);
        assert_eq!(next(&mut changes).await, Change::Resource("a:1".to_owned()), "{era:?}");
    }
}
