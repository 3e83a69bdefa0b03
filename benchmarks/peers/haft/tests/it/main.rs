//! The measured server, under the load that measures it, over both wires, in both eras.

use haft_bench::{Ask, End, HttpVersion, Load, LoadPlan, Plan, Target};
use haft_client::Launch;
use haft_proto::method::Method;
use haft_proto::version::Revision;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const SERVER: &str = env!("CARGO_BIN_EXE_haft-peer");
const ANSWERS: u64 = 300;

struct Listening(Child, String);

impl Drop for Listening {
    fn drop(&mut self) {
        // Both fail only if it is gone already, which is all that is wanted.
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

fn listening(tools: Option<&str>) -> Listening {
    let mut command = Command::new(SERVER);
    command.args(["--http", "127.0.0.1:0"]).stdin(Stdio::null()).stderr(Stdio::piped());
    command.envs(tools.map(|count| ("TOOLS", count)));
    let mut child = command.spawn().expect("it was built");
    let mut line = String::new();
    let stderr = child.stderr.take().expect("it is piped");
    BufReader::new(stderr).read_line(&mut line).expect("a line");
    let (_, url) = line.trim_end().rsplit_once(" at ").expect("it listens");
    Listening(child, url.to_owned())
}

fn check(target: Target, revision: Revision, ask: Ask, in_flight: usize) {
    let plan = Plan {
        target,
        revision,
        asks: vec![ask],
        load: LoadPlan { in_flight, ..LoadPlan::default() },
        end: End::Answers(ANSWERS),
        warmup: Duration::ZERO,
        timeout: Duration::from_secs(20),
        threads: 1,
    };
    let (warmup, end) = (plan.warmup, plan.end);
    let mut load = Load::open(plan).expect("it greets");
    let stretch = load.stretch(warmup, end, &mut |_| true);
    load.close();
    let tally = stretch.tally;
    assert_eq!((tally.answers(), tally.failures()), (ANSWERS, 0), "{:?}", stretch.ended);
}

fn http(server: &Listening) -> Target {
    let uri = server.1.parse().expect("a URL");
    Target::Url { uri, headers: Vec::new(), version: HttpVersion::One }
}

fn expecting(ask: Ask, text: &str) -> Ask {
    Ask { expect: Some(text.to_owned()), ..ask }
}

#[test]
fn both_tools_answer_over_both_wires_in_both_eras() {
    let server = listening(None);
    for revision in [Revision::LATEST, Revision::LATEST_LEGACY] {
        for ask in [
            expecting(Ask::call("echo", r#"{"text":"hello"}"#), "\"hello\""),
            expecting(Ask::call("add", r#"{"a":20,"b":22}"#), "\"42\""),
        ] {
            check(http(&server), revision, ask.clone(), 1);
            let launch = Launch::new(SERVER, ["--stdio"]);
            check(Target::Command(launch), revision, ask, 64);
        }
    }
}

#[test]
fn so_many_tools_are_listed_as_are_asked_for() {
    let server = listening(Some("130"));
    let ask = expecting(Ask::new(Method::ToolsList), "\"search_129\"");
    check(http(&server), Revision::LATEST_LEGACY, ask, 1);
}
