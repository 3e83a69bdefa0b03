//! `haft serve` with servers behind it, which are hafts themselves: what clients see of them, and
//! what becomes of them.

use crate::desk::Desk;
use crate::guard::Guard;
use crate::haft::haft;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// How long anything may take.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// A server that says who it is, and which process.
pub(crate) fn city(name: &str) -> String {
    r#"
server: { name: NAME }
tools:
  - { name: whoami, description: Says it., text: NAME }
  - { name: echo, description: Gives it back., input: { text: string }, text: "{{ text }}" }
  - name: process
    description: Says which process it is.
    annotations: { readOnly: true }
    command: [sh, -c, "echo $PPID"]
resources:
  - { uri: "NAME:about", name: about, mime_type: text/plain, text: about NAME }
  - { uri: "NAME:years/{year}", name: years, command: [echo, "{{ year }}", of, NAME] }
prompts:
  - { name: visit, arguments: { day: { values: [monday, friday] } }, text: "NAME on {{ day }}" }
"#
    .replace("NAME", name)
}

/// A server of a file, and what it said before it could be asked.
pub(crate) struct Served {
    pub(crate) url: String,
    /// The lines on its stderr, so far.
    pub(crate) said: Arc<Mutex<Vec<String>>>,
    pub(crate) child: Guard,
}

pub(crate) fn serve(file: &str) -> Served {
    serve_with(file, &[])
}

pub(crate) fn serve_with(file: &str, more: &[&str]) -> Served {
    let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
    command.args(["serve", file, "--http", "127.0.0.1:0"]).args(more);
    started(command)
}

/// The same, as it is started.
pub(crate) fn started(mut command: Command) -> Served {
    let mut child = Guard(command.stderr(Stdio::piped()).spawn().expect("it is built"));
    let stderr = BufReader::new(child.0.stderr.take().expect("stderr is piped"));
    let mut lines = stderr.lines().map_while(Result::ok);
    let said = Arc::<Mutex<Vec<String>>>::default();
    let url = loop {
        let line = lines.next().unwrap_or_else(|| panic!("{said:?}"));
        if let Ok(told) = serde_json::from_str::<Value>(&line) {
            said.lock().expect("free").push(line);
            match told["serving"]["url"].as_str() {
                Some(url) => break url.to_owned(),
                None => continue,
            }
        }
        // The addresses for whoever runs it are told as well.
        let of_clients = line.rsplit_once(" at http").filter(|(_, url)| !url.ends_with("/metrics"));
        if let Some((_, url)) = of_clients.filter(|(_, url)| !url.ends_with("/admin/v1")) {
            break format!("http{url}");
        }
        said.lock().expect("free").push(line);
    };
    let keep = Arc::clone(&said);
    thread::spawn(move || lines.for_each(|line| keep.lock().expect("free").push(line)));
    Served { url, said, child }
}

impl Served {
    /// The line with all of these words; waits for it.
    pub(crate) fn told(&self, words: &[&str]) -> String {
        let since = Instant::now();
        loop {
            let said = self.said.lock().expect("free").clone();
            let is_it = |line: &&String| words.iter().all(|word| line.contains(word));
            if let Some(line) = said.iter().find(is_it) {
                return line.clone();
            }
            assert!(since.elapsed() < DEADLINE, "{words:?} is not in {said:?}");
            thread::yield_now();
        }
    }
}

