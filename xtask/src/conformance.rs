//! `cargo xtask conformance`: the official conformance suite of MCP against `haft-conformance`,
//! read strictly. `test` and people call it; it never decides what the suite should ask.

mod checks;
mod excuses;
mod report;
mod server;
mod suite;

use crate::command::{self, cargo};
use crate::failure::Failure;
use checks::Scenario;
use server::Server;
use suite::Suite;

/// A revision, and which scenarios of the suite it is held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    revision: &'static str,
    selection: Selection,
}

/// Which scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Selection {
    /// Those that the suite runs when nothing is said; no set is frozen for the revision.
    Active,
    /// The frozen set that conformance means, and those that run beside it without being scored.
    Required {
        /// How many are in the set.
        count: usize,
        /// The names of the others.
        beside: &'static [&'static str],
    },
}

/// In the order of the report.
const RUNS: &[Run] = &[
    Run {
        revision: "2026-07-28",
        selection: Selection::Required {
            count: 37,
            beside: &[
                "http-custom-header-server-validation",
                "http-header-validation",
                "json-schema-2020-12",
                "tasks-capability-negotiation",
                "tasks-dispatch-and-envelope",
                "tasks-lifecycle",
                "tasks-mrtr-composition",
                "tasks-mrtr-input",
                "tasks-request-headers",
                "tasks-request-state-removal",
                "tasks-required-task-error",
                "tasks-status-notifications",
                "tasks-wire-fields",
            ],
        },
    },
    Run {
        revision: "2025-11-25",
        selection: Selection::Required {
            count: 30,
            beside: &["json-schema-2020-12", "server-session-lifecycle", "server-sse-polling"],
        },
    },
    Run { revision: "2025-06-18", selection: Selection::Active },
];

/// What the person wants to see.
struct Wishes {
    runs: Vec<Run>,
    scenario: Option<String>,
}

/// Runs the suite, prints a table, and fails on whatever is not as it should be.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let wishes = parse(arguments)?;
    let excuses = excuses::read()?;
    let suite = Suite::installed()?;
    command::run(cargo().args(["build", "-p", "haft-conformance"]))?;
    let mut scenarios = Vec::new();
    let mut findings = Vec::new();
    for run in &wishes.runs {
        let seen = try_one(&suite, *run, wishes.scenario.as_deref())?;
        if matches!(run.selection, Selection::Required { .. }) && wishes.scenario.is_none() {
            let required = suite.required(run.revision)?;
            findings.extend(report::missing(*run, &required, &seen));
            println!("{}", report::score(run.revision, &required, &seen));
        }
        scenarios.extend(seen);
    }
    println!("\n{}", report::table(&scenarios));
    findings.extend(excuses::judge(&scenarios, &excuses));
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        findings => Err(Failure::NotConformant { findings }),
    }
}

/// Each run has a server of its own, so that none sees what another has left.
fn try_one(suite: &Suite, run: Run, scenario: Option<&str>) -> Result<Vec<Scenario>, Failure> {
    let mut server = Server::start()?;
    let scenarios = suite.run(&server.url, run, scenario)?;
    server.must_run()?;
    Ok(scenarios)
}

fn parse(arguments: &[String]) -> Result<Wishes, Failure> {
    let known = |revision: &str| RUNS.iter().copied().find(|run| run.revision == revision);
    match arguments {
        [] => Ok(Wishes { runs: RUNS.to_vec(), scenario: None }),
        [revision, scenario @ ..] if scenario.len() < 2 => match known(revision) {
            Some(run) => Ok(Wishes { runs: vec![run], scenario: scenario.first().cloned() }),
            None => {
                let revisions: Vec<&str> = RUNS.iter().map(|run| run.revision).collect();
                let revisions = revisions.join(", ");
                Err(Failure::BadArguments(format!(
                    "`conformance` has no run `{revision}`, it has {revisions}"
                )))
            }
        },
        _ => Err(Failure::BadArguments(
            "`conformance` takes a revision and a scenario, or nothing".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::{RUNS, parse};

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn without_arguments_everything_runs() {
        assert_eq!(parse(&[]).unwrap().runs, RUNS);
    }

    #[test]
    fn one_scenario_of_one_revision_can_be_chosen() {
        let wishes = parse(&words("2025-11-25 ping")).unwrap();
        assert_eq!(wishes.runs[0].revision, "2025-11-25");
        assert_eq!(wishes.scenario.as_deref(), Some("ping"));
        assert!(parse(&words("2025-11-25 ping tools-list")).is_err());
        let refused = parse(&words("ping")).err().unwrap().to_string();
        assert!(refused.contains("`ping`") && refused.contains("2026-07-28"), "{refused}");
    }
}
