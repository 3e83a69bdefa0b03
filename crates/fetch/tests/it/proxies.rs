//! Requests through a real proxy.

use crate::origin::{Origin, Reply};
use crate::reach::text;
use haft_fetch::{Auth, Clients, FetchError, Proxies, Reach, Request, Url};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// A proxy that tunnels `CONNECT`, and answers other requests by itself; the heads that it read.
async fn proxy(to: SocketAddr) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let heads = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&heads);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, to, Arc::clone(&kept)));
        }
    });
    (address, heads)
}

async fn serve(stream: TcpStream, to: SocketAddr, heads: Arc<Mutex<Vec<String>>>) {
    let mut stream = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).await.unwrap_or(0) == 0 {
            return;
        }
    }
    let is_tunnel = head.starts_with("CONNECT ");
    heads.lock().expect("nobody panics with it").push(head.to_lowercase());
    if is_tunnel {
        let mut inner = TcpStream::connect(to).await.expect("the server is there");
        _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
        _ = tokio::io::copy_bidirectional(&mut stream, &mut inner).await;
    } else {
        _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nproxy").await;
    }
}

fn request(url: &str) -> Request {
    Request::get(Url::parse(url).expect("an address"))
}

#[tokio::test]
async fn plain_requests_go_through_the_proxy_whole() {
    let origin = Origin::serve(|_| Reply::text("origin")).await;
    let (address, heads) = proxy(origin.address).await;
    let own = format!("http://user:pass@{address}");
    let clients = Clients::with_proxies(Proxies::new(&own, "", "127.0.0.1"));
    // The proxy finds names that this machine does not know.
    let client = clients.of(&Reach::Public);
    let answer = client.send(&request("http://api.invalid/x?y"), &Auth::None).await;
    assert_eq!(text(answer).await, "proxy");
    let head = heads.lock().expect("nobody panics with it").remove(0);
    assert!(head.starts_with("get http://api.invalid/x?y http/1.1\r\n"), "{head}");
    assert!(head.contains("proxy-authorization: basic dxnlcjpwyxnz\r\n"), "{head}");
    // `NO_PROXY` is reached without.
    let client = clients.of(&Reach::Anywhere);
    let answer = client.send(&request(&origin.url("/")), &Auth::None).await;
    assert_eq!(text(answer).await, "origin");
    assert_eq!(origin.only().header("proxy-authorization"), None);
}

#[tokio::test]
async fn secure_requests_go_through_a_tunnel() {
    let origin = Origin::serve(|_| Reply::text("no TLS here")).await;
    let (address, heads) = proxy(origin.address).await;
    let own = format!("http://user:pass@{address}");
    let client = Clients::with_proxies(Proxies::new("", &own, "")).of(&Reach::Public);
    let error = client.send(&request("https://api.invalid/"), &Auth::None).await.expect_err("TLS");
    assert!(matches!(error, FetchError::Tls { .. } | FetchError::NoTrustedRoots), "{error:?}");
    let head = heads.lock().expect("nobody panics with it").remove(0);
    assert!(head.starts_with("connect api.invalid:443 http/1.1\r\n"), "{head}");
    assert!(head.contains("proxy-authorization: basic dxnlcjpwyxnz\r\n"), "{head}");
}

#[tokio::test]
async fn an_address_is_checked_before_the_proxy_is_asked() {
    let origin = Origin::serve(|_| Reply::text("x")).await;
    let (address, heads) = proxy(origin.address).await;
    let own = format!("http://{address}");
    let client = Clients::with_proxies(Proxies::new(&own, &own, "")).of(&Reach::Public);
    for url in ["http://169.254.169.254/", "https://10.0.0.1/", "http://[::1]/"] {
        let refused = client.send(&request(url), &Auth::None).await.map(|_| ());
        assert!(matches!(refused, Err(FetchError::PrivateAddress { .. })), "{url}: {refused:?}");
    }
    assert!(heads.lock().expect("nobody panics with it").is_empty());
}

#[tokio::test]
async fn a_name_of_the_own_network_is_not_asked_of_the_proxy() {
    let origin = Origin::serve(|_| Reply::text("x")).await;
    let (address, heads) = proxy(origin.address).await;
    let own = format!("http://{address}");
    let clients = Clients::with_proxies(Proxies::new(&own, &own, ""));
    for url in [
        "http://localhost/",
        "https://a.localhost./",
        "http://127.1/",
        "http://2130706433/",
        "https://0x7f.1/",
        "http://metadata.google.internal/",
    ] {
        let refused = clients.of(&Reach::Public).send(&request(url), &Auth::None).await.map(|_| ());
        assert!(matches!(refused, Err(FetchError::PrivateName { .. })), "{url}: {refused:?}");
    }
    assert!(heads.lock().expect("nobody panics with it").is_empty());
    let named = Reach::Listed(vec!["localhost".parse().expect("a host")]);
    let answer = clients.of(&named).send(&request("http://localhost/"), &Auth::None).await;
    assert_eq!(text(answer).await, "proxy");
}

#[tokio::test]
async fn a_proxy_that_is_none_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let nobody = format!("http://{}", listener.local_addr().expect("it is bound"));
    drop(listener);
    for own in [&*nobody, "socks5://127.0.0.1:1"] {
        let client = Clients::with_proxies(Proxies::new(own, own, "")).of(&Reach::Public);
        let error = client.send(&request("http://api.invalid/"), &Auth::None).await;
        assert!(matches!(error, Err(FetchError::Proxy { .. })), "{own}: {error:?}");
    }
}
