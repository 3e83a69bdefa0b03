//! `cargo xtask conformance`: the official conformance suite of MCP against a server of ours and a
//! client of ours, read strictly. `test` and people call it; it never decides what the suite asks.

mod checks;
mod excuses;
mod leg;
mod report;
mod server;
mod suite;

use crate::command::{self, cargo};
use crate::failure::Failure;
use checks::Scenario;
use leg::{Behind, Leg, Wire};
use server::Server;
use suite::Suite;

/// Who is tested, in which revision, and which scenarios of the suite they are held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    leg: Leg,
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
        /// Those of the others that are not met, each with the reason.
        unmet: &'static [(&'static str, &'static str)],
    },
}

impl Run {
    /// As it is told to people; that of a server is called as its revision.
    fn name(self) -> String {
        match self.leg {
            Leg::Client => format!("{} client", self.revision),
            Leg::Server => self.revision.to_owned(),
            Leg::Gateway(Behind { era, wire }) => {
                format!("{} gateway {era} {}", self.revision, wire.as_str())
            }
        }
    }

    /// Where its results are.
    fn folder(self) -> String {
        self.name().replace(' ', "-")
    }
}

/// In the order of the report.
const RUNS: &[Run] = &[
    Run { leg: Leg::Server, revision: "2026-07-28", selection: MODERN },
    Run { leg: Leg::Server, revision: "2025-11-25", selection: LEGACY },
    Run { leg: Leg::Server, revision: "2025-06-18", selection: Selection::Active },
    behind("2026-07-28", CROSSING, "modern", Wire::Http),
    behind("2026-07-28", CROSSING, "modern", Wire::Pipes),
    behind("2026-07-28", CROSSING, "legacy", Wire::Http),
    behind("2026-07-28", CROSSING, "legacy", Wire::Pipes),
    behind("2025-11-25", LEGACY, "modern", Wire::Http),
    behind("2025-11-25", LEGACY, "modern", Wire::Pipes),
    behind("2025-11-25", LEGACY, "legacy", Wire::Http),
    behind("2025-11-25", LEGACY, "legacy", Wire::Pipes),
    Run {
        leg: Leg::Client,
        revision: "2026-07-28",
        selection: Selection::Required { count: 32, beside: CLIENT_BESIDE, unmet: CLIENT_UNMET },
    },
    Run {
        leg: Leg::Client,
        revision: "2025-11-25",
        selection: Selection::Required { count: 18, beside: CLIENT_BESIDE, unmet: CLIENT_UNMET },
    },
];

/// What servers of the modern era are held to.
const MODERN: Selection = Selection::Required {
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
    unmet: &[],
};

/// The same but for tasks, which are the server's own: none crosses a gateway, its answer does.
const CROSSING: Selection = Selection::Required {
    count: 37,
    beside: &[
        "http-custom-header-server-validation",
        "http-header-validation",
        "json-schema-2020-12",
    ],
    unmet: &[],
};

/// What servers of the legacy era are held to.
const LEGACY: Selection = Selection::Required {
    count: 30,
    beside: &["json-schema-2020-12", "server-session-lifecycle", "server-sse-polling"],
    unmet: &[],
};

/// A gateway that speaks this era to the server, whatever its clients speak.
const fn behind(
    revision: &'static str,
    selection: Selection,
    era: &'static str,
    wire: Wire,
) -> Run {
    Run { leg: Leg::Gateway(Behind { era, wire }), revision, selection }
}

/// What clients may be able to do beside, in every revision.
const CLIENT_BESIDE: &[&str] = &[
    "auth/client-credentials-basic",
    "auth/client-credentials-jwt",
    "auth/dpop",
    "auth/dpop-nonce",
    "auth/enterprise-managed-authorization",
    "auth/wif-jwt-bearer",
    "json-schema-2020-12-preservation",
];

