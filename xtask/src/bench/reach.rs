//! How far haft means to get and how far it is: the rows of the README, each made of the cases that
//! were measured for it, the worst of them. `pages` writes them; nothing is measured here.

use std::cmp::Ordering;

use serde_json::Value;

use super::aim::{Aim, Interval, Verdict};
use super::shown;

/// What was measured, by table.
pub(super) type Files<'a> = &'a dyn Fn(&str) -> &'a [Value];

/// A row.
struct Row {
    what: &'static str,
    from: From,
    aim: Aim,
    /// What `cargo xtask bench` is told to measure it again.
    words: &'static str,
}

/// Where its figures are.
enum From {
    /// In these scenarios against one other, whose name is told.
    Beside(&'static str, &'static [&'static str], &'static str, &'static str),
    /// In these against whichever peer has the most answers a second.
    FastestPeer(&'static [&'static str], &'static str),
    /// The value of a figure of memory.
    Memory(&'static str),
    /// The most that the codec allocates.
    Allocations,
}

const DECODED: &[&str] = &["legacy_request", "modern_request", "notification", "response", "error"];
const CALLED: &[&str] = &["legacy", "modern"];
const LOADED: &[&str] = &["http-echo-32", "http-64k-1", "http-64k-32"];

const ROWS: &[Row] = &[
    Row {
        what: "decoding a message",
        from: From::Beside("codec", DECODED, "dom_twice", "serde_json through a DOM, twice"),
        aim: Aim::AtLeast(5.0),
        words: "codec dom_twice",
    },
    Row {
        what: "the same",
        from: From::Beside("codec", DECODED, "serde_once", "serde_json in one pass"),
        aim: Aim::AtLeast(1.5),
        words: "codec serde_once",
    },
    Row {
        what: "the same, allocations",
        from: From::Allocations,
        aim: Aim::AtMost(0.0),
        words: "codec dom_twice",
    },
    Row {
        what: "a typed call, message bytes in → bytes out",
        from: From::Beside("dispatch", CALLED, "registry", "pforge's registry alone"),
        aim: Aim::AtLeast(1.0),
        words: "dispatch registry",
    },
    Row {
        what: "the same",
        from: From::Beside("dispatch", CALLED, "pmcp", "the message through pforge and pmcp"),
        aim: Aim::AtLeast(30.0),
        words: "dispatch pmcp",
    },
    Row {
        what: "validating arguments, from their text",
        from: From::Beside("schemas", &["check"], "value", "jsonschema on a parsed value"),
        aim: Aim::AtLeast(5.0),
        words: "schemas check value",
    },
    Row {
        what: "HTTP, echo, 1 and 32 connections",
        from: From::Beside(
            "limits",
            &["http-echo-1", "http-echo-32"],
            "hyper",
            "a constant on hyper",
        ),
        aim: Aim::AtLeast(0.9),
        words: "limits http-echo hyper",
    },
    Row {
        what: "HTTP, tools/list of 130",
        from: From::Beside(
            "limits",
            &["http-tools-1", "http-tools-32"],
            "hyper",
            "a constant on hyper",
        ),
        aim: Aim::AtLeast(0.9),
        words: "limits http-tools hyper",
    },
    Row {
        what: "HTTP, the modern era",
        from: From::Beside(
            "limits",
            &["modern-echo-1", "modern-echo-32"],
            "haft-legacy",
            "our legacy era",
        ),
        aim: Aim::AtLeast(0.9),
        words: "limits modern-echo haft-legacy",
    },
    Row {
        what: "stdio, one at a time",
        from: From::Beside("limits", &["stdio-echo-1"], "pipe", "a constant on a pipe"),
        aim: Aim::AtLeast(0.85),
        words: "limits stdio-echo-1 pipe",
    },
    Row {
        what: "stdio, 64 in flight",
        from: From::Beside("limits", &["stdio-echo-64"], "pipe", "a constant on a pipe"),
        aim: Aim::AtLeast(0.4),
        words: "limits stdio-echo-64 pipe",
    },
    Row {
        what: "time from nothing to the first answer",
        from: From::Beside("limits", &["cold-echo"], "pipe", "a constant on a pipe"),
        aim: Aim::AtMost(3.0),
        words: "limits cold-echo pipe",
    },
    Row {
        what: "HTTP, 1 connection",
        from: From::FastestPeer(&["http-echo-1"], "per_second"),
        aim: Aim::AtLeast(2.0),
        words: "peers http-echo-1",
    },
    Row {
        what: "HTTP, 32 connections, and 64 KiB",
        from: From::FastestPeer(LOADED, "per_second"),
        aim: Aim::AtLeast(3.5),
        words: "peers http",
    },
    Row {
        what: "the same, P99",
        from: From::FastestPeer(LOADED, "p99"),
        aim: Aim::AtMost(1.0),
        words: "peers http",
    },
    Row {
        what: "stdio, 64 in flight",
        from: From::FastestPeer(&["stdio-echo-64"], "per_second"),
        aim: Aim::AtLeast(40.0),
        words: "peers stdio-echo-64",
    },
    Row {
        what: "heap at rest, bytes",
        from: From::Memory("heap-at-rest"),
        aim: Aim::AtMost(524_288.0),
        words: "memory heap-at-rest",
    },
    Row {
        what: "heap of a tool beyond its definition, bytes",
        from: From::Memory("heap-per-tool"),
        aim: Aim::AtMost(256.0),
        words: "memory heap-per-tool",
    },
    Row {
        what: "memory after a million calls, legacy era",
        from: From::Memory("calls-legacy"),
        aim: Aim::AtMost(1.05),
        words: "memory calls-legacy",
    },
    Row {
        what: "memory after a million calls, modern era",
        from: From::Memory("calls-modern"),
        aim: Aim::AtMost(1.05),
        words: "memory calls-modern",
    },
];

/// What was found for a row: where, and the interval.
struct Found {
    beside: String,
    interval: Interval,
}

/// The table of all rows.
pub(super) fn table(files: Files<'_>) -> String {
    let mut out = "| what | beside | haft is × (95%) | aim | command |\n".to_owned();
    out += "| --- | --- | --- | --- | --- |\n";
    for row in ROWS {
        let (beside, measured, aim) = match row.found(files) {
            None => (row.beside(), "not measured yet".to_owned(), shown::aimed(row.aim)),
            Some(found) => {
                let interval = found.interval;
                let is_sure = interval.low == interval.high;
                let exact = if interval.ratio.fract() == 0.0 {
                    shown::grouped(interval.ratio)
                } else {
                    format!("{:.3}", interval.ratio)
                };
                let measured = if is_sure { exact } else { shown::interval(interval) };
                (found.beside, measured, shown::aim(Some(row.aim), interval))
            }
        };
        let (what, words) = (row.what, row.words);
        out +=
            &format!("| {what} | {beside} | {measured} | {aim} | `cargo xtask bench {words}` |\n");
    }
    let notes = shown::notes(&out);
    out + &notes
}

impl Row {
    fn beside(&self) -> String {
        match self.from {
            From::Beside(.., name) => name.to_owned(),
            From::FastestPeer(..) => "the fastest peer".to_owned(),
            From::Memory(name) if name.starts_with("calls") => "before".to_owned(),
            From::Memory(_) | From::Allocations => String::new(),
        }
    }

    /// The worst of what was measured for it; nothing unless all of it was.
    fn found(&self, files: Files<'_>) -> Option<Found> {
        let mut all: Vec<Found> = match &self.from {
            From::Beside(file, scenarios, against, _) => {
                let of = |scenario: &&str| {
                    let case = files(file).iter().find(|case| {
                        case["scenario"] == **scenario && case["against"] == *against
                    })?;
                    Some(Found { beside: self.beside(), interval: interval(case, None)? })
                };
                scenarios.iter().map(of).collect::<Option<_>>()?
            }
            From::FastestPeer(scenarios, figure) => {
                let of = |scenario: &&str| {
                    let case = fastest(files("peers"), scenario)?;
                    let beside = format!("{}, {scenario}", peer(case)?);
                    Some(Found { beside, interval: interval(case, Some(figure))? })
                };
                scenarios.iter().map(of).collect::<Option<_>>()?
            }
            From::Memory(name) => {
                let case = files("memory").iter().find(|case| case["scenario"] == *name)?;
                vec![exactly(self.beside(), case["value"].as_f64()?)]
            }
            From::Allocations => {
                let counts = files("codec").iter().map(|case| case["haft"]["allocations"].as_f64());
                let most =
                    counts.collect::<Option<Vec<_>>>()?.into_iter().max_by(f64::total_cmp)?;
                vec![exactly(self.beside(), most)]
            }
        };
        all.sort_by(|one, other| self.worse(one.interval, other.interval));
        all.into_iter().next()
    }

    /// Who misses the aim comes first, then who is nearer to that.
    fn worse(&self, one: Interval, other: Interval) -> Ordering {
        let verdict = |of| -> Verdict { self.aim.judge(of) };
        let nearer = match self.aim {
            Aim::AtLeast(_) => one.low.total_cmp(&other.low),
            Aim::AtMost(_) => other.high.total_cmp(&one.high),
        };
        verdict(other).cmp(&verdict(one)).then(nearer)
    }
}

fn exactly(beside: String, value: f64) -> Found {
    Found { beside, interval: Interval { ratio: value, low: value, high: value } }
}

/// The figure of a case, or the one that it is about.
fn interval(case: &Value, figure: Option<&str>) -> Option<Interval> {
    let figures = figure.map_or_else(|| vec!["per_second", "time", "p50"], |figure| vec![figure]);
    figures.into_iter().find_map(|figure| Interval::read(&case["ratios"][figure]))
}

/// The peer that has the most answers a second beside haft's.
fn fastest<'a>(peers: &'a [Value], scenario: &str) -> Option<&'a Value> {
    let of = peers.iter().filter(|case| case["scenario"] == scenario);
    let ahead = |case: &Value| Interval::read(&case["ratios"]["per_second"]).map(|it| it.ratio);
    let all = of.filter_map(|case| Some((ahead(case)?, case)));
    all.min_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, case)| case)
}

