//! What the suite found, as it wrote it down: a folder for each scenario, with `checks.json` in it.

use std::fs;
use std::path::Path;

use serde_json::Value;

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
    pub(super) revision: &'static str,
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

    /// As the suite scores it, and something was shown.
    pub(super) fn is_met(&self) -> bool {
        self.count(Status::Failure) == 0 && self.count(Status::Success) > 0
    }
}

/// All scenarios of one run, in the order in which they ran.
pub(super) fn read(folder: &Path, revision: &'static str) -> Result<Vec<Scenario>, Failure> {
    let unusable = |source| Failure::file(folder.display(), source);
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(unusable)? {
        names.push(entry.map_err(unusable)?.file_name().to_string_lossy().into_owned());
    }
    let mut runs: Vec<(&str, &str)> = names.iter().filter_map(|name| split(name)).collect();
    runs.sort_by_key(|(_, time)| *time);
    let of_run = |(name, time): (&str, &str)| {
        let path = folder.join(format!("server-{name}{time}")).join("checks.json");
        Ok(Scenario { revision, name: name.to_owned(), checks: checks(&path)? })
    };
    runs.into_iter().map(of_run).collect()
}

/// `server-tools-list-2026-11-21T15-27-19-251Z` is the scenario `tools-list` at a time.
fn split(folder: &str) -> Option<(&str, &str)> {
    const TIME: usize = "-2026-11-21T15-27-19-251Z".len();
    let rest = folder.strip_prefix("server-")?;
    rest.split_at_checked(rest.len().checked_sub(TIME)?)
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
    use super::{Status, parse, split};

    #[test]
    fn a_folder_names_its_scenario() {
        let folder = "server-tools-list-2026-11-21T15-27-19-251Z";
        assert_eq!(split(folder), Some(("tools-list", "-2026-11-21T15-27-19-251Z")));
        assert_eq!(split("server-x"), None);
        assert_eq!(split("client-tools-list-2026-11-21T15-27-19-251Z"), None);
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
