//! `cargo xtask bench memory`: what a server holds, at rest, for each tool, and after a million
//! calls over ten thousand connections; and what the other tests of `benchmarks/` count. It
//! measures, keeps and prints; the counting is in those tests and in `haft bench`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::aim::{Aim, Interval, round};
use super::place::Place;
use super::results::Results;
use super::running::Running;
use super::server::HAFT;
use super::shown::{aim, grouped};
use super::wishes::Wishes;
use super::{build, facts, measure, server};
use crate::command;
use crate::failure::Failure;

/// The name of the table.
pub(super) const TABLE: &str = "memory";
const CALLS: u64 = 1_000_000;
const CONNECTIONS: u64 = 10_000;
/// What comes before them, and is set beside them, is so much less of both.
const FIRST: u64 = 10;
/// Less of both, so often: that it runs, and not how much is held.
const QUICK: u64 = 100;
/// How many connections there are at once.
const AT_ONCE: u64 = 16;

/// A figure: its name, what people call it, its unit, and its most where there is an aim.
struct Figure {
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    most: Option<f64>,
}

const FIGURES: [Figure; 6] = [
    Figure {
        name: "heap-at-rest",
        title: "heap of a server of two tools at rest, in process, no wire, before the first call",
        unit: "bytes",
        most: Some(512.0 * 1024.0),
    },
    Figure {
        name: "heap-per-tool",
        title: "heap of each tool more, beyond its definition's bytes, in process, no wire, before \
                the first call",
        unit: "bytes",
        most: Some(256.0),
    },
    Figure {
        name: "heap-listed",
        title: "each tool more once a client of 2025-11-25 has listed them, in process, no wire",
        unit: "bytes",
        most: None,
    },
    Figure {
        name: "heap-called",
        title: "each tool more once it is called, in process, no wire",
        unit: "bytes",
        most: None,
    },
    Figure {
        name: "calls-legacy",
        title: "resident memory after 1 000 000 calls more over 10 000 connections, beside that \
                after the first 100 000 over 1 000, 2025-11-25",
        unit: "×",
        most: Some(1.05),
    },
    Figure { name: "calls-modern", title: "the same, 2026-07-28", unit: "×", most: Some(1.05) },
];

/// Measures.
pub(super) fn run(arguments: &[String]) -> Result<(), Failure> {
    let wishes = Wishes::parse_untimed(TABLE, arguments)?;
    let wanted: Vec<&Figure> = FIGURES.iter().filter(|it| wishes.want(it.name, "")).collect();
    if wanted.is_empty() {
        let names = FIGURES.map(|figure| figure.name).join(", ");
        return Err(Failure::BadArguments(format!("`bench {TABLE}` has {names}")));
    }
    let place = Place::find();
    let mut kept = Results::open(TABLE, wishes.quick)?;
    kept.begin(facts::facts(place)?);
    let heap = if wanted.iter().any(|it| it.name.starts_with("heap")) {
        counted("memory")?
    } else {
        BTreeMap::new()
    };
    if wanted.iter().any(|it| it.name.starts_with("calls")) {
        build::build(&[&HAFT])?;
    }
    let mut measured = Vec::new();
    for figure in wanted {
        let found = match figure.name {
            "heap-at-rest" => value(&heap, "at_rest"),
            "heap-listed" => value(&heap, "legacy_list"),
            "heap-called" => value(&heap, "called"),
            "heap-per-tool" => per_tool(&heap),
            "calls-legacy" => after_calls("legacy", place, wishes.quick)?,
            _ => after_calls("modern", place, wishes.quick)?,
        };
        let mut case = json!({ "scenario": figure.name, "against": "haft", "aim": figure.most });
        let all = case.as_object_mut().expect("it was made one");
        let found = found.ok_or_else(|| no_figure(figure.name))?;
        all.extend(found.as_object().cloned().unwrap_or_default());
        kept.put(case.clone());
        measured.push(case);
        kept.write()?;
    }
    println!("\n{}\n{} has all of it", table(&measured), kept.path().display());
    Ok(())
}

fn no_figure(name: &str) -> Failure {
    Failure::SuiteBroken(format!("no figure came out for `{name}`"))
}

fn value(heap: &BTreeMap<String, u64>, name: &str) -> Option<Value> {
    Some(json!({ "value": heap.get(name)? }))
}

fn per_tool(heap: &BTreeMap<String, u64>) -> Option<Value> {
    let (tool, definition) = (heap.get("per_tool")?, heap.get("definition")?);
    let beyond = tool.saturating_sub(*definition);
    Some(json!({ "value": beyond, "tool_bytes": tool, "definition_bytes": definition }))
}

/// What a test of `benchmarks/` prints: lines of `counted NAME NUMBER`.
fn counted(test: &str) -> Result<BTreeMap<String, u64>, Failure> {
    let mut cargo = build::plain_cargo();
    cargo.args(["test", "--release", "-p", "haft-benchmarks", "--test", test, "--"]);
    Ok(numbers(&command::output(cargo.arg("--nocapture"))?))
}

fn numbers(told: &str) -> BTreeMap<String, u64> {
    let number = |line: &str| {
        // Before the first line a test's name may stand.
        let (_, counted) = line.split_once("counted ")?;
        let (name, number) = counted.split_once(' ')?;
        Some((name.to_owned(), number.trim().parse().ok()?))
    };
    told.lines().filter_map(number).collect()
}

/// How often each case of a benchmark allocates, as a test counts it.
pub(super) fn allocations(test: &str) -> Result<BTreeMap<String, u64>, Failure> {
    counted(test)
}

