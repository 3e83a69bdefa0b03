//! What may be other than a success, each with a reason: `conformance/excused.json`. Failures
//! cannot be excused, but those of a gateway, which is not the server; and an excuse that nothing
//! needs any more is itself a finding.

use std::fs;

use serde_json::Value;

use super::checks::{Check, Scenario, Status};
use super::leg::Leg;
use crate::failure::Failure;

const PATH: &str = "conformance/excused.json";
/// As the name of a scenario: every one.
const EVERY: &str = "*";

/// One check of one scenario that may warn, tell without judging, or be skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Excuse {
    leg: &'static str,
    /// What is behind a gateway; each if it is absent.
    behind: Option<String>,
    revision: String,
    /// `*` is every one.
    scenario: String,
    check: String,
    status: Status,
    reason: String,
}

/// The list as it is checked in.
pub(super) fn read() -> Result<Vec<Excuse>, Failure> {
    let text = fs::read_to_string(PATH).map_err(|source| Failure::file(PATH, source))?;
    parse(&text).ok_or_else(|| {
        Failure::SuiteBroken(format!(
            "{PATH} must be a list of objects with `leg` (`client`, `gateway` or absent), \
             `behind` if it holds for some gateways (`legacy`, `legacy pipes`, …), `revision`, \
             `scenario` (or `*`), `check`, `status` (WARNING, INFO, SKIPPED, and FAILURE of a \
             gateway) and `reason`"
        ))
    })
}

fn parse(text: &str) -> Option<Vec<Excuse>> {
    let list: Value = serde_json::from_str(text).ok()?;
    let excuse = |entry: &Value| {
        let member = |name: &str| entry[name].as_str().map(str::to_owned);
        let server = Leg::Server.word();
        let leg = entry.get("leg").map_or(Some(server), |leg| Leg::known(leg.as_str()?))?;
        let may_fail = leg == "gateway";
        Some(Excuse {
            leg,
            behind: member("behind"),
            revision: member("revision")?,
            scenario: member("scenario")?,
            check: member("check")?,
            status: Status::parse(entry["status"].as_str()?)
                .filter(|status| *status != Status::Success)
                .filter(|status| *status != Status::Failure || may_fail)?,
            reason: member("reason").filter(|reason| !reason.is_empty())?,
        })
    };
    list.as_array()?.iter().map(excuse).collect()
}

/// A line for each check that is no success and has no excuse, for each scenario without checks,
/// and for each excuse that nothing needs.
pub(super) fn judge(scenarios: &[Scenario], excuses: &[Excuse]) -> Vec<String> {
    let mut findings: Vec<String> =
        scenarios.iter().flat_map(|scenario| of_scenario(scenario, excuses)).collect();
    for excuse in excuses {
        let mut ran = scenarios.iter().filter(|scenario| excuse.is_about(scenario)).peekable();
        let has_run = ran.peek().is_some();
        // One scenario alone need not have what all of them have somewhere.
        let is_judged = has_run && (excuse.scenario != EVERY || scenarios.len() > 1);
        if is_judged && !ran.flat_map(|scenario| &scenario.checks).any(|check| excuse.fits(check)) {
            findings.push(format!(
                "{} {} {}: `{}` does not end with {} any more, remove it from {PATH}",
                excuse.revision,
                excuse.whose(),
                excuse.scenario,
                excuse.check,
                excuse.status.as_str()
            ));
        }
    }
    findings
}

/// A line for each failure that is excused, with the reason.
pub(super) fn differences(scenarios: &[Scenario], excuses: &[Excuse]) -> String {
    let mut lines = String::new();
    for scenario in scenarios {
        for excuse in excuses.iter().filter(|excuse| excuse.status == Status::Failure) {
            if excuse.is_about(scenario) && scenario.checks.iter().any(|check| excuse.fits(check)) {
                let (run, name) = (scenario.run.name(), &scenario.name);
                lines += &format!("differs: {run} {name}: {}\n", excuse.reason);
            }
        }
    }
    lines
}

fn of_scenario(scenario: &Scenario, excuses: &[Excuse]) -> Vec<String> {
    let Scenario { run, name, checks } = scenario;
    let run = run.name();
    if checks.is_empty() {
        return vec![format!("{run} {name}: nothing was checked")];
    }
    let is_fine = |check: &&Check| {
        check.status == Status::Success
            || excuses.iter().any(|excuse| excuse.is_about(scenario) && excuse.fits(check))
    };
    let describe = |check: &Check| {
        let (status, id, said) = (check.status.as_str(), &check.id, check.said.trim());
        format!("{run} {name}: {status} {id}: {said}")
    };
    checks.iter().filter(|check| !is_fine(check)).map(describe).collect()
}

impl Excuse {
    fn is_about(&self, scenario: &Scenario) -> bool {
        let Scenario { run, name, .. } = scenario;
        let is_behind = |words: &str| run.leg.behind().is_some_and(|way| way.starts_with(words));
        self.leg == run.leg.word()
            && self.behind.as_deref().is_none_or(is_behind)
            && self.revision == run.revision
            && (self.scenario == EVERY || self.scenario == *name)
    }

