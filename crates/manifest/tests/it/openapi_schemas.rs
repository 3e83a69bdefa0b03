//! Schemas as real documents write them: what tools say of their arguments, what they take, and
//! what is sent of it.

use crate::faults_in_openapi::{KEYS, made, schema, with_paths};
use crate::fixture::ask;
use crate::openapi::{desk, sent};
use haft_server::schema::Schema;
use serde_json::{Value, json};

/// The schema of a JSON body that is one argument or several.
async fn of_body(lines: &str) -> Value {
    schema(&with_paths(&format!(
        "  /a:\n    post:\n      operationId: a\n      requestBody: {{ required: true, content: {{ \
         application/json: {{ schema: {lines} }} }} }}\n{COMPONENTS}"
    )))
    .await
}

const COMPONENTS: &str = "components:
  schemas:
    Id: { type: string, readOnly: true }
    Named: { type: object, properties: { name: { type: string } } }
    Closed: { type: object, additionalProperties: false, required: [id, b], properties: {
      id: { $ref: '#/components/schemas/Id' }, b: { type: string } } }
    Ordinary: { type: object, required: [id, b], properties: { id: {}, b: { type: string } } }
";

/// Whether a schema takes a value.
fn takes(schema: &Value, value: &Value) -> bool {
    let schema = Schema::compile(&schema.to_string()).expect("it is a schema");
    schema.check(&value.to_string()).is_ok()
}

#[tokio::test]
async fn values_are_of_the_type_of_their_schema() {
    for (lines, expected) in [
        ("{ type: string, enum: [1, 2, 3] }", json!(["1", "2", "3"])),
        ("{ type: integer, enum: ['1', '2'] }", json!([1, 2])),
        ("{ type: string, enum: [Off, Pty, Null] }", json!(["Off", "Pty", "Null"])),
        (
            "{ type: string, enum: [On, true, 1.10, 2024-01-01, 0x10, 1e3] }",
            json!(["On", "true", "1.10", "2024-01-01", "0x10", "1e3"]),
        ),
        ("{ type: string, nullable: true, enum: [a, null] }", json!(["a", null])),
        ("{ type: boolean, enum: ['true', 'false'] }", json!([true, false])),
        ("{ type: number, enum: [1, '1', 1.5] }", json!([1, 1.5])),
        ("{ type: array, items: { type: string }, enum: [a, b] }", json!(null)),
        ("{ enum: [1, a] }", json!([1, "a"])),
    ] {
        let document = with_paths(&format!(
            "  /a: {{ get: {{ parameters: [{{ name: q, in: query, schema: {lines} }}] }} }}"
        ));
        let found = schema(&document).await["properties"]["q"].clone();
        assert_eq!(*found.get("enum").unwrap_or(&Value::Null), expected, "{lines}");
    }
}

#[tokio::test]
async fn what_only_servers_send_is_not_required_of_callers() {
    let unseen = json!({"b": "x"});
    for (lines, value) in [
        (
            "{ type: object, required: [id, b], properties: { id: { readOnly: true }, b: {} } }",
            &unseen,
        ),
        (
            "{ type: object, required: [id, b], properties: { \
             id: { $ref: '#/components/schemas/Id' }, b: {} } }",
            &unseen,
        ),
        (
            "{ type: object, required: [id, b], properties: { \
             id: { allOf: [{ type: string }, { readOnly: true }] }, b: {} } }",
            &unseen,
        ),
        (
            "{ type: object, required: [id, b], properties: { \
             id: { oneOf: [{ $ref: '#/components/schemas/Id' }, { readOnly: true }] }, b: {} } }",
            &unseen,
        ),
        ("{ $ref: '#/components/schemas/Closed' }", &unseen),
        // The whole body is one argument.
        ("{ oneOf: [{ $ref: '#/components/schemas/Closed' }] }", &json!({"body": {"b": "x"}})),
        (
            "{ oneOf: [{ type: object, required: [id], properties: { id: { readOnly: true } } }] }",
            &json!({"body": {}}),
        ),
        (
            "{ type: object, properties: { id: { readOnly: true } }, \
             anyOf: [{ required: [id, b] }] }",
            &json!({"body": {"b": 1}}),
        ),
        (
            "{ type: object, properties: { id: { readOnly: true } }, \
             anyOf: [{ $ref: '#/components/schemas/Ordinary' }] }",
            &json!({"body": {"b": "x"}}),
        ),
        (
            "{ type: object, required: [id], oneOf: [{ properties: { id: { readOnly: true } } }] }",
            &json!({"body": {}}),
        ),
    ] {
        let schema = of_body(lines).await;
        assert!(takes(&schema, value), "{lines}: {schema}");
    }
}

