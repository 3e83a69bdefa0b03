//! Answers that come compressed: to tools that ask a server, to operations of a document, and the
//! document itself.

use crate::asked::tool;
use crate::fixture::{Desk, call, text};
use crate::openapi::serve;
use crate::origin::{Origin, Reply};
use compression_codecs::core::Level;
use compression_codecs::core::util::{PartialBuffer, WriteBuffer};
use compression_codecs::{BrotliEncoder, EncodeV2, GzipEncoder, ZlibEncoder, ZstdEncoder};
use serde_json::json;

const CODINGS: [&str; 4] = ["gzip", "deflate", "br", "zstd"];

/// A text in a coding.
fn encoded(coding: &str, text: &str) -> Vec<u8> {
    let mut encoder: Box<dyn EncodeV2> = match coding {
        "gzip" => Box::new(GzipEncoder::new(Level::Default.into())),
        "deflate" => Box::new(ZlibEncoder::new(Level::Default.into())),
        "br" => Box::new(BrotliEncoder::new(Default::default())),
        _ => Box::new(ZstdEncoder::new(3)),
    };
    let mut buffer = vec![0; text.len() + 65_536];
    let mut room = WriteBuffer::new_initialized(&mut buffer);
    let mut unread = PartialBuffer::new(text.as_bytes());
    while !unread.unwritten().is_empty() {
        encoder.encode(&mut unread, &mut room).expect("it is encoded");
    }
    assert!(encoder.finish(&mut room).expect("it is encoded"), "there is room");
    let written = room.written_len();
    buffer.truncate(written);
    buffer
}

fn reply(coding: &'static str, kind: &'static str, text: &str) -> Reply {
    let reply = Reply::status(200).with("content-type", kind).with("content-encoding", coding);
    reply.body(encoded(coding, text))
}

#[tokio::test]
async fn compressed_answers_are_asked_for_and_read() {
    for coding in CODINGS {
        let origin = Origin::serve(move |_| reply(coding, "application/json", r#"{"a": 1}"#)).await;
        let result = call(&tool(&origin, "get: BASE/x", ""), "ask", json!({})).await;
        assert_eq!(result["structuredContent"], json!({"a": 1}), "{coding}: {result}");
        let asked = origin.only();
        let accepted = asked.header("accept-encoding").unwrap_or_default();
        assert!(accepted.contains(coding), "{coding}: {accepted}");
    }
}

#[tokio::test]
async fn a_compressed_answer_is_bounded_by_what_it_was() {
    for coding in CODINGS {
        let large = "x".repeat(1_000_000);
        let origin = Origin::serve(move |_| reply(coding, "text/plain", &large)).await;
        let server = tool(&origin, "get: BASE/x", "output: { limit: 100KB }");
        let result = call(&server, "ask", json!({})).await;
        assert_eq!(result["isError"], true, "{coding}");
        let why = result["content"][0]["text"].as_str().expect("a text");
        assert!(why.contains("100000 bytes"), "{coding}: {why}");
    }
}

#[tokio::test]
async fn operations_and_documents_may_be_compressed() {
    for coding in CODINGS {
        let origin = Origin::serve(move |seen| match &*seen.target {
            "/api.json" => {
                let document = json!({
                    "openapi": "3.1.0",
                    "servers": [{"url": "/v2"}],
                    "paths": {"/pets": {"get": {"operationId": "list"}}}
                });
                reply(coding, "application/json", &document.to_string())
            }
            _ => reply(coding, "text/plain", "pets"),
        })
        .await;
        let yaml = format!(
            "server: {{ name: d }}\nupstreams:\n  p: {{ openapi: '{}', allow_private: true }}\n",
            origin.url("/api.json")
        );
        let desk = Desk::with(&yaml);
        let server = tokio::task::spawn_blocking(move || desk.serve()).await.expect("it ends");
        assert_eq!(text(&server, "p_list", json!({})).await, "pets", "{coding}");
        let document = "openapi: 3.0.0\npaths: { /x: { get: { operationId: ask } } }";
        assert_eq!(text(&serve(&origin, document, ""), "api_ask", json!({})).await, "pets");
    }
}
