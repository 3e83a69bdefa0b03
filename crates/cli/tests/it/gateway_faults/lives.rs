//! The lives of upstreams: edits of one that hangs, answers that break off, long work, and several
//! processes of one.

use super::bed::{Bed, DEADLINE, TIMEOUT, faulty, wait_until};
use crate::desk::Desk;
use crate::gateway::signal;
use serde_json::json;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// Processes of the faulty upstream whose command lines have this word.
pub(super) fn children(bed: &Bed, word: &str) -> Vec<String> {
    let has_word = |process: &String| {
        let words = fs::read_to_string(format!("/proc/{process}/cmdline"));
        words.is_ok_and(|words| words.contains(word))
    };
    bed.processes().into_iter().filter(has_word).collect()
}

#[test]
fn edits_of_an_upstream_that_hangs_do_not_pile_up() {
    let bed = Bed::piped_with(&["start hang"], &json!({ "timeout": "60s" }));
    assert_eq!(bed.call("good_try").said(), "tried");
    for number in 0..8 {
        let began = Instant::now();
        bed.edit(|bad| bad["env"]["NUMBER"] = json!(number.to_string()));
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
        assert_eq!(bed.call("good_try").said(), "tried");
        let hanging = children(&bed, "hang");
        assert!(hanging.len() <= 2, "{hanging:?} after {number}");
    }
    let is_latest = |process: &String| {
        let environ = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|variable| variable == b"NUMBER=7")
    };
    assert!(wait_until(|| matches!(&*children(&bed, "hang"), [one] if is_latest(one))));
    bed.edit(|bad| {
        let words = bad["command"].as_array_mut().expect("a list");
        words.truncate(1);
    });
    assert!(wait_until(|| bed.call("bad_try").said() == "tried"));
    assert!(wait_until(|| children(&bed, "hang").is_empty()));
    bed.stop().expect("an orderly end");
}

#[test]
fn an_answer_that_breaks_off_over_http_holds_up_no_other_call() {
    let rules = ["tools/call half", "tools/call exit", "tools/call@2 answer"];
    let looks = ["tools/list@2 wait 900", "tools/list@2 answer"];
    let bed = Bed::far(&[&rules[..], &looks].concat());
    let broken = bed.call("bad_try");
    assert!(broken.said().contains("in the middle of its answer"), "{broken:?}");
    for _ in 0..5 {
        let answer = bed.call("bad_try");
        assert_eq!(answer.said(), "tried");
        assert!(answer.took < TIMEOUT / 2, "{answer:?}");
    }
    assert_eq!(bed.see("upstreams")[0]["restarts"], 0);
    bed.stop().expect("an orderly end");
}

#[test]
fn who_works_for_long_on_one_thing_is_left_alone() {
    let bed = Bed::piped(&["tools/call wait 2600", "tools/call answer", "tools/call@2 answer"]);
    assert!(bed.call("bad_try").said().contains("within 1s"));
    let child = children(&bed, "2600");
    assert!(wait_until(|| bed.call("bad_try").said() == "tried"));
    assert_eq!(children(&bed, "2600"), child);
    assert_eq!(bed.see("upstreams")[0]["restarts"], 0);
    bed.stop().expect("an orderly end");
}

#[test]
fn one_that_dies_while_nothing_is_asked_is_told_by_its_end_alone() {
    let bed = Bed::piped(&["never exit"]);
    assert_eq!(bed.call("bad_try").said(), "tried");
    signal(&children(&bed, "never")[0], "-9");
    let line = bed.gate.told(&["warning: the upstream `bad` is started again: "]);
    bed.gate.told(&["the upstream `bad` is back after "]);
    let (_, why) = line.split_once("again: ").expect("a reason");
    assert_eq!(why, "the server process ended (signal: 9 (SIGKILL))");
    bed.stop().expect("an orderly end");
}

