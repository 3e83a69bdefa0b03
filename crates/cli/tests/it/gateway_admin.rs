//! What whoever runs a gateway sees and does at `haft serve --admin`.

use crate::desk::Desk;
use crate::gateway::{DEADLINE, Served, called, city, gate, pipe, serve_with, tools};
use crate::haft::haft;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

/// The door of a gateway.
pub(crate) struct Door(String);

impl Door {
    /// Any other, by its host and port.
    pub(crate) fn at(host: &str) -> Self {
        Self(host.to_owned())
    }

    pub(crate) fn of(gate: &Served) -> Self {
        let line = gate.told(&["haft: admin at http://"]);
        let (_, url) = line.split_once("http://").expect("an address");
        Self(url.split('/').next().expect("a host").to_owned())
    }

    /// The status and the JSON that a request is answered with; more header lines end with CRLF.
    pub(crate) fn ask_with(&self, start: &str, more: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.0).expect("it listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("a socket has time limits");
        let host =
            if more.contains("host:") { String::new() } else { format!("host: {}\r\n", self.0) };
        let request = format!("{start} HTTP/1.1\r\n{host}{more}\r\n");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it ends");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        (status.expect("a status"), body.to_owned())
    }

    pub(crate) fn ask(&self, start: &str) -> (u16, Value) {
        let (status, body) = self.ask_with(start, "");
        (status, serde_json::from_str(&body).unwrap_or_else(|_| panic!("{body}")))
    }

    pub(crate) fn see(&self, page: &str) -> Value {
        let (status, seen) = self.ask(&format!("GET /admin/v1/{page}"));
        assert_eq!(status, 200, "{seen}");
        seen
    }
}

#[test]
fn upstreams_what_they_have_and_what_was_asked_of_them_is_seen() {
    let north = Desk::with(&city("north").replace("name: echo", "name: own"));
    let desk = gate(&format!(
        "  north: {{ {}, prefix: \"\" }}\n  gone: {{ command: [/nonexistent/server] }}\n",
        pipe(&north)
    ));
    let gate = serve_with(desk.file(), &["--admin", "127.0.0.1:0"]);
    let door = Door::of(&gate);
    assert_eq!(called(&gate.url, "modern", "whoami", &json!({})), "north");
    assert_eq!(haft(["call", &gate.url, "process", "x=1", "--era", "legacy"]).code, Some(6));

    let upstreams = door.see("upstreams");
    let north = &upstreams[0];
    for (key, value) in [
        ("name", json!("north")),
        ("state", json!("ready")),
        ("server", json!({"name": "north", "version": "0.0.0", "revision": "2026-07-28"})),
        ("running", json!(0)),
        ("failed", json!(0)),
        ("restarts", json!(0)),
    ] {
        assert_eq!(north[key], value, "{upstreams}");
    }
    let gone = &upstreams[1];
    assert_eq!((&gone["name"], &gone["state"]), (&json!("gone"), &json!("down")));
    assert!(gone["reason"].as_str().is_some_and(|why| why.contains("cannot start")), "{gone}");

    let catalogue = door.see("catalogue");
    let whoami = json!({"name": "whoami", "upstream": "north", "there": "whoami"});
    assert_eq!(catalogue["tools"][0], whoami, "{catalogue}");
    assert_eq!(catalogue["resources"][0]["name"], "north:about");
    assert_eq!(catalogue["leftOut"][0]["there"], "own");
    let calls = door.see("calls");
    let whoami = calls.as_array().expect("a list").iter().find(|call| call["name"] == "whoami");
    let whoami = whoami.unwrap_or_else(|| panic!("{calls}"));
    assert_eq!((&whoami["method"], &whoami["failure"]), (&json!("tools/call"), &Value::Null));
}

