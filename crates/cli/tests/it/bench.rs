//! `haft bench` against real servers: that every answer is counted and checked, over each wire in
//! both eras, and what it says and exits with when a server is down, wrong, slow or dies.

mod browser;
mod leaving;
mod multiplexed;
mod page;
mod verdict;

use crate::desk::Desk;
use crate::foreign_servers::{listening, official, own};
use crate::haft::{Ran, haft};
use serde_json::Value;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const FILE: &str = r#"
server: { name: desk }
tools:
  - { name: echo, description: Says it., input: { text: string }, text: "{{ text }}" }
  - { name: broken, description: Fails., command: ["false"] }
resources:
  - { uri: "desk://note", name: note, text: Tea. }
"#;

fn desk() -> Desk {
    Desk::with(FILE)
}

/// A run of so many answers, which takes no time.
fn bench(target: &[&str], more: &[&str]) -> Ran {
    let quick = ["--warmup", "0"];
    haft(["bench"].iter().chain(target).chain(more).chain(&quick))
}

fn report(target: &[&str], more: &[&str]) -> Value {
    let ran = bench(target, &[more, &["--json"]].concat());
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{ran:?}");
    ran.json()
}

/// The code and the text of a failure.
fn failure(ran: &Ran) -> (Option<i32>, String) {
    let line = ran.stderr.lines().find(|line| line.starts_with("error: "));
    (ran.code, line.unwrap_or_else(|| panic!("{ran:?}")).replacen("error: ", "", 1))
}

#[test]
fn every_wire_is_loaded_in_both_eras() {
    let desk = desk();
    let server = own(&desk.file);
    let cases: [(&str, &[&str], &str); 3] = [
        (desk.file(), &["-f", "16"], "stdio"),
        (&server.url, &["-c", "3"], "http/1.1"),
        (&server.url, &["-f", "8", "-c", "2", "--http2"], "h2"),
    ];
    for (target, more, wire) in cases {
        for (era, revision) in [("modern", "2026-07-28"), ("legacy", "2025-11-25")] {
            let asked = ["echo", "text=hello", "-n", "300", "--era", era];
            let found = report(&[target], &[&asked, more, &["--expect", "\"hello\""]].concat());
            let counted = (&found["answers"], &found["failures"], &found["wire"]);
            assert_eq!(counted, (&300.into(), &0.into(), &wire.into()), "{found}");
            assert_eq!(found["revision"], revision);
            let latency = &found["latency"];
            let at = |name: &str| latency[name].as_u64().expect("nanoseconds");
            assert!(at("min_ns") > 1000 && at("min_ns") <= at("p50_ns"), "{latency}");
            assert!(at("p50_ns") <= at("p99_ns") && at("p99_ns") <= at("max_ns"), "{latency}");
        }
    }
}

#[test]
fn what_is_counted_is_what_the_server_was_asked() {
    let desk = desk();
    let log = desk.path("log");
    let file = desk.path("counting.yaml");
    let command = format!("[sh, -c, \"echo >> '{}'\"]", log.display());
    let text = format!(
        "server: {{ name: counting }}\ntools:\n  - {{ name: count, description: Counts., \
         command: {command} }}\n"
    );
    fs::write(&file, text).expect("a folder of ours");
    let found = report(&[file.to_str().expect("a path")], &["count", "-n", "40", "-f", "4"]);
    let lines = fs::read_to_string(log).expect("it was written").lines().count();
    assert_eq!((&found["answers"], lines), (&40.into(), 40));
}

#[test]
fn a_report_does_not_tell_what_lets_in() {
    let desk = desk();
    let server = own(&desk.file);
    let url = format!("{}?key=hunter2", server.url);
    let page = desk.path("report.html");
    let more = ["-n", "3", "--header", "authorization: Bearer hunter2", "--html"];
    let shown = page.to_str().expect("a path");
    let by_url = bench(&[&url], &[&more[..], &[shown]].concat());
    let of_url = fs::read_to_string(&page).expect("it was written");
    let each = "printf '{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"tools\":[]}}\\n' $id";
    let command = format!("{} x --token hunter2", answering(each));
    let more = ["-n", "3", "--era", "modern", "--html", shown];
    let by_command = bench(&["--command", &command], &more);
    let of_command = fs::read_to_string(&page).expect("it was written");
    for (ran, page) in [(by_url, of_url), (by_command, of_command)] {
        assert_eq!(ran.code, Some(0), "{ran:?}");
        for told in [ran.stdout, ran.stderr, page] {
            assert!(!told.contains("hunter2"), "{told}");
        }
    }
}

