//! What can be wrong with views: faults as they are drawn.

use crate::fixture::{Desk, check_fault};

/// Checks the fault of a file with these views, from line 4 and column 3 on.
#[track_caller]
fn check(lines: &str, expected: &[&str]) {
    let lines: String = lines.lines().map(|line| format!("  {line}\n")).collect();
    let upstreams = "upstreams: { docs: { command: [a] }, api: { url: 'https://a.example' } }";
    check_fault(&format!("server: {{ name: a }}\n{upstreams}\nviews:\n{lines}"), expected);
}

#[test]
fn an_unknown_key_is_drawn_with_the_nearest() {
    check(
        "docs: { upstream: [docs] }",
        &[
            "haft.yaml:4:11: `upstream` is no known key of a view",
            "4 |   docs: { upstream: [docs] }",
            "  |           ^^^^^^^^",
            "  = help: did you mean `upstreams`?",
        ],
    );
    check(
        "docs: { include: { tags: [a] } }",
        &[
            "haft.yaml:4:22: `tags` is no known key of a choice",
            "4 |   docs: { include: { tags: [a] } }",
            "  |                      ^^^^",
            "  = help: known keys are tools, resources, prompts",
        ],
    );
}

#[test]
fn a_name_has_no_more_than_letters_digits_and_two_signs() {
    check(
        "'my docs': {}",
        &[
            "haft.yaml:4:3: \"my docs\" is no name for a view",
            "4 |   'my docs': {}",
            "  |   ^^^^^^^^^",
            "  = help: use 1 to 31 letters, digits, `_` or `-`",
        ],
    );
    let named =
        |length: usize| format!("server: {{ name: a }}\nviews: {{ {}: {{}} }}", "n".repeat(length));
    assert_eq!(Desk::with(&named(31)).manifest().views().len(), 1);
    let desk = Desk::with(&named(32));
    let fault = haft_manifest::load(&desk.file("haft.yaml")).map(|_| ()).expect_err("32");
    assert!(fault.message().ends_with("is no name for a view"), "{fault}");
}

#[test]
fn a_path_is_of_one_endpoint() {
    let help = "  = help: give it another `path`, like /docs/mcp";
    check(
        "docs: { path: /mcp }",
        &[
            "haft.yaml:4:17: /mcp is a path of `listen` already",
            "4 |   docs: { path: /mcp }",
            "  |                 ^^^^",
            help,
        ],
    );
    check(
        "docs: { path: /mcp/ }",
        &[
            "haft.yaml:4:17: /mcp/ is a path of `listen` already",
            "4 |   docs: { path: /mcp/ }",
            "  |                 ^^^^^",
            help,
        ],
    );
    check(
        "docs: {}\nops: { path: /docs/mcp }",
        &[
            "haft.yaml:5:16: the view of line 4 is at /docs/mcp already",
            "5 |   ops: { path: /docs/mcp }",
            "  |                ^^^^^^^^^",
            help,
        ],
    );
    check(
        "ops: { path: /docs/mcp }\ndocs: {}",
        &[
            "haft.yaml:5:3: the view of line 4 is at /docs/mcp already",
            "5 |   docs: {}",
            "  |   ^^^^",
            help,
        ],
    );
    check_fault(
        "server: { name: a }\nlisten: [{ http: 7300, sse: true }]\nviews: { a: { path: /sse } }\n",
        &[
            "haft.yaml:3:21: /sse is a path of `listen` already",
            "3 | views: { a: { path: /sse } }",
            "  |                     ^^^^",
            help,
        ],
    );
    check(
        "docs: { path: docs }",
        &[
            "haft.yaml:4:17: \"docs\" is no path of an endpoint",
            "4 |   docs: { path: docs }",
            "  |                 ^^^^",
            "  = help: begin with `/`, without `?`, `#` or spaces, like /mcp",
        ],
    );
}

#[test]
fn an_upstream_that_is_not_in_the_file_is_drawn() {
    check(
        "docs: { upstreams: [api, dosc] }",
        &[
            "haft.yaml:4:28: there is no upstream `dosc`",
            "4 |   docs: { upstreams: [api, dosc] }",
            "  |                            ^^^^",
            "  = help: did you mean `docs`?",
        ],
    );
    check(
        "docs: { upstreams: [elsewhere] }",
        &[
            "haft.yaml:4:23: there is no upstream `elsewhere`",
            "4 |   docs: { upstreams: [elsewhere] }",
            "  |                       ^^^^^^^^^",
            "  = help: name one that stands in `upstreams`",
        ],
    );
}

#[test]
fn a_search_has_tools_of_its_own() {
    check(
        "docs: { search: 0 }",
        &[
            "haft.yaml:4:19: `search` must be `true`, or 1 or more",
            "4 |   docs: { search: 0 }",
            "  |                   ^",
        ],
    );
    check(
        "docs: { search: yes }",
        &[
            "haft.yaml:4:19: `search` must be true, false or a number, not text",
            "4 |   docs: { search: yes }",
            "  |                   ^^^",
        ],
    );
    check_fault(
        "server: { name: a, search: 5 }\ntools: [{ name: call_tool, text: b }]\n",
        &[
            "haft.yaml:2:17: `call_tool` is the name of a tool of `search`",
            "2 | tools: [{ name: call_tool, text: b }]",
            "  |                 ^^^^^^^^^",
            "  = help: give it another name",
        ],
    );
}

#[test]
fn a_list_that_says_nothing_is_drawn() {
    let help = "  = help: name some, with `*` for any text, or remove the line";
    check(
        "docs: { upstreams: [] }",
        &[
            "haft.yaml:4:22: `upstreams` is an empty list",
            "4 |   docs: { upstreams: [] }",
            "  |                      ^",
            help,
        ],
    );
    check(
        "docs: { exclude: { resources: [] } }",
        &[
            "haft.yaml:4:33: `resources` is an empty list",
            "4 |   docs: { exclude: { resources: [] } }",
            "  |                                 ^",
            help,
        ],
    );
}