/// What of that this client cannot do.
const CLIENT_UNMET: &[(&str, &str)] = &[
    ("auth/dpop", "tokens are not bound to keys (RFC 9449)"),
    ("auth/dpop-nonce", "tokens are not bound to keys (RFC 9449)"),
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
    let packages = ["-p", "haft-conformance", "-p", "haft-conformance-client", "-p", "haft-cli"];
    command::run(cargo().args(["build", "--bins"]).args(packages))?;
    let mut scenarios = Vec::new();
    let mut findings = Vec::new();
    for run in &wishes.runs {
        let seen = try_one(&suite, *run, wishes.scenario.as_deref())?;
        if matches!(run.selection, Selection::Required { .. }) && wishes.scenario.is_none() {
            let required = suite.required(*run)?;
            findings.extend(report::missing(*run, &required, &seen));
            println!("{}", report::score(*run, &required, &seen));
        }
        scenarios.extend(seen);
    }
    println!("\n{}", report::table(&scenarios));
    let (unmet, judged): (Vec<Scenario>, _) =
        scenarios.into_iter().partition(|scenario| scenario.why_unmet().is_some());
    println!("{}", report::unmet(&unmet));
    print!("{}", excuses::differences(&judged, &excuses));
    findings.extend(report::met_after_all(&unmet));
    findings.extend(excuses::judge(&judged, &excuses));
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        findings => Err(Failure::NotConformant { findings }),
    }
}

/// Each run has a server of its own, so that none sees what another has left. Clients are started
/// by the suite, one for each scenario.
fn try_one(suite: &Suite, run: Run, scenario: Option<&str>) -> Result<Vec<Scenario>, Failure> {
    match run.leg {
        Leg::Client => suite.run(&leg::client()?, run, scenario),
        Leg::Server => asked(suite, Server::start()?, run, scenario),
        Leg::Gateway(behind) => {
            asked(suite, Server::start_gateway(behind, suite.folder())?, run, scenario)
        }
    }
}

fn asked(
    suite: &Suite,
    mut server: Server,
    run: Run,
    scenario: Option<&str>,
) -> Result<Vec<Scenario>, Failure> {
    let scenarios = suite.run(&server.url, run, scenario)?;
    server.must_run()?;
    Ok(scenarios)
}

fn parse(arguments: &[String]) -> Result<Wishes, Failure> {
    let leg = arguments.first().and_then(|word| Leg::known(word));
    let arguments = arguments.get(usize::from(leg.is_some())..).unwrap_or_default();
    let of_leg = RUNS.iter().copied().filter(|run| leg.is_none_or(|leg| run.leg.word() == leg));
    match arguments {
        [] => Ok(Wishes { runs: of_leg.collect(), scenario: None }),
        [revision, scenario @ ..] if scenario.len() < 2 => {
            let runs: Vec<Run> = of_leg.filter(|run| run.revision == revision).collect();
            if runs.is_empty() {
                let mut revisions: Vec<&str> = RUNS.iter().map(|run| run.revision).collect();
                revisions.dedup();
                let revisions = revisions.join(", ");
                return Err(Failure::BadArguments(format!(
                    "`conformance` has no such run `{revision}`, it has {revisions}"
                )));
            }
            // A scenario is of one leg; only some of these names say of which.
            let leg = leg.unwrap_or(Leg::Server.word());
            let runs = match scenario {
                [] => runs,
                _ => runs.into_iter().filter(|run| run.leg.word() == leg).collect(),
            };
            Ok(Wishes { runs, scenario: scenario.first().cloned() })
        }
        _ => Err(Failure::BadArguments(
            "`conformance` takes `server`, `gateway` or `client`, a revision and a scenario, or \
             nothing"
                .to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::{Leg, RUNS, parse};

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn without_arguments_everything_runs() {
        assert_eq!(parse(&[]).unwrap().runs, RUNS);
    }

    #[test]
    fn one_leg_can_be_chosen_and_one_revision_of_all() {
        assert!(parse(&words("client")).unwrap().runs.iter().all(|run| run.leg == Leg::Client));
        assert_eq!(parse(&words("2025-11-25")).unwrap().runs.len(), 6);
        assert_eq!(parse(&words("server 2025-11-25")).unwrap().runs.len(), 1);
        assert_eq!(parse(&words("gateway 2025-11-25")).unwrap().runs.len(), 4);
        assert!(parse(&words("client 2025-06-18")).is_err());
    }

    #[test]
    fn one_scenario_of_one_revision_can_be_chosen() {
        let wishes = parse(&words("2025-11-25 ping")).unwrap();
        assert_eq!(wishes.runs[0].revision, "2025-11-25");
        assert_eq!(wishes.scenario.as_deref(), Some("ping"));
        assert!(parse(&words("2025-11-25 ping tools-list")).is_err());
        let client = parse(&words("client 2025-11-25 initialize")).unwrap();
        let [run] = client.runs[..] else { panic!("one run") };
        assert_eq!((run.leg, run.revision), (Leg::Client, "2025-11-25"));
        let refused = parse(&words("ping")).err().unwrap().to_string();
        assert!(refused.contains("`ping`") && refused.contains("2026-07-28"), "{refused}");
    }
}
