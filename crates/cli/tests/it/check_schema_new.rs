//! `haft check`, `haft schema` and `haft new`, as their users run them.

use crate::haft::{Ran, haft, quickstart};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A directory with a haft.yaml of these lines.
fn written(yaml: &str) -> (TempDir, PathBuf) {
    let directory = TempDir::new().expect("there is a directory for temporary files");
    let file = directory.path().join("haft.yaml");
    std::fs::write(&file, yaml).expect("it is ours");
    (directory, file)
}

fn check(file: &Path, flags: &[&str]) -> Ran {
    haft([&["check", file.to_str().expect("the path is UTF-8")], flags].concat())
}

#[test]
fn check_shows_the_cost_of_each_tool_and_of_all() {
    let (_directory, file) = written(
        "server: { name: desk }
tools:
  - { name: greet, description: Greets., input: { name: string }, text: 'Hi {{ name }}' }
  - { name: list, description: Lists., input: { 'all?': boolean }, command: [ls, '-{{ all }}'] }
",
    );
    let ran = check(&file, &[]);
    let lines: Vec<Vec<&str>> =
        ran.printed().lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["TOOL", "KIND", "BYTES", "TOKENS", "ARGUMENTS"]);
    assert_eq!((lines[1][..2].to_vec(), lines[1][4]), (vec!["greet", "text"], "name"));
    assert_eq!((lines[2][..2].to_vec(), lines[2][4]), (vec!["list", "command"], "all?"));
    let number =
        |line: usize, column: usize| lines[line][column].parse::<usize>().expect("a number");
    assert_eq!(lines[3][..2], ["2", "tools"]);
    assert_eq!(number(3, 2), number(1, 2) + number(2, 2));
    assert_eq!(number(3, 3), number(1, 3) + number(2, 3));
}

#[test]
fn check_as_json_is_one_document() {
    let (_directory, file) =
        written("server: { name: desk }\ntools:\n  - { name: silent, text: Hello }\n");
    let report = check(&file, &["--json"]).json();
    assert_eq!(report["server"], "desk");
    assert_eq!(report["tools"][0]["name"], "silent");
    assert_eq!(report["tools"][0]["arguments"], json!([]));
    assert_eq!(report["total"]["tools"], 1);
    assert_eq!(report["total"]["bytes"], report["tools"][0]["bytes"]);
    let warning = json!({
        "line": 3, "column": 13, "tool": "silent",
        "message": "a model cannot tell what it does; add a `description`",
    });
    assert_eq!(report["warnings"], json!([warning]));
}

#[test]
fn the_bytes_are_those_of_the_list() {
    let report = check(&quickstart(), &["--json"]).json();
    let file = quickstart();
    let listed = haft(["list", file.to_str().expect("the path is UTF-8"), "--json"]).json();
    let tools = listed["tools"].as_array().expect("there are tools");
    assert_eq!(report["total"]["tools"], tools.len());
    for (cost, tool) in report["tools"].as_array().into_iter().flatten().zip(tools) {
        assert_eq!(cost["name"], tool["name"]);
        assert_eq!(cost["bytes"], tool.to_string().len(), "{tool}");
    }
}

#[test]
fn warnings_fail_only_where_they_should() {
    let (_directory, file) = written("server: { name: a }\ntools: [{ name: b, text: c }]\n");
    let ran = check(&file, &[]);
    assert_eq!(ran.code, Some(0));
    let warning = format!(
        "warning: {}:2:17: b: a model cannot tell what it does; add a `description`\n",
        file.display()
    );
    assert_eq!(ran.stderr, warning);
    let ran = check(&file, &["--strict"]);
    assert_eq!(ran.code, Some(8));
    let error = "error: there is a warning, and --strict allows none\n";
    assert_eq!(ran.stderr, format!("{warning}{error}"));
    let ran = check(&quickstart(), &["--strict"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn a_fault_is_drawn_on_stderr_with_exit_code_2() {
    let (_directory, file) =
        written("server: { name: a }\ntools:\n  - name: b\n    comand: [wc]\n");
    for verb in ["check", "serve", "list"] {
        let ran = haft([verb, file.to_str().expect("the path is UTF-8")]);
        assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{verb}");
        let drawing = format!(
            "error: {}:4:5: `comand` is no known key of a tool
  |
4 |     comand: [wc]
  |     ^^^^^^
  = help: did you mean `command`?
",
            file.display()
        );
        assert_eq!(ran.stderr, drawing, "{verb}");
    }
}

#[test]
fn a_fault_as_json_is_one_line() {
    let (_directory, file) = written("servr: {}\n");
    let ran = check(&file, &["--json"]);
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(2), 1), "{ran:?}");
    let error: Value = serde_json::from_str(&ran.stderr).expect("it is JSON");
    assert_eq!(error["error"]["code"], "usage");
    assert_eq!(error["error"]["hint"], "did you mean `server`?");
    let message = format!("{}:1:1: `servr` is no known key of a manifest", file.display());
    assert_eq!(error["error"]["message"], message);
}

#[test]
fn the_schema_is_the_published_one() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../manifest/haft.schema.json");
    let golden = std::fs::read_to_string(golden).expect("the repository has it");
    assert_eq!(haft(["schema"]).printed(), golden);
}

#[test]
fn a_new_file_is_right_and_says_what_comes_next() {
    let directory = TempDir::new().expect("there is a directory for temporary files");
    let target = directory.path().join("deep/my tools");
    let target = target.to_str().expect("the path is UTF-8");
    let ran = haft(["new", target]);
    let file = format!("{target}/haft.yaml");
    for next in ["haft check", "haft call", "haft serve"] {
        assert!(ran.printed().contains(&format!("{next} '{file}'")), "{}", ran.printed());
    }
    let snippet = ran.printed().split_once("file:\n").expect("there is a snippet").1;
    let snippet: Value = serde_json::from_str(snippet).expect("it is JSON");
    let entry = &snippet["mcpServers"]["my-tools"];
    assert!(Path::new(entry["command"].as_str().expect("it is text")).is_absolute());
    let args: Vec<_> = entry["args"].as_array().into_iter().flatten().collect();
    assert_eq!((args[0], args[2]), (&json!("serve"), &json!("--stdio")));
    assert!(Path::new(args[1].as_str().expect("it is text")).is_file());
    assert_eq!(check(Path::new(&file), &["--strict"]).code, Some(0));
    let greeting = haft(["call", &*file, "greet", "name=World"]);
    assert_eq!(greeting.printed(), "Hello, World!\n");
    let count = haft(["call", &*file, "count_words", "text=a b c"]);
    assert_eq!(count.printed(), "3\n");
}

#[test]
fn nothing_that_is_there_is_replaced() {
    let (directory, file) = written("mine\n");
    let ran = haft(["new", directory.path().to_str().expect("the path is UTF-8")]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("haft.yaml is there already"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(file).ok().as_deref(), Some("mine\n"));
    let ran = haft(["new", "tools.yaml"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("name the directory that haft.yaml goes to"), "{ran:?}");
}

#[test]
fn a_new_file_as_json_is_one_document() {
    let directory = TempDir::new().expect("there is a directory for temporary files");
    let target = directory.path().join("desk");
    let report = haft(["new", target.to_str().expect("the path is UTF-8"), "--json"]).json();
    assert_eq!(report["file"], target.join("haft.yaml").to_str().expect("the path is UTF-8"));
    assert_eq!(report["mcpServers"]["desk"]["args"][2], "--stdio");
}
