//! How far a request reaches, and what a server can do to whoever asks it.

use crate::origin::{Origin, Reply};
use haft_fetch::limits::{CONNECT_TIME_MAX, HEAD_BYTES_MAX};
use haft_fetch::{Answer, Auth, Clients, FetchError, Proxies, Reach, Request, Url};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Clients that use no proxy, whatever the environment says.
pub(crate) fn direct() -> Clients {
    Clients::with_proxies(Proxies::new("", "", ""))
}

pub(crate) async fn get(url: &str, reach: &Reach) -> Result<Answer, FetchError> {
    let request = Request::get(Url::parse(url).expect("an address"));
    direct().of(reach).send(&request, &Auth::None).await
}

pub(crate) async fn text(answer: Result<Answer, FetchError>) -> String {
    let answer = answer.unwrap_or_else(|error| panic!("{error}"));
    let bytes = answer.bytes(1_000_000).await.expect("the body comes");
    String::from_utf8(bytes.to_vec()).expect("it is text")
}

#[tokio::test]
async fn an_address_of_this_machine_is_refused_unless_it_is_allowed() {
    let origin = Origin::serve(|_| Reply::text("secret")).await;
    let port = origin.address.port();
    for host in ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433"] {
        let refused = get(&format!("http://{host}:{port}/"), &Reach::Public).await;
        assert!(matches!(refused, Err(FetchError::PrivateAddress { .. })), "{host}: {refused:?}");
    }
    assert_eq!(origin.connections(), 0);
    let listed = Reach::Listed(vec!["127.0.0.0/8".parse().expect("a network")]);
    let by_name = Reach::Listed(vec!["localhost".parse().expect("a host")]);
    assert_eq!(text(get(&origin.url("/"), &listed).await).await, "secret");
    assert_eq!(text(get(&origin.url("/"), &Reach::Anywhere).await).await, "secret");
    let named = format!("http://localhost:{port}/");
    assert_eq!(text(get(&named, &by_name).await).await, "secret");
    assert!(get(&origin.url("/"), &by_name).await.is_err());
}

#[tokio::test]
async fn a_connection_of_those_who_may_is_not_used_by_those_who_may_not() {
    let origin = Origin::serve(|_| Reply::text("x")).await;
    let (clients, url) = (direct(), format!("http://localhost:{}/", origin.address.port()));
    let request = Request::get(Url::parse(&url).expect("an address"));
    assert!(clients.of(&Reach::Anywhere).send(&request, &Auth::None).await.is_ok());
    let refused = clients.of(&Reach::Public).send(&request, &Auth::None).await;
    assert!(matches!(refused, Err(FetchError::PrivateAddress { .. })));
}

#[tokio::test]
async fn a_connection_is_kept_and_used_again() {
    let origin = Origin::serve(|_| Reply::text("x")).await;
    let clients = direct();
    for _ in 0..3 {
        let request = Request::get(Url::parse(&origin.url("/")).expect("an address"));
        let answer = clients.of(&Reach::Anywhere).send(&request, &Auth::None).await;
        assert_eq!(text(answer).await, "x");
    }
    assert_eq!((origin.seen().len(), origin.connections()), (3, 1));
    let seen = &origin.seen()[0];
    assert!(seen.header("user-agent").is_some_and(|agent| agent.starts_with("haft/")));
    assert_eq!(seen.header("accept-encoding"), Some("gzip, br, zstd, deflate"));
}

#[tokio::test]
async fn an_answer_is_read_as_far_as_its_reader_wants() {
    let origin = Origin::serve(|seen| match &*seen.target {
        "/endless" => Reply::endless(),
        "/claimed" => Reply::text("x".repeat(2000)),
        _ => Reply::text("x".repeat(1000)),
    })
    .await;
    let fetch = async |path: &str| get(&origin.url(path), &Reach::Anywhere).await.expect("a head");
    assert_eq!(fetch("/").await.bytes(1000).await.map(|body| body.len()), Ok(1000));
    for path in ["/", "/claimed", "/endless"] {
        let refused = fetch(path).await.bytes(999).await;
        assert!(matches!(refused, Err(FetchError::TooLarge { limit: 999, .. })), "{path}");
    }
    assert_eq!(fetch("/endless").await.beginning(100_000).await.len(), 100_000);
}