#[test]
fn an_upstream_that_is_back_after_an_outage_says_so() {
    let desk = Desk::with("");
    let there = format!("{}.there", desk.file());
    let shell = "[ -e \"$0\" ] || exit 3; exec \"$1\"";
    let bed = Bed::of(&json!({ "command": ["sh", "-c", shell, there, faulty()] }), None);
    bed.gate.told(&["warning: the upstream `bad` is down: ", "exit status: 3"]);
    fs::write(&there, "").expect("a directory of our own");
    let line = bed.gate.told(&["the upstream `bad` is back after "]);
    assert!(!line.contains("warning"), "{line}");
    assert!(wait_until(|| bed.call("bad_try").said() == "tried"));
    bed.stop().expect("an orderly end");
}

#[test]
fn the_connections_to_a_server_over_http_are_seen_in_their_states() {
    let bed = Bed::far(&["tools/call@2 hang"]);
    assert_eq!(bed.call("bad_try").said(), "tried");
    let count = |state: &str| bed.see("upstreams")[0]["connections"][state].as_u64();
    assert!(wait_until(|| count("idle") >= Some(1) && count("acquiring") == Some(0)));
    assert_eq!(count("closing"), Some(0));
    let (busy, closed) = (count("established").expect("a number"), count("closed"));
    thread::scope(|scope| {
        let call = scope.spawn(|| bed.call("bad_try"));
        assert!(wait_until(|| count("established") == Some(busy + 1)));
        assert!(call.join().expect("an answer").said().contains("within 1s"));
    });
    // What is not waited for any more is not used again.
    assert!(wait_until(|| count("closed") > closed && count("established") == Some(busy)));
    let upstreams = bed.see("upstreams");
    assert!(upstreams[1]["connections"].is_null(), "{upstreams}");
    bed.stop().expect("an orderly end");
}

/// Calls the faulty upstream so many times at once; what was said, in alphabetical order.
fn at_once(bed: &Bed, count: usize, meanwhile: impl FnOnce()) -> Vec<String> {
    let mut said: Vec<String> = thread::scope(|scope| {
        let ask = || bed.call("bad_try").said().to_owned();
        let calls: Vec<_> = (0..count).map(|_| scope.spawn(ask)).collect();
        meanwhile();
        calls.into_iter().map(|call| call.join().expect("an answer")).collect()
    });
    said.sort_unstable();
    said
}

#[test]
fn instances_share_the_calls() {
    let keys = json!({ "timeout": "20s", "instances": 3 });
    let bed = Bed::piped_with(&["tools/call wait 1000", "tools/call answer"], &keys);
    let state = |key: &str| {
        let upstreams = bed.see("upstreams");
        let all = upstreams[0]["instances"].as_array().expect("a list").clone();
        all.iter().map(|one| one[key].clone()).collect::<Vec<_>>()
    };
    let are_ready = || state("state") == vec![json!("ready"); 3];
    assert!(wait_until(are_ready));
    assert_eq!(bed.tools(), ["bad_try", "good_try"]);
    let has_one_each = || state("running") == vec![json!(1); 3];
    for _ in 0..3 {
        assert_eq!(at_once(&bed, 3, || assert!(wait_until(has_one_each))), ["tried"; 3]);
    }

    // What dies takes its own call away, and is there again.
    let said = at_once(&bed, 3, || {
        assert!(wait_until(has_one_each));
        let child = children(&bed, "wait 1000");
        assert_eq!(child.len(), 3);
        signal(&child[0], "-9");
    });
    assert_eq!(said[1..], ["tried"; 2], "{said:?}");
    assert!(said[0].contains("`bad`") && said[0].contains("signal: 9"), "{said:?}");
    assert!(wait_until(are_ready));
    assert!(wait_until(|| children(&bed, "wait 1000").len() == 3));
    assert_eq!(bed.see("upstreams")[0]["restarts"], 1);
    bed.gate.told(&["warning: instance ", " of the upstream `bad` is started again: "]);
    assert!(bed.stop().expect("an orderly end") < DEADLINE);
}
