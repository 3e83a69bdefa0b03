//! The example with resources and prompts, served by the binary: the same questions over stdio and
//! over HTTP, in both eras, and every address that should lead nowhere.

use crate::foreign_servers::{Listening, own};
use crate::haft::haft;
use crate::stdio::client::{DEADLINE, StdioServer};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/resources-and-prompts")
}

/// A copy of the example, with traps in the directory that is served, and a secret beside it.
struct Copy {
    folder: TempDir,
    _socket: UnixListener,
}

fn copy() -> Copy {
    let folder = TempDir::new().expect("there is a directory for temporary files");
    let (from, to) = (example(), folder.path().to_owned());
    fs::create_dir_all(to.join("letters/thanks")).expect("it is ours");
    for name in [
        "haft.yaml",
        "style.md",
        "seal.png",
        "letters/opening-hours.md",
        "letters/thanks/for-a-photo.md",
    ] {
        fs::copy(from.join(name), to.join(name)).expect("the repository has it");
    }
    fs::write(to.join("secret"), "SECRET").expect("it is ours");
    fs::write(to.join("letters/.hidden"), "SECRET").expect("it is ours");
    fs::write(to.join("letters/bytes"), [0xff, 0x00]).expect("it is ours");
    let large = fs::File::create(to.join("letters/large")).expect("it is ours");
    large.set_len(2 * 1024 * 1024 + 1).expect("it takes no room");
    for (link, target) in [("up", ".."), ("leak", "../secret"), ("root", "/"), ("loop", "loop")] {
        symlink(target, to.join("letters").join(link)).expect("it is ours");
    }
    let made = Command::new("mkfifo").arg(to.join("letters/pipe")).status();
    assert!(made.is_ok_and(|made| made.success()), "every machine has mkfifo");
    let socket = UnixListener::bind(to.join("letters/socket")).expect("it is ours");
    Copy { folder, _socket: socket }
}

#[derive(Clone, Copy, PartialEq)]
enum Era {
    Legacy,
    Modern,
}

/// A client of the server.
enum Client {
    Http { server: Listening, folder: TempDir, session: Option<String> },
    Stdio(StdioServer),
}

/// Runs a test with each wire and era.
fn with_each(test: impl Fn(&mut Client, Era)) {
    for era in [Era::Modern, Era::Legacy] {
        let Copy { folder, _socket } = copy();
        let mut client = Client::Stdio(StdioServer::start_in(folder));
        client.begin(era);
        test(&mut client, era);
        let Copy { folder, _socket } = copy();
        let server = own(&folder.path().join("haft.yaml"));
        let mut client = Client::Http { server, folder, session: None };
        client.begin(era);
        test(&mut client, era);
    }
}

impl Client {
    fn folder(&self) -> &Path {
        match self {
            Self::Http { folder, .. } => folder.path(),
            Self::Stdio(server) => server.folder(),
        }
    }

    fn begin(&mut self, era: Era) {
        if era == Era::Modern {
            return;
        }
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        let hello = self.ask(era, "initialize", params);
        let offered = &hello["result"]["capabilities"];
        assert!(offered["resources"].is_object() && offered["prompts"].is_object(), "{hello}");
        let done = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        match self {
            Self::Http { server, session, .. } => drop(post(&server.url, session, &[], done)),
            Self::Stdio(server) => server.send(done),
        }
    }

    /// The answer to a request.
    fn ask(&mut self, era: Era, method: &str, mut params: Value) -> Value {
        if era == Era::Modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        let name = params.get("uri").or_else(|| params.get("name")).and_then(Value::as_str);
        let name = name.unwrap_or_default().to_owned();
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        match self {
            Self::Stdio(server) => server.ask(&request.to_string()),
            Self::Http { server, session, .. } => {
                let modern = [
                    ("mcp-protocol-version", "2026-07-28"),
                    ("mcp-method", method),
                    ("mcp-name", &name),
                ];
                let legacy = [("mcp-protocol-version", "2025-11-25")];
                let headers = if era == Era::Modern { &modern[..] } else { &legacy[..] };
                post(&server.url, session, headers, &request.to_string())
            }
        }
    }

    fn result(&mut self, era: Era, method: &str, params: Value) -> Value {
        let mut answer = self.ask(era, method, params);
        assert_eq!(answer.get("error"), None, "{answer}");
        answer["result"].take()
    }

    fn read(&mut self, era: Era, uri: &str) -> Value {
        self.result(era, "resources/read", json!({ "uri": uri }))["contents"][0].take()
    }

    /// Whether the wire can carry an address: a header takes printable characters.
    fn can_carry(&self, era: Era, uri: &str) -> bool {
        let is_stdio = matches!(self, Self::Stdio(_));
        let is_printable = uri.bytes().all(|byte| (b'!'..=b'~').contains(&byte));
        is_stdio || era == Era::Legacy || (is_printable && !uri.is_empty())
    }
}

