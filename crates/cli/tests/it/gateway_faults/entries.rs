//! Upstreams of whose lists one entry, or one list, cannot be used: it costs that and nothing else.

use super::bed::{Bed, wait_until};
use crate::haft::haft;
use serde_json::Value;

/// An upstream with every kind of list.
pub(super) const HAS_ALL: &str = r#"initialize send {"jsonrpc":"2.0","id":$id,"result":{
    "protocolVersion":"2025-06-18","serverInfo":{"name":"faulty","version":"1"},
    "capabilities":{"tools":{},"resources":{},"prompts":{} } } }"#;
const RESOURCES: &str = r#"resources/list send {"jsonrpc":"2.0","id":$id,"result":{
    "resources":[{"uri":"bad:one","name":"one"},{"uri":"bad:two"},{"name":"three"},7]}}"#;
const TEMPLATES: &str = r#"resources/templates/list send {"jsonrpc":"2.0","id":$id,"result":{
    "resourceTemplates":[{"uriTemplate":7,"name":"any"},
    {"uriTemplate":"bad:{any}","name":"any"}]}}"#;
const PROMPTS: &str = r#"prompts/list send {"jsonrpc":"2.0","id":$id,"result":{
    "prompts":[{"name":"ask"},{"name":"odd","arguments":"none"}]}}"#;
const TOOLS: &str = r#"tools/list send {"jsonrpc":"2.0","id":$id,"result":{
    "tools":[{"name":7},{"name":"try","inputSchema":{"type":"object"}},
    {"name":"odd","inputSchema":{"type":"object"},"title":[]},"none"]}}"#;

fn lines(rules: &[&str]) -> Vec<String> {
    rules.iter().map(|rule| rule.replace('\n', " ")).collect()
}

fn bed(rules: &[&str], make: impl Fn(&[&str]) -> Bed) -> Bed {
    let rules = lines(rules);
    make(&rules.iter().map(String::as_str).collect::<Vec<_>>())
}

/// What is listed of a kind, by its names.
fn listed(bed: &Bed, kind: &str, key: &str) -> Vec<String> {
    let all = haft(["list", &bed.gate.url, "--json"]).json();
    let list = all[kind].as_array().unwrap_or_else(|| panic!("{all}"));
    list.iter().filter_map(|one| one[key].as_str().map(str::to_owned)).collect()
}

#[test]
fn an_entry_that_is_none_is_left_out_alone() {
    let rules = [HAS_ALL, TOOLS, RESOURCES, TEMPLATES, PROMPTS];
    for make in [Bed::piped, Bed::far] {
        let bed = bed(&rules, make);
        assert_eq!(bed.call("bad_try").said(), "tried");
        assert_eq!(listed(&bed, "tools", "name"), ["bad_try", "bad_odd", "good_try"]);
        assert_eq!(listed(&bed, "resources", "uri"), ["bad:one", "bad:two"]);
        assert_eq!(listed(&bed, "resourceTemplates", "uriTemplate"), ["bad:{any}"]);
        assert_eq!(listed(&bed, "prompts", "name"), ["bad_ask", "bad_odd"]);
        for (kind, name) in [
            ("tool", "entry 1"),
            ("tool", "entry 4"),
            ("resource", "three"),
            ("resource", "entry 4"),
            ("resource template", "any"),
        ] {
            bed.gate.told(&[&format!("the {kind} `{name}` of the upstream `bad` is left out: ")]);
        }
        let catalogue = bed.see("catalogue");
        let left_out = catalogue["leftOut"].as_array().expect("a list");
        let is_it = |one: &&Value| one["there"] == "entry 1" && one["kind"] == "tool";
        let one = left_out.iter().find(is_it).unwrap_or_else(|| panic!("{catalogue}"));
        assert!(one["reason"].as_str().is_some_and(|why| why.contains("no text")), "{one}");
        for member in ["title", "arguments"] {
            bed.gate.told(&["the upstream `bad`: `odd` is mended for clients", member]);
        }
        bed.stop().expect("an orderly end");
    }
}

