//! Endpoints at other paths of a listener: who answers where, whose a session is, and what becomes
//! of them when they come and go.

use crate::pipe_client::DEADLINE;
use crate::raw_client::{Event, EventReader, RawClient, Session, modern};
use haft_proto::limits::Limits;
use haft_server::{Server, Tool, handler};
use haft_transport::http::{Beside, Listener, Options};
use haft_transport::stop::Stop;
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// A listener for a server `whole`, and those that stand beside it.
struct Several {
    address: SocketAddr,
    beside: watch::Sender<Vec<Beside>>,
    stop: oneshot::Sender<Stop>,
    serving: JoinHandle<()>,
}

fn named(name: &str) -> Arc<Server> {
    let tool = Tool::new(name, handler::function(|_: Value| "done"));
    Arc::new(Server::builder(name, "1.0.0").tool(tool).build().expect("it is right"))
}

fn beside(path: &str, server: &Arc<Server>) -> Beside {
    Beside { path: path.to_owned(), service: Arc::<Server>::clone(server) }
}

impl Several {
    async fn serve(besides: Vec<Beside>) -> Self {
        let any = "127.0.0.1:0".parse().expect("an address");
        let listener = Listener::bind(any, Options::default()).await.expect("a free port");
        let url = listener.url_of("/a/mcp");
        let address = url.split('/').nth(2).and_then(|host| host.parse().ok()).expect("a URL");
        let (beside, receiver) = watch::channel(besides);
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(async move {
            let stop = async { stopped.await.unwrap_or(Stop::AtOnce) };
            listener.with(receiver).serve(named("whole"), &Limits::default(), stop).await;
        });
        Self { address, beside, stop, serving }
    }

    /// Who answers a modern client at a path, or the status.
    async fn who(&self, path: &str) -> Result<String, u16> {
        let mut client = RawClient::connect(self.address).await;
        let answer = client.ask(&at(path, modern("server/discover", "{}"))).await;
        let who = |answer: Value| {
            let server = &answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
            server["name"].as_str().expect("a name").to_owned()
        };
        if answer.status == 200 { Ok(who(answer.json())) } else { Err(answer.status) }
    }

    async fn listen(&self, path: &str) -> EventReader {
        let wishes = r#"{"notifications":{"toolsListChanged":true}}"#;
        let request = at(path, modern("subscriptions/listen", wishes));
        let mut stream = RawClient::connect(self.address).await.open(&request).await;
        assert_eq!(stream.message().await["method"], "notifications/subscriptions/acknowledged");
        stream
    }
}

/// The last event of a stream that ends.
async fn last(stream: EventReader) -> Event {
    let events = timeout(DEADLINE, stream.end()).await.expect("it ends in time");
    events.last().expect("a last event").clone()
}

/// A request for another path.
fn at(path: &str, request: Vec<u8>) -> Vec<u8> {
    let request = String::from_utf8(request).expect("requests are text");
    request.replacen(" /mcp ", &format!(" {path} "), 1).into_bytes()
}

async fn session(several: &Several, path: &str) -> Session {
    let mut client = RawClient::connect(several.address).await;
    let first = crate::raw_client::post(&[], &crate::pipe_client::initialize("2025-11-25"));
    let answer = client.ask(&at(path, first)).await;
    let id = answer.header("mcp-session-id").expect("a session").to_owned();
    Session { id, version: "2025-11-25".to_owned() }
}

#[tokio::test]
async fn each_path_has_its_own_server_and_others_have_none() {
    let (a, b) = (named("a"), named("b"));
    let several = Several::serve(vec![beside("/a/mcp", &a), beside("/b", &b)]).await;
    for (path, who) in [
        ("/mcp", Ok("whole")),
        ("/a/mcp", Ok("a")),
        ("/b", Ok("b")),
        ("/a", Err(404)),
        ("/a/mcp/", Ok("a")),
        ("/a/mcp//", Err(404)),
        ("/A/mcp", Err(404)),
        ("/b?x=1", Ok("b")),
    ] {
        assert_eq!(several.who(path).await, who.map(str::to_owned), "{path}");
    }
}

#[tokio::test]
async fn a_session_is_of_one_path_alone() {
    let a = named("a");
    let several = Several::serve(vec![beside("/a/mcp", &a)]).await;
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let mut client = RawClient::connect(several.address).await;
    for (own, other, name) in [("/mcp", "/a/mcp", "whole"), ("/a/mcp", "/mcp", "a")] {
        let session = session(&several, own).await;
        let listed = client.ask(&at(own, session.post(list))).await.json();
        assert_eq!(listed["result"]["tools"][0]["name"], name);
        assert_eq!(client.ask(&at(other, session.post(list))).await.status, 404, "{other}");
        assert_eq!(client.ask(&at(other, session.delete())).await.status, 404, "{other}");
        assert_eq!(client.ask(&at(own, session.post(list))).await.status, 200, "it goes on");
        assert_eq!(client.ask(&at(own, session.delete())).await.status, 204);
    }
}

#[tokio::test]
async fn who_stays_keeps_sessions_and_streams_and_who_goes_ends_them() {
    let (a, b, c) = (named("a"), named("b"), named("c"));
    let several = Several::serve(vec![beside("/a", &a), beside("/b", &b)]).await;
    let (on_a, on_b) = (session(&several, "/a").await, session(&several, "/b").await);
    let (mut stream_a, stream_b) = (several.listen("/a").await, several.listen("/b").await);
    several.beside.send(vec![beside("/a", &a), beside("/c", &c)]).expect("it listens");
    // What ends is told so, with the result of its request.
    let last = last(stream_b).await;
    assert!(last.json()["result"].is_object(), "{last:?}");
    assert_eq!(several.who("/b").await, Err(404));
    assert_eq!(several.who("/c").await.as_deref(), Ok("c"));
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let mut client = RawClient::connect(several.address).await;
    assert_eq!(client.ask(&at("/a", on_a.post(ping))).await.status, 200);
    assert_eq!(client.ask(&at("/b", on_b.post(ping))).await.status, 404);
    a.remove_tool("a");
    assert_eq!(stream_a.message().await["method"], "notifications/tools/list_changed");
    // Another server at the same path knows no session of the one before.
    several.beside.send(vec![beside("/a", &c)]).expect("it listens");
    let other = async { while several.who("/a").await.as_deref() != Ok("c") {} };
    timeout(DEADLINE, other).await.expect("it is there in time");
    assert_eq!(client.ask(&at("/a", on_a.post(ping))).await.status, 404);
}

#[tokio::test]
async fn a_stop_ends_streams_at_every_path() {
    let a = named("a");
    let several = Several::serve(vec![beside("/a", &a)]).await;
    let streams = [several.listen("/mcp").await, several.listen("/a").await];
    several.stop.send(Stop::Gracefully).expect("it listens");
    for stream in streams {
        let last = last(stream).await;
        assert!(last.json()["result"].is_object(), "{last:?}");
    }
    several.serving.await.expect("the server does not panic");
}
