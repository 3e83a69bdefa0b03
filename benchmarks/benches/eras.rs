//! What the modern era's metadata and headers cost beside the legacy era's session: the same call
//! over HTTP, one at a time on a connection each, in turns. Prints nanoseconds a call and their
//! ratio; measured in earnest, it fails if the modern call takes more than a tenth longer.
//!
//! `cargo bench -p haft-benchmarks --bench eras`

#![expect(clippy::print_stdout, reason = "a benchmark says what it measured")]

use haft_benchmarks::{LEGACY_CALL, MODERN_CALL, server};
use haft_transport::http::{Listener, Options};
use std::hint::black_box;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many turns, and how many calls in each.
const TURNS: usize = 200;
const CALLS: usize = 200;

/// How much longer a modern call may take than a legacy one.
const RATIO_MAX: f64 = 1.1;

fn main() -> ExitCode {
    // `cargo test --benches` only asks whether it runs.
    let is_measured = std::env::args().any(|argument| argument == "--bench");
    let turns = if is_measured { TURNS } else { 1 };
    let address = serve();
    let mut legacy = Connection::legacy(address);
    let mut modern = Connection::modern(address);
    let (mut of_legacy, mut of_modern) = (Vec::new(), Vec::new());
    for turn in 0..=turns {
        let pair = [legacy.turn(), modern.turn()];
        // The first turn warms up.
        if turn > 0 {
            of_legacy.push(pair[0]);
            of_modern.push(pair[1]);
        }
    }
    let (legacy, modern) = (middle(&mut of_legacy), middle(&mut of_modern));
    let ratio = modern.as_secs_f64() / legacy.as_secs_f64();
    let each = u32::try_from(CALLS).unwrap_or(u32::MAX);
    println!("legacy call over HTTP: {:?}", legacy / each);
    println!("modern call over HTTP: {:?}", modern / each);
    println!("modern / legacy: {ratio:.3} (medians of {turns} turns of {CALLS} calls)");
    if is_measured && ratio > RATIO_MAX {
        println!("too slow: at most {RATIO_MAX} is right");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn middle(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Serves the calculator on a thread of its own, as long as the process lives.
fn serve() -> SocketAddr {
    let (tell, told) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            let listener = Listener::bind(any, Options::default()).await.expect("a free port");
            tell.send(listener.url()).expect("the benchmark waits");
            let server = server(1);
            let limits = server.limits().clone();
            listener.serve(Arc::new(server), &limits, std::future::pending()).await;
        });
    });
    let url = told.recv().expect("the server starts");
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
    address.parse().expect("an address")
}

/// A client that sends the same request over and over.
struct Connection {
    stream: BufReader<TcpStream>,
    request: Vec<u8>,
}

impl Connection {
    fn legacy(address: SocketAddr) -> Self {
        let body = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{
            "protocolVersion":"2025-11-25","capabilities":{},
            "clientInfo":{"name":"eras","version":"1"}}}"#;
        let mut connection = Self::new(address, request(body, ""));
        let head = connection.call();
        let session = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        let session = session.expect("a session").to_owned();
        let headers = format!("mcp-session-id: {session}\r\nmcp-protocol-version: 2025-11-25\r\n");
        connection.request = request(LEGACY_CALL, &headers);
        connection
    }

    fn modern(address: SocketAddr) -> Self {
        let headers = "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\n\
                       mcp-name: add\r\n";
        Self::new(address, request(MODERN_CALL, headers))
    }

    fn new(address: SocketAddr, request: Vec<u8>) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_nodelay(true).expect("a socket has this option");
        Self { stream: BufReader::new(stream), request }
    }

    fn turn(&mut self) -> Duration {
        let begun = Instant::now();
        for _ in 0..CALLS {
            black_box(self.call());
        }
        begun.elapsed()
    }

    /// Sends the request and reads its answer; returns the head.
    fn call(&mut self) -> String {
        self.stream.get_mut().write_all(&self.request).expect("the server reads");
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let start = head.len();
            self.stream.read_line(&mut head).expect("the server answers");
            let line = head[start..].trim_end();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.parse().expect("a length");
            }
        }
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).expect("the body");
        assert!(body.windows(8).any(|part| part == b"\"result\""), "it was called");
        head
    }
}

fn request(body: &str, headers: &str) -> Vec<u8> {
    format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
