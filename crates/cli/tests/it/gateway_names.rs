//! Whose a name or an address of an upstream is, and how clients are told it; and how much of an
//! upstream is taken before it says which key lets in more.

use crate::gateway::{gate, serve, tools};
use crate::gateway_rules::asked;
use crate::haft::haft;
use serde_json::{Value, json};

/// The command of a server whose lists are these.
fn listing(lists: &[(&str, Value)]) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/servers/flawed.py");
    // A file takes `{#` for a comment.
    let entries = |entries: &Value| entries.to_string().replace("{#", "{\\u0023");
    let lists = lists.iter().map(|(list, all)| format!("{list}={}", entries(all)));
    let program = ["python3".to_owned(), script.to_owned()];
    let words: Vec<String> = program.into_iter().chain(lists).collect();
    format!("command: {}", json!(words))
}

/// One that has tools of these names.
fn having(names: &[&str]) -> String {
    let tools = names.iter().map(|name| json!({"name": name, "inputSchema": {"type": "object"}}));
    listing(&[("tools", tools.collect())])
}

#[test]
fn names_are_told_as_every_client_takes_them_and_can_be_called_as_they_were() {
    let long = "x".repeat(80);
    let names = ["find.things", "a/b", "c d", "plain", "dup.one", "dup_one", "grün", &long];
    let desk = gate(&format!(
        "  u: {{ {}, prefix: \"\" }}\n  kept: {{ {}, names: keep }}\n",
        having(&names),
        having(&["find.things"])
    ));
    let file = std::fs::read_to_string(desk.file()).expect("it is there");
    std::fs::write(desk.file(), file.replace("name: own", "name: own.one")).expect("it is ours");
    let gate = serve(desk.file());
    let checked = haft(["check", desk.file()]);
    assert!(checked.stderr.contains("they are told `own_one`"), "{}", checked.stderr);
    let listed = tools(&gate.url, "legacy");
    assert_eq!(listed[..5], ["own_one", "find_things", "a_b", "c_d", "plain"]);
    assert_eq!(listed[6], "dup_one");
    assert_eq!(listed[9], "kept_find.things");
    for name in &listed[..9] {
        let is_plain = |one: char| one.is_ascii_alphanumeric() || matches!(one, '_' | '-');
        let with_client = format!("mcp__gate__{name}");
        assert!(name.chars().all(is_plain) && with_client.len() <= 64, "{name}");
    }
    for (name, there) in [
        ("find_things", "find.things"),
        ("find.things", "find.things"),
        ("a/b", "a/b"),
        (&listed[5], "dup.one"),
        ("dup.one", "dup.one"),
        ("dup_one", "dup_one"),
        (&long, &long),
        ("kept_find.things", "find.things"),
        ("own.one", "ours"),
        ("own_one", "ours"),
    ] {
        let answer = asked(&gate.url, name, &json!({}), "");
        assert_eq!(answer["result"]["content"][0]["text"], there, "{name}: {answer}");
    }
}

#[test]
fn a_name_or_an_address_is_of_who_has_it_by_the_file() {
    let family = json!([{"uriTemplate": "files:///{+path}", "name": "files"}]);
    let thief = json!([
        {"uri": "files:///etc/motd", "name": "motd"},
        {"uri": "other:///a", "name": "a"},
    ]);
    let desk = gate(&format!(
        "  files: {{ {}, prefix: f_ }}\n  thief: {{ {}, prefix: \"\" }}\n  \
         gone: {{ command: [/nonexistent/server], prefix: f_g_ }}\n",
        listing(&[("tools", json!([{"name": "t"}])), ("resourceTemplates", family)]),
        listing(&[
            ("tools", json!([{"name": "f_x"}, {"name": "f_g_x"}, {"name": "x"}])),
            ("resources", thief),
        ])
    ));
    let gate = serve(desk.file());
    assert_eq!(tools(&gate.url, "modern"), ["own", "f_t", "x"]);
    for (thing, owner) in [
        ("tool `f_x`", "`files`"),
        ("tool `f_g_x`", "`gone`"),
        ("resource `files:///etc/motd`", "`files`"),
    ] {
        gate.told(&["the ", thing, "of the upstream `thief` is left out", owner]);
    }
    let listed = haft(["list", &gate.url, "--json"]).json();
    assert_eq!(listed["resources"].as_array().map(Vec::len), Some(1), "{listed}");
    let read = haft(["read", &gate.url, "files:///etc/motd"]);
    assert_eq!(read.printed().trim(), "files:///etc/motd");
    let checked = haft(["check", desk.file()]);
    assert!(checked.stderr.contains("names that begin with `f_g_`"), "{}", checked.stderr);
}

