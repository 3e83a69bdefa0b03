//! A gateway in front of an upstream that does wrong: it stays up, the other upstream's calls are
//! answered promptly all the while, callers of the faulty one are told which it is and why, and
//! neither memory, processes nor descriptors are left.

mod alike;
mod answers;
pub(crate) mod bed;
mod crowds;
mod entries;
mod floods;
mod lists;
mod lives;
mod old_sse;
mod pauses;
mod remains;
mod room;
mod secrets;
mod sessions;
mod starts;

use self::bed::{Bed, DEADLINE, TIMEOUT, Watch, wait_until};
use crate::gateway::signal;
use std::time::Duration;

/// How long a call of the healthy upstream may take while all tests of a machine run at once.
const PROMPT: Duration = Duration::from_secs(2);
/// How much later than its upstream's `timeout` a call may be answered, by the same measure.
const SLACK: Duration = Duration::from_secs(2);
/// The most memory that a gateway may ever have had, in KiB: a build without optimisation, and
/// room for some of the longest messages, each of 4 MiB.
const KIB_MAX: u64 = 160 * 1024;
/// How many descriptors more than after the first call there may be at last.
const DESCRIPTORS: usize = 8;
/// Both upstreams, and what one of them may have started.
const PROCESSES_MAX: usize = 3;
/// How often the faulty upstream is called.
const CALLS: usize = 3;

/// What an upstream does wrong, and words in what its callers are told.
struct Case(&'static [&'static str], &'static [&'static str]);

