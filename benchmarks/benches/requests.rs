//! What a tool that asks a server adds to the request itself: the same request to the same server
//! of this machine, sent by hyper-util's client alone, by `haft_fetch`, and by a call of an `http`
//! tool. Also what a file with many such tools costs to load.
//! `cargo bench -p haft-benchmarks --bench requests`

use divan::Bencher;
use haft_fetch::{Auth, Clients, Reach, Request, Url};
use haft_proto::admit;
use haft_proto::envelope::{self, Incoming};
use haft_proto::method::Method;
use haft_proto::service::{Ask, Asked, Outlet, Principal, Service, Turn, Unanswered, Wire};
use haft_proto::version::Revision;
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
use std::sync::Arc;
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
    let server = server_of(&manifest(&address.to_string(), 1));
    let request = call("tool0", r#"{"city":"Oslo","days":3}"#);
    bencher.bench_local(|| {
        let answer = runtime.block_on(ask(&server, &request));
        assert!(answer.windows(7).any(|window| window == b"celsius"));
        answer
    });
}

/// The time from text to server of a file with so many tools.
#[divan::bench(args = [1, 100, 500])]
fn load(bencher: Bencher<'_, '_>, tools: usize) {
    let yaml = manifest("api.example.com", tools);
    bencher.bench_local(|| server_of(&yaml));
}

/// The same for tools that answer with a text.
#[divan::bench(args = [1, 100, 500])]
fn load_texts(bencher: Bencher<'_, '_>, tools: usize) {
    let mut yaml = "server: { name: bench }\ntools:\n".to_owned();
    for number in 0..tools {
        yaml.push_str(&format!(
            "  - name: tool{number}\n    description: The weather of a city.\n    \
             input: {{ city: string, \"days?\": integer }}\n    \
             text: \"{{{{ city }}}} and {{{{ days }}}}\"\n"
        ));
    }
    bencher.bench_local(|| server_of(&yaml));
}

fn manifest(host: &str, tools: usize) -> String {
    let mut yaml = "server: { name: bench }\ntools:\n".to_owned();
    for number in 0..tools {
        yaml.push_str(&format!(
            "  - name: tool{number}\n    description: The weather of a city.\n    \
             input: {{ city: string, \"days?\": integer }}\n    http:\n      \
             get: \"http://{host}/v1/{{{{ city }}}}\"\n      \
             query: {{ days: \"{{{{ days }}}}\" }}\n      allow_private: true\n"
        ));
    }
    yaml
}

fn server_of(yaml: &str) -> Server {
    let manifest = haft_manifest::parse(Path::new("/haft.yaml"), yaml).expect("it is right");
    manifest.server().expect("it is right")
}

fn call(tool: &str, arguments: &str) -> String {
    let meta = format!(
        r#"{{"io.modelcontextprotocol/protocolVersion":"{}","{}":{{}}}}"#,
        Revision::LATEST.as_str(),
        "io.modelcontextprotocol/clientCapabilities",
    );
    let params = format!(r#"{{"name":"{tool}","arguments":{arguments},"_meta":{meta}}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#)
}

async fn ask(server: &Server, request: &str) -> Vec<u8> {
    let Ok(Incoming::One(message)) = envelope::read(request.as_bytes(), server.limits()) else {
        panic!("it is a message")
    };
    let admitted = admit::modern_request(&message, None).expect("it is right");
    let ask = Ask {
        id: message.id.expect("it has an id"),
        message: &message,
        method: admitted.method,
        revision: admitted.revision,
        session: None,
        principal: &Principal::Local,
        headers: None,
        wire: &Deaf,
    };
    let mut out = Vec::new();
    match server.ask(ask, &mut out) {
        Turn::Later(later) => later.await.message,
        _ => panic!("it waits for a server"),
    }
}

/// A wire that nobody reads notifications from.
struct Deaf;

impl Wire for Deaf {
    fn outlet(&self) -> Arc<dyn Outlet> {
        Arc::new(Self)
    }
}

impl Outlet for Deaf {
    fn send(&self, _: Vec<u8>) -> bool {
        false
    }

    fn ask(&self, _: Method, _: String) -> Asked {
        Box::pin(std::future::ready(Err(Unanswered::Gone)))
    }
}
