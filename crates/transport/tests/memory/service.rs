//! A service that answers with nothing and subscribes to nothing, and the barest client of it.

use haft_proto::encode;
use haft_proto::limits::Limits;
use haft_proto::method::Method;
use haft_proto::service::{Ask, Feed, Outcome, Reply, Service, Turn};
use haft_proto::session::Session;
use haft_transport::http::{Listener, Options, TwoPaths};
use haft_transport::stop::Stop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How often the endless feed has been asked for more.
pub(crate) type Pulls = Arc<AtomicU64>;

#[derive(Default)]
pub(crate) struct Nothing {
    /// What is subscribed to never runs out.
    pub(crate) is_endless: bool,
    pub(crate) pulls: Pulls,
}

impl Nothing {
    fn feed(&self) -> Box<dyn Feed> {
        match self.is_endless {
            true => Box::new(Endless(Arc::clone(&self.pulls))),
            false => Box::new(Quiet { is_begun: false }),
        }
    }
}

impl Service for Nothing {
    fn ask(&self, ask: Ask<'_>, out: &mut Vec<u8>) -> Turn {
        match ask.method {
            Method::SubscriptionsListen => return Turn::Stream(self.feed()),
            Method::ToolsCall => return talk(&ask),
            _ => {}
        }
        encode::result(out, ask.id, |out| out.extend_from_slice(b"{}"));
        Turn::Done(Outcome::Result)
    }

    fn news(&self, _: &Arc<Session>) -> Option<Box<dyn Feed>> {
        Some(self.feed())
    }
}

/// Sends the client away, and says thirty megabytes to it.
fn talk(ask: &Ask<'_>) -> Turn {
    let (outlet, id) = (ask.wire.outlet(), ask.id.raw().to_owned());
    Turn::Later(Box::pin(async move {
        outlet.send(b"{}".to_vec());
        while outlet.disconnect(Duration::ZERO) {
            tokio::task::yield_now().await;
        }
        for _ in 0..30_000 {
            outlet.send(vec![b' '; 1000]);
        }
        let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#).into_bytes();
        Reply::new(message, Outcome::Result)
    }))
}

/// Always has something to say.
struct Endless(Pulls);

impl Feed for Endless {
    fn poll_next(&mut self, _: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<bool> {
        self.0.fetch_add(1, Ordering::SeqCst);
        out.resize(out.len() + 1000, b' ');
        Poll::Ready(true)
    }
}

/// Says one thing, and nothing more.
struct Quiet {
    is_begun: bool,
}

impl Feed for Quiet {
    fn poll_next(&mut self, _: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<bool> {
        if std::mem::replace(&mut self.is_begun, true) {
            return Poll::Pending;
        }
        out.extend_from_slice(b"{}");
        Poll::Ready(true)
    }
}

/// Serves on a free port until the test ends, and returns its address.
pub(crate) async fn serve(limits: Limits) -> String {
    serve_as(Nothing::default(), limits).await
}

/// The same for a service that says more.
pub(crate) async fn serve_as(service: impl Service, limits: Limits) -> String {
    let any = "127.0.0.1:0".parse().expect("an address");
    let options = Options { two_paths: Some(TwoPaths::default()), ..Options::default() };
    let listener = Listener::bind(any, options).await.expect("a free port");
    let address = listener.url().split('/').nth(2).expect("an address").to_owned();
    tokio::spawn(async move {
        listener.serve(Arc::new(service), &limits, std::future::pending::<Stop>()).await;
    });
    address
}

/// A modern request.
pub(crate) fn modern(method: &str) -> String {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"_meta":{{
        "io.modelcontextprotocol/protocolVersion":"2026-07-28",
        "io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    );
    let method = format!("mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n");
    post(&method, &body)
}

/// A POST with more headers.
pub(crate) fn post(more: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\n{more}\
         content-length: {length}\r\n\r\n{body}"
    )
}

/// Sends a request, and reads until the answer ends in one of these.
pub(crate) async fn ask(stream: &mut TcpStream, request: &str, ends: &str) -> String {
    stream.write_all(request.as_bytes()).await.expect("the server reads");
    let answer = async {
        let mut answer = String::new();
        while !answer.ends_with(ends) {
            let mut piece = [0; 1024];
            let count = stream.read(&mut piece).await.expect("the server answers");
            assert_ne!(count, 0, "the server goes on: {answer}");
            answer.push_str(std::str::from_utf8(&piece[..count]).expect("UTF-8"));
        }
        answer
    };
    tokio::time::timeout(Duration::from_secs(20), answer).await.expect("an answer in time")
}
