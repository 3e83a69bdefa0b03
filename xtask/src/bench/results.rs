//! The files with what was measured, `benchmarks/results/TABLE.json`: fit to be kept with the
//! sources, a line for each case and for each run. A case that is measured again takes the place of
//! the earlier one, unless it failed; nothing is measured here.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::faults;
use crate::failure::Failure;

/// What the files are like; raised when they change.
const FORMAT: u64 = 1;
const KEPT: &str = "benchmarks/results";
/// Those of a quick run are nothing to keep.
const QUICK: &str = "target/peers/results";

/// How long the reason of a failure may be, in letters.
const REASON_MAX: usize = 200;

/// What one file has.
#[derive(Debug, Default)]
pub(super) struct Results {
    path: PathBuf,
    pub(super) runs: Vec<Value>,
    pub(super) cases: Vec<Value>,
}

/// What became of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Put {
    Taken,
    /// It failed, and an earlier one that did not is kept.
    EarlierKept,
}

impl Results {
    /// What is there from earlier runs.
    pub(super) fn open(table: &str, is_quick: bool) -> Result<Self, Failure> {
        let folder = if is_quick { QUICK } else { KEPT };
        Self::read(Path::new(folder).join(format!("{table}.json")))
    }

    fn read(path: PathBuf) -> Result<Self, Failure> {
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Self { path, runs: Vec::new(), cases: Vec::new() });
            }
            Err(error) => return Err(Failure::file(path.display(), error)),
        };
        let read: Value = serde_json::from_slice(&text).unwrap_or_default();
        let list = |key: &str| read[key].as_array().cloned();
        match (read["format"].as_u64(), list("runs"), list("cases")) {
            (Some(FORMAT), Some(runs), Some(cases)) => Ok(Self { path, runs, cases }),
            _ => {
                let shown = path.display();
                let said = format!("{shown} is no file of results of format {FORMAT}, remove it");
                Err(Failure::SuiteBroken(said))
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Begins a run, of which the cases that are put from now on are.
    pub(super) fn begin(&mut self, facts: Value) {
        self.runs.retain(|run| run["at"] != facts["at"]);
        self.runs.push(facts);
    }

    /// Puts a case where it was, or at the end.
    pub(super) fn put(&mut self, mut case: Value) -> Put {
        if let Some(run) = self.runs.last() {
            case["run"] = run["at"].clone();
        }
        leave_out_nulls(&mut case);
        let is_same = |one: &Value| ["scenario", "against"].iter().all(|key| one[key] == case[key]);
        match self.cases.iter().position(is_same) {
            Some(at) if faults::of(&case).is_some() && faults::of(&self.cases[at]).is_none() => {
                Put::EarlierKept
            }
            Some(at) => {
                self.cases[at] = case;
                Put::Taken
            }
            None => {
                self.cases.push(case);
                Put::Taken
            }
        }
    }

    /// Writes all of it, whole or not at all.
    pub(super) fn write(&mut self) -> Result<(), Failure> {
        let cases = &self.cases;
        self.runs.retain(|run| cases.iter().any(|case| case["run"] == run["at"]));
        let unusable = |source| Failure::file(self.path.display(), source);
        fs::create_dir_all(self.path.parent().unwrap_or_else(|| Path::new(".")))
            .map_err(unusable)?;
        let part = self.path.with_extension("json.part");
        fs::write(&part, self.to_text()).map_err(unusable)?;
        fs::rename(&part, &self.path).map_err(unusable)
    }

    /// JSON with a line for each case, so that a change of one is a change of a line.
    fn to_text(&self) -> String {
        let lines =
            |all: &[Value]| all.iter().map(Value::to_string).collect::<Vec<_>>().join(",\n");
        let (runs, cases) = (lines(&self.runs), lines(&self.cases));
        format!("{{\"format\":{FORMAT},\"runs\":[\n{runs}\n],\"cases\":[\n{cases}\n]}}\n")
    }
}

/// Takes out what is not there; in a list it has a place.
fn leave_out_nulls(value: &mut Value) {
    if let Value::Object(members) = value {
        members.retain(|_, member| !member.is_null());
        members.values_mut().for_each(leave_out_nulls);
    }
}

/// What is kept of a case that failed.
pub(super) fn failed(why: &str) -> Value {
    let here = std::env::current_dir().unwrap_or_default();
    let home = std::env::home_dir().unwrap_or_default();
    json!({ "failed": anywhere(why, &here.to_string_lossy(), &home.to_string_lossy()) })
}

/// The first line of it, as it would be in anybody's folders.
fn anywhere(why: &str, here: &str, home: &str) -> String {
    let mut line = why.trim().lines().next().unwrap_or_default().to_owned();
    for (folder, short) in [(here, "."), (home, "~")] {
        if folder.len() > 1 {
            line = line.replace(folder, short);
        }
    }
    line.chars().take(REASON_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::{Put, REASON_MAX, Results, anywhere};
    use serde_json::{Value, json};
    use std::fs;
    use std::path::PathBuf;

    fn case(against: &str, rounds: u64) -> Value {
        json!({ "scenario": "http-echo-1", "against": against, "rounds": rounds })
    }

    fn empty() -> Results {
        let mut all = Results { path: PathBuf::new(), runs: Vec::new(), cases: Vec::new() };
        all.begin(json!({ "at": "monday" }));
        all
    }

    fn rounds(all: &Results) -> Vec<(&str, u64)> {
        all.cases
            .iter()
            .map(|case| (case["against"].as_str().expect("a name"), case["rounds"].as_u64()))
            .map(|(name, rounds)| (name, rounds.unwrap_or_default()))
            .collect()
    }

    #[test]
    fn a_case_takes_the_place_of_the_earlier_one() {
        let mut all = empty();
        for (against, times) in [("rmcp", 1), ("mcp-go", 1), ("rmcp", 2), ("go-sdk", 2)] {
            assert_eq!(all.put(case(against, times)), Put::Taken);
        }
        assert_eq!(rounds(&all), [("rmcp", 2), ("mcp-go", 1), ("go-sdk", 2)]);
    }

    #[test]
    fn what_is_not_there_takes_no_room() {
        let mut all = empty();
        let interval = json!([2, 0, null]);
        all.put(json!({ "aim": null, "haft": { "ns": [1], "allocations": null }, "of": interval }));
        let kept = json!({ "haft": { "ns": [1] }, "of": interval, "run": "monday" });
        assert_eq!(all.cases, [kept]);
    }

    #[test]
    fn a_failure_takes_the_place_of_failures_only() {
        let failed = || {
            let mut case = case("rmcp", 0);
            case["failed"] = "it is down".into();
            case
        };
        let mut all = empty();
        assert_eq!((all.put(failed()), all.put(failed())), (Put::Taken, Put::Taken));
        assert_eq!(all.put(case("rmcp", 3)), Put::Taken);
        assert_eq!(all.put(failed()), Put::EarlierKept);
        let mut some = case("rmcp", 2);
        some["rounds_without_answers"] = 8.into();
        assert_eq!(all.put(some.clone()), Put::EarlierKept, "its figures are of two rounds");
        assert_eq!(rounds(&all), [("rmcp", 3)]);
        some["against"] = "mcp-go".into();
        assert_eq!(all.put(some), Put::Taken, "there is no other");
        assert_eq!(all.put(case("mcp-go", 3)), Put::Taken, "it is better than what failed");
        assert_eq!(rounds(&all), [("rmcp", 3), ("mcp-go", 3)]);
    }

    #[test]
    fn a_reason_is_one_short_line_that_names_nobodys_folders() {
        let said = "\n`/home/ada/haft/target/x` of /home/ada/.cargo ended\nand more";
        let kept = anywhere(said, "/home/ada/haft", "/home/ada");
        assert_eq!(kept, "`./target/x` of ~/.cargo ended");
        assert_eq!(anywhere("/a/b", "", "/"), "/a/b", "no folder is a part of all");
        assert_eq!(anywhere(&"ä".repeat(999), "/x", "").chars().count(), REASON_MAX);
    }

    #[test]
    fn what_is_written_is_read_again_with_the_runs_that_cases_are_of() {
        let folder = std::env::temp_dir().join(format!("haft-results-{}", std::process::id()));
        let path = folder.join("peers.json");
        let mut all = Results::read(path.clone()).expect("nothing is there");
        for (at, times) in [("monday", 1), ("tuesday", 2)] {
            all.begin(json!({ "at": at }));
            all.put(case("rmcp", times));
            all.put(case(at, times));
            all.write().expect("a folder of ours");
        }
        all.put(case("monday", 3));
        all.write().expect("a folder of ours");
        let read = Results::read(path.clone()).expect("it was written");
        assert_eq!(read.cases, all.cases);
        assert_eq!(read.runs, [json!({ "at": "tuesday" })], "nothing is of monday any more");
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 1, "no part is left");
        fs::write(&path, "{\"cases\":[]}").expect("a folder of ours");
        let said = Results::read(path).expect_err("another format").to_string();
        fs::remove_dir_all(&folder).expect("a folder of ours");
        assert!(said.contains("peers.json") && said.contains("remove it"), "{said}");
    }
}
