//! What a file says of the tools of its upstreams: what is typed is what is meant, and what is
//! wrong is told with its place.

use crate::fixture::{Desk, check_fault};
use haft_manifest::limits::TOOLS;
use haft_manifest::{Live, Reading, Rules, ToolRule, What};

const SECRET: &str = "hunter-of-secrets";

/// The rules of an upstream `up` of these lines, which begin at line 4, column 5.
fn rules(lines: &str) -> Rules {
    let desk = Desk::with(&yaml(lines));
    desk.write("key", SECRET);
    Rules::clone(&desk.manifest().upstreams()[0].rules)
}

fn yaml(lines: &str) -> String {
    let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    format!("server: {{ name: a }}\nupstreams:\n  up:\n{lines}")
}

#[track_caller]
fn check(lines: &str, expected: &[&str]) {
    check_fault(&yaml(lines), expected);
}

#[test]
fn what_fits_is_served_and_of_other_kinds_all() {
    let rules = rules(
        "command: [a]
include: { tools: [search_*, get_user], resources: ['docs://*'] }
exclude: { tools: ['*_secret'], prompts: ['*'] }",
    );
    for (what, name, expected) in [
        (What::Tool, "search_code", true),
        (What::Tool, "get_user", true),
        (What::Tool, "get_users", false),
        (What::Tool, "search_secret", false),
        (What::Resource, "docs://a/b", true),
        (What::Resource, "file://a", false),
        (What::Prompt, "review", false),
    ] {
        assert_eq!(rules.selection.has(what, name), expected, "{name}");
    }
    let all = self::rules("command: [a]");
    // `mcp__a__` and the longest name are 64 characters.
    let (name_bytes_max, leaves_out_extra) = (Some(56), Some(false));
    let usual = Rules { name_bytes_max, tools_max: TOOLS, leaves_out_extra, ..Rules::default() };
    assert_eq!(all, usual);
    assert!(What::ALL.into_iter().all(|what| all.selection.has(what, "anything")));
}

#[test]
fn rules_of_a_tool_add_up_and_its_own_count_most() {
    let rules = rules(
        "url: https://a.example
tools:
  create_issue:
    name: open_ticket
    description: Opens a ticket.
    fixed: { owner: us, labels: [bot, 1.5, null], key: '${file:key}' }
  'create_*': { fixed: { owner: nobody, draft: true }, hidden: [key, milestone] }
  '*': { fixed: { draft: false } }",
    );
    let text = |text: &str| text.to_owned();
    let expected = ToolRule {
        name: Some(text("open_ticket")),
        description: Some(text("Opens a ticket.")),
        fixed: vec![
            (text("draft"), text("false")),
            (text("owner"), text("\"us\"")),
            (text("labels"), text("[\"bot\",1.5,null]")),
            (text("key"), format!("{SECRET:?}")),
        ],
        hidden: vec![text("milestone")],
    };
    assert_eq!(rules.tools.of("create_issue"), Some(expected));
    let other = rules.tools.of("delete_issue").expect("`*` fits");
    assert_eq!((other.name, other.hidden), (None, Vec::new()));
    assert_eq!(other.fixed, [(text("draft"), text("false"))]);
    let shown = format!("{rules:?}");
    assert!(shown.contains("owner") && !shown.contains(SECRET), "{shown}");
    assert_eq!(self::rules("url: https://a.example").tools.of("a"), None);
}

#[test]
fn a_rule_is_an_edit_of_its_upstream_and_the_connection_stays_good() {
    let before = yaml("command: [a]");
    let desk = Desk::with(&before);
    let live = Live::new(&desk.file("haft.yaml"), Reading::Edits, false);
    let live = live.unwrap_or_else(|fault| panic!("{fault}"));
    let old = live.manifest().upstreams()[0].clone();
    for (lines, stays_good) in [
        ("command: [a]\ninclude: { tools: [b] }", true),
        ("command: [a]\ntools: { b: { fixed: { c: 1 } } }", true),
        ("command: [a]\nprefix: b_", false),
    ] {
        desk.write("haft.yaml", yaml(lines));
        let edit = live.reload().unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(edit.upstreams.to_string(), "~ up", "{lines}");
        let new = live.manifest().upstreams()[0].clone();
        assert_eq!((old == new, old.reaches_as(&new)), (false, stays_good), "{lines}");
    }
}

#[test]
fn keys_of_a_filter_belong_to_one_kind_of_upstream() {
    check(
        "command: [a]\ninclude: { tags: [b] }",
        &[
            "haft.yaml:5:16: `tags` belongs to upstreams with `openapi`",
            "5 |     include: { tags: [b] }",
            "  |                ^^^^",
        ],
    );
    check(
        "openapi: a.yaml\nexclude: { tools: [b] }",
        &[
            "haft.yaml:5:16: `tools` belongs to upstreams with `command`, `url` or `agent`",
            "5 |     exclude: { tools: [b] }",
            "  |                ^^^^^",
        ],
    );
    check(
        "openapi: a.yaml\ntools: { b: { hidden: [c] } }",
        &[
            "haft.yaml:5:5: `tools` belongs to upstreams with `command`, `url` or `agent`",
            "5 |     tools: { b: { hidden: [c] } }",
            "  |     ^^^^^",
        ],
    );
    check(
        "command: [a]\nexclude: { tool: [b] }",
        &[
            "haft.yaml:5:16: `tool` is no known key of a filter",
            "5 |     exclude: { tool: [b] }",
            "  |                ^^^^",
            "  = help: did you mean `tools`?",
        ],
    );
}

