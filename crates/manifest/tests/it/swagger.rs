//! Documents of Swagger 2.0: what their operations send, and where.

use crate::faults_in_openapi::{KEYS, made, refused, schema};
use crate::fixture::text;
use crate::openapi::{desk, echo, serve};
use crate::origin::Seen;
use serde_json::{Value, json};

/// A document whose one operation, `ask`, these lines describe.
fn document(method: &str, path: &str, lines: &str) -> String {
    let lines: String = lines.lines().map(|line| format!("      {line}\n")).collect();
    format!(
        "swagger: '2.0'\ninfo: {{ title: t, version: '1' }}\nconsumes: [application/json]\n\
         produces: [application/json]\npaths:\n  {path:?}:\n    {method}:\n      operationId: \
         ask\n{lines}{SHARED}"
    )
}

const SHARED: &str = "parameters:
  Page: { name: page, in: query, type: integer, default: 1 }
  Pet: { name: pet, in: body, required: true, schema: { $ref: '#/definitions/Pet' } }
definitions:
  Id: { type: integer, readOnly: true }
  Pet:
    type: object
    required: [id, name]
    discriminator: name
    properties: { id: { $ref: '#/definitions/Id' }, name: { type: string },
      tag: { type: string, x-nullable: true } }
";

async fn sent(method: &str, path: &str, lines: &str, arguments: Value) -> Seen {
    let origin = echo().await;
    let server = serve(&origin, &document(method, path, lines), "");
    assert_eq!(text(&server, "api_ask", arguments).await, "ok");
    origin.only()
}

#[tokio::test]
async fn parameters_are_written_as_their_format_says() {
    let list = |format: &str| {
        format!("{{ name: q, in: query, type: array, items: {{ type: string }}{format} }}")
    };
    let two = json!({"q": ["a,b", "c"]});
    for (parameter, arguments, expected) in [
        (list(""), two.clone(), "/v1/x?q=a%2Cb,c"),
        (list(", collectionFormat: csv"), two.clone(), "/v1/x?q=a%2Cb,c"),
        (list(", collectionFormat: multi"), two.clone(), "/v1/x?q=a%2Cb&q=c"),
        (list(", collectionFormat: ssv"), json!({"q": ["a", "b"]}), "/v1/x?q=a%20b"),
        (list(", collectionFormat: pipes"), json!({"q": ["a", "b"]}), "/v1/x?q=a%7Cb"),
        (list(", collectionFormat: tsv"), json!({"q": ["a", "b"]}), "/v1/x?q=a%09b"),
        ("{ $ref: '#/parameters/Page' }".to_owned(), json!({"page": 2}), "/v1/x?page=2"),
        ("{ name: q, in: query, type: string }".to_owned(), json!({"q": "a"}), "/v1/x?q=a"),
    ] {
        let seen = sent("get", "/x", &format!("parameters: [{parameter}]"), arguments).await;
        assert_eq!(seen.target, expected, "{parameter}");
    }
    let path = "parameters: [{ name: id, in: path, required: true, type: array, items: {} }]";
    assert_eq!(sent("get", "/x/{id}", path, json!({"id": [1, 2]})).await.target, "/v1/x/1,2");
}

