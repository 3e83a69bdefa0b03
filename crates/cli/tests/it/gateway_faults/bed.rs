//! A gateway with a faulty upstream and a healthy one, both processes of the testkit, and what can
//! be seen of it from outside: answers, memory, descriptors, processes.

use crate::desk::Desk;
use crate::gateway::{Served, serve_with, signal};
use crate::gateway_admin::Door;
use crate::guard::Guard;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long anything may take.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);
/// What the faulty upstream has as its `timeout`.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(1);
/// The pause between two calls of the healthy upstream.
const PACE: Duration = Duration::from_millis(20);
/// What all upstreams of a bed have in their environment.
const MARK: &str = "FAULTY_BED";

/// The built program. It is another crate's, so that Cargo has to be asked for it.
pub(crate) fn faulty() -> &'static str {
    static BUILT: OnceLock<String> = OnceLock::new();
    let build = || {
        let haft = PathBuf::from(env!("CARGO_BIN_EXE_haft"));
        let (path, target) = (haft.with_file_name("faulty"), haft.with_file_name(".."));
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--offline", "--locked", "--package", "haft-testkit"]);
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../testkit/Cargo.toml");
        cargo.args(["--manifest-path", manifest, "--target-dir"]).arg(target);
        assert!(cargo.status().expect("Cargo runs this test").success());
        path.into_os_string().into_string().expect("a path of text")
    };
    BUILT.get_or_init(build)
}

/// See above.
pub(crate) struct Bed {
    pub(crate) gate: Served,
    desk: Desk,
    _far: Option<Guard>,
}

/// An answer, and how long it took.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) took: Duration,
    pub(crate) message: Value,
}

impl Answer {
    /// What a client is shown: the error, or the text of the result.
    pub(crate) fn said(&self) -> &str {
        let error = self.message["error"]["message"].as_str();
        let text = || self.message["result"]["content"][0]["text"].as_str();
        error.or_else(text).unwrap_or_default()
    }
}

/// What a gateway takes, now and at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) kib: u64,
    pub(crate) kib_max: u64,
    pub(crate) descriptors: usize,
}

impl Bed {
    /// The faulty upstream is a child that follows these rules.
    pub(crate) fn piped(rules: &[&str]) -> Self {
        let words = [faulty()];
        Self::with(&json!({ "command": ([&words, rules].concat()) }), None)
    }

    /// The same, and it ignores the order to end.
    pub(crate) fn deaf(rules: &[&str]) -> Self {
        let shell = "trap '' TERM; exec \"$0\" \"$@\"";
        let words = ["sh", "-c", shell, faulty()];
        Self::with(&json!({ "command": ([&words, rules].concat()) }), None)
    }

    /// The faulty upstream is at an address.
    pub(crate) fn far(rules: &[&str]) -> Self {
        Self::at("--http", rules)
    }

    /// The same, over the transport of 2024-11-05.
    pub(crate) fn old(rules: &[&str]) -> Self {
        Self::at("--sse", rules)
    }

    fn at(wire: &str, rules: &[&str]) -> Self {
        let mut command = Command::new(faulty());
        command.arg(wire).args(rules).stdout(Stdio::piped());
        let mut child = Guard(command.spawn().expect("it is built"));
        let stdout = child.0.stdout.take().expect("it is piped");
        let mut url = String::new();
        BufReader::new(stdout).read_line(&mut url).expect("it says where it is");
        Self::with(&json!({ "url": url.trim() }), Some(child))
    }

    fn with(bad: &Value, far: Option<Guard>) -> Self {
        let mut bad = bad.clone();
        bad["timeout"] = json!(format!("{}s", TIMEOUT.as_secs()));
        Self::of(&bad, far)
    }

    /// The faulty upstream is a child that follows these rules, with these keys beside.
    pub(crate) fn piped_with(rules: &[&str], keys: &Value) -> Self {
        let mut bad = keys.clone();
        bad["command"] = json!([&[faulty()], rules].concat());
        Self::of(&bad, None)
    }

    /// The faulty upstream has these keys.
    pub(crate) fn of(bad: &Value, far: Option<Guard>) -> Self {
        let desk = Desk::with("");
        let mark = json!({ MARK: desk.file() });
        let mut bad = bad.clone();
        if far.is_none() && bad["url"].is_null() {
            bad["env"] = mark.clone();
        }
        let file = json!({
            "server": { "name": "gate" },
            "upstreams": { "bad": bad, "good": { "command": [faulty()], "env": mark } },
        });
        std::fs::write(&desk.file, file.to_string()).expect("it is ours");
        let gate = serve_with(desk.file(), &["--admin", "127.0.0.1:0"]);
        Self { gate, desk, _far: far }
    }

