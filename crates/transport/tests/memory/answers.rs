//! What answers are written into: that it is used again, and given back.

use crate::Counter;
use crate::service::{modern, post, serve_as};
use crate::silent_readers::session;
use haft_proto::encode;
use haft_proto::limits::Limits;
use haft_proto::method::Method;
use haft_proto::service::{Ask, Outcome, Reply, Service, Turn};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Answers with so many letters; if it is asked for prompts, later and with none, and if for tools,
/// with a list of none.
#[derive(Clone, Default)]
struct Says(Arc<AtomicUsize>);

impl Service for Says {
    fn ask(&self, ask: Ask<'_>, out: &mut Vec<u8>) -> Turn {
        match ask.method {
            Method::Initialize => {
                encode::result(out, ask.id, |out| out.extend_from_slice(b"{}"));
                return Turn::Done(Outcome::Result);
            }
            Method::PromptsList => {
                let mut message = Vec::new();
                encode::result(&mut message, ask.id, |out| out.extend_from_slice(NOTHING));
                let reply = Reply::new(message, Outcome::Result);
                return Turn::Later(Box::pin(async { reply }));
            }
            Method::ToolsList => {
                out.extend_from_slice(br#"{"jsonrpc":"2.0","id":1,"result":{"said":""#);
                return Turn::Listed(Arc::from(r#""}}"#));
            }
            _ => {}
        }
        encode::result(out, ask.id, |out| {
            out.extend_from_slice(br#"{"said":""#);
            // Piece by piece, as it is encoded.
            (0..self.0.load(Ordering::SeqCst)).for_each(|_| out.push(b'x'));
            out.extend_from_slice(br#""}"#);
        });
        Turn::Done(Outcome::Result)
    }
}

const NOTHING: &[u8] = br#"{"said":""}"#;

/// A client that has had its first answer, a short one.
struct Client {
    says: Says,
    stream: TcpStream,
    answer: Vec<u8>,
}

impl Client {
    async fn new(limits: Limits) -> Self {
        let says = Says::default();
        let address = serve_as(says.clone(), limits).await;
        let stream = TcpStream::connect(&address).await.expect("the server listens");
        let mut client = Self { says, stream, answer: Vec::with_capacity(8 << 20) };
        client.ask(1).await;
        client
    }

    /// Asks for so many letters.
    async fn ask(&mut self, length: usize) {
        self.says.0.store(length, Ordering::SeqCst);
        self.ask_with(&modern("server/discover"), length).await;
    }

    async fn ask_with(&mut self, request: &str, length: usize) {
        self.stream.write_all(request.as_bytes()).await.expect("the server reads");
        self.answer.clear();
        while !self.answer.ends_with(br#""}}"#) {
            let read = self.stream.read_buf(&mut self.answer).await.expect("the server answers");
            assert_ne!(read, 0, "the server goes on");
        }
        let said = self.answer.iter().rev().skip(3).take_while(|letter| **letter == b'x').count();
        assert_eq!(said, length);
    }
}

fn legacy(method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#)
}

/// Written into as much as is kept, and much more than another test makes while it waits.
const LONG: usize = 200_000;

#[tokio::test]
async fn what_a_long_answer_was_written_into_is_used_for_the_next() {
    const COUNT: usize = 50;
    let counter = Counter::start();
    let mut client = Client::new(Limits::default()).await;
    let session = session(&mut client.stream).await;
    client.ask(LONG).await;
    for request in [modern("server/discover"), post(&session, &legacy("ping"))] {
        let before = counter.made_bytes();
        for _ in 0..COUNT {
            client.ask_with(&request, LONG).await;
        }
        let each = (counter.made_bytes() - before) / COUNT;
        println!("{each} bytes made for an answer of {LONG}");
        assert!(each < LONG / 4, "{each} bytes");
    }
}

#[tokio::test]
async fn a_long_answer_leaves_its_memory_within_a_bound() {
    let counter = Counter::start();
    let limits = Limits { spare_idle: Duration::from_secs(3600), ..Limits::default() };
    let mut client = Client::new(limits.clone()).await;
    let before = counter.live_bytes();
    client.ask(LONG).await;
    let kept = counter.live_bytes().saturating_sub(before);
    assert!((LONG..2 * LONG).contains(&kept), "{kept} bytes");
    for _ in 0..10 {
        client.ask(10 * limits.spare_buffer_bytes).await;
        let kept = counter.live_bytes().saturating_sub(before);
        assert!(kept < 2 * LONG, "{kept} bytes");
    }
}

#[tokio::test]
async fn a_list_or_what_is_answered_later_takes_no_memory_along() {
    let counter = Counter::start();
    let limits = Limits { spare_idle: Duration::from_secs(3600), ..Limits::default() };
    let mut client = Client::new(limits).await;
    let session = session(&mut client.stream).await;
    let before = counter.live_bytes();
    client.ask(LONG).await;
    for method in ["prompts/list", "tools/list"] {
        for request in [modern(method), post(&session, &legacy(method))] {
            client.ask_with(&request, 0).await;
            let kept = counter.live_bytes().saturating_sub(before);
            assert!(kept > LONG, "{kept} bytes after {method}");
        }
    }
}

#[tokio::test]
async fn an_idle_server_gives_the_memory_of_its_answers_back() {
    let counter = Counter::start();
    let limits = Limits { spare_idle: Duration::from_millis(50), ..Limits::default() };
    let mut client = Client::new(limits).await;
    let before = counter.live_bytes();
    client.ask(LONG).await;
    let given_back = async {
        while counter.live_bytes() > before + LONG / 2 {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(20), given_back).await.expect("nobody asks for anything");
    client.ask(LONG).await;
}
