//! What haft tells of itself while it serves: how long requests are in each stage, and where the
//! processor is.

use crate::desk::Desk;
use crate::foreign_servers::{official, own};
use crate::haft::{Ran, haft};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const FILE: &str = r#"
server: { name: desk }
tools:
  - { name: echo, description: Says it., input: { text: string }, text: "{{ text }}" }
  - { name: wait, description: Takes long., command: [sleep, "0.05"], concurrency: 1 }
  - { name: linger, description: Takes longer., command: [sleep, "0.3"], concurrency: 1 }
"#;

/// How long `wait` takes.
const WAIT_NS: u64 = 50_000_000;

fn desk() -> Desk {
    Desk::with(FILE)
}

fn bench(more: &[&str]) -> Ran {
    haft(["bench", "--warmup", "0"].iter().chain(more))
}

/// The figures of a stage in a report.
fn stage<'a>(report: &'a Value, name: &str) -> &'a Value {
    let mut stages = report["stages"].as_array().into_iter().flatten();
    stages.find(|of| of["stage"] == name).unwrap_or_else(|| panic!("no {name}: {report}"))
}

fn at(report: &Value, name: &str, figure: &str) -> u64 {
    stage(report, name)[figure].as_u64().unwrap_or_else(|| panic!("{name} {figure}: {report}"))
}

#[test]
fn a_bench_tells_how_long_the_requests_that_it_counted_were_in_each_stage() {
    let desk = desk();
    let asked = ["echo", "text=a", "-n", "400", "-f", "8", "--stages", "--json"];
    for (target, era) in [
        (vec![desk.file()], "modern"),
        (vec![desk.file()], "legacy"),
        (vec!["--command", &*format!("'{HAFT}' serve '{}' --stdio", desk.file())], "modern"),
    ] {
        let found = bench(&[&target[..], &asked, &["--era", era]].concat()).json();
        // The last answers may be read before the server knows that they are written.
        let counted = at(&found, "all", "requests");
        assert!((390..=400).contains(&counted), "{found}");
        let names: Vec<&str> = found["stages"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|of| of["stage"].as_str())
            .collect();
        let expected = ["read", "decode", "validate", "queue", "handler", "encode", "write", "all"];
        assert_eq!(names, expected);
        let share = |name: &str| stage(&found, name)["share"].as_f64().expect("a share");
        let together: f64 = expected[..7].iter().map(|name| share(name)).sum();
        assert!((together - 1.0).abs() < 1e-9, "nothing is lost or counted twice: {together}");
        for name in expected {
            assert!(at(&found, name, "p50_ns") > 0, "{name}: {found}");
            assert!(at(&found, name, "p50_ns") <= at(&found, name, "max_ns"), "{name}: {found}");
        }
        // Nobody waits for longer than the one who asks.
        assert!(at(&found, "all", "p50_ns") <= found["latency"]["max_ns"].as_u64().expect("ns"));
    }
}

#[test]
fn waiting_for_a_program_is_the_handlers_and_waiting_for_a_turn_the_queues() {
    let desk = desk();
    let asked = [desk.file(), "wait", "-n", "12", "-f", "4", "--stages", "--json"];
    let found = bench(&asked).json();
    assert!(at(&found, "handler", "p50_ns") >= WAIT_NS, "{found}");
    // Three others are before each.
    assert!(at(&found, "queue", "p50_ns") >= 2 * WAIT_NS, "{found}");
    for name in ["read", "decode", "validate", "encode"] {
        assert!(at(&found, name, "p50_ns") < WAIT_NS, "{name}: {found}");
    }
    let alone = [desk.file(), "wait", "-n", "4", "--stages", "--json"];
    let found = bench(&alone).json();
    assert!(at(&found, "handler", "p50_ns") >= WAIT_NS, "{found}");
    assert!(at(&found, "queue", "p50_ns") < WAIT_NS, "nobody is before it: {found}");
}

#[test]
fn what_is_asked_before_the_count_begins_is_in_no_stage() {
    let desk = desk();
    let warm = ["bench", desk.file(), "wait", "-d", "200ms", "--warmup", "600ms"];
    let found = haft([&warm[..], &["--stages", "--json"]].concat()).json();
    let (counted, answers) = (at(&found, "all", "requests"), found["answers"].as_u64());
    assert!(counted <= answers.expect("a number") + 1, "{found}");
}

