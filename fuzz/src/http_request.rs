//! One connection's worth of any bytes against the HTTP wire: it ends, everything it answers is
//! HTTP with headers of ours and JSON bodies, and the next connection is served as if nothing had
//! been.

use haft_proto::limits::Limits;
use haft_server::{Server, Tool, handler};
use haft_transport::http::{Options, serve_stream};
use serde_json::Value;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex, split};
use tokio::time::{sleep, timeout};

/// Panics if an answer is not well-formed, or the server is harmed.
pub fn every_answer_is_well_formed(bytes: &[u8]) {
    // The clock stands still while anything is to do, and jumps to the next time limit after.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let answered = exchange(bytes).await;
        // What is not HTTP/1.1 from its first line is answered in HTTP/2 frames or not at all.
        if answered.starts_with(b"HTTP/1.1 ") {
            check(&answered);
        }
        let sound = exchange(SOUND).await;
        assert!(sound.starts_with(b"HTTP/1.1 200 OK\r\n"), "the next connection is served");
    });
}

const SOUND: &[u8] = b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
    mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/list\r\ncontent-length: 170\r\n\
    connection: close\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":\
    {\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\
    \"io.modelcontextprotocol/clientCapabilities\":{}}}}";

/// Sends bytes, closes, and returns all that came back.
async fn exchange(bytes: &[u8]) -> Vec<u8> {
    let (near, far) = duplex(64 * 1024);
    let (mut answers, mut requests) = split(near);
    let limits = Limits {
        message_bytes: 4096,
        header_timeout: Duration::from_millis(200),
        body_timeout: Duration::from_millis(200),
        ..Limits::default()
    };
    let service = Arc::clone(server());
    let address = "127.0.0.1:80".parse().expect("an address");
    let options = Options::default();
    let serving = serve_stream(far, address, service, &options, &limits);
    let asking = async {
        // The server may end first; what it said is still there to read.
        let _ = requests.write_all(bytes).await;
        // To go away at once would cancel what was asked. This long, nothing is left to wait for.
        sleep(Duration::from_secs(1)).await;
        let _ = requests.shutdown().await;
    };
    let hearing = async {
        let mut answered = Vec::new();
        let _ = answers.read_to_end(&mut answered).await;
        answered
    };
    let all = async { tokio::join!(serving, asking, hearing).2 };
    timeout(Duration::from_secs(60), all).await.expect("a connection ends")
}

fn server() -> &'static Arc<Server> {
    #[derive(serde::Deserialize)]
    struct Echo {
        text: String,
    }
    static SERVER: OnceLock<Arc<Server>> = OnceLock::new();
    SERVER.get_or_init(|| {
        let echo = Tool::new("echo", handler::function(|echo: Echo| echo.text)).input_schema(
            r#"{"type":"object","required":["text"],
                "properties":{"text":{"type":"string","x-mcp-header":"Text"}}}"#,
        );
        Arc::new(Server::builder("fuzz", "1").tool(echo).build().expect("the tool is right"))
    })
}

/// The headers that an answer may have.
const HEADERS: [&str; 11] = [
    "allow",
    "cache-control",
    "connection",
    "content-length",
    "content-type",
    "date",
    "mcp-session-id",
    "retry-after",
    "transfer-encoding",
    "vary",
    "x-accel-buffering",
];

/// Every answer in a row of them.
fn check(mut answered: &[u8]) {
    while !answered.is_empty() {
        let mut headers = [httparse::EMPTY_HEADER; 32];
        let mut response = httparse::Response::new(&mut headers);
        let head = match response.parse(answered).expect("an answer is HTTP") {
            httparse::Status::Complete(head) => head,
            httparse::Status::Partial => panic!("half an answer"),
        };
        let status = response.code.expect("a status");
        let mut length = 0;
        for header in response.headers.iter() {
            let name = header.name.to_ascii_lowercase();
            let is_ours = HEADERS.contains(&&*name) || name.starts_with("access-control-");
            assert!(is_ours, "a header from nowhere: {name}");
            assert_ne!(name, "transfer-encoding", "nothing here takes long enough for a stream");
            if name == "content-length" {
                length =
                    std::str::from_utf8(header.value).expect("ASCII").parse().expect("a length");
            }
        }
        let body = &answered[head..(head + length).min(answered.len())];
        // An answer to HEAD has the length of a body and none: what follows is the next answer.
        if body.starts_with(b"{") || body.starts_with(b"[") {
            serde_json::from_slice::<Value>(body).expect("a body is JSON");
        }
        assert!((100..=599).contains(&status));
        let next = head + if body.starts_with(b"HTTP/1.") { 0 } else { body.len() };
        answered = &answered[next..];
    }
}
