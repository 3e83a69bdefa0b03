//! What clients write for what they leave out, in every method and on every wire.

use crate::everywhere::everybody;
use crate::fixture::Fixture;
use crate::raw_client::{RawClient, modern};
use serde_json::Value;

fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#)
}

fn assert_is_result(answer: &Value, method: &str, shown: &str) {
    let result = &answer["result"];
    assert!(result.is_object(), "{shown}: {answer}");
    match method {
        "tools/list" => assert_eq!(result["tools"][0]["name"], "hello", "{shown}"),
        "tools/call" => assert_eq!(result["content"][0]["text"], "hello", "{shown}"),
        _ => {}
    }
}

#[tokio::test]
async fn null_and_nothing_are_absent_on_every_wire() {
    for (wire, mut client) in everybody("2025-06-18").await {
        for (method, params) in [
            ("ping", "null"),
            ("ping", r#""""#),
            ("tools/list", "null"),
            ("tools/list", r#""""#),
            ("tools/list", r#"{"cursor":null}"#),
            ("tools/list", r#"{"cursor":""}"#),
            ("tools/list", r#"{"_meta":null}"#),
            ("tools/list", r#"{"_meta":""}"#),
            ("tools/list", r#"{"_meta":{"progressToken":null}}"#),
            ("tools/call", r#"{"name":"hello","arguments":null}"#),
            ("tools/call", r#"{"name":"hello","arguments":""}"#),
            ("tools/call", r#"{"name":"hello","arguments":{},"_meta":null}"#),
            ("tools/call", r#"{"name":"hello","_meta":{"progressToken":null},"task":null}"#),
        ] {
            let answer = client.ask(request(method, params).as_bytes()).await;
            assert_is_result(&answer, method, &format!("{wire}: {method} {params}"));
        }
    }
}

#[tokio::test]
async fn so_they_are_in_the_modern_era() {
    let fixture = Fixture::start().await;
    let mut client = RawClient::connect(fixture.address).await;
    for (method, params) in [
        ("tools/list", r#"{"cursor":null}"#),
        ("tools/list", r#"{"cursor":""}"#),
        ("tools/call", r#"{"name":"hello","arguments":null}"#),
        ("tools/call", r#"{"name":"hello","arguments":""}"#),
        ("tools/call", r#"{"name":"hello","inputResponses":null,"requestState":null}"#),
        ("tools/call", r#"{"name":"hello","_meta":{"progressToken":null}}"#),
        ("tools/call", r#"{"name":"hello","_meta":{"io.modelcontextprotocol/logLevel":null}}"#),
    ] {
        let answer = client.ask(&modern(method, params)).await.json();
        assert_is_result(&answer, method, &format!("{method} {params}"));
    }
}
