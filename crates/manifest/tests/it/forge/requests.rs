//! `type: http`: what servers are asked, and what becomes of their answers.

use super::{done, failed, listed, of_documents, of_parser, tools};
use crate::fixture::failure;
use crate::origin::{Origin, Reply};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};

#[tokio::test]
async fn without_params_callers_give_query_and_body() {
    let (server, origin) = of_parser(|seen| match &*seen.method {
        "GET" => Reply::json(json!({"name": "fox"})).with("x-more", "y"),
        _ => Reply::text("stored").status_is(201).with("set-cookie", "secret=1"),
    })
    .await;
    let found = done(&server, "look", json!({"query": {"id": "a b", "n": "1"}})).await;
    assert_eq!((&found["status"], &found["body"]), (&json!(200), &json!({"name": "fox"})));
    assert_eq!(found["headers"]["x-more"], "y");
    let stored = done(&server, "store", json!({"body": {"a": [1, null]}})).await;
    assert_eq!((&stored["status"], &stored["body"]), (&json!(201), &json!("stored")));
    assert_eq!(stored["headers"].get("set-cookie"), None);
    let seen = origin.seen();
    assert_eq!(seen[0].target, "/items?id=a%20b&n=1");
    assert_eq!(seen[0].header("authorization"), Some("Bearer a-long-token"));
    assert_eq!(seen[0].header("accept"), Some("application/json"));
    assert_eq!(seen[1].header("x-api-key"), Some("a-long-key"));
    assert_eq!(seen[1].text(), r#"{"a":[1,null]}"#);
    let input = listed(&server, "look").await["inputSchema"].take();
    assert_eq!(input["properties"].as_object().expect("an object").len(), 1, "{input}");
    let tool = listed(&server, "look").await;
    assert_eq!(tool["annotations"]["readOnlyHint"], true);
    assert_eq!(tool["outputSchema"]["required"], json!(["status", "body", "headers"]));
}

#[tokio::test]
async fn a_failing_status_is_an_error_with_the_whole_answer_but_no_secret() {
    let (server, _origin) = of_parser(|seen| {
        let said = format!("who is {}?", seen.header("authorization").unwrap_or_default());
        Reply::json(json!({"error": said})).status_is(404)
    })
    .await;
    let answer = failed(&server, "look", json!({})).await;
    assert_eq!(answer["status"], 404);
    assert_eq!(answer["body"], json!({"error": "who is …?"}));
}

#[tokio::test]
async fn a_status_below_400_is_no_error() {
    for status in [204, 304] {
        let (server, _origin) = of_parser(move |_| Reply::status(status)).await;
        assert_eq!(done(&server, "look", json!({})).await["status"], status);
    }
}

#[tokio::test]
async fn a_body_that_is_no_json_is_a_text() {
    let origin = Origin::serve(|_| Reply::text("ok")).await;
    let (url, head) = (origin.url("/"), "type: http, method: POST, params: { a: string }");
    let server = tools(&format!(
        "  - {{ name: text, {head}, endpoint: '{url}', body: 'a={{{{a}}}}' }}
  - {{ name: whole, {head}, endpoint: '{url}', body: '{{{{a}}}}' }}
"
    ))
    .serve();
    done(&server, "text", json!({"a": "x y"})).await;
    done(&server, "whole", json!({"a": "x y"})).await;
    let seen = origin.seen();
    assert_eq!((seen[0].text(), seen[1].text()), ("a=x y", "\"x y\""));
    assert_eq!(seen[0].header("content-type"), Some("text/plain; charset=utf-8"));
}

#[tokio::test]
async fn a_body_is_json_text_base64_or_nothing() {
    for (kind, body, expected) in [
        ("application/json", "[1]", json!([1])),
        ("application/json", "[1", json!("[1")),
        ("text/html", "<p>", json!("<p>")),
        ("text/plain", "{}", json!("{}")),
        ("image/png", "\u{0}\u{1}", json!("AAE=")),
        ("text/plain", "", Value::Null),
    ] {
        let (server, _origin) =
            of_parser(move |_| Reply::status(200).with("content-type", kind).body(body)).await;
        assert_eq!(done(&server, "look", json!({})).await["body"], expected, "{kind} {body}");
    }
    let deep = "[".repeat(125) + &"]".repeat(125);
    let body = deep.clone();
    let (server, _origin) = of_parser(move |_| Reply::json(&body)).await;
    assert_eq!(done(&server, "look", json!({})).await["body"], json!(deep));
}

#[tokio::test]
async fn params_fill_address_query_headers_and_body() {
    let (server, origin) = of_documents(|_| Reply::json(json!({}))).await;
    let arguments = json!({
        "owner": "a/b", "repo": "c d", "labels": ["x", "y&z"], "title": "\"quoted\"",
    });
    done(&server, "issue", arguments).await;
    let seen = origin.only();
    assert_eq!(seen.target, "/repos/a%2Fb/c%20d/issues?page=1&labels=x&labels=y%26z&state=open");
    assert_eq!((seen.header("x-trace"), seen.header("x-owner")), (None, Some("a/b")));
    let body: Value = serde_json::from_str(seen.text()).expect("JSON");
    let expected = json!({"title": "\"quoted\"", "labels": ["x", "y&z"], "fixed": {"a": 1}});
    assert_eq!(body, expected);
    let why = failure(&server, "issue", json!({"owner": "a", "repo": "..", "title": "t"})).await;
    assert!(why.contains("`..`"), "{why}");
}

#[tokio::test]
async fn variables_of_the_environment_are_read_and_a_template_of_json_is_escaped() {
    let (server, origin) = of_documents(|_| Reply::json(json!({}))).await;
    done(&server, "ask", json!({"prompt": "say \"hi\"\nand {{ go }}"})).await;
    let seen = origin.only();
    let package = env!("CARGO_PKG_NAME");
    assert_eq!(seen.header("authorization"), Some(&*format!("Bearer {package}")));
    assert_eq!((seen.header("x-package"), seen.header("x-also")), (Some(package), Some(package)));
    let body: Value = serde_json::from_str(seen.text()).expect("JSON");
    assert_eq!(body["messages"][0]["content"], "say \"hi\"\nand {{ go }}");
    let manifest = server.desk.manifest();
    assert!(manifest.variables().contains(&"CARGO_PKG_NAME".to_owned()));
}

#[tokio::test]
async fn a_request_that_may_be_made_twice_is() {
    let count = AtomicUsize::new(0);
    let (server, origin) = of_documents(move |_| match count.fetch_add(1, Ordering::Relaxed) {
        0 | 1 => Reply::status(503),
        _ => Reply::text("at last"),
    })
    .await;
    assert_eq!(done(&server, "flaky", json!({})).await["body"], "at last");
    assert_eq!(origin.seen().len(), 3);
}

#[tokio::test]
async fn a_request_that_may_not_is_made_once() {
    let (server, origin) = of_documents(|_| Reply::status(503)).await;
    let arguments = json!({"owner": "a", "repo": "b", "title": "c"});
    assert_eq!(failed(&server, "issue", arguments).await["status"], 503);
    assert_eq!(origin.seen().len(), 1);
}

#[tokio::test]
async fn a_breaker_for_all_tools_rests() {
    let (server, origin) = of_documents(|_| Reply::status(500)).await;
    for _ in 0..4 {
        assert_eq!(failed(&server, "ask", json!({"prompt": "x"})).await["status"], 500);
    }
    let why = failure(&server, "ask", json!({"prompt": "x"})).await;
    assert_eq!((origin.seen().len(), why.contains("500")), (4, false), "{why}");
}

#[tokio::test]
async fn a_file_reaches_the_servers_that_it_names_and_no_other_private_one() {
    let there = Origin::serve(|_| Reply::text("there")).await;
    let to = there.url("/").replace("127.0.0.1", "127.0.0.2");
    let here = Origin::serve(move |_| Reply::redirect(302, to.clone())).await;
    let server = tools(&format!(
        "  - {{ type: http, name: t, endpoint: '{}', method: GET }}",
        here.url("/")
    ))
    .serve();
    let why = failure(&server, "t", json!({})).await;
    assert!(why.contains("127.0.0.2"), "{why}");
    assert_eq!((here.seen().len(), there.connections()), (1, 0));
}

#[tokio::test]
async fn a_host_may_be_a_parameter() {
    let origin = Origin::serve(|_| Reply::text("ok")).await;
    let lines = "  - { type: http, name: t, endpoint: '{{url}}/x', method: GET, params: { url: \
                 string } }";
    let server = tools(lines).serve();
    let why = failure(&server, "t", json!({"url": origin.url("")})).await;
    assert!(why.contains("127.0.0.1"), "a private address of a caller is refused: {why}");
    assert_eq!(origin.connections(), 0);
}

#[tokio::test]
async fn secrets_that_callers_give_are_headers() {
    let origin = Origin::serve(|_| Reply::text("ok")).await;
    let url = origin.url("/");
    let tool = |name: &str, auth: &str| {
        format!(
            "  - {{ type: http, name: {name}, endpoint: '{url}', method: GET, auth: {{ {auth} }}, \
             params: {{ token: string }} }}\n"
        )
    };
    let lines = tool("a", "type: bearer, token: '{{token}}'")
        + &tool("b", "type: api_key, key: '{{token}}'");
    let server = tools(&lines).serve();
    done(&server, "a", json!({"token": "one"})).await;
    done(&server, "b", json!({"token": "two"})).await;
    let seen = origin.seen();
    assert_eq!(seen[0].header("authorization"), Some("Bearer one"));
    assert_eq!(seen[1].header("x-api-key"), Some("two"));
}

#[tokio::test]
async fn a_placeholder_where_a_value_stands_is_that_value() {
    let origin = Origin::serve(|_| Reply::text("ok")).await;
    let body = r#"{"id": {{id}}, "name": "{{name}}", "all": [{{id}},{{list}}], "q": "\"{{name}}"}"#;
    let server = tools(&format!(
        "  - {{ type: http, name: t, endpoint: '{}', method: POST, body_template: '{body}', \
         params: {{ id: {{ type: any }}, name: string, list: {{ type: array }} }} }}",
        origin.url("/")
    ))
    .serve();
    let id = "1, \"admin\": true";
    let name = "\", \"admin\": \"";
    done(&server, "t", json!({"id": id, "name": name, "list": [1]})).await;
    done(&server, "t", json!({"id": 7, "name": "a", "list": []})).await;
    let seen = origin.seen();
    let sent = |at: usize| serde_json::from_str::<Value>(seen[at].text()).expect("JSON");
    let quoted = format!("\"{name}");
    assert_eq!(sent(0), json!({"id": id, "name": name, "all": [id, [1]], "q": quoted}));
    assert_eq!(sent(1), json!({"id": 7, "name": "a", "all": [7, []], "q": "\"a"}));
    assert_eq!(seen[0].header("content-type"), Some("application/json"));
}

#[tokio::test]
async fn no_value_becomes_another_field_of_a_form() {
    let origin = Origin::serve(|_| Reply::text("ok")).await;
    let server = tools(&format!(
        "  - {{ type: http, name: t, endpoint: '{}', method: POST, headers: {{ Content-Type: \
         'application/x-www-form-urlencoded; charset=utf-8' }}, body: \
         'user={{{{u}}}}&role=a+guest&user={{{{n}}}}-x' }}",
        origin.url("/")
    ))
    .serve();
    done(&server, "t", json!({"u": "a&role=admin", "n": "b+c"})).await;
    let server = tools(&format!(
        "  - {{ type: http, name: t, endpoint: '{}', method: POST, headers: {{ Content-Type: \
         application/x-www-form-urlencoded }}, body: {{ user: '{{{{u}}}}', page: 1 }} }}",
        origin.url("/")
    ))
    .serve();
    done(&server, "t", json!({"u": "a&role=admin"})).await;
    let seen = origin.seen();
    assert_eq!(seen[0].text(), "user=a%26role%3Dadmin&role=a%20guest&user=b%2Bc-x");
    assert_eq!(seen[1].text(), "user=a%26role%3Dadmin&page=1");
    let kind = "application/x-www-form-urlencoded; charset=utf-8";
    assert_eq!(seen[0].header("content-type"), Some(kind));
}