#[tokio::test]
async fn bodies_and_forms_are_of_the_kind_that_is_consumed() {
    let form = "application/x-www-form-urlencoded";
    let pet = "{ name: pet, in: body, required: true, schema: { $ref: '#/definitions/Pet' } }";
    let multi = "{ name: a, in: formData, type: array, items: {}, collectionFormat: multi }";
    let named = json!({"name": "Rex", "tag": null});
    for (lines, arguments, kind, expected) in [
        (pet, named.clone(), "application/json", r#"{"name":"Rex","tag":null}"#),
        ("{ $ref: '#/parameters/Pet' }", named, "application/json", r#"{"name":"Rex","tag":null}"#),
        ("{ name: a, in: formData, type: string }", json!({"a": "x y"}), form, "a=x%20y"),
        ("{ name: a, in: formData, type: array, items: {} }", json!({"a": [1, 2]}), form, "a=1,2"),
        (multi, json!({"a": [1, 2]}), form, "a=1&a=2"),
    ] {
        let seen = sent("post", "/x", &format!("parameters: [{lines}]"), arguments).await;
        assert_eq!((seen.text(), seen.header("content-type")), (expected, Some(kind)), "{lines}");
    }
    let merge = format!("consumes: [application/merge-patch+json]\nparameters: [{pet}]");
    let seen = sent("patch", "/x", &merge, json!({"name": "Rex"})).await;
    assert_eq!(seen.header("content-type"), Some("application/merge-patch+json"));
    let file = "parameters: [{ name: f, in: formData, type: file, required: true }, \
                { name: note, in: formData, type: string }]";
    let seen = sent("post", "/x", file, json!({"f": "YQ==", "note": "n"})).await;
    let file = "name=\"f\"; filename=\"f\"\r\ncontent-type: application/octet-stream\r\n\r\na\r\n";
    assert!(seen.text().contains(file), "{}", seen.text());
    assert!(seen.text().contains("name=\"note\"\r\n\r\nn\r\n"), "{}", seen.text());
}

#[tokio::test]
async fn what_is_produced_is_accepted() {
    for (lines, expected) in [
        ("responses: { 200: { schema: { type: string } } }", "application/json, */*;q=0.5"),
        (
            "produces: [text/csv]\nresponses: { 200: { schema: { type: file } } }",
            "text/csv, */*;q=0.5",
        ),
        ("responses: { 204: { description: d } }", "*/*"),
    ] {
        let seen = sent("get", "/x", lines, json!({})).await;
        assert_eq!(seen.header("accept"), Some(expected), "{lines}");
    }
}

#[tokio::test]
async fn requests_go_where_host_scheme_and_path_say() {
    let made_of = |keys: &str| format!("swagger: 2.0\npaths: {{ /a: {{ get: {{}} }} }}\n{keys}");
    for keys in [
        "host: a.example\nbasePath: /v1\nschemes: [http, https]",
        "host: a.example\nbasePath: v1",
        "host: a.example",
    ] {
        assert_eq!(made(&made_of(keys), "").0, ["api_get_a"], "{keys}");
    }
    for keys in ["basePath: /v1", ""] {
        let why = refused(&made_of(keys), "");
        assert!(why.starts_with("requests would go nowhere"), "{keys}: {why}");
    }
    let origin = echo().await;
    let host = origin.url("").replace("http://", "");
    let document = made_of(&format!("host: {host}\nbasePath: /v3/\nschemes: [http]"));
    let server = desk(&document, "allow_private: [127.0.0.1]").serve();
    assert_eq!(text(&server, "api_get_a", json!({})).await, "ok");
    assert_eq!(origin.only().target, "/v3/a");
}

#[tokio::test]
async fn who_asks_is_told_by_the_schemes_of_the_document() {
    let document = "swagger: '2.0'
security: [{ key: [] }]
paths:
  /key: { get: { operationId: key } }
  /login: { get: { operationId: login, security: [{ login: [] }] } }
securityDefinitions:
  key: { type: apiKey, in: header, name: X-Key }
  login: { type: basic }
  token: { type: oauth2, flow: application, tokenUrl: 'https://a.example/token', scopes: {} }
";
    let keys = "security: { key: k-secret, login: { user: me, password: pw } }";
    let origin = echo().await;
    let server = serve(&origin, document, keys);
    for (name, header, expected) in
        [("key", "x-key", "k-secret"), ("login", "authorization", "Basic bWU6cHc=")]
    {
        assert_eq!(text(&server, &format!("api_{name}"), json!({})).await, "ok");
        let seen = origin.seen().pop().expect("it was asked");
        assert_eq!(seen.header(header), Some(expected), "{name}");
    }
}

#[tokio::test]
async fn parameters_of_a_path_and_references_into_paths_hold() {
    let document = "swagger: '2.0'
paths:
  /a/{id}:
    parameters:
      - { name: id, in: path, required: true, type: string, description: Which one. }
      - { name: body, in: body, required: true, schema: { type: object, required: [x],
          properties: { x: { type: string, enum: [1, 2] } } } }
    put: { operationId: put, parameters: [{ name: q, in: query, type: string, required: true }] }
    post:
      parameters: [{ name: b, in: body, schema: { $ref:
        '#/paths/~1a~1%7Bid%7D/parameters/1/schema' } }]
";
    let found = schema(document).await;
    assert_eq!(found["required"], json!(["id", "q", "x"]), "{found}");
    assert_eq!(found["properties"]["x"]["enum"], json!(["1", "2"]));
    assert_eq!(found["properties"]["id"]["description"], "Which one.");
    let (names, warnings) = made(document, KEYS);
    assert_eq!(names, ["api_put", "api_post_a_id"], "{warnings:?}");
}

#[test]
fn what_operations_share_is_not_written_for_each_without_end() {
    let words = "x".repeat(2_000_000);
    let mut paths = String::new();
    for at in 0..200 {
        paths += &format!("  /{at}: {{ get: {{ parameters: [{{ $ref: '#/parameters/P' }}] }} }}\n");
    }
    let document = format!(
        "swagger: '2.0'\npaths:\n{paths}parameters: {{ P: {{ name: p, in: query, description: \
         {words} }} }}"
    );
    let why = refused(&document, KEYS);
    assert!(why.contains("what its operations share is too much"), "{why}");
}
