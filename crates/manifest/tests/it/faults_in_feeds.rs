//! Faults of programs and servers that contents, messages and suggestions come from, and what is
//! odd about them.

use crate::fixture::{Desk, check_fault};

/// Checks the fault of a resource of these keys, from line 3 and column 5 on.
#[track_caller]
fn check(lines: &str, expected: &[&str]) {
    let lines = lines.replace('\n', "\n    ");
    check_fault(&format!("server: {{ name: a }}\nresources:\n  - {lines}"), expected);
}

/// Checks the fault of a prompt of these keys, from line 3 and column 5 on.
#[track_caller]
fn check_prompt(lines: &str, expected: &[&str]) {
    let lines = lines.replace('\n', "\n    ");
    check_fault(&format!("server: {{ name: a }}\nprompts:\n  - {lines}"), expected);
}

#[test]
fn a_resource_has_one_source_and_the_keys_of_it() {
    check(
        "uri: a:b\ncommand: [c]\nhttp: { get: 'https://d.example/' }",
        &[
            "haft.yaml:5:5: `http` and `command` exclude each other",
            "5 |     http: { get: 'https://d.example/' }",
            "  |     ^^^^",
            "  = help: keep one of them",
        ],
    );
    check(
        "uri: a:b\nhttp: { get: 'https://d.example/' }\nstdin: c",
        &[
            "haft.yaml:5:5: `stdin` belongs to resources with `command`",
            "5 |     stdin: c",
            "  |     ^^^^^",
        ],
    );
    check(
        "uri: a:b\ntext: c\ntimeout: 5s",
        &[
            "haft.yaml:5:5: `timeout` belongs to resources with `command` or `http`",
            "5 |     timeout: 5s",
            "  |     ^^^^^^^",
        ],
    );
}

#[test]
fn templates_read_the_variables_of_the_address() {
    check(
        "uri: a://{owner}/{b}\ncommand: [c, '{{ ownr }}']",
        &[
            "haft.yaml:4:22: there is no argument `ownr`",
            "4 |     command: [c, '{{ ownr }}']",
            "  |                      ^^^^",
            "  = help: did you mean `owner`?",
        ],
    );
    check(
        "uri: a:b\ncommand: [c, '{{ d }}']",
        &[
            "haft.yaml:4:22: there is no argument `d`",
            "4 |     command: [c, '{{ d }}']",
            "  |                      ^",
            "  = help: the address has no variables; give it some, like issue://{owner}/{number}",
        ],
    );
    check(
        "uri: a://{b}\ncommand: ['{{ b }}']",
        &[
            "haft.yaml:4:15: `command` cannot be a template: a caller must not choose the program",
            "4 |     command: ['{{ b }}']",
            "  |               ^^^^^^^^^",
        ],
    );
}

#[test]
fn an_address_can_be_matched() {
    for (uri, reason) in [
        ("a://{b}{c}", "two variables stand side by side; put a character between them"),
        ("a://{b", "a `{` has no `}`"),
        ("a://{b}/{b}", "the variable `b` is there twice"),
    ] {
        let typed = format!("uri: {uri}\ncommand: [c]");
        let mark = "^".repeat(uri.len());
        check(
            &typed,
            &[
                &format!("haft.yaml:3:10: {uri:?} is no address with variables: {reason}"),
                &format!("3 |   - uri: {uri}"),
                &format!("  |          {mark}"),
                "  = help: write it like issue://{owner}/{number}",
            ],
        );
    }
    let bad = "haft.yaml:3:10: \"{b}\" is no address";
    let desk = Desk::with("server: { name: a }\nresources:\n  - uri: '{b}'\n    command: [c]");
    let fault = haft_manifest::load(&desk.file("haft.yaml")).map(drop).expect_err("no scheme");
    assert!(fault.to_string().contains(bad.trim_start_matches("haft.yaml")), "{fault}");
}

#[test]
fn what_is_filled_in_is_no_variable_and_is_not_told() {
    let desk = Desk::with(
        "server: { name: a }
resources:
  - uri: 'a://${file:secret}/{b}'
    command: [echo, '{{ c }}']",
    );
    desk.write("secret", "{hidden}");
    let fault = haft_manifest::load(&desk.file("haft.yaml")).map(drop).expect_err("a variable");
    let told = fault.to_string();
    assert!(told.contains("what is filled in has a variable"), "{told}");
    assert!(!told.contains("hidden"), "{told}");
}

#[test]
fn a_request_that_reads_nothing_is_a_mistake() {
    check(
        "uri: a:b\nhttp: { delete: 'https://d.example/' }",
        &[
            "haft.yaml:4:11: `delete` reads nothing",
            "4 |     http: { delete: 'https://d.example/' }",
            "  |           ^",
            "  = help: use `get`, or `post` if the server wants a body",
        ],
    );
}

#[test]
fn amounts_and_pointers_are_checked() {
    check(
        "uri: a:b\ncommand: [c]\ntimeout: 2m",
        &[
            "haft.yaml:5:14: `timeout` must be longer than nothing and at most 60s",
            "5 |     timeout: 2m",
            "  |              ^^",
        ],
    );
    check(
        "uri: a:b\ncommand: [c]\npick: d",
        &[
            "haft.yaml:5:11: \"d\" is no JSON Pointer",
            "5 |     pick: d",
            "  |           ^",
            "  = help: write it like /items/0/name",
        ],
    );
}

