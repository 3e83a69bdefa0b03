//! What a server spoke is remembered where connections share that, and only as long as it holds.

use crate::scripted_http::{Turn, json, read, response};
use haft_client::{Eras, Options, Target, connect};
use haft_proto::version::Era;
use serde_json::Value;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

/// A server of one era at a time, and the methods that it was asked.
struct Server {
    url: String,
    era: Arc<Mutex<Era>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
        let (era, asked) = (Arc::new(Mutex::new(Era::Legacy)), Arc::<Mutex<Vec<_>>>::default());
        let (spoken, kept) = (Arc::clone(&era), Arc::clone(&asked));
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let Some(request) = read(&mut stream).await else { continue };
                let body: Value = serde_json::from_str(&request.body).unwrap_or_default();
                kept.lock().expect("no panics").extend(body["method"].as_str().map(str::to_owned));
                let era = *spoken.lock().expect("no panics");
                let Turn::Say(bytes) = answer(era, &body) else { continue };
                _ = stream.write_all(bytes.as_bytes()).await;
            }
        });
        Self { url, era, asked }
    }

    /// The era that a connection speaks, and what was asked for that.
    async fn met(&self, eras: &Eras) -> (Era, Vec<String>) {
        let timeout = Duration::from_secs(30);
        let options = Options { eras: eras.clone(), timeout, ..Options::default() };
        self.asked.lock().expect("no panics").clear();
        let client = connect(&Target::Url(self.url.clone()), &options).await.expect("it is there");
        (client.handshake().era, std::mem::take(&mut *self.asked.lock().expect("no panics")))
    }
}

fn answer(era: Era, body: &Value) -> Turn {
    let result = match (era, body["method"].as_str()) {
        (Era::Legacy, Some("initialize")) => {
            r#""protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s"}"#
        }
        (Era::Legacy, Some("notifications/initialized")) => return response(202, "text/plain", ""),
        (Era::Modern, Some("server/discover")) => {
            r#""resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}"#
        }
        _ => return response(400, "text/plain", "no"),
    };
    json(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{{result}}}}}"#, body["id"]))
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

    *server.era.lock().expect("no panics") = Era::Modern;
    let learned = vec![initialize, discover.clone()];
    assert_eq!(server.met(&eras).await, (Era::Modern, learned));
    assert_eq!(server.met(&eras).await, (Era::Modern, vec![discover]));
}
