//! The rules that look at one file at a time, in one table. `tidy` calls them; a rule takes text
//! and returns findings, and never reads the disk.

use std::fmt;

use super::source::Source;
use super::tokens::{functions, tokens};
use super::{names, revisions};

const COLUMNS_MAX: usize = 100;
const FILE_LINES_MAX: usize = 500;
const FUNCTION_LINES_MAX: usize = 70;

/// What a finding is about; exceptions name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    ColumnLimit,
    DrawerName,
    FileLength,
    FunctionLength,
    LeftoverMark,
    MissingHeader,
    OrphanFile,
    PrivateWord,
    ProtocolPurity,
    RevisionCompared,
    StaleException,
    TestShortcut,
    TrailingSpace,
}

/// A place that breaks a rule, and what to do about it.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) rule: Rule,
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) message: String,
}

/// What the text of a file that nobody may publish by accident contains: the machine of whoever
/// wrote it, or a mirror. Each is written in two parts so that this file passes its own test.
const PRIVATE_WORDS: &[&str] = &[
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("../sha", "red"),
    concat!("files.python", "hosted.org"),
    concat!("index.crates", ".io"),
    concat!("pypi", ".org"),
    concat!("registry.npm", "js.org"),
    concat!("static.crates", ".io"),
];

/// What `haft-proto` may not name outside tests: the world.
const WORLD: &[&str] = &[
    "Instant::now",
    "SystemTime",
    "std::env",
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
];

/// Every finding in one file.
pub(super) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = private_words(source);
    findings.extend(names::check(source));
    if source.is_fixture() {
        return findings;
    }
    findings.extend(trailing_space(source));
    if source.is_rust() {
        for rule in [
            header,
            file_length,
            function_length,
            columns,
            leftover_marks,
            test_shortcuts,
            purity,
            revisions::check,
        ] {
            findings.extend(rule(source));
        }
    }
    findings
}

impl Finding {
    fn new(rule: Rule, source: &Source, line: usize, message: impl Into<String>) -> Self {
        Self { rule, path: source.path.clone(), line, message: message.into() }
    }

    pub(super) fn stale_exception(path: &str, rule: Rule) -> Self {
        let message = format!("nothing breaks {rule:?} here any more, remove the exception");
        Self { rule: Rule::StaleException, path: path.to_owned(), line: 1, message }
    }

    pub(super) fn unexplained_exception(path: &str) -> Self {
        let message = "the exception gives no reason, say why the rule is wrong here".to_owned();
        Self { rule: Rule::StaleException, path: path.to_owned(), line: 1, message }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {} [{:?}]", self.path, self.line, self.message, self.rule)
    }
}

fn header(source: &Source) -> Vec<Finding> {
    if source.text.starts_with("//!") {
        return Vec::new();
    }
    let message = "begin with `//!`: what the file is, who calls it, what it never does";
    vec![Finding::new(Rule::MissingHeader, source, 1, message)]
}

fn file_length(source: &Source) -> Vec<Finding> {
    let lines = source.text.lines().count();
    if lines <= FILE_LINES_MAX {
        return Vec::new();
    }
    let message = format!("{lines} lines, split it by noun to stay within {FILE_LINES_MAX}");
    vec![Finding::new(Rule::FileLength, source, lines, message)]
}

fn function_length(source: &Source) -> Vec<Finding> {
    let tokens = tokens(&source.code);
    let mut findings = Vec::new();
    for function in functions(&tokens) {
        let first = source.line_of(function.start);
        let lines = source.line_of(function.end) + 1 - first;
        if lines > FUNCTION_LINES_MAX {
            let message = format!(
                "`{}` has {lines} lines, give its parts names to stay within {FUNCTION_LINES_MAX}",
                function.name
            );
            findings.push(Finding::new(Rule::FunctionLength, source, first, message));
        }
    }
    findings
}

fn columns(source: &Source) -> Vec<Finding> {
    let widths = source.text.lines().map(|line| line.chars().count());
    (1..)
        .zip(widths)
        .filter(|&(_, width)| width > COLUMNS_MAX)
        .map(|(line, width)| {
            let message = format!("{width} columns, break the line at {COLUMNS_MAX}");
            Finding::new(Rule::ColumnLimit, source, line, message)
        })
        .collect()
}

