//! `haft status`: what a haft that runs says of itself at its admin interface.

use crate::agents::Hub;
use crate::desk::Desk;
use crate::gateway::{DEADLINE, Served, called, city, gate, pipe, serve_with};
use crate::gateway_admin::Door;
use crate::haft::{Ran, haft};
use serde_json::{Value, json};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

fn address(gate: &Served) -> String {
    let line = gate.told(&["haft: admin at http://"]);
    line.split_once(" at ").expect("an address").1.to_owned()
}

/// A gateway with an upstream that is there, one that is not, and a view.
fn seen() -> (Served, String, Vec<Desk>) {
    let north = Desk::with(&city("north"));
    let desk = gate(&format!(
        "  north: {{ {} }}\n  gone: {{ command: [/nonexistent/server] }}\n\
         views: {{ cold: {{ upstreams: [north] }} }}\n",
        pipe(&north)
    ));
    let gate = serve_with(desk.file(), &["--admin", "127.0.0.1:0"]);
    assert_eq!(called(&gate.url, "modern", "north_whoami", &json!({})), "north");
    let address = address(&gate);
    (gate, address, vec![north, desk])
}

/// Asks until this is so of what is told.
fn until(address: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let since = Instant::now();
    loop {
        let told = haft(["status", address, "--json"]).json();
        if is_so(&told) {
            return told;
        }
        assert!(since.elapsed() < DEADLINE, "{told}");
    }
}

#[test]
fn upstreams_views_sessions_and_limits_are_shown() {
    let (gate, address, desks) = seen();
    let told = until(&address, |told| told["upstreams"][1]["state"] == "down");
    assert_eq!(told["address"], address.trim_end_matches("/admin/v1"));
    assert_eq!(told["server"]["name"], "gate");
    assert_eq!(told["server"]["file"], desks[1].file());
    assert_eq!(told["server"]["process"], gate.child.0.id());
    let north = &told["upstreams"][0];
    assert_eq!((&north["name"], &north["state"]), (&json!("north"), &json!("ready")));
    assert_eq!((&told["agents"], &told["sessions"]["count"]), (&json!([]), &json!(0)));
    assert_eq!(told["views"][0]["name"], "cold");
    let door = Door::of(&gate);
    assert_eq!(door.see("server")["limits"], told["limits"]);
    assert!(told["limits"]["sessions"].as_u64() > Some(1), "{told}");

    let shown = haft(["status", &address]);
    for line in [
        "gate · haft 0.",
        "UPSTREAM  STATE",
        "north     ready",
        "gone      down",
        "cannot start",
        "VIEW  PATH",
        "0 sessions, at most ",
        "request time        ",
        "upstream processes",
    ] {
        assert!(shown.printed().contains(line), "{line} is not in {}", shown.stdout);
    }
    assert!(!shown.stdout.contains("AGENT"), "{}", shown.stdout);
    // Colours, where they are wanted.
    let output = Command::new(env!("CARGO_BIN_EXE_haft"))
        .args(["status", &address])
        .env("CLICOLOR_FORCE", "1")
        .output()
        .expect("it is built");
    let coloured = String::from_utf8_lossy(&output.stdout);
    assert!(coloured.contains("\x1b[32mready"), "{coloured}");
    assert!(!shown.stdout.contains('\x1b'), "{}", shown.stdout);
}

#[test]
fn of_many_sessions_the_newest_are_shown() {
    let (gate, address, _desks) = seen();
    let clients = Door::at(gate.url.trim_start_matches("http://").trim_end_matches("/mcp"));
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "desk\u{1b}top", "version": "1"}}});
    let hello = hello.to_string();
    for _ in 0..21 {
        let head = "content-type: application/json\r\naccept: application/json, \
                    text/event-stream\r\nconnection: close\r\n";
        let more = format!("{head}content-length: {}\r\n\r\n{hello}", hello.len());
        assert_eq!(clients.ask_with("POST /mcp", &more).0, 200);
    }
    let shown = haft(["status", &address]);
    for part in
        ["21 sessions, at most ", "CLIENT   PATH", "desktop  /mcp  2025-06-18", "and 1 older"]
    {
        assert!(shown.printed().contains(part), "{part} is not in {}", shown.stdout);
    }
    assert_eq!(shown.stdout.matches("desktop").count(), 20, "{}", shown.stdout);
}

#[test]
fn what_is_down_fails_a_strict_look() {
    let (_gate, address, _desks) = seen();
    until(&address, |told| told["upstreams"][1]["state"] == "down");
    let strict = haft(["status", &address, "--strict"]);
    assert_eq!(strict.code, Some(8), "{strict:?}");
    assert!(
        strict.stderr.contains("gone is down") && !strict.stderr.contains("north"),
        "{strict:?}"
    );
    assert!(strict.stdout.contains("gone"), "{strict:?}");
}

