//! Real processes over HTTP/3, with a client that others wrote (`h3` over `h3-quinn`): `haft serve`
//! with a certificate, and the server of the conformance suite, which has to say over it all that
//! it says over stdio.

use crate::everything::{Peer, VERSIONS, check};
use crate::foreign;
use crate::guard::Guard;
use h3::client::{RequestStream, SendRequest};
use h3::error::ConnectionError;
use http::Request;
use http::request::Builder;
use hyper::body::{Buf, Bytes};
use quinn::crypto::rustls::QuicClientConfig;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs::Permissions;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

const DEADLINE: Duration = Duration::from_secs(20);

/// A certificate of this machine and its key, in files.
struct Identity {
    certificate: CertificateDer<'static>,
    directory: TempDir,
}

impl Identity {
    fn new() -> Self {
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let own = rcgen::generate_simple_self_signed(names).expect("a certificate is made");
        let directory = TempDir::new().expect("there is a directory for temporary files");
        let identity = Self { certificate: own.cert.der().clone(), directory };
        std::fs::write(identity.file("cert.pem"), own.cert.pem()).expect("it is ours");
        std::fs::write(identity.file("key.pem"), own.signing_key.serialize_pem()).expect("ours");
        identity.allow(0o600);
        identity
    }

    /// Who may do what with the key.
    fn allow(&self, mode: u32) {
        let allowed = Permissions::from_mode(mode);
        std::fs::set_permissions(self.file("key.pem"), allowed).expect("it is ours");
    }

    /// What a client trusts, and speaks by that name.
    fn client(&self, protocol: &[u8]) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).expect("it is a certificate");
        let mut tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring has them")
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols = vec![protocol.to_vec()];
        tls
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

/// A process, and what it says.
type Server = (Guard, BufReader<ChildStderr>);

/// A server that says where it is, and that address, like `127.0.0.1:7300/mcp`.
fn started(mut command: Command) -> (Server, String) {
    let mut child = Guard(command.stderr(Stdio::piped()).spawn().expect("it was built"));
    let mut said = String::new();
    let mut stderr = BufReader::new(child.0.stderr.take().expect("it is piped"));
    stderr.read_line(&mut said).expect("it says where it listens");
    let (_, place) = said.trim().rsplit_once("https://").unwrap_or_else(|| panic!("{said}"));
    ((child, stderr), place.to_owned())
}

type Sender = SendRequest<h3_quinn::OpenStreams, Bytes>;
type Stream = RequestStream<h3_quinn::BidiStream<Bytes>, Bytes>;

/// QUIC to that address.
async fn quic(
    place: &str,
    identity: &Identity,
) -> Result<quinn::Connection, quinn::ConnectionError> {
    let crypto = QuicClientConfig::try_from(identity.client(b"h3")).expect("TLS 1.3");
    let mut client = quinn::Endpoint::client(([127, 0, 0, 1], 0).into()).expect("a free port");
    client.set_default_client_config(quinn::ClientConfig::new(Arc::new(crypto)));
    let (address, _) = place.split_once('/').expect("there is a path");
    let address = address.parse().expect("an address");
    let connecting = client.connect(address, "localhost").expect("an address");
    timeout(DEADLINE, connecting).await.expect("in time")
}

/// A connection to that address, and what ends with it.
async fn connect(place: &str, identity: &Identity) -> (Sender, JoinHandle<ConnectionError>) {
    let quic = h3_quinn::Connection::new(quic(place, identity).await.expect("QUIC"));
    let (mut driver, sender) = h3::client::new(quic).await.expect("HTTP/3");
    let driver = async move { std::future::poll_fn(|cx| driver.poll_close(cx)).await };
    (sender, tokio::spawn(driver))
}

