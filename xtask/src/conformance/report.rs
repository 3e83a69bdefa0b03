//! The table of a run, and how much of what is required is met. Prints nothing itself.

use super::checks::{Scenario, Status};

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
    let line = |revision: &str, name: &str, cells: [String; COLUMNS.len()]| {
        let cells = cells.map(|cell| format!("{cell:>7}")).join("  ");
        format!("{revision:<10}  {name:<width$}  {cells}")
    };
    let mut lines = vec![line("revision", "scenario", COLUMNS.map(|(_, name)| name.to_owned()))];
    lines.extend(scenarios.iter().map(|scenario| {
        let counts = COLUMNS.map(|(status, _)| scenario.count(status).to_string());
        line(scenario.revision, &scenario.name, counts)
    }));
    lines.join("\n")
}

/// How many of the required scenarios are met.
pub(super) fn score(revision: &str, required: &[String], seen: &[Scenario]) -> String {
    let is_met = |name: &&String| seen.iter().any(|seen| seen.name == **name && seen.is_met());
    let met = required.iter().filter(is_met).count();
    format!("{revision}: {met} of {} required scenarios are met", required.len())
}

/// A line for each required scenario that did not run.
pub(super) fn missing(revision: &str, required: &[String], seen: &[Scenario]) -> Vec<String> {
    let has_run = |name: &&String| seen.iter().any(|seen| seen.name == **name);
    let missing = required.iter().filter(|name| !has_run(name));
    missing.map(|name| format!("{revision} {name}: it is required and did not run")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::checks::Check;
    use super::{Scenario, Status, missing, score, table};

    fn scenario(name: &str, statuses: &[Status]) -> Scenario {
        let check = |&status: &Status| Check { id: "c".to_owned(), status, said: String::new() };
        let checks = statuses.iter().map(check).collect();
        Scenario { revision: "2026-07-28", name: name.to_owned(), checks }
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
        assert_eq!(lines[1], ["2026-07-28", "ping", "2", "0", "0", "1", "0"]);
        assert_eq!(lines[2], ["2026-07-28", "tools-list", "0", "1", "1", "0", "1"]);
    }

    #[test]
    fn what_did_not_run_or_showed_nothing_is_not_met() {
        let required = ["a", "b", "c", "d"].map(str::to_owned);
        let seen = [
            scenario("a", &[Status::Success]),
            scenario("b", &[Status::Success, Status::Failure]),
            scenario("c", &[Status::Info]),
        ];
        let scored = score("2026-07-28", &required, &seen);
        assert_eq!(scored, "2026-07-28: 1 of 4 required scenarios are met");
        let missed = missing("2026-07-28", &required, &seen);
        assert_eq!(missed, ["2026-07-28 d: it is required and did not run"]);
    }
}
