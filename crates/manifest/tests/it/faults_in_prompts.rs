//! Faults of prompts: their arguments, their messages, and the templates in them.

use crate::fixture::check_fault;

/// Checks the fault of a prompt of these keys, from line 4 and column 5 on.
#[track_caller]
fn check(lines: &str, expected: &[&str]) {
    let lines = lines.replace('\n', "\n    ");
    check_fault(&format!("server: {{ name: a }}\nprompts:\n  - name: p\n    {lines}"), expected);
}

#[test]
fn a_prompt_says_something() {
    check(
        "title: P",
        &[
            "haft.yaml:3:11: the prompt `p` says nothing",
            "3 |   - name: p",
            "  |           ^",
            "  = help: give it `messages`, or a `text` if it is a single one",
        ],
    );
    check(
        "messages: []",
        &[
            "haft.yaml:4:15: `messages` is an empty list",
            "4 |     messages: []",
            "  |               ^",
            "  = help: say something: - user: TEXT",
        ],
    );
    check(
        "text: a\nmessages: [{ user: a }]",
        &[
            "haft.yaml:4:5: `text` and `messages` exclude each other",
            "4 |     text: a",
            "  |     ^^^^",
            "  = help: keep one of them",
        ],
    );
    check_fault(
        "server: { name: a }\nprompts: [{ name: p, text: a }, { name: p, text: b }]",
        &[
            "haft.yaml:2:41: the prompt of line 2 is called `p` already",
            "2 | prompts: [{ name: p, text: a }, { name: p, text: b }]",
            "  |                                         ^",
            "  = help: rename one of them",
        ],
    );
    check_fault(
        "server: { name: a }\nprompts: [{ name: ' ', text: a }]",
        &[
            "haft.yaml:2:19: `name` has no value",
            "2 | prompts: [{ name: ' ', text: a }]",
            "  |                   ^^^",
            "  = help: give it one, or remove the line",
        ],
    );
}

#[test]
fn an_unknown_variable_is_found_before_anybody_asks() {
    check(
        "arguments: { name: Whose. }\ntext: 'Hi {{ nam }}'",
        &[
            "haft.yaml:5:18: there is no argument `nam`",
            "5 |     text: 'Hi {{ nam }}'",
            "  |                  ^^^",
            "  = help: did you mean `name`?",
        ],
    );
    check(
        "messages: [{ user: 'Hi {{ name }}' }]",
        &[
            "haft.yaml:4:31: there is no argument `name`",
            "4 |     messages: [{ user: 'Hi {{ name }}' }]",
            "  |                               ^^^^",
            "  = help: the prompt takes no arguments; name them in `arguments`",
        ],
    );
    check(
        "messages: [{ assistant: '{{ 1 | uper }}' }]",
        &[
            "haft.yaml:4:37: the template cannot be used: there is no filter `uper`",
            "4 |     messages: [{ assistant: '{{ 1 | uper }}' }]",
            "  |                                     ^^^^",
        ],
    );
}

#[test]
fn a_message_is_one_thing() {
    check(
        "messages:\n- user: a\n  assistant: b",
        &[
            "haft.yaml:6:18: `assistant` and `user` exclude each other",
            "6 |       assistant: b",
            "  |                  ^",
            "  = help: keep one of them",
        ],
    );
    check(
        "messages: [{ role: user }]",
        &[
            "haft.yaml:4:16: the message says nothing",
            "4 |     messages: [{ role: user }]",
            "  |                ^",
            "  = help: write `user: TEXT` or `assistant: TEXT`, or give it a `file`, a `resource`, \
             an `image`, a `command` or an `http`",
        ],
    );
    check(
        "messages: [{ role: user, user: a }]",
        &[
            "haft.yaml:4:16: `role` and `user` exclude each other",
            "4 |     messages: [{ role: user, user: a }]",
            "  |                ^",
            "  = help: keep one of them",
        ],
    );
    check(
        "messages: [{ role: system, text: a }]",
        &[
            "haft.yaml:4:24: `role` cannot be \"system\"",
            "4 |     messages: [{ role: system, text: a }]",
            "  |                        ^^^^^^",
            "  = help: known words are assistant, user",
        ],
    );
    check(
        "messages: [Hello]",
        &[
            "haft.yaml:4:16: an item of `messages` must be a mapping, not text",
            "4 |     messages: [Hello]",
            "  |                ^^^^^",
        ],
    );
}