#[test]
fn a_list_that_says_nothing_is_drawn() {
    let help = "  = help: name some, with `*` for any text, or remove the line";
    check(
        "command: [a]\ninclude: { tools: [] }",
        &[
            "haft.yaml:5:23: `tools` is an empty list",
            "5 |     include: { tools: [] }",
            "  |                       ^",
            help,
        ],
    );
    check(
        "command: [a]\ntools: { b: { hidden: [] } }",
        &[
            "haft.yaml:5:27: `hidden` is an empty list",
            "5 |     tools: { b: { hidden: [] } }",
            "  |                           ^",
            help,
        ],
    );
    for (lines, place, key) in [
        ("command: [a]\nexclude: { prompts: [''] }", "5:26", "prompts"),
        ("command: [a]\ntools: { b: { hidden: [''] } }", "5:28", "hidden"),
        ("command: [a]\ntools: { '': { hidden: [a] } }", "5:14", "tools"),
    ] {
        let desk = Desk::with(&yaml(lines));
        let fault = haft_manifest::load(&desk.file("haft.yaml")).map(|_| ()).expect_err(lines);
        let drawn = fault.to_string();
        assert!(drawn.contains(&format!("haft.yaml:{place}: `{key}` has no value")), "{drawn}");
    }
}

#[test]
fn a_name_or_a_description_is_for_one_tool() {
    for key in ["name", "description"] {
        check(
            &format!("command: [a]\ntools: {{ 'get_*': {{ {key}: b }} }}"),
            &[
                &format!("haft.yaml:5:25: `{key}` is for one tool, and `get_*` may be many"),
                &format!("5 |     tools: {{ 'get_*': {{ {key}: b }} }}"),
                &format!("  |                         {}", "^".repeat(key.len())),
                "  = help: write the tool's name there, without `*`",
            ],
        );
    }
    check(
        "command: [a]\ntools: { b: { name: 'open ticket' } }",
        &[
            "haft.yaml:5:25: \"open ticket\" is no name for a tool",
            "5 |     tools: { b: { name: 'open ticket' } }",
            "  |                         ^^^^^^^^^^^^^",
            "  = help: use 1 to 64 letters, digits, `_`, `-` or `.`",
        ],
    );
    let named = |length: usize| {
        yaml(&format!("command: [a]\ntools: {{ b: {{ name: {} }} }}", "n".repeat(length)))
    };
    assert_eq!(Desk::with(&named(64)).manifest().upstreams().len(), 1);
    let desk = Desk::with(&named(65));
    let fault = haft_manifest::load(&desk.file("haft.yaml")).map(|_| ()).expect_err("65");
    assert!(fault.message().ends_with("is no name for a tool"), "{fault}");
}

#[test]
fn two_tools_with_one_name_are_drawn() {
    check_fault(
        "server: { name: a }
tools: [{ name: ticket, text: b }]
upstreams:
  up: { command: [a], tools: { b: { name: ticket } } }
",
        &[
            "haft.yaml:4:43: the tool of line 2 is called `ticket` already",
            "4 |   up: { command: [a], tools: { b: { name: ticket } } }",
            "  |                                           ^^^^^^",
            "  = help: rename one of them",
        ],
    );
    check_fault(
        "server: { name: a }
upstreams:
  up: { command: [a], tools: { b: { name: ticket } } }
  web: { url: 'https://a.example', tools: { c: { name: ticket } } }
",
        &[
            "haft.yaml:4:56: the tool of line 3 is called `ticket` already",
            "4 |   web: { url: 'https://a.example', tools: { c: { name: ticket } } }",
            "  |                                                        ^^^^^^",
            "  = help: rename one of them",
        ],
    );
}

#[test]
fn what_an_argument_cannot_be_is_drawn() {
    check(
        "command: [a]\ntools: { b: { fixed: { c: 1 }, hidden: [d, c] } }",
        &[
            "haft.yaml:5:48: `c` has a value in `fixed`, and clients are not told of it then",
            "5 |     tools: { b: { fixed: { c: 1 }, hidden: [d, c] } }",
            "  |                                                ^",
            "  = help: remove it from `hidden`",
        ],
    );
    check(
        "command: [a]\ntools: { b: { fixed: { c: ['{{ d }}'] } } }",
        &[
            "haft.yaml:5:32: `fixed` cannot be a template: every call has the same value",
            "5 |     tools: { b: { fixed: { c: ['{{ d }}'] } } }",
            "  |                                ^^^^^^^^^",
        ],
    );
    check(
        "command: [a]\ntools: { b: { fixed: [c] } }",
        &[
            "haft.yaml:5:26: `fixed` must be a mapping, not a list",
            "5 |     tools: { b: { fixed: [c] } }",
            "  |                          ^",
        ],
    );
    check(
        "command: [a]\ntools: { b: { fixd: { c: 1 } } }",
        &[
            "haft.yaml:5:19: `fixd` is no known key of a tool of an upstream",
            "5 |     tools: { b: { fixd: { c: 1 } } }",
            "  |                   ^^^^",
            "  = help: did you mean `fixed`?",
        ],
    );
}
