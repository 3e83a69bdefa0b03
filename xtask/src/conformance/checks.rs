//! What the suite found, as it wrote it down: a folder for each scenario, with `checks.json` in it.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::leg::Leg;
use super::{Run, Selection};
use crate::failure::Failure;

/// What the suite says of one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Failure,
    Info,
    Skipped,
    Success,
    Warning,
}

/// One check of a scenario; a name may come more than once.
#[derive(Clone, Debug)]
pub(super) struct Check {
    pub(super) id: String,
    pub(super) status: Status,
    /// What the suite said, or what is checked if it said nothing.
    pub(super) said: String,
}

/// One scenario, as it went.
#[derive(Clone, Debug)]
pub(super) struct Scenario {
    pub(super) run: Run,
    pub(super) name: String,
    pub(super) checks: Vec<Check>,
}

impl Status {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Failure => "FAILURE",
            Self::Info => "INFO",
            Self::Skipped => "SKIPPED",
            Self::Success => "SUCCESS",
            Self::Warning => "WARNING",
        }
    }

    pub(super) fn parse(word: &str) -> Option<Self> {
        [Self::Failure, Self::Info, Self::Skipped, Self::Success, Self::Warning]
            .into_iter()
            .find(|status| status.as_str() == word)
    }
}

impl Scenario {
    pub(super) fn count(&self, status: Status) -> usize {
        self.checks.iter().filter(|check| check.status == status).count()
    }

    /// Why it is known not to be met, if it is.
    pub(super) fn why_unmet(&self) -> Option<&'static str> {
        let Selection::Required { unmet, .. } = self.run.selection else { return None };
        unmet.iter().find(|(name, _)| *name == self.name).map(|(_, reason)| *reason)
    }

    /// As the suite scores it, and something was shown.
    pub(super) fn is_met(&self) -> bool {
        self.count(Status::Failure) == 0 && self.count(Status::Success) > 0
    }
}

/// All scenarios of one run, in the order in which they began.
pub(super) fn read(folder: &Path, run: Run) -> Result<Vec<Scenario>, Failure> {
    let mut names = Vec::new();
    find(folder, "", &mut names)?;
    let mut begun: Vec<(&str, &str)> = names.iter().filter_map(|n| split(n, run.leg)).collect();
    begun.sort_by_key(|(name, time)| (*time, *name));
    let of_run = |(name, time): (&str, &str)| {
        let folder = folder.join(format!("{}{name}{time}", run.leg.prefix()));
        let mut checks = checks(&folder.join("checks.json"))?;
        if run.leg == Leg::Client {
            checks.push(end(&folder.join("stderr.txt")));
        }
        Ok(Scenario { run, name: name.to_owned(), checks })
    };
    begun.into_iter().map(of_run).collect()
}

/// The folders of scenarios, some of which are named after a path.
fn find(folder: &Path, above: &str, names: &mut Vec<String>) -> Result<(), Failure> {
    let unusable = |source| Failure::file(folder.display(), source);
    for entry in fs::read_dir(folder).map_err(unusable)? {
        let entry = entry.map_err(unusable)?;
        let name = format!("{above}{}", entry.file_name().to_string_lossy());
        if name.ends_with(TIME_END) {
            names.push(name);
        } else {
            find(&entry.path(), &format!("{name}/"), names)?;
        }
    }
    Ok(())
}

const TIME: &str = "-2026-11-21T15-27-19-251Z";
const TIME_END: &str = "Z";

/// `server-tools-list-2026-11-21T15-27-19-251Z` is the scenario `tools-list` at a time.
fn split(folder: &str, leg: Leg) -> Option<(&str, &str)> {
    let rest = folder.strip_prefix(leg.prefix())?;
    rest.split_at_checked(rest.len().checked_sub(TIME.len())?)
}

