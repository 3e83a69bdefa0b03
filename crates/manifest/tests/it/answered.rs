//! What becomes of a real server's answer: results by their kind, failures in the server's words,
//! and servers that never end.

use crate::asked::tool;
use crate::fixture::{Begun, Desk, begin, call, failure, text};
use crate::origin::{Origin, Reply};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The result of one answer, with more keys of the tool.
async fn result(reply: fn() -> Reply, keys: &str) -> Value {
    let origin = Origin::serve(move |_| reply()).await;
    call(&tool(&origin, "get: BASE/data", keys), "ask", json!({})).await
}

async fn why(reply: fn() -> Reply, keys: &str) -> String {
    let result = result(reply, keys).await;
    assert_eq!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().expect("a text").to_owned()
}

fn typed(kind: &str, body: impl Into<Vec<u8>>) -> Reply {
    Reply::status(200).with("content-type", kind).body(body)
}

#[tokio::test]
async fn an_answer_becomes_content_of_its_kind() {
    let json = result(|| Reply::json(r#"{"a": 1.10}"#), "").await;
    assert_eq!(json["structuredContent"], json!({"a": 1.1}));
    assert_eq!(json["content"], json!([{"type": "text", "text": "{\"a\": 1.10}"}]));
    let json = result(|| typed("application/problem+json; charset=utf-8", "[1]"), "").await;
    assert_eq!(json["structuredContent"], json!([1]));
    for kind in ["text/html", "application/xml", "image/svg+xml", "application/x-yaml", ""] {
        let origin = Origin::serve(move |_| typed(kind, "<p>é")).await;
        assert_eq!(text(&tool(&origin, "get: BASE/", ""), "ask", json!({})).await, "<p>é");
    }
    let picture = result(|| typed("image/png; x=y", [0, 1]), "").await;
    let expected = json!([{"type": "image", "data": "AAE=", "mimeType": "image/png"}]);
    assert_eq!(picture["content"], expected);
    let sound = result(|| typed("audio/ogg", [0, 1]), "").await;
    assert_eq!(sound["content"][0]["type"], "audio");
    let other = result(|| typed("application/pdf", [0, 0xff]), "").await;
    let resource = &other["content"][0]["resource"];
    assert_eq!(
        (&resource["blob"], &resource["mimeType"]),
        (&json!("AP8="), &json!("application/pdf"))
    );
    assert!(resource["uri"].as_str().is_some_and(|uri| uri.ends_with("/data")), "{resource}");
    let other = result(|| typed("", [0xff]), "").await;
    assert_eq!(other["content"][0]["resource"]["mimeType"], "application/octet-stream");
    let empty = result(|| Reply::status(204), "").await;
    assert_eq!(empty["content"][0]["text"], "`127.0.0.1` answered 204 No Content without a body.");
}

#[tokio::test]
async fn output_says_otherwise() {
    let json = result(|| Reply::text(" {\"a\": {\"b/c\": [1, \"x\"]}}"), "output: json").await;
    assert_eq!(json["structuredContent"]["a"]["b/c"], json!([1, "x"]));
    let keys = "output: { pick: /a/b~1c/1 }";
    let picked = result(|| Reply::json(r#"{"a": {"b/c": [1, "x"]}}"#), keys).await;
    assert_eq!(
        (&picked["structuredContent"], &picked["content"][0]["text"]),
        (&json!("x"), &json!("x"))
    );
    let missing = why(|| Reply::json(r#"{"a": 1}"#), keys).await;
    assert_eq!(missing, "`127.0.0.1` answered JSON without /a/b~1c/1.");
    let no_json = why(|| Reply::text("<p>"), "output: json").await;
    assert!(no_json.starts_with("`127.0.0.1` did not answer one JSON value: "), "{no_json}");
    let lines = result(|| Reply::text("a\nb\n"), "output: lines").await;
    assert_eq!(lines["structuredContent"], json!({"lines": ["a", "b"]}));
    let text = result(|| Reply::json("{}"), "output: text").await;
    assert_eq!((text.get("structuredContent"), &text["content"][0]["text"]), (None, &json!("{}")));
    let binary = result(|| Reply::text("ab"), "output: binary").await;
    assert_eq!(binary["content"][0]["resource"]["blob"], "YWI=");
    let keys = "output_schema: { type: object, required: [a] }";
    assert_eq!(result(|| Reply::json(r#"{"a": 1}"#), keys).await["structuredContent"]["a"], 1);
    let misfit = why(|| Reply::json("{}"), keys).await;
    assert!(misfit.contains("does not fit its own output schema"), "{misfit}");
}

#[tokio::test]
async fn json_is_repaired_where_it_can_be_and_else_it_is_said_what_is_wrong() {
    let json = "application/json";
    let latin = "application/json; charset=iso-8859-1";
    for (kind, body, expected) in [
        (json, &b"\xef\xbb\xbf{\"a\": 1}"[..], Ok(json!({"a": 1}))),
        (json, br#"{"a": "x\ud83d"}"#, Ok(json!({"a": "x\u{fffd}"}))),
        (json, br#"{"\ude00": "\ud83d\ude00"}"#, Ok(json!({"\u{fffd}": "\u{1f600}"}))),
        (latin, b"{\"a\": \"caf\xe9\"}", Ok(json!({"a": "café"}))),
        (json, br#"{"a": NaN}"#, Err("`NaN` is no value of JSON")),
        (json, b"[Infinity]", Err("`Infinity` is no value of JSON")),
        (json, b"{\"a\": \"caf\xe9\"}", Err("it is not UTF-8 at byte 11")),
        (json, b"{\"a\": \"b\x01\"}", Err("control character")),
        (json, b"{\"a\": ", Err("EOF while parsing a value")),
    ] {
        for keys in ["", "output: json"] {
            let origin = Origin::serve(move |_| typed(kind, body)).await;
            let result = call(&tool(&origin, "get: BASE/data", keys), "ask", json!({})).await;
            let (said, row) = (&result["content"][0]["text"], String::from_utf8_lossy(body));
            match &expected {
                Ok(value) => assert_eq!(result["structuredContent"], *value, "{row} {keys}"),
                Err(why) => {
                    assert_eq!(result["isError"], true, "{row} {keys}: {result}");
                    let why = format!("`127.0.0.1` did not answer one JSON value: {why}");
                    assert!(said.as_str().is_some_and(|said| said.starts_with(&why)), "{said}");
                }
            }
        }
    }
    // A word is what a model can read, whatever it is called.
    let word = result(|| Reply::json("OK"), "").await;
    assert_eq!((&word["content"][0]["text"], word.get("isError")), (&json!("OK"), None));
    let report = result(|| Reply::json(r#"{"a": "\ud83d"}"#), "output: report").await;
    assert_eq!(report["structuredContent"]["body"], json!({"a": "\u{fffd}"}));
}

#[tokio::test]
async fn a_program_s_json_is_picked_from_too() {
    let yaml = "  - name: run\n    command: [echo, '{\"a\": {\"b\": [1, 2]}}']\n    \
                output: { pick: /a/b }\n";
    let server = Desk::with_tools(yaml).serve();
    let result = call(&server, "run", json!({})).await;
    assert_eq!(
        (&result["structuredContent"], &result["content"][0]["text"]),
        (&json!([1, 2]), &json!("[1, 2]"))
    );
    let server = Desk::with_tools(&yaml.replace("/a/b", "/a/c")).serve();
    assert_eq!(failure(&server, "run", json!({})).await, "`echo` printed JSON without /a/c.");
}

#[tokio::test]
async fn a_failure_is_told_in_the_server_s_words() {
    for (reply, expected) in [
        (
            (|| {
                Reply::status(404)
                    .with("content-type", "application/problem+json")
                    .body(r#"{"title": "Not Found", "detail": "no city of this name"}"#)
            }) as fn() -> Reply,
            "`127.0.0.1` answered 404 Not Found: no city of this name",
        ),
        (|| Reply::status(500), "`127.0.0.1` answered 500 Internal Server Error"),
        (
            || Reply::status(429).with("retry-after", "7").body("slow down"),
            "`127.0.0.1` answered 429 Too Many Requests: slow down (try again in 7 seconds)",
        ),
        (|| Reply::status(304), "`127.0.0.1` answered 304 Not Modified"),
    ] {
        assert_eq!(why(reply, "").await, expected);
    }
    let long = why(|| Reply::status(500).body("x".repeat(1_000_000)), "").await;
    assert!((2000..2200).contains(&long.len()), "{}", long.len());
    let origin = Origin::serve(|_| Reply::redirect(302, "/there?secret")).await;
    let server = tool(&origin, "get: BASE/\nredirects: 0", "");
    let leads = failure(&server, "ask", json!({})).await;
    assert_eq!(leads, format!("`127.0.0.1` answered 302 Found (it leads to {})", origin.url("")));
}

#[tokio::test]
async fn a_status_is_no_failure_if_it_is_named() {
    let origin = Origin::serve(|_| Reply::status(404).body("none")).await;
    let served = |status: &str| tool(&origin, &format!("get: BASE/\nok_status: {status}"), "");
    assert_eq!(text(&served("[2xx, 404]"), "ask", json!({})).await, "none");
    assert_eq!(text(&served("[4xx]"), "ask", json!({})).await, "none");
    assert!(
        failure(&served("[2xx, 410]"), "ask", json!({})).await.ends_with("404 Not Found: none")
    );
}

#[tokio::test]
async fn a_request_that_only_reads_is_tried_again() {
    let asked = AtomicUsize::new(0);
    let origin = Origin::serve(move |_| match asked.fetch_add(1, Ordering::Relaxed) {
        0 => Reply::status(503),
        _ => Reply::text("in"),
    })
    .await;
    let keys = "annotations: { readOnly: true }\nretry: { attempts: 2, delay: 1ms, on: [5xx] }";
    assert_eq!(text(&tool(&origin, "get: BASE/", keys), "ask", json!({})).await, "in");
    assert_eq!(origin.seen().len(), 2);
}

#[tokio::test]
async fn a_secret_that_the_server_repeats_is_not_passed_on() {
    let echo = |header: &'static str| {
        Origin::serve(move |seen| {
            let said = seen.header(header).unwrap_or(&seen.target).to_owned();
            Reply::status(401).body(format!("bad key {said}"))
        })
    };
    for (auth, header) in [
        ("bearer: hunter2hunter2", "authorization"),
        ("header: { name: x-key, value: hunter2hunter2 }", "x-key"),
        ("query: { name: key, value: hunter2hunter2 }", "none"),
    ] {
        let origin = echo(header).await;
        let server = tool(&origin, &format!("get: BASE/\nauth: {{ {auth} }}"), "");
        let why = failure(&server, "ask", json!({})).await;
        assert!(why.contains('…') && !why.contains("hunter2"), "{why}");
    }
}

#[tokio::test]
async fn a_secret_is_not_passed_on_in_any_form_that_it_was_sent_in() {
    for (auth, repeated) in [
        ("basic: { user: ada, password: hunter2hunter2 }", "YWRhOmh1bnRlcjJodW50ZXIy"),
        ("query: { name: key, value: 'hunter2/hunter2' }", "hunter2"),
        (
            "oauth: { token_url: BASE/token, client_id: me, client_secret: hunter2hunter2 }",
            "a-token-of-its-own",
        ),
    ] {
        let origin = Origin::serve(|seen| match &*seen.target {
            "/token" => Reply::json(r#"{"access_token":"a-token-of-its-own"}"#),
            _ => {
                let said = seen.header("authorization").unwrap_or(&seen.target);
                Reply::status(401).body(format!("bad key {said}"))
            }
        })
        .await;
        let server = tool(&origin, &format!("get: BASE/\nauth: {{ {auth} }}"), "");
        let why = failure(&server, "ask", json!({})).await;
        assert!(why.contains('…') && !why.contains(repeated), "{why}");
    }
}

#[tokio::test]
async fn a_secret_that_is_cut_in_two_is_not_passed_on() {
    let origin = Origin::serve(|seen| {
        let said = seen.header("x-key").unwrap_or_default();
        Reply::status(401).body(format!("{}{said}", "x".repeat(2040)))
    })
    .await;
    let auth = "auth: { header: { name: x-key, value: hunter2hunter2 } }";
    let why = failure(&tool(&origin, &format!("get: BASE/\n{auth}"), ""), "ask", json!({})).await;
    assert!(why.contains("xxx…") && !why.contains("hunter"), "{why}");
}

#[tokio::test]
async fn the_head_of_an_answer_is_an_answer() {
    let origin = Origin::serve(|_| Reply::status(200).with("x-size", "5")).await;
    let result = call(&tool(&origin, "head: BASE/", ""), "ask", json!({})).await;
    assert_eq!(result["structuredContent"]["status"], 200);
    assert_eq!(result["structuredContent"]["headers"]["x-size"], "5");
    let said = result["content"][0]["text"].as_str().expect("a text");
    assert!(said.starts_with("200 OK\n") && said.contains("x-size: 5"), "{said}");
}

#[tokio::test]
async fn a_head_tells_no_cookies_and_no_secrets() {
    let origin = Origin::serve(|seen| {
        let said = seen.header("x-key").unwrap_or_default().to_owned();
        Reply::status(200).with("set-cookie", "session=s3").with("x-echo", &said)
    })
    .await;
    let request = "head: BASE/\nauth: { header: { name: x-key, value: hunter2hunter2 } }";
    let result = call(&tool(&origin, request, ""), "ask", json!({})).await.to_string();
    assert!(result.contains("x-echo") && !result.contains("hunter2"), "{result}");
    assert!(!result.contains("set-cookie") && !result.contains("s3"), "{result}");
}

#[tokio::test]
async fn a_secret_that_a_good_answer_repeats_is_not_passed_on() {
    let auth = "auth: { header: { name: x-key, value: 'hunter2/\"hunter2' } }";
    for (kind, body) in [
        ("text/plain", "you are SECRET"),
        ("application/json", r#"{"you": "SECRET", "n": [1, {"SECRET": true}]}"#),
        ("text/plain; charset=iso-8859-1", "SECRET"),
    ] {
        let escaped = kind.ends_with("json");
        let origin = Origin::serve(move |seen| {
            let said = seen.header("x-key").unwrap_or_default().to_owned();
            let said = if escaped { said.replace('"', "\\\"").replace('/', "\\/") } else { said };
            typed(kind, body.replace("SECRET", &said))
        })
        .await;
        for keys in ["", "output: lines", "output: text", "output: report"] {
            let server = tool(&origin, &format!("get: BASE/\n{auth}"), keys);
            let result = call(&server, "ask", json!({})).await;
            assert_eq!(result["isError"], Value::Null, "{keys}: {result}");
            let result = result.to_string();
            assert!(result.contains('…') && !result.contains("hunter2"), "{keys}: {result}");
        }
    }
}

#[tokio::test]
async fn json_without_its_secrets_is_still_json() {
    let auth = "auth: { query: { name: key, value: '1234567' } }";
    let body = r#"{"a": 1234567, "b": "x1234567", "c": [71234567.5, 12]}"#;
    let origin = Origin::serve(move |_| Reply::json(body)).await;
    let server = tool(&origin, &format!("get: BASE/\n{auth}"), "output: json");
    let result = call(&server, "ask", json!({})).await;
    let expected = json!({"a": "…", "b": "x…", "c": ["…", 12]});
    assert_eq!(result["structuredContent"], expected, "{result}");
}

#[tokio::test]
async fn an_answer_without_end_is_cut() {
    for reply in [Reply::endless as fn() -> Reply, || Reply::text("x".repeat(70_000))] {
        let why = why(reply, "output: { limit: 64KiB }").await;
        let expected = "The request failed: the answer of `127.0.0.1` is longer than 65536 bytes. \
                        Ask for less at once.";
        assert_eq!(why, expected);
    }
    let whole = result(|| Reply::text("x".repeat(65_536)), "output: { limit: 64KiB }").await;
    assert_eq!(whole["content"][0]["text"].as_str().map(str::len), Some(65_536));
    let endless_failure = why(|| Reply::endless().status_is(500), "").await;
    assert!(endless_failure.starts_with("`127.0.0.1` answered 500 "), "{endless_failure}");
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up() {
    for reply in [Reply::never as fn() -> Reply, Reply::silent] {
        let why = why(reply, "timeout: 300ms").await;
        assert_eq!(why, "The tool `ask` was stopped: it took longer than 300ms.");
    }
}

#[tokio::test]
async fn a_dropped_call_takes_its_request_back() {
    let origin = Origin::serve(|_| Reply::never()).await;
    let server = tool(&origin, "get: BASE/", "timeout: 1h");
    let Begun::Later(mut later) = begin(&server, "ask", &json!({})) else { panic!("it runs") };
    while origin.seen().is_empty() {
        tokio::select! {
            _ = &mut later => panic!("it does not end by itself"),
            () = tokio::task::yield_now() => {}
        }
    }
    drop(later);
    tokio::time::timeout(Duration::from_secs(20), origin.gone()).await.expect("it is hung up");
}

#[tokio::test]
async fn a_redirect_leads_to_no_private_place() {
    let inner = Origin::serve(|_| Reply::text("secret")).await;
    let there = format!("http://127.0.0.2:{}/", inner.address.port());
    let origin = Origin::serve(move |_| Reply::redirect(302, &*there)).await;
    let why = failure(&tool(&origin, "get: BASE/", ""), "ask", json!({})).await;
    let expected = "The request failed: `127.0.0.2` is no address of the internet; \
                    `allow_private: [127.0.0.2]` beside its URL lets it in.";
    assert_eq!(why, expected);
    assert_eq!(inner.connections(), 0);
    let origin = Origin::serve(|_| Reply::redirect(302, "/")).await;
    let why = failure(&tool(&origin, "get: BASE/\nredirects: 3", ""), "ask", json!({})).await;
    assert_eq!(why, "The request failed: `127.0.0.1` redirects more than 3 times.");
}
