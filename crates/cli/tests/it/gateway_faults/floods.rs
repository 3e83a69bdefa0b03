//! Upstreams that say more than anybody wants to hear.

use super::bed::{Bed, TIMEOUT, Watch, pause, wait_until};
use super::{Case, KIB_MAX, PROMPT, SLACK, check};
use std::time::{Duration, Instant};

/// How long a flood is watched.
const WATCHED: Duration = Duration::from_secs(6);
/// How often its lists are asked for meanwhile, at most: the pauses double up to a second.
const LOOKS_MAX: u64 = 14;

const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
/// A list that is another each time.
const LIST: &str = r#"tools/list send {"jsonrpc":"2.0","id":$id,"result":{"tools":[
    {"name":"try","inputSchema":{"type":"object"}},
    {"name":"t$n","inputSchema":{"type":"object"}}]}}"#;

/// The number in the name of the tool that is never the same.
fn looks(bed: &Bed) -> u64 {
    let names = bed.tools();
    let numbers = names.iter().filter_map(|name| name.strip_prefix("bad_t")?.parse().ok());
    numbers.max().unwrap_or_default()
}

fn endures(bed: Bed) {
    let watch = Watch::begin(&bed);
    assert!(wait_until(|| bed.call("bad_try").said() == "tried"));
    let (began, before, asked) = (Instant::now(), bed.computed(), looks(&bed));
    let mut slowest = Duration::ZERO;
    while began.elapsed() < WATCHED {
        let answer = bed.call("bad_try");
        // Who floods may be late with what it is asked for, and that is said.
        let is_told = ["tried", "within 1s"].iter().any(|told| answer.said().contains(told));
        assert!(is_told && answer.took <= TIMEOUT + SLACK, "{answer:?}");
        slowest = slowest.max(answer.took);
        pause();
    }
    let share = (bed.computed() - before).as_secs_f64() / began.elapsed().as_secs_f64();
    let (asked, taken, healthy) = (looks(&bed) - asked, bed.taken(), watch.end());
    let all = format!("{share:.2} of a core, {asked} looks, {slowest:?}, {healthy:?}, {taken:?}");
    assert!(asked <= LOOKS_MAX, "{all}");
    assert!(healthy.is_ok_and(|slowest| slowest <= PROMPT), "{all}");
    assert!(taken.kib_max <= KIB_MAX, "{all}");
    bed.stop().expect("an orderly end");
}

#[test]
fn lists_that_change_all_the_time_are_asked_for_now_and_then() {
    let flood = format!("notifications/initialized meanwhile again {CHANGED}");
    endures(Bed::piped(&[&LIST.replace('\n', " "), &flood]));
}

#[test]
fn so_are_those_over_http() {
    let flood = format!("GET again {CHANGED}");
    endures(Bed::far(&[&LIST.replace('\n', " "), "GET stream", &flood]));
}

#[test]
fn logs_and_questions_without_end_hurt_nobody() {
    for message in [
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}"#,
        r#"{"jsonrpc":"2.0","id":"q$n","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":"q$n","method":"roots/list"}"#,
        r#"{"jsonrpc":"2.0","id":"q$n","result":{}}"#,
        "garbage",
    ] {
        endures(Bed::piped(&[&format!("notifications/initialized meanwhile again {message}")]));
    }
}

#[test]
fn who_floods_and_never_reads_is_named() {
    check(
        Bed::piped,
        &[Case(
            &[r#"notifications/initialized again {"jsonrpc":"2.0","id":"q$n","method":"ping"}"#],
            &["`bad`", "within 1s"],
        )],
    );
}
