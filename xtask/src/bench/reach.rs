//! How far haft means to get and how far it is: the rows of the README, each made of the cases that
//! were measured for it, the worst of them. `pages` writes them; nothing is measured here.

mod rows;

use std::cmp::Ordering;

use serde_json::Value;

use super::aim::{Aim, Interval, Verdict};
use super::gateway::{self, Figure};
use super::scenario::Scenario;
use super::server::{Group, PEERS};
use super::wishes::Wishes;
use super::{faults, shown, table};
use rows::{From, ROWS, Row};

/// What was measured, by table.
pub(super) type Files<'a> = &'a dyn Fn(&str) -> &'a [Value];

/// What was found for a row: where, the interval, the marks of what bounded it, and what its
/// command is told besides.
struct Found {
    beside: String,
    interval: Interval,
    marks: String,
    again: String,
}

/// What is not there of a row, by name; nothing if nothing of it is.
type Missing = Vec<String>;

/// The table of all rows.
pub(super) fn table(files: Files<'_>) -> String {
    let mut out = "| what | beside | haft is × (95%) | aim | command |\n".to_owned();
    out += "| --- | --- | --- | --- | --- |\n";
    for row in ROWS {
        let (beside, measured, aim, again) = match row.found(files) {
            Err(missing) => {
                let colon = if missing.is_empty() { "" } else { ": " };
                let said = format!("not measured yet{colon}{}", missing.join(", "));
                (row.beside(), said, shown::aimed(row.aim), String::new())
            }
            Ok(found) => {
                let interval = found.interval;
                let is_sure = interval.low == interval.high;
                let exact = if interval.ratio.fract() == 0.0 {
                    shown::grouped(interval.ratio)
                } else {
                    format!("{:.3}", interval.ratio)
                };
                let measured = if is_sure { exact } else { shown::interval(interval) };
                let aim = shown::aim(Some(row.aim), interval);
                (found.beside, measured + &found.marks, aim, found.again)
            }
        };
        let (what, words) = (row.what, row.words);
        let command = format!("`cargo xtask bench {words}{again}`");
        out += &format!("| {what} | {beside} | {measured} | {aim} | {command} |\n");
    }
    let notes = shown::notes(&out);
    out + &notes
}

impl Found {
    fn of(case: &Value, beside: String, interval: Interval) -> Self {
        let (marks, again) = (table::marks(case), Wishes::told_again(case));
        Self { beside, interval, marks, again }
    }
}

impl Row {
    fn beside(&self) -> String {
        match self.from {
            From::Beside(.., name) => name.to_owned(),
            From::FastestPeer(..) => "the fastest peer".to_owned(),
            From::Gateway(.., Figure::SessionBytes) => String::new(),
            From::Gateway(_, against, _) => {
                let all: Vec<_> =
                    against.iter().map(|it| gateway::beside(it, &Value::Null)).collect();
                all.join(" and ")
            }
            From::Memory(name) if name.starts_with("calls") => {
                "that after the first 100 000 calls".to_owned()
            }
            From::AtRest(_) => "that of the server at rest, before any call".to_owned(),
            From::Memory(_) | From::Allocations => String::new(),
        }
    }