#[test]
fn a_mix_is_asked_by_its_weights() {
    let desk = desk();
    let mix = ["--mix", "tools/list=1,tools/call=3,resources/read=2", "--uri", "desk://note"];
    let found = report(&[desk.file()], &[&["echo", "text=a", "-n", "600"], &mix[..]].concat());
    let counts: Vec<(&str, u64)> = found["requests"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|of| Some((of["request"].as_str()?, of["answers"].as_u64()?)))
        .collect();
    let expected =
        [("tools/list", 100), ("tools/call echo", 300), ("resources/read desk://note", 200)];
    assert_eq!(counts, expected);
    let server = own(&desk.file);
    let mix = ["--mix", "tools/list=1,tools/call=3", "--requests-per-connection", "1", "-n", "40"];
    let expect = ["echo", "text=tea", "--expect", "\"tea\""];
    let found = report(&[&server.url], &[&mix[..], &expect].concat());
    let counts = [0, 1].map(|at: usize| &found["requests"][at]["answers"]);
    assert_eq!(counts, [10, 30], "each connection is asked once: {found}");
}

#[test]
fn servers_of_others_are_loaded_and_their_streams_read() {
    for era in ["modern", "legacy"] {
        let server = listening("http");
        let call = ["greet", "name=Ada", "--era", era, "-n", "20", "--expect", "Hello, Ada!"];
        let found = report(&[&server.url], &call);
        assert_eq!(found["failures"], 0, "{found}");
        let found = report(&["--command", &official("stdio")], &call);
        assert_eq!(found["failures"], 0, "{found}");
    }
}

#[test]
fn marked_arguments_are_mirrored_under_load_too() {
    let server = listening("http");
    let found = report(&[&server.url], &["where", "region=eu-1", "-n", "10"]);
    assert_eq!((&found["answers"], &found["failures"]), (&10.into(), &0.into()), "{found}");
}

#[test]
fn connections_are_replaced_after_their_requests() {
    let desk = desk();
    let server = own(&desk.file);
    for era in ["modern", "legacy"] {
        let more = ["echo", "text=a", "-n", "100", "--requests-per-connection", "10", "--era", era];
        let found = report(&[&server.url], &more);
        let connected = found["connected"].as_u64().expect("a number");
        assert!((10..=11).contains(&connected), "{found}");
    }
}

#[test]
fn a_server_that_stalls_delays_all_who_should_have_asked_meanwhile() {
    // One answer of 200 takes half a second: fifty requests were due while it did.
    let each = "n=$((n+1)); [ $n = 100 ] && sleep 0.5; \
                printf '{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"tools\":[]}}\\n' $id";
    let command = answering(each);
    let more = ["--era", "modern", "--rate", "100", "-d", "2s"];
    let found = report(&["--command", &command], &more);
    let answers = found["answers"].as_u64().expect("a number");
    assert!((195..=201).contains(&answers), "{found}");
    let (p50, p90) = (&found["latency"]["p50_ns"], &found["latency"]["p90_ns"]);
    assert!(p50.as_u64() < Some(50_000_000), "most were not delayed: {p50}");
    assert!(p90.as_u64() > Some(100_000_000), "a quarter was: {p90}");
    let found = report(&["--command", &command], &["--era", "modern", "-n", "200"]);
    let p90 = &found["latency"]["p90_ns"];
    assert!(p90.as_u64() < Some(100_000_000), "a closed loop does not see it: {p90}");
}

#[test]
fn beginnings_are_timed_stage_by_stage() {
    let desk = desk();
    let server = own(&desk.file);
    for (target, era) in [(desk.file(), "modern"), (desk.file(), "legacy"), (&server.url, "legacy")]
    {
        let found = report(&[target], &["echo", "text=a", "--cold", "5", "--era", era]);
        assert_eq!(
            (&found["beginnings"], &found["request"]),
            (&5.into(), &"tools/call echo".into())
        );
        let at = |stage: &str| found[stage]["p50_ns"].as_u64().expect("nanoseconds");
        assert!(0 < at("opened") && at("opened") <= at("greeted"), "{found}");
        assert!(at("greeted") < at("answered"), "{found}");
    }
}

