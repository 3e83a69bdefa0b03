//! What a lane does with servers that answer in every way, over real sockets.

use super::*;
use crate::lane::body::Unread;
use crate::limits::LEAVING_BYTES_MAX;
use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What a server does on a connection once it has said everything.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Closes,
    /// Until the other end closes.
    Waits,
}

const REQUEST: [&[u8]; 2] = [b"POST / HTTP/1.1\r\n\r\n", b"{}"];
const REQUEST_BYTES: usize = 21;

/// A server of so many connections, that answers each request of one with the next of these.
async fn serve(connections: usize, answers: &[&str], end: End) -> Arc<Lane> {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let answers: Vec<String> = answers.iter().map(|&answer| answer.to_owned()).collect();
    tokio::spawn(async move {
        for _ in 0..connections {
            let (stream, _) = listener.accept().await.expect("a connection");
            tokio::spawn(speak(stream, answers.clone(), end));
        }
    });
    Arc::new(Lane::new("127.0.0.1", port, Duration::from_secs(5)))
}

async fn speak(mut stream: TcpStream, answers: Vec<String>, end: End) {
    for answer in answers {
        stream.read_exact(&mut [0; REQUEST_BYTES]).await.expect("a request");
        stream.write_all(answer.as_bytes()).await.expect("it is read");
    }
    if end == End::Waits {
        // However it closes.
        _ = stream.read_to_end(&mut Vec::new()).await;
    }
}

async fn whole(lane: &Arc<Lane>) -> Result<Bytes, Unread> {
    let answer = lane.ask(REQUEST).await.expect("an answer");
    answer.body.whole(Bytes::new(), 1000).await
}

const fn idle(idle: usize, closed: u64) -> Connections {
    Connections { idle, acquiring: 0, established: 0, closing: 0, closed }
}

const TWO: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab";

#[tokio::test]
async fn a_connection_serves_one_request_after_the_other() {
    let lane = serve(1, &[TWO, TWO], End::Waits).await;
    for _ in 0..2 {
        let answer = lane.ask(REQUEST).await.expect("an answer");
        assert_eq!(lane.connections(), Connections { established: 1, ..idle(0, 0) });
        assert_eq!(answer.body.whole(Bytes::new(), 2).await.as_deref(), Ok(&b"ab"[..]));
        assert_eq!(lane.connections(), idle(1, 0));
    }
}

#[tokio::test]
async fn a_body_in_chunks_comes_whole_and_in_pieces() {
    let chunks = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
                  2\r\nab\r\n3;x=y\r\ncde\r\n0\r\nx-a: 1\r\n\r\n";
    let lane = serve(1, &[chunks, chunks], End::Waits).await;
    assert_eq!(whole(&lane).await.as_deref(), Ok(&b"abcde"[..]));
    let mut body = lane.ask(REQUEST).await.expect("an answer").body;
    let mut pieces = Vec::new();
    while let Some(piece) = std::future::poll_fn(|cx| body.poll_piece(cx)).await {
        pieces.push(piece.expect("a piece"));
    }
    assert_eq!(pieces, [&b"ab"[..], b"cde"]);
    assert_eq!(lane.connections(), idle(1, 0));
}

#[tokio::test]
async fn interim_answers_are_passed_over() {
    let interim = "HTTP/1.1 103 Early\r\nx: 1\r\n\r\nHTTP/1.1 100 Go\r\n\r\n\
                   HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";
    let lane = serve(1, &[interim], End::Waits).await;
    let answer = lane.ask(REQUEST).await.expect("an answer");
    assert_eq!(answer.head.status, 202);
    assert_eq!(answer.body.len(), Some(0));
    assert_eq!(lane.connections(), idle(1, 0));
}

#[tokio::test]
async fn a_connection_that_was_closed_while_idle_is_not_used() {
    let lane = serve(2, &[TWO], End::Closes).await;
    assert_eq!(whole(&lane).await.as_deref(), Ok(&b"ab"[..]));
    // Until the end of the first has arrived.
    while lane.take_idle().map(|one| lane.take_back(one, None)).is_some() {
        tokio::task::yield_now().await;
    }
    assert_eq!(whole(&lane).await.as_deref(), Ok(&b"ab"[..]));
}

