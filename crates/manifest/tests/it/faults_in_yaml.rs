//! Faults of the file as YAML and of its shape: keys, types, syntax.
//! Each as it is drawn, but for the empty line of the margin.

use crate::fixture::{check_fault, check_fault_of_tool};

#[test]
fn an_unknown_key_names_the_nearest_one() {
    check_fault(
        "server: { name: a }\ntoolz: []",
        &[
            "haft.yaml:2:1: `toolz` is no known key of a manifest",
            "2 | toolz: []",
            "  | ^^^^^",
            "  = help: did you mean `tools`?",
        ],
    );
    check_fault(
        "server: { nam: a }",
        &[
            "haft.yaml:1:11: `nam` is no known key of a server",
            "1 | server: { nam: a }",
            "  |           ^^^",
            "  = help: did you mean `name`?",
        ],
    );
    check_fault(
        "server: { name: a, colour: red }",
        &[
            "haft.yaml:1:20: `colour` is no known key of a server",
            "1 | server: { name: a, colour: red }",
            "  |                    ^^^^^^",
            concat!(
                "  = help: known keys are name, version, title, description, ",
                "website_url, instructions, icons, caching, \
             state_keys, search, processes, strict_arguments, names, extra_arguments"
            ),
        ],
    );
    check_fault(
        "server: { name: a }\nlisten: [{ htp: 7300 }]",
        &[
            "haft.yaml:2:12: `htp` is no known key of a listener",
            "2 | listen: [{ htp: 7300 }]",
            "  |            ^^^",
            "  = help: did you mean `http`?",
        ],
    );
    check_fault_of_tool(
        "command: [wc]\noutput: { parce: text }",
        &[
            "haft.yaml:5:15: `parce` is no known key of `output`",
            "5 |     output: { parce: text }",
            "  |               ^^^^^",
            "  = help: did you mean `parse`?",
        ],
    );
    check_fault_of_tool(
        "text: x\nannotations: { readonly: true }",
        &[
            "haft.yaml:5:20: `readonly` is no known key of `annotations`",
            "5 |     annotations: { readonly: true }",
            "  |                    ^^^^^^^^",
            "  = help: did you mean `readOnly`?",
        ],
    );
}

#[test]
fn a_missing_key_is_shown_where_it_should_be() {
    check_fault(
        "tools: []",
        &["haft.yaml:1:1: a manifest needs `server`", "1 | tools: []", "  | ^"],
    );
    check_fault(
        "server: {}",
        &["haft.yaml:1:9: a server needs `name`", "1 | server: {}", "  |         ^"],
    );
    check_fault(
        "server: { name: a }\ntools:\n  - title: x",
        &["haft.yaml:3:5: a tool needs `name`", "3 |   - title: x", "  |     ^"],
    );
}

#[test]
fn a_value_of_the_wrong_type_says_what_was_expected_and_what_came() {
    check_fault(
        "server: { name: [a] }",
        &[
            "haft.yaml:1:17: `name` must be text, not a list",
            "1 | server: { name: [a] }",
            "  |                 ^",
        ],
    );
    check_fault(
        "server: a",
        &["haft.yaml:1:9: `server` must be a mapping, not text", "1 | server: a", "  |         ^"],
    );
    check_fault(
        "server: { name: 1.0 }",
        &[
            "haft.yaml:1:17: `name` must be text, not a number",
            "1 | server: { name: 1.0 }",
            "  |                 ^^^",
            r#"  = help: put it in quotes: "1.0""#,
        ],
    );
    check_fault(
        "- a",
        &["haft.yaml:1:1: the file must be a mapping, not a list", "1 | - a", "  | ^"],
    );
    check_fault(
        "server: { name: a }\ntools: { name: x }",
        &[
            "haft.yaml:2:8: `tools` must be a list, not a mapping",
            "2 | tools: { name: x }",
            "  |        ^",
            "  = help: write it as an item of a list: put `- ` before its first key",
        ],
    );
    check_fault(
        "server: { name: a }\ntools: [x]",
        &[
            "haft.yaml:2:9: an item of `tools` must be a mapping, not text",
            "2 | tools: [x]",
            "  |         ^",
        ],
    );
    check_fault(
        "server: { name: a }\nlisten: { http: 7300 }",
        &[
            "haft.yaml:2:9: `listen` must be a list, not a mapping",
            "2 | listen: { http: 7300 }",
            "  |         ^",
            "  = help: write it as an item of a list: put `- ` before its first key",
        ],
    );
}

