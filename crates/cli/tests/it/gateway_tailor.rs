//! Views of a gateway with rules of tools of their own: what is other in one is so there alone.

use crate::desk::Desk;
use crate::gateway::{Served, called, city, gate, pipe, serve, serve_with, signal, tools};
use crate::gateway_admin::Door;
use crate::gateway_faults::bed::wait_until;
use crate::gateway_rules::asked;
use crate::gateway_views::{at, listed, wait_for};
use serde_json::{Value, json};

const TAILORED: &str = "
views:
  desk:
    upstreams: [north, south]
    exclude: { tools: [own], prompts: [nothing] }
    tools:
      north_whoami: { name: who, description: Asks the city. }
      '*_echo': { fixed: { text: fixed } }
      south_echo: { name: repeat }
      north_process: { name: south_whoami }
      nort_echo: { hidden: [text] }
";

#[test]
fn a_view_has_names_words_and_arguments_of_its_own() {
    let (north, south) = (Desk::with(&city("north")), Desk::with(&city("south")));
    let north = serve(north.file());
    let desk = gate(&format!(
        "  north: {{ url: {:?} }}\n  south: {{ {} }}\n{TAILORED}",
        north.url,
        pipe(&south)
    ));
    let gate = serve_with(desk.file(), &["--admin", "127.0.0.1:0"]);
    let view = at(&gate.url, "/desk/mcp");
    let mut expected = ["who", "north_echo", "south_whoami", "repeat", "south_process"].to_vec();
    for era in ["legacy", "modern"] {
        assert_eq!(tools(&view, era), expected);
        let all = listed(&view, era);
        assert_eq!(all["tools"][0]["description"], "Asks the city.");
        assert_eq!(all["tools"][1]["inputSchema"]["properties"], json!({}), "{all}");
        assert_eq!(called(&view, era, "who", &json!({})), "north");
        assert_eq!(called(&view, era, "north_echo", &json!({})), "fixed");
        assert_eq!(called(&view, era, "repeat", &json!({})), "fixed");
        assert_eq!(called(&gate.url, era, "south_echo", &json!({"text": "é"})), "é");
        assert_eq!(called(&gate.url, era, "north_whoami", &json!({})), "north");
    }
    let refused = asked(&view, "repeat", &json!({"text": "b"}), "").to_string();
    assert!(refused.contains("for `repeat`: `text` is not for callers to give"), "{refused}");
    let elsewhere = asked(&view, "south_echo", &json!({}), "").to_string();
    assert!(elsewhere.contains("south_echo") && elsewhere.contains("error"), "{elsewhere}");

    let odd = [
        "`south_whoami` is left out: `tools` calls `north_process` so",
        "`tools` names `nort_echo`, which fits none of its tools; did you mean `north_echo`?",
        "`prompts` in `exclude` names `nothing`, which fits none of its prompts",
    ];
    let warnings = Door::of(&gate).see("catalogue")["warnings"].clone();
    for what in odd {
        gate.told(&[&format!("the view `desk`: {what}")]);
        let warnings = warnings.as_array().expect("a list");
        assert!(warnings.contains(&json!({"view": "desk", "what": what})), "{warnings:?}");
    }

    let text = std::fs::read_to_string(&desk.file).expect("it is ours");
    std::fs::write(&desk.file, text.replace("name: who,", "name: whose,")).expect("it is ours");
    signal(&gate.child.0.id().to_string(), "-HUP");
    expected[0] = "whose";
    wait_for(&view, &expected);
    drop(north);
    wait_for(&view, &expected[3..]);
    let answer = asked(&view, "whose", &json!({}), "").to_string();
    assert!(answer.contains("Upstream `north`: down"), "{answer}");
}

/// A server whose answers say which arguments it got.
const CLERK: &str = r#"
server: { name: clerk }
tools:
  - name: find
    description: Finds things.
    annotations: { readOnly: true }
    input: { "owner?": string, word: string }
    text: "{{ word }} of {{ owner | default('nobody') }}"
  - { name: b, description: Is b., text: b }
  - { name: c, description: Is c., text: c }
