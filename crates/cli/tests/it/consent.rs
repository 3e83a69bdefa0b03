//! A server that wants an access token: what a person at a terminal is shown, what their browser is
//! answered, and that the next call needs neither.

use crate::foreign_servers;
use crate::oauth_server::OauthServer;
use crate::pty::OnTerminal;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Output};
use tokio::runtime::Runtime;

/// A server, the threads that it runs on, and a directory for what haft keeps.
struct Place {
    server: OauthServer,
    state: tempfile::TempDir,
    _runtime: Runtime,
}

impl Place {
    fn new() -> Self {
        let runtime = Runtime::new().expect("threads");
        let server = runtime.block_on(OauthServer::new());
        let state = tempfile::tempdir().expect("a directory");
        Self { server, state, _runtime: runtime }
    }

    fn path(&self) -> &Path {
        self.state.path()
    }

    fn on_terminal(&self, args: &[&str]) -> OnTerminal {
        let state = self.path().to_str().expect("a name");
        OnTerminal::haft_with(args, &[("XDG_STATE_HOME", state)])
    }

    fn in_pipe(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
        command.args(args).env("XDG_STATE_HOME", self.path());
        command.output().expect("the binary is built")
    }
}

/// Goes where a browser is sent; what it is answered.
fn get(url: &str, host: Option<&str>) -> String {
    let (authority, path) = url.strip_prefix("http://").expect("http").split_once('/').expect("/");
    let mut stream = TcpStream::connect(authority).expect("somebody listens");
    let host = host.unwrap_or(authority);
    write!(stream, "GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n")
        .expect("it is heard");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn a_person_is_asked_once_and_later_calls_need_no_terminal() {
    let place = Place::new();
    let url = place.server.url();
    let mut haft = place.on_terminal(&["list", &url]);
    haft.sees("wants to know who you are, with base").sees("Visit this address of");
    haft.sees(&place.server.origin);
    let address = haft.line_of(&format!("{}/authorize?", place.server.origin));
    haft.sees("Ctrl-C gives up");
    let redirect = place.server.authorize(&address);
    // Others may call, and are of no interest.
    let forged = redirect.replace("state=", "state=x");
    assert!(get(&forged, None).starts_with("HTTP/1.1 404"));
    assert!(get(&redirect, Some("evil.example")).starts_with("HTTP/1.1 404"));
    assert!(get(&redirect.replace("/callback", "/"), None).starts_with("HTTP/1.1 404"));
    let page = get(&redirect, None);
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("haft goes on"), "{page}");
    let left = haft.finish();
    assert_eq!(left.code, Some(0), "{left:?}");
    assert!(left.stdout.contains("tool"), "{left:?}");

    let file = place.path().join("haft/credentials.json");
    assert_eq!(fs::metadata(&file).expect("a file").mode() & 0o777, 0o600);
    let again = place.in_pipe(&["call", &url, "tool"]);
    assert!(again.status.success(), "{again:?}");
    let looked = place.in_pipe(&["doctor", &url]);
    assert!(looked.status.success(), "{looked:?}");
    let shown = place.in_pipe(&["inspect", &url]);
    assert!(shown.status.success(), "{shown:?}");
    assert_eq!(place.server.count("/register"), 1);
}

#[test]
fn the_official_authorization_server_grants_tokens_for_the_official_server() {
    let place = Place::new();
    let server = foreign_servers::authorizing();
    let mut haft = place.on_terminal(&["call", &server.url, "greet", "name=Ada"]);
    haft.sees("wants to know who you are, with mcp:tools").sees("Visit this address of");
    let address = haft.sees("\n").line_of("http://localhost:");
    let sent = get(&address, None);
    let redirect = sent.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("location").then(|| value.to_owned())
    });
    let page = get(&redirect.unwrap_or_else(|| panic!("{sent}")), None);
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    let left = haft.finish();
    assert_eq!((left.code, &*left.stdout), (Some(0), "Hello, Ada!\n"), "{left:?}");
    let again = place.in_pipe(&["call", &server.url, "greet", "name=Ida"]);
    assert_eq!(String::from_utf8_lossy(&again.stdout), "Hello, Ida!\n", "{again:?}");
}

#[test]
fn without_a_terminal_the_refusal_says_what_to_do() {
    let place = Place::new();
    let refused = place.in_pipe(&["list", &place.server.url()]);
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("the server refused access (401)"), "{said}");
    assert!(said.contains("in a terminal you are asked for consent"), "{said}");
    assert_eq!(place.server.state().seen.len(), 1, "nobody else was asked");
    assert_eq!(fs::read_dir(place.path()).expect("it is there").count(), 0, "nothing is kept");
}

#[test]
fn a_person_can_give_up() {
    let place = Place::new();
    let mut haft = place.on_terminal(&["list", &place.server.url()]);
    haft.sees("Ctrl-C gives up").interrupts();
    assert_eq!(haft.finish().code, Some(130));
}

#[test]
fn a_client_that_is_known_already_has_its_port() {
    let place = Place::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port().to_string();
    let url = place.server.url();
    let args = ["list", &url, "--client-id", "mine", "--callback-port", &port];
    let left = place.on_terminal(&args).finish();
    assert_eq!(left.code, Some(3), "{left:?}");
    assert!(left.shown.contains(&format!("port {port} cannot be used")), "{left:?}");
    let alone = ["list", &url, "--callback-port", &port];
    let left = place.on_terminal(&alone).finish();
    assert!(left.shown.contains(&format!("port {port} cannot be used")), "{left:?}");
    drop(listener);
    let mut haft = place.on_terminal(&args);
    let address = haft.line_of(&format!("{}/authorize?", place.server.origin));
    assert!(address.contains("client_id=mine"), "{address}");
    let redirect = place.server.authorize(&address);
    assert!(redirect.starts_with(&format!("http://127.0.0.1:{port}/callback?")), "{redirect}");
    assert!(get(&redirect, None).starts_with("HTTP/1.1 200"));
    assert_eq!(haft.finish().code, Some(0));
    assert_eq!(place.server.count("/register"), 0);
}