    /// The worst of what was measured for it, or what is missing of that.
    fn found(&self, files: Files<'_>) -> Result<Found, Missing> {
        let mut all: Vec<Found> = match &self.from {
            From::Beside(file, scenarios, against, _) => {
                let of = |scenario: &str| {
                    let case = named(files(file), scenario, against).ok_or_else(Missing::new)?;
                    let interval = interval(case, None).filter(|_| faults::of(case).is_none());
                    let interval = interval.ok_or_else(|| vec![format!("{scenario} failed")])?;
                    Ok(Found::of(case, self.beside(), interval))
                };
                each(scenarios, of)?
            }
            From::FastestPeer(scenarios, figure) => {
                each(scenarios, |scenario| beside_fastest(files("peers"), scenario, figure))?
            }
            From::Gateway(scenarios, against, figure) => {
                in_front(files(gateway::TABLE), scenarios, against, *figure)?
            }
            From::Memory(name) => {
                let case = files("memory").iter().find(|case| case["scenario"] == *name);
                let value = case.and_then(|case| case["value"].as_f64());
                vec![exactly(self.beside(), value.ok_or_else(Missing::new)?)]
            }
            From::AtRest(name) => {
                let case = files("memory").iter().find(|case| case["scenario"] == *name);
                let bytes = |key: &str| case.and_then(|case| case[key].as_f64());
                let both = bytes("after_bytes").zip(bytes("rest_bytes").filter(|it| *it > 0.0));
                let (after, rest) = both.ok_or_else(Missing::new)?;
                vec![exactly(self.beside(), after / rest)]
            }
            From::Allocations => {
                let counts = files("codec").iter().map(|case| case["haft"]["allocations"].as_f64());
                let counts: Option<Vec<_>> = counts.collect();
                let most = counts.and_then(|counts| counts.into_iter().max_by(f64::total_cmp));
                vec![exactly(self.beside(), most.ok_or_else(Missing::new)?)]
            }
        };
        all.sort_by(|one, other| self.worse(one.interval, other.interval));
        all.into_iter().next().ok_or_else(Missing::new)
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

/// What was found in all of these scenarios. Where something is there, all that is not is named.
fn each(
    scenarios: &[&str],
    of: impl Fn(&str) -> Result<Found, Missing>,
) -> Result<Vec<Found>, Missing> {
    let all: Vec<(&str, Result<Found, Missing>)> =
        scenarios.iter().map(|scenario| (*scenario, of(scenario))).collect();
    let is_untouched =
        |found: &Result<Found, Missing>| found.as_ref().is_err_and(|missing| missing.is_empty());
    if all.iter().all(|(_, found)| is_untouched(found)) {
        return Err(Missing::new());
    }
    let (mut there, mut missing) = (Vec::new(), Missing::new());
    for (scenario, found) in all {
        match found {
            Ok(found) => there.push(found),
            Err(names) if names.is_empty() => missing.push(scenario.to_owned()),
            Err(names) => missing.extend(names),
        }
    }
    if missing.is_empty() { Ok(there) } else { Err(missing) }
}

/// A figure in front of another server, wherever it is measured; all that is not is named.
fn in_front(
    cases: &[Value],
    scenarios: &[&str],
    against: &[&str],
    figure: Figure,
) -> Result<Vec<Found>, Missing> {
    let about = gateway::SCENARIOS.iter().filter(|scenario| scenarios.contains(&scenario.name));
    let pairs = about.flat_map(|scenario| {
        let is_of = |name: &&&str| scenario.beside.contains(name);
        against.iter().filter(is_of).map(move |against| (scenario.name, *against))
    });
    let (mut there, mut missing, mut touched) = (Vec::new(), Missing::new(), false);
    for (scenario, against) in pairs {
        let case = named(cases, scenario, against);
        touched |= case.is_some();
        let found = case.filter(|case| faults::of(case).is_none()).and_then(|case| {
            if figure == Figure::SessionBytes {
                return Some(exactly(String::new(), case["value"].as_f64()?));
            }
            let interval = interval(case, Some(figure.name()))?;
            let beside = format!("{}, {scenario}", gateway::beside(against, case));
            Some(Found::of(case, beside, interval))
        });
        match (found, case) {
            (Some(found), _) => there.push(found),
            (None, Some(_)) => missing.push(format!("{scenario} {against} failed")),
            (None, None) => missing.push(format!("{scenario} {against}")),
        }
    }
    match (touched, missing.is_empty()) {
        (false, _) => Err(Missing::new()),
        (true, true) => Ok(there),
        (true, false) => Err(missing),
    }
}

fn exactly(beside: String, value: f64) -> Found {
    let interval = Interval { ratio: value, low: value, high: value };
    Found { beside, interval, marks: String::new(), again: String::new() }
}

fn named<'a>(cases: &'a [Value], scenario: &str, against: &str) -> Option<&'a Value> {
    cases.iter().find(|case| case["scenario"] == *scenario && case["against"] == *against)
}

/// The figure of a case, or the one that it is about.
fn interval(case: &Value, figure: Option<&str>) -> Option<Interval> {
    let figures = figure.map_or_else(|| vec!["per_second", "time", "p50"], |figure| vec![figure]);
    figures.into_iter().find_map(|figure| Interval::read(&case["ratios"][figure]))
}

