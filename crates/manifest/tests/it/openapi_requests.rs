//! What requests of operations say of themselves: the kinds of their parts, what they accept, what
//! is escaped in them, and how long they are.

use crate::openapi::{sent, target};
use serde_json::{Value, json};

/// The heads and contents of the parts of a body.
async fn parts(content: &str, arguments: Value) -> Vec<(String, String)> {
    let lines = format!(
        "requestBody: {{ required: true, content: {{ multipart/form-data: {{ {content} }} }} }}"
    );
    let seen = sent("post", "/up", &lines, arguments).await;
    let kind = seen.header("content-type").expect("a kind").to_owned();
    let boundary = format!("--{}", kind.split("boundary=").nth(1).expect("a boundary"));
    let text = String::from_utf8_lossy(&seen.body).into_owned();
    let mut found = Vec::new();
    for part in text.split(&boundary).filter(|part| !part.is_empty() && *part != "--\r\n") {
        let (head, content) = part.trim_start().split_once("\r\n\r\n").expect("a head");
        let head = head.replace("content-disposition: form-data; ", "").replace("\r\n", " | ");
        found.push((head, content.trim_end_matches("\r\n").to_owned()));
    }
    found
}

fn plain() -> String {
    "name=\"v\"".to_owned()
}

fn typed(kind: &str) -> String {
    format!("name=\"v\" | content-type: {kind}")
}

fn file(called: &str, kind: &str) -> String {
    format!("name=\"v\"; filename=\"{called}\" | content-type: {kind}")
}

const JSON: &str = "application/json";
const BYTES: &str = "application/octet-stream";

