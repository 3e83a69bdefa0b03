//! What can be wrong with documents that describe APIs, and with what haft.yaml says of them:
//! faults as they are drawn, documents that want to hurt, and warnings.

use crate::fixture::{Desk, ask, check_fault};
use crate::openapi::desk;
use futures_util::FutureExt;
use haft_server::schema::Schema;
use serde_json::{Value, json};
use std::fmt::Write;

pub(crate) const KEYS: &str = "base_url: https://api.example.com";

pub(crate) fn with_paths(paths: &str) -> String {
    format!("openapi: 3.0.0\ninfo: {{ title: t, version: '1' }}\npaths:\n{paths}\n")
}

/// The names of the tools, and the warnings without those that say nothing of documents.
pub(crate) fn made(document: &str, keys: &str) -> (Vec<String>, Vec<String>) {
    let manifest = desk(document, keys).manifest();
    let warnings = manifest.warnings().into_iter();
    let warnings = warnings.map(|note| format!("{}: {}", note.name, note.message)).collect();
    let server = manifest.server().expect("it can be served");
    // They are not compiled before they are needed, so whoever says that they do compile is asked.
    let listed = ask(&server, "tools/list", json!({})).now_or_never().expect("it is written");
    for tool in listed["tools"].as_array().expect("a list") {
        Schema::compile(&tool["inputSchema"].to_string()).expect("it is a schema");
    }
    (server.tool_names().iter().map(|name| name.to_string()).collect(), warnings)
}

/// Why a document cannot be used.
#[track_caller]
pub(crate) fn refused(document: &str, keys: &str) -> String {
    let desk = desk(document, keys);
    match haft_manifest::load(&desk.file("haft.yaml")) {
        Ok(_) => panic!("there is nothing wrong with\n{document}"),
        Err(fault) => fault.problem().message(),
    }
}

/// The schema of the only tool's arguments.
pub(crate) async fn schema(document: &str) -> Value {
    let served = desk(document, KEYS).serve();
    let mut listed = ask(&served, "tools/list", json!({})).await;
    listed["tools"][0]["inputSchema"].take()
}

fn check_keys(keys: &str, expected: &[&str]) {
    let desk = desk(&with_paths("  /a: { get: { operationId: a, tags: [x] } }"), "");
    let keys: String = keys.lines().map(|line| format!("    {line}\n")).collect();
    let path = desk.file("api.yaml");
    let path = path.display();
    let yaml = format!("server: {{ name: a }}\nupstreams:\n  api:\n    openapi: {path}\n{keys}");
    check_fault(&yaml, expected);
}

#[test]
fn a_wrong_value_is_drawn() {
    check_keys(
        "base: https://a.example",
        &[
            "haft.yaml:5:5: `base` is no known key of an upstream",
            "5 |     base: https://a.example",
            "  |     ^^^^",
            "  = help: did you mean `base_url`?",
        ],
    );
    check_keys(
        "prefix: 'a b'",
        &[
            "haft.yaml:5:13: \"a b\" cannot begin the names of tools",
            "5 |     prefix: 'a b'",
            "  |             ^^^^^",
            "  = help: use at most 32 letters, digits, `_` and `-`, like pet_",
        ],
    );
    check_keys(
        "base_url: example.com",
        &[
            "haft.yaml:5:15: \"example.com\" is no address: it must begin with http:// or https://",
            "5 |     base_url: example.com",
            "  |               ^^^^^^^^^^^",
            "  = help: write it like https://api.example.com/v1",
        ],
    );
    check_keys(
        "base_url: https://a.example\ninclude: { tags: [y] }",
        &[
            "haft.yaml:6:23: the document has no tag \"y\"",
            "6 |     include: { tags: [y] }",
            "  |                       ^",
            "  = help: remove it, or look into the document",
        ],
    );
    check_keys(
        "base_url: https://a.example\nsecurity: { key: abc }",
        &[
            "haft.yaml:6:17: the document has no security scheme \"key\"",
            "6 |     security: { key: abc }",
            "  |                 ^^^",
            "  = help: remove it, or look into the document",
        ],
    );
}