/// haft beside the peer that has the most answers a second of all that suit the scenario. One that
/// failed in it is slower than any that did not, unless what came out says otherwise; of one
/// without a case, nobody knows.
fn beside_fastest(peers: &[Value], scenario: &str, figure: &str) -> Result<Found, Missing> {
    let about = Scenario::named(scenario).ok_or_else(Missing::new)?;
    let (mut known, mut failed, mut missing) = (Vec::new(), Vec::new(), Missing::new());
    let suitable = PEERS.iter().filter(|server| about.suits(server, Group::Peer));
    for server in suitable {
        let case = named(peers, scenario, server.name);
        let ahead = case.and_then(|case| Interval::read(&case["ratios"]["per_second"]));
        match (case, ahead, case.and_then(faults::of)) {
            (Some(case), Some(ahead), None) => known.push((ahead.ratio, server.name, case)),
            (Some(_), ahead, Some(_)) => {
                failed.push((ahead.map_or(f64::MAX, |it| it.ratio), server.name));
            }
            _ => missing.push(format!("{scenario} {}", server.name)),
        }
    }
    if !missing.is_empty() {
        // Nothing of it is there at all: its own name says enough.
        let is_untouched = known.is_empty() && failed.is_empty();
        return Err(if is_untouched { Missing::new() } else { missing });
    }
    let fastest = known.into_iter().min_by(|one, other| one.0.total_cmp(&other.0));
    let (least, name, case) = fastest.ok_or_else(|| vec![format!("{scenario}, all failed")])?;
    if let Some((_, faster)) = failed.iter().find(|(ahead, _)| *ahead <= least) {
        return Err(vec![format!("{scenario} {faster} failed")]);
    }
    let version = case["versions"][name].as_str().unwrap_or_default();
    let mut beside = format!("{name} {version}, {scenario}");
    if !failed.is_empty() {
        let names: Vec<&str> = failed.iter().map(|(_, name)| *name).collect();
        beside += &format!(" ({} failed)", names.join(", "));
    }
    let interval = interval(case, Some(figure));
    let interval = interval.ok_or_else(|| vec![format!("{figure} of {scenario} {name}")])?;
    Ok(Found::of(case, beside, interval))
}

#[cfg(test)]
mod tests {
    use super::{From, ROWS, Row, table};
    use crate::bench::aim::Aim;
    use crate::bench::gateway;
    use crate::bench::pairs::{Pair, Table};
    use crate::bench::scenario::{SCENARIOS, Scenario};
    use crate::bench::server::{Group, PEERS, Server};
    use serde_json::{Value, json};

    fn case(scenario: &str, against: &str, ratio: [f64; 3]) -> Value {
        json!({
            "scenario": scenario, "against": against, "versions": { against: "1.2.3" },
            "ratios": { "per_second": ratio, "p99": [0.5, 0.4, 0.6] },
        })
    }

    /// All that speak HTTP, one of them faster than the others.
    fn all(scenario: &str, fastest: &str, ratio: [f64; 3]) -> Vec<Value> {
        let of = |server: &Server| {
            let ratio = if server.name == fastest { ratio } else { [9.0, 8.9, 9.1] };
            case(scenario, server.name, ratio)
        };
        PEERS.iter().filter(|server| server.speaks_http()).map(of).collect()
    }

    fn row(peers: &[Value], what: &str) -> String {
        let peers = |file: &str| if file == "peers" { peers } else { &[] };
        let table = table(&peers);
        table.lines().find(|line| line.starts_with(&format!("| {what} |"))).expect(what).to_owned()
    }

    const ONE: &str = "HTTP, echo, 1 connection";

    #[test]
    fn a_row_is_told_beside_the_fastest_peer() {
        let peers = all("http-echo-1", "mcp-go", [1.5, 1.4, 2.2]);
        let expected = "| HTTP, echo, 1 connection | mcp-go 1.2.3, http-echo-1 \
                        | 1.50 (1.40 to 2.20) ‡ | ≥ 2: not decided \
                        | `cargo xtask bench peers http-echo-1` |";
        assert_eq!(row(&peers, ONE), expected);
        assert!(row(&peers, "decoding a message").contains("not measured yet | ≥ 5 |"));
        let mut peers = peers;
        peers.iter_mut().for_each(|case| case["seconds"] = 2.into());
        assert!(
            row(&peers, ONE).ends_with("| `cargo xtask bench peers http-echo-1 --seconds 2` |")
        );
    }

    #[test]
    fn nobody_is_the_fastest_while_one_is_not_measured() {
        let mut peers = all("http-echo-1", "mcp-go", [3.0, 2.9, 3.1]);
        peers.retain(|case| case["against"] != "rmcp");
        let said = row(&peers, ONE);
        let expected = "| the fastest peer | not measured yet: http-echo-1 rmcp | ≥ 2 |";
        assert!(said.contains(expected), "{said}");
        // One that was measured and failed is slower than any that did not.
        let failed = json!({
            "scenario": "http-echo-1", "against": "rmcp", "failed": "no answer in time",
        });
        peers.push(failed.clone());
        let said = row(&peers, ONE);
        assert!(said.contains("| mcp-go 1.2.3, http-echo-1 (rmcp failed) | 3.00 "), "{said}");
        let every = |server: &Server| {
            let mut failed = failed.clone();
            failed["against"] = server.name.into();
            failed
        };
        let peers: Vec<Value> = PEERS.iter().map(every).collect();
        let said = row(&peers, ONE);
        assert!(said.contains("not measured yet: http-echo-1, all failed | ≥ 2 |"), "{said}");
    }

