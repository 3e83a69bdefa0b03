//! Faults of resources, and of what is said of anything: icons, `meta`, `caching`, state keys.

use crate::fixture::check_fault;

/// Checks the fault of a resource of these keys, from line 3 and column 5 on.
#[track_caller]
fn check(lines: &str, expected: &[&str]) {
    let lines = lines.replace('\n', "\n    ");
    check_fault(&format!("server: {{ name: a }}\nresources:\n  - {lines}"), expected);
}

#[test]
fn an_unknown_key_names_the_nearest_one() {
    check(
        "uri: a:b\nfiles: c",
        &[
            "haft.yaml:4:5: `files` is no known key of a resource",
            "4 |     files: c",
            "  |     ^^^^^",
            "  = help: did you mean `file`?",
        ],
    );
    check(
        "{ uri: 'a:b', text: c, annotations: { prioritee: 1 } }",
        &[
            "haft.yaml:3:43: `prioritee` is no known key of `annotations`",
            "3 |   - { uri: 'a:b', text: c, annotations: { prioritee: 1 } }",
            "  |                                           ^^^^^^^^^",
            "  = help: did you mean `priority`?",
        ],
    );
}

#[test]
fn a_resource_has_an_address_and_one_content() {
    check("text: b", &["haft.yaml:3:5: a resource needs `uri`", "3 |   - text: b", "  |     ^"]);
    check(
        "uri: a:b",
        &[
            "haft.yaml:3:10: there is nothing to read at `a:b`",
            "3 |   - uri: a:b",
            "  |          ^^^",
            "  = help: give it a `text`, a `file`, a `directory`, a `command` or an `http`",
        ],
    );
    check(
        "uri: a:b\ntext: c\nfile: d",
        &[
            "haft.yaml:5:5: `file` and `text` exclude each other",
            "5 |     file: d",
            "  |     ^^^^",
            "  = help: keep one of them",
        ],
    );
    check(
        "uri: a:b\nfile: d\nlist: true",
        &[
            "haft.yaml:5:5: `list` belongs to resources with `directory`",
            "5 |     list: true",
            "  |     ^^^^",
        ],
    );
    check(
        "uri: a:b\ntext: d\nlimit: 5",
        &[
            "haft.yaml:5:5: `limit` belongs to resources with `file` or `directory`",
            "5 |     limit: 5",
            "  |     ^^^^^",
        ],
    );
}

#[test]
fn an_address_is_one() {
    let help =
        "  = help: begin with a word and a colon: notes://style; only a `directory` takes {+path}";
    check(
        "{ uri: style, text: b }",
        &[
            "haft.yaml:3:12: \"style\" is no address of a resource",
            "3 |   - { uri: style, text: b }",
            "  |            ^^^^^",
            help,
        ],
    );
    check(
        "{ uri: 'a://{+path}', file: b }",
        &[
            "haft.yaml:3:12: \"a://{+path}\" is no address of a resource",
            "3 |   - { uri: 'a://{+path}', file: b }",
            "  |            ^^^^^^^^^^^^^",
            help,
        ],
    );
    check(
        "{ uri: 'docs://', directory: b }",
        &[
            "haft.yaml:3:12: \"docs://\" is no address of the files below a directory",
            "3 |   - { uri: 'docs://', directory: b }",
            "  |            ^^^^^^^^^",
            "  = help: let it end in a variable for the path: docs://{+path}",
        ],
    );
    check(
        "{ uri: '{+path}', directory: b }",
        &[
            "haft.yaml:3:12: \"{+path}\" is no address of a resource",
            "3 |   - { uri: '{+path}', directory: b }",
            "  |            ^^^^^^^^^",
            help,
        ],
    );
    check_fault(
        "server: { name: a }\nresources: [{ uri: 'a:b', text: c }, { uri: 'a:b', text: d }]",
        &[
            "haft.yaml:2:45: the resource of line 2 has the address `a:b` already",
            "2 | resources: [{ uri: 'a:b', text: c }, { uri: 'a:b', text: d }]",
            "  |                                             ^^^^^",
            "  = help: give one of them another address",
        ],
    );
}

#[test]
fn a_path_is_said_in_the_file() {
    check(
        "{ uri: 'a:b', file: '{{ name }}.md' }",
        &[
            "haft.yaml:3:25: `file` cannot be a template: what a caller may read is said here",
            "3 |   - { uri: 'a:b', file: '{{ name }}.md' }",
            "  |                         ^^^^^^^^^^^^^^^",
        ],
    );
    check(
        "{ uri: 'a:b', file: '' }",
        &[
            "haft.yaml:3:25: `file` has no value",
            "3 |   - { uri: 'a:b', file: '' }",
            "  |                         ^^",
            "  = help: give it one, or remove the line",
        ],
    );
}