/// An address before another one, and how many sessions were ended by it.
fn counting(url: &str) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let before = listener.local_addr().expect("an address");
    let behind = url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
    let ended = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&ended);
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(&behind).expect("the server listens");
            let (mut to, mut from) = (client.try_clone().expect("a socket"), client);
            let mut answers = server.try_clone().expect("a socket");
            thread::spawn(move || io::copy(&mut answers, &mut to));
            let (mut server, counter) = (server, Arc::clone(&counter));
            thread::spawn(move || {
                let mut piece = [0; 4096];
                while let Ok(length @ 1..) = from.read(&mut piece) {
                    let begins = piece.starts_with(b"DELETE /mcp HTTP/1.1\r\n");
                    counter.fetch_add(begins.into(), Ordering::SeqCst);
                    if server.write_all(&piece[..length]).is_err() {
                        break;
                    }
                }
                _ = server.shutdown(Shutdown::Both);
            });
        }
    });
    (url.replacen(&url["http://".len()..url.len() - "/mcp".len()], &before.to_string(), 1), ended)
}

#[test]
fn a_session_that_a_load_begins_it_also_ends() {
    let desk = desk();
    let server = own(&desk.file);
    let (url, ended) = counting(&server.url);
    // But for the one in which the tool was looked up.
    let ended = || ended.swap(0, Ordering::SeqCst).saturating_sub(1);
    report(&[&url], &["echo", "text=a", "--era", "legacy", "--cold", "5"]);
    assert_eq!(ended(), 5);
    report(&[&url], &["echo", "text=a", "--era", "legacy", "-n", "30", "-c", "3"]);
    assert_eq!(ended(), 3);
    report(&[&url], &["echo", "text=a", "--era", "modern", "-n", "30", "-c", "3"]);
    assert_eq!(ended(), 0);
}

#[test]
fn two_servers_take_turns_and_the_slower_one_is_told() {
    let desk = desk();
    let more = ["echo", "text=a", "-d", "4s", "--rounds", "4", "--compare-command"];
    let script = format!(
        "import subprocess, sys, time\n\
         p = subprocess.Popen([{:?}, 'serve', {:?}, '--stdio'], stdin=subprocess.PIPE, \
         stdout=subprocess.PIPE)\n\
         for line in sys.stdin.buffer:\n \
         time.sleep(0.005); p.stdin.write(line); p.stdin.flush()\n \
         sys.stdout.buffer.write(p.stdout.readline()); sys.stdout.buffer.flush()\n",
        env!("CARGO_BIN_EXE_haft"),
        desk.file(),
    );
    let slow = format!("python3 -c {}", shlex::try_quote(&script).expect("text"));
    let found = report(&[desk.file()], &[&more[..], &[&slow]].concat());
    assert_eq!(found["rounds"], 4, "{found}");
    let ratio = found["ratios"].as_array().into_iter().flatten().find(|of| of["figure"] == "p50");
    let ratio = ratio.expect("there is one");
    assert!(ratio["low"].as_f64() > Some(1.5), "{ratio}");
    let turns = ratio["turns"].as_array().expect("each round is told");
    let at = |turn: &Value, side: usize| turn[side].as_f64().expect("nanoseconds");
    assert_eq!(turns.len(), 4, "{ratio}");
    let logs: f64 = turns.iter().map(|turn| (at(turn, 1) / at(turn, 0)).ln()).sum();
    let mean = ratio["ratio"].as_f64().expect("a number");
    assert!(((logs / 4.0).exp() / mean - 1.0).abs() < 1e-9, "it is made of them: {ratio}");
    assert_eq!((&found["first"]["failures"], &found["second"]["failures"]), (&0.into(), &0.into()));
}

#[test]
fn turns_are_as_long_as_the_slower_server_needs() {
    let each =
        "sleep 0.1; printf '{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"tools\":[]}}\\n' $id";
    let slow = answering(each);
    // What is asked before the count begins is not answered in the first turn either.
    for warmup in ["0", "50ms"] {
        let turns = ["-d", "60ms", "--rounds", "2", "--warmup", warmup];
        let both = ["bench", "--command", &slow, "--compare-command", &slow, "--era", "modern"];
        let found = haft(both.iter().chain(&turns).chain(&["--json"])).json();
        assert_eq!((&found["rounds"], &found["rounds_without_answers"]), (&2.into(), &0.into()));
        for side in ["first", "second"] {
            let rate = found[side]["per_second"].as_f64().expect("a number");
            assert!((6.0..=10.5).contains(&rate), "ten a second at most: {found}");
        }
    }
}

#[test]
fn what_a_server_uses_after_the_end_is_not_counted() {
    // Half a second's requests in flight take it much longer.
    let busy = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
    let each = format!(
        "{busy}; printf '{{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{{\"tools\":[]}}}}\\n' $id"
    );
    let command = answering(&each);
    let more = ["--era", "modern", "-f", "64", "-d", "500ms"];
    let found = report(&["--command", &command], &more);
    let processors = found["server"]["processors"].as_f64().expect("a number");
    assert!((0.0..1.3).contains(&processors), "it has one thread: {found}");
}

