//! Upstreams whose lists have no end, or have something in them that cannot be served.

use super::bed::{Bed, wait_until};
use super::{Case, KIB_MAX, RESULT, check};

/// The answer to `tools/list` with these tools.
fn list(tools: &str) -> String {
    format!(r#"tools/list send {{"jsonrpc":"2.0","id":$id,"result":{{"tools":[{tools}]}} }}"#)
}

#[test]
fn lists_without_end_are_named() {
    let page = r#"tools/list send {"jsonrpc":"2.0","id":$id,"result":{"tools":[],"nextCursor":""#;
    let other = format!("{page}$n\"}} }}");
    let rules: [&'static str; 1] = [other.leak()];
    let slow: &'static [&'static str] = vec!["tools/list wait 400", rules[0]].leak();
    let begin = RESULT.replace("tools/call", "tools/list");
    let begin =
        begin.replace("content", "tools").replace(r#""type":"text","text":""#, r#""name":""#);
    let end = r#"tools/list send "}],"nextCursor":"$n"} }"#;
    let large = vec![&*begin.leak(), "tools/list fill 4000000", end];
    let without_end = &["`bad`", "did not end"];
    check(
        Bed::piped,
        &[
            Case(vec![rules[0]].leak(), without_end),
            Case(large.leak(), &["`bad`", "raise `list_limit`"]),
        ],
    );
    let bed = Bed::piped(slow);
    assert!(wait_until(|| bed.call("bad_try").said().contains("no answer to `tools/list`")));
    bed.stop().expect("an orderly end");
}

#[test]
fn a_list_whose_cursor_leads_back_is_served_as_far_as_it_came() {
    let page = r#"tools/list send {"jsonrpc":"2.0","id":$id,"result":{"tools":[
        {"name":"try","inputSchema":{"type":"object"} }],"nextCursor":"#;
    for cursor in ["\"again\"", "\"\""] {
        let bed = Bed::piped(&[&format!("{}{cursor}}} }}", page.replace('\n', " "))]);
        assert_eq!(bed.call("bad_try").said(), "tried", "{cursor}");
        bed.gate.told(&["`bad`", "and later", "nextCursor"]);
        bed.stop().expect("an orderly end");
    }
}

#[test]
fn a_tool_is_mended_or_left_out_alone() {
    let tools = r#"{"name":"try","inputSchema":{"type":"object"}},
        {"name":"list","inputSchema":[]},
        {"name":"kind","inputSchema":{"type":"object","properties":{"a":{"type":"nothing"} } } },
        {"name":"pattern","inputSchema":{"type":"object","properties":{"a":{"pattern":"("} } } },
        {"name":"none"},
        {"name":"try","inputSchema":{"type":"object"} },
        {"name":"zwei worte","inputSchema":{"type":"object"} },
        {"name":"","inputSchema":{"type":"object"} }"#;
    let bed = Bed::piped(&[&list(&tools.replace('\n', " "))]);
    let names = bed.tools();
    assert!(names.contains(&"bad_try".to_owned()), "{names:?}");
    bed.gate.told(&["the tool `try` of the upstream `bad` is left out: "]);
    for name in ["list", "kind", "pattern", "none"] {
        bed.gate.told(&[&format!("the upstream `bad`: `{name}` is mended for clients: ")]);
        assert!(names.contains(&format!("bad_{name}")), "{names:?}");
    }
    assert_eq!(bed.call("bad_try").said(), "tried");
    assert_eq!(bed.call("good_try").said(), "tried");
    bed.stop().expect("an orderly end");
}

#[test]
fn a_tool_with_a_header_that_cannot_be_is_left_out_alone() {
    let discovered = r#"server/discover send {"jsonrpc":"2.0","id":$id,"result":{
        "resultType":"complete","supportedVersions":["2026-07-28"],
        "capabilities":{"tools":{} } } }"#;
    let tools = r#"{"name":"try","inputSchema":{"type":"object"}},
        {"name":"marked","inputSchema":{"type":"object","properties":{
            "a":{"type":"string","x-mcp-header":"no header"} } } }"#;
    let rules = [discovered.replace('\n', " "), list(&tools.replace('\n', " "))];
    let bed = Bed::far(&[&rules[0], &rules[1]]);
    assert_eq!(bed.tools(), ["bad_try", "good_try"]);
    bed.gate.told(&["the tool `marked` of the upstream `bad` is left out: "]);
    assert_eq!(bed.call("bad_try").said(), "tried");
    bed.stop().expect("an orderly end");
}

#[test]
fn a_tool_with_a_huge_schema_is_left_out_alone() {
    let begin = r#"tools/list raw {"jsonrpc":"2.0","id":$id,"result":{"tools":[
        {"name":"try","inputSchema":{"type":"object"}},
        {"name":"huge","inputSchema":{"type":"object","description":""#;
    let end = r#"tools/list send "} }]} }"#;
    let bed = Bed::piped(&[&begin.replace('\n', " "), "tools/list fill 3500000", end]);
    assert_eq!(bed.tools(), ["bad_try", "good_try"]);
    bed.gate.told(&["the tool `huge` of the upstream `bad` is left out: ", "longer than 1048576"]);
    assert_eq!(bed.call("bad_try").said(), "tried");
    assert!(bed.taken().kib_max <= KIB_MAX, "{:?}", bed.taken());
    bed.stop().expect("an orderly end");
}
