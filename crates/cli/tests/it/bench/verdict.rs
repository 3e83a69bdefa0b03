//! What `haft bench` holds a report against: conditions, and an earlier report. It never looks at
//! how the figures come about.

use super::{answering, failure};
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