#[test]
fn thresholds_and_baselines_fail_with_code_8_after_the_report() {
    let desk = desk();
    let asked = ["echo", "text=a", "-n", "50"];
    let ran = bench(&[desk.file()], &[&asked[..], &["--fail-if", "p50>1ns"]].concat());
    let (code, said) = failure(&ran);
    assert_eq!(code, Some(8));
    assert!(said.starts_with("p50>1ns: it is "), "{said}");
    assert!(ran.stdout.contains("answers "), "the report is printed first: {ran:?}");
    let ran = bench(&[desk.file()], &[&asked[..], &["--fail-if", "p50>1h"]].concat());
    assert_eq!(ran.code, Some(2), "{ran:?}");

    let mut earlier = report(&[desk.file()], &asked);
    earlier["latency"]["p50_ns"] = 1.into();
    let file = desk.path("earlier.json");
    fs::write(&file, earlier.to_string()).expect("a folder of ours");
    let baseline = ["--baseline", file.to_str().expect("a path")];
    let ran = bench(&[desk.file()], &[&asked[..], &baseline].concat());
    let (code, said) = failure(&ran);
    assert_eq!(code, Some(8));
    assert!(said.contains("p50 is") && said.contains("worse than 1 ns"), "{said}");
    fs::write(&file, "{}").expect("a folder of ours");
    let ran = bench(&[desk.file()], &[&asked[..], &baseline].concat());
    assert_eq!(ran.code, Some(2), "what is no report is said before the load: {ran:?}");
    assert_eq!(ran.stdout, "");
}

#[test]
fn the_page_has_pictures_and_loads_nothing() {
    let desk = desk();
    let file = desk.path("report.html");
    let shown = file.to_str().expect("a path");
    bench(&[desk.file()], &["echo", "text=<b>", "-n", "200", "--html", shown]).printed();
    let page = fs::read_to_string(file).expect("it was written");
    assert_eq!(page.matches("<svg").count(), 3, "{page}");
    assert!(page.contains("tools/call echo") && !page.contains("NaN"), "{page}");
    assert!(!page.contains("http://") && !page.contains("<script"), "{page}");
}

/// A server over stdio that answers each line by a command of a shell, with `$id`.
fn answering(each: &str) -> String {
    let script = format!(
        "while read -r line; do id=${{line#*\\\"id\\\":}}; id=${{id%%[!0-9]*}}; {each}; done"
    );
    format!("sh -c {}", shlex::try_quote(&script).expect("text"))
}

#[test]
fn a_wrong_answer_is_a_failure_and_never_a_fast_request() {
    let reply = |rest: &str| format!("printf '{{\"jsonrpc\":\"2.0\",\"id\":%s,{rest}}}\\n' $id");
    let cases = [
        (
            reply("\"error\":{\"code\":-32603,\"message\":\"no\"}"),
            5,
            "the server answered an error",
        ),
        (reply("\"result\":{}"), 4, "a result of tools/list has `tools`"),
        (
            "echo '{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"tools\":[]}}'".to_owned(),
            1,
            "no request",
        ),
        ("echo hello".to_owned(), 4, "this is no answer: hello"),
    ];
    for (each, expected, text) in cases {
        let command = answering(&each);
        let more = ["--era", "modern", "-d", "1s", "--timeout", "2s"];
        let ran = bench(&["--command", &command], &more);
        let (code, said) = failure(&ran);
        assert_eq!(code, Some(expected), "{ran:?}");
        assert!(said.contains(text), "{said}");
        assert!(ran.stdout.contains(" 0 in "), "{ran:?}");
    }
}

#[test]
fn a_server_that_talks_and_never_answers_holds_up_no_end() {
    let talk = r#"yes '{"jsonrpc":"2.0","method":"notifications/x"}'"#;
    let command = format!("sh -c {}", shlex::try_quote(talk).expect("text"));
    let more = ["--era", "modern", "-d", "1s", "--timeout", "2s"];
    let (code, said) = failure(&bench(&["--command", &command], &more));
    assert_eq!(code, Some(7), "{said}");
    assert!(said.contains("no answer"), "{said}");
}

