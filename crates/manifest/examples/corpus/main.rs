//! Reads every document of a directory as an upstream, calls every tool with an example made from
//! its schema, and holds what is sent against the document. `cargo xtask corpus` builds and starts
//! it.

#![expect(clippy::print_stdout, reason = "a chore talks to the person who started it")]

mod example;
mod judge;

use example::Maker;
use haft_proto::admit;
use haft_proto::envelope::{self, Incoming};
use haft_proto::method::Method;
use haft_proto::service::{Ask, Asked, Outlet, Principal, Service, Turn, Unanswered, Wire};
use haft_proto::version::Revision;
use haft_server::Server;
use haft_server::schema::Schema;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming as Body};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use judge::{Seen, judge, resolved};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

/// How many operations of one document are called.
const CALLS_MAX: usize = 60;
const METHODS: [&str; 7] = ["get", "head", "options", "post", "put", "patch", "delete"];

/// What was found, and where for the first time.
#[derive(Default)]
struct Table(BTreeMap<String, (usize, String)>);

impl Table {
    fn add(&mut self, what: impl Into<String>, place: &str) {
        let row = self.0.entry(what.into()).or_insert_with(|| (0, place.to_owned()));
        row.0 += 1;
    }
}

#[derive(Default)]
struct Findings {
    counts: Table,
    left_out: Table,
    violations: Table,
}

type Recorded = Arc<Mutex<Vec<Seen>>>;

fn main() -> ExitCode {
    let Some(directory) = std::env::args().nth(1) else {
        println!("name the directory of the documents");
        return ExitCode::from(2);
    };
    let mut files = Vec::new();
    collect(Path::new(&directory), &mut files);
    files.sort();
    let most = std::env::args().nth(2).and_then(|count| count.parse().ok());
    // Spread over all of them, where only some are wanted.
    let step = most.map_or(1, |most: usize| (files.len() / most.max(1)).max(1));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let Ok(runtime) = runtime else { return ExitCode::FAILURE };
    let mut findings = Findings::default();
    runtime.block_on(async {
        let recorded = Recorded::default();
        let Ok(listener) = tokio::net::TcpListener::bind("127.0.0.1:0").await else { return };
        let Ok(address) = listener.local_addr() else { return };
        tokio::spawn(record(listener, Arc::clone(&recorded)));
        for file in files.iter().step_by(step) {
            let base = format!("http://{address}");
            read(file, &base, &recorded, &mut findings).await;
        }
    });
    for (title, table) in [
        ("", &findings.counts),
        ("operations left out, by reason", &findings.left_out),
        ("violations", &findings.violations),
    ] {
        println!("{title}");
        let mut rows: Vec<_> = table.0.iter().collect();
        rows.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        for (what, (count, place)) in rows {
            println!("{count:>8}  {what}  ({place})");
        }
    }
    // Nothing that is read is nothing that is shown.
    let is_clean = findings.violations.0.is_empty() && findings.counts.0.contains_key("tools");
    if is_clean { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|end| end == "json") {
            files.push(path);
        }
    }
}