#[tokio::test]
async fn a_head_without_end_is_cut() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("it is bound"));
    let written = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("somebody comes");
        _ = stream.read(&mut [0; 1024]).await;
        _ = stream.write_all(b"HTTP/1.1 200 OK\r\n").await;
        let mut written = 0;
        while stream.write_all(&[b'x'; 1024]).await.is_ok() {
            written += 1024;
        }
        written
    });
    let broken = get(&url, &Reach::Anywhere).await;
    assert!(matches!(broken, Err(FetchError::Broken { .. })), "{broken:?}");
    // The system's buffers hold some more than is read.
    let written = tokio::time::timeout(Duration::from_secs(20), written).await;
    let written = written.expect("the connection is closed").expect("the server does not panic");
    assert!(written < HEAD_BYTES_MAX + 64 * 1024 * 1024, "{written}");
}

#[tokio::test]
async fn who_is_not_there_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("it is bound"));
    drop(listener);
    let error = get(&url, &Reach::Anywhere).await.expect_err("nobody listens");
    assert!(error.to_string().starts_with("`127.0.0.1` cannot be reached: "), "{error}");
    let error = get("http://no-such-host.invalid/", &Reach::Anywhere).await.expect_err("no name");
    assert!(matches!(&error, FetchError::UnknownHost { host, .. } if host.ends_with("invalid")));
    let origin = Origin::serve(|_| Reply::text("no TLS")).await;
    let url = origin.url("/").replace("http:", "https:");
    let error = get(&url, &Reach::Anywhere).await.expect_err("it speaks no TLS");
    let is_tls = matches!(error, FetchError::Tls { .. } | FetchError::NoTrustedRoots);
    assert!(is_tls, "{error:?}");
}

#[tokio::test]
async fn a_server_that_hangs_up_is_told_from_one_that_answers() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("it is bound"));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            _ = stream.read(&mut [0; 1024]).await;
            _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf").await;
        }
    });
    let answer = get(&url, &Reach::Anywhere).await.expect("the head comes");
    assert!(matches!(answer.bytes(100).await, Err(FetchError::Broken { .. })));
}

#[tokio::test]
async fn a_kept_connection_that_was_closed_is_no_failure_of_what_only_reads() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("it is bound"));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            // The first request of each connection is answered, the second one is not.
            _ = stream.read(&mut [0; 1024]).await;
            _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
            _ = stream.read(&mut [0; 1024]).await;
        }
    });
    let client = direct().of(&Reach::Anywhere);
    let mut request = Request::get(Url::parse(&url).expect("an address"));
    for _ in 0..4 {
        assert_eq!(text(client.send(&request, &Auth::None).await).await, "ok");
    }
    request.method = http::Method::POST;
    let refused = client.send(&request, &Auth::None).await.map(|_| ());
    assert!(matches!(refused, Err(FetchError::Broken { .. })), "{refused:?}");
}

#[tokio::test]
async fn a_dropped_request_is_taken_back() {
    let origin = Origin::serve(|_| Reply::never()).await;
    let url = origin.url("/");
    let clients = direct();
    let request = Request::get(Url::parse(&url).expect("an address"));
    let client = clients.of(&Reach::Anywhere);
    let asking = tokio::spawn(async move { client.send(&request, &Auth::None).await.map(|_| ()) });
    while origin.seen().is_empty() {
        tokio::task::yield_now().await;
    }
    asking.abort();
    tokio::time::timeout(Duration::from_secs(20), origin.gone()).await.expect("it is hung up");
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_does_not_come_about_is_given_up() {
    // Who listens and never accepts more than fit in the queue: TLS waits for a greeting.
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("https://{}/", listener.local_addr().expect("it is bound"));
    let error = get(&url, &Reach::Anywhere).await.expect_err("nobody greets");
    let slow = FetchError::SlowConnection { host: "127.0.0.1".into(), within: CONNECT_TIME_MAX };
    assert!([slow, FetchError::NoTrustedRoots].contains(&error), "{error:?}");
}