#[test]
fn what_a_tool_starts_finds_no_door_to_wait_at() {
    let desk = desk();
    let file = desk.path("asking.yaml");
    let asks = r#"[ -n "$HAFT_INSIDE" ] && [ ! -e "$HAFT_INSIDE" ] && echo closed"#;
    let text = format!(
        "server: {{ name: asking }}\ntools:\n  - {{ name: ask, description: Asks., \
         command: [sh, -c, '{asks}'], \
         env: {{ inherit: [HAFT_INSIDE] }} }}\n"
    );
    fs::write(&file, text).expect("a folder of ours");
    let shown = file.to_str().expect("a path");
    bench(&[shown, "ask", "-n", "3", "--stages", "--expect", "closed"]).printed();
}

#[test]
fn people_and_browsers_see_the_stages_too() {
    let desk = desk();
    let page = desk.path("report.html");
    let shown = page.to_str().expect("a path");
    let asked = [desk.file(), "echo", "text=a", "-n", "50", "--stages", "--html", shown];
    let ran = bench(&asked);
    let lines: Vec<&str> = ran.printed().lines().collect();
    let head = lines.iter().position(|line| line.starts_with("STAGE")).expect("a table");
    assert!(lines[head + 5].starts_with("handler") && lines[head + 5].contains('%'), "{lines:?}");
    let page = fs::read_to_string(page).expect("it was written");
    assert!(page.contains("Where in the server the time goes"), "{page}");
    assert!(page.contains("<td>validate<td>"), "{page}");
    let without = bench(&[desk.file(), "echo", "text=a", "-n", "50", "--json"]).json();
    assert!(without.get("stages").is_none(), "{without}");
}

#[test]
fn who_cannot_be_looked_into_is_told_so() {
    let desk = desk();
    let server = own(&desk.file);
    let foreign = official("stdio");
    let cases: [(&[&str], &str); 5] = [
        (&[&server.url, "--stages"], "--stages looks into a server that this starts: a .yaml"),
        (&["--command", &foreign, "--stages"], "the server does not let itself be looked into"),
        (
            &[desk.file(), "--stages", "--requests-per-connection", "1"],
            "--stages needs servers that stay",
        ),
        (&[desk.file(), "--stages", "--cold", "3"], "cannot be used with"),
        (&[desk.file(), "--stages", "--compare", &server.url], "cannot be used with"),
    ];
    for (more, said) in cases {
        let ran = bench(more);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(said) && ran.stdout.is_empty(), "{ran:?}");
    }
    let ran = haft(["serve", desk.file(), "--stages"]);
    assert_eq!(ran.code, Some(2), "nobody would see them: {ran:?}");
    assert!(ran.stderr.contains("--metrics"), "{ran:?}");
}

const HAFT: &str = env!("CARGO_BIN_EXE_haft");

/// A server over HTTP, with its metrics.
struct Served {
    metrics: String,
    url: String,
    child: Child,
}