/// Whether a client came to its end as it wanted to: our check, beside those of the suite. One that
/// does not says so in a line that begins with its name.
fn end(stderr: &Path) -> Check {
    let text = fs::read_to_string(stderr).unwrap_or_default();
    let gave_up = text.lines().find_map(|line| line.strip_prefix("haft-conformance-client: "));
    let (status, said) = match gave_up {
        Some(why) => (Status::Warning, why.to_owned()),
        None => (Status::Success, String::new()),
    };
    Check { id: "client-end".to_owned(), status, said }
}

/// A scenario that broke has a folder and nothing in it.
fn checks(path: &Path) -> Result<Vec<Check>, Failure> {
    match fs::read_to_string(path) {
        Ok(text) => parse(&text).ok_or_else(|| {
            let path = path.display();
            Failure::SuiteBroken(format!("{path} is not what this suite used to write"))
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let said = "the suite broke in it, see its log".to_owned();
            Ok(vec![Check { id: "(all)".to_owned(), status: Status::Failure, said }])
        }
        Err(source) => Err(Failure::file(path.display(), source)),
    }
}

fn parse(text: &str) -> Option<Vec<Check>> {
    let list: Value = serde_json::from_str(text).ok()?;
    let check = |check: &Value| {
        let said = [&check["errorMessage"], &check["description"]];
        Some(Check {
            id: check["id"].as_str()?.to_owned(),
            status: Status::parse(check["status"].as_str()?)?,
            said: said.into_iter().find_map(Value::as_str).unwrap_or_default().to_owned(),
        })
    };
    list.as_array()?.iter().map(check).collect()
}

#[cfg(test)]
mod tests {
    use super::{Leg, Run, Selection, Status, TIME, end, parse, read, split};
    use std::fs;

    #[test]
    fn a_folder_names_its_scenario() {
        let server = format!("server-tools-list{TIME}");
        assert_eq!(split(&server, Leg::Server), Some(("tools-list", TIME)));
        assert_eq!(split("server-x", Leg::Server), None);
        let client = format!("auth/basic-cimd{TIME}");
        assert_eq!(split(&client, Leg::Server), None);
        assert_eq!(split(&client, Leg::Client), Some(("auth/basic-cimd", TIME)));
    }

    #[test]
    fn scenarios_are_found_in_folders_of_folders_and_a_client_that_gave_up_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let scenario = folder.path().join(format!("auth/a{TIME}"));
        fs::create_dir_all(&scenario).unwrap();
        fs::write(scenario.join("checks.json"), r#"[{"id":"c","status":"SUCCESS"}]"#).unwrap();
        let stderr = scenario.join("stderr.txt");
        fs::write(&stderr, "a note\nhaft-conformance-client: no token\n").unwrap();
        let selection = Selection::Active;
        let run = Run { leg: Leg::Client, revision: "2026-07-28", selection };
        let seen = read(folder.path(), run).unwrap();
        assert_eq!((&*seen[0].name, seen[0].checks.len()), ("auth/a", 2));
        let given_up = &seen[0].checks[1];
        assert_eq!((given_up.status, &*given_up.said), (Status::Warning, "no token"));
        fs::write(&stderr, "a note\n").unwrap();
        assert_eq!(end(&stderr).status, Status::Success);
    }

    #[test]
    fn a_check_says_what_went_wrong_or_what_it_is() {
        let checks = parse(
            r#"[{"id":"a","status":"SUCCESS","description":"It is there"},
                {"id":"b","status":"FAILURE","description":"It is","errorMessage":"It is not"}]"#,
        );
        let checks = checks.unwrap();
        assert_eq!((checks[0].status, &*checks[0].said), (Status::Success, "It is there"));
        assert_eq!((checks[1].status, &*checks[1].said), (Status::Failure, "It is not"));
    }

    #[test]
    fn a_status_that_nobody_knows_is_not_passed_over() {
        assert!(parse(r#"[{"id":"a","status":"FLAKY"}]"#).is_none());
        assert!(parse("{}").is_none());
    }
}
