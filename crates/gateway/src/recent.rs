//! The latest requests that were passed on, for whoever runs the gateway; kept only once somebody
//! wants them. Filled by `forward`, told by `admin`.

use crate::limits::{FAILURE_CHARS_MAX, RECENT_MAX};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// See above.
#[derive(Default)]
pub(crate) struct Recent {
    is_on: AtomicBool,
    latest: Mutex<VecDeque<Passed>>,
}

/// One of them. Neither arguments nor results are kept: they may be secret.
struct Passed {
    at: SystemTime,
    method: &'static str,
    upstream: Box<str>,
    /// Its name there.
    name: Box<str>,
    took: Duration,
    /// Why it has no result.
    failure: Option<Box<str>>,
}

impl Recent {
    pub(crate) fn turn_on(&self) {
        self.is_on.store(true, Ordering::Relaxed);
    }

    /// When a request begins, if it is kept.
    pub(crate) fn begin(&self) -> Option<Instant> {
        self.is_on.load(Ordering::Relaxed).then(Instant::now)
    }

    pub(crate) fn end(
        &self,
        began: Instant,
        method: &'static str,
        (upstream, name): (&str, &str),
        failure: Option<&str>,
    ) {
        let passed = Passed {
            at: SystemTime::now(),
            method,
            upstream: upstream.into(),
            name: name.into(),
            took: began.elapsed(),
            failure: failure.map(|why| why.chars().take(FAILURE_CHARS_MAX).collect()),
        };
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if latest.len() == RECENT_MAX {
            latest.pop_front();
        }
        latest.push_back(passed);
    }

    /// The latest first.
    pub(crate) fn told(&self) -> Value {
        let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let told = latest.iter().rev().map(|one| {
            json!({
                "at": one.at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64(),
                "method": one.method,
                "upstream": one.upstream,
                "name": one.name,
                "tookMs": one.took.as_secs_f64() * 1000.0,
                "failure": one.failure,
            })
        });
        told.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_kept_and_no_more() {
        let recent = Recent::default();
        assert!(recent.begin().is_none(), "nobody wants them");
        recent.turn_on();
        for number in 0..RECENT_MAX + 3 {
            let began = recent.begin().expect("it is on");
            let failure = (number % 2 == 0).then_some("lost");
            recent.end(began, "tools/call", ("a", &number.to_string()), failure);
        }
        let told = recent.told();
        let told = told.as_array().expect("a list");
        assert_eq!(told.len(), RECENT_MAX);
        assert_eq!(told[0]["name"], (RECENT_MAX + 2).to_string());
        assert_eq!(told[0]["failure"], "lost");
        assert_eq!(told[RECENT_MAX - 1]["name"], "3");
    }
}