    #[test]
    fn nobody_is_the_fastest_beside_a_faster_one_that_failed() {
        let mut peers = all("http-echo-1", "mcp-go", [3.0, 2.9, 3.1]);
        let at =
            |name: &str| PEERS.iter().filter(|it| it.speaks_http()).position(|it| it.name == name);
        let (fastmcp, mcp_go) = (at("fastmcp").expect("a peer"), at("mcp-go").expect("a peer"));
        peers[fastmcp]["rounds_without_answers"] = 2.into();
        let said = row(&peers, ONE);
        assert!(said.contains("| mcp-go 1.2.3, http-echo-1 (fastmcp failed) | 3.00 "), "{said}");
        peers[mcp_go]["rounds_without_answers"] = 1.into();
        let said = row(&peers, ONE);
        assert!(said.contains("not measured yet: http-echo-1 mcp-go failed | ≥ 2 |"), "{said}");
    }

    #[test]
    fn a_row_of_several_cases_is_the_worst_and_there_only_if_all_are() {
        let mut peers = all("http-echo-32", "rmcp", [5.0, 4.9, 5.1]);
        peers.extend(all("http-64k-1", "go-sdk", [3.0, 2.9, 3.1]));
        let what = "HTTP, echo, 32 connections, and 64 KiB";
        let said = row(&peers, what);
        assert!(said.contains("not measured yet: http-64k-32 |"), "{said}");
        peers.extend(all("http-64k-32", "rmcp", [3.6, 3.0, 4.0]));
        assert!(row(&peers, what).contains("go-sdk 1.2.3, http-64k-1 | 3.00 (2.90 to 3.10)"));
        assert!(row(&peers, what).contains("≥ 3.5: not met"));
    }

    #[test]
    fn what_bounded_a_row_is_marked_and_explained() {
        let mut peers = all("modern-echo-32", "rmcp", [5.0, 4.9, 5.1]);
        for case in &mut peers {
            case["theirs"] = json!({ "load_use": 0.5, "processors": 0.99 });
            case["haft"] = json!({ "load_use": 0.6, "processors": 0.7 });
        }
        let what = "HTTP, the modern era, 32 connections";
        let said = row(&peers, what);
        assert!(said.contains("| 5.00 (4.90 to 5.10) § | ≥ 3.5: met |"), "{said}");
        assert!(table(&|_| &peers).contains("\n§ neither the server nor the load"));
        peers.iter_mut().for_each(|case| case["haft"]["load_use"] = 0.95.into());
        assert!(row(&peers, what).contains("(4.90 to 5.10) † |"));
    }

    fn aimed(scenario: &Scenario, aim: f64) -> Aim {
        if scenario.is_cold() { Aim::AtMost(aim) } else { Aim::AtLeast(aim) }
    }

    /// Whether a row is of a scenario against a server.
    fn is_of(row: &Row, scenario: &Scenario, server: &Server, group: Group) -> bool {
        match (&row.from, group) {
            (From::Beside("limits", names, against, _), Group::Limit) => {
                names.contains(&scenario.name) && *against == server.name
            }
            (From::FastestPeer(names, "per_second"), Group::Peer) => names.contains(&scenario.name),
            _ => false,
        }
    }

    #[test]
    fn each_aim_of_a_scenario_is_a_row_of_that_aim() {
        for (scenario, group) in
            SCENARIOS.iter().flat_map(|it| [(it, Group::Limit), (it, Group::Peer)])
        {
            for server in Server::all(group).iter().filter(|it| scenario.suits(it, group)) {
                let aim = scenario.reach(server, group).map(|aim| aimed(scenario, aim));
                let of = ROWS.iter().filter(|row| is_of(row, scenario, server, group));
                let rows: Vec<Aim> = of.map(|row| row.aim).collect();
                let aims: Vec<Aim> = aim.into_iter().collect();
                assert_eq!(rows, aims, "{} {}", scenario.name, server.name);
            }
        }
    }