fn trailing_space(source: &Source) -> Vec<Finding> {
    (1..)
        .zip(source.text.lines())
        .filter(|(_, line)| line.ends_with([' ', '\t', '\r']))
        .map(|(line, _)| {
            Finding::new(Rule::TrailingSpace, source, line, "remove the space at the end")
        })
        .collect()
}

/// Unfinished work belongs in an issue, where somebody owns it.
fn leftover_marks(source: &Source) -> Vec<Finding> {
    let code = words(&source.code, &["dbg!", "todo!", "unimplemented!"]);
    let comments = words(&source.comments, &["FIXME", "XXX"]);
    code.into_iter()
        .chain(comments)
        .map(|(at, word)| {
            let message = format!("`{word}` marks unfinished work, finish it or file it");
            Finding::new(Rule::LeftoverMark, source, source.line_of(at), message)
        })
        .collect()
}

/// A test that is skipped, or that waits for luck, proves nothing.
fn test_shortcuts(source: &Source) -> Vec<Finding> {
    let mut found: Vec<(usize, &str, &str)> = Vec::new();
    for (at, word) in words(&source.code, &["#[ignore", "#[should_panic"]) {
        found.push((at, word, "fix the test, or assert the error that it expects"));
    }
    for (at, word) in words(&source.comments, &["```ignore", "```rust,ignore"]) {
        found.push((at, word, "make the example compile, `no_run` if it must not run"));
    }
    for (at, word) in words(&source.code, &["sleep(", "sleep_until("]) {
        if source.is_test(at) {
            found.push((at, word, "wait for the event itself, or move a fake clock"));
        }
    }
    found
        .into_iter()
        .map(|(at, word, cure)| {
            let message = format!("`{word}` is refused in tests, {cure}");
            Finding::new(Rule::TestShortcut, source, source.line_of(at), message)
        })
        .collect()
}

fn purity(source: &Source) -> Vec<Finding> {
    if !source.path.starts_with("crates/proto/src/") {
        return Vec::new();
    }
    words(&source.code, WORLD)
        .into_iter()
        .filter(|&(at, _)| !source.is_test(at))
        .map(|(at, word)| {
            let message = format!("`{word}` touches the world, take what it gives as an argument");
            Finding::new(Rule::ProtocolPurity, source, source.line_of(at), message)
        })
        .collect()
}

fn private_words(source: &Source) -> Vec<Finding> {
    words(&source.text, PRIVATE_WORDS)
        .into_iter()
        .map(|(at, word)| {
            let message = format!("`{word}` belongs to one machine, write what holds everywhere");
            Finding::new(Rule::PrivateWord, source, source.line_of(at), message)
        })
        .collect()
}

/// Where each of `wanted` begins in `text` and is not the tail of something longer.
fn words<'a>(text: &str, wanted: &[&'a str]) -> Vec<(usize, &'a str)> {
    let mut found = Vec::new();
    for &word in wanted {
        found.extend(
            text.match_indices(word)
                .filter(|&(at, _)| {
                    let before = text.get(..at).and_then(|text| text.chars().next_back());
                    let after = text.get(at + word.len()..).and_then(|text| text.chars().next());
                    !continues(before, word.chars().next())
                        && !joins(word.chars().next_back(), after)
                })
                .map(|(at, _)| (at, word)),
        );
    }
    found
}

/// Whether `before` makes a longer word or path of what begins with `first`.
fn continues(before: Option<char>, first: Option<char>) -> bool {
    let is_path = first == Some('/');
    let is_part = |c: char| {
        c.is_alphanumeric() || c == '_' || (is_path && matches!(c, '.' | '-' | '~' | '}' | '*'))
    };
    first != Some('#') && first != Some('`') && before.is_some_and(is_part)
}

fn joins(last: Option<char>, after: Option<char>) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    last.is_some_and(is_part) && after.is_some_and(is_part)
}

#[cfg(test)]
mod tests;
