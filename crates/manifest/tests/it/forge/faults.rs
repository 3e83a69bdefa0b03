//! Mistakes in pforge files, drawn as in ours.

use crate::fixture::{Desk, check_fault};

/// A tool `t` of these lines, from line 4 and column 5 on, is left out, and no other.
#[track_caller]
fn check(lines: &str, expected: &str) {
    let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    let rest =
        "  - { name: u, type: cli, description: Lists., command: ls, args: [], params: {} }\n";
    let desk = Desk::with(&format!(
        "forge: {{ name: a, version: 1 }}\ntools:\n  - name: t\n{lines}{rest}"
    ));
    assert_eq!(desk.server().tool_names(), ["u"], "{lines}");
    let told: Vec<_> = desk.manifest().warnings().iter().map(ToString::to_string).collect();
    assert!(told.iter().any(|line| line == expected), "{lines}{told:#?}");
}

#[test]
fn a_server_needs_a_name_and_a_version() {
    check_fault(
        "forge: { version: 1 }\n",
        &["haft.yaml:1:8: `forge` needs `name`", "1 | forge: { version: 1 }", "  |        ^"],
    );
    check_fault(
        "forge: desk\n",
        &[
            "haft.yaml:1:8: `forge` must be a mapping, not text",
            "1 | forge: desk",
            "  |        ^^^^",
        ],
    );
}

#[test]
fn two_tools_of_one_name_are_a_fault_though_one_is_left_out() {
    check_fault(
        "forge: { name: a, version: 1 }\ntools:\n  - { type: native, name: t, handler: { path: \
         a::b }, params: {} }\n  - { type: cli, name: t, command: ls, args: [] }\n",
        &[
            "haft.yaml:4:24: the tool of line 3 is called `t` already",
            "4 |   - { type: cli, name: t, command: ls, args: [] }",
            "  |                        ^",
            "  = help: rename one of them",
        ],
    );
}

#[test]
fn a_tool_needs_a_name() {
    check_fault(
        "forge: { name: a, version: 1 }\ntools:\n  - { type: cli }\n",
        &["haft.yaml:3:5: a tool needs `name`", "3 |   - { type: cli }", "  |     ^"],
    );
    check_fault(
        "forge: { name: a, version: 1 }\ntools: { t: cli }\n",
        &[
            "haft.yaml:2:8: `tools` must be a list, not a mapping",
            "2 | tools: { t: cli }",
            "  |        ^",
        ],
    );
}

#[test]
fn a_tool_that_lacks_something_leaves_the_others() {
    check("type: clii", "4:11: t: left out: `type` cannot be \"clii\"; did you mean `cli`?");
    check("type: http\nmethod: GET", "3:5: t: left out: the tool `t` needs `endpoint`");
    check(
        "type: pipeline\nsteps: []",
        "5:12: t: left out: `steps` is an empty list; name a tool to call: - tool: NAME",
    );
    check(
        "type: http\nendpoint: https://a.example\nmethod: FETCH",
        "6:13: t: left out: `method` cannot be \"FETCH\"; known words are GET, POST, PUT, DELETE, \
         PATCH, HEAD",
    );
    check(
        "type: http\nendpoint: https://a.example\nmethod: GET\nauth: { type: digest }",
        "7:19: t: left out: `type` cannot be \"digest\"; known words are bearer, basic, apikey",
    );
    check(
        "type: http\nendpoint: somewhere\nmethod: GET",
        "5:15: t: left out: the address cannot be used: it must begin with http:// or https://; \
         write it like https://api.example.com/v1/items/{{ id }}",
    );
}

