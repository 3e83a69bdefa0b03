//! The published JSON Schema: what it accepts, what it refuses, and that its file is current.

use crate::fixture::Desk;
use haft_manifest::{json_schema, starter};
use serde_json::Value;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/haft.schema.json");
const QUICKSTART: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/quickstart/haft.yaml");
const LIVE_RESOURCES: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/live-resources/haft.yaml");

fn is_valid(yaml: &str) -> Result<(), String> {
    let schema: Value = serde_json::from_str(&json_schema()).expect("it is JSON");
    let validator = jsonschema::draft202012::new(&schema).expect("it is a schema");
    let file: Value = serde_saphyr::from_str(yaml).expect("it is YAML");
    validator.validate(&file).map_err(|error| format!("{}: {error}", error.instance_path()))
}

#[test]
fn the_file_is_current() {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(GOLDEN, json_schema()).expect("the repository can be written");
    }
    let golden = std::fs::read_to_string(GOLDEN).unwrap_or_default();
    assert!(golden == json_schema(), "haft.schema.json is old; UPDATE_GOLDEN=1 writes it anew");
}

#[test]
fn the_quickstart_and_the_starter_are_valid() {
    let quickstart = std::fs::read_to_string(QUICKSTART).expect("the repository has it");
    assert_eq!(is_valid(&quickstart), Ok(()));
    assert_eq!(is_valid(&starter("a")), Ok(()));
}

#[test]
fn unknown_keys_are_refused_wherever_they_are() {
    for yaml in [
        "server: { name: a }\ntoolz: []",
        "server: { nam: a }",
        "server: { name: a }\nlisten: [{ htp: x }]",
        "server: { name: a }\ntools: [{ name: a, txt: b }]",
        "server: { name: a }\ntools: [{ name: a, text: b, annotations: { readonly: true } }]",
        "server: { name: a }\ntools: [{ name: a, command: [b], output: { parce: text } }]",
        "server: { name: a }\nresources: [{ uri: 'a:b', txt: c }]",
        "server: { name: a }\nresources: [{ uri: 'a:b', text: c, annotations: { prio: 1 } }]",
        "server: { name: a }\nprompts: [{ name: a, txt: b }]",
        "server: { name: a }\nprompts: [{ name: a, messages: [{ usr: b }] }]",
        "server: { name: a }\nprompts: [{ name: a, text: b, arguments: { a: { c: d } } }]",
        "server: { name: a, caching: { tll: 5s } }",
        "server: { name: a }\nupstreams: { b: { comand: [c] } }",
        "server: { name: a }\nresources: [{ uri: 'a:{b}', complete: { b: { comand: [c] } } }]",
    ] {
        assert!(is_valid(yaml).is_err(), "{yaml}");
    }
}

#[test]
fn a_number_has_the_bounds_of_the_reader() {
    let server = |key: &str| format!("server: {{ name: a, {key} }}\n");
    let upstream = |keys: &str| {
        format!("server: {{ name: a }}\nupstreams:\n  b: {{ command: [c], {keys} }}\n")
    };
    let cases: [(&dyn Fn(u32) -> String, u32); 3] = [
        (&|number| server(&format!("processes: {number}")), 4096),
        (&|number| upstream(&format!("sessions: own, sessions_max: {number}")), 1024),
        (&|number| upstream(&format!("instances: {number}")), 64),
    ];
    for (text, max) in cases {
        for (number, is_fit) in [(0, false), (1, true), (max, true), (max + 1, false)] {
            let text = text(number);
            let desk = Desk::with(&text);
            let is_read = haft_manifest::load(&desk.file("haft.yaml")).is_ok();
            assert_eq!((is_valid(&text).is_ok(), is_read), (is_fit, is_fit), "{text}");
        }
    }
}

