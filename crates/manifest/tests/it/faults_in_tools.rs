//! Faults of tools and listeners: keys that exclude each other, names, amounts, addresses.
//! Each as it is drawn, but for the empty line of the margin.

use crate::fixture::{Desk, check_fault, check_fault_of_tool};

#[test]
fn a_tool_does_one_thing() {
    check_fault_of_tool(
        "",
        &[
            "haft.yaml:3:11: the tool `t` does nothing",
            "3 |   - name: t",
            "  |           ^",
            "  = help: give it a `command` to run, an `http` request to send or a `text` to answer",
        ],
    );
    check_fault_of_tool(
        "text: x\ncommand: [wc]",
        &[
            "haft.yaml:4:5: `text` and `command` exclude each other",
            "4 |     text: x",
            "  |     ^^^^",
            "  = help: keep one of them",
        ],
    );
    check_fault_of_tool(
        "input_schema: { type: object }\ninput: {}\ntext: x",
        &[
            "haft.yaml:4:5: `input_schema` and `input` exclude each other",
            "4 |     input_schema: { type: object }",
            "  |     ^^^^^^^^^^^^",
            "  = help: keep one of them",
        ],
    );
}

#[test]
fn keys_of_commands_do_not_belong_to_texts() {
    check_fault_of_tool(
        "text: x\nstdin: y",
        &[
            "haft.yaml:5:5: `stdin` belongs to tools with `command`",
            "5 |     stdin: y",
            "  |     ^^^^^",
        ],
    );
    check_fault_of_tool(
        "text: x\noutput_schema: { type: object }",
        &[
            "haft.yaml:5:5: `output_schema` belongs to tools with `command`, `http` or `pipeline`",
            "5 |     output_schema: { type: object }",
            "  |     ^^^^^^^^^^^^^",
        ],
    );
    check_fault_of_tool(
        "command: [wc]\noutput_schema: { type: object }",
        &[
            "haft.yaml:5:5: `output_schema` belongs to tools with `output: json`",
            "5 |     output_schema: { type: object }",
            "  |     ^^^^^^^^^^^^^",
        ],
    );
}

#[test]
fn two_tools_of_one_name_are_shown_with_both_lines() {
    check_fault(
        "server: { name: a }\ntools:\n  - { name: t, text: x }\n  - { name: t, text: y }",
        &[
            "haft.yaml:4:13: the tool of line 3 is called `t` already",
            "4 |   - { name: t, text: y }",
            "  |             ^",
            "  = help: rename one of them",
        ],
    );
}

#[test]
fn a_name_has_no_spaces() {
    check_fault(
        "server: { name: a }\ntools: [{ name: a b, text: x }]",
        &[
            r#"haft.yaml:2:17: "a b" is no name for a tool"#,
            "2 | tools: [{ name: a b, text: x }]",
            "  |                 ^^^",
            "  = help: use 1 to 128 letters, digits, `_`, `-` or `.`",
        ],
    );
}

#[test]
fn a_caller_chooses_neither_the_program_nor_the_directory() {
    check_fault_of_tool(
        "command: ['{{ x }}']",
        &[
            concat!(
                "haft.yaml:4:15: `command` cannot be a template: a caller must not ",
                "choose the program"
            ),
            "4 |     command: ['{{ x }}']",
            "  |               ^^^^^^^^^",
        ],
    );
    check_fault_of_tool(
        "command: [wc]\ncwd: '{{ x }}'",
        &[
            "haft.yaml:5:10: `cwd` cannot be a template: a caller must not choose the directory",
            "5 |     cwd: '{{ x }}'",
            "  |          ^^^^^^^^^",
        ],
    );
}

#[test]
fn a_list_that_must_not_be_empty_is_not() {
    check_fault_of_tool(
        "command: []",
        &[
            "haft.yaml:4:14: `command` is an empty list",
            "4 |     command: []",
            "  |              ^",
            "  = help: name a program and its arguments: [wc, -w]",
        ],
    );
    check_fault_of_tool(
        "command: [wc]\nok_exit: []",
        &[
            "haft.yaml:5:14: `ok_exit` is an empty list",
            "5 |     ok_exit: []",
            "  |              ^",
            "  = help: name the codes that are no failure, like [0, 1]",
        ],
    );
    check_fault(
        "server: { name: a }\nlisten: []",
        &[
            "haft.yaml:2:9: `listen` is an empty list",
            "2 | listen: []",
            "  |         ^",
            concat!(
                "  = help: remove it to listen on 127.0.0.1:7300, or name an address: ",
                "- http: ADDRESS"
            ),
        ],
    );
}

#[test]
fn a_length_of_time_has_a_unit_and_a_bound() {
    check_fault_of_tool(
        "command: [wc]\ntimeout: 5",
        &[
            r#"haft.yaml:5:14: `timeout`: "5" is no length of time"#,
            "5 |     timeout: 5",
            "  |              ^",
            "  = help: write a number and a unit, like 500ms, 5s, 2m or 1h",
        ],
    );
    check_fault_of_tool(
        "command: [wc]\ntimeout: 5 seconds",
        &[
            r#"haft.yaml:5:14: `timeout`: "5 seconds" is no length of time"#,
            "5 |     timeout: 5 seconds",
            "  |              ^^^^^^^^^",
            "  = help: write a number and a unit, like 500ms, 5s, 2m or 1h",
        ],
    );
    check_fault_of_tool(
        "command: [wc]\ntimeout: 48h",
        &[
            "haft.yaml:5:14: `timeout` must be longer than nothing and at most 24h",
            "5 |     timeout: 48h",
            "  |              ^^^",
        ],
    );
    check_fault_of_tool(
        "command: [wc]\ntimeout: 0s",
        &[
            "haft.yaml:5:14: `timeout` must be longer than nothing and at most 24h",
            "5 |     timeout: 0s",
            "  |              ^^",
        ],
    );
}