#[test]
fn a_resource_in_a_message_is_one_of_the_file() {
    let check = |uri: &str, expected: &[&str]| {
        let resources = "server: { name: a }
resources: [{ uri: 'a:text', text: b }, { uri: 'a:dir/{+p}', directory: . }]";
        let prompt = format!("prompts: [{{ name: p, messages: [{{ resource: '{uri}' }}] }}]");
        check_fault(&format!("{resources}\n{prompt}"), expected);
    };
    check(
        "a:txt",
        &[
            "haft.yaml:3:45: the file has no resource `a:txt`",
            "3 | prompts: [{ name: p, messages: [{ resource: 'a:txt' }] }]",
            "  |                                             ^^^^^^^",
            "  = help: did you mean `a:text`?",
        ],
    );
    check(
        "a:dir/{+p}",
        &[
            "haft.yaml:3:45: `a:dir/{+p}` is a directory, not a text or file",
            "3 | prompts: [{ name: p, messages: [{ resource: 'a:dir/{+p}' }] }]",
            "  |                                             ^^^^^^^^^^^^",
            "  = help: give the file that is meant a resource of its own",
        ],
    );
}

#[test]
fn a_picture_is_a_file_of_that_kind() {
    check(
        "messages: [{ image: notes.md }]",
        &[
            "haft.yaml:4:25: \"notes.md\" is no file with a picture",
            "4 |     messages: [{ image: notes.md }]",
            "  |                         ^^^^^^^^",
            "  = help: name one that ends in .png, .jpg, .gif, .webp or .svg",
        ],
    );
    check(
        "arguments: [x]\nmessages: [{ image: '{{ x }}.png' }]",
        &[
            "haft.yaml:5:25: `image` cannot be a template: what a caller may read is said here",
            "5 |     messages: [{ image: '{{ x }}.png' }]",
            "  |                         ^^^^^^^^^^^^^",
        ],
    );
}

#[test]
fn arguments_have_names_that_agree() {
    check(
        "arguments: { a: b, 'a?': c }\ntext: x",
        &[
            "haft.yaml:4:24: `a` is there twice",
            "4 |     arguments: { a: b, 'a?': c }",
            "  |                        ^^^^",
            "  = help: keep one of them",
        ],
    );
    check(
        "arguments: { 'a?': { required: true } }\ntext: x",
        &[
            "haft.yaml:4:36: `a?` is optional by its `?`, and `required` says that it is not",
            "4 |     arguments: { 'a?': { required: true } }",
            "  |                                    ^^^^",
            "  = help: keep one of them",
        ],
    );
    check(
        "arguments: [a, '?']\ntext: x",
        &[
            "haft.yaml:4:20: `name` has no value",
            "4 |     arguments: [a, '?']",
            "  |                    ^^^",
            "  = help: give it one, or remove the line",
        ],
    );
    check(
        "arguments: { a: { descripton: b } }\ntext: x",
        &[
            "haft.yaml:4:23: `descripton` is no known key of `a`",
            "4 |     arguments: { a: { descripton: b } }",
            "  |                       ^^^^^^^^^^",
            "  = help: did you mean `description`?",
        ],
    );
    check(
        "arguments: [{ description: b }]\ntext: x",
        &[
            "haft.yaml:4:17: `arguments` needs `name`",
            "4 |     arguments: [{ description: b }]",
            "  |                 ^",
        ],
    );
    check(
        "arguments: { a: 5 }\ntext: x",
        &[
            "haft.yaml:4:21: `a` must be text or a mapping, not a number",
            "4 |     arguments: { a: 5 }",
            "  |                     ^",
        ],
    );
    check(
        "arguments: [range]\ntext: '{{ range }}'",
        &[
            "haft.yaml:5:15: the template cannot be used: `range` is a function here; give the \
             argument another name",
            "5 |     text: '{{ range }}'",
            "  |               ^^^^^",
        ],
    );
}
