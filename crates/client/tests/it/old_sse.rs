//! Servers of 2024-11-05, over HTTP+SSE, from the testkit: sound ones are found and used like any
//! other, faulty ones fail with an error that says what is wrong.

use crate::scripted_http::{Scripted, Turn, events, response};
use haft_client::{
    Answerer, Answering, Asker, Change, Client, ClientError, Declined, Interest, Notice, Offers,
    Options, Root, Target, connect,
};
use haft_proto::limits::Limits;
use haft_proto::version::Era;
use haft_testkit::script::Script;
use haft_testkit::sse;
use serde_json::value::RawValue;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Long enough for a loaded machine; only servers that answer are waited for like this.
const PATIENCE: Duration = Duration::from_secs(30);
/// For servers that do not.
const IMPATIENCE: Duration = Duration::from_millis(500);

fn options(timeout: Duration) -> Options {
    Options { timeout, ..Options::default() }
}

/// A server that follows these rules.
fn server(rules: &[&str]) -> Target {
    let script = Script::read(rules.iter().map(|rule| (*rule).to_owned())).expect("rules");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}{}", listener.local_addr().expect("an address"), sse::STREAM);
    std::thread::spawn(move || sse::serve(&listener, &Arc::new(script)));
    Target::Url(url)
}

async fn connected(rules: &[&str], options: &Options) -> Client {
    connect(&server(rules), options).await.expect("a connection")
}

async fn refused(rules: &[&str], timeout: Duration) -> ClientError {
    connect(&server(rules), &options(timeout)).await.expect_err("no connection")
}

async fn call(client: &Client) -> Result<String, ClientError> {
    let arguments = RawValue::from_string("{}".to_owned()).expect("JSON");
    let result = client.call_tool("try", &arguments, &mut |_| {}).await?;
    Ok(result.raw.get().to_owned())
}

#[tokio::test]
async fn a_server_of_2024_is_found_and_used_like_any_other() {
    for era in [None, Some(Era::Legacy)] {
        let client = connected(&[], &Options { era, ..options(PATIENCE) }).await;
        assert_eq!(client.handshake().server.name, "faulty");
        assert_eq!(client.list_tools().await.expect("a list").tools[0].name, "try");
        assert!(call(&client).await.expect("an answer").contains("tried"));
        client.close().await;
    }
}

#[tokio::test]
async fn a_server_of_2024_does_not_speak_the_modern_era() {
    let options = Options { era: Some(Era::Modern), ..options(PATIENCE) };
    let error = connect(&server(&[]), &options).await.expect_err("no connection");
    assert!(matches!(error, ClientError::EraNotSpoken { .. }), "{error}");
}

#[tokio::test]
async fn a_stream_that_does_not_say_where_messages_go_is_waited_for_and_named() {
    let long = format!("GET raw event: endpoint\ndata: /{}\n\n", "x".repeat(8 * 1024));
    for (rules, reason) in [
        (&["GET stream", "GET hang"][..], "none came within 500ms"),
        (&["GET stream", "GET send {}", "GET drip : \n"], "none came within 500ms"),
        (&["GET stream", "GET exit"], "the stream ended before"),
        (&["GET stream", "GET raw data: /messages\n\n", "GET exit"], "the stream ended before"),
        (&["GET stream", &long, "GET hang"], "it is longer than 8192 bytes"),
        (&["GET stream", "GET raw event: endpoint\ndata: /", "GET fill"], "longer than 8192"),
        (&["GET stream", "GET raw event: endpoint\ndata: a b\n\n", "GET hang"], "white space"),
        (&["GET stream", "GET raw event: endpoint\ndata: $ff\n\n", "GET hang"], "not UTF-8"),
    ] {
        let error = refused(rules, IMPATIENCE).await;
        assert!(matches!(error, ClientError::NoEndpoint { .. }), "{rules:?}: {error}");
        assert!(error.to_string().contains(reason), "{rules:?}: {error}");
    }
}

#[tokio::test]
async fn an_address_whose_get_is_no_stream_is_no_server() {
    for rules in [&["GET status 405"][..], &["GET send {}"], &["GET status 500", "GET stream"]] {
        let error = refused(rules, PATIENCE).await;
        assert!(matches!(error, ClientError::NotAnEndpoint { status: 405, .. }), "{error}");
    }
    let error = refused(&["GET status 401"], PATIENCE).await;
    assert!(matches!(error, ClientError::AuthenticationNeeded { status: 401, .. }), "{error}");
}

