//! What sessions hold that nobody uses, and that it is given back.

use crate::Counter;
use crate::service::{ask, modern, post, serve};
use haft_proto::limits::Limits;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{
    "protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

async fn begin(client: &mut TcpStream, count: usize) {
    let initialize = post("", INITIALIZE);
    for _ in 0..count {
        let answer = ask(client, &initialize, "{}}").await;
        assert!(answer.contains("mcp-session-id: "), "{answer}");
    }
}

#[tokio::test]
async fn an_idle_session_takes_less_than_four_kilobytes() {
    const COUNT: usize = 1000;
    let counter = Counter::start();
    let address = serve(Limits::default()).await;
    let mut client = TcpStream::connect(&address).await.expect("the server listens");
    begin(&mut client, 1).await;
    let before = counter.live_bytes();
    begin(&mut client, COUNT).await;
    let each = counter.live_bytes().saturating_sub(before) / COUNT;
    println!("an idle session: {each} bytes");
    assert!(each < 4096, "{each} bytes");
}

#[tokio::test]
async fn what_ten_thousand_abandoned_sessions_held_is_given_back() {
    let counter = Counter::start();
    let session_idle = Duration::from_millis(500);
    let limits = Limits { session_idle, ..Limits::default() };
    let address = serve(limits).await;
    let mut client = TcpStream::connect(&address).await.expect("the server listens");
    begin(&mut client, 1).await;
    let before = counter.live_bytes();
    begin(&mut client, 10_000).await;
    let swept = async {
        while counter.live_bytes() > before + 64 * 1024 {
            ask(&mut client, &modern("server/discover"), "{}}").await;
        }
    };
    timeout(Duration::from_secs(60), swept).await.expect("they are forgotten");
}
