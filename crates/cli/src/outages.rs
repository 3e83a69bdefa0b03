//! Upstreams that a verb cannot see into: those of a file are down, or have not answered yet, while
//! the haft that serves it for the verb answers without them. Heard from that haft's log, which it
//! writes as JSON lines.

use crate::exit::{Exit, Failure};
use crate::print::{Printer, one_line};
use haft_client::Hearing;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// What is known of the upstreams of a file so far. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Outages(watch::Sender<BTreeMap<String, State>>);

/// What an upstream is, as far as that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Unknown,
    Ready,
    Down(String),
}

impl Outages {
    /// Of upstreams with these names, of which nothing is known yet.
    pub(crate) fn of(names: impl IntoIterator<Item = String>) -> Self {
        let all = names.into_iter().map(|name| (name, State::Unknown));
        Self(watch::Sender::new(all.collect()))
    }

    /// What hears the log. A person who wants to see all of it does.
    pub(crate) fn hearing(&self, printer: Printer) -> Hearing {
        let outages = self.clone();
        Arc::new(move |line| {
            let event: Value = serde_json::from_str(line).unwrap_or_default();
            outages.take(&event["upstream"]);
            if printer.is_verbose() {
                repeat(&event, line, printer);
            }
        })
    }

    fn take(&self, upstream: &Value) {
        let Some(name) = upstream["name"].as_str() else { return };
        let state = match (upstream["state"].as_str(), upstream["reason"].as_str()) {
            (Some("down"), Some(reason)) => State::Down(reason.to_owned()),
            (Some("ready"), _) => State::Ready,
            _ => return,
        };
        self.0.send_modify(|all| _ = all.insert(name.to_owned(), state));
    }

    /// Waits until each has answered or is down, but no longer than this.
    pub(crate) async fn settle(&self, most: Duration) {
        let mut all = self.0.subscribe();
        let settled = all.wait_for(|all| !all.values().any(|state| *state == State::Unknown));
        _ = timeout(most, settled).await;
    }

    /// Those that cannot be used, in the order of their names, and why.
    pub(crate) fn list(&self) -> Vec<(String, String)> {
        let all = self.0.borrow();
        let reasons = all.iter().filter_map(|(name, state)| match state {
            State::Ready => None,
            State::Down(reason) => Some((name.clone(), format!("down: {reason}"))),
            State::Unknown => Some((name.clone(), "not there yet: it has not answered".to_owned())),
        });
        reasons.collect()
    }

    /// Says which cannot be used, as a warning for each.
    pub(crate) fn tell(&self, printer: Printer) {
        for (name, reason) in self.list() {
            printer.for_log().warn(&format!("the upstream `{name}` is {reason}"));
        }
    }

    /// What is missing may be missing because of them.
    pub(crate) fn explain(&self, failure: Failure) -> Failure {
        match &*self.list() {
            [] => failure,
            [(name, reason), ..] => {
                let message = format!("{}; the upstream `{name}` is {reason}", failure.message);
                Failure { exit: Exit::Unreachable, message, ..failure }
            }
        }
    }
}

/// Says a line of the log as the verb would have said it.
fn repeat(event: &Value, line: &str, printer: Printer) {
    let text = |value: &Value| value.as_str().map(one_line);
    if let Some(message) = text(&event["warning"]["message"]) {
        printer.for_log().warn(&message);
    } else if let Some(message) = text(&event["note"]["message"]) {
        printer.remark(&message);
    } else if let (Some(who), Some(line)) =
        (event["said"]["upstream"].as_str(), event["said"]["line"].as_str())
    {
        printer.said(who, line);
    } else if let (Some(name), Some(state)) =
        (event["upstream"]["name"].as_str(), event["upstream"]["state"].as_str())
    {
        let reason = event["upstream"]["reason"].as_str().unwrap_or_default();
        let colon = if reason.is_empty() { "" } else { ": " };
        printer.remark(&format!("the upstream `{name}` is {state}{colon}{reason}"));
    } else if event.is_null() {
        printer.remark(line);
    }
}

/// What a haft that ended said of why, in its last words.
pub(crate) fn last_failure(words: &str) -> Option<String> {
    let event: Value = serde_json::from_str(words.trim()).ok()?;
    event["error"]["message"].as_str().map(one_line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_upstream_is_what_it_was_last_said_to_be() {
        let outages = Outages::of(["a".to_owned(), "b".to_owned()]);
        let hear = outages.hearing(Printer::new(true, false));
        let late = "b is not there yet: it has not answered";
        for (event, expected) in [
            (json!({"upstream": {"name": "a", "state": "down", "reason": "x"}}), "a is down: x"),
            (json!({"upstream": {"name": "a", "state": "down", "reason": "y"}}), "a is down: y"),
            (json!({"upstream": {"name": "a", "state": "connecting"}}), "a is down: y"),
            (json!({"upstream": {"name": "a", "state": "ready", "reason": null}}), ""),
            (json!({"warning": {"message": "w"}}), ""),
            (json!("no event"), ""),
        ] {
            hear(&event.to_string());
            let list = outages.list();
            let list: Vec<_> = list.iter().map(|(name, why)| format!("{name} is {why}")).collect();
            let expected = [expected, late].into_iter().filter(|line| !line.is_empty());
            assert_eq!(list, expected.collect::<Vec<_>>(), "{event}");
        }
        hear("not even JSON");
        hear(&json!({"upstream": {"name": "b", "state": "ready"}}).to_string());
        assert_eq!(outages.list(), []);
    }

    #[test]
    fn the_last_failure_of_a_haft_is_read_from_what_it_said() {
        let words = "{\"error\":{\"code\":\"usage\",\"message\":\"no\"}}\n";
        assert_eq!(last_failure(words).as_deref(), Some("no"));
        assert_eq!(last_failure("{\"warning\":{\"message\":\"w\"}}"), None);
        assert_eq!(last_failure("text"), None);
    }
}