/// What requests need that tasks send.
struct Wire {
    sender: Sender,
    place: String,
    /// The headers of a legacy session.
    session: Mutex<Vec<(&'static str, String)>>,
    heard: mpsc::Sender<Value>,
}

/// The server of the conformance suite over HTTP/3: what comes on any of its streams, is heard.
struct Socket {
    runtime: Runtime,
    wire: Arc<Wire>,
    heard: mpsc::Receiver<Value>,
    _server: (Server, Identity),
}

impl Socket {
    fn start() -> Self {
        let identity = Identity::new();
        let mut words = foreign::fixture::words().into_iter();
        let mut command = Command::new(words.next().expect("a command"));
        command.args(words).args(["--https", "127.0.0.1:0"]);
        command.args(["cert.pem", "key.pem"].map(|name| identity.file(name)));
        let (server, place) = started(command);
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().expect("a runtime");
        let (sender, _) = runtime.block_on(connect(&place, &identity));
        let (heard, hears) = mpsc::channel(64);
        let wire = Arc::new(Wire { sender, place, session: Mutex::default(), heard });
        Self { runtime, wire, heard: hears, _server: (server, identity) }
    }
}

impl Peer for Socket {
    fn send(&mut self, message: &Value) {
        let (wire, message) = (Arc::clone(&self.wire), message.clone());
        if message.get("method").is_some() && message.get("id").is_some() {
            self.runtime.spawn(async move { wire.ask(&message).await });
            return;
        }
        self.runtime.block_on(wire.tell(&message));
        if message["method"] == "notifications/initialized" {
            // What is said unasked comes there.
            self.runtime.spawn(async move { wire.listen(None).await });
        }
    }

    fn read(&mut self) -> Value {
        let heard = self.runtime.block_on(async { timeout(DEADLINE, self.heard.recv()).await });
        heard.expect("the server answers").expect("the wire is there")
    }
}

impl Wire {
    async fn tell(&self, message: &Value) {
        let mut stream = self.post(message).await;
        let head = stream.recv_response().await.expect("an answer");
        assert_eq!(head.status(), 202, "{message}");
    }

    async fn ask(&self, message: &Value) {
        let mut stream = self.post(message).await;
        let head = stream.recv_response().await.expect("an answer");
        if let Some(session) = head.headers().get("mcp-session-id") {
            let session = session.to_str().expect("ASCII").to_owned();
            let version = message["params"]["protocolVersion"].as_str().expect("a version");
            let headers =
                vec![("mcp-session-id", session), ("mcp-protocol-version", version.to_owned())];
            *self.session.lock().expect("nobody panics with it") = headers;
        }
        if head.headers()["content-type"] == "application/json" {
            let mut body = Vec::new();
            while let Some(mut data) = stream.recv_data().await.expect("the rest") {
                body.extend_from_slice(&data.copy_to_bytes(data.remaining()));
            }
            let body = serde_json::from_slice(&body).expect("JSON");
            return self.heard.send(body).await.expect("somebody hears");
        }
        // A stream may end before its answer, which is then asked for again.
        let mut last = self.hear(stream).await;
        while let Some(id) = last {
            last = self.listen(Some(id)).await;
        }
    }

    /// Hears what comes unasked, or what came after that event.
    async fn listen(&self, last: Option<String>) -> Option<String> {
        let request = self.request("GET").header("accept", "text/event-stream");
        let request = last.iter().fold(request, |it, last| it.header("last-event-id", last));
        let mut stream = self.send(request, None).await;
        let head = stream.recv_response().await.expect("an answer");
        assert_eq!(head.status(), 200);
        self.hear(stream).await
    }

    /// Hears a stream of events to its end: which was the last, if there was no answer among them.
    async fn hear(&self, mut stream: Stream) -> Option<String> {
        let (mut unread, mut last) = (String::new(), None);
        let mut is_answered = false;
        while let Ok(Some(mut data)) = stream.recv_data().await {
            let data = data.copy_to_bytes(data.remaining());
            unread.push_str(std::str::from_utf8(&data).expect("no letter is cut"));
            while let Some((event, rest)) = unread.split_once("\n\n") {
                let field = |name| event.lines().find_map(|line| line.strip_prefix(name));
                last = field("id: ").map(str::to_owned).or(last);
                if let Some(data) = field("data: ").filter(|data| !data.is_empty()) {
                    let message: Value = serde_json::from_str(data).expect("JSON");
                    is_answered |= message.get("method").is_none();
                    self.heard.send(message).await.expect("somebody hears");
                }
                unread = rest.to_owned();
            }
        }
        last.filter(|_| !is_answered)
    }