#[tokio::test]
async fn what_cannot_be_trusted_any_more_is_closed() {
    for (said, end) in [
        // More than was asked for.
        ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nabHTTP/1.1 200 OK\r\n\r\n", End::Waits),
        ("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nab", End::Waits),
        ("HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nab", End::Waits),
        ("HTTP/1.1 200 OK\r\nkeep-alive: timeout=1\r\ncontent-length: 2\r\n\r\nab", End::Waits),
        // Without a length it ends with the connection.
        ("HTTP/1.1 200 OK\r\n\r\nab", End::Closes),
    ] {
        let lane = serve(1, &[said], end).await;
        assert_eq!(whole(&lane).await.as_deref(), Ok(&b"ab"[..]), "{said:?}");
        assert!(lane.take_idle().is_none(), "{said:?}");
        assert_eq!(lane.connections(), idle(0, 1), "{said:?}");
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_or_is_too_long_is_no_answer() {
    let faulty = |fault| Err(Unread::Faulty(fault));
    for (said, expected) in [
        ("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab", faulty(Fault::Closed)),
        ("HTTP/1.1 200 OK\r\ncontent-length: 1001\r\n\r\nab", Err(Unread::TooLong)),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nab", faulty(Fault::Closed)),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nx\r\n", faulty(Fault::NotHttp)),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n",
            faulty(Fault::NotHttp),
        ),
    ] {
        let lane = serve(1, &[said], End::Closes).await;
        assert_eq!(whole(&lane).await, expected, "{said:?}");
        assert_eq!(lane.connections(), idle(0, 1), "{said:?}");
    }
    let long = format!(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3E9\r\n{}\r\n0\r\n\r\n",
        "a".repeat(1001)
    );
    let lane = serve(1, &[&long], End::Closes).await;
    assert_eq!(whole(&lane).await, Err(Unread::TooLong));
}

#[tokio::test]
async fn heads_that_are_none_say_so() {
    for (said, expected) in [
        ("SSH-2.0-OpenSSH\r\n", Fault::NotHttp),
        ("HTTP/1.1 200 OK\r\nx: ", Fault::Closed),
        ("", Fault::Closed),
    ] {
        let lane = serve(1, &[said], End::Closes).await;
        let asked = lane.ask(REQUEST).await;
        let Err(Unasked::Faulty(fault)) = asked else { panic!("{said:?}: {asked:?}") };
        assert_eq!(fault, expected, "{said:?}");
    }
}

#[tokio::test]
async fn an_answer_that_nobody_reads_to_its_end_closes_its_connection() {
    let begun = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab";
    let lane = serve(1, &[begun], End::Waits).await;
    let answer = lane.ask(REQUEST).await.expect("an answer");
    drop(answer);
    assert_eq!(lane.connections(), idle(0, 1));
}

#[tokio::test]
async fn who_cannot_be_reached_is_said() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let lane = Arc::new(Lane::new("[127.0.0.1]", port, Duration::from_secs(5)));
    let asked = lane.ask(REQUEST).await;
    let Err(Unasked::Unreachable(error)) = asked else { panic!("{asked:?}") };
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    assert_eq!(lane.connections(), idle(0, 0));
}

#[tokio::test]
async fn no_more_connections_are_idle_than_may_be_and_none_for_long() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let lane = Arc::new(Lane::new("127.0.0.1", port, Duration::from_secs(5)));
    let mut open = Vec::new();
    for _ in 0..=LANE_IDLE_MAX {
        open.push(lane.connect().await.expect("a connection"));
    }
    open.into_iter().for_each(|one| lane.take_back(one, None));
    assert_eq!(lane.connections(), idle(LANE_IDLE_MAX, 1));
    tokio::time::pause();
    tokio::time::advance(LANE_IDLE - Duration::from_millis(1)).await;
    assert!(lane.close_stale());
    assert_eq!(lane.connections(), idle(LANE_IDLE_MAX, 1));
    tokio::time::advance(LANE_SWEEP).await;
    assert!(!lane.close_stale());
    assert_eq!(lane.connections(), idle(0, LANE_IDLE_MAX as u64 + 1));
}

/// Leaves an answer of which two bytes have come; what it has still to say the server says then.
async fn leave(rest: Vec<u8>) -> Connections {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (go, gone) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        stream.read_exact(&mut [0; REQUEST_BYTES]).await.expect("a request");
        let begun = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n";
        stream.write_all(begun).await.expect("it is read");
        gone.await.expect("a word");
        // However much of it is read.
        _ = stream.write_all(&rest).await;
        _ = stream.read_to_end(&mut Vec::new()).await;
    });
    let lane = Arc::new(Lane::new("127.0.0.1", port, Duration::from_secs(5)));
    let mut body = lane.ask(REQUEST).await.expect("an answer").body;
    let piece = std::future::poll_fn(|cx| body.poll_piece(cx)).await;
    assert_eq!(piece.expect("a piece").as_deref(), Ok(&b"ab"[..]));
    body.leave();
    assert_eq!(lane.connections(), Connections { closing: 1, ..idle(0, 0) });
    go.send(()).expect("the server waits");
    while lane.connections().closing > 0 {
        tokio::task::yield_now().await;
    }
    lane.connections()
}

#[tokio::test]
async fn a_connection_that_is_left_before_the_end_is_used_again_if_that_comes_soon() {
    assert_eq!(leave(b"0\r\n\r\n".to_vec()).await, idle(1, 0));
    assert_eq!(leave(b"3\r\nend\r\n0\r\n\r\n".to_vec()).await, idle(1, 0));
    let much = LEAVING_BYTES_MAX + 1;
    assert_eq!(leave(format!("{much:x}\r\n{}\r\n", "x".repeat(much)).into()).await, idle(0, 1));
    assert_eq!(leave(Vec::new()).await, idle(0, 1), "after a while");
}