/// Runs all cases, one after the other, and reports all that is wrong with any.
fn check(make: impl Fn(&[&str]) -> Bed, cases: &[Case]) {
    let mut wrong = Vec::new();
    for Case(rules, words) in cases {
        if let Err(why) = stands(make(rules), words) {
            wrong.push(format!("{rules:?}: {why}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn stands(bed: Bed, words: &[&str]) -> Result<(), String> {
    assert_eq!(bed.call("good_try").said(), "tried");
    // What is asked of one that begins waits for it, which is looked at elsewhere.
    wait_until(|| bed.see("upstreams")[0]["state"] != "connecting");
    let watch = Watch::begin(&bed);
    let mut wrong = Vec::new();
    let mut first = None;
    for _ in 0..CALLS {
        let answer = bed.call("bad_try");
        let is_told = words.iter().all(|word| answer.said().contains(word));
        if !is_told || answer.took > TIMEOUT + SLACK {
            wrong.push(format!("after {:?}: {}", answer.took, answer.message));
        }
        first.get_or_insert_with(|| bed.taken());
    }
    let first = first.expect("it was called");
    // Those of connections to this test, and of a child that is just being started, come and go.
    if !wait_until(|| bed.taken().descriptors <= first.descriptors + DESCRIPTORS) {
        wrong.push(format!("descriptors: {first:?}, then {:?}", bed.taken()));
    }
    if !wait_until(|| bed.processes().len() <= PROCESSES_MAX) {
        wrong.push(format!("processes: {:?}", bed.processes()));
    }
    match watch.end() {
        Ok(slowest) if slowest <= PROMPT => {}
        slowest => wrong.push(format!("the slowest call of the healthy one: {slowest:?}")),
    }
    let taken = bed.taken();
    if taken.kib_max > KIB_MAX {
        wrong.push(format!("memory: {taken:?}"));
    }
    match bed.stop() {
        Ok(time) if time < DEADLINE => {}
        end => wrong.push(format!("its end: {end:?}")),
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n  ")) }
}

#[test]
fn an_upstream_that_dies_is_named() {
    let ended = &["`bad`", "exit status: 3"];
    check(
        Bed::piped,
        &[
            Case(&["start exit"], ended),
            Case(&["server/discover exit", "initialize exit"], ended),
            Case(&["initialize exit"], ended),
            Case(&["notifications/initialized exit"], ended),
            Case(&["tools/list exit"], ended),
            Case(&["tools/list half", "tools/list exit"], &["`bad`", "in the middle"]),
            Case(&["tools/call exit"], ended),
            Case(&["tools/call half", "tools/call exit"], &["`bad`", "in the middle"]),
            Case(&["server/discover exit"], &["tried"]),
        ],
    );
}

#[test]
fn an_upstream_that_hangs_is_named() {
    let late = &["`bad`", "within 1s"];
    check(
        Bed::piped,
        &[
            Case(&["start hang"], late),
            Case(&["initialize hang"], late),
            Case(&["notifications/initialized hang"], late),
            Case(&["tools/list hang"], late),
            Case(&["tools/list half", "tools/list hang"], late),
            Case(&["tools/call hang"], late),
            Case(&["tools/call half", "tools/call hang"], late),
            Case(&["server/discover wait 700"], &["tried"]),
        ],
    );
}

const OTHER_ID: &str = r#"tools/call send {"jsonrpc":"2.0","id":"other","result":{"content":[]}}"#;

#[test]
fn answers_that_are_none_are_named() {
    check(
        Bed::piped,
        &[
            Case(&["start send garbage"], &["tried"]),
            Case(&["tools/call send garbage", "tools/call answer"], &["tried"]),
            // The line itself is for whoever runs the gateway.
            Case(&["tools/call send garbage"], &["`bad`", "no message"]),
            Case(&["tools/call send $ff"], &["`bad`"]),
            Case(&["initialize send garbage"], &["`bad`", "no message"]),
            Case(&["tools/call answer", "tools/call answer"], &["tried"]),
            Case(&[OTHER_ID], &["`bad`", "other"]),
            Case(&[r#"tools/call send {"jsonrpc":"2.0","result":{}}"#], &["`bad`"]),
            Case(&[r#"tools/call send {"jsonrpc":"2.0","id":$id,"result":7}"#], &["`bad`"]),
            Case(&[r#"tools/call send {"jsonrpc":"2.0","id":$id,"result":{"a"}}"#], &["`bad`"]),
            Case(
                &[r#"tools/call send {"jsonrpc":"2.0","id":$id,"result":{"a":"$ff"}}"#],
                &["`bad`"],
            ),
            Case(&[r#"tools/call send {"jsonrpc":"2.0","id":$id}"#], &["`bad`"]),
            Case(
                &[r#"tools/list send {"jsonrpc":"2.0","id":$id,"result":{}}"#],
                &["`bad`", "tools"],
            ),
        ],
    );
}

const RESULT: &str =
    r#"tools/call raw {"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"text","text":""#;

#[test]
fn answers_without_end_are_named_and_take_no_memory() {
    let large = &["`bad`", "larger than 4194304 bytes"];
    check(
        Bed::piped,
        &[
            Case(&[RESULT, "tools/call fill 1000000000", r#"tools/call send "}]}}"#], large),
            Case(&[RESULT, "tools/call fill"], large),
            Case(&["start fill"], large),
            Case(&["tools/call drip x"], &["`bad`", "within 1s"]),
        ],
    );
}

#[test]
fn an_upstream_over_http_that_fails_is_named() {
    check(
        Bed::far,
        &[
            Case(&["tools/call answer"], &["tried"]),
            Case(&["tools/call exit"], &["`bad`", "in the middle"]),
            Case(&["tools/call half", "tools/call exit"], &["`bad`", "in the middle"]),
            Case(&["tools/call hang"], &["`bad`", "within 1s"]),
            Case(&["tools/call half", "tools/call hang"], &["`bad`", "within 1s"]),
            Case(&["initialize exit"], &["`bad`", "in the middle"]),
            Case(&["initialize hang"], &["`bad`", "within 1s"]),
            Case(&["tools/list hang"], &["`bad`", "within 1s"]),
            Case(&["tools/call status 401"], &["`bad`", "401"]),
            Case(&["tools/call status 403"], &["`bad`", "403"]),
            Case(&["tools/call status 404"], &["`bad`", "404"]),
            Case(&["tools/call status 500"], &["`bad`", "500"]),
            Case(
                &["tools/call status 307", "tools/call header location: http://127.0.0.1:1/"],
                &["`bad`", "redirects elsewhere"],
            ),
            Case(
                &["tools/call header content-type: text/html", "tools/call send <p>"],
                &["`bad`", "text/html"],
            ),
            Case(&["tools/call send garbage"], &["`bad`"]),
            Case(&["tools/call stream", "tools/call hang"], &["`bad`", "within 1s"]),
            Case(&["tools/call stream", "tools/call drip :\n\n"], &["`bad`", "within 1s"]),
            Case(&["tools/call stream", "tools/call fill"], &["`bad`", "4194304 bytes"]),
            Case(&["tools/call stream", "tools/call again {}"], &["`bad`"]),
            Case(&[RESULT, "tools/call fill 1000000000"], &["`bad`", "4194304 bytes"]),
            Case(&[OTHER_ID], &["`bad`", "other"]),
            Case(&["tools/list status 500"], &["`bad`", "500"]),
            Case(&["GET stream", "GET drip :\n\n"], &["tried"]),
            Case(&["GET exit"], &["tried"]),
            Case(
                &[
                    "initialize header mcp-session-id: one",
                    "initialize answer",
                    "tools/call status 404",
                    "tools/call@2 answer",
                ],
                &["tried"],
            ),
            Case(
                &[
                    "initialize header mcp-session-id: one",
                    "initialize answer",
                    "tools/call status 404",
                ],
                &["`bad`", "session"],
            ),
        ],
    );
}

#[test]
fn nothing_is_left_of_an_upstream_that_will_not_end() {
    check(
        Bed::deaf,
        &[
            Case(&["end hang"], &["tried"]),
            Case(&["start leave", "end hang"], &["tried"]),
            // What is left holds its stdout, so that its end is seen as late as it has to answer.
            Case(&["start leave", "tools/call leave", "tools/call exit"], &["`bad`"]),
            Case(&["start leave", "initialize exit"], &["`bad`"]),
        ],
    );
}

#[test]
fn a_child_that_hangs_is_replaced() {
    let bed = Bed::piped(&["never exit"]);
    assert_eq!(bed.call("bad_try").said(), "tried");
    let watch = Watch::begin(&bed);
    let is_bad = |process: &String| {
        let words = std::fs::read_to_string(format!("/proc/{process}/cmdline"));
        words.is_ok_and(|words| words.contains("never"))
    };
    let child = || bed.processes().into_iter().find(is_bad);
    let before = child().expect("it answers");
    signal(&before, "-STOP");
    assert!(bed.call("bad_try").said().contains("no answer to `tools/call` within 1s"));
    assert!(wait_until(|| bed.call("bad_try").said() == "tried"));
    assert!(wait_until(|| child().is_some_and(|child| child != before)));
    assert!(watch.end().is_ok_and(|slowest| slowest <= PROMPT));
    bed.stop().expect("an orderly end");
}
