//! The file with all that was measured, as `haft bench` said it: `benchmarks/results/TABLE.json`. A
//! case that is measured again takes the place of the earlier one. No figure is changed.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::server::Group;
use super::wishes::Wishes;
use crate::failure::Failure;

/// What a picture needs and a table does not, which is most of a report.
const LEFT_OUT: [&str; 2] = ["distribution", "series"];

/// Where results go: those of a quick run are nothing to keep.
pub(super) fn path(group: Group, wishes: &Wishes) -> PathBuf {
    let folder = if wishes.quick { "target/peers/results" } else { "benchmarks/results" };
    Path::new(folder).join(format!("{}.json", group.name()))
}

/// The cases that are there from an earlier run.
pub(super) fn read(path: &Path) -> Result<Vec<Value>, Failure> {
    let Ok(text) = fs::read(path) else { return Ok(Vec::new()) };
    let read: Result<Value, _> = serde_json::from_slice(&text);
    let shown = path.display();
    let broken = || Failure::SuiteBroken(format!("{shown} has no results, remove it"));
    let read = read.map_err(|_| broken())?;
    Ok(read.get("cases").and_then(Value::as_array).ok_or_else(broken)?.clone())
}

/// Puts a case where it was, or at the end.
pub(super) fn put(cases: &mut Vec<Value>, case: Value) {
    let is_same =
        |one: &Value| ["scenario", "against"].iter().all(|key| one.get(key) == case.get(key));
    match cases.iter().position(is_same) {
        Some(at) => cases[at] = case,
        None => cases.push(case),
    }
}

/// Writes all cases.
pub(super) fn write(path: &Path, cases: &[Value]) -> Result<(), Failure> {
    let unusable = |source| Failure::file(path.display(), source);
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    fs::create_dir_all(folder).map_err(unusable)?;
    let text = serde_json::to_string_pretty(&json!({ "cases": cases }));
    let text = text.expect("it was JSON before");
    fs::write(path, text + "\n").map_err(unusable)
}

/// A report without what only a picture needs.
pub(super) fn trimmed(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for name in LEFT_OUT {
                members.remove(name);
            }
            members.values_mut().for_each(trimmed);
        }
        Value::Array(items) => items.iter_mut().for_each(trimmed),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::{put, trimmed};
    use serde_json::json;

    #[test]
    fn a_case_takes_the_place_of_the_earlier_one() {
        let case = |against: &str, rounds: u64| {
            let mut case = json!({ "scenario": "http-echo-1", "against": against });
            case["rounds"] = rounds.into();
            case
        };
        let mut cases = vec![case("rmcp", 1), case("mcp-go", 1)];
        put(&mut cases, case("rmcp", 2));
        put(&mut cases, case("go-sdk", 2));
        assert_eq!(cases, [case("rmcp", 2), case("mcp-go", 1), case("go-sdk", 2)]);
    }

    #[test]
    fn what_only_a_picture_needs_is_left_out_at_every_depth() {
        let mut value = json!({ "a": [{ "p50_ns": 1, "distribution": [[0.5, 1]] }], "series": [] });
        trimmed(&mut value);
        assert_eq!(value, json!({ "a": [{ "p50_ns": 1 }] }));
    }
}