#[test]
fn a_number_of_bytes_is_one_and_has_a_bound() {
    check_fault_of_tool(
        "command: [wc]\noutput: { limit: 1mb }",
        &[
            r#"haft.yaml:5:22: `limit`: "1mb" is no number of bytes"#,
            "5 |     output: { limit: 1mb }",
            "  |                      ^^^",
            "  = help: write a number of bytes, or one with a unit: 64KiB, 1MiB",
        ],
    );
    check_fault_of_tool(
        "command: [wc]\noutput: { limit: 0 }",
        &[
            "haft.yaml:5:22: `limit` must be more than nothing and at most 67108864 bytes",
            "5 |     output: { limit: 0 }",
            "  |                      ^",
        ],
    );
}

#[test]
fn a_word_out_of_a_few_is_one_of_them() {
    check_fault_of_tool(
        "command: [wc]\noutput: yaml",
        &[
            r#"haft.yaml:5:13: `output` cannot be "yaml""#,
            "5 |     output: yaml",
            "  |             ^^^^",
            "  = help: known words are text, json, lines, report, auto, binary",
        ],
    );
    check_fault_of_tool(
        "command: [wc]\noutput: { parse: txt }",
        &[
            r#"haft.yaml:5:22: `parse` cannot be "txt""#,
            "5 |     output: { parse: txt }",
            "  |                      ^^^",
            "  = help: did you mean `text`?",
        ],
    );
}

#[test]
fn a_concurrency_is_within_its_bounds() {
    check_fault_of_tool(
        "command: [wc]\nconcurrency: 0",
        &[
            "haft.yaml:5:18: `concurrency` must be from 1 to 1024",
            "5 |     concurrency: 0",
            "  |                  ^",
        ],
    );
}

#[test]
fn a_variable_of_the_environment_has_a_name() {
    check_fault_of_tool(
        "command: [wc]\nenv: { 'A=B': x }",
        &[
            r#"haft.yaml:5:12: "A=B" cannot be the name of an environment variable"#,
            "5 |     env: { 'A=B': x }",
            "  |            ^^^^^",
            "  = help: a name has no `=` and is not empty",
        ],
    );
}

#[test]
fn an_address_is_one_and_is_listened_on_once() {
    check_fault(
        "server: { name: a }\nlisten: [{ http: nowhere }]",
        &[
            r#"haft.yaml:2:18: "nowhere" is no address to listen on"#,
            "2 | listen: [{ http: nowhere }]",
            "  |                  ^^^^^^^",
            "  = help: write an IP address and a port, like 127.0.0.1:7300 or [::1]:7300",
        ],
    );
    check_fault(
        "server: { name: a }\nlisten: [{ http: 7300 }, { http: ':7300' }]",
        &[
            "haft.yaml:2:34: line 2 listens on 127.0.0.1:7300 already",
            "2 | listen: [{ http: 7300 }, { http: ':7300' }]",
            "  |                                  ^^^^^^^",
            "  = help: keep one, or choose another port",
        ],
    );
    check_fault(
        "server: { name: a }\nlisten: [{ http: 7300, path: mcp }]",
        &[
            r#"haft.yaml:2:30: "mcp" is no path of an endpoint"#,
            "2 | listen: [{ http: 7300, path: mcp }]",
            "  |                              ^^^",
            "  = help: begin with `/`, without `?`, `#` or spaces, like /mcp",
        ],
    );
}

#[test]
fn who_can_never_call_is_told_in_one_line_and_with_what_was_meant() {
    for (key, listed, help) in [
        ("hosts", "tools.example:80", "not compared; leave it out; write tools.example"),
        ("hosts", "https://tools.example/mcp", "without scheme and path; write tools.example"),
        ("hosts", "*.example", "`*` stands alone and means any; list each name instead"),
        ("hosts", "", "it is empty; take it out"),
        ("origins", "https://app.example/", "not even a slash; write https://app.example"),
        ("origins", "https://app.example:443", "leave it out; write https://app.example"),
        ("origins", "app.example", "like https://app.example; write https://app.example"),
        ("origins", "https://*.example", "`*` stands alone and means any; list each name instead"),
    ] {
        let text =
            format!("server: {{ name: a }}\nlisten: [{{ http: 7300, {key}: ['{listed}'] }}]");
        let desk = Desk::with(&text);
        let fault = haft_manifest::load(&desk.file("haft.yaml")).map(|_| ()).expect_err(&text);
        let told = format!("`{key}`: no request can have {listed:?}");
        assert!(fault.message().ends_with(&told), "{fault}");
        assert!(fault.help().is_some_and(|told| told.ends_with(help)), "{listed}: {fault}");
    }
    // What was filled in is shown nowhere.
    check_fault(
        "server: { name: a }\nlisten: [{ http: 7300, hosts: ['${env:PATH}:1'] }]",
        &[
            r#"haft.yaml:2:32: `hosts`: no request can have "${env:PATH}:1""#,
            "2 | listen: [{ http: 7300, hosts: ['${env:PATH}:1'] }]",
            "  |                                ^^^^^^^^^^^^^^^",
            "  = help: nothing follows on the host and port, not even a slash",
        ],
    );
}
