//! What a manifest says of its server: names, addresses, definitions.

use crate::fixture::{Desk, ask, refusal};
use haft_manifest::{Listen, Part};
use haft_server::{AskError, Context, Tool, handler};
use serde::Deserialize;
use serde_json::{Value, json};

#[test]
fn without_listen_the_server_is_at_its_usual_address() {
    let manifest = Desk::with("server: { name: a }").manifest();
    let [Listen { address, path, origins, hosts, has_sessions, sse }] = manifest.listeners() else {
        panic!("there is one")
    };
    assert_eq!((&*address.to_string(), &**path), ("127.0.0.1:7300", "/mcp"));
    assert!(origins.is_empty() && hosts.is_empty() && *has_sessions && !sse);
}

#[test]
fn listeners_are_as_they_are_written() {
    let manifest = Desk::with(
        "server: { name: a, version: 1.10 }
listen:
  - http: 0.0.0.0:80
    path: /tools
    origins: [https://app.example]
    hosts: [tools.example]
  - http: '[::1]:0'
  - http: :8080
  - http: localhost:8081
  - http: 8082
    sessions: none
",
    )
    .manifest();
    let addresses: Vec<_> =
        manifest.listeners().iter().map(|listen| listen.address.to_string()).collect();
    let expected = ["0.0.0.0:80", "[::1]:0", "127.0.0.1:8080", "127.0.0.1:8081", "127.0.0.1:8082"];
    assert_eq!(addresses, expected);
    let keep: Vec<_> = manifest.listeners().iter().map(|listen| listen.has_sessions).collect();
    assert_eq!(keep, [true, true, true, true, false]);
    let first = &manifest.listeners()[0];
    assert_eq!(first.path, "/tools");
    assert_eq!(
        (&*first.origins, &*first.hosts),
        (&["https://app.example".to_owned()][..], &["tools.example".to_owned()][..])
    );
}

#[test]
fn tools_are_listed_in_the_order_of_the_file() {
    let desk = Desk::with_tools("  - { name: b, text: x }\n  - { name: a, text: x }\n");
    assert_eq!(desk.server().tool_names(), ["b", "a"]);
    assert_eq!(Desk::with("server: { name: a }").serve().tool_names(), [""; 0]);
}

#[test]
fn a_cost_is_the_bytes_of_the_definition() {
    let desk = Desk::with_tools(
        "  - name: t
    description: Does it.
    annotations: { readOnly: true, destructive: false }
    input: { a: string, 'b?': 'integer[]', c: { type: number, default: 1 } }
    command: [cat]
    output: lines
",
    );
    let costs = desk.manifest().costs();
    let definition = concat!(
        r#"{"name":"t","description":"Does it.","inputSchema":{"type":"object","properties":{"#,
        r#""a":{"type":"string"},"b":{"type":"array","items":{"type":"integer"}},"#,
        r#""c":{"type":"number","default":1}},"required":["a"],"additionalProperties":false},"#,
        r#""outputSchema":{"type":"object","properties":{"lines":{"type":"array","items":{"#,
        r#""type":"string"}}},"required":["lines"],"additionalProperties":false},"#,
        r#""annotations":{"readOnlyHint":true,"destructiveHint":false}}"#
    );
    assert_eq!((costs.len(), costs[0].kind, &*costs[0].name), (1, "command", "t"));
    assert_eq!(costs[0].arguments, ["a", "b?", "c?"]);
    assert_eq!(costs[0].bytes, definition.len());
    assert_eq!(costs[0].tokens, haft_manifest::tokens(definition));
}

#[test]
fn a_json_schema_is_passed_on_with_its_keys_in_order() {
    let desk = Desk::with_tools(
        "  - name: t
    input_schema: { type: object, x-z: 1, properties: { z: { type: string }, a: true } }
    text: '{{ z }}{{ a }}'
",
    );
    // Some clients want an object where a schema stands.
    let schema = r#"{"type":"object","x-z":1,"properties":{"z":{"type":"string"},"a":{}}}"#;
    let definition = format!(r#"{{"name":"t","inputSchema":{schema}}}"#);
    assert_eq!(desk.manifest().costs()[0].bytes, definition.len());
}

#[tokio::test]
async fn every_cost_is_the_bytes_of_its_lists() {
    let desk = Desk::with(
        "server: { name: a }
tools: [{ name: t, title: T, icons: [{ src: 'data:,' }], meta: { x: 'y' }, text: x }]
resources:
  - { uri: 'a:b', text: x, title: B, annotations: { priority: 0.25 }, meta: { x: 'y' } }
  - { uri: 'a:c', file: haft.yaml, icons: [{ src: 'data:,' }] }
  - { uri: 'd:{+path}', directory: docs, list: true, description: D, annotations: { priority: 1 } }
prompts: [{ name: p, arguments: { a: b, 'c?': { title: C } }, text: '{{ a }}', meta: { x: 1 } }]
",
    );
    desk.write("docs/a.md", "a");
    desk.write("docs/b/c", "c");
    let costs = desk.manifest().costs();
    let server = desk.serve();
    let list = |method: &'static str, key: &'static str| {
        let server = &server;
        async move { ask(server, method, json!({})).await[key].take() }
    };
    let tools = list("tools/list", "tools").await;
    let resources = list("resources/list", "resources").await;
    let templates = list("resources/templates/list", "resourceTemplates").await;
    let prompts = list("prompts/list", "prompts").await;
    let bytes = |value: &Value| value.to_string().len();
    let family = bytes(&templates[0]) + bytes(&resources[2]) + bytes(&resources[3]);
    let expected = [
        (Part::Tool, "t", "text", bytes(&tools[0])),
        (Part::Resource, "a:b", "text", bytes(&resources[0])),
        (Part::Resource, "a:c", "file", bytes(&resources[1])),
        (Part::Resource, "d:{+path}", "directory", family),
        (Part::Prompt, "p", "message", bytes(&prompts[0])),
    ];
    let found: Vec<_> =
        costs.iter().map(|cost| (cost.part, &*cost.name, cost.kind, cost.bytes)).collect();
    assert_eq!(found, expected);
    assert_eq!(
        (&*costs[3].arguments, &*costs[4].arguments),
        (&["path".to_owned()][..], &["a".to_owned(), "c?".to_owned()][..])
    );
    assert_eq!(tools[0]["icons"], json!([{"src": "data:,"}]));
    assert_eq!(tools[0]["_meta"], json!({"x": "y"}));
}

#[tokio::test]
async fn a_server_shows_its_pictures() {
    let icons = "[{ src: 'https://a.example/i.svg', sizes: [any] }]";
    let server = Desk::with(&format!("server: {{ name: a, icons: {icons} }}")).serve();
    let hello = ask(&server, "server/discover", json!({})).await;
    let info = &hello["_meta"]["io.modelcontextprotocol/serverInfo"];
    let expected = json!([{"src": "https://a.example/i.svg", "sizes": ["any"]}]);
    assert_eq!(info["icons"], expected, "{hello}");
}

/// A tool that asks for a name.
fn asking() -> Tool {
    #[derive(Deserialize)]
    struct Nothing {}
    #[derive(Deserialize)]
    struct Name {
        name: String,
    }
    const NAME: &str =
        r#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#;
    let work = |_: Nothing, context: Context| async move {
        let name = context.elicit::<Name>("name", "Who?", NAME).await?.accepted();
        Ok::<_, AskError>(name.map_or_else(|| "nobody".to_owned(), |name| name.name))
    };
    Tool::new("ask", handler::future(work))
}

#[tokio::test]
async fn replicas_with_a_state_key_in_common_take_each_others_states() {
    let replica = |keys: &str| {
        let server = Desk::with(&format!("server: {{ name: a{keys} }}")).serve();
        server.add_tool(asking()).expect("it is a tool");
        server
    };
    let old = replica(", state_keys: ['the first of all keys']");
    let new = replica(", state_keys: ['a key that came later', 'the first of all keys']");
    let (other, keyless) = (replica(", state_keys: ['a key of somebody else']"), replica(""));
    let call = json!({"name": "ask", "arguments": {}});
    let asked = ask(&old, "tools/call", call.clone()).await;
    let mut again = call;
    again["requestState"] = asked["requestState"].clone();
    again["inputResponses"] = json!({"name": {"action": "accept", "content": {"name": "Ada"}}});
    for stranger in [&other, &keyless] {
        let (code, message) = refusal(stranger, "tools/call", again.clone()).await;
        assert_eq!((code, message.contains("requestState")), (-32602, true), "{message}");
    }
    assert_eq!(ask(&new, "tools/call", again).await["content"][0]["text"], "Ada");
}
