//! Servers that compress what they answer, as JSON and as events: they are asked to, and what they
//! send is read within the limit of a message, piece by piece.

use crate::scripted_http::{Request, read};
use compression_codecs::core::Level;
use compression_codecs::core::util::{PartialBuffer, WriteBuffer};
use compression_codecs::{
    BrotliEncoder, DeflateEncoder, EncodeV2, GzipEncoder, ZlibEncoder, ZstdEncoder,
};
use haft_client::{Client, ClientError, Notice, Options, Target, connect};
use haft_proto::version::Era;
use serde_json::value::RawValue;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25",
    "capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#;
const LIMIT: usize = 1 << 20;

fn encoder(coding: &str) -> Box<dyn EncodeV2 + Send> {
    match coding {
        "gzip" => Box::new(GzipEncoder::new(Level::Default.into())),
        "deflate" => Box::new(ZlibEncoder::new(Level::Default.into())),
        "raw deflate" => Box::new(DeflateEncoder::new(Level::Default.into())),
        "br" => Box::new(BrotliEncoder::new(Default::default())),
        "zstd" => Box::new(ZstdEncoder::new(3)),
        other => unreachable!("no coding is called {other}"),
    }
}

/// Each part, so that it can be read before the next one comes.
fn encoded(coding: &str, parts: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut encoder = encoder(coding);
    let mut room = vec![0; 4 * LIMIT];
    let mut all = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let mut out = WriteBuffer::new_initialized(&mut room);
        let mut input = PartialBuffer::new(*part);
        while !input.unwritten().is_empty() {
            encoder.encode(&mut input, &mut out).expect("it can be encoded");
        }
        while !encoder.flush(&mut out).expect("it can be flushed") {}
        if index + 1 == parts.len() {
            while !encoder.finish(&mut out).expect("it can be finished") {}
        }
        all.push(out.written().to_vec());
    }
    all
}

/// A server that answers the handshake, and then this: each part once the one before was heard of.
async fn connected(
    coding: &str,
    kind: &'static str,
    parts: Vec<Vec<u8>>,
) -> (Client, mpsc::Sender<()>, mpsc::Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let coding = coding.strip_prefix("raw ").unwrap_or(coding).to_owned();
    let (go_on, mut heard) = mpsc::channel(8);
    let (seen, requests) = mpsc::channel(8);
    tokio::spawn(async move {
        let hello = encoded("gzip", &[INITIALIZED.as_bytes()]);
        for (status, coding, kind, parts) in [
            ("200 OK", "gzip", "application/json", hello),
            ("202 Accepted", "gzip", "application/json", vec![Vec::new()]),
            ("200 OK", &*coding, kind, parts),
        ] {
            let (mut stream, _) = listener.accept().await.expect("a client");
            seen.send(read(&mut stream).await.expect("a request")).await.expect("a test");
            let length: usize = parts.iter().map(Vec::len).sum();
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-encoding: {coding}\r\n\
                 content-length: {length}\r\nconnection: close\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).await.expect("it is read");
            let last = parts.len() - 1;
            for (index, part) in parts.into_iter().enumerate() {
                // Whoever has read enough is gone.
                _ = stream.write_all(&part).await;
                if index < last {
                    heard.recv().await;
                }
            }
        }
    });
    let mut options =
        Options { era: Some(Era::Legacy), timeout: Duration::from_secs(60), ..Options::default() };
    options.limits.message_bytes = LIMIT;
    let client = connect(&Target::Url(url), &options).await.expect("a connection");
    (client, go_on, requests)
}

async fn call(client: &Client, go_on: &mpsc::Sender<()>) -> Result<String, ClientError> {
    let arguments = RawValue::from_string("{}".to_owned()).expect("JSON");
    let mut listener = |notice| {
        if let Notice::Progress { .. } = notice {
            _ = go_on.try_send(());
        }
    };
    let result = client.call_tool("tool", &arguments, &mut listener).await?;
    Ok(result.raw.get().to_owned())
}

fn answer(text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":2,"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#
    )
}

const CODINGS: [&str; 5] = ["gzip", "deflate", "raw deflate", "br", "zstd"];

#[tokio::test]
async fn compressed_answers_are_asked_for_and_read() {
    for coding in CODINGS {
        // The second is longer than what is passed on in pieces.
        for text in ["é 日本".to_owned(), "long ".repeat(60_000)] {
            let parts = encoded(coding, &[answer(&text).as_bytes()]);
            let (client, go_on, mut requests) = connected(coding, "application/json", parts).await;
            let result = call(&client, &go_on).await.expect(coding);
            assert!(result.contains(&text), "{coding}: {result:.200}");
            let asked = requests.recv().await.expect("a request");
            assert_eq!(asked.header("accept-encoding"), Some("gzip, br, zstd, deflate"));
        }
    }
}

#[tokio::test]
async fn an_event_of_a_compressed_stream_is_heard_before_the_next_one_comes() {
    let params = r#"{"progressToken":2,"progress":1}"#;
    let progress =
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#);
    let events = [format!("data: {progress}\n\n"), format!("data: {}\n\n", answer("done"))];
    let parts: Vec<&[u8]> = events.iter().map(String::as_bytes).collect();
    for coding in CODINGS {
        let (client, go_on, _requests) =
            connected(coding, "text/event-stream", encoded(coding, &parts)).await;
        let result = call(&client, &go_on).await.expect(coding);
        assert!(result.contains("done"), "{coding}: {result}");
    }
}

#[tokio::test]
async fn a_compressed_answer_that_is_too_long_cut_or_false_ends_its_call() {
    let (plain, long) = (answer("x"), answer(&"a".repeat(LIMIT)));
    for coding in CODINGS {
        let parts = encoded(coding, &[long.as_bytes()]);
        let (client, go_on, _requests) = connected(coding, "application/json", parts).await;
        let error = call(&client, &go_on).await.expect_err(coding);
        assert!(
            matches!(error, ClientError::MessageTooLarge { limit: LIMIT }),
            "{coding}: {error}"
        );
        let mut cut = encoded(coding, &[plain.as_bytes()]).concat();
        cut.truncate(cut.len() - 4);
        let (client, go_on, _requests) = connected(coding, "application/json", vec![cut]).await;
        let error = call(&client, &go_on).await.expect_err(coding);
        assert!(matches!(error, ClientError::ClosedMidAnswer { .. }), "{coding}: {error}");
    }
    for (coding, kind, reason) in [
        ("gzip", "application/json", "no gzip"),
        ("zstd", "text/event-stream", "no zstd"),
        ("compress", "application/json", "`compress`"),
        ("compress", "text/event-stream", "`compress`"),
        ("gzip, gzip, gzip, gzip", "application/json", "more than 2 codings"),
    ] {
        let body = vec![plain.clone().into_bytes()];
        let (client, go_on, _requests) = connected(coding, kind, body).await;
        let error = call(&client, &go_on).await.expect_err(coding);
        let is_right =
            matches!(&error, ClientError::NotJsonRpc { reason: r, .. } if r.contains(reason));
        assert!(is_right, "{coding}: {error}");
    }
}
