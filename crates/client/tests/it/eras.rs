//! What a server spoke is remembered where connections share that, and only as long as it holds.

use crate::scripted_http::{Turn, events, json, read, response};
use haft_client::{Client, ClientError, Eras, Options, Target, connect};
use haft_proto::version::Era;
use serde_json::Value;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

/// What a server is at a time.
#[derive(Clone, Copy)]
enum Speaks {
    Legacy,
    Modern,
    OldSse,
    /// The legacy era, beside what is left of the transport of 2024-11-05.
    Both,
    /// Nothing but this HTTP status.
    Only(u16),
}

/// A server, and the methods that it was asked.
struct Server {
    url: String,
    speaks: Arc<Mutex<Speaks>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
        let (speaks, asked) =
            (Arc::new(Mutex::new(Speaks::Legacy)), Arc::<Mutex<Vec<_>>>::default());
        let (spoken, kept) = (Arc::clone(&speaks), Arc::clone(&asked));
        tokio::spawn(async move {
            let mut held = None;
            while let Ok((mut stream, _)) = listener.accept().await {
                let Some(request) = read(&mut stream).await else { continue };
                let body: Value = serde_json::from_str(&request.body).unwrap_or_default();
                let is_get = request.head.starts_with("GET");
                let method = if is_get { Some("GET") } else { body["method"].as_str() };
                kept.lock().expect("no panics").extend(method.map(str::to_owned));
                let speaks = *spoken.lock().expect("no panics");
                if is_get && matches!(speaks, Speaks::OldSse | Speaks::Both) {
                    let endpoint = events("event: endpoint\ndata: /messages\n\n");
                    _ = stream.write_all(endpoint.as_bytes()).await;
                    held = Some(stream);
                    continue;
                }
                let is_old = request.head.starts_with("POST /messages");
                if let (true, Speaks::OldSse, Some(held)) = (is_old, speaks, &mut held) {
                    if body["id"].is_u64() {
                        let event = format!("data: {}\n\n", message(Speaks::Legacy, &body));
                        _ = held.write_all(event.as_bytes()).await;
                    }
                    _ = stream.write_all(bytes(response(202, "text/plain", "")).as_bytes()).await;
                    continue;
                }
                let turn =
                    if is_old { response(405, "text/plain", "no") } else { answer(speaks, &body) };
                _ = stream.write_all(bytes(turn).as_bytes()).await;
            }
        });
        Self { url, speaks, asked }
    }

    /// The era that a connection speaks, and what was asked for that.
    async fn met(&self, eras: &Eras) -> (Era, Vec<String>) {
        let (client, asked) = self.tried(eras).await;
        (client.expect("it is there").handshake().era, asked)
    }

    async fn tried(&self, eras: &Eras) -> (Result<Client, ClientError>, Vec<String>) {
        let timeout = Duration::from_secs(30);
        let options = Options { eras: eras.clone(), timeout, ..Options::default() };
        self.asked.lock().expect("no panics").clear();
        let client = connect(&Target::Url(self.url.clone()), &options).await;
        (client, std::mem::take(&mut *self.asked.lock().expect("no panics")))
    }

    fn becomes(&self, speaks: Speaks) {
        *self.speaks.lock().expect("no panics") = speaks;
    }
}

fn bytes(turn: Turn) -> String {
    let Turn::Say(bytes) = turn else { panic!("{turn:?}") };
    bytes
}

fn answer(speaks: Speaks, body: &Value) -> Turn {
    match (speaks, body["method"].as_str()) {
        (Speaks::Legacy | Speaks::Both, Some("notifications/initialized")) => {
            response(202, "text/plain", "")
        }
        (Speaks::Legacy | Speaks::Both, Some("initialize"))
        | (Speaks::Modern, Some("server/discover")) => json(&message(speaks, body)),
        (Speaks::OldSse, _) => response(405, "text/plain", "no"),
        (Speaks::Only(status), _) => response(status, "text/plain", "no"),
        _ => response(400, "text/plain", "no"),
    }
}

fn message(speaks: Speaks, body: &Value) -> String {
    let result = match speaks {
        Speaks::Modern => {
            r#""resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}"#
        }
        _ => r#""protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s"}"#,
    };
    format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{{result}}}}}"#, body["id"])
}

#[tokio::test]
async fn a_legacy_server_is_asked_once_what_it_speaks_and_again_when_that_has_changed() {
    let (server, eras) = (Server::new().await, Eras::default());
    let [discover, initialize, initialized] =
        ["server/discover", "initialize", "notifications/initialized"].map(str::to_owned);
    let shaken = vec![initialize.clone(), initialized];
    let asked = [vec![discover.clone()], shaken.clone()].concat();
    assert_eq!(server.met(&eras).await, (Era::Legacy, asked.clone()));
    assert_eq!(server.met(&eras).await, (Era::Legacy, shaken));
    assert_eq!(server.met(&Eras::default()).await, (Era::Legacy, asked), "nothing is shared");

    server.becomes(Speaks::Modern);
    let learned = vec![initialize, discover.clone()];
    assert_eq!(server.met(&eras).await, (Era::Modern, learned));
    assert_eq!(server.met(&eras).await, (Era::Modern, vec![discover]));
}

#[tokio::test]
async fn a_server_of_2024_is_asked_once_what_it_speaks_and_again_when_that_has_changed() {
    let (server, eras) = (Server::new().await, Eras::default());
    let (discover, get) = (vec!["server/discover".to_owned()], vec!["GET".to_owned()]);
    let shaken = ["initialize", "notifications/initialized"].map(str::to_owned).to_vec();
    let known = [get.clone(), shaken.clone()].concat();
    server.becomes(Speaks::OldSse);
    let refused = shaken[..1].to_vec();
    let asked = [discover.clone(), refused.clone(), known.clone()].concat();
    assert_eq!(server.met(&eras).await, (Era::Legacy, asked));
    assert_eq!(server.met(&eras).await, (Era::Legacy, known));

    server.becomes(Speaks::Both);
    let learned = [get, refused, discover, shaken.clone()].concat();
    assert_eq!(server.met(&eras).await, (Era::Legacy, learned));
    assert_eq!(server.met(&eras).await, (Era::Legacy, shaken));
}

#[tokio::test]
async fn an_outage_and_a_lack_of_credentials_say_nothing_of_what_a_server_speaks() {
    let (server, eras) = (Server::new().await, Eras::default());
    let shaken = ["initialize", "notifications/initialized"].map(str::to_owned).to_vec();
    server.met(&eras).await;
    for status in [503, 429, 401] {
        server.becomes(Speaks::Only(status));
        let (refused, asked) = server.tried(&eras).await;
        assert!(refused.is_err() && asked == shaken[..1], "{status}: {asked:?}");
        server.becomes(Speaks::Legacy);
        assert_eq!(server.met(&eras).await, (Era::Legacy, shaken.clone()), "after {status}");
    }
}