    /// A page of the gateway's admin.
    pub(crate) fn see(&self, page: &str) -> Value {
        Door::of(&self.gate).see(page)
    }

    /// Writes the file anew, with other keys of the faulty upstream, and has it read.
    pub(crate) fn edit(&self, change: impl Fn(&mut Value)) {
        self.rewrite(|file| change(&mut file["upstreams"]["bad"]));
    }

    /// The same with anything other in the file.
    pub(crate) fn rewrite(&self, change: impl Fn(&mut Value)) {
        let text = std::fs::read_to_string(&self.desk.file).expect("it is ours");
        let mut file: Value = serde_json::from_str(&text).expect("it is ours");
        change(&mut file);
        std::fs::write(&self.desk.file, file.to_string()).expect("it is ours");
        let (status, told) = Door::of(&self.gate).ask("POST /admin/v1/reload");
        assert_eq!(status, 200, "{told}");
    }

    /// Calls a tool, as a modern client does.
    pub(crate) fn call(&self, tool: &str) -> Answer {
        call(&self.gate.url, tool)
    }

    /// Reads a resource, as a modern client does.
    pub(crate) fn read(&self, uri: &str) -> Answer {
        exchange(&self.gate.url, &read_request(&self.gate.url, uri))
    }

    /// The names of all tools.
    pub(crate) fn tools(&self) -> Vec<String> {
        crate::gateway::tools(&self.gate.url, "modern")
    }

    pub(crate) fn taken(&self) -> Taken {
        let process = format!("/proc/{}", self.gate.child.0.id());
        let status = std::fs::read_to_string(format!("{process}/status")).expect("it is up");
        let kib = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key));
            let number = line.and_then(|line| line.split_whitespace().next());
            number.and_then(|number| number.parse().ok()).expect("a number of KiB")
        };
        let descriptors = std::fs::read_dir(format!("{process}/fd")).expect("it is up").count();
        Taken { kib: kib("VmRSS:"), kib_max: kib("VmHWM:"), descriptors }
    }

    /// How long the gateway has computed so far.
    pub(crate) fn computed(&self) -> Duration {
        let path = format!("/proc/{}/stat", self.gate.child.0.id());
        let stat = std::fs::read_to_string(path).expect("it is up");
        let fields: Vec<&str> = stat.rsplit(')').next().expect("some").split(' ').collect();
        let ticks: u64 =
            fields[12..14].iter().map(|ticks| ticks.parse::<u64>().expect("one")).sum();
        Duration::from_millis(ticks * 10)
    }

    /// Processes that this bed's upstreams are, or that they started.
    pub(crate) fn processes(&self) -> Vec<String> {
        let mark = format!("{MARK}={}\0", self.desk.file());
        let is_ours = |process: &String| {
            let read = std::fs::read(format!("/proc/{process}/environ"));
            read.is_ok_and(|all| all.windows(mark.len()).any(|here| here == mark.as_bytes()))
        };
        let all = std::fs::read_dir("/proc").expect("there is one").filter_map(Result::ok);
        let names = all.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| name.parse::<u32>().is_ok()).filter(is_ours).collect()
    }

    /// All processes below the gateway, whatever they did to their environment.
    pub(crate) fn family(&self) -> Vec<String> {
        let parent = |process: &str| {
            let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
            stat.rsplit(')').next()?.split_whitespace().nth(1).map(str::to_owned)
        };
        let all = std::fs::read_dir("/proc").expect("there is one").filter_map(Result::ok);
        let names = all.filter_map(|entry| entry.file_name().into_string().ok());
        let mut others: Vec<(String, String)> =
            names.filter_map(|name| Some((parent(&name)?, name))).collect();
        let mut family = vec![self.gate.child.0.id().to_string()];
        let mut next = 0;
        while let Some(known) = family.get(next).cloned() {
            next += 1;
            others.retain(|(parent, name)| {
                let is_child = *parent == known;
                if is_child {
                    family.push(name.clone());
                }
                !is_child
            });
        }
        family.split_off(1)
    }

    /// Stops the gateway, and says how long that took; nothing of it may be left.
    pub(crate) fn stop(mut self) -> Result<Duration, String> {
        let began = Instant::now();
        signal(&self.gate.child.0.id().to_string(), "-TERM");
        let status = self.gate.child.0.wait().expect("it is ours");
        // One that was killed may need a moment.
        wait_until(|| self.processes().is_empty());
        let left = self.processes();
        left.iter().for_each(|process| signal(process, "-KILL"));
        match (status.success(), left.len()) {
            (true, 0) => Ok(began.elapsed()),
            (_, left) => Err(format!("it ended with {status}, and {left} processes are left")),
        }
    }
}

