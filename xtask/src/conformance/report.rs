//! The table of a run, and how much of what is required is met. Prints nothing itself.

use super::checks::{Scenario, Status};
use super::{Run, Selection};

/// What is counted, and what the column is called.
const COLUMNS: [(Status, &str); 5] = [
    (Status::Success, "passed"),
    (Status::Failure, "failed"),
    (Status::Warning, "warned"),
    (Status::Info, "noted"),
    (Status::Skipped, "skipped"),
];

/// A line for each scenario.
pub(super) fn table(scenarios: &[Scenario]) -> String {
    let width = scenarios.iter().map(|scenario| scenario.name.len()).max().unwrap_or_default();
    let line = |run: &str, name: &str, cells: [String; COLUMNS.len()]| {
        let cells = cells.map(|cell| format!("{cell:>7}")).join("  ");
        format!("{run:<31}  {name:<width$}  {cells}")
    };
    let mut lines = vec![line("run", "scenario", COLUMNS.map(|(_, name)| name.to_owned()))];
    lines.extend(scenarios.iter().map(|scenario| {
        let counts = COLUMNS.map(|(status, _)| scenario.count(status).to_string());
        line(&scenario.run.name(), &scenario.name, counts)
    }));
    lines.join("\n")
}

/// How many of the required scenarios are met.
pub(super) fn score(run: Run, required: &[String], seen: &[Scenario]) -> String {
    let is_met = |name: &&String| seen.iter().any(|seen| seen.name == **name && seen.is_met());
    let met = required.iter().filter(is_met).count();
    format!("{}: {met} of {} required scenarios are met", run.name(), required.len())
}

/// A line for each scenario that is known not to be met, with the reason.
pub(super) fn unmet(scenarios: &[Scenario]) -> String {
    let line = |scenario: &Scenario| {
        let reason = scenario.why_unmet().unwrap_or_default();
        format!("not scored and not met: {} {}: {reason}\n", scenario.run.name(), scenario.name)
    };
    scenarios.iter().map(line).collect()
}

/// A line for each of those that is met.
pub(super) fn met_after_all(unmet: &[Scenario]) -> Vec<String> {
    let met = unmet.iter().filter(|scenario| scenario.is_met());
    let line = |scenario: &Scenario| {
        let (run, name) = (scenario.run.name(), &scenario.name);
        format!("{run} {name}: it is met, remove it from those that are not")
    };
    met.map(line).collect()
}

/// A line if the suite requires another number of scenarios than it should, and for each that did
/// not run, required or beside those.
pub(super) fn missing(run: Run, required: &[String], seen: &[Scenario]) -> Vec<String> {
    let Selection::Required { count, beside, .. } = run.selection else { return Vec::new() };
    let run = run.name();
    let has_run = |name: &str| seen.iter().any(|seen| seen.name == name);
    let mut missing = Vec::new();
    if required.len() != count {
        let found = required.len();
        missing.push(format!("{run}: the suite requires {found} scenarios, not {count}"));
    }
    for name in required.iter().filter(|name| !has_run(name)) {
        missing.push(format!("{run} {name}: it is required and did not run"));
    }
    for name in beside.iter().filter(|name| !has_run(name)) {
        missing.push(format!("{run} {name}: it is not scored, but did not run"));
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::super::checks::Check;
    use super::super::leg::Leg;
    use super::{Run, Scenario, Selection, Status, met_after_all, missing, score, table, unmet};

    fn scenario(name: &str, statuses: &[Status]) -> Scenario {
        let check = |&status: &Status| Check { id: "c".to_owned(), status, said: String::new() };
        let checks = statuses.iter().map(check).collect();
        Scenario { run: run(0, &[]), name: name.to_owned(), checks }
    }

    #[test]
    fn every_scenario_has_a_line_of_numbers() {
        let seen = [
            scenario("ping", &[Status::Success, Status::Success, Status::Info]),
            scenario("tools-list", &[Status::Failure, Status::Warning, Status::Skipped]),
        ];
        let table = table(&seen);
        let lines: Vec<Vec<&str>> =
            table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1], ["2026-07-28", "client", "ping", "2", "0", "0", "1", "0"]);
        assert_eq!(lines[2], ["2026-07-28", "client", "tools-list", "0", "1", "1", "0", "1"]);
    }

    #[test]
    fn what_did_not_run_or_showed_nothing_is_not_met() {
        let required = ["a", "b", "c", "d"].map(str::to_owned);
        let seen = [
            scenario("a", &[Status::Success]),
            scenario("b", &[Status::Success, Status::Failure]),
            scenario("c", &[Status::Info]),
        ];
        let scored = score(run(4, &[]), &required, &seen);
        assert_eq!(scored, "2026-07-28 client: 1 of 4 required scenarios are met");
        let missed = missing(run(4, &["b", "c"]), &required, &seen);
        assert_eq!(missed, ["2026-07-28 client d: it is required and did not run"]);
    }

    #[test]
    fn what_is_not_scored_must_run_and_no_requirement_may_vanish() {
        let required = ["a"].map(str::to_owned);
        let seen = [scenario("a", &[Status::Success]), scenario("x", &[Status::Success])];
        assert_eq!(missing(run(1, &["x"]), &required, &seen), [""; 0]);
        let missed = missing(run(2, &["x", "y"]), &required, &seen);
        let expected = [
            "2026-07-28 client: the suite requires 1 scenarios, not 2",
            "2026-07-28 client y: it is not scored, but did not run",
        ];
        assert_eq!(missed, expected);
    }

    #[test]
    fn what_is_known_not_to_be_met_is_told_with_its_reason_until_it_is_met() {
        let failed = scenario("known", &[Status::Success, Status::Failure]);
        let expected =
            "not scored and not met: 2026-07-28 client known: it is far away\n".to_owned();
        assert_eq!(unmet(std::slice::from_ref(&failed)), expected);
        assert_eq!(met_after_all(&[failed]), [""; 0]);
        assert_eq!(met_after_all(&[scenario("known", &[Status::Success])]).len(), 1);
        assert_eq!(scenario("other", &[Status::Failure]).why_unmet(), None);
    }

    fn run(count: usize, beside: &'static [&'static str]) -> Run {
        let unmet = &[("known", "it is far away")];
        let selection = Selection::Required { count, beside, unmet };
        Run { leg: Leg::Client, revision: "2026-07-28", selection }
    }
}
