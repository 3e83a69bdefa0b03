//! What a manifest says of its server: names, addresses, definitions.

use crate::fixture::Desk;
use haft_manifest::Listen;

#[test]
fn without_listen_the_server_is_at_its_usual_address() {
    let manifest = Desk::with("server: { name: a }").manifest();
    let [Listen { address, path, origins, hosts }] = manifest.listeners() else {
        panic!("there is one")
    };
    assert_eq!((&*address.to_string(), &**path), ("127.0.0.1:7300", "/mcp"));
    assert!(origins.is_empty() && hosts.is_empty());
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
",
    )
    .manifest();
    let addresses: Vec<_> =
        manifest.listeners().iter().map(|listen| listen.address.to_string()).collect();
    let expected = ["0.0.0.0:80", "[::1]:0", "127.0.0.1:8080", "127.0.0.1:8081", "127.0.0.1:8082"];
    assert_eq!(addresses, expected);
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
    let schema = r#"{"type":"object","x-z":1,"properties":{"z":{"type":"string"},"a":true}}"#;
    let definition = format!(r#"{{"name":"t","inputSchema":{schema}}}"#);
    assert_eq!(desk.manifest().costs()[0].bytes, definition.len());
}
