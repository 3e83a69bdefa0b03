//! What a program gets: each element of `command` as one argument, whatever is in it.

use crate::fixture::{Desk, Served, failure, text};
use serde_json::{Value, json};

/// A tool that shows each of its arguments in brackets.
fn shown(input: &str, arguments: &str) -> Served {
    Desk::with_tools(&format!(
        "  - name: show\n    input: {input}\n    command: [printf, '[%s]', --, {arguments}]\n"
    ))
    .serve()
}

#[tokio::test]
async fn what_a_shell_would_run_arrives_as_it_is() {
    let server = shown("{ x: string }", r#""{{ x }}", "a={{ x }}""#);
    for hostile in [
        "; rm -rf /",
        "$(id)",
        "`id`",
        "a\nb",
        "\"a\" 'b'",
        "* ? ~ $HOME",
        "-rf",
        "--",
        "| tee x > y &",
        "{{ x }}",
        "${env:PATH}",
        "\\",
        "日本",
    ] {
        let printed = text(&server, "show", json!({"x": hostile})).await;
        assert_eq!(printed, format!("[--][{hostile}][a={hostile}]"));
    }
}

#[tokio::test]
async fn an_empty_text_is_an_argument() {
    let server = shown("{ x: string }", r#""{{ x }}", end"#);
    assert_eq!(text(&server, "show", json!({"x": ""})).await, "[--][][end]");
}

#[tokio::test]
async fn an_element_is_left_out_when_all_its_arguments_are_absent() {
    let server =
        shown("{ 'x?': string, 'y?': string }", r#""{{ x }}", "--y={{ y }}", "{{x}}{{y}}""#);
    let cases = [
        (json!({}), "[--]"),
        (json!({"x": "1"}), "[--][1][1]"),
        (json!({"y": "2"}), "[--][--y=2][2]"),
        (json!({"x": "", "y": ""}), "[--][][--y=][]"),
    ];
    for (arguments, expected) in cases {
        assert_eq!(text(&server, "show", arguments).await, expected);
    }
}

#[tokio::test]
async fn an_element_that_decides_by_itself_is_left_out_when_it_makes_nothing() {
    let server = shown(
        "{ 'all?': boolean, 'count?': integer }",
        r#""{% if all %}-a{% endif %}", "{{ '-b' if all }}", "{{ count | default(3) }}", end"#,
    );
    let cases = [
        (json!({}), "[--][3][end]"),
        (json!({"all": false}), "[--][3][end]"),
        (json!({"all": true, "count": 7}), "[--][-a][-b][7][end]"),
    ];
    for (arguments, printed) in cases {
        assert_eq!(text(&server, "show", arguments.clone()).await, printed, "{arguments}");
    }
}

#[tokio::test]
async fn null_is_as_good_as_absent() {
    let server = shown("{ 'x?': { type: [string, 'null'] } }", r#""{{ x }}", end"#);
    assert_eq!(text(&server, "show", json!({"x": null})).await, "[--][end]");
}

#[tokio::test]
async fn a_list_becomes_an_argument_for_each_item() {
    let server = shown("{ files: 'string[]' }", r#""{{ files }}", end"#);
    let printed = text(&server, "show", json!({"files": ["a b", "", "-c"]})).await;
    assert_eq!(printed, "[--][a b][][-c][end]");
    assert_eq!(text(&server, "show", json!({"files": []})).await, "[--][end]");
}

#[tokio::test]
async fn a_list_within_a_text_is_json() {
    let server = shown("{ x: array, y: object }", r#""x={{ x }}", "y={{ y }}", "{{ x }}""#);
    let arguments = json!({"x": [1, "a", [true]], "y": {"b": 1, "a": null}});
    let printed = text(&server, "show", arguments).await;
    assert_eq!(printed, r#"[--][x=[1,"a",[true]]][y={"b":1,"a":null}][1][a][[true]]"#);
}

#[tokio::test]
async fn an_integer_is_written_without_a_fraction() {
    let server = shown("{ n: number, b: boolean }", r#""{{ n }}", "{{ b }}""#);
    for (number, expected) in [
        (json!(3), "3"),
        (json!(3.0), "3"),
        (json!(-2.5), "-2.5"),
        (json!(1e15), "1000000000000000"),
    ] {
        let printed = text(&server, "show", json!({"n": number, "b": true})).await;
        assert_eq!(printed, format!("[--][{expected}][true]"));
    }
}

#[tokio::test]
async fn a_default_stands_in_for_an_absent_argument() {
    let server = shown("{ n: { type: integer, default: 10 } }", r#""-n{{ n }}""#);
    assert_eq!(text(&server, "show", json!({})).await, "[--][-n10]");
    assert_eq!(text(&server, "show", json!({"n": 3})).await, "[--][-n3]");
}

#[tokio::test]
async fn a_default_of_a_json_schema_stands_in_too() {
    let server = Desk::with_tools(
        "  - name: show
    input_schema: { type: object, properties: { n: { type: integer, default: 7 } } }
    command: [printf, '%s', '{{ n }}']
",
    )
    .serve();
    assert_eq!(text(&server, "show", json!({})).await, "7");
}

#[tokio::test]
async fn a_nul_character_is_refused() {
    let server = shown("{ x: string }", r#""{{ x }}""#);
    let why = failure(&server, "show", json!({"x": "a\u{0}b"})).await;
    assert_eq!(why, "An argument of a program cannot hold a NUL character.");
}

#[tokio::test]
async fn an_argument_that_is_too_long_for_the_system_is_told_so() {
    let server = shown("{ x: string }", r#""{{ x }}""#);
    let why = failure(&server, "show", json!({"x": "a".repeat(3_000_000)})).await;
    assert_eq!(why, "`printf` cannot be started: its arguments are too long. Send shorter ones.");
}

#[tokio::test]
async fn numbers_and_truth_values_of_the_file_are_arguments_as_they_are_typed() {
    let server = shown("{}", "1.10, true, 0x1F, 007");
    assert_eq!(text(&server, "show", json!({})).await, "[--][1.10][true][0x1F][007]");
}

#[tokio::test]
async fn variables_are_added_to_those_that_haft_has() {
    let server = Desk::with_tools(
        "  - name: env
    input: { 'x?': string }
    command: [sh, -c, 'echo \"$A,$B,${C-unset},${PATH:+path}\"']
    env: { A: fixed, B: 7, C: '<{{ x }}>' }
",
    )
    .serve();
    assert_eq!(text(&server, "env", json!({})).await, "fixed,7,unset,path");
    assert_eq!(text(&server, "env", json!({"x": "$A"})).await, "fixed,7,<$A>,path");
    let why = failure(&server, "env", json!({"x": "\u{0}"})).await;
    assert_eq!(why, "An environment variable cannot hold a NUL character.");
}

/// The variables are those with which cargo runs tests.
#[tokio::test]
async fn of_the_environment_a_program_has_what_is_usual_and_what_is_named() {
    let here = env!("CARGO_PKG_NAME");
    for (env, expected) in [
        ("{}", "path,-,-"),
        ("{ A: b }", "path,-,-"),
        ("{ inherit: [] }", "path,-,-"),
        ("{ inherit: [CARGO_PKG_NAME] }", &*format!("path,{here},-")),
        ("{ inherit: [NO_SUCH_VARIABLE] }", "path,-,-"),
        ("{ inherit: all }", &format!("path,{here},there")),
        ("{ inherit: all, CARGO_PKG_NAME: own }", "path,own,there"),
        ("{ CARGO_PKG_NAME: own, inherit: [CARGO_PKG_NAME] }", "path,own,-"),
        // It has it, and what was filled in is not told.
        ("{ CARGO_PKG_NAME: '<${env:CARGO_PKG_NAME}>' }", "path,<[redacted]>,-"),
    ] {
        let server = Desk::with_tools(&format!(
            "  - name: env
    command: [sh, -c, 'echo ${{PATH:+path}},${{CARGO_PKG_NAME--}},${{CARGO_PKG_VERSION:+there}}\
      | sed s/,$/,-/']
    env: {env}
"
        ))
        .serve();
        assert_eq!(text(&server, "env", json!({})).await, expected, "{env}");
    }
}

#[tokio::test]
async fn the_directory_is_the_files_or_the_named_one() {
    let desk = Desk::with_tools(
        "  - { name: here, command: [sh, -c, pwd -P] }
  - { name: there, command: [sh, -c, pwd -P], cwd: ./sub }
  - { name: own, command: [./own.sh, a] }
",
    );
    std::fs::create_dir(desk.file("sub")).expect("it is ours");
    std::fs::write(desk.file("own.sh"), "#!/bin/sh\necho own $1\n").expect("it is ours");
    let server = desk.server();
    let home = desk.path().canonicalize().expect("it is there");
    assert_eq!(text(&server, "here", json!({})).await, home.display().to_string());
    assert_eq!(text(&server, "there", json!({})).await, home.join("sub").display().to_string());
    let why = failure(&server, "own", json!({})).await;
    assert_eq!(why, "`./own.sh` cannot be started: the file may not be executed.");
    make_executable(&desk.file("own.sh"));
    assert_eq!(text(&server, "own", json!({})).await, "own a");
}

fn make_executable(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).expect("it is ours");
}

#[tokio::test]
async fn what_cannot_be_started_is_told_so() {
    let server = Desk::with_tools(
        "  - { name: gone, command: [haft-no-such-program] }
  - { name: nowhere, command: [wc], cwd: ./nowhere }
",
    )
    .serve();
    let why = failure(&server, "gone", json!({})).await;
    assert_eq!(
        why,
        "`haft-no-such-program` cannot be started: there is no such program on this machine."
    );
    let why = failure(&server, "nowhere", json!({})).await;
    assert!(why.starts_with("`wc` cannot be started: the directory "), "{why}");
    assert!(why.ends_with("nowhere does not exist."), "{why}");
}

#[tokio::test]
async fn arguments_that_are_not_named_are_refused() {
    let server = shown("{ x: string }", r#""{{ x }}""#);
    let why = failure(&server, "show", json!({"x": "a", "y": Value::Null})).await;
    assert_eq!(why, "Invalid arguments for `show`: `y` is not known; known are x.");
}