#[test]
fn suggestions_are_for_what_is_there() {
    check(
        "uri: a://{b}\ncommand: [c, '{{ b }}']\ncomplete: { d: [e] }",
        &[
            "haft.yaml:5:17: the address has no variable `d`",
            "5 |     complete: { d: [e] }",
            "  |                 ^",
            "  = help: it has `b`",
        ],
    );
    check(
        "uri: a://{b}\ntext: c\ncomplete: { b: [e] }",
        &[
            "haft.yaml:5:5: `complete` belongs to resources with `command` or `http`",
            "5 |     complete: { b: [e] }",
            "  |     ^^^^^^^^",
        ],
    );
    check(
        "uri: a://{b}\ncommand: [c, '{{ b }}']\ncomplete: { b: {} }",
        &[
            "haft.yaml:5:20: there is nothing to suggest",
            "5 |     complete: { b: {} }",
            "  |                    ^",
            "  = help: write a list of values, or give it a `directory`, a `command` or an `http`",
        ],
    );
    check_prompt(
        "name: p\narguments: { a: { values: [b], complete: [c] } }\ntext: '{{ a }}'",
        &[
            "haft.yaml:4:46: `complete` and `values` exclude each other",
            "4 |     arguments: { a: { values: [b], complete: [c] } }",
            "  |                                              ^",
            "  = help: keep one of them",
        ],
    );
    check_prompt(
        "name: p\narguments: { a: { complete: { directory: b, command: [c] } } }\ntext: '{{ a }}'",
        &[
            "haft.yaml:4:58: `command` and `directory` exclude each other",
            "4 |     arguments: { a: { complete: { directory: b, command: [c] } } }",
            "  |                                                          ^",
            "  = help: keep one of them",
        ],
    );
    check_prompt(
        "name: p\narguments: { a: { complete: { command: [b, '{{ c }}'] } } }\ntext: '{{ a }}'",
        &[
            "haft.yaml:4:52: there is no argument `c`",
            "4 |     arguments: { a: { complete: { command: [b, '{{ c }}'] } } }",
            "  |                                                    ^",
            "  = help: known arguments are a",
        ],
    );
}

#[test]
fn a_message_says_one_thing() {
    check_prompt(
        "name: p\nmessages: [{ user: a, command: [b] }]",
        &[
            "haft.yaml:4:36: `command` and `user` exclude each other",
            "4 |     messages: [{ user: a, command: [b] }]",
            "  |                                    ^",
            "  = help: keep one of them",
        ],
    );
    check_prompt(
        "name: p\nmessages: [{ user: a, stdin: b }]",
        &[
            "haft.yaml:4:34: `stdin` belongs to messages with `command`",
            "4 |     messages: [{ user: a, stdin: b }]",
            "  |                                  ^",
        ],
    );
}

#[test]
fn a_resource_with_variables_is_no_part_of_a_message() {
    check_fault(
        "server: { name: a }
resources: [{ uri: 'a://{b}', command: [echo, '{{ b }}'] }]
prompts: [{ name: p, messages: [{ resource: 'a://{b}' }] }]",
        &[
            "haft.yaml:3:45: `a://{b}` stands for many resources",
            "3 | prompts: [{ name: p, messages: [{ resource: 'a://{b}' }] }]",
            "  |                                             ^^^^^^^^^",
            "  = help: name one without variables, or give the message the `command` or `http`",
        ],
    );
}

#[test]
fn what_is_odd_about_them_is_told() {
    let desk = Desk::with(
        "server: { name: a }
resources:
  - uri: a://{b}/{c}
    description: d
    command: [cat, '{{ b }}']
    complete:
      b: { command: [there-is-no-such-program] }
      c: { directory: nowhere }
  - uri: d://{e}
    description: d
    command: [sh, -c, 'echo {{ e }}']
prompts:
  - name: p
    description: d
    arguments: [f, g]
    messages:
      - command: [echo, --, '{{ f }}', '${HOME}']
",
    );
    let warnings = desk.manifest().warnings();
    let told: Vec<_> = warnings.iter().map(ToString::to_string).collect();
    let expected = [
        "3:10: a://{b}/{c}: nothing reads the variable `c` of the address",
        "5:20: a://{b}/{c}: a value of `b` that begins with `-` would be an option; put `--` \
         before it",
        "7:22: a://{b}/{c}: there is no program `there-is-no-such-program` on this machine",
        "8:10: a://{b}/{c}: the directory of these suggestions does not exist",
        "11:23: d://{e}: a shell would run whatever a caller writes in `e`; hand it over as an \
         argument of its own: [sh, -c, 'program \"$1\"', sh, \"{{ e }}\"]",
        "15:20: p: no message reads the argument `g`",
        "17:40: p: `${HOME}` stays as it is; write `${env:HOME}` for the variable",
    ];
    assert_eq!(told, expected);
}

#[test]
fn what_is_watched_is_read_again_no_sooner_than_after_a_second() {
    check_fault(
        "server: { name: a }\nresources: [{ uri: 'a:b', command: [ls], watch: 999ms }]",
        &[
            "haft.yaml:2:49: `watch` must be 1s or longer",
            "2 | resources: [{ uri: 'a:b', command: [ls], watch: 999ms }]",
            "  |                                                 ^^^^^",
        ],
    );
    check_fault(
        "server: { name: a }\nresources: [{ uri: 'a:b', file: x, watch: 1s }]",
        &[
            "haft.yaml:2:36: `watch` belongs to resources with `command` or `http`",
            "2 | resources: [{ uri: 'a:b', file: x, watch: 1s }]",
            "  |                                    ^^^^^",
        ],
    );
}