#[test]
fn agents_are_shown() {
    let hub = Hub::seen("plant-7", &["--admin", "127.0.0.1:0"]);
    let address = address(&hub.served);
    let shown = haft(["status", &address]);
    assert!(shown.printed().contains("plant-7  absent"), "{}", shown.stdout);
    let strict = haft(["status", &address, "--strict", "--json"]);
    assert_eq!((strict.code, &strict.json()["agents"][0]["state"]), (Some(8), &json!("absent")));
}

#[test]
fn a_socket_is_asked_as_a_port_is() {
    let (gate, address, desks) = seen();
    let port = address.trim_start_matches("http://").split('/').next().expect("a host").to_owned();
    let path = desks[0].path("admin.sock");
    let listener = UnixListener::bind(&path).expect("a socket");
    // What is said at the socket is said at the port.
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let Ok(there) = TcpStream::connect(&port) else { return };
            let (mut from, mut to) = (stream.try_clone().expect("a copy"), there);
            let (mut back, mut asker) = (to.try_clone().expect("a copy"), stream);
            thread::spawn(move || io::copy(&mut from, &mut to));
            // Either may be gone before all is said.
            _ = io::copy(&mut back, &mut asker);
        }
    });
    for at in [path.display().to_string(), format!("unix:{}", path.display())] {
        let told = haft(["status", &at, "--json"]).json();
        assert_eq!(told["server"]["process"], gate.child.0.id(), "{told}");
        assert_eq!(told["address"], format!("unix:{}", path.display()));
    }
}

#[test]
fn haft_serves_a_socket_beside_its_port() {
    let north = Desk::with(&city("north"));
    let desk = gate(&format!("  north: {{ {} }}\n", pipe(&north)));
    let path = desk.path("admin.sock");
    let at = format!("unix:{}", path.display());
    let gate = serve_with(desk.file(), &["--admin", "127.0.0.1:0", "--admin", &at]);
    gate.told(&["haft: admin at http://127.0.0.1:"]);
    gate.told(&["haft: admin at unix:", "admin.sock"]);
    let mode = std::fs::metadata(&path).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "nobody else can open it");
    for at in [at, address(&gate)] {
        let told = haft(["status", &at, "--json"]).json();
        assert_eq!(told["server"]["process"], gate.child.0.id(), "{told}");
    }
}

/// Connections that say nothing make room for who asks.
#[test]
fn two_hundred_connections_that_say_nothing_lock_nobody_out() {
    let (gate, address, _desks) = seen();
    let host = address.trim_start_matches("http://").split('/').next().expect("a host").to_owned();
    let connect = |_| TcpStream::connect(&host).expect("it listens");
    let silent: Vec<TcpStream> = (0..200).map(connect).collect();
    let since = Instant::now();
    for _ in 0..5 {
        let told = haft(["status", &address, "--json"]).json();
        assert_eq!(told["server"]["process"], gate.child.0.id(), "{told}");
    }
    // If each had its two seconds, the last of them would be over after twenty.
    assert!(since.elapsed() < Duration::from_secs(15), "{:?}", since.elapsed());
    drop(silent);
}

fn check_refused(args: &[&str], code: i32, parts: &[&str]) {
    let ran: Ran = haft([&["status"], args].concat());
    assert_eq!((ran.code, &*ran.stdout), (Some(code), ""), "{args:?}: {ran:?}");
    for part in parts {
        assert!(ran.stderr.contains(part), "{args:?}: {part}: {ran:?}");
    }
}

#[test]
fn nobody_and_strangers_are_told_apart_by_exit_code_and_reason() {
    let (gate, _, desks) = seen();
    let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
    let free = free.expect("an address").to_string();
    check_refused(&[&free], 4, &["nobody answers at http://", "haft serve FILE --admin"]);
    check_refused(&[&free, "--json"], 4, &["\"code\":\"unreachable\""]);
    let nowhere = desks[0].path("none.sock").display().to_string();
    check_refused(&[&nowhere], 4, &["nobody answers at unix:"]);
    // A server of MCP is none.
    let mcp = gate.url.trim_end_matches("/mcp");
    check_refused(&[mcp], 4, &["is no admin interface of haft", "status 404"]);
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let silent = silent.local_addr().map(|at| (at.to_string(), silent)).expect("an address");
    check_refused(&[&silent.0, "--timeout", "200ms"], 7, &["has not answered for 0.2 s"]);
    // Nor is who says more than anybody reads.
    let endless = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = endless.local_addr().expect("an address").to_string();
    thread::spawn(move || {
        let (mut stream, _) = endless.accept().expect("somebody asks");
        _ = stream.read(&mut [0; 1024]).expect("it asks");
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n";
        _ = stream.write_all(head.as_bytes());
        // Until nobody reads any more.
        while stream.write_all(&[b' '; 65536]).is_ok() {}
    });
    check_refused(&[&at, "--timeout", "1m"], 4, &["its answer has more than 16777216 bytes"]);
    for wrong in ["nonsense", "https://127.0.0.1:1", "unix:"] {
        check_refused(&[wrong], 2, &["ADDRESS"]);
    }
}