#[test]
fn limits_are_numbers_in_range() {
    check(
        "{ uri: 'a:b', file: c, limit: 65MiB }",
        &[
            "haft.yaml:3:35: `limit` must be more than nothing and at most 67108864 bytes",
            "3 |   - { uri: 'a:b', file: c, limit: 65MiB }",
            "  |                                   ^^^^^",
        ],
    );
    check(
        "{ uri: 'a:b', file: c, caching: { ttl: 8761h } }",
        &[
            "haft.yaml:3:44: `ttl` must be at most 365 days, which are 8760h",
            "3 |   - { uri: 'a:b', file: c, caching: { ttl: 8761h } }",
            "  |                                            ^^^^^",
        ],
    );
    check(
        "{ uri: 'a:b', file: c, caching: { ttl: 5 } }",
        &[
            "haft.yaml:3:44: `ttl`: \"5\" is no length of time",
            "3 |   - { uri: 'a:b', file: c, caching: { ttl: 5 } }",
            "  |                                            ^",
            "  = help: write a number and a unit, like 500ms, 5s, 2m or 1h",
        ],
    );
    check(
        "{ uri: 'a:b', text: c, annotations: { priority: 1.5 } }",
        &[
            "haft.yaml:3:53: `priority` must be from 0 to 1",
            "3 |   - { uri: 'a:b', text: c, annotations: { priority: 1.5 } }",
            "  |                                                     ^^^",
        ],
    );
    check(
        "{ uri: 'a:b', text: c, annotations: { priority: high } }",
        &[
            "haft.yaml:3:53: `priority` must be a number, not text",
            "3 |   - { uri: 'a:b', text: c, annotations: { priority: high } }",
            "  |                                                     ^^^^",
        ],
    );
}

#[test]
fn words_are_those_that_there_are() {
    check(
        "{ uri: 'a:b', text: c, annotations: { audience: [users] } }",
        &[
            "haft.yaml:3:54: `audience` cannot be \"users\"",
            "3 |   - { uri: 'a:b', text: c, annotations: { audience: [users] } }",
            "  |                                                      ^^^^^",
            "  = help: did you mean `user`?",
        ],
    );
    check(
        "{ uri: 'a:b', text: c, annotations: { last_modified: yesterday } }",
        &[
            "haft.yaml:3:58: `last_modified`: \"yesterday\" is no time",
            "3 |   - { uri: 'a:b', text: c, annotations: { last_modified: yesterday } }",
            "  |                                                          ^^^^^^^^^",
            "  = help: write it like 2026-07-28 or 2026-07-28T12:00:00Z",
        ],
    );
    check(
        "{ uri: 'a:b', text: c, mime_type: markdown }",
        &[
            "haft.yaml:3:39: \"markdown\" is no kind of data",
            "3 |   - { uri: 'a:b', text: c, mime_type: markdown }",
            "  |                                       ^^^^^^^^",
            "  = help: write it like text/markdown",
        ],
    );
    check(
        "{ uri: 'a:b', text: c, meta: 5 }",
        &[
            "haft.yaml:3:34: `meta` must be a mapping, not a number",
            "3 |   - { uri: 'a:b', text: c, meta: 5 }",
            "  |                                  ^",
        ],
    );
}

#[test]
fn a_picture_has_an_address_and_a_size() {
    check_fault(
        "server: { name: a, icons: [{ src: ./icon.png }] }",
        &[
            "haft.yaml:1:35: \"./icon.png\" is no address of a picture",
            "1 | server: { name: a, icons: [{ src: ./icon.png }] }",
            "  |                                   ^^^^^^^^^^",
            "  = help: begin with `https:` or `data:`",
        ],
    );
    check_fault(
        "server: { name: a, icons: [{ src: 'data:,', sizes: [48] }] }",
        &[
            "haft.yaml:1:53: an item of `sizes` must be text, not a number",
            "1 | server: { name: a, icons: [{ src: 'data:,', sizes: [48] }] }",
            "  |                                                     ^^",
            "  = help: put it in quotes: \"48\"",
        ],
    );
    check_fault(
        "server: { name: a, icons: [{ src: 'data:,', sizes: [big] }] }",
        &[
            "haft.yaml:1:53: \"big\" is no size of a picture",
            "1 | server: { name: a, icons: [{ src: 'data:,', sizes: [big] }] }",
            "  |                                                     ^^^",
            "  = help: write it like 48x48, or `any`",
        ],
    );
    check_fault(
        "server: { name: a, icons: [{ theme: dim, src: 'data:,' }] }",
        &[
            "haft.yaml:1:37: `theme` cannot be \"dim\"",
            "1 | server: { name: a, icons: [{ theme: dim, src: 'data:,' }] }",
            "  |                                     ^^^",
            "  = help: known words are dark, light",
        ],
    );
}

#[test]
fn a_state_key_is_hard_to_guess_and_never_shown() {
    check_fault(
        "server: { name: a, state_keys: ['sixteen letters!', '${file:short}'] }",
        &[
            "haft.yaml:1:54: cannot read \"short\": there is no such file",
            "1 | server: { name: a, state_keys: ['sixteen letters!', '${file:short}'] }",
            "  |                                                      ^^^^^^^^^^^^^",
            "  = help: the path is relative to the manifest's directory",
        ],
    );
    check_fault(
        "server: { name: a, state_keys: ['fifteen letters'] }",
        &[
            "haft.yaml:1:33: a state key has fewer than 16 characters",
            "1 | server: { name: a, state_keys: ['fifteen letters'] }",
            "  |                                 ^^^^^^^^^^^^^^^^^",
            "  = help: use one that nobody can guess: openssl rand -hex 32",
        ],
    );
    check_fault(
        "server: { name: a, state_keys: [] }",
        &[
            "haft.yaml:1:32: `state_keys` is an empty list",
            "1 | server: { name: a, state_keys: [] }",
            "  |                                ^",
            "  = help: remove it, or name a secret: [\"${env:HAFT_STATE_KEY}\"]",
        ],
    );
}