#[test]
fn a_value_of_a_tool_of_the_wrong_type_says_how_it_should_be_written() {
    check_fault_of_tool(
        "command: wc -w",
        &[
            "haft.yaml:4:14: `command` must be a list, not text",
            "4 |     command: wc -w",
            "  |              ^^^^^",
            "  = help: write it as a list: [wc, -w]",
        ],
    );
    check_fault_of_tool(
        "command: [wc, [a]]",
        &[
            "haft.yaml:4:19: an item of `command` must be text, not a list",
            "4 |     command: [wc, [a]]",
            "  |                   ^",
        ],
    );
    check_fault_of_tool(
        "command: [wc]\nok_exit: 1",
        &[
            "haft.yaml:5:14: `ok_exit` must be a list, not a number",
            "5 |     ok_exit: 1",
            "  |              ^",
            "  = help: write it as a list: [1]",
        ],
    );
    check_fault_of_tool(
        "command: [wc]\nok_exit: [256]",
        &[
            "haft.yaml:5:15: an item of `ok_exit` must be a whole number from 0 to 255, not 256",
            "5 |     ok_exit: [256]",
            "  |               ^^^",
        ],
    );
}

#[test]
fn a_value_out_of_a_few_says_which_ones() {
    check_fault_of_tool(
        "command: [wc]\nconcurrency: many",
        &[
            "haft.yaml:5:18: `concurrency` must be a whole number, not text",
            "5 |     concurrency: many",
            "  |                  ^^^^",
        ],
    );
    check_fault_of_tool(
        "command: [wc]\nconcurrency: -1",
        &[
            "haft.yaml:5:18: `concurrency` must be a whole number, not -1",
            "5 |     concurrency: -1",
            "  |                  ^^",
        ],
    );
    check_fault_of_tool(
        "command: [wc]\nenv: [A]",
        &[
            "haft.yaml:5:10: `env` must be a mapping, not a list",
            "5 |     env: [A]",
            "  |          ^",
        ],
    );
    check_fault_of_tool(
        "text: x\nannotations: { readOnly: yes }",
        &[
            "haft.yaml:5:30: `readOnly` must be true or false, not text",
            "5 |     annotations: { readOnly: yes }",
            "  |                              ^^^",
            "  = help: write true",
        ],
    );
    check_fault_of_tool(
        "command: [wc]\noutput: [text]",
        &[
            "haft.yaml:5:13: `output` must be text, json, lines, report, auto or binary, or a \
             mapping, not a list",
            "5 |     output: [text]",
            "  |             ^",
        ],
    );
}

#[test]
fn a_key_without_a_value_is_not_taken_for_an_absent_one() {
    check_fault(
        "server:",
        &[
            "haft.yaml:1:1: `server` has no value",
            "1 | server:",
            "  | ^^^^^^",
            "  = help: give it one, or remove the line",
        ],
    );
    check_fault(
        "server: { name: a }\ntools:",
        &[
            "haft.yaml:2:1: `tools` has no value",
            "2 | tools:",
            "  | ^^^^^",
            "  = help: give it one, or remove the line",
        ],
    );
    check_fault(
        "server: { name: '' }",
        &[
            "haft.yaml:1:17: `name` has no value",
            "1 | server: { name: '' }",
            "  |                 ^^",
            "  = help: give it one, or remove the line",
        ],
    );
    check_fault_of_tool(
        "text: x\ndescription:",
        &[
            "haft.yaml:5:5: `description` has no value",
            "5 |     description:",
            "  |     ^^^^^^^^^^^",
            "  = help: give it one, or remove the line",
        ],
    );
    check_fault_of_tool(
        "command: ['']",
        &[
            "haft.yaml:4:15: `command` has no value",
            "4 |     command: ['']",
            "  |               ^^",
            "  = help: give it one, or remove the line",
        ],
    );
}