/// A server that keeps what it is asked.
async fn record(listener: tokio::net::TcpListener, recorded: Recorded) {
    while let Ok((stream, _)) = listener.accept().await {
        let recorded = Arc::clone(&recorded);
        let service = service_fn(move |request: Request<Body>| {
            let recorded = Arc::clone(&recorded);
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect().await.map(|body| body.to_bytes().to_vec());
                let text = |value: &hyper::header::HeaderValue| {
                    String::from_utf8_lossy(value.as_bytes()).into_owned()
                };
                let headers =
                    head.headers.iter().map(|(name, value)| (name.to_string(), text(value)));
                let seen = Seen {
                    method: head.method.to_string(),
                    target: head.uri.to_string(),
                    headers: headers.collect(),
                    body: body.unwrap_or_default(),
                };
                if let Ok(mut all) = recorded.lock() {
                    all.push(seen);
                }
                Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"ok"))))
            }
        });
        tokio::spawn(async move {
            let server = hyper::server::conn::http1::Builder::new();
            _ = server.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn read(file: &Path, base: &str, recorded: &Recorded, findings: &mut Findings) {
    let place =
        file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let place = format!(
        "{}/{place}",
        file.parent().and_then(Path::file_name).unwrap_or_default().display()
    );
    findings.counts.add("documents", &place);
    let Some((manifest, server)) = load(file, base, &place, findings) else { return };
    let warnings = manifest.warnings();
    let left_out: Vec<(String, String)> = warnings
        .iter()
        .filter(|warning| warning.message.starts_with("it is left out"))
        .map(|warning| (warning.name.clone(), warning.message.clone()))
        .collect();
    for (_, message) in &left_out {
        let reason: Vec<&str> = message.split(['`', '"']).step_by(2).collect();
        findings.left_out.add(reason.join("…"), &place);
    }
    let Ok(text) = std::fs::read(file) else { return };
    let Ok(document) = serde_json::from_slice::<Value>(&text) else { return };
    let listed = ask(&server, "tools/list", json!({})).await;
    let tools = listed["tools"].as_array().cloned().unwrap_or_default();
    findings.counts.0.entry("tools".to_owned()).or_default().0 += server.tool_names().len();
    let mut names = tools.into_iter();
    let mut calls = 0;
    for (path, item) in document["paths"].as_object().into_iter().flatten() {
        let item = resolved(&document, item);
        for (method, operation) in item.as_object().into_iter().flatten() {
            if !METHODS.contains(&&**method) || !path.starts_with('/') || !operation.is_object() {
                continue;
            }
            let label = format!("{} {path}", method.to_uppercase());
            if left_out.iter().any(|(name, _)| {
                name.trim_end_matches('…')
                    == label
                        .chars()
                        .take(name.trim_end_matches('…').chars().count())
                        .collect::<String>()
            }) {
                continue;
            }
            let Some(tool) = names.next() else { return };
            calls += 1;
            if calls > CALLS_MAX {
                return;
            }
            let about = format!("{place} {label}");
            let operation = resolved(&document, operation);
            for is_full in [false, true] {
                findings.counts.add("calls", &place);
                let sent = call(&server, &tool, is_full, recorded).await;
                let judged = sent
                    .and_then(|seen| judge(&document, (method, path), (item, operation), &seen));
                if let Err(what) = judged {
                    findings.violations.add(what, &about);
                }
            }
        }
    }
}

/// What a call with an example sends.
async fn call(
    server: &Server,
    tool: &Value,
    is_full: bool,
    recorded: &Recorded,
) -> Result<Seen, String> {
    let schema = &tool["inputSchema"];
    let example = Maker::new(schema, is_full).make();
    let compiled = Schema::compile(&schema.to_string());
    let compiled = compiled.map_err(|_| "a schema that is none".to_owned())?;
    if compiled.check(&example.to_string()).is_err() {
        return Err("an example of a schema that the schema refuses".to_owned());
    }
    if let Ok(mut all) = recorded.lock() {
        all.clear();
    }
    let result =
        ask(server, "tools/call", json!({"name": tool["name"], "arguments": example})).await;
    let sent = recorded.lock().ok().and_then(|mut all| all.pop());
    sent.ok_or_else(|| {
        let why = result["content"][0]["text"].as_str().unwrap_or_default();
        let why: Vec<&str> = why.split('`').step_by(2).collect();
        format!("nothing is sent: {}", why.join("…"))
    })
}

async fn ask(server: &Server, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": Revision::LATEST.as_str(),
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let request =
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let Ok(Incoming::One(message)) = envelope::read(request.as_bytes(), server.limits()) else {
        return Value::Null;
    };
    let (Ok(admitted), Some(id)) = (admit::modern_request(&message, None), message.id) else {
        return Value::Null;
    };
    let ask = Ask {
        message: &message,
        id,
        method: admitted.method,
        revision: admitted.revision,
        session: None,
        principal: &Principal::Local,
        headers: None,
        wire: &Deaf,
    };
    let mut out = Vec::new();
    let answer = match server.ask(ask, &mut out) {
        Turn::Done(_) => out,
        Turn::Listed(rest) => [&out, rest.as_bytes()].concat(),
        Turn::Later(later) => later.await.message,
        Turn::Stream(_) => return Value::Null,
    };
    serde_json::from_slice::<Value>(&answer)
        .map(|mut answer| answer["result"].take())
        .unwrap_or_default()
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

/// A server with the tools of a document.
fn load(
    file: &Path,
    base: &str,
    place: &str,
    findings: &mut Findings,
) -> Option<(haft_manifest::Manifest, Server)> {
    let yaml = format!(
        "server: {{ name: corpus }}\nupstreams:\n  api:\n    openapi: {:?}\n    \
         base_url: {base}\n    \
         prefix: ''\n    allow_private: [127.0.0.1]\n",
        file.display().to_string()
    );
    let directory = std::env::temp_dir();
    let loaded = catch_unwind(AssertUnwindSafe(|| {
        let manifest = haft_manifest::parse(&directory.join("haft.yaml"), &yaml)?;
        let server = manifest.server()?;
        Ok::<_, haft_manifest::Fault>((manifest, server))
    }));
    match loaded {
        Err(_) => {
            findings.violations.add("a panic", place);
            None
        }
        Ok(Err(fault)) => {
            let reason = fault.problem().message();
            let reason = reason.split([':', '`', '"']).next().unwrap_or_default().to_owned();
            findings.counts.add(format!("documents refused: {reason}"), place);
            None
        }
        Ok(Ok(loaded)) => Some(loaded),
    }
}