#[test]
fn values_of_the_wrong_type_are_refused() {
    for yaml in [
        "tools: []",
        "server: { name: 1 }",
        "server: { name: a, title: null }",
        "server: { name: a }\ntools: [{ name: a, command: wc }]",
        "server: { name: a }\ntools: [{ name: a, command: [wc], output: yaml }]",
        "server: { name: a }\ntools: [{ name: a, text: b, input: { a: strin } }]",
        "server: { name: a }\ntools: [{ name: a, command: [wc], ok_exit: [256] }]",
        "server: { name: a }\nresources: [{ text: b }]",
        "server: { name: a }\nresources: [{ uri: 'a:b', text: c, annotations: { priority: 2 } }]",
        "server: { name: a }\nprompts: [{ name: a, messages: { user: b } }]",
        "server: { name: a }\nprompts: [{ name: a, text: b, arguments: [{ title: c }] }]",
        "server: { name: a, icons: [{ theme: dark }] }",
        "server: { name: a, state_keys: secret }",
        "server: { name: a }\nupstreams: { b: { command: c } }",
        "server: { name: a }\nupstreams: { b: { url: [c] } }",
        "server: { name: a }\nupstreams: { b: { command: [c], era: modren } }",
        "server: { name: a }\nupstreams: { b: { command: [c], start: 1 } }",
    ] {
        assert!(is_valid(yaml).is_err(), "{yaml}");
    }
}

#[test]
fn what_a_program_gets_may_be_typed_as_a_number() {
    let yaml = "server: { name: a, version: 1.0 }
listen: [{ http: 7300 }]
tools:
  - name: t
    command: [head, -n, 5]
    env: { A: 1, B: true }
    input: { a: 'string[][]', 'b?': { type: 'integer[]' } }
    output: { parse: lines, limit: 1000 }
    concurrency: 2
";
    assert_eq!(is_valid(yaml), Ok(()));
}

#[test]
fn resources_and_prompts_are_valid_in_all_their_forms() {
    let yaml = "server:
  name: a
  icons: [{ src: 'https://a.example/i.png', sizes: [any], theme: light }]
  caching: { ttl: 5s, scope: private }
  state_keys: ['${env:HAFT_STATE_KEY}']
resources:
  - { uri: 'a:b', text: 5, annotations: { audience: [user], priority: 0.5 }, meta: { x: [1] } }
  - { uri: 'a:c', file: c.md, limit: 1MiB, caching: { ttl: 0s } }
  - { uri: 'a:{+path}', directory: c, hidden: true, list: true }
prompts:
  - { name: a, text: b, arguments: { c: d, 'e?': { values: [1, f] } } }
  - name: b
    arguments: [c, { name: d, required: false }]
    messages: [{ user: b }, { role: assistant, text: c }, { resource: 'a:b' }, { image: d.png }]
";
    assert_eq!(is_valid(yaml), Ok(()));
    let example = std::fs::read_to_string(LIVE_RESOURCES).expect("the repository has it");
    assert_eq!(is_valid(&example), Ok(()));
}

#[test]
fn upstreams_are_valid_of_each_kind() {
    let yaml = "server: { name: a }
upstreams:
  b: { command: [c, 5], env: { D: true }, cwd: e, prefix: '', timeout: 5s, start: lazy }
  f: { url: 'https://g.example/mcp', headers: { h: 1 }, era: modern, start: eager }
  i: { openapi: j.yaml }
";
    assert_eq!(is_valid(yaml), Ok(()));
}

#[test]
fn every_key_has_a_line_of_documentation() {
    fn check(path: &str, schema: &Value) {
        if let Some(Value::Object(properties)) = schema.get("properties") {
            for (key, property) in properties {
                let path = format!("{path}.{key}");
                let said = property.get("description").and_then(Value::as_str).unwrap_or_default();
                assert!(said.len() > 10 && !said.contains('\n'), "{path}: {said:?}");
                check(&path, property);
            }
        }
    }
    let schema: Value = serde_json::from_str(&json_schema()).expect("it is JSON");
    check("", &schema);
    let Some(Value::Object(definitions)) = schema.get("$defs") else { panic!("it has parts") };
    for (name, definition) in definitions {
        check(name, definition);
    }
}
