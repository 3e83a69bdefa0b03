//! What may be other than a success, each with a reason: `conformance/excused.json`. Failures
//! cannot be excused, and an excuse that nothing needs any more is itself a finding.

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
    leg: Leg,
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
            "{PATH} must be a list of objects with `leg` (`client` or absent), `revision`, \
             `scenario` (or `*`), `check`, `status` (WARNING, INFO or SKIPPED) and `reason`"
        ))
    })
}

fn parse(text: &str) -> Option<Vec<Excuse>> {
    let list: Value = serde_json::from_str(text).ok()?;
    let excuse = |entry: &Value| {
        let member = |name: &str| entry[name].as_str().map(str::to_owned);
        Some(Excuse {
            leg: entry.get("leg").map_or(Some(Leg::Server), |leg| Leg::parse(leg.as_str()?))?,
            revision: member("revision")?,
            scenario: member("scenario")?,
            check: member("check")?,
            status: Status::parse(entry["status"].as_str()?)
                .filter(|status| !matches!(status, Status::Success | Status::Failure))?,
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
                excuse.leg.as_str(),
                excuse.scenario,
                excuse.check,
                excuse.status.as_str()
            ));
        }
    }
    findings
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
        self.leg == run.leg
            && self.revision == run.revision
            && (self.scenario == EVERY || self.scenario == *name)
    }

    fn fits(&self, check: &Check) -> bool {
        self.check == check.id && self.status == check.status
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Leg, Run, Selection};
    use super::{Check, Scenario, Status, judge, parse};

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
        assert!(parse(&client.replace("client", "gateway")).is_none());
        let fine = [scenario("a", &fine), scenario("b", &fine)];
        assert!(judge(&fine, &parse(&every).unwrap())[0].contains("remove it"));
        assert_eq!(judge(&fine[..1], &parse(&every).unwrap()), [""; 0]);
    }

    #[test]
    fn failures_and_excuses_without_a_reason_are_refused() {
        assert!(parse(&EXCUSE.replace("WARNING", "FAILURE")).is_none());
        assert!(parse(&EXCUSE.replace("it is random on purpose", "")).is_none());
    }
}