#[test]
fn who_has_a_session_is_seen() {
    let north = Desk::with(&city("north"));
    let desk = gate(&format!(
        "  north: {{ {} }}\nviews: {{ cold: {{ upstreams: [north] }} }}\n",
        pipe(&north)
    ));
    let gate = serve_with(desk.file(), &["--admin", "127.0.0.1:0"]);
    let door = Door::of(&gate);
    assert_eq!(door.see("sessions"), json!({"count": 0, "sessions": []}));
    // A client of the modern era has none.
    assert_eq!(called(&gate.url, "modern", "north_whoami", &json!({})), "north");
    assert_eq!(door.see("sessions")["count"], 0);
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "a \"desktop\"", "version": "1"}}});
    let hello = hello.to_string();
    let address = gate.url.trim_start_matches("http://").trim_end_matches("/mcp");
    let greet = |path: &str| {
        let told = Door::at(address).ask_with(
            &format!("POST {path}"),
            &format!(
                "content-type: application/json\r\naccept: application/json, \
                 text/event-stream\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{hello}",
                hello.len()
            ),
        );
        assert_eq!(told.0, 200, "{told:?}");
    };
    greet("/mcp");
    let seen = door.see("sessions");
    let session = &seen["sessions"][0];
    assert_eq!((&seen["count"], &session["client"]), (&json!(1), &json!("a \"desktop\"")));
    assert_eq!((&session["era"], &session["revision"]), (&json!("legacy"), &json!("2025-06-18")));
    assert!(session["ageSeconds"].as_f64() >= session["idleSeconds"].as_f64(), "{seen}");
    // A view has sessions of its own.
    greet("/cold/mcp");
    let seen = door.see("sessions");
    let paths = [&seen["sessions"][0]["path"], &seen["sessions"][1]["path"]];
    assert_eq!((&seen["count"], paths), (&json!(2), [&json!("/cold/mcp"), &json!("/mcp")]));
}

#[test]
fn an_upstream_that_is_drained_is_asked_nothing_until_it_is_resumed() {
    let north = Desk::with(&city("north"));
    let desk = gate(&format!("  north: {{ {} }}\n", pipe(&north)));
    let gate = serve_with(desk.file(), &["--admin", "127.0.0.1:0"]);
    let door = Door::of(&gate);
    for (order, count) in [("drain", 1), ("resume", 4)] {
        let (status, told) = door.ask(&format!("POST /admin/v1/upstreams/north/{order}"));
        let expected = json!({"name": "north", "drained": order == "drain"});
        assert_eq!((status, told), (200, expected));
        let since = Instant::now();
        while tools(&gate.url, "modern").len() != count {
            assert!(since.elapsed() < DEADLINE);
        }
    }
}

#[test]
fn the_file_is_read_again_by_order() {
    let north = Desk::with(&city("north"));
    let desk = gate(&format!("  north: {{ {} }}\n", pipe(&north)));
    let gate = serve_with(desk.file(), &["--admin", "127.0.0.1:0"]);
    let door = Door::of(&gate);
    let text = std::fs::read_to_string(&desk.file).expect("it is ours");
    std::fs::write(&desk.file, text.replace("name: own", "name: mine")).expect("it is ours");
    let (status, edit) = door.ask("POST /admin/v1/reload");
    assert_eq!((status, &edit["tools"]["added"]), (200, &json!(["mine"])), "{edit}");
    assert_eq!(tools(&gate.url, "modern")[0], "mine");
    std::fs::write(&desk.file, "server: 7").expect("it is ours");
    let (status, fault) = door.ask("POST /admin/v1/reload");
    assert!(status == 422 && fault["error"].is_string(), "{status} {fault}");
}

#[test]
fn nobody_else_is_answered_and_nothing_else() {
    let north = Desk::with(&city("north"));
    let desk = gate(&format!("  north: {{ {} }}\n", pipe(&north)));
    let gate = serve_with(desk.file(), &["--admin", "127.0.0.1:0"]);
    let door = Door::of(&gate);
    for (start, status) in [
        ("GET /admin/v1/reload", 405),
        ("POST /admin/v1/upstreams", 405),
        ("POST /admin/v1/upstreams/south/drain", 404),
        ("POST /admin/v1/upstreams/north/explode", 404),
        ("GET /admin/v1/", 404),
        ("GET /", 404),
    ] {
        assert_eq!(door.ask(start).0, status, "{start}");
    }
    let reload = "POST /admin/v1/reload";
    assert_eq!(door.ask_with(reload, "host: evil.example\r\n").0, 403);
    assert_eq!(door.ask_with(reload, "origin: https://evil.example\r\n").0, 403);
    let open = haft(["serve", desk.file(), "--http", "127.0.0.1:0", "--admin", "0.0.0.0:0"]);
    assert_eq!(open.code, Some(2));
    assert!(open.stderr.contains("can be reached by others"), "{}", open.stderr);
}