#[tokio::test]
async fn a_part_is_of_the_kind_that_the_document_says_or_its_type_tells() {
    let xml = "application/xml";
    let csv = "text/csv; charset=utf-8";
    let list = "type: array, items: { type: object }";
    let binary = "type: string, format: binary";
    let jpeg = "type: string, contentMediaType: image/jpeg";
    let nullable = "allOf: [{ type: string, format: binary, nullable: true }]";
    for (schema, encoding, value, head, content) in [
        ("type: string", "", json!("a"), plain(), "a"),
        ("type: integer", "", json!(7), plain(), "7"),
        ("type: object", "", json!({"k": "x"}), typed(JSON), r#"{"k":"x"}"#),
        (list, "", json!([{"k": 1}]), typed(JSON), r#"{"k":1}"#),
        ("type: array, items: { type: string }", "", json!(["a"]), plain(), "a"),
        ("type: string", JSON, json!("a"), typed(JSON), r#""a""#),
        ("type: boolean", "a/b+json", json!(true), typed("a/b+json"), "true"),
        ("type: object", xml, json!({"k": 1}), typed(xml), r#"{"k":1}"#),
        ("type: string", csv, json!("a,b"), typed(csv), "a,b"),
        (binary, "", json!("YQ=="), file("v", BYTES), "a"),
        (binary, "image/png, image/gif", json!("YQ=="), file("v.png", "image/png"), "a"),
        (binary, "image/*", json!("YQ=="), file("v", BYTES), "a"),
        (binary, JSON, json!("e30="), file("v.json", JSON), "{}"),
        (jpeg, "", json!("YQ=="), file("v.jpg", "image/jpeg"), "a"),
        (nullable, "", json!("YQ=="), file("v", BYTES), "a"),
        ("type: string, format: byte", "", json!("YQ=="), plain(), "YQ=="),
    ] {
        let encoding = match encoding {
            "" => String::new(),
            kind => format!(", encoding: {{ v: {{ contentType: '{kind}' }} }}"),
        };
        let media =
            format!("schema: {{ type: object, properties: {{ v: {{ {schema} }} }} }}{encoding}");
        let found = parts(&media, json!({ "v": value })).await;
        assert_eq!(found, [(head, content.to_owned())], "{schema} {encoding}");
    }
}

#[tokio::test]
async fn a_file_is_called_as_the_caller_says_and_ends_no_line() {
    let one = "schema: { type: object, properties: { v: { type: string, format: binary } } }";
    let arguments = json!({"v": "YQ==", "v_filename": "a\"b\r\nx: y.txt"});
    let found = parts(one, arguments).await;
    assert_eq!(found[0].0, file("a%22b%0D%0Ax: y.txt", BYTES));
}

#[tokio::test]
async fn what_is_accepted_is_what_the_operation_produces() {
    for (responses, expected) in [
        ("'204': { description: d }", "*/*"),
        ("'200': { content: { application/json: {} } }", "application/json, */*;q=0.5"),
        ("'200': { content: { text/csv: {} } }", "text/csv, */*;q=0.5"),
        ("'200': { content: { image/*: {} } }", "image/*, */*;q=0.5"),
        ("'200': { content: { '*/*': {} } }", "*/*"),
        (
            "'200': { content: { application/pdf: {}, text/xml: {}, application/json: {} } }",
            "application/json, text/xml;q=0.9, application/pdf;q=0.9, */*;q=0.5",
        ),
        ("'2XX': { content: { application/hal+json: {} } }", "application/hal+json, */*;q=0.5"),
        ("default: { content: { text/plain: {} } }", "text/plain, */*;q=0.5"),
        (
            "'200': { content: { text/csv: {} } }, default: { content: { text/html: {} } }",
            "text/csv, */*;q=0.5",
        ),
        ("'200': { content: { \"a/b\\r\\nx: y\": {} } }", "*/*"),
    ] {
        let lines = format!("responses: {{ {responses} }}");
        let seen = sent("get", "/x", &lines, json!({})).await;
        assert_eq!(seen.header("accept"), Some(expected), "{responses}");
    }
}

#[tokio::test]
async fn what_may_be_reserved_is_not_escaped() {
    for (keys, value, expected) in [
        ("", json!("a/b:c"), "q=a%2Fb%3Ac"),
        (", allowReserved: false", json!("a/b"), "q=a%2Fb"),
        (", allowReserved: true", json!("a/b:c?d@e,f;g!$'()*+="), "q=a/b:c?d@e,f;g!$'()*+="),
        (", allowReserved: true", json!("a%20b c%"), "q=a%20b%20c%25"),
        (", allowReserved: true", json!("a&b=c#d[e]\u{e9}"), "q=a%26b=c%23d%5Be%5D%C3%A9"),
        (", allowReserved: true, explode: false", json!(["a/b", "c"]), "q=a/b,c"),
        (", allowReserved: true", json!({"k/": "v/"}), "k%2F=v/"),
        (", allowReserved: true, style: deepObject", json!({"k": "v/"}), "q%5Bk%5D=v/"),
    ] {
        let parameter = format!("- {{ name: q, in: query, schema: {{}}{keys} }}");
        let found = target(&parameter, "/x", json!({ "q": value })).await;
        assert_eq!(found, format!("/v1/x?{expected}"), "{keys}");
    }
}

#[tokio::test]
async fn a_field_of_a_form_is_written_as_its_encoding_says() {
    for (encoding, value, expected) in [
        ("allowReserved: true", json!("a/b&c"), "q=a/b%26c"),
        ("allowReserved: false", json!("a/b"), "q=a%2Fb"),
        ("contentType: application/json", json!("a"), "q=%22a%22"),
        ("contentType: text/plain", json!("a"), "q=a"),
        ("style: form, explode: false", json!(["a", "b"]), "q=a,b"),
    ] {
        let lines = format!(
            "requestBody: {{ required: true, content: {{ application/x-www-form-urlencoded: {{ \
             schema: {{ type: object, properties: {{ q: {{}} }} }}, encoding: {{ q: {{ {encoding} \
             }} }} }} }} }}"
        );
        let seen = sent("post", "/x", &lines, json!({ "q": value })).await;
        assert_eq!(seen.text(), expected, "{encoding}");
    }
}

#[tokio::test]
async fn a_body_that_is_a_text_is_sent_as_it_is() {
    let form = "application/x-www-form-urlencoded";
    for (kind, schema, value, expected) in [
        (form, "type: string", json!("a=1&b=2"), "a=1&b=2"),
        ("text/plain", "type: string, enum: [on, 'off']", json!("off"), "off"),
        ("text/plain", "type: integer", json!(7), "7"),
        ("application/sql", "type: string", json!("SELECT 1"), "SELECT 1"),
        ("application/vnd.x.script", "type: string", json!("x"), "x"),
        ("application/vnd.x.script", "type: string, format: binary", json!("YQ=="), "a"),
    ] {
        let lines = format!(
            "requestBody: {{ required: true, content: {{ {kind}: {{ schema: {{ {schema} }} }} }} }}"
        );
        let seen = sent("post", "/x", &lines, json!({ "body": value })).await;
        assert_eq!((seen.text(), seen.header("content-type")), (expected, Some(kind)), "{schema}");
    }
}

#[tokio::test]
async fn an_operation_without_a_body_says_that_it_has_none() {
    for (method, expected) in
        [("post", Some("0")), ("put", Some("0")), ("patch", Some("0")), ("delete", None)]
    {
        let seen = sent(method, "/items/5:suspend", "", json!({})).await;
        assert_eq!(seen.header("content-length"), expected, "{method}");
    }
}