impl Drop for Served {
    fn drop(&mut self) {
        // Both fail only if it is gone already, which is all that is wanted.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn serve(file: &Path, more: &[&str]) -> Served {
    let mut command = Command::new(HAFT);
    command.arg("serve").arg(file).args(["--http", "127.0.0.1:0", "--metrics", "127.0.0.1:0"]);
    let mut child = command.args(more).stderr(Stdio::piped()).spawn().expect("it is built");
    let mut lines = BufReader::new(child.stderr.take().expect("stderr is piped")).lines();
    let mut address = || {
        let line = lines.next().expect("it says where").expect("stderr is text");
        line.rsplit_once(" at ").map(|(_, url)| url.to_owned()).expect("an address")
    };
    let (metrics, url) = (address(), address());
    Served { metrics, url, child }
}

impl Served {
    fn told(&self) -> String {
        let address = self.metrics.trim_start_matches("http://");
        let (host, path) = address.split_once('/').expect("there is a path");
        let mut stream = TcpStream::connect(host).expect("it listens");
        let request = format!("GET /{path} HTTP/1.1\r\nhost: {host}\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    }

    /// What is behind this in what is told.
    fn count(&self, what: &str) -> u64 {
        let told = self.told();
        let line = told.lines().find_map(|line| line.strip_prefix(what)?.strip_prefix(' '));
        let count = line.unwrap_or_else(|| panic!("no {what} in {told}"));
        count.parse().expect("a number")
    }

    /// How many requests were in a stage for longer than 268 ms, as on no machine a short one is.
    fn long(&self, stage: &str) -> u64 {
        let of = |part: &str| self.count(&format!("haft_stage_seconds{part}"));
        let all = of(&format!("_bucket{{stage=\"{stage}\",le=\"+Inf\"}}"));
        assert_eq!(all, of(&format!("_count{{stage=\"{stage}\"}}")));
        all - of(&format!("_bucket{{stage=\"{stage}\",le=\"0.268435456\"}}"))
    }
}

#[test]
fn prometheus_is_told_of_stages_over_http_in_both_eras() {
    let desk = desk();
    for (era, http2) in [("modern", false), ("legacy", false), ("modern", true)] {
        let served = serve(&desk.file, &["--stages"]);
        let (echo, long) = (["echo", "text=a", "-n", "200"], ["linger", "-n", "8", "-c", "4"]);
        for asked in [&echo[..], &long[..]] {
            let http2 = if http2 { &["--http2"][..] } else { &[] };
            let asked = [&[&*served.url, "--era", era], asked, http2].concat();
            bench(&asked).printed();
        }
        let of = format!("{era}, {http2}: {}", served.told());
        assert!(served.count("haft_stage_seconds_count{stage=\"write\"}") >= 200, "{of}");
        assert!((7..=8).contains(&served.long("handler")), "{of}");
        assert!(served.long("queue") >= 4, "{of}");
        assert_eq!(served.long("decode") + served.long("encode"), 0, "{of}");
        assert!(of.contains("# TYPE haft_stage_seconds histogram"), "{of}");
    }
    let served = serve(&desk.file, &[]);
    bench(&[&served.url, "echo", "text=a", "-n", "5"]).printed();
    assert!(!served.told().contains("haft_stage"), "it was not asked for");
}

/// A modern call of a tool, in HTTP.
fn call(url: &str, tool: &str, arguments: &str) -> String {
    let meta = r#""_meta":{
        "io.modelcontextprotocol/protocolVersion":"2026-07-28",
        "io.modelcontextprotocol/clientCapabilities":{}}"#;
    let params = format!(r#"{{"name":"{tool}","arguments":{arguments},{meta}}}"#);
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
    let host = url.trim_start_matches("http://").trim_end_matches("/mcp");
    format!(
        "POST /mcp HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: tools/call\r\nmcp-name: {tool}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn connect(url: &str) -> TcpStream {
    let host = url.trim_start_matches("http://").trim_end_matches("/mcp");
    TcpStream::connect(host).expect("it listens")
}

#[test]
fn a_request_behind_another_on_its_connection_is_in_the_queue() {
    let desk = desk();
    let served = serve(&desk.file, &["--stages"]);
    let mut stream = connect(&served.url);
    let both = [call(&served.url, "linger", "{}"), call(&served.url, "echo", r#"{"text":"a"}"#)];
    stream.write_all(both.concat().as_bytes()).expect("it reads");
    let mut lines = BufReader::new(stream).lines().map(|line| line.expect("text"));
    for _ in 0..2 {
        // The first answer's body has no line of its own.
        lines.find(|line| line.ends_with("HTTP/1.1 200 OK")).expect("it is answered");
    }
    // The second is told of once it is written, which is when it is read here.
    let written = || served.count("haft_stage_seconds_count{stage=\"write\"}");
    assert!((0..1000).any(|_| written() == 2), "{}", served.told());
    let long = ["read", "queue", "handler"].map(|stage| served.long(stage));
    assert_eq!(long, [0, 1, 1], "{}", served.told());
}

#[cfg(any(not(feature = "profile"), feature = "heap-profile"))]
#[test]
fn a_haft_that_cannot_profile_says_how_to_get_one_and_makes_no_file() {
    let desk = desk();
    let picture = desk.path("out.svg");
    let shown = picture.to_str().expect("a path");
    for verb in [&["serve", desk.file()][..], &["bench", desk.file(), "-n", "5"]] {
        let ran = haft([verb, &["--profile", shown]].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("--features profile"), "{ran:?}");
        assert!(!picture.exists());
    }
}

/// Of a haft that was built for it; `cargo xtask test` runs these too.
#[cfg(all(feature = "profile", not(feature = "heap-profile")))]
mod profiles {
    use super::*;
    use rustix::process::{Pid, Signal, kill_process};

    fn check(picture: &Path) {
        let svg = fs::read_to_string(picture).expect("it was written");
        assert!(svg.starts_with("<?xml") && svg.trim_end().ends_with("</svg>"), "{svg:.200}");
        assert!(svg.contains("haft_server::") && svg.contains("haft_transport::"), "no names");
        assert!(!svg.contains("href=\"http"), "it needs nothing but a browser");
    }

    #[test]
    fn a_bench_draws_the_server_and_not_itself() {
        let desk = desk();
        let picture = desk.path("out.svg");
        let shown = picture.to_str().expect("a path");
        let asked = [desk.file(), "echo", "text=a", "-d", "1s", "-f", "8"];
        bench(&[&asked[..], &["--profile", shown]].concat()).printed();
        check(&picture);
        let svg = fs::read_to_string(picture).expect("it was written");
        assert!(!svg.contains("haft_bench::"), "it is of the server");
    }

    #[test]
    fn a_server_that_is_told_to_stop_draws_what_it_did() {
        let desk = desk();
        let picture = desk.path("out.svg");
        let mut served = serve(&desk.file, &["--profile", picture.to_str().expect("a path")]);
        bench(&[&served.url, "echo", "text=a", "-d", "1s"]).printed();
        let id = Pid::from_child(&served.child);
        kill_process(id, Signal::INT).expect("it is ours");
        assert!(served.child.wait().expect("it is ours").success());
        check(&picture);
    }

    #[test]
    fn a_path_that_cannot_be_written_is_refused_before_anything_is_served() {
        let desk = desk();
        let nowhere = desk.path("no/such/folder/out.svg");
        let shown = nowhere.to_str().expect("a path");
        for verb in [&["serve", desk.file()][..], &["bench", desk.file(), "-n", "5"]] {
            let ran = haft([verb, &["--profile", shown]].concat());
            assert_eq!(ran.code, Some(2), "{ran:?}");
            assert!(ran.stderr.contains("--profile: cannot write") && ran.stdout.is_empty());
        }
        let ran = bench(&[desk.file(), "-n", "5", "-c", "2", "--profile", "out.svg"]);
        assert_eq!(ran.code, Some(2), "which of the two would be drawn? {ran:?}");
    }
}

/// Of a haft that was built for it; `cargo xtask test` runs these too.
#[cfg(feature = "heap-profile")]
mod heaps {
    use super::*;

    #[test]
    fn a_server_that_ends_tells_who_took_its_memory() {
        let desk = desk();
        // What was made by the file would be somewhere else.
        let folder = desk.path("elsewhere");
        fs::create_dir(&folder).expect("a folder of ours");
        let mut command = Command::new(HAFT);
        command.arg("serve").arg(&desk.file).arg("--stdio").current_dir(&folder);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().expect("it is built");
        let text = "x".repeat(100_000);
        let call = format!(r#"{{"name":"echo","arguments":{{"text":"{text}"}}}}"#);
        let hello = r#"{"protocolVersion":"2025-11-25","capabilities":{},
            "clientInfo":{"name":"it","version":"1"}}"#;
        let mut stdin = child.stdin.take().expect("it is piped");
        for (id, method, params) in [(1, "initialize", hello), (2, "tools/call", &call)] {
            let params = params.replace('\n', "");
            writeln!(
                stdin,
                r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#
            )
            .expect("it reads");
        }
        drop(stdin);
        let output = child.wait_with_output().expect("it is ours");
        let answers = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && answers.contains(&text), "{answers:.300}");
        let found = fs::read(folder.join("dhat-heap.json")).expect("it was written");
        let found: Value = serde_json::from_slice(&found).expect("the viewer reads it");
        let frames = found["ftbl"].as_array().expect("frames");
        // A place that took the text at least once, by way of the tool.
        let has_tool = |place: &&Value| {
            let frames = place["fs"].as_array().into_iter().flatten().filter_map(Value::as_u64);
            let mut names = frames.filter_map(|at| found["ftbl"][at as usize].as_str());
            place["tb"].as_u64() >= Some(100_000) && names.any(|it| it.contains("haft_manifest::"))
        };
        let places = found["pps"].as_array().expect("places");
        assert!(places.iter().any(|place| has_tool(&place)), "{} frames", frames.len());
    }
}