#[tokio::test]
async fn nothing_is_sent_to_another_server_than_the_one_that_was_asked() {
    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    other.set_nonblocking(true).expect("a socket");
    let address = other.local_addr().expect("an address");
    for named in [format!("http://{address}/messages"), format!("//{address}/messages")] {
        let endpoint = format!("GET raw event: endpoint\ndata: {named}\n\n");
        let error = refused(&["GET stream", &endpoint, "GET hang"], PATIENCE).await;
        let ClientError::ForeignEndpoint { to } = &error else { panic!("{error}") };
        assert_eq!(*to, format!("http://{address}"));
    }
    assert!(other.accept().is_err(), "somebody came");
}

#[tokio::test]
async fn headers_go_with_the_stream_and_with_messages() {
    let no = || response(405, "text/plain", "no");
    let stream = events("event: endpoint\ndata: messages?session=7\n\n");
    let mut server = Scripted::new([no(), no(), Turn::Hold(stream), no()]).await;
    let mut options = options(PATIENCE);
    options.headers.insert("x-key", "s3cret".parse().expect("a value"));
    let error = connect(&Target::Url(server.url.clone()), &options).await.expect_err("405");
    assert!(matches!(error, ClientError::HttpStatus { status: 405, .. }), "{error}");
    let mut lines = Vec::new();
    for _ in 0..4 {
        let request = server.request().await;
        assert_eq!(request.header("x-key"), Some("s3cret"), "{}", request.head);
        lines.push(request.head.lines().next().unwrap_or_default().to_lowercase());
    }
    assert_eq!(lines[2..], ["get /mcp http/1.1", "post /messages?session=7 http/1.1"]);
    server.hang_up().await;
}

#[tokio::test]
async fn answers_find_their_requests_in_whatever_order_they_come() {
    let earlier = r#"tools/list send {"jsonrpc":"2.0","id":3,"result":{"content":[],"late":1}}"#;
    let rules = ["tools/call wait 0", "tools/list answer", earlier];
    let options = Options { era: Some(Era::Legacy), ..options(PATIENCE) };
    let client = connected(&rules, &options).await;
    let (called, listed) = tokio::join!(call(&client), client.list_tools());
    assert!(called.expect("an answer").contains("late"));
    assert_eq!(listed.expect("a list").tools[0].name, "try");
}

#[tokio::test]
async fn what_is_said_before_the_answer_is_heard() {
    let token = r#"{"progressToken":$id,"progress":1}"#;
    let progress = format!(
        r#"tools/call send {{"jsonrpc":"2.0","method":"notifications/progress","params":{token}}}"#
    );
    let client = connected(&[&progress, "tools/call answer"], &options(PATIENCE)).await;
    let arguments = RawValue::from_string("{}".to_owned()).expect("JSON");
    let mut heard = 0;
    let mut listener = |notice| heard += usize::from(matches!(notice, Notice::Progress { .. }));
    client.call_tool("try", &arguments, &mut listener).await.expect("an answer");
    assert_eq!(heard, 1);
}

#[derive(Debug)]
struct Rooted;

impl Answerer for Rooted {
    fn offers(&self) -> Offers {
        Offers { roots: true, ..Offers::default() }
    }