"#;

/// A gateway in front of it, with these lines in its file.
fn served(clerk: &Desk, upstream: &str, lines: &str) -> (Desk, Served) {
    let desk = gate(&format!("  up: {{ {}{upstream} }}\n{lines}", pipe(clerk)));
    let served = serve(desk.file());
    (desk, served)
}

#[test]
fn what_one_view_was_answered_is_no_answer_for_another() {
    let clerk = Desk::with(CLERK);
    let views = "defaults: { cache: { ttl: 10m } }\nviews:\n  one: { tools: { up_find: { fixed: \
                 { owner: one } } } }\n  two: { tools: { up_find: { fixed: { owner: two } } } }\n";
    let (_desk, gate) = served(&clerk, "", views);
    for era in ["modern", "legacy", "modern"] {
        for (path, owner) in [("/one/mcp", "one"), ("/two/mcp", "two"), ("/mcp", "nobody")] {
            let found = called(&at(&gate.url, path), era, "up_find", &json!({"word": "it"}));
            assert_eq!(found, format!("it of {owner}"), "{path}");
        }
    }
    let one = at(&gate.url, "/one/mcp");
    let refused = asked(&one, "up_find", &json!({"owner": "two", "word": "it"}), "").to_string();
    assert!(refused.contains("`owner` is not for callers to give"), "{refused}");
}

#[test]
fn names_that_clash_in_a_view_cost_one_tool_and_no_more() {
    let clerk = Desk::with(CLERK);
    let rules = "{ up_find: { name: up_b }, up_b: { name: up_c } }";
    let (desk, gate) = served(&clerk, "", &format!("views: {{ v: {{ tools: {rules} }} }}\n"));
    let view = at(&gate.url, "/v/mcp");
    assert_eq!(tools(&view, "modern"), ["own", "up_b", "up_c"]);
    assert_eq!(called(&view, "modern", "up_b", &json!({"word": "it"})), "it of nobody");
    assert_eq!(called(&view, "modern", "up_c", &json!({})), "b");
    gate.told(&["the view `v`: `up_c` is left out: `tools` calls `up_b` so"]);

    // What the file has itself comes first, and no rule of before stands in its way.
    let text = std::fs::read_to_string(&desk.file).expect("it is ours");
    let own = "tools: [{ name: up_b, description: Ours., text: ours }, ";
    let edited = text.replace(rules, "{ up_find: { name: seek } }").replace("tools: [", own);
    std::fs::write(&desk.file, edited).expect("it is ours");
    signal(&gate.child.0.id().to_string(), "-HUP");
    wait_for(&view, &["up_b", "own", "seek", "up_c"]);
    assert_eq!(called(&view, "modern", "up_b", &json!({})), "ours");
}

#[test]
fn an_argument_that_its_upstream_gives_is_no_business_of_views() {
    let clerk = Desk::with(CLERK);
    let rule = ", tools: { find: { fixed: { owner: desk } } }";
    let views = "views: { v: { tools: { up_find: { fixed: { owner: v, word: key } } } } }\n";
    let (_desk, gate) = served(&clerk, rule, views);
    let view = at(&gate.url, "/v/mcp");
    assert_eq!(called(&view, "legacy", "up_find", &json!({})), "key of desk");
    gate.told(&["the view `v`: ", "the argument `owner` of `up_find`, which has no such"]);
}

#[test]
fn a_tool_is_found_by_the_name_that_it_has_in_a_view() {
    let clerk = Desk::with(CLERK);
    let rule = "{ up_find: { name: seek, fixed: { owner: v } } }";
    let views = format!("views: {{ v: {{ search: true, tools: {rule} }} }}\n");
    let (_desk, gate) = served(&clerk, "", &views);
    let view = at(&gate.url, "/v/mcp");
    let found = called(&view, "modern", "find_tools", &json!({"query": "finds things"}));
    let found: Value = serde_json::from_str(&found).expect("it is JSON");
    assert_eq!(found[0]["name"], "seek", "{found}");
    assert_eq!(found[0]["inputSchema"]["required"], json!(["word"]), "{found}");
    let call = json!({"name": "seek", "arguments": {"word": "it"}});
    assert_eq!(called(&view, "legacy", "call_tool", &call), "it of v");
}

