//! What is left of upstreams that start processes of their own, which move out of reach: nothing,
//! however the upstream or the gateway ends. And what such processes know of the gateway's secrets.

use super::bed::{Bed, faulty, wait_until};
use crate::desk::Desk;
use crate::gateway::{is_alive, signal, started, tools};
use serde_json::json;
use std::process::Command;
use std::time::{Duration, Instant};

/// An upstream that starts processes: one moves into a session of its own, and one wipes its
/// environment. Then it is the faulty server, which ignores orders to end.
const RESTLESS: &str = "trap '' TERM; setsid sleep 4101 >/dev/null 2>&1 & \
    env -i sleep 4102 >/dev/null 2>&1 & exec \"$0\" \"$@\"";
/// Another one does both; nobody knows it for ours who does not see whose child it is.
const HIDDEN: &str = "setsid env -i sleep 4103 >/dev/null 2>&1 & ";

fn restless(script: &str, rules: &[&str]) -> Bed {
    let words = ["sh", "-c", script, faulty()];
    Bed::of(&json!({ "command": ([&words[..], rules].concat()), "timeout": "1s" }), None)
}

/// The processes that such an upstream has started.
fn sleepers(bed: &Bed) -> Vec<String> {
    let sleeps = |process: &String| {
        let words = std::fs::read_to_string(format!("/proc/{process}/cmdline"));
        words.is_ok_and(|words| words.starts_with("sleep\x00410"))
    };
    bed.family().into_iter().filter(sleeps).collect()
}

#[test]
fn what_an_upstream_starts_ends_with_it() {
    let bed = restless(RESTLESS, &["tools/call answer"]);
    assert_eq!(bed.call("bad_try").said(), "tried");
    assert!(wait_until(|| sleepers(&bed).len() == 2));
    let before = sleepers(&bed);
    let is_child = |process: &String| {
        let words = std::fs::read_to_string(format!("/proc/{process}/cmdline"));
        words.is_ok_and(|words| words.contains("tools/call answer"))
    };
    let child = bed.processes().into_iter().find(is_child).expect("it answers");
    signal(&child, "-9");
    assert!(wait_until(|| !before.iter().any(|process| is_alive(process))), "{before:?}");
    assert!(wait_until(|| bed.call("bad_try").said() == "tried"));
    assert!(wait_until(|| sleepers(&bed).len() == 2));
    let after = sleepers(&bed);
    bed.stop().expect("an orderly end");
    assert!(!after.iter().any(|process| is_alive(process)), "{after:?}");
}

#[test]
fn nothing_is_left_of_a_gateway_that_is_killed() {
    let mut bed = restless(&[HIDDEN, RESTLESS].concat(), &["end hang"]);
    assert_eq!(bed.call("bad_try").said(), "tried");
    assert!(wait_until(|| sleepers(&bed).len() == 3));
    let all = [sleepers(&bed), bed.processes()].concat();
    let began = Instant::now();
    bed.gate.child.0.kill().expect("it is ours");
    bed.gate.child.0.wait().expect("it is ours");
    let left = || -> Vec<&String> { all.iter().filter(|process| is_alive(process)).collect() };
    let are_gone = wait_until(|| left().is_empty());
    left().iter().for_each(|process| signal(process, "-9"));
    assert!(are_gone && began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
}

#[test]
fn a_child_knows_what_is_usual_and_what_it_is_given() {
    let secret = "OUR_SECRET=hunter2";
    for (keys, is_told) in [
        (json!({}), false),
        (json!({ "inherit_env": false }), false),
        (json!({ "inherit_env": ["OUR_SECRET"] }), true),
        (json!({ "inherit_env": true }), true),
    ] {
        let desk = Desk::with("");
        let mut bad = keys.clone();
        bad["command"] = json!([faulty(), "never exit"]);
        bad["env"] = json!({ "OWN": desk.file() });
        let file = json!({ "server": { "name": "gate" }, "upstreams": { "bad": bad } });
        std::fs::write(&desk.file, file.to_string()).expect("it is ours");
        let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
        command.args(["serve", desk.file(), "--http", "127.0.0.1:0"]);
        command.env("OUR_SECRET", "hunter2").env("LC_MINE", "here");
        let gate = started(command);
        assert_eq!(tools(&gate.url, "modern"), ["bad_try"]);
        let own = format!("OWN={}", desk.file());
        let environ = environ_with(&own);
        let has = |variable: &str| environ.iter().any(|one| one == variable);
        assert!(has("LC_MINE=here") && environ.iter().any(|one| one.starts_with("PATH=")));
        assert_eq!(has(secret), is_told, "{keys}");
    }
}

/// The variables of the process that has this one.
fn environ_with(own: &str) -> Vec<String> {
    let all = std::fs::read_dir("/proc").expect("there is one").filter_map(Result::ok);
    let environs = all.filter_map(|entry| std::fs::read(entry.path().join("environ")).ok());
    let mut environs = environs.map(|environ| -> Vec<String> {
        let variables = environ.split(|byte| *byte == 0);
        variables.map(|one| String::from_utf8_lossy(one).into_owned()).collect()
    });
    environs.find(|environ| environ.iter().any(|one| one == own)).expect("it runs")
}
