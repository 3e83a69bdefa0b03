//! The bound that 10,000 idle subscriptions are to stay within.

use crate::Counter;
use crate::service::{ask, modern, serve};
use haft_proto::limits::Limits;
use tokio::net::TcpStream;

const COUNT: usize = 200;

#[tokio::test]
async fn an_idle_subscription_takes_less_than_two_kilobytes() {
    let counter = Counter::start();
    let address = serve(Limits::default()).await;
    let (plain, listen) = (modern("server/discover"), modern("subscriptions/listen"));
    let mut clients = Vec::with_capacity(COUNT);
    for _ in 0..COUNT {
        let mut client = TcpStream::connect(&address).await.expect("the server listens");
        for _ in 0..3 {
            ask(&mut client, &plain, "{}}").await;
        }
        clients.push(client);
    }
    let connected = counter.live_bytes();
    for client in &mut clients {
        ask(client, &listen, "\n\n\r\n").await;
    }
    let each = counter.live_bytes().saturating_sub(connected) / COUNT;
    println!("an idle subscription: {each} bytes");
    assert!(each < 2048, "{each} bytes");
}