#[test]
fn yaml_that_cannot_be_read_is_shown_where_it_ends() {
    check_fault(
        "server: { name: a\ntools: x",
        &[
            concat!(
                "haft.yaml:2:6: this is not YAML: while parsing a flow mapping, did ",
                "not find expected ',' or '}'"
            ),
            "2 | tools: x",
            "  |      ^",
        ],
    );
    check_fault(
        "server:\n\tname: a",
        &[
            concat!(
                "haft.yaml:2:2: this is not YAML: tabs disallowed within this context ",
                "(block indentation)"
            ),
            "2 |     name: a",
            "  |     ^",
            "  = help: indent with spaces",
        ],
    );
    check_fault(
        "server: { name: a }\ntools:\n  - name: x\n\ttext: x",
        &[
            "haft.yaml:4:1: this is not YAML: while scanning a plain scalar, found a tab",
            "4 |     text: x",
            "  | ^^^^",
            "  = help: indent with spaces",
        ],
    );
    check_fault(
        "server: { name: @a }",
        &[
            "haft.yaml:1:17: this is not YAML: unexpected character: `@'",
            "1 | server: { name: @a }",
            "  |                 ^",
            "  = help: put text with special characters in quotes",
        ],
    );
    check_fault(
        r#"server: { name: "a\q" }"#,
        &[
            concat!(
                "haft.yaml:1:17: this is not YAML: while parsing a quoted scalar, ",
                "found unknown escape character"
            ),
            r#"1 | server: { name: "a\q" }"#,
            "  |                 ^",
            "  = help: write a backslash twice between double quotes, or use single quotes",
        ],
    );
}

#[test]
fn yaml_that_is_not_finished_is_shown_where_it_breaks_off() {
    check_fault(
        "server: { name: 'a }",
        &[
            "haft.yaml:1:17: this is not YAML: unclosed quote",
            "1 | server: { name: 'a }",
            "  |                 ^",
        ],
    );
    check_fault(
        "server: { name: a: b }",
        &[
            concat!(
                "haft.yaml:1:18: this is not YAML: while parsing a flow mapping, did ",
                "not find expected ',' or '}'"
            ),
            "1 | server: { name: a: b }",
            "  |                  ^",
        ],
    );
    check_fault(
        "server: !foo { name: a }",
        &[
            "haft.yaml:1:14: this is not YAML: unsupported tag `!foo`",
            "1 | server: !foo { name: a }",
            "  |              ^",
        ],
    );
    check_fault(
        "server: *foo",
        &[
            "haft.yaml:1:9: this is not YAML: there is no such anchor",
            "1 | server: *foo",
            "  |         ^",
        ],
    );
    check_fault(
        "server:\n  name: a\n bad: x",
        &[
            concat!(
                "haft.yaml:3:2: this is not YAML: while parsing a block mapping, did ",
                "not find expected key"
            ),
            "3 |  bad: x",
            "  |  ^",
        ],
    );
}

#[test]
fn a_template_without_quotes_is_recognised() {
    check_fault_of_tool(
        "text: {{ name }}",
        &[
            "haft.yaml:4:12: a key must be text",
            "4 |     text: {{ name }}",
            "  |            ^",
            r#"  = help: put a template in quotes: "{{ name }}""#,
        ],
    );
}

#[test]
fn a_key_is_there_once() {
    check_fault(
        "server: { name: a, name: b }",
        &[
            "haft.yaml:1:20: `name` is there twice",
            "1 | server: { name: a, name: b }",
            "  |                    ^^^^",
            "  = help: keep one of them",
        ],
    );
}

#[test]
fn a_manifest_is_one_document_and_not_empty() {
    check_fault(
        "",
        &[
            "haft.yaml:1:1: there is nothing in the file",
            "1 | ",
            "  | ^",
            "  = help: `haft new` writes a file to begin with",
        ],
    );
    check_fault(
        "# nothing",
        &[
            "haft.yaml:1:10: there is nothing in the file",
            "1 | # nothing",
            "  |          ^",
            "  = help: `haft new` writes a file to begin with",
        ],
    );
    check_fault(
        "server: { name: a }\n---\nx: y",
        &[
            "haft.yaml:2:1: a second YAML document begins here",
            "2 | ---",
            "  | ^^^",
            "  = help: remove the `---`: a manifest is one document",
        ],
    );
}