fn peer(case: &Value) -> Option<String> {
    let name = case["against"].as_str()?;
    Some(format!("{name} {}", case["versions"][name].as_str()?))
}

#[cfg(test)]
mod tests {
    use super::{ROWS, table};
    use crate::bench::pairs::Table;
    use crate::bench::scenario::{SCENARIOS, Scenario};
    use crate::bench::server::{LIMITS, Server};
    use serde_json::{Value, json};

    fn case(scenario: &str, against: &str, ratio: [f64; 3]) -> Value {
        json!({
            "scenario": scenario, "against": against, "versions": { against: "1.2.3" },
            "ratios": { "per_second": ratio, "p99": [0.5, 0.4, 0.6] },
        })
    }

    fn row(peers: &[Value], what: &str) -> String {
        let peers = |file: &str| if file == "peers" { peers } else { &[] };
        let table = table(&peers);
        table.lines().find(|line| line.starts_with(&format!("| {what} |"))).expect(what).to_owned()
    }

    #[test]
    fn a_row_is_told_beside_the_fastest_peer() {
        let peers = [
            case("http-echo-1", "slow", [9.0, 8.9, 9.1]),
            case("http-echo-1", "fast", [1.5, 1.4, 2.2]),
        ];
        let expected = "| HTTP, 1 connection | fast 1.2.3, http-echo-1 | 1.50 (1.40 to 2.20) ‡ \
                        | ≥ 2: not decided | `cargo xtask bench peers http-echo-1` |";
        assert_eq!(row(&peers, "HTTP, 1 connection"), expected);
        assert!(row(&peers, "decoding a message").contains("not measured yet | ≥ 5 |"));
    }

