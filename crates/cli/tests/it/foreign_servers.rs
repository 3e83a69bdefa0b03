//! Servers that others wrote: puts them on this machine once, says how to start them, and runs
//! those that listen. Asked by the tests of `haft` as a client; it writes nowhere
//! but into `target/foreign-servers`.

use crate::foreign::{self, fixture};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// A server that listens, until it is dropped.
pub(crate) struct Listening {
    pub(crate) url: String,
    pub(crate) child: Child,
}

impl Drop for Listening {
    fn drop(&mut self) {
        // Both fail only if it is gone already, which is all that is wanted.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// The command line of the official server for both eras, `mode` being `stdio` or `http` and more.
pub(crate) fn official(mode: &str) -> String {
    script("modern.mjs", mode)
}

/// The command line of one that asks back, has resources and prompts, and changes.
pub(crate) fn asking(mode: &str) -> String {
    script("asking.mjs", mode)
}

fn script(name: &str, mode: &str) -> String {
    format!("'{}' '{}' {mode}", node().display(), folder().join(name).display())
}

/// The command line of the reference server for the legacy era, over stdio.
pub(crate) fn everything() -> String {
    reference("everything", "stdio")
}

/// The same over HTTP, `streamableHttp`, or over HTTP+SSE of 2024-11-05, `sse`.
pub(crate) fn listening_everything(mode: &str) -> Listening {
    let words = shlex::split(&reference("everything", mode)).expect("quotes are closed");
    // It must be told its port.
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("an address").port().to_string();
    drop(free);
    let mut command = Command::new(&words[0]);
    let mut listening = start(command.args(&words[1..]).env("PORT", &port), " on port ");
    let path = if mode == "sse" { "sse" } else { "mcp" };
    listening.url = format!("http://127.0.0.1:{port}/{path}");
    listening
}

/// The command line of the reference server for files, which may touch this folder.
pub(crate) fn filesystem(folder: &Path) -> String {
    reference("filesystem", &format!("'{}'", folder.display()))
}

/// The command line of the reference server that remembers things, in this file.
pub(crate) fn memory(file: &Path) -> String {
    format!("env 'MEMORY_FILE_PATH={}' {}", file.display(), reference("memory", ""))
}

/// The command line of a server in Python, on the package `mcp` or `fastmcp`.
pub(crate) fn python(package: &str, wire: &str) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers/plain.py");
    format!("'{}' '{}' {package} {wire}", foreign::python().display(), script.display())
}

/// The same on a port of its own: `http` or `sse`.
pub(crate) fn listening_python(package: &str, wire: &str) -> Listening {
    let words = shlex::split(&python(package, wire)).expect("quotes are closed");
    let mut listening = start(Command::new(&words[0]).args(&words[1..]), "running on ");
    let origin = listening.url.split_whitespace().next().unwrap_or_default();
    listening.url = format!("{origin}/{}", if wire == "sse" { "sse" } else { "mcp" });
    listening
}

/// The command line of a server in Go.
pub(crate) fn go(wire: &str) -> String {
    format!("'{}' {wire}", foreign::go_server().display())
}

/// The same on a port of its own: `http` or `sse`.
pub(crate) fn listening_go(wire: &str) -> Listening {
    listen(&go(wire))
}

fn reference(name: &str, arguments: &str) -> String {
    let entry = format!("node_modules/@modelcontextprotocol/server-{name}/dist/index.js");
    format!("'{}' '{}' {arguments}", node().display(), folder().join(entry).display())
}

/// The official server on a port of its own.
pub(crate) fn listening(mode: &str) -> Listening {
    listen(&official(mode))
}

/// The one that asks back on a port of its own.
pub(crate) fn listening_asking(mode: &str) -> Listening {
    listen(&asking(mode))
}

fn listen(command: &str) -> Listening {
    let words = shlex::split(command).expect("quotes are closed");
    start(Command::new(&words[0]).args(&words[1..]), "listening at ")
}

/// The server that the official suite asks for, on a port of its own.
pub(crate) fn listening_fixture() -> Listening {
    start(Command::new(&fixture::words()[0]).args(["--http", "127.0.0.1:0"]), " at ")
}

/// `haft serve` on a port of its own.
pub(crate) fn own(file: &Path) -> Listening {
    let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
    command.arg("serve").arg(file).args(["--http", "127.0.0.1:0"]);
    start(&mut command, " at ")
}

/// The official example that wants access tokens, made for itself alone, and its authorization
/// server, which agrees to everything.
pub(crate) fn authorizing() -> Listening {
    let entry = "node_modules/@modelcontextprotocol/sdk/dist/esm/examples/server";
    let entry = folder().join(entry).join("simpleStreamableHttp.js");
    // They must be told their ports: two that are free.
    let free = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
    let ports = free.map(|free| free.local_addr().expect("an address").port());
    let [mcp, auth] = ports.map(|port| port.to_string());
    let mut command = Command::new(node());
    command.arg(entry).args(["--oauth", "--oauth-strict"]);
    command.env("MCP_PORT", &mcp).env("MCP_AUTH_PORT", auth);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the server starts");
    let stdout = child.stdout.take().expect("stdout is piped");
    let listening = Listening { url: format!("http://localhost:{mcp}/mcp"), child };
    let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with("MCP Streamable HTTP Server listening")));
    // A server that cannot log would stand still.
    std::thread::spawn(move || lines.for_each(drop));
    listening
}

/// Starts a server that says on stderr where it listens, behind `marker`.
fn start(command: &mut Command, marker: &str) -> Listening {
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child = child.expect("the server starts");
    let stderr = child.stderr.take().expect("stderr is piped");
    let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
    let url = lines.find_map(|line| line.rsplit_once(marker).map(|(_, url)| url.to_owned()));
    // A server that cannot log would stand still.
    std::thread::spawn(move || lines.for_each(drop));
    let mut listening = Listening { url: String::new(), child };
    listening.url = url.expect("the server says where it listens");
    listening
}

/// The machine's own Node may be too old for the servers, so npm brought one.
fn node() -> PathBuf {
    folder().join("node_modules/.bin/node")
}

fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(install)
}

/// Tests that come at the same time, from this process or another, wait for the one that installs.
fn install() -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("foreign-servers");
    fs::create_dir_all(&folder).expect("target can be written");
    let lock = File::create(folder.join("lock")).expect("target can be written");
    lock.lock().expect("a file can be locked");
    let wanted = fs::read_to_string(sources.join("package.json")).expect("our package.json");
    let stamp = folder.join("stamp");
    if fs::read_to_string(&stamp).ok().as_ref() != Some(&wanted) {
        for name in [".npmrc", "package.json"] {
            fs::copy(sources.join(name), folder.join(name)).expect("target can be written");
        }
        let quiet = ["install", "--no-audit", "--no-fund", "--loglevel=error"];
        let status = Command::new("npm").args(quiet).current_dir(&folder).status();
        assert!(status.is_ok_and(|status| status.success()), "`npm install` works in {folder:?}");
        fs::write(&stamp, wanted).expect("target can be written");
    }
    for name in ["asking.mjs", "conformance.mjs", "listen.mjs", "modern.mjs"] {
        fs::copy(sources.join(name), folder.join(name)).expect("target can be written");
    }
    folder
}