    fn roots<'a>(&'a self, _: &'a Asker) -> Answering<'a, Result<Vec<Root>, Declined>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

#[tokio::test]
async fn questions_of_the_server_are_answered() {
    let rules = [
        r#"tools/call send {"jsonrpc":"2.0","id":"q","method":"roots/list"}"#,
        r#"answer send {"jsonrpc":"2.0","id":3,"result":{"content":[],"answered":true}}"#,
    ];
    let answerer: Arc<dyn Answerer> = Arc::new(Rooted);
    let era = Some(Era::Legacy);
    let options = Options { era, answerer: Some(answerer), ..options(PATIENCE) };
    let client = connected(&rules, &options).await;
    assert!(call(&client).await.expect("an answer").contains("answered"));
}

#[tokio::test]
async fn the_server_is_told_that_nobody_waits_any_more() {
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let rules = ["tools/call wait 0", &format!("notifications/cancelled send {changed}")];
    let client = connected(&rules, &options(PATIENCE)).await;
    let interest = Interest { tools: true, ..Interest::default() };
    let mut changes = client.listen(interest).await.expect("it listens");
    let dropped = tokio::time::timeout(IMPATIENCE, call(&client)).await;
    assert!(dropped.is_err(), "{dropped:?}");
    let change = tokio::time::timeout(PATIENCE, changes.next()).await.expect("it was told");
    assert!(matches!(change, Some(Ok(Change::Tools))), "{change:?}");
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_the_end_of_the_session() {
    for rule in ["tools/call half", "tools/call wait 0"] {
        let client = connected(&[rule, "tools/call exit"], &options(PATIENCE)).await;
        let error = call(&client).await.expect_err("no answer");
        assert!(matches!(error, ClientError::ClosedMidAnswer { .. }), "{rule}: {error}");
        let error = call(&client).await.expect_err("nobody is there");
        assert!(matches!(error, ClientError::SessionLost), "{rule}: {error}");
    }
}

#[tokio::test]
async fn what_is_no_message_hurts_nobody_and_explains_a_silence() {
    let noise = ["tools/call send nonsense", "tools/call raw event: chat\ndata: x\n\n: y\n\n"];
    let client = connected(&[noise[0], noise[1], "tools/call answer"], &options(PATIENCE)).await;
    assert!(call(&client).await.expect("an answer").contains("tried"));
    let client = connected(&noise, &options(IMPATIENCE)).await;
    let error = call(&client).await.expect_err("no answer");
    let ClientError::GarbageInStream { line, .. } = &error else { panic!("{error}") };
    assert_eq!(line, "nonsense");
}

#[tokio::test]
async fn an_event_without_end_is_not_held_and_ends_the_session() {
    let whose = r#"tools/call raw data: {"jsonrpc":"2.0","id":$id,"result":{"x":""#;
    let began = Instant::now();
    for (rule, is_told_whose) in [(whose, true), (r#"tools/call raw data: {"x":""#, false)] {
        let mute = "tools/list wait 0";
        let client = connected(&[mute, rule, "tools/call fill"], &options(PATIENCE)).await;
        let other = client.list_tools();
        let (other, error) = tokio::join!(other, call(&client));
        let error = error.expect_err("no answer");
        assert!(matches!(error, ClientError::MessageTooLarge { .. }), "{error}");
        let other = other.expect_err("no answer");
        let is_broken = matches!(other, ClientError::ClosedMidAnswer { .. });
        assert_eq!(is_broken, is_told_whose, "{other}");
    }
    assert!(began.elapsed() < PATIENCE, "it is not read to its end");
}

#[tokio::test]
async fn a_message_that_is_not_taken_fails_alone() {
    let rules = ["status 500", "status 404", "status 200", "answer"];
    let rules = [("", 0), ("@2", 1), ("@3", 2), ("@3", 3)]
        .map(|(time, rule)| format!("tools/call{time} {}", rules[rule]));
    let client = connected(&rules.each_ref().map(String::as_str), &options(PATIENCE)).await;
    let error = call(&client).await.expect_err("500");
    assert!(matches!(error, ClientError::HttpStatus { status: 500, .. }), "{error}");
    let error = call(&client).await.expect_err("404");
    assert!(matches!(error, ClientError::SessionLost), "{error}");
    assert!(call(&client).await.expect("an answer").contains("tried"));
}

#[tokio::test]
async fn only_so_many_requests_wait_at_once() {
    let limits = Limits { requests_in_flight: 2, ..Limits::default() };
    let options = Options { limits, ..options(IMPATIENCE) };
    let client = connected(&["tools/call wait 0"], &options).await;
    let (one, two, three) = tokio::join!(call(&client), call(&client), call(&client));
    assert!(matches!(three, Err(ClientError::TooManyInFlight { limit: 2 })), "{three:?}");
    for late in [one, two] {
        assert!(matches!(late, Err(ClientError::TimedOut { .. })), "{late:?}");
    }
    assert!(client.list_tools().await.is_ok(), "there is room again");
}