#[test]
fn conditions_see_what_is_wrong_and_what_was_never_sent() {
    let wrong = answering("echo hello");
    let more = ["--era", "modern", "-d", "1s", "--timeout", "2s", "--fail-if"];
    let with = |condition| bench(&["--command", &wrong], &[&more[..], &[condition]].concat());
    let (code, said) = failure(&with("failures>0"));
    assert_eq!(code, Some(8), "{said}");
    assert_eq!(with("failures>100000000").code, Some(0));
    assert_eq!(failure(&with("p99>1000s")).0, Some(4), "no figure is of wrong answers");

    // The last second of two has no answer, and with one in flight nothing is asked.
    let each = "n=$((n+1)); [ $n = 100 ] && sleep 2.5; \
                printf '{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"tools\":[]}}\\n' $id";
    let stalled = answering(each);
    let more = ["--era", "modern", "--rate", "100", "-d", "2s", "--fail-if", "p90>60s"];
    let (code, said) = failure(&bench(&["--command", &stalled], &more));
    assert_eq!(code, Some(8), "{said}");
    assert!(said.contains("were due and not sent by the end"), "{said}");
    for tolerance in ["nan", "-1", "inf"] {
        let (code, said) = failure(&bench(&["x.yaml"], &["--tolerance", tolerance]));
        assert_eq!(code, Some(2), "{said}");
    }
}

#[test]
fn a_tool_that_fails_is_told_with_its_reason() {
    let desk = desk();
    let ran = bench(&[desk.file()], &["broken", "-n", "3"]);
    let (code, said) = failure(&ran);
    assert_eq!(code, Some(5), "{ran:?}");
    assert!(said.contains("the tool failed") && said.contains("exit code 1"), "{said}");
}

#[test]
fn a_server_that_is_down_or_no_server_is_told_in_a_line() {
    let desk = desk();
    let gone = own(&desk.file).url.clone();
    let (code, said) = failure(&bench(&[&gone], &["--era", "modern"]));
    assert_eq!(code, Some(4));
    assert!(said.contains("cannot reach the server: 127.0.0.1:"), "{said}");
    let (code, said) = failure(&bench(&["--command", "no-such-program"], &["--era", "modern"]));
    assert_eq!(code, Some(4));
    assert!(said.contains("no-such-program"), "{said}");
    let more = ["--era", "legacy", "--timeout", "1s"];
    let (code, said) = failure(&bench(&["--command", "echo hello"], &more));
    assert_eq!(code, Some(4));
    assert!(said.contains("initialize: ") && said.contains("hello"), "{said}");
    let (code, said) = failure(&bench(&["--command", "sleep 1000"], &more));
    assert_eq!(code, Some(7));
    assert!(said.contains("no answer within the time limit"), "{said}");
}

#[test]
fn a_server_that_dies_is_told_with_what_was_measured_until_then() {
    let each = "n=$((n+1)); [ $n = 50 ] && { echo 'error: out of tea' >&2; exit 3; }; \
                printf '{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"tools\":[]}}\\n' $id";
    let ran = bench(&["--command", &answering(each)], &["--era", "modern", "-d", "10s"]);
    let (code, said) = failure(&ran);
    assert_eq!(code, Some(4), "{ran:?}");
    assert!(said.contains("out of tea") && said.contains("exit status: 3"), "{said}");
    assert!(ran.stderr.contains("hint: 49 answers were measured until then"), "{ran:?}");
    assert!(ran.stdout.contains(" 49 in "), "{ran:?}");
}

#[test]
fn a_plan_that_cannot_be_is_refused_before_anything_is_sent() {
    let desk = desk();
    let server = own(&desk.file);
    for (more, text) in [
        (&["-f", "2"][..], "HTTP/1.1 has one request in flight"),
        (&["-c", "0"], "at least one of: connections"),
        (&["-c", "999999"], "at most 20000 connections, not 999999"),
        (&["--rate", "0"], "a rate is at least one request in 3600 s"),
        (&["-n", "0"], "at least one answer"),
        (&["--mix", "tools/lst=1"], "--mix: \"tools/lst\" cannot be asked"),
        (&["--mix", "tools/call=1"], "tools/call needs a tool"),
        (&["--mix", "ping=1", "--era", "modern"], "ping cannot be asked in 2026-07-28"),
    ] {
        let (code, said) = failure(&bench(&[&server.url], more));
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(text), "{said}");
    }
}

#[test]
fn one_server_is_compared_with_itself_in_its_other_era() {
    let desk = desk();
    let server = own(&desk.file);
    let eras = ["--era", "legacy", "--compare-era", "modern"];
    let more = ["echo", "text=a", "-d", "400ms", "--rounds", "2", "--compare", &server.url];
    let found = report(&[&server.url], &[&more[..], &eras].concat());
    assert_eq!(found["first"]["revision"], "2025-11-25");
    assert_eq!(found["second"]["revision"], "2026-07-28");
    // Without another server there is nobody to ask in another era.
    let ran = bench(&[&server.url], &["echo", "text=a", "--compare-era", "modern"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}