#[tokio::test]
async fn what_is_closed_takes_what_stands_beside_it() {
    let both = json!({"body": {"name": "n", "b": "x"}});
    for (lines, takes_it, refuses_it) in [
        (
            "{ type: object, additionalProperties: false, properties: { name: {} }, \
             oneOf: [{ properties: { b: {} }, required: [b] }] }",
            &both,
            Some(json!({"body": {"name": "n"}})),
        ),
        (
            "{ type: object, additionalProperties: false, \
             anyOf: [{ $ref: '#/components/schemas/Named' }, \
             { $ref: '#/components/schemas/Closed' }] }",
            &json!({"body": {"b": "x"}}),
            None,
        ),
        (
            "{ type: object, properties: { name: {} }, \
             oneOf: [{ $ref: '#/components/schemas/Closed' }] }",
            &both,
            Some(json!({"body": {"name": "n"}})),
        ),
        (
            "{ additionalProperties: false, allOf: [{ $ref: '#/components/schemas/Named' }, \
             { properties: { b: {} } }] }",
            &json!({"name": "n", "b": "x"}),
            Some(json!({"c": 1})),
        ),
        (
            "{ allOf: [{ $ref: '#/components/schemas/Closed' }, { properties: { c: {} } }] }",
            &json!({"b": "x", "c": 1}),
            Some(json!({"b": "x", "d": 1})),
        ),
        // What only chooses among members that are named stays closed.
        (
            "{ type: object, additionalProperties: false, properties: { a: {}, b: {} }, \
             oneOf: [{ required: [a] }, { required: [b] }] }",
            &json!({"body": {"a": 1}}),
            Some(json!({"body": {"a": 1, "c": 1}})),
        ),
        (
            "{ oneOf: [{ $ref: '#/components/schemas/Closed' }] }",
            &json!({"body": {"b": "x"}}),
            Some(json!({"body": {"b": "x", "c": 1}})),
        ),
    ] {
        let schema = of_body(lines).await;
        assert!(takes(&schema, takes_it), "{lines}: {schema}");
        if let Some(refused) = refuses_it {
            assert!(!takes(&schema, &refused), "{lines}: {schema}");
        }
    }
}

#[tokio::test]
async fn members_that_nobody_names_are_sent_where_they_may_be() {
    let body = |kind: &str, rest: &str| {
        format!(
            "requestBody: {{ required: true, content: {{ {kind}: {{ schema: {{ type: object, \
             properties: {{ name: {{}}, 'a.b': {{}} }}, {rest} }} }} }} }}"
        )
    };
    let json = "application/json";
    let form = "application/x-www-form-urlencoded";
    let open = "additionalProperties: true";
    for (kind, rest, arguments, expected) in [
        (json, open, json!({"name": "n", "tasks.max": 5}), r#"{"name":"n","tasks.max":5}"#),
        (json, "additionalProperties: {}", json!({"x": null}), r#"{"x":null}"#),
        (json, open, json!({"a_b": 1, "a.b": 2}), r#"{"a.b":1}"#),
        (json, open, json!({"a.b": 2}), r#"{"a.b":2}"#),
        (form, open, json!({"name": "n", "x y": [1, 2]}), "name=n&x%20y=1&x%20y=2"),
        (json, "allOf: [{ additionalProperties: true }]", json!({"x": 1}), r#"{"x":1}"#),
    ] {
        let seen = sent("put", "/cfg", &body(kind, rest), arguments.clone()).await;
        assert_eq!(seen.text(), expected, "{kind} {rest} {arguments}");
    }
    let seen = sent("put", "/c", &body("multipart/form-data", open), json!({"x": "1"})).await;
    assert!(seen.text().contains("form-data; name=\"x\"\r\n\r\n1\r\n"), "{}", seen.text());
    let optional = body(json, open).replace("required: true", "required: false");
    assert_eq!(sent("put", "/c", &optional, json!({"x": 1})).await.text(), r#"{"x":1}"#);
    assert_eq!(sent("put", "/c", &optional, json!({})).await.text(), "");
    // What a parameter is called is none of the body's.
    let both = format!("parameters: [{{ name: q, in: query }}]\n{}", body(json, open));
    let seen = sent("put", "/c", &both, json!({"q": 1, "x": 2})).await;
    assert_eq!((&*seen.target, seen.text()), ("/v1/c?q=1", r#"{"x":2}"#));
}

#[test]
fn an_operation_that_is_a_reference_is_the_one_it_leads_to() {
    let document = with_paths(
        "  /a: { get: { $ref: '#/components/x/Op' }, post: { $ref: '#/components/x/No' } }
  /b: { put: { $ref: '#/components/x/Text' } }
components:
  x:
    Text: words
    Op: { operationId: list, parameters: [{ name: q, in: query, required: true }] }",
    );
    let (names, warnings) = made(&document, KEYS);
    assert_eq!(names, ["api_list"]);
    for expected in [
        "POST /a: it is left out: `$ref: #/components/x/No` leads nowhere",
        "PUT /b: it is left out: it is no mapping",
    ] {
        assert!(warnings.iter().any(|warning| warning == expected), "{warnings:?}");
    }
}

#[tokio::test]
async fn a_name_of_another_script_is_written_in_letters_and_told() {
    let document = with_paths(
        "  /größe/{наём}:
    get:
      operationId: größeÄndern
      summary: Changes it.
      parameters:
        - { name: 取得, in: query, description: What to get., schema: { type: string } }
        - { name: '!?', in: query, schema: { type: string } }
        - { name: '??', in: query, schema: { type: string } }
        - { name: plain.name, in: query, schema: { type: string, description: Own words. } }
  /b: { get: { operationId: '???' } }",
    );
    let served = desk(&document, KEYS).serve();
    let listed = ask(&served, "tools/list", json!({})).await;
    let tool = &listed["tools"][0];
    assert_eq!(tool["name"], "api_grosseAndern");
    assert_eq!(tool["description"], "`größeÄndern`: Changes it.");
    let found = tool["inputSchema"]["properties"].as_object().expect("arguments");
    for (name, expected) in [
        ("naiom", "`наём`"),
        ("QuDe", "`取得`: What to get."),
        ("value", "`!?`"),
        ("value_query", "`??`"),
        ("plain_name", "Own words."),
    ] {
        let words = found.get(name).map(|argument| &argument["description"]);
        assert_eq!(words, Some(&json!(expected)), "{name}: {found:?}");
    }
    assert_eq!(listed["tools"][1]["name"], "api_get_b");
    let lines = "parameters: [{ name: 取得, in: query }]";
    assert_eq!(
        sent("get", "/x", lines, json!({"QuDe": 1})).await.target,
        "/v1/x?%E5%8F%96%E5%BE%97=1"
    );
}