#[test]
fn a_file_that_is_no_document_is_told() {
    for (document, keys, expected) in [
        ("swagger: '2.0'", KEYS, "no operation becomes a tool: the document has none"),
        ("swagger: '1.2'", KEYS, "the document is of Swagger 1.2"),
        ("openapi: 4.0.0", KEYS, "the document is of 4.0.0"),
        ("a: 1", KEYS, "the document describes no API: it has no `openapi`"),
        ("{\"openapi\": \"3.0.0\",}", KEYS, "the document cannot be read: trailing comma"),
        ("openapi: [", KEYS, "the document cannot be read: "),
        ("openapi: 3.0.0", KEYS, "no operation becomes a tool: the document has none"),
        ("openapi: 3.0.0\npaths: { /a: { get: {} } }", "", "requests would go nowhere: "),
        (
            "openapi: 3.0.0\nservers: [{ url: /v1 }]",
            "",
            "requests would go nowhere: the server \"/v1\" of the document: it is relative",
        ),
        (
            "openapi: 3.0.0\npaths: { /a: { get: {} } }",
            "base_url: https://a.example\nexclude: { methods: [get] }",
            "no operation becomes a tool: none of 1 is chosen",
        ),
    ] {
        let why = refused(document, keys);
        assert!(why.starts_with(expected), "{document}: {why}");
    }
    let yaml = "server: { name: a }\nupstreams: { api: { openapi: no.yaml } }";
    let desk = Desk::with(yaml);
    let fault = haft_manifest::load(&desk.file("haft.yaml")).map(|_| ()).expect_err("no file");
    assert!(fault.problem().message().contains("No such file"), "{fault}");
}

#[test]
fn operations_are_chosen_by_every_key() {
    let document = with_paths(
        "  /pets: { get: { operationId: list, tags: [a] }, post: { operationId: add, tags: [a] } }
  /pets/{id}: { get: { operationId: one, tags: [b] } }
  /shops: { get: { operationId: shops }, delete: { } }",
    );
    for (keys, expected) in [
        ("", &["api_list", "api_add", "api_one", "api_shops", "api_delete_shops"][..]),
        ("prefix: ''\ninclude: { tags: [a, b] }", &["list", "add", "one"]),
        ("prefix: p-\ninclude: { paths: ['/pets/**'], methods: [get] }", &["p-list", "p-one"]),
        ("prefix: ''\ninclude: { operations: [shops] }", &["shops"]),
        ("prefix: ''\nexclude: { tags: [a], methods: [delete] }", &["one", "shops"]),
    ] {
        assert_eq!(made(&document, &format!("{KEYS}\n{keys}")).0, expected, "{keys}");
    }
}

#[test]
fn names_are_valid_and_told_apart() {
    let long = "x".repeat(200);
    let document = with_paths(&format!(
        "  /a: {{ get: {{ operationId: same }}, post: {{ operationId: same }} }}
  /b: {{ get: {{ operationId: 'repos/list {{all}}' }}, put: {{ operationId: {long} }} }}
  /c/{{id}}: {{ delete: {{}} }}"
    ));
    let (names, warnings) = made(&document, KEYS);
    assert_eq!(names.len(), 5);
    assert_eq!(names[0], "api_same");
    assert!(names[1].starts_with("api_same_"), "{names:?}");
    assert_eq!((&*names[2], &*names[4]), ("api_repos_list_all", "api_delete_c_id"));
    assert_eq!(names[3].len(), 64);
    assert!(warnings.iter().all(|warning| !warning.contains("left out")), "{warnings:?}");
    assert_eq!(made(&document, KEYS).0, names);
}

#[tokio::test]
async fn a_schema_that_refers_to_itself_keeps_its_reference() {
    let document = "openapi: 3.1.0
paths:
  /a: { post: { requestBody: { required: true, content: { application/json: { schema: {
    type: object, properties: { root: { $ref: '#/components/schemas/Node' } } } } } } } }
components:
  schemas:
    Node:
      type: object
      required: [name]
      properties:
        name: { type: string }
        next: { anyOf: [{ $ref: '#/components/schemas/Node' }, { type: 'null' }] }
";
    let schema = schema(document).await;
    assert_eq!(schema["properties"]["root"], json!({"$ref": "#/$defs/Node"}), "{schema}");
    let next = &schema["$defs"]["Node"]["properties"]["next"]["anyOf"];
    assert_eq!(next[0], json!({"$ref": "#/$defs/Node"}));
    Schema::compile(&schema.to_string()).expect("it is a schema");
}

