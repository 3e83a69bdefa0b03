//! The reference pages of the book, made from the code: the schema of haft.yaml, the command line,
//! the environment, the exit codes, the limits and the metrics. A test compares them with
//! `docs/reference`; `UPDATE_GOLDEN=1` writes them. Part of no build but that of tests.

mod environment;
mod examples;
mod keys;
mod limits;
mod source;
mod verbs;

use crate::agents;
use crate::metrics::STAGES;
use haft_server::around::{METRICS, Metric};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A page with the line that says where it comes from.
fn page(title: &str, introduction: &str) -> String {
    format!(
        "# {title}\n\n<!-- Written by `UPDATE_GOLDEN=1 cargo test -p haft-cli reference`. -->\n\n\
         {introduction}\n"
    )
}

/// A table; what a cell has of bars and line ends does not end it.
fn table(into: &mut String, heads: &[&str], rows: &[Vec<String>]) {
    let rule = vec!["---"; heads.len()];
    let clean = |cell: &String| cell.replace('\n', " ").replace('|', "\\|");
    let mut line = |cells: &[String]| {
        _ = writeln!(into, "| {} |", cells.iter().map(clean).collect::<Vec<_>>().join(" | "));
    };
    line(&heads.iter().map(ToString::to_string).collect::<Vec<_>>());
    line(&rule.iter().map(ToString::to_string).collect::<Vec<_>>());
    rows.iter().for_each(|row| line(row));
}

/// What exit codes mean, from the enum that has them.
fn exit_codes() -> String {
    let source = include_str!("exit.rs");
    let body = source.split("enum Exit {").nth(1).expect("the enum is there");
    let body = body.split("\n}").next().unwrap_or_default();
    let rows = source::items(body).into_iter().map(|item| {
        let (variant, code) = item.line.trim_end_matches(',').split_once(" = ").expect("a number");
        let name = source.split(&format!("Self::{variant} => \"")).nth(1).expect("it has a name");
        let name = name.split('"').next().unwrap_or_default();
        vec![code.to_owned(), format!("`{name}`"), item.doc]
    });
    let mut text = page(
        "Exit codes",
        "Every verb ends with one of these. With `--json`, a failure is one line on stderr whose \
         `code` is the name.",
    );
    text.push('\n');
    table(&mut text, &["code", "name", "means"], &rows.collect::<Vec<_>>());
    text
}

/// What a server counts.
fn metrics() -> String {
    let mut text = page(
        "Metrics",
        "`haft serve --metrics ADDRESS` tells these at `http://ADDRESS/metrics`, for Prometheus. \
         Requests are those that got as far as a tool, resource or prompt: it is there, and the \
         arguments fit. `kind` is what was wrong with an argument; `name` is the tool or prompt, \
         and empty for resources; `outcome` is `ok`, \
         `failed` (a result with `isError`), `refused` (an error of the protocol), \
         `asked` (the answer is a question, and the client makes the request again), `timed_out`, \
         `panicked` or `cancelled`.",
    );
    text.push('\n');
    let row = |metric: &Metric| {
        let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
        let name = format!("`{}`", metric.name);
        vec![name, metric.kind.to_owned(), labels.join(", "), metric.what.to_owned()]
    };
    let rows: Vec<_> = METRICS.iter().chain([&STAGES]).chain(&agents::METRICS).map(row).collect();
    table(&mut text, &["name", "kind", "labels", "what"], &rows);
    text
}

#[test]
fn the_reference_pages_of_the_book_are_what_the_code_says() {
    let pages = [
        ("keys.md", keys::page()),
        ("commands.md", verbs::page()),
        ("environment.md", environment::page()),
        ("exit-codes.md", exit_codes()),
        ("limits.md", limits::page()),
        ("metrics.md", metrics()),
    ];
    let mut old = Vec::new();
    for (name, text) in pages {
        let path = root().join("docs/reference").join(name);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &text).expect("the page can be written");
        }
        if std::fs::read_to_string(&path).unwrap_or_default() != text {
            old.push(name);
        }
    }
    assert!(old.is_empty(), "{old:?} of docs/reference are old; UPDATE_GOLDEN=1 writes them anew");
}