#[test]
fn a_name_that_clients_refuse_leaves_the_others() {
    let desk = Desk::with(
        "forge: { name: a, version: 1 }
tools:
  - { name: my tool, description: A., type: cli, command: ls, args: [], params: {} }
  - { name: p, description: P., type: pipeline, steps: [{ tool: my tool }] }
  - { name: u, description: U., type: cli, command: ls, args: [], params: {} }
",
    );
    assert_eq!(desk.server().tool_names(), ["u"]);
    let told: Vec<_> = desk.manifest().warnings().iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "3:13: my tool: left out: \"my tool\" is no name for a tool; use 1 to 128 letters, \
             digits, `_`, `-` or `.`",
            "4:65: p: left out: it calls `my tool`, which is left out",
        ]
    );
}

#[test]
fn a_parameter_has_a_type_bounds_and_a_default_that_fit() {
    const HEAD: &str = "type: cli\ncommand: ls\nargs: []\n";
    let check = |params: &str, expected: &str| check(&format!("{HEAD}params: {params}"), expected);
    check(
        "{ x: strng }",
        "7:18: t: left out: `strng` is no type for the argument `x`; did you mean `string`?",
    );
    check(
        "{ x: { type: string, pattern: '(' } }",
        "7:43: t: left out: `x` is no usable schema: \"(\" is no regular expression, or compiles \
         to more than 524288 bytes",
    );
    check(
        "{ x: { type: integer, default: 7, max: 5 } }",
        "7:15: t: left out: the default of `x` does not fit its own schema: must be at most 5, \
         not 7",
    );
    check("{ x: { required: true } }", "7:18: t: left out: the parameter `x` needs `type`");
}

#[test]
fn what_is_no_amount_leaves_the_others() {
    const HEAD: &str = "type: cli\ncommand: ls\nargs: []\n";
    check(
        &format!("{HEAD}timeout_ms: soon"),
        "7:17: t: left out: `timeout_ms` must be a number of milliseconds, not text",
    );
    check(
        &format!("{HEAD}timeout: soon"),
        "7:14: t: left out: `timeout`: \"soon\" is no length of time; write a number and a unit, \
         like 500ms, 5s, 2m or 1h",
    );
    check(
        &format!("{HEAD}bulkhead: {{ max_concurrent: some }}"),
        "7:33: t: left out: `max_concurrent` must be a number, not text",
    );
    check(
        "type: pipeline\nsteps:\n  - { tool: t, error_policy: retry }",
        "6:34: t: left out: `error_policy` cannot be \"retry\"; known words are fail_fast, \
         continue",
    );
}

#[test]
fn a_variable_that_is_not_set_leaves_the_others() {
    check(
        "type: http\nendpoint: https://a.example\nmethod: GET\nauth: { type: bearer, token: \
         \"${HAFT_NO_SUCH_VARIABLE}\" }",
        "7:35: t: left out: the environment variable `HAFT_NO_SUCH_VARIABLE` is not set; set it \
         before haft starts; `$${` writes `${` itself",
    );
}

#[test]
fn a_prompt_or_resource_that_is_wrong_leaves_the_others() {
    let desk = Desk::with(
        "forge: { name: a, version: 1 }
resources: [{ uri: 'docs://a', text: { a: b } }, { uri: 'docs://b', text: b }]
prompts:
  - { name: p, description: P., template: x, arguments: { y: strng } }
  - { name: q, description: Q., template: x }
",
    );
    let told: Vec<_> = desk.manifest().warnings().iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "2:38: docs://a: left out: `text` must be text, not a mapping; text with `:` or `{` in \
             it needs quotes",
            "4:62: p: left out: `strng` is no type for the argument `y`; did you mean `string`?",
            "2:57: docs://b: a model cannot tell what it is; add a `description`",
        ]
    );
}

#[test]
fn a_file_that_is_both_is_ours() {
    check_fault(
        "server: { name: a }\nforge: { name: a, version: 1 }\n",
        &[
            "haft.yaml:2:1: `forge` is no known key of a manifest",
            "2 | forge: { name: a, version: 1 }",
            "  | ^^^^^",
            "  = help: known keys are server, listen, defaults, state, tools, resources, prompts, \
             upstreams, views",
        ],
    );
}
