//! Requests that come compressed, and answers that are compressed for clients that take it.

use crate::everywhere::with_body;
use crate::fixture::Fixture;
use crate::pipe_client::DEADLINE;
use crate::raw_client::{modern, modern_body, modern_with, post};
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use haft_proto::limits::Limits;
use haft_transport::http::Options;
use serde_json::{Value, json};
use std::io::{Read, Write};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The head of what comes back, in lower case, and the body as it is.
async fn ask(fixture: &Fixture, request: &[u8]) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(fixture.address).await.expect("the server listens");
    let end = request.windows(2).position(|two| two == b"\r\n").expect("a line");
    let (first, rest) = request.split_at(end);
    let request = [first, b"\r\nconnection: close", rest].concat();
    stream.write_all(&request).await.expect("the server reads");
    let mut answer = Vec::new();
    let read = timeout(DEADLINE, stream.read_to_end(&mut answer)).await;
    read.expect("in time").expect("the server answers");
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    let body = answer.split_off(end + 4);
    (String::from_utf8(answer).expect("ASCII").to_lowercase(), body)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::default());
    out.write_all(bytes).and_then(|()| out.finish()).expect("memory takes it")
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut out = ZlibEncoder::new(Vec::new(), Compression::default());
    out.write_all(bytes).and_then(|()| out.finish()).expect("memory takes it")
}

fn bare(bytes: &[u8]) -> Vec<u8> {
    let mut out = DeflateEncoder::new(Vec::new(), Compression::default());
    out.write_all(bytes).and_then(|()| out.finish()).expect("memory takes it")
}

#[tokio::test]
async fn a_compressed_request_is_read_or_refused_with_what_is_read() {
    let limits = Limits { message_bytes: 100_000, ..Limits::default() };
    let fixture = Fixture::with(limits, Options::default()).await;
    let message = modern_body("tools/call", &json!({"name": "hello"}));
    let message = message.as_bytes();
    let bomb = [message, &b" ".repeat(100_000)].concat();
    let packed = gzip(message);
    let cut = packed[..packed.len() - 9].to_vec();
    for (what, coding, body, status, told) in [
        ("none", "identity", message.to_vec(), 200, "hello"),
        ("gzip", "gzip", gzip(message), 200, "hello"),
        ("its old name", "X-GZip", gzip(message), 200, "hello"),
        ("zlib", "deflate", zlib(message), 200, "hello"),
        ("bare deflate", "deflate", bare(message), 200, "hello"),
        ("brotli", "br", message.to_vec(), 415, "`gzip` or `deflate`"),
        ("zstd", "zstd", message.to_vec(), 415, "`gzip` or `deflate`"),
        ("twice", "gzip, gzip", gzip(&gzip(message)), 415, "`gzip` or `deflate`"),
        ("not gzip", "gzip", message.to_vec(), 400, "not compressed as"),
        ("cut short", "gzip", cut, 400, "not compressed as"),
        ("a bomb", "gzip", gzip(&bomb), 413, "100000 bytes"),
        ("nothing", "gzip", Vec::new(), 400, ""),
    ] {
        let head = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "hello"),
            ("content-encoding", coding),
        ];
        let (head, answer) = ask(&fixture, &with_body(&post(&head, ""), &body)).await;
        let answer = String::from_utf8(answer).expect("UTF-8");
        assert!(head.starts_with(&format!("http/1.1 {status} ")), "{what}: {head}{answer}");
        assert!(answer.contains(told), "{what}: {answer}");
        assert_eq!(
            head.contains("accept-encoding: gzip, deflate"),
            status == 415,
            "{what}: {head}"
        );
    }
}

/// The message in an answer, compressed or not, and whether it was.
fn message((head, body): &(String, Vec<u8>)) -> (Value, bool) {
    let is_packed = head.contains("\r\ncontent-encoding: gzip\r\n");
    assert_eq!(is_packed, head.contains("\r\nvary: accept-encoding\r\n"), "{head}");
    assert!(head.contains("\r\ncontent-type: application/json\r\n"), "{head}");
    assert!(head.contains(&format!("\r\ncontent-length: {}\r\n", body.len())), "{head}");
    let mut text = Vec::new();
    match is_packed {
        true => {
            // Clients there are that read one member and no more.
            let mut one = flate2::read::GzDecoder::new(&body[..]);
            one.read_to_end(&mut text).expect("it is gzip");
        }
        false => text.extend_from_slice(body),
    }
    (serde_json::from_slice(&text).expect("JSON"), is_packed)
}

#[tokio::test]
async fn long_answers_are_compressed_for_who_takes_it_and_short_ones_never() {
    let fixture = Fixture::start().await;
    let list = |more: &[(&str, &str)]| modern_with(more, "tools/list", "{}");
    let call = |more: &[(&str, &str)], name| {
        modern_with(more, "tools/call", &json!({"name": name}).to_string())
    };
    let legacy = {
        let hello = post(&[], &crate::pipe_client::initialize("2025-06-18"));
        let (head, _) = ask(&fixture, &hello).await;
        let id = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        let id = id.expect("a session").to_owned();
        let body = r#"{"jsonrpc":"2.0","id":"l","method":"tools/list"}"#;
        post(&[("mcp-session-id", &id), ("accept-encoding", "gzip")], body)
    };
    let gzip = ("accept-encoding", "gzip, deflate, br");
    for (what, request, is_packed) in [
        ("a list", list(&[gzip]), true),
        ("the same again", list(&[gzip]), true),
        ("a legacy list", legacy, true),
        ("a list for who takes none", list(&[]), false),
        ("a list for who takes another", list(&[("accept-encoding", "br, gzip;q=0")]), false),
        ("a long answer", call(&[gzip], "large"), true),
        ("a long answer for who takes none", call(&[], "large"), false),
        ("a short answer", call(&[gzip], "hello"), false),
        ("an error", call(&[gzip], "nothing"), false),
    ] {
        let answer = ask(&fixture, &request).await;
        let (message, was_packed) = message(&answer);
        assert_eq!(was_packed, is_packed, "{what}: {}", answer.0);
        let id = if what == "a legacy list" { json!("l") } else { json!(1) };
        assert_eq!(message["id"], id, "{what}");
        if what.contains("list") {
            assert_eq!(message["result"]["tools"][0]["name"], "hello", "{what}");
        }
    }
    // A stream of events is none of these, however long it is.
    let events = [gzip, ("accept", "text/event-stream")];
    for request in [list(&events), call(&events, "large")] {
        let (head, _) = ask(&fixture, &request).await;
        assert!(head.contains("text/event-stream") && !head.contains("content-encoding"), "{head}");
    }
    let (head, _) = ask(&fixture, &modern("server/discover", "{}")).await;
    assert!(!head.contains("content-encoding"), "{head}");
}