    #[test]
    fn every_row_is_of_something_that_is_measured() {
        for row in ROWS {
            match &row.from {
                From::Beside("limits", scenarios, against, _) => {
                    let is_known = |name: &&str| {
                        let known = |server: &&Server| server.name == *against;
                        let server = Server::all(Group::Limit).iter().find(known);
                        let scenario = Scenario::named(name);
                        scenario.zip(server).is_some_and(|(it, of)| it.suits(of, Group::Limit))
                    };
                    assert!(scenarios.iter().all(is_known), "{scenarios:?} {against}");
                }
                From::Beside(file, scenarios, against, _) => {
                    let pairs = Table::named(file).expect("a table").pairs();
                    let of = |name: &&str| {
                        let is_it =
                            |pair: &&Pair| pair.scenario == *name && pair.against == *against;
                        pairs.iter().find(is_it).map(|pair| pair.aim)
                    };
                    let aims: Option<Vec<_>> = scenarios.iter().map(of).collect();
                    let aims = aims.expect("pairs of these names");
                    let is_same = |aim: &Option<f64>| aim.map(Aim::AtLeast) == Some(row.aim);
                    assert!(aims.iter().all(is_same), "{}: another aim there", row.what);
                }
                From::FastestPeer(scenarios, _) => {
                    let known = |name: &&str| Scenario::named(name).is_some();
                    assert!(scenarios.iter().all(known), "{scenarios:?}");
                }
                From::Gateway(scenarios, against, figure) => {
                    let about = gateway::SCENARIOS.iter().filter(|it| scenarios.contains(&it.name));
                    let aims: Vec<_> = about
                        .flat_map(|it| {
                            against
                                .iter()
                                .filter(|of| it.beside.contains(*of))
                                .map(move |of| it.figures(of))
                        })
                        .map(|all| {
                            all.iter().find(|(known, _)| known == figure).and_then(|it| it.1)
                        })
                        .collect();
                    assert!(!aims.is_empty(), "{}: nothing is of it", row.what);
                    assert!(aims.iter().all(|aim| *aim == Some(row.aim)), "{}: {aims:?}", row.what);
                }
                From::Memory(_) | From::AtRest(_) | From::Allocations => {}
            }
        }
    }

    #[test]
    fn a_row_of_a_gateway_is_the_worst_of_all_beside_whom_it_is() {
        let of = |scenario: &str, against: &str, ratio: [f64; 3]| {
            let mut case = case(scenario, against, ratio);
            case["ratios"] = json!({ "added_p50_us": ratio });
            case
        };
        let mut cases = vec![
            of("legacy-echo-1", "nginx", [1.1, 1.0, 1.2]),
            of("legacy-echo-1", "haproxy", [1.4, 1.3, 1.45]),
            of("modern-echo-1", "nginx", [1.2, 1.1, 1.3]),
        ];
        let row = |cases: &[Value]| {
            let table = table(&|file| if file == "gateway" { cases } else { &[] });
            let is_it = |line: &&str| line.contains("`cargo xtask bench gateway echo-1`");
            table.lines().find(is_it).expect("a row").to_owned()
        };
        assert!(row(&[]).contains("| nginx and haproxy | not measured yet | ≤ 1.5 |"));
        let said = row(&cases);
        assert!(said.contains("not measured yet: modern-echo-1 haproxy | ≤ 1.5 |"), "{said}");
        let mut last = of("modern-echo-1", "haproxy", [1.0, 0.9, 1.1]);
        last["failed"] = "it is not there".into();
        cases.push(last);
        let said = row(&cases);
        assert!(said.contains("not measured yet: modern-echo-1 haproxy failed |"), "{said}");
        cases[3] = of("modern-echo-1", "haproxy", [1.0, 0.9, 1.1]);
        let said = row(&cases);
        let expected = "| haproxy 1.2.3, legacy-echo-1 | 1.40 (1.30 to 1.45) | ≤ 1.5: met |";
        assert!(said.contains(expected), "{said}");
    }

    #[test]
    fn memory_is_also_told_beside_that_at_rest() {
        let cases = [json!({
            "scenario": "calls-modern", "value": 1.015,
            "rest_bytes": 8_000_000, "before_bytes": 9_000_000, "after_bytes": 9_600_000,
        })];
        let table = table(&|file| if file == "memory" { &cases } else { &[] });
        let row = "| the same | that of the server at rest, before any call | 1.200 | ≤ 1.05: not";
        assert!(table.contains(row), "{table}");
    }
}
