//! Mistakes in pforge files, drawn as in ours.

use crate::fixture::check_fault;

/// A tool `t` of these lines, from line 4 and column 5 on.
#[track_caller]
fn check(lines: &str, expected: &[&str]) {
    let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    let head = "forge: { name: a, version: 1 }\ntools:\n  - name: t\n";
    check_fault(&format!("{head}{lines}"), expected);
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
fn a_tool_needs_a_name_and_a_type() {
    check_fault(
        "forge: { name: a, version: 1 }\ntools:\n  - { type: cli }\n",
        &["haft.yaml:3:5: a tool needs `name`", "3 |   - { type: cli }", "  |     ^"],
    );
    check(
        "type: clii",
        &[
            "haft.yaml:4:11: `type` cannot be \"clii\"",
            "4 |     type: clii",
            "  |           ^^^^",
            "  = help: did you mean `cli`?",
        ],
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
fn what_a_kind_needs_is_named() {
    check(
        "{ }\n".replace("{ }", "type: http\nmethod: GET").trim_end(),
        &["haft.yaml:3:5: the tool `t` needs `endpoint`", "3 |   - name: t", "  |     ^"],
    );
    check(
        "type: pipeline\nsteps: []",
        &[
            "haft.yaml:5:12: `steps` is an empty list",
            "5 |     steps: []",
            "  |            ^",
            "  = help: name a tool to call: - tool: NAME",
        ],
    );
    check(
        "type: http\nendpoint: https://a.example\nmethod: FETCH",
        &[
            "haft.yaml:6:13: `method` cannot be \"FETCH\"",
            "6 |     method: FETCH",
            "  |             ^^^^^",
            "  = help: known words are GET, POST, PUT, DELETE, PATCH, HEAD",
        ],
    );
    check(
        "type: http\nendpoint: https://a.example\nmethod: GET\nauth: { type: digest }",
        &[
            "haft.yaml:7:19: `type` cannot be \"digest\"",
            "7 |     auth: { type: digest }",
            "  |                   ^^^^^^",
            "  = help: known words are bearer, basic, apikey",
        ],
    );
}

#[test]
fn a_parameter_has_a_type_bounds_and_a_default_that_fit() {
    check(
        "type: cli\ncommand: ls\nargs: []\nparams: { x: strng }",
        &[
            "haft.yaml:7:18: `strng` is no type for the argument `x`",
            "7 |     params: { x: strng }",
            "  |                  ^^^^^",
            "  = help: did you mean `string`?",
        ],
    );
    check(
        "type: cli\ncommand: ls\nargs: []\nparams: { x: { type: string, pattern: '(' } }",
        &[
            "haft.yaml:7:43: `x` is no usable schema: \"(\" is no regular expression, or compiles \
             to more than 524288 bytes",
            "7 |     params: { x: { type: string, pattern: '(' } }",
            "  |                                           ^^^",
        ],
    );
    check(
        "type: cli\ncommand: ls\nargs: []\nparams: { x: { type: integer, default: 7, max: 5 } }",
        &[
            "haft.yaml:7:15: the default of `x` does not fit its own schema: must be at most 5, \
             not 7",
            "7 |     params: { x: { type: integer, default: 7, max: 5 } }",
            "  |               ^",
        ],
    );
    check(
        "type: cli\ncommand: ls\nargs: []\nparams: { x: { required: true } }",
        &[
            "haft.yaml:7:18: the parameter `x` needs `type`",
            "7 |     params: { x: { required: true } }",
            "  |                  ^",
        ],
    );
}

#[test]
fn what_is_no_amount_is_shown_where_it_stands() {
    check(
        "type: cli\ncommand: ls\nargs: []\ntimeout_ms: soon",
        &[
            "haft.yaml:7:17: `timeout_ms` must be a number of milliseconds, not text",
            "7 |     timeout_ms: soon",
            "  |                 ^^^^",
        ],
    );
    check(
        "type: cli\ncommand: ls\nargs: []\nbulkhead: { max_concurrent: some }",
        &[
            "haft.yaml:7:33: `max_concurrent` must be a number, not text",
            "7 |     bulkhead: { max_concurrent: some }",
            "  |                                 ^^^^",
        ],
    );
    check(
        "type: pipeline\nsteps:\n  - { tool: t, error_policy: retry }",
        &[
            "haft.yaml:6:34: `error_policy` cannot be \"retry\"",
            "6 |       - { tool: t, error_policy: retry }",
            "  |                                  ^^^^^",
            "  = help: known words are fail_fast, continue",
        ],
    );
    check(
        "type: pipeline\nsteps:\n  - { tool: t, output_var: my-data }",
        &[
            "haft.yaml:6:32: `output_var`: \"my-data\" is no name for a value here",
            "6 |       - { tool: t, output_var: my-data }",
            "  |                                ^^^^^^^",
            "  = help: use letters, digits and `_`; `errors` and the words of templates are taken",
        ],
    );
}

#[test]
fn a_variable_that_is_not_set_is_a_fault_where_it_is_named() {
    check(
        "type: http\nendpoint: https://a.example\nmethod: GET\nauth: { type: bearer, token: \
         \"${HAFT_NO_SUCH_VARIABLE}\" }",
        &[
            "haft.yaml:7:35: the environment variable `HAFT_NO_SUCH_VARIABLE` is not set",
            "7 |     auth: { type: bearer, token: \"${HAFT_NO_SUCH_VARIABLE}\" }",
            "  |                                   ^",
            "  = help: set it before haft starts; `$${` writes `${` itself",
        ],
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
             upstreams",
        ],
    );
}