/// What a server of ours holds after many calls, beside what it held after a tenth of as many, so
/// that what it keeps in any case is there; and what it held before any.
fn after_calls(era: &str, place: Place, is_quick: bool) -> Result<Option<Value>, Failure> {
    let fewer = if is_quick { QUICK } else { 1 };
    let (calls, connections) = (CALLS / fewer, CONNECTIONS / fewer);
    let words = |port| [place.server(), HAFT.over_http(port, "")].concat();
    let running = Running::start(words, None)?;
    let rest = running.resident_bytes();
    let bench = |calls: u64| {
        let each = calls.to_string();
        let per_connection = (CALLS / CONNECTIONS).to_string();
        let at_once = AT_ONCE.to_string();
        let mut line = place.load();
        line.extend(["target/release/haft", "bench", &running.url()].map(str::to_owned));
        line.extend(["echo", "--input-json", r#"{"text":"xxxxx"}"#].map(str::to_owned));
        line.extend(["--expect", "xxxxx"].map(str::to_owned));
        line.extend(["--era", era, "--requests", &each].map(str::to_owned));
        line.extend(["--requests-per-connection", &per_connection].map(str::to_owned));
        line.extend(["--connections", &at_once].map(str::to_owned));
        line
    };
    let resident = |calls: u64| -> Result<(Option<f64>, Value), Failure> {
        let mut command = server::command(&bench(calls));
        let said = measure::json_of(command.arg("--json")).map_err(Failure::SuiteBroken)?;
        Ok((said["server"]["memory_after_bytes"].as_f64(), said))
    };
    println!("{calls} calls over {connections} connections, {era}");
    let (before, _) = resident(calls / FIRST)?;
    let (after, said) = resident(calls)?;
    let Some((before, after)) = before.zip(after).filter(|(before, _)| *before > 0.0) else {
        return Ok(None);
    };
    Ok(Some(json!({
        "value": round(after / before),
        "rest_bytes": rest,
        "before_bytes": before as u64,
        "after_bytes": after as u64,
        "answers": said["answers"],
        "failures": said["failures"],
        "connected": said["connected"],
        "start": super::shell::line(running.words()),
        "bench": super::shell::line(&bench(calls)),
    })))
}

/// The table of some cases.
pub(super) fn table(cases: &[Value]) -> String {
    let mut out = "| what | measured | aim | command |\n| --- | ---: | --- | --- |\n".to_owned();
    for figure in &FIGURES {
        let case = cases.iter().find(|case| case["scenario"] == figure.name);
        let Some(value) = case.and_then(|case| case["value"].as_f64()) else { continue };
        let is_bytes = figure.unit == "bytes";
        let shown = if is_bytes { grouped(value) } else { format!("{value:.3}") };
        let sizes = case.map_or_else(String::new, sizes);
        let sure = Interval { ratio: value, low: value, high: value };
        out += &format!(
            "| {} | {shown} {}{sizes} | {} | `cargo xtask bench {TABLE} {}` |\n",
            figure.title,
            figure.unit,
            aim(figure.most.map(Aim::AtMost), sure),
            figure.name,
        );
    }
    out
}

/// What the ratio of a case is made of, and what was there before any call.
fn sizes(case: &Value) -> String {
    let bytes = |key: &str| case[key].as_f64().map(grouped);
    let Some((after, before)) = bytes("after_bytes").zip(bytes("before_bytes")) else {
        return String::new();
    };
    let rest = bytes("rest_bytes").unwrap_or_else(|| "not recorded".to_owned());
    format!(": {after} bytes beside {before}; at rest, before any call, {rest}")
}

#[cfg(test)]
mod tests {
    use super::{numbers, per_tool, table};
    use serde_json::json;

    #[test]
    fn what_a_test_counts_is_found_in_what_it_prints() {
        let told = "running 1 test\ntest a ... counted at_rest 9000\ncounted ours/error 0\nok\n";
        let found = numbers(told);
        assert_eq!((found["at_rest"], found["ours/error"], found.len()), (9000, 0, 2));
    }

    #[test]
    fn a_tool_is_judged_by_what_it_holds_beyond_its_definition() {
        let heap = [("per_tool".to_owned(), 5000), ("definition".to_owned(), 800)].into();
        let found = per_tool(&heap).expect("both are there");
        assert_eq!(found["value"], 4200);
        assert!(per_tool(&Default::default()).is_none());
    }

    #[test]
    fn what_is_set_beside_what_is_told_in_bytes() {
        let mut calls = json!({
            "scenario": "calls-modern", "value": 1.015,
            "before_bytes": 8_503_296, "after_bytes": 8_634_368, "rest_bytes": 4_198_400,
        });
        let expected = "| 1.015 ×: 8 634 368 bytes beside 8 503 296; at rest, before any call, \
                        4 198 400 | ≤ 1.05: met |";
        let shown = table(&[calls.clone()]);
        assert!(shown.contains(expected), "{shown}");
        calls["rest_bytes"] = json!(null);
        assert!(table(&[calls]).contains("before any call, not recorded |"));
    }

    #[test]
    fn what_is_not_measured_has_no_row() {
        let rest = json!({ "scenario": "heap-at-rest", "value": 9216 });
        let tool = json!({ "scenario": "heap-per-tool", "value": 4200 });
        let called = json!({ "scenario": "heap-called", "value": 700 });
        let table = table(&[rest, tool, called]);
        assert!(table.contains("| 9 216 bytes | ≤ 524 288: met |"), "{table}");
        assert!(table.contains("| 4 200 bytes | ≤ 256: not met |"), "{table}");
        assert_eq!(table.lines().count(), 5);
        assert!(
            table.contains("once it is called, in process, no wire | 700 bytes |  |"),
            "{table}"
        );
    }
}