#[test]
fn a_list_that_cannot_be_had_is_left_out_alone() {
    let refused =
        r#" send {"jsonrpc":"2.0","id":$id,"error":{"code":-32603,"message":"out of order"}}"#;
    let malformed = r#" send {"jsonrpc":"2.0","id":$id,"result":{}}"#;
    for (fault, why) in [(refused, "out of order"), (malformed, "missing"), (" hang", "within 1s")]
    {
        // One that hangs does so for all that follows.
        let make = if fault == " hang" { Bed::far } else { Bed::piped };
        let prompts = format!("prompts/list{fault}");
        let bed = bed(&[HAS_ALL, TOOLS, RESOURCES, TEMPLATES, &prompts], make);
        assert!(wait_until(|| bed.call("bad_try").said() == "tried"));
        assert_eq!(listed(&bed, "resources", "uri"), ["bad:one", "bad:two"]);
        assert!(listed(&bed, "prompts", "name").is_empty());
        bed.gate.told(&["the list `prompts` of the upstream `bad` is left out: ", why]);
        bed.stop().expect("an orderly end");
    }
}

#[test]
fn a_list_that_could_not_be_had_is_asked_for_again() {
    let failed =
        r#"prompts/list send {"jsonrpc":"2.0","id":$id,"error":{"code":-32603,"message":"no"}}"#;
    let later = PROMPTS.replace("prompts/list", "prompts/list@2");
    let bed = bed(&[HAS_ALL, TOOLS, RESOURCES, TEMPLATES, failed, &later], Bed::piped);
    assert_eq!(bed.call("bad_try").said(), "tried");
    assert!(wait_until(|| listed(&bed, "prompts", "name") == ["bad_ask", "bad_odd"]));
    assert_eq!(bed.see("upstreams")[0]["restarts"], 0);
    bed.stop().expect("an orderly end");
}

#[test]
fn lists_of_who_tells_of_no_changes_are_asked_for_when_they_are_old() {
    let discovered = r#"server/discover send {"jsonrpc":"2.0","id":$id,"result":{
        "resultType":"complete","supportedVersions":["2026-07-28"],
        "capabilities":{"tools":{} } } }"#;
    let list = |moment: &str, name: &str| {
        let tools = format!(r#"[{{"name":"{name}","inputSchema":{{"type":"object"}}}}]"#);
        let head = r#"send {"jsonrpc":"2.0","id":$id,"result":{"resultType":"complete","#;
        format!(r#"{moment} {head}"ttlMs":1000,"tools":{tools}}} }}"#)
    };
    let bed =
        bed(&[discovered, &list("tools/list", "try"), &list("tools/list@2", "new")], Bed::far);
    assert!(wait_until(|| bed.tools().contains(&"bad_try".to_owned())));
    assert!(wait_until(|| bed.tools().contains(&"bad_new".to_owned())));
    assert_eq!(bed.see("upstreams")[0]["restarts"], 0);
    bed.stop().expect("an orderly end");
}

#[test]
fn changes_are_asked_to_be_told_of_again() {
    // The first is for what the server may ask.
    let told = r#"GET@3 send {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let other = r#"tools/list@3 send {"jsonrpc":"2.0","id":$id,"result":{
        "tools":[{"name":"other","inputSchema":{"type":"object"}}]}}"#;
    let first = r#"tools/list send {"jsonrpc":"2.0","id":$id,"result":{
        "tools":[{"name":"try","inputSchema":{"type":"object"}}]}}"#;
    let rules =
        [first, other, "GET status 503", "GET@3 status 200", "GET@3 stream", told, "GET@3 hang"];
    let bed = bed(&rules, Bed::far);
    assert_eq!(bed.call("bad_try").said(), "tried");
    assert!(wait_until(|| bed.tools().contains(&"bad_other".to_owned())));
    assert_eq!(bed.see("upstreams")[0]["restarts"], 0);
    bed.stop().expect("an orderly end");
}