pub(crate) fn tools(url: &str, era: &str) -> Vec<String> {
    let listed = haft(["list", url, "--era", era, "--json"]).json();
    let tools = listed["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
    tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
}

pub(crate) fn called(url: &str, era: &str, tool: &str, input: &Value) -> String {
    let input = input.to_string();
    haft(["call", url, tool, "--era", era, "--input-json", &input]).printed().trim().to_owned()
}

/// A file with these upstreams, and a tool of its own.
pub(crate) fn gate(upstreams: &str) -> Desk {
    Desk::with(&format!(
        "server: {{ name: gate }}\n\
         tools: [{{ name: own, description: Ours., text: ours }}]\n\
         upstreams:\n{upstreams}"
    ))
}

/// How a file is served over pipes, as it is typed.
pub(crate) fn pipe(desk: &Desk) -> String {
    format!("command: [{:?}, serve, {:?}, --stdio]", env!("CARGO_BIN_EXE_haft"), desk.file())
}

pub(crate) fn is_alive(process: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{process}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z")))
}

pub(crate) fn signal(process: &str, signal: &str) {
    let status = Command::new("kill").args([signal, process]).status();
    assert!(status.expect("there is a kill").success());
}

#[test]
fn tools_of_pipes_and_of_http_are_one_list_in_both_eras() {
    let (north, south) = (Desk::with(&city("north")), Desk::with(&city("south")));
    let south = serve(south.file());
    let gate = gate(&format!(
        "  north: {{ {} }}\n  south: {{ url: {:?}, prefix: s- }}\n",
        pipe(&north),
        south.url
    ));
    let gate = serve(gate.file());
    assert_eq!(*gate.said.lock().expect("free"), [""; 0]);
    for era in ["legacy", "modern"] {
        let names = tools(&gate.url, era);
        let cities = ["north_whoami", "north_echo", "north_process"];
        assert_eq!(names[..4], [["own"].as_slice(), &cities].concat());
        assert_eq!(names[4..], cities.map(|name| name.replace("north_", "s-")));
        assert_eq!(called(&gate.url, era, "own", &json!({})), "ours");
        assert_eq!(called(&gate.url, era, "north_whoami", &json!({})), "north");
        assert_eq!(called(&gate.url, era, "s-whoami", &json!({})), "south");
        let text = "é \" \\ \u{1f600}\n2";
        assert_eq!(called(&gate.url, era, "north_echo", &json!({"text": text})), text);
    }
}

#[test]
fn resources_keep_their_addresses_and_prompts_are_prefixed() {
    let (north, south) = (Desk::with(&city("north")), Desk::with(&city("south")));
    let south = serve(south.file());
    let gate =
        gate(&format!("  north: {{ {} }}\n  south: {{ url: {:?} }}\n", pipe(&north), south.url));
    let gate = serve(gate.file());
    for era in ["legacy", "modern"] {
        let listed = haft(["list", &gate.url, "--era", era, "--json"]).json();
        let names = |kind: &str, key: &str| -> Vec<String> {
            let list = listed[kind].as_array().unwrap_or_else(|| panic!("{listed}"));
            list.iter().map(|one| one[key].as_str().expect("a text").to_owned()).collect()
        };
        assert_eq!(names("resources", "uri"), ["north:about", "south:about"]);
        assert_eq!(listed["resources"][0]["mimeType"], "text/plain");
        let families = ["north:years/{year}", "south:years/{year}"];
        assert_eq!(names("resourceTemplates", "uriTemplate"), families);
        assert_eq!(names("prompts", "name"), ["north_visit", "south_visit"]);
        for city in ["north", "south"] {
            let read = |uri: String| haft(["read", &gate.url, &uri, "--era", era]);
            let about = read(format!("{city}:about"));
            assert_eq!(about.printed().trim(), format!("about {city}"));
            let year = read(format!("{city}:years/1066"));
            assert_eq!(year.printed().trim(), format!("1066 of {city}"));
            let prompt = format!("{city}_visit");
            let got = haft(["prompt", &gate.url, &prompt, "day=friday", "--era", era, "--json"]);
            assert_eq!(got.json()["messages"][0]["content"]["text"], format!("{city} on friday"));
        }
    }
}

#[test]
fn what_an_upstream_has_anew_is_there_within_the_second() {
    let north = Desk::with(&city("north"));
    let file = format!(
        "  north: {{ command: [{:?}, dev, {:?}, --stdio] }}\n",
        env!("CARGO_BIN_EXE_haft"),
        north.file()
    );
    let gate = gate(&file);
    let gate = serve(gate.file());
    assert_eq!(tools(&gate.url, "modern")[1], "north_whoami");
    std::fs::write(&north.file, city("north").replace("whoami", "who")).expect("a file of ours");
    let edited = Instant::now();
    while tools(&gate.url, "modern")[1] != "north_who" {
        assert!(edited.elapsed() < DEADLINE, "{:?}", tools(&gate.url, "modern"));
    }
    assert_eq!(called(&gate.url, "modern", "north_who", &json!({})), "north");
}

#[test]
fn an_edit_adds_changes_and_removes_upstreams_and_drops_nothing_else() {
    let pipes = Desk::with("");
    let fifo = pipes.path("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("there is one").success());
    let wait =
        format!("  - {{ name: wait, description: Waits., command: [cat, {fifo:?}] }}\nresources:");
    let cities =
        ["north", "south", "east"].map(|name| Desk::with(&city(name).replace("resources:", &wait)));
    let [north, south, east] = &cities;
    let upstreams = format!("  north: {{ {} }}\n  south: {{ {} }}\n", pipe(north), pipe(south));
    let desk = gate(&upstreams);
    let gate = serve(desk.file());
    let process = |city: &str| called(&gate.url, "modern", &format!("{city}_process"), &json!({}));
    let (old_north, old_south) = (process("north"), process("south"));
    let url = gate.url.clone();
    let waiting = thread::spawn(move || called(&url, "modern", "north_wait", &json!({})));
    // It waits once the other end of its pipe can be opened.
    let mut other_end = std::fs::OpenOptions::new().write(true).open(&fifo).expect("it waits");

    let edited = format!(
        "  north: {{ {}, env: {{ EDITED: \"1\" }} }}\n  east: {{ {} }}\n",
        pipe(north),
        pipe(east)
    );
    let text = std::fs::read_to_string(&desk.file).expect("it is ours");
    std::fs::write(&desk.file, text.replace(&upstreams, &edited)).expect("it is ours");
    signal(&gate.child.0.id().to_string(), "-HUP");
    let since = Instant::now();
    let is_there = |names: &[String], city: &str| names.iter().any(|name| name.starts_with(city));
    loop {
        let names = tools(&gate.url, "modern");
        // What is edited is there all the time.
        assert!(is_there(&names, "north_"), "{names:?}");
        if is_there(&names, "east_") && !is_there(&names, "south_") {
            break;
        }
        assert!(since.elapsed() < DEADLINE, "{names:?}");
    }
    while process("north") == old_north || is_alive(&old_south) {
        assert!(since.elapsed() < DEADLINE);
    }
    assert!(is_alive(&old_north), "it has not answered yet");
    other_end.write_all(b"at last").expect("somebody reads");
    drop(other_end);
    assert_eq!(waiting.join().expect("it is answered"), "at last");
    while is_alive(&old_north) {
        assert!(since.elapsed() < DEADLINE);
    }
    assert_eq!(called(&gate.url, "modern", "east_whoami", &json!({})), "east");
}

#[test]
fn a_child_that_dies_is_there_again_for_the_next_call() {
    let north = Desk::with(&city("north"));
    let gate = gate(&format!("  north: {{ {} }}\n", pipe(&north)));
    let gate = serve(gate.file());
    let mut before = called(&gate.url, "legacy", "north_process", &json!({}));
    for _ in 0..3 {
        signal(&before, "-9");
        let now = called(&gate.url, "legacy", "north_process", &json!({}));
        assert_ne!(now, before);
        before = now;
        assert_eq!(tools(&gate.url, "modern").len(), 4);
    }
}

#[test]
fn children_end_with_the_gateway() {
    let (north, south) = (Desk::with(&city("north")), Desk::with(&city("south")));
    let gate = gate(&format!("  north: {{ {} }}\n  south: {{ {} }}\n", pipe(&north), pipe(&south)));
    let mut gate = serve(gate.file());
    let children = ["north_process", "south_process"]
        .map(|tool| called(&gate.url, "modern", tool, &json!({})));
    assert!(children.iter().all(|child| is_alive(child)));
    signal(&gate.child.0.id().to_string(), "-TERM");
    assert!(gate.child.0.wait().expect("it is ours").success());
    assert!(!children.iter().any(|child| is_alive(child)));
}

#[test]
fn a_server_that_is_not_there_takes_only_its_own_tools_away() {
    let north = Desk::with(&city("north"));
    let gate = gate(&format!(
        "  gone: {{ command: [/nonexistent/server] }}\n  dumb: {{ command: [cat] }}\n  \
         far: {{ url: \"http://127.0.0.1:1/mcp\" }}\n  north: {{ {} }}\n",
        pipe(&north)
    ));
    let gate = serve(gate.file());
    assert_eq!(tools(&gate.url, "modern").len(), 4);
    assert_eq!(called(&gate.url, "modern", "north_whoami", &json!({})), "north");
    gate.told(&["warning: ", "`gone`", "cannot start `/nonexistent/server`"]);
    gate.told(&["warning: ", "`far`", "cannot reach 127.0.0.1:1"]);
    gate.told(&["warning: ", "`dumb`"]);
}

#[test]
fn of_two_tools_with_one_name_the_first_is_served_and_the_other_told_of() {
    let north = city("north").replace("echo", "own").replace("process", "whowhoami");
    let (north, south) = (Desk::with(&north), Desk::with(&city("south")));
    let gate = gate(&format!(
        "  north: {{ {}, prefix: \"\" }}\n  south: {{ {}, prefix: who }}\n",
        pipe(&north),
        pipe(&south)
    ));
    let gate = serve(gate.file());
    let names = ["own", "whoami", "whowhoami", "whoecho", "whoprocess"];
    assert_eq!(tools(&gate.url, "modern"), names);
    assert_eq!(called(&gate.url, "modern", "own", &json!({})), "ours");
    gate.told(&["the tool `own` of the upstream `north` is left out: ", "this server's file"]);
    gate.told(&["the tool `whoami` of the upstream `south` is left out: ", "the upstream `north`"]);
}

#[test]
fn what_a_process_says_on_stderr_is_in_the_log_and_moves_no_cursor() {
    let north = Desk::with(&city("north"));
    let says = "printf '\\033[2Jat \\341\\n\\n\\tdone\\r\\n' >&2";
    let shell = format!("command: [sh, -c, {:?}, sh, ", format!("{says}; exec \"$@\""));
    let desk = gate(&format!("  north: {{ {} }}\n", pipe(&north).replace("command: [", &shell)));
    let gate = serve(desk.file());
    assert_eq!(called(&gate.url, "modern", "north_whoami", &json!({})), "north");
    assert_eq!(gate.told(&["north: at"]), "north: at \u{fffd}");
    assert_eq!(gate.told(&["done"]), "north: done");

    let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
    command.args(["serve", desk.file(), "--http", "127.0.0.1:0", "--json"]);
    let line = started(command).told(&["done"]);
    let said: Value = serde_json::from_str(&line).expect("a JSON line");
    assert_eq!(said["said"]["upstream"], "north", "{said}");
}

#[test]
fn all_that_is_told_as_json_is_a_line_of_json_an_outage_too() {
    let desk = gate("  gone: { command: [no-such-program], start: eager }\n");
    let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
    command.args(["serve", desk.file(), "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0"]);
    command.arg("--json");
    let served = started(command);
    let read = |line: &str| -> Value {
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
    };
    let outage = read(&served.told(&["gone", "is down"]));
    let message = outage["warning"]["message"].as_str().expect("a warning");
    assert!(message.contains("no-such-program"), "{message}");
    let said: Vec<Value> =
        served.said.lock().expect("free").iter().map(|line| read(line)).collect();
    assert_eq!(said[0]["serving"]["name"], "gate", "{said:?}");
    assert!(said[0]["serving"]["url"].as_str().is_some_and(|url| url.starts_with("http://127")));
    assert!(said.iter().any(|line| line["admin"]["url"].is_string()), "{said:?}");
}

#[test]
fn whoever_looks_at_a_file_is_told_of_upstreams_that_are_down() {
    let desk = gate("  gone: { command: [no-such-program] }\n");
    for (verb, more) in [("list", &[][..]), ("inspect", &[]), ("call", &["own"])] {
        let ran = haft([&[verb, desk.file()], more].concat());
        assert_eq!(ran.code, Some(0), "{verb}: {ran:?}");
        let is_told = |line: &str| {
            ["warning: ", "gone", "is down", "no-such-program"]
                .iter()
                .all(|word| line.contains(word))
        };
        assert!(ran.stderr.lines().any(is_told), "{verb}: {ran:?}");
    }
    let ran = haft(["call", desk.file(), "gone_tool"]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.stderr.contains("no-such-program"), "{ran:?}");
}

#[test]
fn a_log_that_nobody_reads_holds_up_no_call() {
    let north = Desk::with(&city("north"));
    // More than fits into a pipe, again and again.
    let floods = "(while printf '%08000d\\n' 1 >&2; do :; done) & exec \"$@\"";
    let shell = format!("command: [sh, -c, {floods:?}, sh, ");
    let desk = gate(&format!("  north: {{ {} }}\n", pipe(&north).replace("command: [", &shell)));
    let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
    command.args(["serve", desk.file(), "--http", "127.0.0.1:0", "--threads", "1"]);
    command.stderr(Stdio::piped());
    let mut child = Guard(command.spawn().expect("it is built"));
    let mut unread = BufReader::new(child.0.stderr.take().expect("stderr is piped"));
    let mut line = String::new();
    while !line.contains(" at http") {
        line.clear();
        assert_ne!(unread.read_line(&mut line).expect("it speaks"), 0);
    }
    let (_, url) = line.trim().rsplit_once(" at ").expect("an address");
    let since = Instant::now();
    while since.elapsed() < Duration::from_secs(5) {
        assert_eq!(called(url, "modern", "north_whoami", &json!({})), "north");
    }
    // Who reads on is told how much of it there is no more.
    while !line.contains("lines of the log are left out: they were not read") {
        line.clear();
        assert_ne!(unread.read_line(&mut line).expect("it speaks"), 0);
    }
}