#[test]
fn no_tool_of_a_view_has_another_name_because_an_upstream_is_away() {
    let (clerk, south) = (Desk::with(CLERK), Desk::with(&city("south")));
    let south = serve(south.file());
    let views = "views:\n\
        \x20 swap: { tools: { up_b: { name: south_whoami }, south_whoami: { name: up_b } } }\n\
        \x20 move: { tools: { up_b: { name: south_whoami }, south_whoami: { name: a } } }\n";
    let upstreams = format!("  up: {{ {} }}\n  south: {{ url: {:?} }}\n", pipe(&clerk), south.url);
    let desk = gate(&format!("{upstreams}{views}"));
    let gate = serve(desk.file());
    let [swap, moved] = ["/swap/mcp", "/move/mcp"].map(|it| at(&gate.url, it));
    let here = ["own", "up_find", "south_whoami", "up_c", "up_b", "south_echo", "south_process"];
    wait_for(&swap, &here);
    let expect = |view: &str, name: &str, text: &str| {
        assert_eq!(called(view, "modern", name, &json!({})), text, "{view} {name}");
    };
    expect(&swap, "up_b", "south");
    expect(&moved, "a", "south");
    drop(south);
    for (view, gone) in [(&swap, "up_b"), (&moved, "a")] {
        let told = || asked(view, gone, &json!({}), "").to_string();
        assert!(wait_until(|| told().contains("Upstream `south`: down")), "{}", told());
    }
    expect(&swap, "south_whoami", "b");
    expect(&moved, "south_whoami", "b");
}

#[test]
fn a_name_that_the_file_gives_is_no_upstream_s_to_take() {
    let (clerk, other) = (Desk::with(CLERK), Desk::with(CLERK));
    // The one that comes first has such a name itself.
    let rules = "tools: { c: { name: b }, find: { name: up_find } }";
    let views = "views: { v: { tools: { up_find: { name: c } } } }";
    let desk = gate(&format!(
        "  other: {{ {}, prefix: '' }}\n  up: {{ {}, {rules} }}\n{views}\n",
        pipe(&other),
        pipe(&clerk)
    ));
    let gate = serve_with(desk.file(), &[]);
    wait_for(&gate.url, &["own", "find", "c", "up_find", "up_b", "b"]);
    assert_eq!(called(&gate.url, "modern", "b", &json!({})), "c");
    gate.told(&["the tool `b` of the upstream `other` is left out: ", "as the file calls it"]);
    let view = at(&gate.url, "/v/mcp");
    assert_eq!(tools(&view, "modern"), ["own", "find", "c", "up_b", "b"]);
    assert_eq!(called(&view, "modern", "c", &json!({"word": "it"})), "it of nobody");
}

/// A tool whose argument stands where no rule looks for it.
const OPEN: &str = r##"
  - name: open
    description: Is open.
    input_schema:
      type: object
      $ref: "#/$defs/all"
      $defs: { all: { properties: { owner: { type: string } } } }
    text: "{{ owner | default('nobody') }}"
"##;

#[test]
fn an_argument_of_which_nobody_tells_is_given_all_the_same() {
    let clerk = Desk::with(&format!("{CLERK}{OPEN}"));
    let views = "views: { v: { tools: { up_open: { fixed: { owner: v } } } } }\n";
    let (_desk, gate) = served(&clerk, "", views);
    let view = at(&gate.url, "/v/mcp");
    assert_eq!(called(&gate.url, "modern", "up_open", &json!({"owner": "me"})), "me");
    assert_eq!(called(&view, "modern", "up_open", &json!({})), "v");
    let refused = asked(&view, "up_open", &json!({"owner": "me"}), "").to_string();
    assert!(refused.contains("`owner` is not for callers to give"), "{refused}");
}
