//! Connections that a load replaces: each says farewell to its session, and no more of them do so
//! at once than a load has descriptors for. It never looks at how fast anything is.

use super::{bench, desk};
use crate::gateway::serve_with;
use crate::gateway_admin::Door;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{io, thread};

/// `LEAVING_MAX` of haft-bench.
const LEAVING_MAX: usize = 256;

#[test]
fn no_more_say_farewell_at_once_than_there_is_room_for() {
    let peak = Arc::new(AtomicUsize::new(0));
    let url = deaf_to_farewells(Arc::clone(&peak));
    // Besides those that leave, one connection, its place's next one, and what a program has open.
    let most = LEAVING_MAX + 40;
    let load = "--era legacy --requests-per-connection 1 -n 400 --warmup 0 --json";
    let typed = format!("ulimit -n {most}; exec \"$0\" bench {url} {load}");
    let ran = Command::new("sh").args(["-c", &typed, env!("CARGO_BIN_EXE_haft")]).output();
    let ran = ran.expect("there is a shell");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(0), "{said}");
    let found: Value = serde_json::from_slice(&ran.stdout).expect("a report");
    assert_eq!((&found["answers"], &found["failures"]), (&400.into(), &0.into()), "{found}");
    let peak = peak.load(Ordering::SeqCst);
    assert!((LEAVING_MAX..=LEAVING_MAX + 2).contains(&peak), "{peak} connections at once");
}

/// The address of a legacy server that never answers a farewell; `peak` is how many connections it
/// had at once.
fn deaf_to_farewells(peak: Arc<AtomicUsize>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let open = Arc::new(AtomicUsize::new(0));
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            peak.fetch_max(open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let open = Arc::clone(&open);
            thread::spawn(move || {
                let mut from = BufReader::new(client.try_clone().expect("a socket"));
                let mut to = client;
                while let Some(answer) = answer_of(&mut from) {
                    _ = to.write_all(answer.as_bytes());
                }
                _ = io::copy(&mut from, &mut io::sink());
                open.fetch_sub(1, Ordering::SeqCst);
            });
        }
    });
    url
}

#[test]
fn a_session_ends_even_if_the_server_closed_its_http_2_connection() {
    let desk = desk();
    let server = serve_with(desk.file(), &["--admin", "127.0.0.1:0"]);
    let cuts = Arc::new(AtomicUsize::new(0));
    let url = cut_after(20_000, &server.url, Arc::clone(&cuts));
    let long = format!("text={}", "a".repeat(1000));
    let ran = bench(&[&url], &["echo", &long, "--era", "legacy", "--http2", "-n", "60"]);
    let cuts = cuts.load(Ordering::SeqCst);
    assert!((2..=5).contains(&cuts), "{cuts} connections were closed: {ran:?}");
    let sessions = &Door::of(&server).see("sessions")["count"];
    assert_eq!(sessions, 0, "of {cuts} connections that were closed: {ran:?}");
}

/// The address of a way to a server that closes each connection after so many bytes to it.
fn cut_after(bytes: u64, url: &str, cuts: Arc<AtomicUsize>) -> String {
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let here = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(&address).expect("it listens");
            let pair = || (client.try_clone().expect("a socket"), server.try_clone());
            let ((mut to_client, from_server), (from_client, to_server)) = (pair(), pair());
            let (mut from_server, mut to_server) =
                (from_server.expect("a socket"), to_server.expect("a socket"));
            thread::spawn(move || io::copy(&mut from_server, &mut to_client));
            let cuts = Arc::clone(&cuts);
            thread::spawn(move || {
                let sent = io::copy(&mut from_client.take(bytes), &mut to_server);
                if sent.is_ok_and(|sent| sent == bytes) {
                    cuts.fetch_add(1, Ordering::SeqCst);
                }
                _ = client.shutdown(Shutdown::Both);
                _ = server.shutdown(Shutdown::Both);
            });
        }
    });
    here
}

/// What a legacy server answers to the next request of a connection; `None` to a farewell, or once
/// there is nothing more.
fn answer_of(from: &mut impl BufRead) -> Option<String> {
    let (mut length, mut is_farewell) = (0, false);
    loop {
        let mut line = String::new();
        from.read_line(&mut line).ok().filter(|count| *count > 0)?;
        is_farewell |= line.starts_with("DELETE ");
        if let Some(found) = line.strip_prefix("content-length: ") {
            length = found.trim().parse().ok()?;
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = String::new();
    from.take(length).read_to_string(&mut body).ok().filter(|_| !is_farewell)?;
    let message: Value = serde_json::from_str(&body).ok()?;
    let Some(id) = message.get("id") else {
        return Some("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_owned());
    };
    let result = match message["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "deaf", "version": "1" },
        }),
        _ => json!({ "tools": [] }),
    };
    let body = json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
    let head = format!("content-type: application/json\r\ncontent-length: {}", body.len());
    Some(format!("HTTP/1.1 200 OK\r\nmcp-session-id: s\r\n{head}\r\n\r\n{body}"))
}