/// Sends a message, keeps the session that the answer begins, and returns what was answered.
fn post(url: &str, session: &mut Option<String>, headers: &[(&str, &str)], body: &str) -> Value {
    let address = url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp"));
    let address = address.expect("it serves /mcp on loopback");
    // To a client of HTTP/1.0 nothing is sent in chunks, and its connection ends with the answer.
    let mut request = format!(
        "POST /mcp HTTP/1.0\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\ncontent-length: {}\r\n",
        body.len()
    );
    let sessions = session.iter().map(|id| ("mcp-session-id", id.as_str()));
    for (name, value) in headers.iter().copied().chain(sessions) {
        if !value.is_empty() {
            request += &format!("{name}: {value}\r\n");
        }
    }
    let mut stream = TcpStream::connect(address).expect("the server listens");
    stream.set_read_timeout(Some(DEADLINE)).expect("a socket has time limits");
    stream.write_all(format!("{request}\r\n{body}").as_bytes()).expect("the server reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the server answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    let begun = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
    *session = begun.map(str::to_owned).or_else(|| session.take());
    let events = body.lines().find_map(|line| line.strip_prefix("data: {"));
    let json = events.map_or_else(|| body.to_owned(), |event| format!("{{{event}"));
    if json.is_empty() { Value::Null } else { serde_json::from_str(&json).expect("it is JSON") }
}

#[test]
fn everything_is_listed() {
    with_each(|client, era| {
        let resources = client.result(era, "resources/list", json!({}))["resources"].take();
        let uris: Vec<_> = resources.as_array().into_iter().flatten().collect();
        let uris: Vec<_> = uris.iter().filter_map(|resource| resource["uri"].as_str()).collect();
        let expected = [
            "letters://closing",
            "letters://style",
            "letters://archive/bytes",
            "letters://archive/large",
            "letters://archive/opening-hours.md",
            "letters://archive/thanks/for-a-photo.md",
        ];
        assert_eq!(uris, expected);
        assert_eq!(resources[1]["mimeType"], "text/markdown");
        assert_eq!(resources[1]["annotations"]["priority"], 1.0);
        let templates = client.result(era, "resources/templates/list", json!({}));
        let template = &templates["resourceTemplates"][0];
        assert_eq!(template["uriTemplate"], "letters://archive/{+path}");
        let prompts = client.result(era, "prompts/list", json!({}))["prompts"].take();
        let names: Vec<_> = prompts.as_array().into_iter().flatten().collect();
        let names: Vec<_> = names.iter().filter_map(|prompt| prompt["name"].as_str()).collect();
        assert_eq!(names, ["answer", "describe_seal", "shorten"]);
        assert_eq!(prompts[0]["arguments"][1].get("required"), None);
    });
}

#[test]
fn everything_is_read() {
    with_each(|client, era| {
        assert_eq!(client.read(era, "letters://closing")["text"], "Yours, the city desk");
        let style = fs::read_to_string(client.folder().join("style.md")).expect("it is there");
        let expected =
            json!({"uri": "letters://style", "mimeType": "text/markdown", "text": style});
        assert_eq!(client.read(era, "letters://style"), expected);
        fs::write(client.folder().join("style.md"), "Be brief.").expect("it is ours");
        assert_eq!(client.read(era, "letters://style")["text"], "Be brief.");
        let letter = client.read(era, "letters://archive/thanks/for-a-photo.md");
        assert!(letter["text"].as_str().is_some_and(|text| text.contains("the bridge")));
        let bytes = client.read(era, "letters://archive/bytes");
        assert_eq!((&bytes["blob"], bytes.get("text")), (&json!("/wA="), None));
        let archive = json!({"uri": "letters://archive/opening-hours.md"});
        let kept = client.result(era, "resources/read", archive);
        let ttl = if era == Era::Modern { json!(600_000) } else { Value::Null };
        assert_eq!(kept.get("ttlMs").cloned().unwrap_or_default(), ttl);
    });
}

#[test]
fn no_address_leads_where_it_should_not() {
    with_each(|client, era| {
        let whole = client.folder().display().to_string();
        let absolute = format!("letters://archive/{whole}/secret");
        let long = format!("letters://archive/{}", "a/".repeat(4000));
        let below = [
            "../secret",
            "..%2fsecret",
            "%2e%2e/secret",
            "%2e%2e%2fsecret",
            "%2E%2E%2Fsecret",
            "%252e%252e%252fsecret",
            "..\\secret",
            "..%5csecret",
            "thanks/../../secret",
            "up/secret",
            "leak",
            "root/etc/passwd",
            "/etc/passwd",
            "//etc/passwd",
            "thanks",
            "thanks/",
            ".",
            "..",
            "./opening-hours.md",
            "thanks//for-a-photo.md",
            "opening-hours.md/",
            "loop",
            "pipe",
            "socket",
            ".hidden",
            "%2ehidden",
            "%00",
            "opening-hours.md%00",
            "opening-hours.md\0",
            "%ff",
            "%c0%ae%c0%ae/secret",
            "%",
            "%zz",
            "",
            "letters",
            "opening-hours.md?x",
            "\u{202e}",
        ];
        let below = below.map(|path| format!("letters://archive/{path}"));
        let others =
            ["", "secret", "file:///etc/passwd", "letters://", "letters://styl", "LETTERS://style"];
        let others = others.map(str::to_owned);
        for uri in below.into_iter().chain(others).chain([absolute, long]) {
            if !client.can_carry(era, &uri) {
                continue;
            }
            let answer = client.ask(era, "resources/read", json!({ "uri": uri }));
            let code = if era == Era::Modern { -32602 } else { -32002 };
            assert_eq!(answer["error"]["code"], code, "{uri:?} {answer}");
            assert_eq!(answer["error"]["data"]["uri"], uri, "{answer}");
            let message = answer["error"]["message"].as_str().unwrap_or_default();
            assert!(!message.contains(&whole) && !message.contains("SECRET"), "{answer}");
        }
        let large = json!({"uri": "letters://archive/large"});
        let large = client.ask(era, "resources/read", large);
        let message = "The file is larger than 2097152 bytes, which is the limit here.";
        assert_eq!(large["error"], json!({"code": -32603, "message": message}));
        let read = client.read(era, "letters://archive/opening-hours.md");
        assert!(read["text"].is_string(), "it still works: {read}");
    });
}

#[test]
fn prompts_become_messages() {
    with_each(|client, era| {
        let params =
            json!({"name": "answer", "arguments": {"letter": "Hi {{ x }}", "tone": "warm"}});
        let messages = client.result(era, "prompts/get", params)["messages"].take();
        assert_eq!(messages[0]["content"]["resource"]["uri"], "letters://style");
        let text = "Answer this letter in a warm tone. Follow the style guide.\n\nHi {{ x }}";
        let said = json!({"role": "user", "content": {"type": "text", "text": text}});
        assert_eq!(messages[1], said);
        assert_eq!(messages[2]["role"], "assistant");
        let params = json!({"name": "describe_seal"});
        let messages = client.result(era, "prompts/get", params)["messages"].take();
        let picture = &messages[0]["content"];
        assert_eq!(
            (&picture["type"], &picture["mimeType"]),
            (&json!("image"), &json!("image/png"))
        );
        assert!(picture["data"].as_str().is_some_and(|data| data.starts_with("iVBORw0KGgo")));
        let missing = client.ask(era, "prompts/get", json!({"name": "shorten"}));
        assert_eq!(missing["error"]["code"], -32602);
        let unknown = client.ask(era, "prompts/get", json!({"name": "shortn"}));
        let message = unknown["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("did you mean \"shorten\""), "{unknown}");
    });
}

