//! Fifty servers, each with a flaw in one entry of a list, behind one gateway: official clients in
//! front of it read every list, and every healthy entry stays.

use crate::foreign::{Client, Era, everything_listed};
use crate::gateway::{DEADLINE, gate, serve, tools};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::Instant;

/// What becomes of the entry with the flaw.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    /// It is mended and served.
    Mended,
    /// It is left out.
    LeftOut,
}
use Fate::{LeftOut, Mended};

/// The list, the entry as its server writes it, and what becomes of it. `x` is its name.
const FLAWS: [(&str, &str, Fate); 50] = [
    ("tools", r#"{"name":"x"}"#, Mended),
    ("tools", r#"{"name":"x","inputSchema":null}"#, Mended),
    ("tools", r#"{"name":"x","inputSchema":{}}"#, Mended),
    ("tools", r#"{"name":"x","inputSchema":true}"#, Mended),
    ("tools", r#"{"name":"x","inputSchema":{"properties":{"a":{}}}}"#, Mended),
    ("tools", r#"{"name":"x","inputSchema":{"type":null}}"#, Mended),
    ("tools", r#"{"name":"x","inputSchema":{"type":["object"]}}"#, Mended),
    ("tools", r#"{"name":"x","inputSchema":{"type":["object","null"]}}"#, Mended),
    ("tools", r#"{"name":"x","inputSchema":{"type":"object","properties":null}}"#, Mended),
    ("tools", r#"{"name":"x","inputSchema":{"type":"object","properties":[]}}"#, Mended),
    ("tools", r#"{"name":"x","inputSchema":{"type":"object","required":null}}"#, Mended),
    ("tools", r#"{"name":"x","inputSchema":{"type":"object","properties":{"a":true}}}"#, Mended),
    ("tools", r#"{"name":"x","inputSchema":{"type":"object","properties":{"a":false}}}"#, Mended),
    (
        "tools",
        r#"{"name":"x","inputSchema":{"type":"object","properties":{"a":{"enum":[1,1]}}}}"#,
        Mended,
    ),
    (
        "tools",
        r#"{"name":"x","inputSchema":{"type":"object","properties":{"a":{"pattern":"("}}}}"#,
        Mended,
    ),
    (
        "tools",
        r#"{"name":"x","inputSchema":{"type":"object","properties":{
            "a":{"minimum":0,"exclusiveMinimum":true}}}}"#,
        Mended,
    ),
    (
        "tools",
        r#"{"name":"x","inputSchema":{"type":"object",
            "properties":{"a":{}},"required":["a","a"]}}"#,
        Mended,
    ),
    (
        "tools",
        r##"{"name":"x","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#",
            "type":"object","definitions":{"A":{"type":"string"}},
            "properties":{"a":{"$ref":"#/definitions/A"}}}}"##,
        Mended,
    ),
    ("tools", r#"{"name":"x","inputSchema":{"type":"object"},"outputSchema":null}"#, Mended),
    ("tools", r#"{"name":"x","inputSchema":{"type":"object"},"outputSchema":true}"#, Mended),
    (
        "tools",
        r#"{"name":"x","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}"#,
        Mended,
    ),
    ("tools", r#"{"name":"x","inputSchema":{"type":"object"},"description":null}"#, Mended),
    ("tools", r#"{"name":"x","inputSchema":{"type":"object"},"description":7}"#, Mended),
    ("tools", r#"{"name":"x","inputSchema":{"type":"object"},"title":null}"#, Mended),
    ("tools", r#"{"name":"x","inputSchema":{"type":"object"},"title":["T"]}"#, Mended),
    ("tools", r#"{"name":"x","inputSchema":{"type":"object"},"annotations":null}"#, Mended),
    ("tools", r#"{"name":"x","inputSchema":{"type":"object"},"annotations":"none"}"#, Mended),
    (
        "tools",
        r#"{"name":"x","inputSchema":{"type":"object"},
            "annotations":{"readOnlyHint":"yes","title":5}}"#,
        Mended,
    ),
    ("tools", r#"{"name":"x","inputSchema":{"type":"object"},"icons":null}"#, Mended),
    ("tools", r#"{"name":"x","inputSchema":{"type":"object"},"icons":[{"src":7}]}"#, Mended),
    ("tools", r#"{"name":"x","inputSchema":{"type":"object"},"_meta":null}"#, Mended),
    ("tools", r#"{"name":"x","inputSchema":{"type":"object"},"_meta":[]}"#, Mended),
    ("tools", r#"{"name":"x","inputSchema":"object"}"#, LeftOut),
    ("tools", r#"{"name":null,"inputSchema":{"type":"object"}}"#, LeftOut),
    ("tools", r#"{"name":7,"inputSchema":{"type":"object"}}"#, LeftOut),
    ("tools", r#"{"inputSchema":{"type":"object"}}"#, LeftOut),
    ("tools", "null", LeftOut),
    ("tools", r#""x""#, LeftOut),
    ("resources", r#"{"uri":"x:x"}"#, Mended),
    ("resources", r#"{"uri":"x:x","name":null}"#, Mended),
    ("resources", r#"{"uri":"x:x","name":"x","mimeType":null,"description":null}"#, Mended),
    ("resources", r#"{"uri":"x:x","name":"x","annotations":{"priority":7}}"#, Mended),
    ("resources", r#"{"uri":"x:x","name":"x","annotations":{"audience":"user"}}"#, Mended),
    ("resources", r#"{"uri":"x:x","name":"x","size":"large"}"#, Mended),
    ("resources", r#"{"uri":null,"name":"x"}"#, LeftOut),
    ("resourceTemplates", r#"{"uriTemplate":"x:{x}","name":null,"mimeType":null}"#, Mended),
    ("resourceTemplates", r#"{"uriTemplate":null,"name":"x"}"#, LeftOut),
    ("prompts", r#"{"name":"x","arguments":null,"description":null}"#, Mended),
    ("prompts", r#"{"name":"x","arguments":[{"name":"a","required":"yes"}]}"#, Mended),
    ("prompts", r#"{"name":null}"#, LeftOut),
];

/// The clients in front.
const CLIENTS: [Client; 3] = [Client::TypescriptV1, Client::TypescriptV2, Client::Python];

/// The entry of a list that has no flaw.
fn healthy(list: &str) -> &'static str {
    match list {
        "tools" => r#"{"name":"ok","inputSchema":{"type":"object"}}"#,
        "resources" => r#"{"uri":"ok:ok","name":"ok"}"#,
        "resourceTemplates" => r#"{"uriTemplate":"ok:{ok}","name":"ok"}"#,
        _ => r#"{"name":"ok"}"#,
    }
}

/// The upstreams of the file.
fn upstreams() -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/servers/flawed.py");
    let mut entries = String::new();
    for (row, (list, flaw, _)) in FLAWS.iter().enumerate() {
        // A message is one line.
        let with_flaw = format!("{list}=[{},{flaw}]", healthy(list)).replace('\n', "");
        let tools = format!("tools=[{}]", healthy("tools"));
        // The last of two lists with one name counts.
        let command = json!(["python3", script, tools, with_flaw]);
        writeln!(entries, "  u{row}: {{ command: {command} }}").expect("it is a string");
    }
    entries
}

/// How many entries a list has at the end, the file's own tool included.
fn expected(list: &str) -> usize {
    let of_list = FLAWS.iter().filter(|(its, ..)| *its == list);
    let mended = of_list.clone().filter(|(.., fate)| *fate == Mended).count();
    // Resources have one address in all upstreams, so the first has it.
    match list {
        "tools" => FLAWS.len() + mended + 1,
        "prompts" => of_list.count() + mended,
        _ => 2,
    }
}

#[test]
fn every_healthy_entry_of_flawed_servers_reaches_official_clients() {
    let desk = gate(&upstreams());
    let gate = serve(desk.file());
    let since = Instant::now();
    while tools(&gate.url, "legacy").len() < expected("tools") {
        assert!(since.elapsed() < 3 * DEADLINE, "{:?}", tools(&gate.url, "legacy"));
    }
    for client in CLIENTS {
        let lists = everything_listed(client, Era::Legacy, &gate.url);
        for (row, (list, flaw, fate)) in FLAWS.iter().enumerate() {
            let has = |list: &str, name: &str| {
                let names = lists[list].as_array().unwrap_or_else(|| panic!("{client:?} {lists}"));
                names.contains(&Value::from(name))
            };
            assert!(has("tools", &format!("u{row}_ok")), "{client:?}: {list} {flaw}");
            if *list == "tools" || *list == "prompts" {
                let is_there = has(list, &format!("u{row}_x"));
                assert_eq!(is_there, *fate == Mended, "{client:?}: {list} {flaw}");
            }
        }
        for list in ["tools", "resources", "resourceTemplates", "prompts"] {
            let count = lists[list].as_array().map_or(0, Vec::len);
            assert_eq!(count, expected(list), "{client:?}: {list} of {lists}");
        }
    }
}