    async fn post(&self, message: &Value) -> Stream {
        let mut request = self
            .request("POST")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        let params = &message["params"];
        let version = &params["_meta"]["io.modelcontextprotocol/protocolVersion"];
        if let (Some(version), Some(method)) = (version.as_str(), message["method"].as_str()) {
            request = request.header("mcp-protocol-version", version).header("mcp-method", method);
            let name = params["name"].as_str().or_else(|| params["uri"].as_str());
            request = name.iter().fold(request, |it, name| it.header("mcp-name", *name));
            let region = params["arguments"]["region"].as_str();
            request =
                region.iter().fold(request, |it, it_is| it.header("mcp-param-region", *it_is));
        }
        self.send(request, Some(message)).await
    }

    fn request(&self, verb: &str) -> Builder {
        let session = self.session.lock().expect("nobody panics with it");
        let request = Request::builder().method(verb).uri(format!("https://{}", self.place));
        session.iter().fold(request, |it, (name, value)| it.header(*name, value))
    }

    async fn send(&self, request: Builder, message: Option<&Value>) -> Stream {
        let request = request.body(()).expect("a request");
        let mut stream = self.sender.clone().send_request(request).await.expect("it is taken");
        if let Some(message) = message {
            stream.send_data(message.to_string().into()).await.expect("it is taken");
        }
        stream.finish().await.expect("it is taken");
        stream
    }
}

#[test]
fn the_server_of_the_conformance_suite_says_the_same_as_over_stdio() {
    VERSIONS.iter().for_each(|version| check(&mut Socket::start(), version));
}

fn serve(identity: &Identity, files: [&str; 2]) -> Command {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/quickstart/haft.yaml");
    let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
    let [certificate, key] = files.map(|name| identity.file(name));
    command.arg("serve").arg(file).args(["--http", "127.0.0.1:0"]);
    command.arg("--tls-cert").arg(certificate).arg("--tls-key").arg(key);
    command
}

#[tokio::test]
async fn a_served_file_is_there_over_http3_until_it_is_told_to_stop() {
    let identity = Identity::new();
    let (mut server, place) = started(serve(&identity, ["cert.pem", "key.pem"]));
    let (sender, driver) = connect(&place, &identity).await;
    let (heard, mut hears) = mpsc::channel(1);
    let wire = Wire { sender, place, session: Mutex::default(), heard };
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}});
    let params = json!({"_meta": meta, "name": "greet", "arguments": {"name": "Zoe"}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    wire.ask(&call).await;
    let answer = hears.recv().await.expect("an answer");
    assert_eq!(answer["result"]["content"][0]["text"], "Hello, Zoe!", "{answer}");
    kill_process(Pid::from_child(&server.0.0), Signal::TERM).expect("it runs");
    let ended = timeout(DEADLINE, driver).await.expect("in time").expect("no panic");
    assert!(ended.is_h3_no_error(), "{ended}");
    assert!(server.0.0.wait().expect("it ends").success());
}

#[test]
fn the_aioquic_of_python_asks_and_hears_that_the_server_stops() {
    let identity = Identity::new();
    let (mut server, place) = started(serve(&identity, ["cert.pem", "key.pem"]));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/python/http3.py");
    let mut python = Command::new(foreign::python());
    python.arg(script).arg(format!("https://{place}")).arg(identity.file("cert.pem"));
    let mut client = Guard(python.stdout(Stdio::piped()).spawn().expect("Python starts"));
    let stdout = client.0.stdout.take().expect("it is piped");
    let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
    let said: Vec<String> = lines.by_ref().take_while(|line| line != "ready").collect();
    let said: Vec<Value> =
        said.iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(said[0]["tools"].as_array().map(Vec::len), Some(7), "{said:?}");
    assert_eq!(said[1]["content"][0]["text"], "Hello, Zo\u{eb}!");
    kill_process(Pid::from_child(&server.0.0), Signal::TERM).expect("it runs");
    assert_eq!(lines.next().as_deref(), Some("gone"));
    assert!(client.0.wait().expect("it ends").success());
    assert!(server.0.0.wait().expect("it ends").success());
}

#[tokio::test]
async fn a_hangup_reads_the_certificate_again() {
    let (identity, renewed) = (Identity::new(), Identity::new());
    let (server, place) = started(serve(&identity, ["cert.pem", "key.pem"]));
    let pid = Pid::from_child(&server.0.0);
    quic(&place, &identity).await.expect("the first is shown");
    // Half of the two is refused, and changes nothing.
    std::fs::copy(renewed.file("cert.pem"), identity.file("cert.pem")).expect("both are ours");
    let mut said = server.1.lines();
    kill_process(pid, Signal::HUP).expect("it runs");
    let warned = said.by_ref().map_while(Result::ok).find(|line| line.contains("certificate"));
    let warned = warned.expect("it is told of");
    assert!(warned.contains("stays what it was") && warned.contains("key.pem: "), "{warned}");
    quic(&place, &identity).await.expect("the first is shown");
    std::fs::copy(renewed.file("key.pem"), identity.file("key.pem")).expect("both are ours");
    kill_process(pid, Signal::HUP).expect("it runs");
    let shown = async { while quic(&place, &renewed).await.is_err() {} };
    timeout(DEADLINE, shown).await.expect("the second is shown");
    assert!(quic(&place, &identity).await.is_err(), "the first is shown no more");
}

/// The head of an answer over TCP.
async fn head(place: &str, identity: &Identity) -> String {
    let (address, _) = place.split_once('/').expect("there is a path");
    let name = ServerName::try_from("localhost").expect("a name");
    let tls = TlsConnector::from(Arc::new(identity.client(b"http/1.1")));
    let tcp = TcpStream::connect(address).await.expect("it listens");
    let mut tls = tls.connect(name, tcp).await.expect("it is trusted");
    let asked = format!("GET / HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    tls.write_all(asked.as_bytes()).await.expect("it is taken");
    let mut said = Vec::new();
    _ = tls.read_to_end(&mut said).await;
    String::from_utf8_lossy(&said).into_owned()
}

#[tokio::test]
async fn clients_are_told_of_another_port_or_of_none_where_ports_are_mapped() {
    let identity = Identity::new();
    for (port, expected) in
        [("443", "\r\nalt-svc: h3=\":443\"; ma=86400\r\n"), ("0", "\r\nalt-svc: clear\r\n")]
    {
        let mut command = serve(&identity, ["cert.pem", "key.pem"]);
        command.args(["--http3-port", port]);
        let (_server, place) = started(command);
        let head = head(&place, &identity).await;
        assert!(head.contains(expected), "{head}");
    }
}

#[test]
fn a_key_that_everybody_can_read_is_warned_of() {
    let identity = Identity::new();
    identity.allow(0o604);
    let mut command = serve(&identity, ["cert.pem", "key.pem"]);
    let mut child = Guard(command.stderr(Stdio::piped()).spawn().expect("it was built"));
    let lines = BufReader::new(child.0.stderr.take().expect("it is piped")).lines();
    let said: Vec<String> = lines.map_while(Result::ok).take(2).collect();
    assert!(said[0].contains("everybody here can read the key"), "{said:?}");
    assert!(said[1].contains("serving"), "{said:?}");
}

#[test]
fn what_is_wrong_with_the_files_of_a_certificate_is_said_in_a_line() {
    let (identity, other) = (Identity::new(), Identity::new());
    std::fs::copy(other.file("key.pem"), identity.file("other.pem")).expect("both are ours");
    for (files, expected) in [
        (["no.pem", "key.pem"], "no.pem: No such file"),
        (["cert.pem", "no.pem"], "no.pem: No such file"),
        (["key.pem", "key.pem"], "key.pem: there is no certificate in it"),
        (["cert.pem", "cert.pem"], "cert.pem: there is no private key in it"),
        (["cert.pem", "other.pem"], "other.pem: the key is not that of the certificate"),
    ] {
        let failed = serve(&identity, files).output().expect("it was built");
        let said = String::from_utf8_lossy(&failed.stderr);
        assert_eq!(failed.status.code(), Some(2), "{said}");
        assert!(said.contains(expected) && said.trim().lines().count() == 1, "{said}");
    }
}
