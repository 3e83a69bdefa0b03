//! The quickstart's tools, each called as a reader would call it. Those that work on the repository
//! are called on a small one that is made here: a checkout need not have its history.

use crate::haft::{Ran, haft, quickstart};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

fn call(file: &Path, words: &[&str]) -> Ran {
    haft([&["call", file.to_str().expect("the path is UTF-8")], words].concat())
}

/// The schema refuses such a call, and nothing runs.
#[track_caller]
fn check_refused(file: &Path, words: &[&str]) {
    let ran = call(file, words);
    let is_refused = ran.stderr.contains(&format!("invalid arguments for `{}`", words[0]));
    assert!(is_refused && ran.code == Some(6) && ran.stdout.is_empty(), "{words:?}: {ran:?}");
}

/// A repository with the quickstart, a few files, and a commit that has them.
struct Repository {
    _directory: TempDir,
    file: PathBuf,
}

fn repository() -> Repository {
    let directory = TempDir::new().expect("there is a directory for temporary files");
    let root = directory.path();
    for folder in ["examples/quickstart", "src", "target", ".hidden"] {
        fs::create_dir_all(root.join(folder)).expect("it is ours");
    }
    let file = root.join("examples/quickstart/haft.yaml");
    fs::copy(quickstart(), &file).expect("the repository has it");
    for (name, text) in [
        ("src/main.rs", "fn main() {}\n// a needle\n"),
        ("src/-odd name", "needle two\n"),
        ("target/built", "needle in what was built\n"),
        (".hidden/secret", "needle in secret\n"),
        ("notes.md", "# Notes\nNEEDLE\n"),
    ] {
        fs::write(root.join(name), text).expect("it is ours");
    }
    git(root, &["init", "--quiet"]);
    git(root, &["add", "--", "src", "notes.md", "examples"]);
    git(root, &["commit", "--quiet", "--message=First; $(commit)"]);
    fs::write(root.join("notes.md"), "# Changed\n").expect("it is ours");
    git(root, &["commit", "--quiet", "--all", "--message=Second"]);
    Repository { _directory: directory, file }
}

fn git(root: &Path, words: &[&str]) {
    let options = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c"];
    let ran = Command::new("git")
        .args(options)
        .arg("commit.gpgsign=false")
        .args(words)
        .current_dir(root)
        .status();
    assert!(ran.expect("git is there").success(), "git {words:?}");
}

#[test]
fn words_are_counted() {
    assert_eq!(call(&quickstart(), &["word_count", "text=the quick brown fox"]).printed(), "4\n");
    assert_eq!(call(&quickstart(), &["word_count", "text="]).printed(), "0\n");
}

#[test]
fn somebody_is_greeted() {
    assert_eq!(call(&quickstart(), &["greet", "name=Ada"]).printed(), "Hello, Ada!\n");
}

#[test]
fn disks_are_shown_as_lines() {
    let ran = call(&quickstart(), &["disk_free", "--json"]);
    let lines = ran.json()["structuredContent"]["lines"].clone();
    let lines: Vec<String> = serde_json::from_value(lines).expect("they are lines");
    assert!(lines.len() >= 2 && lines[0].starts_with("Filesystem"), "{lines:?}");
}

#[test]
fn files_are_listed() {
    let Repository { file, _directory } = repository();
    let expected = "examples/quickstart/haft.yaml\nnotes.md\nsrc/-odd name\nsrc/main.rs\n";
    assert_eq!(call(&file, &["list_files"]).printed(), expected);
    let ran = call(&file, &["list_files", "under=src/*"]);
    assert_eq!(ran.printed(), "src/-odd name\nsrc/main.rs\n");
    // It is a path, and not an option.
    assert_eq!(call(&file, &["list_files", "under=--others"]).printed().trim(), "");
}

#[test]
fn text_is_found_in_files_but_not_in_what_was_built() {
    let Repository { file, _directory } = repository();
    let ran = call(&file, &["search_files", "expression=needle|fn main", "path=src"]);
    let mut lines: Vec<_> = ran.printed().lines().collect();
    lines.sort_unstable();
    let expected =
        ["src/-odd name:1:needle two", "src/main.rs:1:fn main() {}", "src/main.rs:2:// a needle"];
    assert_eq!(lines, expected);
    let ran = call(&file, &["search_files", "expression=what was built"]);
    assert_eq!(ran.printed().trim(), "");
    let ran = call(&file, &["search_files", "expression=--help"]);
    assert!(!ran.printed().contains("Usage"), "{ran:?}");
}

#[test]
fn a_search_stays_in_the_repository() {
    let Repository { file, _directory } = repository();
    for path in ["/etc/passwd", "..", "src/../..", "-r", ".hidden", "src//main.rs", "a/./b"] {
        check_refused(&file, &["search_files", "expression=x", &format!("path={path}")]);
    }
}

#[test]
fn commits_are_listed_newest_first() {
    let Repository { file, _directory } = repository();
    let ran = call(&file, &["git_log"]);
    let lines: Vec<_> = ran.printed().lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].ends_with("Ada Second") && lines[1].ends_with("Ada First; $(commit)"));
    assert_eq!(call(&file, &["git_log", "count=1"]).printed().lines().count(), 1);
    let ran = call(&file, &["git_log", "path=src/main.rs"]);
    assert!(ran.printed().lines().count() == 1 && ran.printed().contains("First"), "{ran:?}");
    check_refused(&file, &["git_log", "count=51"]);
}

#[test]
fn a_file_is_shown_as_it_was() {
    let Repository { file, _directory } = repository();
    let now = call(&file, &["git_show_file", "path=notes.md"]);
    assert_eq!(now.printed(), "# Changed\n");
    let before = call(&file, &["git_show_file", "path=notes.md", "revision=HEAD~1"]);
    assert_eq!(before.printed(), "# Notes\nNEEDLE\n");
    let ran = call(&file, &["git_show_file", "path=nowhere"]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    check_refused(&file, &["git_show_file", "path=notes.md", "revision=--output=x"]);
}

#[test]
fn every_tool_says_that_it_only_reads() {
    let file = quickstart();
    let listed = haft(["list", file.to_str().expect("the path is UTF-8"), "--json"]).json();
    let tools = listed["tools"].as_array().expect("there are tools");
    assert_eq!(tools.len(), 7);
    for tool in tools {
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
    }
}
