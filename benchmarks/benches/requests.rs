//! What a tool that asks a server adds to the request itself: the same request to the same server
//! of this machine, sent by hyper-util's client alone, by `haft_fetch`, and by a call of an `http`
//! tool.
//! `cargo bench -p haft-benchmarks --bench requests`

use divan::Bencher;
use haft_benchmarks::{answered, call};
use haft_fetch::{Auth, Clients, Reach, Request, Url};
use haft_server::Server;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::service::service_fn;
use hyper::{Response, server};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

fn main() {
    divan::main();
}

const ANSWER: &[u8] = br#"{"city":"Oslo","celsius":-3.5,"wind":{"speed":4,"from":"NW"}}"#;

/// A runtime, and a server on a thread of its own that answers the same to all.
fn origin() -> (Runtime, SocketAddr) {
    let (sender, receiver) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        runtime().block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
            sender.send(listener.local_addr().expect("it is bound")).expect("somebody waits");
            while let Ok((stream, _)) = listener.accept().await {
                let service = service_fn(async |_| {
                    let json = Response::builder().header("content-type", "application/json");
                    Ok::<_, Infallible>(
                        json.body(Full::new(Bytes::from_static(ANSWER))).expect("it"),
                    )
                });
                _ = stream.set_nodelay(true);
                let http = server::conn::http1::Builder::new();
                tokio::spawn(http.serve_connection(TokioIo::new(stream), service));
            }
        });
    });
    (runtime(), receiver.recv().expect("the server starts"))
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

#[divan::bench]
fn bare_client(bencher: Bencher<'_, '_>) {
    let (runtime, address) = origin();
    let client: Client<_, Full<Bytes>> =
        Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    let url: hyper::Uri = format!("http://{address}/v1/Oslo?days=3").parse().expect("an address");
    bencher.bench_local(|| {
        runtime.block_on(async {
            let answer = client.get(url.clone()).await.expect("an answer");
            answer.into_body().collect().await.expect("a body").to_bytes()
        })
    });
}

#[divan::bench]
fn fetch(bencher: Bencher<'_, '_>) {
    let (runtime, address) = origin();
    let client = Clients::new().of(&Reach::Anywhere);
    let url = Url::parse(&format!("http://{address}/v1/Oslo?days=3")).expect("an address");
    let request = Request::get(url);
    bencher.bench_local(|| {
        runtime.block_on(async {
            let answer = client.send(&request, &Auth::None).await.expect("an answer");
            answer.bytes(1024).await.expect("a body")
        })
    });
}

#[divan::bench]
fn tool(bencher: Bencher<'_, '_>) {
    let (runtime, address) = origin();
    let server = server_of(&manifest(&address.to_string()));
    let request = call("tool", r#"{"city":"Oslo","days":3}"#);
    bencher.bench_local(|| {
        let answer = runtime.block_on(answered(&server, &request));
        assert!(answer.windows(7).any(|window| window == b"celsius"));
        answer
    });
}

fn manifest(host: &str) -> String {
    format!(
        "server: {{ name: bench }}
tools:
  - name: tool
    input: {{ city: string, \"days?\": integer }}
    http:
      get: \"http://{host}/v1/{{{{ city }}}}\"
      query: {{ days: \"{{{{ days }}}}\" }}
      allow_private: true
"
    )
}

fn server_of(yaml: &str) -> Server {
    let manifest = haft_manifest::parse(Path::new("/haft.yaml"), yaml).expect("it is right");
    manifest.server().expect("it is right")
}
