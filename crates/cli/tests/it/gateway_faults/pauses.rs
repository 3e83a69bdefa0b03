//! How soon an upstream is there again that dies again and again: at once if it serves between its
//! deaths, later each time if it does not.

use super::bed::{Bed, wait_until};
use super::lives::children;
use crate::gateway::signal;
use serde_json::json;
use std::time::{Duration, Instant};

#[test]
fn one_that_serves_between_its_deaths_is_back_at_once_each_time() {
    let bed = Bed::piped_with(&["never exit"], &json!({ "timeout": "20s" }));
    for death in 0..7 {
        let began = Instant::now();
        assert_eq!(bed.call("bad_try").said(), "tried", "after {death} deaths");
        // Of the pauses that double, the seventh is of 6.4 s.
        assert!(death == 0 || began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
        while began.elapsed() < Duration::from_millis(700) {
            assert_eq!(bed.call("bad_try").said(), "tried");
        }
        signal(&children(&bed, "never")[0], "-9");
        assert!(wait_until(|| bed.see("upstreams")[0]["restarts"] == death + 1));
        assert_ne!(bed.see("upstreams")[0]["state"], "down");
    }
    bed.stop().expect("an orderly end");
}

#[test]
fn one_that_dies_of_each_call_or_of_none_is_back_later_each_time() {
    for rules in [["tools/call exit", "never exit"], ["tools/list answer", "tools/list exit"]] {
        let bed = Bed::piped(&rules);
        let began = Instant::now();
        // Calls come for as long as it is there, and are all lost.
        let is_down = wait_until(|| {
            assert_ne!(bed.call("bad_try").said(), "tried");
            bed.see("upstreams")[0]["state"] == "down"
        });
        assert!(is_down, "{rules:?}: {}", bed.see("upstreams"));
        // 100, 200, 400 and 800 ms have passed; then it is taken away.
        let restarts = bed.see("upstreams")[0]["restarts"].as_u64();
        assert_eq!(restarts, Some(4), "{rules:?} after {:?}", began.elapsed());
        bed.stop().expect("an orderly end");
    }
}