#[tokio::test]
async fn the_dialect_of_3_0_is_translated() {
    let document = with_paths(
        "  /a: { get: { parameters: [{ name: q, in: query, description: Words., schema: { allOf: [
    { $ref: '#/components/schemas/Base' },
    { type: object, required: [c], properties: { c: { type: string, nullable: true, enum: [x] } } }
  ] } }] } }
components:
  schemas:
    Base:
      type: object
      discriminator: { propertyName: a }
      oneOf: [{ $ref: '#/components/schemas/Base' }]
      required: [a]
      properties:
        a: { type: integer, minimum: 3, exclusiveMinimum: true, format: int64, example: 4 }
        b: { type: array, items: { type: string, format: uri }, uniqueItems: false }
        d: { type: strange, pattern: '(', x-odd: 1, xml: {}, required: true }",
    );
    let schema = schema(&document).await;
    assert_eq!(
        schema["properties"]["q"],
        json!({
            "type": "object",
            "description": "Words.",
            "properties": {
                "a": {"type": "integer", "examples": [4], "exclusiveMinimum": 3},
                "b": {"type": "array", "items": {"type": "string", "format": "uri"}},
                "d": {},
                "c": {"type": ["string", "null"], "enum": ["x", null]},
            },
            "required": ["a", "c"],
        })
    );
}

#[test]
fn what_cannot_be_followed_is_left_out_by_name() {
    let mut chain = String::new();
    for at in 0..10_000 {
        _ = writeln!(chain, "    C{at}: {{ $ref: '#/components/schemas/C{}' }}", at + 1);
    }
    let query = |schema: &str| {
        format!("parameters: [{{ name: q, in: query, schema: {{ $ref: '{schema}' }} }}]")
    };
    let document = with_paths(&format!(
        "  /fine: {{ get: {{}} }}
  /file: {{ get: {{ {} }} }}
  /web: {{ get: {{ {} }} }}
  /gone: {{ get: {{ {} }} }}
  /loop: {{ get: {{ {} }} }}
  /deep: {{ get: {{ {} }} }}
  /part: {{ get: {{ parameters: [{{ $ref: 'other.yaml#/p' }}] }} }}
components:
  schemas:
    Loop: {{ $ref: '#/components/schemas/Pool' }}
    Pool: {{ $ref: '#/components/schemas/Loop' }}
{chain}",
        query("other.yaml#/components/schemas/A"),
        query("https://a.example/b.json"),
        query("#/components/schemas/Gone"),
        query("#/components/schemas/Loop"),
        query("#/components/schemas/C0"),
    ));
    let (names, warnings) = made(&document, KEYS);
    assert_eq!(names, ["api_get_fine"]);
    let outside = "leads to a file that cannot be read: No such file or directory (os error 2)";
    let web = "leads to the web, where nothing is fetched from; allow it with `references: web`, \
               or bundle the document into one file";
    let row = "leads to more than 64 others in a row";
    for (warning, expected) in warnings.iter().zip([
        format!("GET /file: it is left out: `$ref: other.yaml#/components/schemas/A` {outside}"),
        format!("GET /web: it is left out: `$ref: https://a.example/b.json` {web}"),
        "GET /gone: it is left out: `$ref: #/components/schemas/Gone` leads nowhere".to_owned(),
        format!("GET /loop: it is left out: `$ref: #/components/schemas/Loop` {row}"),
        format!("GET /deep: it is left out: `$ref: #/components/schemas/C0` {row}"),
        format!("GET /part: it is left out: `$ref: other.yaml#/p` {outside}"),
    ]) {
        assert_eq!(*warning, expected);
    }
    assert_eq!(warnings.len(), 6, "{warnings:?}");
}

/// Schemas within schemas, each by a reference, and branching: whole, they would have no end.
#[test]
fn ten_thousand_schemas_that_lead_to_each_other_are_cut() {
    let mut schemas = String::new();
    for at in 0..10_000 {
        let (one, two) = ((at + 1) % 10_000, (at * 7 + 3) % 10_000);
        _ = writeln!(
            schemas,
            "    C{at}: {{ type: object, properties: {{ a: {{ $ref: '#/components/schemas/C{one}' \
             }}, b: {{ $ref: '#/components/schemas/C{two}' }} }} }}"
        );
    }
    let document = with_paths(&format!(
        "  /a: {{ get: {{ parameters: [{{ name: q, in: query, schema: {{ $ref: \
         '#/components/schemas/C0' }} }}] }} }}\ncomponents:\n  schemas:\n{schemas}"
    ));
    let (names, warnings) = made(&document, KEYS);
    assert_eq!(names, ["api_get_a"]);
    let cut = "api_get_a: its schema is too long; parts of it allow anything";
    assert!(warnings.iter().any(|warning| warning == cut), "{warnings:?}");
}

