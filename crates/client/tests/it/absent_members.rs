//! Answers of servers that write `null`, or `""`, for what they have not: read as if it were
//! absent.

use crate::scripted_http::{Scripted, json, with_headers};
use haft_client::{Client, ClientError, Options, Target, connect};
use haft_proto::version::Era;
use serde_json::value::RawValue;
use std::time::Duration;

const INITIALIZED: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":
    {"name":"s","version":"1"}}"#;

fn answer(id: u32, rest: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},{rest}}}"#)
}

/// A server that greets so, and answers the next request so.
async fn greeted(hello: &str, rest: &str) -> Result<Client, ClientError> {
    let hello = json(&answer(1, &format!(r#""result":{hello}"#)));
    let turns = [hello, with_headers(202, "", ""), json(&answer(2, rest))];
    let server = Scripted::new(turns).await;
    let (era, timeout) = (Some(Era::Legacy), Duration::from_secs(60));
    let options = Options { era, timeout, ..Options::default() };
    connect(&Target::Url(server.url.clone()), &options).await
}

#[tokio::test]
async fn hands_are_shaken_with_a_server_that_says_little() {
    let version = r#""protocolVersion":"2025-11-25""#;
    for more in [
        "",
        r#","capabilities":null"#,
        r#","serverInfo":null"#,
        r#","serverInfo":{}"#,
        r#","serverInfo":{"name":null,"version":null,"title":null,"icons":null}"#,
        r#","instructions":null,"_meta":null"#,
    ] {
        let client = greeted(&format!("{{{version}{more}}}"), "\"result\":{}").await;
        let client = client.unwrap_or_else(|error| panic!("{more}: {error}"));
        assert_eq!(client.handshake().server.name, "", "{more}");
        assert_eq!(client.handshake().instructions, None, "{more}");
    }
    let described = r#"{"supportedVersions":["2026-07-28"],"capabilities":null,"instructions":null,
        "_meta":null,"ttlMs":null}"#;
    let named = described
        .replace(r#""_meta":null"#, r#""_meta":{"io.modelcontextprotocol/serverInfo":null}"#);
    for described in [described, &named] {
        let turns = [json(&answer(1, &format!(r#""result":{described}"#)))];
        let server = Scripted::new(turns).await;
        let (era, timeout) = (Some(Era::Modern), Duration::from_secs(60));
        let options = Options { era, timeout, ..Options::default() };
        let client = connect(&Target::Url(server.url.clone()), &options).await.expect(described);
        assert_eq!(client.handshake().server.name, "");
    }
}

#[tokio::test]
async fn results_of_calls_have_what_is_not_null() {
    let text = r#"[{"type":"text","text":"x","annotations":null,"_meta":null}]"#;
    for (result, count) in [
        (format!(r#"{{"content":{text},"isError":null,"structuredContent":null}}"#), 1),
        (format!(r#"{{"content":{text},"isError":"","_meta":null,"resultType":null}}"#), 1),
        (r#"{"content":null}"#.to_owned(), 0),
        (r#"{"structuredContent":{"a":null}}"#.to_owned(), 0),
    ] {
        let client = greeted(INITIALIZED, &format!(r#""result":{result},"error":null"#)).await;
        let client = client.expect("a connection");
        let arguments = RawValue::from_string("{}".to_owned()).expect("JSON");
        let called = client.call_tool("tool", &arguments, &mut |_| {}).await;
        let called = called.unwrap_or_else(|error| panic!("{result}: {error}"));
        assert_eq!((called.content.len(), called.is_error), (count, false), "{result}");
        let structured = called.structured.as_ref().map(|raw| raw.get());
        assert_ne!(structured, Some("null"), "{result}");
    }
}

#[tokio::test]
async fn lists_and_errors_have_what_is_not_null() {
    let resources = r#""result":{"resources":[{"uri":"x:1","name":null,"title":null,"size":""},
        {"uri":"x:2","name":"b","size":null,"mimeType":null}],"nextCursor":null,"_meta":null}"#;
    let client = greeted(INITIALIZED, resources).await.expect("a connection");
    let list = client.list_resources().await.expect("a list");
    assert_eq!((list.entries.len(), &*list.dropped), (2, &[][..]));
    assert_eq!((list.entries[0].size, list.meta.is_none()), (None, true));
    let prompts = r#""result":{"prompts":[{"name":"p","arguments":null},{"name":"q","arguments":
        [{"name":"a","required":null,"description":null},{"name":"b","required":""}]}]}"#;
    let client = greeted(INITIALIZED, prompts).await.expect("a connection");
    let list = client.list_prompts().await.expect("a list");
    assert_eq!((list.entries.len(), &*list.dropped), (2, &[][..]));
    let error = r#""result":null,"error":{"code":-32000,"message":null,"data":null}"#;
    let client = greeted(INITIALIZED, error).await.expect("a connection");
    let error = client.list_resources().await.expect_err("it is refused");
    assert!(
        matches!(&error, ClientError::Refused { error, .. } if error.code == -32000),
        "{error}"
    );
}
