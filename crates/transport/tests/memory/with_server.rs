//! The same bounds for the wire and the server of `haft-server` together: a client that watches
//! something has a place on the server's bus, too.

use crate::Counter;
use crate::service::{ask, modern, post, serve_as};
use haft_proto::limits::Limits;
use haft_proto::spec::level::Level;
use haft_server::{Resource, Server, Tool, handler};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::timeout;

const SUBSCRIPTIONS: usize = 200;
const SESSIONS: usize = 1000;
const ABANDONED: usize = 10_000;
const REPLACED: usize = 2000;

/// A server with lists that may change and a resource that may be watched.
async fn serve(limits: Limits) -> String {
    let server = Server::builder("memory", "1.0.0")
        .limits(limits.clone())
        .resource(Resource::text("a:1", "one", "text"))
        .build();
    serve_as(server.expect("a server"), limits).await
}

/// A request for all that this server can tell.
fn listen() -> String {
    listen_to("a:1")
}

/// The same with another resource.
fn listen_to(uri: &str) -> String {
    let wishes = r#""params":{"notifications":{"toolsListChanged":true,"promptsListChanged":true,
        "resourcesListChanged":true,"resourceSubscriptions":["#;
    with(&modern("subscriptions/listen"), r#""params":{"#, &format!("{wishes}{uri:?}]}},"))
}

/// A request with something else in its body.
fn with(request: &str, part: &str, other: &str) -> String {
    let (head, body) = request.split_once("\r\n\r\n").expect("a head");
    let body = body.replacen(part, other, 1);
    let (head, _) = head.rsplit_once("content-length").expect("a length");
    format!("{head}content-length: {}\r\n\r\n{body}", body.len())
}

/// A session that watches all lists and a resource; its client never comes back.
async fn begin_and_watch(client: &mut TcpStream) {
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{
        "protocolVersion":"2025-11-25","capabilities":{}}}"#;
    let answer = ask(client, &post("", initialize), "}}").await;
    let id = answer.lines().find(|line| line.starts_with("mcp-session-id: ")).expect("a session");
    let session = format!("{id}\r\n");
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    ask(client, &post(&session, ready), "\r\n\r\n").await;
    let watch = r#"{"jsonrpc":"2.0","id":2,"method":"resources/subscribe",
        "params":{"uri":"a:1"}}"#;
    let watching = ask(client, &post(&session, watch), "}").await;
    assert!(watching.ends_with(r#""result":{}}"#), "{watching}");
}

#[tokio::test]
async fn an_idle_subscription_takes_less_than_two_kilobytes_with_its_place_on_the_bus() {
    let counter = Counter::start();
    let address = serve(Limits::default()).await;
    let (plain, listen) = (modern("server/discover"), listen());
    let mut clients = Vec::with_capacity(SUBSCRIPTIONS);
    let unconnected = counter.live_bytes();
    for _ in 0..SUBSCRIPTIONS {
        let mut client = TcpStream::connect(&address).await.expect("the server listens");
        for _ in 0..3 {
            ask(&mut client, &plain, "}}").await;
        }
        clients.push(client);
    }
    let connected = counter.live_bytes();
    for client in &mut clients {
        let acknowledged = ask(client, &listen, "\n\n\r\n").await;
        assert!(acknowledged.contains("a:1"), "{acknowledged}");
    }
    let each = counter.live_bytes().saturating_sub(connected) / SUBSCRIPTIONS;
    let connection = connected.saturating_sub(unconnected) / SUBSCRIPTIONS;
    println!("an idle subscription with its place on the bus: {each} bytes");
    println!("and the HTTP/1.1 connection that it came by: {connection} bytes");
    assert!(each < 2048, "{each} bytes");
}

#[tokio::test]
async fn an_idle_session_takes_less_than_four_kilobytes_with_its_place_on_the_bus() {
    let counter = Counter::start();
    let address = serve(Limits::default()).await;
    let mut client = TcpStream::connect(&address).await.expect("the server listens");
    begin_and_watch(&mut client).await;
    let before = counter.live_bytes();
    for _ in 0..SESSIONS {
        begin_and_watch(&mut client).await;
    }
    let each = counter.live_bytes().saturating_sub(before) / SESSIONS;
    println!("an idle session with its place on the bus: {each} bytes");
    assert!(each < 4096, "{each} bytes");
}

#[tokio::test]
async fn ten_thousand_abandoned_sessions_leave_nothing_on_the_bus() {
    let counter = Counter::start();
    let limits = Limits { session_idle: Duration::from_secs(5), ..Limits::default() };
    let address = serve(limits).await;
    let mut client = TcpStream::connect(&address).await.expect("the server listens");
    begin_and_watch(&mut client).await;
    let before = counter.live_bytes();
    for _ in 0..ABANDONED {
        begin_and_watch(&mut client).await;
    }
    let held = counter.live_bytes().saturating_sub(before);
    let forgotten = async {
        while counter.live_bytes() > before + 64 * 1024 {
            ask(&mut client, &modern("server/discover"), "}}").await;
        }
    };
    let is_forgotten = timeout(Duration::from_secs(60), forgotten).await;
    let more = counter.live_bytes().saturating_sub(before);
    is_forgotten.unwrap_or_else(|_| panic!("{more} bytes are left of {held}"));
}

#[tokio::test]
async fn sessions_in_a_full_table_take_each_others_places() {
    let counter = Counter::start();
    let limits = Limits { sessions: 100, ..Limits::default() };
    let address = serve(limits).await;
    let mut client = TcpStream::connect(&address).await.expect("the server listens");
    for _ in 0..100 {
        begin_and_watch(&mut client).await;
    }
    let full = counter.live_bytes();
    for _ in 0..REPLACED {
        begin_and_watch(&mut client).await;
    }
    let grown = counter.live_bytes().saturating_sub(full);
    println!("{grown} bytes more after {REPLACED} sessions");
    assert!(grown < 64 * 1024, "{grown} bytes");
}

/// What one client that never reads may hold: hyper's buffers, and ours.
const HELD: usize = 512 * 1024;

#[derive(Deserialize)]
struct Nothing {}

fn tool(name: String) -> Tool {
    Tool::new(name, handler::function(|Nothing {}| "done"))
}

#[tokio::test]
async fn whoever_listens_and_never_reads_holds_little_while_tools_come_and_go() {
    let counter = Counter::start();
    // Long enough that what is said of it does not fit into the buffers of the sockets.
    let watched = format!("a:{}", "x".repeat(8000));
    let server = Server::builder("memory", "1.0.0")
        .tool(tool("always".to_owned()))
        .resource(Resource::text(&*watched, "one", "text"))
        .build()
        .expect("a server");
    let address = serve_as(server.clone(), Limits::default()).await;
    let mut neighbour = TcpStream::connect(&address).await.expect("the server listens");
    ask(&mut neighbour, &modern("server/discover"), "}}").await;
    let mut listener = TcpStream::connect(&address).await.expect("the server listens");
    listener.write_all(listen_to(&watched).as_bytes()).await.expect("it is read");
    // It listens once its wish to hear of the resource is known.
    while server.interest().resources.is_empty() {
        ask(&mut neighbour, &modern("server/discover"), "}}").await;
    }
    let before = counter.live_bytes();
    for number in 0..10_000 {
        server.add_tool(tool(format!("tool_{number}"))).expect("a name of its own");
        assert!(server.remove_tool(&format!("tool_{number}")));
        server.resource_updated(&watched);
        tokio::task::yield_now().await;
        if number % 1000 == 999 {
            ask(&mut neighbour, &modern("tools/list"), "}}").await;
            let held = counter.live_bytes().saturating_sub(before);
            assert!(held < HELD, "{held} bytes after {number}");
        }
    }
    drop(listener);
}

#[tokio::test]
async fn a_hundred_times_what_may_wait_is_said_by_a_tool_to_whoever_never_reads_and_given_back() {
    const SAID: usize = 400_000;
    const TIMES: u32 = 250;
    let counter = Counter::start();
    let ended = Arc::new(Notify::new());
    let ends = Arc::clone(&ended);
    let talk = handler::future(move |Nothing {}, context| {
        let ends = Arc::clone(&ends);
        async move {
            // As it is to be written: letter by letter would take a test long.
            let text = format!("{:?}", "x".repeat(SAID));
            let text = RawValue::from_string(text).expect("JSON");
            for step in 0..TIMES {
                context.progress(f64::from(step), None, Some("a step"));
                context.log(Level::Info, &*text);
                tokio::task::yield_now().await;
            }
            ends.notify_one();
            "done"
        }
    });
    let talk = Tool::new("talk", talk);
    // However slow the machine is, the call comes to its end.
    let patience = Duration::from_secs(600);
    let limits = Limits { request_timeout: patience, write_stall: patience, ..Limits::default() };
    let server = Server::builder("memory", "1.0.0").limits(limits.clone()).tool(talk).build();
    let address = serve_as(server.expect("a server"), limits.clone()).await;
    let mut neighbour = TcpStream::connect(&address).await.expect("the server listens");
    ask(&mut neighbour, &modern("server/discover"), "}}").await;
    let before = counter.live_bytes();
    let call = with(
        &modern("tools/call"),
        r#""_meta":{"#,
        r#""name":"talk","_meta":{
        "progressToken":"t","io.modelcontextprotocol/logLevel":"info","#,
    );
    let call = call.replacen("mcp-method", "mcp-name: talk\r\nmcp-method", 1);
    let mut client = TcpStream::connect(&address).await.expect("the server listens");
    client.write_all(call.as_bytes()).await.expect("it is read");
    timeout(patience, ended.notified()).await.expect("it comes to its end");
    let peak = dhat::HeapStats::get().max_bytes.saturating_sub(before);
    println!("{peak} bytes at most");
    assert!(peak < limits.queued_bytes + 4 * SAID + HELD, "{peak} bytes at most");
    drop(client);
    let given_back = async {
        while counter.live_bytes() > before + 64 * 1024 {
            ask(&mut neighbour, &modern("server/discover"), "}}").await;
        }
    };
    timeout(Duration::from_secs(60), given_back).await.expect("all is given back");
}
