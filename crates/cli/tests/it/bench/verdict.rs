//! What `haft bench` holds a report against: conditions, and an earlier report. It never looks at
//! how the figures come about.

use super::{answering, bench, failure};
use crate::haft::{Ran, haft};

#[test]
fn conditions_are_of_both_servers_that_are_compared() {
    let each =
        "sleep 0.02; printf '{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"tools\":[]}}\\n' $id";
    let slow = answering(each);
    let quick = answering(each.trim_start_matches("sleep 0.02; "));
    let judged = |first: &str, second: &str, condition: &str| -> Ran {
        let turns = ["-d", "60ms", "--rounds", "1", "--warmup", "0", "--era", "modern"];
        let both = ["bench", "--command", first, "--compare-command", second];
        haft(both.iter().chain(&turns).chain(&["--fail-if", condition]))
    };
    for (first, second, which) in [(&slow, &quick, "first"), (&quick, &slow, "second")] {
        let (code, said) = failure(&judged(first, second, "p50>15ms"));
        assert_eq!(code, Some(8), "{said}");
        assert!(said.starts_with(&format!("the {which} server: p50>15ms: it is ")), "{said}");
        assert!(!said.contains(';'), "the other one is well: {said}");
        assert_eq!(judged(first, second, "p50>60s").code, Some(0));
    }
    let (code, said) = failure(&judged("yes hello", &quick, "p50>60s"));
    assert_eq!(code, Some(4), "a wrong answer of the first counts as well: {said}");
}

#[test]
fn a_stall_at_the_end_is_in_the_latencies() {
    // The last tenth and a half of a second of two: fifteen requests are due, and none is sent.
    let each = "n=$((n+1)); [ $n = 185 ] && sleep 0.5; \
                printf '{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"tools\":[]}}\\n' $id";
    let stalled = answering(each);
    let more = ["--era", "modern", "--rate", "100", "-d", "2s", "--json"];
    let ran = bench(&["--command", &stalled], &[&more[..], &["--fail-if", "p99>50ms"]].concat());
    let found = ran.json();
    let unsent = found["unsent"].as_u64().expect("a number");
    assert!((5..=20).contains(&unsent), "{found}");
    let p99 = found["latency"]["p99_ns"].as_u64().expect("nanoseconds");
    assert!(p99 > 50_000_000, "{unsent} of 200 waited: {p99}");
    assert_eq!(ran.code, Some(8), "{ran:?}");
    assert!(ran.stderr.contains("p99>50ms: it is "), "{}", ran.stderr);
}