#[test]
fn addresses_of_templates_of_every_form_are_read() {
    let templates = [
        "repo://{owner}/{repo}/contents{/path*}",
        "repo://{owner}/{repo}/refs/heads/{branch}/contents{/path*}",
        "search://all{?q,page}",
        "doc://{+path}{#part}",
        "short://{name:3}",
    ];
    let templates = templates.map(|template| json!({"uriTemplate": template, "name": "t"}));
    let lists = [("resourceTemplates", templates.into_iter().collect())];
    let desk = gate(&format!("  u: {{ {} }}\n", listing(&lists)));
    let gate = serve(desk.file());
    for (uri, is_there) in [
        ("repo://o/r/contents", true),
        ("repo://o/r/contents/src/main.rs", true),
        ("repo://o/r/refs/heads/main/contents/src/main.rs", true),
        ("search://all?q=a%20b&page=2", true),
        ("search://all", true),
        ("search://all?z=1", false),
        ("doc://a/b.md#part", true),
        ("short://abc", true),
        ("short://abcd", false),
    ] {
        let read = haft(["read", &gate.url, uri]);
        assert_eq!(read.code == Some(0), is_there, "{uri}: {}", read.stderr);
        assert!(!is_there || read.printed().trim() == uri, "{uri}");
    }
}

#[test]
fn what_is_taken_out_of_a_family_cannot_be_had_by_another_spelling() {
    let templates = json!([{"uriTemplate": "file://{+path}", "name": "files"}]);
    let desk = gate(&format!(
        "  u: {{ {}, exclude: {{ resources: [\"file:///etc/*\"] }} }}\n",
        listing(&[("resourceTemplates", templates)])
    ));
    let gate = serve(desk.file());
    for uri in [
        "file:///etc/passwd",
        "file:///x/../etc/passwd",
        "file:///./etc/passwd",
        "file:////etc/passwd",
        "file://localhost/etc/passwd",
        "file:///%65tc/passwd",
        "file:///%2565tc/passwd",
        "file:///x%2f..%2fetc/passwd",
        "file:///x\\..\\etc\\passwd",
        "file:///ETC/passwd",
        "file:///a%00b",
        "file:///a%zz",
    ] {
        let read = haft(["read", &gate.url, uri]);
        assert_ne!(read.code, Some(0), "{uri}: {}", read.stdout);
    }
    for (uri, sent) in
        [("file:///home/a", "file:///home/a"), ("file:///home/b/../%61", "file:///home/a")]
    {
        assert_eq!(haft(["read", &gate.url, uri]).printed().trim(), sent, "{uri}");
    }
}

#[test]
fn limits_of_upstreams_can_be_raised_by_the_key_that_is_named() {
    let tools: Value = (0..5).map(|number| json!({"name": format!("t{number}")})).collect();
    let large = listing(&[("tools", json!([{"name": "large"}]))]);
    let desk = gate(&format!(
        "  low: {{ {large} }}\n  high: {{ {large}, limit: 16MB }}\n  \
         few: {{ {}, tools_max: 3 }}\n  brief: {{ {large}, list_limit: 10B }}\n",
        listing(&[("tools", tools)])
    ));
    let gate = serve(desk.file());
    let times = json!({"times": 1_000_000});
    let refused = haft(["call", &gate.url, "low_large", "--input-json", &times.to_string()]);
    let told = format!("{}{}", refused.stdout, refused.stderr);
    assert!(told.contains("raise `limit`"), "{told}");
    // The client that asks has a bound of its own.
    let answer = haft(["call", &gate.url, "high_large", "--input-json", &times.to_string()]);
    let told = format!("{}{}", answer.stdout, answer.stderr);
    assert!(!told.contains("raise `limit`"), "{}", told.len());
    assert_eq!(tools_of(&gate.url, "few_"), ["few_t0", "few_t1", "few_t2"]);
    gate.told(&["the upstream `few`: 2 of its tools are left out", "raise `tools_max`"]);
    gate.told(&["`brief`", "raise `list_limit`"]);
}

fn tools_of(url: &str, prefix: &str) -> Vec<String> {
    let all = tools(url, "modern");
    all.into_iter().filter(|name| name.starts_with(prefix)).collect()
}
