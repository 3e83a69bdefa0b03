//! What hostile or broken clients send, each with the exact answer, and with the next request
//! answered as if nothing had been.

use crate::fixture::Fixture;
use crate::raw_client::{RawClient, modern, modern_with, post};
use haft_proto::limits::Limits;
use haft_transport::http::Options;
use std::io::ErrorKind;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A request of `what` must be answered with this status, code and message.
async fn check(
    fixture: &Fixture,
    what: &str,
    request: &[u8],
    (status, code, message): (u16, i64, &str),
) {
    let mut client = RawClient::connect(fixture.address).await;
    let answer = client.ask(request).await;
    assert_eq!(answer.status, status, "{what}: {answer:?}");
    let error = &answer.json()["error"];
    assert_eq!(error["code"], code, "{what}: {answer:?}");
    assert_eq!(error["message"], message, "{what}");
    next_is_answered(fixture).await;
}

async fn next_is_answered(fixture: &Fixture) {
    let mut client = RawClient::connect(fixture.address).await;
    let answer = client.ask(&modern("tools/call", r#"{"name":"hello"}"#)).await;
    assert_eq!(answer.json()["result"]["content"][0]["text"], "hello");
}

/// Bodies that are no messages: each with its code and message, all with status 400.
pub(crate) const BROKEN: [(&str, i64, &str); 16] = [
    (r#"{"jsonrpc":"2.0","id":1"#, -32700, "Parse error: expected `,` or `}` at byte 23"),
    ("", -32700, "Parse error: the message is empty"),
    (" \r\n", -32700, "Parse error: the message is empty"),
    ("{}x", -32700, "Parse error: expected the end at byte 2"),
    ("7", -32600, "Invalid request: `message` must be an object"),
    ("[]", -32600, "Invalid request: the batch is empty"),
    (
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
        -32600,
        "Invalid request: `id` is there twice; send it once",
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"i\u0064":2,"method":"ping"}"#,
        -32600,
        "Invalid request: `id` is there twice; send it once",
    ),
    (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, WRONG_ID),
    (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600, WRONG_ID),
    (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, WRONG_ID),
    (r#"{"id":1,"method":"ping"}"#, -32600, "Invalid request: `jsonrpc` must be \"2.0\""),
    (r#"{"jsonrpc":"2.0","id":1}"#, -32600, "Invalid request: `method` is missing"),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#,
        -32600,
        "Invalid request: a message has either a method or a result or error, not both",
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#,
        -32600,
        "Invalid request: `params` must be an object",
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":1}}"#,
        -32600,
        "Invalid request: `params._meta` must be an object",
    ),
];

const WRONG_ID: &str = "Invalid request: `id` must be a string or an integer";

#[tokio::test]
async fn broken_messages_are_named_and_harm_nobody() {
    let fixture = Fixture::start().await;
    for (body, code, message) in BROKEN {
        check(&fixture, body, &post(&[], body), (400, code, message)).await;
    }
    let mut not_utf8 = post(&[], r#"{"jsonrpc":"2.0","id":1,"method":"??"}"#);
    let length = not_utf8.len();
    not_utf8[length - 4..length - 2].copy_from_slice(b"\xff\xfe");
    let answer = (400, -32700, "Parse error: not UTF-8 at byte 34");
    check(&fixture, "broken UTF-8", &not_utf8, answer).await;

    let deep = "[".repeat(10_000);
    let deep = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"a":{deep}"#);
    let answer = (400, -32700, "Parse error: arrays and objects nest deeper than 128");
    check(&fixture, "10,000 brackets", &post(&[], &deep), answer).await;

    let long = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"x"}}"#, "x".repeat(300));
    let answer = (400, -32600, "Invalid request: `id` is longer than 256 bytes");
    check(&fixture, "a long id", &post(&[], &long), answer).await;
}

#[tokio::test]
async fn a_request_of_http_1_1_names_one_host_and_may_end_its_path_with_a_slash() {
    let fixture = Fixture::start().await;
    let request = String::from_utf8(modern("tools/call", r#"{"name":"hello"}"#)).expect("ASCII");
    let host = request.lines().find(|line| line.starts_with("host:")).expect("it has a host");
    let host = format!("{host}\r\n");
    for (what, request, status) in [
        ("one host", request.clone(), 200),
        ("no host", request.replace(&host, ""), 400),
        ("two hosts", request.replace(&host, &host.repeat(2)), 400),
        ("a slash", request.replacen("/mcp", "/mcp/", 1), 200),
        ("two slashes", request.replacen("/mcp", "/mcp//", 1), 404),
        ("another path", request.replacen("/mcp", "/mcpx", 1), 404),
        ("a user", request.replace(&host, "host: localhost:1@evil.example\r\n"), 403),
    ] {
        let answer = RawClient::connect(fixture.address).await.ask(request.as_bytes()).await;
        assert_eq!(answer.status, status, "{what}: {answer:?}");
    }
}

#[tokio::test]
async fn unknown_methods_tools_and_cursors_are_named() {
    let fixture = Fixture::start().await;
    let method = (404, -32601, "Method not found: \"no/such\" (2026-07-28)");
    check(&fixture, "a method", &modern("no/such", "{}"), method).await;
    let tool = (200, -32602, "Unknown tool: \"ecco\"; did you mean \"echo\"?");
    check(&fixture, "a tool", &modern("tools/call", r#"{"name":"ecco"}"#), tool).await;
    let cursor =
        (200, -32602, "Invalid params: unknown `cursor`; list again from the start, without one");
    check(&fixture, "a cursor", &modern("tools/list", r#"{"cursor":" "}"#), cursor).await;
}

#[tokio::test]
async fn requests_that_are_wrong_as_http_are_turned_away() {
    let fixture = Fixture::start().await;
    let list = |name: &str, value: &str| modern_with(&[(name, value)], "tools/list", "{}");
    let host = "Forbidden: `Host` names another server; add the name to `hosts` if it is right";
    check(&fixture, "host", &list("host", "evil.example"), (403, -32600, host)).await;
    let origin =
        "Forbidden: pages of this `Origin` may not call; add it to `origins` if they should";
    check(&fixture, "origin", &list("origin", "https://evil.example"), (403, -32600, origin)).await;
    let form = "Unsupported media type: `Content-Type` must be `application/json`";
    check(&fixture, "form", &list("content-type", "text/plain"), (415, -32600, form)).await;
    let html = "Not acceptable: `Accept` must list `application/json` and `text/event-stream`";
    check(&fixture, "html", &list("accept", "text/html"), (406, -32600, html)).await;
    let put = b"PUT /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n";
    let verbs = "Method not allowed: send messages by POST; GET listens, DELETE ends a session";
    check(&fixture, "PUT", put, (405, -32600, verbs)).await;
    let elsewhere = b"POST /etc/passwd HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n";
    check(&fixture, "path", elsewhere, (404, -32600, "Not found: the endpoint is /mcp")).await;
    let announced = b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
        content-length: 1073741824\r\n\r\n";
    let too_large = "Invalid request: the message is larger than 4194304 bytes";
    check(&fixture, "an announced GiB", announced, (413, -32600, too_large)).await;
}

#[tokio::test]
async fn legacy_requests_need_a_session_that_is_known() {
    let fixture = Fixture::start().await;
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let missing = "Invalid request: send `initialize` first and then its `Mcp-Session-Id`, or name \
                   a version in `params._meta` as 2026-07-28 has it";
    check(&fixture, "none", &post(&[], ping), (400, -31002, missing)).await;
    check(&fixture, "batch", &post(&[], &format!("[{ping}]")), (400, -31002, missing)).await;
    let unknown = "Unknown session: it has ended or never was; send `initialize` again";
    let request = post(&[("mcp-session-id", "no-such")], ping);
    check(&fixture, "unknown", &request, (404, -31001, unknown)).await;
}

#[tokio::test]
async fn unknown_notifications_are_taken_in_silence() {
    let fixture = Fixture::start().await;
    let mut client = RawClient::connect(fixture.address).await;
    let note = r#"{"jsonrpc":"2.0","method":"notifications/no-such"}"#;
    let answer = client.ask(&post(&[("mcp-protocol-version", "2026-07-28")], note)).await;
    assert_eq!((answer.status, answer.body.as_str()), (202, ""));
    assert_eq!(client.ask(&modern("tools/list", "{}")).await.status, 200);
}

#[tokio::test]
async fn a_gib_that_is_sent_is_cut_off_at_the_limit() {
    let fixture = Fixture::start().await;
    let mut client = RawClient::connect(fixture.address).await;
    let head = String::from_utf8(post(&[], "")).expect("ASCII");
    let head = head.replace("content-length: 0", "transfer-encoding: chunked");
    client.send(head.as_bytes()).await;
    let chunk = [b"10000\r\n".as_slice(), &[b' '; 0x10000], b"\r\n"].concat();
    let mut sent = 0usize;
    while sent < 1 << 30 && client.stream.write_all(&chunk).await.is_ok() {
        sent += 0x10000;
        if client.stream.flush().await.is_err() {
            break;
        }
    }
    assert!(sent < 64 << 20, "the server stops reading long before: {sent}");
    next_is_answered(&fixture).await;
}

#[tokio::test]
async fn a_body_over_the_limit_is_told_so() {
    let limits = Limits { message_bytes: 1000, ..Limits::default() };
    let fixture = Fixture::with(limits, Options::default()).await;
    let mut client = RawClient::connect(fixture.address).await;
    let head = String::from_utf8(post(&[], "")).expect("ASCII");
    let chunked = head.replace("content-length: 0", "transfer-encoding: chunked");
    let body = format!("{chunked}7d0\r\n{}\r\n0\r\n\r\n", " ".repeat(2000));
    let answer = client.ask(body.as_bytes()).await;
    assert_eq!((answer.status, answer.json()["error"]["code"].as_i64()), (413, Some(-32600)));
    next_is_answered(&fixture).await;
}

#[tokio::test]
async fn bodies_together_take_bounded_memory() {
    let limits = Limits { bodies_bytes: 1000, ..Limits::default() };
    let fixture = Fixture::with(limits, Options::default()).await;
    let mut held = RawClient::connect(fixture.address).await;
    let half = post(&[("content-length", "1000")], &" ".repeat(600));
    let half = String::from_utf8(half).expect("ASCII").replace("content-length: 600\r\n", "");
    held.send(half.as_bytes()).await;
    // Held until it ends, so another one of that size has no room in the meantime.
    let refused = async {
        loop {
            let mut client = RawClient::connect(fixture.address).await;
            let answer = client.ask(&post(&[], &" ".repeat(600))).await;
            if answer.status == 503 {
                return answer;
            }
        }
    };
    let refused = tokio::time::timeout(Duration::from_secs(10), refused).await.expect("no room");
    assert_eq!(refused.header("retry-after"), Some("1"));
    drop(held);
    let answered = async {
        let mut client = RawClient::connect(fixture.address).await;
        while client.ask(&modern("tools/list", "{}")).await.status != 200 {}
    };
    tokio::time::timeout(Duration::from_secs(10), answered).await.expect("room again");
}

#[tokio::test]
async fn an_unknown_version_is_refused_whatever_the_message_is() {
    let fixture = Fixture::start().await;
    let mut client = RawClient::connect(fixture.address).await;
    let bogus = [("mcp-protocol-version", "bogus")];
    for body in [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
    ] {
        let answer = client.ask(&post(&bogus, body)).await;
        assert_eq!((answer.status, answer.json()["error"]["code"].as_i64()), (400, Some(-32022)));
    }
    next_is_answered(&fixture).await;
}

#[tokio::test]
async fn headers_over_the_limit_are_refused() {
    let fixture = Fixture::start().await;
    let mut client = RawClient::connect(fixture.address).await;
    let limits = Limits::default();
    let large = "x".repeat(limits.header_bytes);
    let refused = client.ask(&modern_with(&[("x-large", &large)], "tools/list", "{}")).await;
    assert_eq!(refused.status, 431);
    let message = "Headers too long: they may have 32768 bytes together";
    assert_eq!(refused.json()["error"]["message"], message);
    // As the limit is of all together.
    let (half, other) = large.split_at(large.len() / 2);
    let halves = modern_with(&[("x-half", half), ("x-other", other)], "tools/list", "{}");
    assert_eq!(client.ask(&halves).await.status, 431);
    let fits = "x".repeat(limits.header_bytes - 1024);
    let fitting = client.ask(&modern_with(&[("x-large", &fits)], "tools/list", "{}")).await;
    assert_eq!(fitting.status, 200);
    // Such a head is not even read to its end.
    let huge = "x".repeat(limits.read_bytes);
    let unread = client.ask(&modern_with(&[("x-large", &huge)], "tools/list", "{}")).await;
    assert_eq!(unread.status, 431);
    next_is_answered(&fixture).await;
}

#[tokio::test]
async fn clients_that_are_too_slow_are_let_go() {
    let soon = Duration::from_millis(500);
    let limits =
        Limits { header_timeout: soon, body_timeout: soon, connections: 5, ..Limits::default() };
    let fixture = Fixture::with(limits, Options::default()).await;
    let request = modern("tools/list", "{}");
    let mut slow_body = RawClient::connect(fixture.address).await;
    slow_body.send(&request[..request.len() - 5]).await;
    // Nothing, half a word, half of what HTTP/2 begins with, and half of a head.
    for beginning in [b"".as_slice(), b"P", b"PRI * HTTP/2.0\r\n", &request[..20]] {
        let mut slow_head = RawClient::connect(fixture.address).await;
        slow_head.send(beginning).await;
        let mut rest = Vec::new();
        let closed = slow_head.stream.read_to_end(&mut rest);
        let closed = tokio::time::timeout(Duration::from_secs(20), closed).await;
        closed.expect("the server closes").expect("and says no more");
    }
    let answer = slow_body.answer().await;
    assert_eq!((answer.status, answer.json()["error"]["code"].as_i64()), (408, Some(-31004)));
    next_is_answered(&fixture).await;
}

#[tokio::test]
async fn a_client_that_reads_nothing_holds_up_nobody_and_is_let_go() {
    let limits = Limits { write_stall: Duration::from_millis(100), ..Limits::default() };
    let fixture = Fixture::with(limits, Options::default()).await;
    let mut client = RawClient::connect(fixture.address).await;
    client.send(&modern("tools/call", r#"{"name":"large"}"#)).await;
    // A few bytes are read, then no more, while the others go on.
    let mut first = [0; 8];
    client.stream.read_exact(&mut first).await.expect("an answer begins");
    assert_eq!(&first, b"HTTP/1.1");
    next_is_answered(&fixture).await;
    let stalled = client.stream.get_ref();
    let closed = async {
        // A write is refused once the server has let go.
        loop {
            match stalled.try_write(b"x") {
                Err(error) if error.kind() != ErrorKind::WouldBlock => break,
                _ => tokio::task::yield_now().await,
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), closed).await.expect("it is let go");
    next_is_answered(&fixture).await;
}

#[tokio::test]
async fn a_client_that_reads_one_byte_a_second_holds_up_nobody() {
    let fixture = Fixture::start().await;
    let mut client = RawClient::connect(fixture.address).await;
    client.send(&modern("tools/call", r#"{"name":"large"}"#)).await;
    let mut second = tokio::time::interval(Duration::from_secs(1));
    for expected in b"HTT" {
        second.tick().await;
        assert_eq!(client.stream.get_mut().read_u8().await.expect("an answer"), *expected);
        next_is_answered(&fixture).await;
    }
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_and_are_then_served() {
    let limits = Limits { connections: 1, ..Limits::default() };
    let fixture = Fixture::with(limits, Options::default()).await;
    let mut first = RawClient::connect(fixture.address).await;
    assert_eq!(first.ask(&modern("tools/list", "{}")).await.status, 200);
    let mut second = RawClient::connect(fixture.address).await;
    second.send(&modern("tools/list", "{}")).await;
    let early = tokio::time::timeout(Duration::from_millis(100), second.answer()).await;
    assert!(early.is_err(), "the second waits for the first to end");
    drop(first);
    assert_eq!(second.answer().await.status, 200);
}