/// Waits until something is so; whether it was in time.
pub(crate) fn wait_until(mut is_so: impl FnMut() -> bool) -> bool {
    let since = Instant::now();
    while !is_so() {
        if since.elapsed() > DEADLINE {
            return false;
        }
        pause();
    }
    true
}

/// So that what is asked meanwhile is no load itself.
pub(crate) fn pause() {
    let (_here, never) = sync_channel::<()>(0);
    _ = never.recv_timeout(PACE);
}

fn call(url: &str, tool: &str) -> Answer {
    exchange(url, &request(url, tool))
}

/// Sends a request, and reads the message that answers it.
pub(crate) fn exchange(url: &str, request: &str) -> Answer {
    let began = Instant::now();
    let told = send(url, request);
    // One message, or a stream of events with the answer at its end.
    let (_, body) = told.split_once("\r\n\r\n").expect("a response");
    let event = body.lines().rev().find_map(|line| line.strip_prefix("data: "));
    let message = serde_json::from_str(event.unwrap_or(body));
    let message = message.unwrap_or_else(|error| panic!("{error}: {told}"));
    Answer { took: began.elapsed(), message }
}

/// A call of a tool, as a modern client sends it.
pub(crate) fn request(url: &str, tool: &str) -> String {
    modern(url, ("tools/call", tool), json!({ "name": tool, "arguments": {} }))
}

/// The same for a resource.
pub(crate) fn read_request(url: &str, uri: &str) -> String {
    modern(url, ("resources/read", uri), json!({ "uri": uri }))
}

/// A request of a modern client.
pub(crate) fn modern(url: &str, (method, name): (&str, &str), mut params: Value) -> String {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let mirrors =
        format!("mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\nmcp-name: {name}\r\n");
    posted(url, &mirrors, &body.to_string())
}

/// A message in a request.
pub(crate) fn posted(url: &str, headers: &str, body: &str) -> String {
    format!(
        "POST /mcp HTTP/1.0\r\nhost: {}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\n{headers}content-length: {}\r\n\r\n{body}",
        address(url),
        body.len()
    )
}

pub(crate) fn address(url: &str) -> &str {
    url.trim_start_matches("http://").trim_end_matches("/mcp")
}

/// The whole response to a message.
pub(crate) fn ask(url: &str, headers: &str, body: &str) -> String {
    send(url, &posted(url, headers, body))
}

pub(crate) fn send(url: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address(url)).expect("it listens");
    stream.set_read_timeout(Some(DEADLINE)).expect("a time");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut told = Vec::new();
    stream.read_to_end(&mut told).expect("it answers");
    String::from_utf8_lossy(&told).into_owned()
}

/// Calls the healthy upstream again and again; what was wrong with that is told at its end.
pub(crate) struct Watch {
    stop: SyncSender<()>,
    calling: JoinHandle<()>,
    slowest: Arc<Mutex<Duration>>,
}

impl Watch {
    pub(crate) fn begin(bed: &Bed) -> Self {
        let (stop, stopped) = sync_channel(0);
        let (url, slowest) = (bed.gate.url.clone(), Arc::<Mutex<Duration>>::default());
        let kept = Arc::clone(&slowest);
        let calling = thread::spawn(move || {
            while stopped.recv_timeout(PACE) == Err(RecvTimeoutError::Timeout) {
                let answer = call(&url, "good_try");
                assert_eq!(answer.said(), "tried", "{answer:?}");
                let mut slowest = kept.lock().expect("free");
                *slowest = answer.took.max(*slowest);
            }
        });
        Self { stop, calling, slowest }
    }

    /// How long the slowest call took, if all were answered.
    pub(crate) fn end(self) -> Result<Duration, String> {
        drop(self.stop);
        self.calling.join().map_err(|_| "the healthy upstream is not served".to_owned())?;
        Ok(*self.slowest.lock().expect("free"))
    }
}