    /// As a finding has it.
    fn whose(&self) -> String {
        match &self.behind {
            Some(behind) => format!("{} {behind}", self.leg),
            None => self.leg.to_owned(),
        }
    }

    fn fits(&self, check: &Check) -> bool {
        self.check == check.id && self.status == check.status
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Behind, Leg, Run, Selection, Wire};
    use super::{Check, Scenario, Status, differences, judge, parse};

    const EXCUSE: &str = r#"[{"revision":"2026-07-28","scenario":"tools-list","check":"order",
        "status":"WARNING","reason":"it is random on purpose"}]"#;

    fn scenario(name: &str, checks: &[(&str, Status)]) -> Scenario {
        let check = |&(id, status): &(&str, Status)| {
            let said = "Tools are not sorted".to_owned();
            Check { id: id.to_owned(), status, said }
        };
        let checks = checks.iter().map(check).collect();
        let (leg, selection) = (Leg::Server, Selection::Active);
        Scenario {
            run: Run { leg, revision: "2026-07-28", selection },
            name: name.to_owned(),
            checks,
        }
    }

    #[test]
    fn whatever_is_no_success_is_told() {
        let seen = [
            scenario("a", &[("x", Status::Success), ("y", Status::Success)]),
            scenario("b", &[("x", Status::Failure), ("y", Status::Warning)]),
            scenario("c", &[("x", Status::Skipped), ("y", Status::Info)]),
            scenario("d", &[]),
        ];
        let findings = judge(&seen, &[]);
        assert_eq!(findings.len(), 5, "{findings:?}");
        assert_eq!(findings[0], "2026-07-28 b: FAILURE x: Tools are not sorted");
        assert_eq!(findings[4], "2026-07-28 d: nothing was checked");
    }

    #[test]
    fn an_excuse_is_for_one_check_and_one_status() {
        let excuses = parse(EXCUSE).unwrap();
        let warned = scenario("tools-list", &[("order", Status::Warning), ("x", Status::Success)]);
        assert_eq!(judge(&[warned], &excuses), [""; 0]);
        let failed = scenario("tools-list", &[("order", Status::Failure)]);
        let findings = judge(&[failed], &excuses);
        assert_eq!(
            findings.len(),
            2,
            "the failure, and the excuse that does not fit: {findings:?}"
        );
    }

    #[test]
    fn an_excuse_that_nothing_needs_is_told_if_its_scenario_ran() {
        let excuses = parse(EXCUSE).unwrap();
        let fine = scenario("tools-list", &[("order", Status::Success)]);
        assert!(judge(&[fine], &excuses)[0].contains("remove it"));
        assert_eq!(judge(&[scenario("ping", &[("x", Status::Success)])], &excuses), [""; 0]);
    }

    #[test]
    fn an_excuse_for_every_scenario_is_for_one_leg_and_is_needed_by_one_of_many() {
        let every = EXCUSE.replace("tools-list", "*");
        let (warned, fine) = ([("order", Status::Warning)], [("order", Status::Success)]);
        let seen = [scenario("a", &warned), scenario("b", &fine)];
        assert_eq!(judge(&seen, &parse(&every).unwrap()), [""; 0]);
        let client = every.replace("{\"rev", "{\"leg\":\"client\",\"rev");
        assert_eq!(judge(&seen, &parse(&client).unwrap()).len(), 1, "it is about the other leg");
        assert!(parse(&client.replace("client", "sidecar")).is_none());
        let fine = [scenario("a", &fine), scenario("b", &fine)];
        assert!(judge(&fine, &parse(&every).unwrap())[0].contains("remove it"));
        assert_eq!(judge(&fine[..1], &parse(&every).unwrap()), [""; 0]);
    }

    #[test]
    fn a_gateway_may_differ_by_what_is_behind_it_until_it_does_not() {
        let failing = EXCUSE.replace("WARNING", "FAILURE");
        let failing = failing.replace("{\"rev", "{\"leg\":\"gateway\",\"behind\":\"legacy\",\"rev");
        let excuses = parse(&failing).unwrap();
        let behind = |era, wire, status| {
            let mut seen = scenario("tools-list", &[("order", status)]);
            seen.run.leg = Leg::Gateway(Behind { era, wire });
            seen
        };
        let (http, pipes) = (Wire::Http, Wire::Pipes);
        let both = [Status::Failure; 2].map(|status| behind("legacy", http, status));
        assert_eq!(judge(&both, &excuses), [""; 0]);
        let told = differences(&both, &excuses);
        assert_eq!(told.matches(" legacy http tools-list: it is random on purpose").count(), 2);
        let mended = behind("legacy", pipes, Status::Success);
        assert!(judge(&[mended], &excuses)[0].contains("gateway legacy tools-list"));
        let other = behind("modern", pipes, Status::Failure);
        assert_eq!(judge(&[other], &excuses).len(), 1);
        let alone = scenario("tools-list", &[("order", Status::Failure)]);
        assert_eq!(judge(&[alone], &excuses).len(), 1, "it is about gateways");
    }

    #[test]
    fn failures_and_excuses_without_a_reason_are_refused() {
        assert!(parse(&EXCUSE.replace("WARNING", "FAILURE")).is_none());
        assert!(parse(&EXCUSE.replace("it is random on purpose", "")).is_none());
    }
}
