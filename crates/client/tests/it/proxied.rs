//! Servers that are reached through a proxy: plain ones by it, secure ones through a tunnel, and
//! those of `NO_PROXY` without.

use crate::scripted_http::{Scripted, json, with_headers};
use haft_client::{ClientError, Options, Proxies, Target, connect};
use haft_proto::version::Era;
use std::time::Duration;

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25",
    "capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#;
const TOOLS: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}"#;

fn options(proxies: Proxies) -> Options {
    let (era, timeout) = (Some(Era::Legacy), Duration::from_secs(60));
    Options { era, timeout, proxies: Some(proxies), ..Options::default() }
}

/// What stands in the way, whoever it is taken for.
async fn scripted() -> (Scripted, String) {
    let server = Scripted::new([json(INITIALIZED), with_headers(202, "", ""), json(TOOLS)]).await;
    let address = server.url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
    (server, address)
}

#[tokio::test]
async fn plain_requests_go_to_the_proxy_with_the_whole_address() {
    let (mut proxy, address) = scripted().await;
    let proxies = Proxies::new(&format!("http://ada:pass@{address}"), "", "other.invalid");
    let target = Target::Url("http://server.invalid/mcp".to_owned());
    let client = connect(&target, &options(proxies)).await.expect("a connection");
    assert!(client.list_tools().await.expect("a list").tools.is_empty());
    for _ in 0..3 {
        let request = proxy.request().await;
        let line = request.head.lines().next().unwrap_or_default().to_lowercase();
        assert_eq!(line, "post http://server.invalid/mcp http/1.1");
        assert_eq!(request.header("proxy-authorization"), Some("Basic YWRhOnBhc3M="));
    }
}

#[tokio::test]
async fn what_no_proxy_names_is_reached_without() {
    for no_proxy in ["127.0.0.1", "127.0.0.0/8", "a.invalid, 127.0.0.1", "*"] {
        let (mut server, _) = scripted().await;
        // Nobody is there.
        let proxies = Proxies::new("http://127.0.0.1:9", "http://127.0.0.1:9", no_proxy);
        let target = Target::Url(server.url.clone());
        let client = connect(&target, &options(proxies)).await.expect(no_proxy);
        assert!(client.list_tools().await.expect("a list").tools.is_empty());
        let request = server.request().await;
        let line = request.head.lines().next().unwrap_or_default().to_lowercase();
        assert_eq!(line, "post /mcp http/1.1", "{no_proxy}");
        assert_eq!(request.header("proxy-authorization"), None);
    }
}

#[tokio::test]
async fn secure_requests_go_through_a_tunnel_and_a_refusal_says_whose_it_is() {
    let mut proxy = Scripted::new([with_headers(403, "", "")]).await;
    let address = proxy.url.trim_end_matches("/mcp").to_owned();
    let proxies = Proxies::new("", &address, "");
    let target = Target::Url("https://server.invalid/mcp".to_owned());
    let error = connect(&target, &options(proxies)).await.expect_err("it is refused");
    let ClientError::Unreachable { authority, reason } = &error else { panic!("{error}") };
    assert_eq!(authority, "server.invalid");
    assert!(reason.contains("the proxy cannot be used"), "{reason}");
    let line = proxy.request().await.head.lines().next().unwrap_or_default().to_lowercase();
    assert_eq!(line, "connect server.invalid:443 http/1.1");
}
