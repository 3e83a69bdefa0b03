//! What whoever runs a gateway is told of its agents: as JSON under `admin`, and as figures for
//! Prometheus. The hub knows it.

use haft_agent::{Hub, State, Told, ToldLink};
use haft_server::around::Metric;
use serde_json::{Value, json};
use std::fmt::Write;

/// What is told of agents, by `figures`.
pub(crate) const METRICS: [Metric; 7] = [
    Metric {
        name: "haft_agent_linked",
        kind: "gauge",
        labels: &["agent", "transport"],
        what: "1 for the link to an agent, over `quic`, or over `tcp` where UDP is blocked.",
    },
    Metric {
        name: "haft_agent_links_total",
        kind: "counter",
        labels: &["agent"],
        what: "Links to an agent since the gateway began.",
    },
    Metric {
        name: "haft_agent_round_trip_seconds",
        kind: "gauge",
        labels: &["agent"],
        what: "How long a round trip to an agent takes, smoothed; not over TCP.",
    },
    Metric {
        name: "haft_agent_calls_in_flight",
        kind: "gauge",
        labels: &["agent"],
        what: "Calls that an agent works on.",
    },
    Metric {
        name: "haft_agent_calls_limit",
        kind: "gauge",
        labels: &["agent"],
        what: "How many it may work on now, by how long they take.",
    },
    Metric {
        name: "haft_agent_calls_waiting",
        kind: "gauge",
        labels: &["agent"],
        what: "Calls that wait for that.",
    },
    Metric {
        name: "haft_agent_calls_lost_total",
        kind: "counter",
        labels: &["agent"],
        what: "Calls of which nobody knows what became of them.",
    },
];

/// As JSON.
pub(crate) fn json(hub: &Hub) -> Value {
    let agents = hub.told().into_iter().map(|told| {
        json!({
            "name": &*told.name,
            "state": told.state.word(),
            "link": told.link.as_ref().map(link),
            "links": told.links,
            "callsLost": told.lost,
            "slots": told.slots,
            "limit": told.limit,
            "inFlight": told.in_flight,
            "waiting": told.waiting,
        })
    });
    json!({"agents": agents.collect::<Vec<_>>()})
}

fn link(link: &ToldLink) -> Value {
    let milliseconds =
        |of: fn((std::time::Duration, std::time::Duration)) -> std::time::Duration| {
            link.round_trip.map(of).map(|time| time.as_secs_f64() * 1000.0)
        };
    json!({
        "from": link.from.map(|from| from.to_string()),
        "transport": transport(link),
        "resumed": link.is_resumed,
        "ageSeconds": link.age.as_secs_f64(),
        "roundTripMs": milliseconds(|(smoothed, _)| smoothed),
        "roundTripMinMs": milliseconds(|(_, least)| least),
    })
}

fn transport(link: &ToldLink) -> &'static str {
    if link.is_over_tcp { "tcp" } else { "quic" }
}

/// In the words of Prometheus. Names of agents are letters, digits, `_` and `-`.
pub(crate) fn figures(hub: &Hub) -> String {
    let agents = hub.told();
    let mut text = String::new();
    for Metric { name, kind, what, .. } in METRICS {
        // Writing to a string cannot fail.
        _ = writeln!(text, "# HELP {name} {what}\n# TYPE {name} {kind}");
        for told in &agents {
            let Some((more, value)) = figure(name, told) else { continue };
            _ = writeln!(text, "{name}{{agent=\"{}\"{more}}} {value}", told.name);
        }
    }
    text
}

/// More labels, and the value, if there is one.
fn figure(name: &str, told: &Told) -> Option<(String, f64)> {
    let is_there = told.state != State::Absent;
    let count = |value: usize| is_there.then_some(value as f64);
    let value = match name {
        "haft_agent_linked" => {
            let link = told.link.as_ref()?;
            return Some((format!(",transport=\"{}\"", transport(link)), 1.0));
        }
        "haft_agent_links_total" => Some(told.links as f64),
        "haft_agent_round_trip_seconds" => {
            told.link.and_then(|link| link.round_trip).map(|(smoothed, _)| smoothed.as_secs_f64())
        }
        "haft_agent_calls_in_flight" => count(told.in_flight),
        "haft_agent_calls_limit" => count(told.limit),
        "haft_agent_calls_waiting" => count(told.waiting),
        _ => Some(told.lost as f64),
    };
    value.map(|value| (String::new(), value))
}