#[test]
fn arguments_and_paths_are_suggested() {
    with_each(|client, era| {
        let params = json!({"ref": {"type": "ref/prompt", "name": "answer"},
            "argument": {"name": "tone", "value": "w"}});
        let found = client.result(era, "completion/complete", params)["completion"].take();
        assert_eq!(found["values"], json!(["warm"]));
        let mut paths = |typed: &str| {
            let params = json!({
                "ref": {"type": "ref/resource", "uri": "letters://archive/{+path}"},
                "argument": {"name": "path", "value": typed},
            });
            client.result(era, "completion/complete", params)["completion"]["values"].take()
        };
        assert_eq!(paths("th"), json!(["thanks/for-a-photo.md"]));
        assert_eq!(paths("../"), json!([]));
        let all = json!(["bytes", "large", "opening-hours.md", "thanks/for-a-photo.md"]);
        assert_eq!(paths(""), all);
    });
}

#[test]
fn the_example_gives_no_reason_to_warn() {
    let file = example().join("haft.yaml");
    let file = file.to_str().expect("the path is UTF-8");
    let ran = haft(["check", "--strict", file]);
    let printed = ran.printed();
    for heading in ["RESOURCE", "PROMPT", "3 resources", "3 prompts"] {
        assert!(printed.contains(heading), "{printed}");
    }
    let report = haft(["check", "--json", file]).json();
    assert_eq!(report["resources"][2]["uri"], "letters://archive/{+path}");
    assert_eq!(report["resources"][2]["arguments"], json!(["path"]));
    assert_eq!(report["prompts"][0]["arguments"], json!(["letter", "tone?"]));
    let parts = ["tools", "resources", "prompts"];
    let entries = parts.iter().flat_map(|part| report[part].as_array().into_iter().flatten());
    let bytes: u64 = entries.filter_map(|entry| entry["bytes"].as_u64()).sum();
    assert_eq!(report["total"]["bytes"], bytes);
}