    #[test]
    fn a_row_of_several_cases_is_the_worst_and_there_only_if_all_are() {
        let mut peers = vec![
            case("http-echo-32", "a", [5.0, 4.9, 5.1]),
            case("http-64k-1", "b", [3.0, 2.9, 3.1]),
        ];
        let what = "HTTP, 32 connections, and 64 KiB";
        assert!(row(&peers, what).contains("not measured yet"), "one is missing");
        peers.push(case("http-64k-32", "c", [3.6, 3.0, 4.0]));
        assert!(row(&peers, what).contains("b 1.2.3, http-64k-1 | 3.00 (2.90 to 3.10)"));
        assert!(row(&peers, what).contains("≥ 3.5: not met"));
    }

    #[test]
    fn every_row_is_of_something_that_is_measured() {
        for row in ROWS {
            match &row.from {
                super::From::Beside("limits", scenarios, against, _) => {
                    let known = |server: &Server| server.name == *against;
                    assert!(LIMITS.iter().any(known), "{against}");
                    let is_known = |name: &&str| Scenario::named(name).is_some();
                    assert!(scenarios.iter().all(is_known), "{scenarios:?}");
                }
                super::From::Beside(file, scenarios, against, _) => {
                    let pairs = Table::named(file).expect("a table").pairs();
                    let of = |name: &&str| {
                        let is_it = |pair: &&crate::bench::pairs::Pair| {
                            pair.scenario == *name && pair.against == *against
                        };
                        pairs.iter().find(is_it).map(|pair| pair.aim)
                    };
                    let aims: Option<Vec<_>> = scenarios.iter().map(of).collect();
                    let aims = aims.expect("pairs of these names");
                    let is_same = |aim: &Option<f64>| aim.map(super::Aim::AtLeast) == Some(row.aim);
                    assert!(aims.iter().all(is_same), "{}: another aim there", row.what);
                }
                super::From::FastestPeer(scenarios, _) => {
                    let known = |name: &&str| SCENARIOS.iter().any(|it| it.name == *name);
                    assert!(scenarios.iter().all(known), "{scenarios:?}");
                }
                super::From::Memory(_) | super::From::Allocations => {}
            }
        }
    }
}