#[tokio::test]
async fn a_huge_enum_allows_any_value_of_its_type() {
    let values: Vec<_> = (0..100_000).map(|at| format!("v{at}")).collect();
    let document = with_paths(&format!(
        "  /a: {{ get: {{ parameters: [{{ name: q, in: query, schema: {{ type: string, enum: [{}] \
         }} }}] }} }}",
        values.join(", ")
    ));
    let schema = schema(&document).await;
    assert_eq!(schema["properties"]["q"], json!({"type": "string"}));
}

#[test]
fn an_alias_bomb_is_refused() {
    let mut bomb = "openapi: 3.0.0\nx0: &x0 [a, a, a, a, a, a, a, a, a, a]\n".to_owned();
    for at in 1..9 {
        let items = vec![format!("*x{}", at - 1); 10].join(", ");
        _ = writeln!(bomb, "x{at}: &x{at} [{items}]");
    }
    let why = refused(&bomb, KEYS);
    assert_eq!(why, "the document cannot be read: its aliases stand for more than it says");
}

#[test]
fn a_deep_document_is_refused() {
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(5000), close.repeat(5000));
    let json = format!(r#"{{"openapi":"3.0.0","x":{}}}"#, deep("[", "]"));
    assert!(refused(&json, KEYS).contains("recursion limit"), "JSON");
    let yaml = format!("openapi: 3.0.0\nx: {}", deep("[", "]"));
    let why = refused(&yaml, KEYS);
    assert!(why.starts_with("the document cannot be read: "), "{why}");
}

#[test]
fn what_operations_ask_for_and_nobody_gives_is_a_warning() {
    let document = "openapi: 3.0.0
security: [{ key: [] }]
paths: { /a: { get: {} }, /b: { get: {} } }
components: { securitySchemes: { key: { type: apiKey, in: header, name: k } } }";
    let warning = "api: 2 operations ask for `key`; name it under `security`, or say who asks by \
                   `auth`";
    assert!(made(document, KEYS).1.iter().any(|found| found == warning));
    let keys = format!("{KEYS}\nauth: {{ bearer: abcdefgh }}");
    assert!(!made(document, &keys).1.iter().any(|found| found == warning));
}

#[tokio::test]
async fn an_answer_is_described_only_where_that_is_asked_for_and_certain() {
    let document = "openapi: 3.0.0
paths:
  /a: { get: { responses: { 200: { content: { application/json: { schema: { type: object,
    required: [n, w], properties: { n: { type: integer, minimum: 1 },
    w: { type: string, writeOnly: true } } } } } } } } }
  /b: { get: { responses: { 200: { content: { application/json: {
    schema: { type: array } } } } } } }
  /c: { get: { responses: { 200: { content: { application/json: { schema: { type: object,
    properties: { n: { type: integer } } } } } }, 204: {} } } }";
    let served = desk(document, KEYS).serve();
    let listed = ask(&served, "tools/list", json!({})).await;
    assert!(listed["tools"].as_array().is_some_and(|tools| {
        tools.len() == 3 && tools.iter().all(|tool| tool.get("outputSchema").is_none())
    }));
    let served = desk(document, &format!("{KEYS}\noutput_schemas: true")).serve();
    let listed = ask(&served, "tools/list", json!({})).await;
    let expected = json!({"type": "object", "properties": {"n": {"type": ["integer", "null"]}}});
    assert_eq!(listed["tools"][0]["outputSchema"], expected);
    assert!(listed["tools"][1].get("outputSchema").is_none());
    assert!(listed["tools"][2].get("outputSchema").is_none());
}

#[test]
fn a_method_that_changes_nothing_is_no_reason_to_warn() {
    let document = with_paths("  /a: { options: { summary: Says what can be done. } }");
    assert_eq!(made(&document, KEYS), (vec!["api_options_a".to_owned()], vec![]));
}
