//! What is kept of connections that nobody uses. In a process of its own: it has two descriptors
//! open for each of them, and other tests beside it could get none.

use haft_fetch::limits::POOL_CONNECTIONS_MAX;
use haft_fetch::{Auth, Client, Clients, Proxies, Reach, Request, Url};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Asks a server of its own, and leaves the connection open from there.
async fn ask(client: &Client) -> TcpStream {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let port = listener.local_addr().expect("it is bound").port();
    let url = Url::parse(&format!("http://127.0.0.1:{port}/")).expect("an address");
    let (request, auth) = (Request::get(url), Auth::None);
    let serve = async {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.expect("a request"));
        }
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(answer).await.expect("it is open");
        stream
    };
    let (answer, stream) = tokio::join!(client.send(&request, &auth), serve);
    assert!(answer.expect("an answer").bytes(9).await.expect("the body").is_empty());
    stream
}

#[tokio::test]
async fn of_connections_to_many_servers_not_all_are_kept() {
    let client = Clients::with_proxies(Proxies::new("", "", "")).of(&Reach::Anywhere);
    let mut streams = Vec::new();
    for _ in 0..=POOL_CONNECTIONS_MAX {
        streams.push(ask(&client).await);
    }
    let last = streams.pop().expect("there are some");
    for mut stream in streams {
        // Long before it would be closed because nobody used it for a time.
        let closed = tokio::time::timeout(Duration::from_secs(20), stream.read_u8()).await;
        assert!(closed.expect("it is closed").is_err());
    }
    let is_open =
        last.try_read(&mut [0]).is_err_and(|it| it.kind() == std::io::ErrorKind::WouldBlock);
    assert!(is_open, "the newest is kept");
}
