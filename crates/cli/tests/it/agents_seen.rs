//! What whoever runs a gateway sees of its agents, and how calls to them are looked into.

use crate::agents::{Agent, Hub, TOOLS};
use crate::desk::Desk;
use crate::gateway::{DEADLINE, called, city, signal};
use crate::gateway_admin::Door;
use crate::haft::haft;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Instant;

/// A gateway that is looked at, and an agent that is there.
fn seen() -> (Hub, Desk, Agent) {
    let hub = Hub::seen("plant-7", &["--admin", "127.0.0.1:0", "--metrics", "127.0.0.1:0"]);
    let site = Desk::with(&city("plant"));
    let agent = Agent::joining(&site, &hub, "plant-7");
    hub.has(&TOOLS);
    (hub, site, agent)
}

#[test]
fn an_agent_its_link_and_its_calls_are_seen() {
    let (hub, _site, _agent) = seen();
    let door = Door::of(&hub.served);
    called(hub.url(), "modern", "plant_whoami", &json!({}));
    let agents = door.see("agents");
    let plant = &agents["agents"][0];
    assert_eq!((plant["name"].as_str(), plant["state"].as_str()), (Some("plant-7"), Some("here")));
    let link = &plant["link"];
    assert_eq!(link["transport"], "quic");
    assert!(link["from"].as_str().is_some_and(|from| from.starts_with("127.0.0.1:")), "{link}");
    assert!(link["roundTripMinMs"].as_f64() > Some(0.0), "{link}");
    assert!(plant["limit"].as_u64() > Some(1), "{plant}");
    assert_eq!((&plant["slots"], &plant["links"]), (&json!(256), &json!(1)));
    assert_eq!((&plant["inFlight"], &plant["callsLost"]), (&json!(0), &json!(0)));
}

#[test]
fn what_agents_do_is_told_to_prometheus() {
    let (hub, _site, agent) = seen();
    let line = hub.served.told(&["haft: metrics at http://"]);
    let (_, host) = line.split_once("http://").expect("an address");
    let host = host.split('/').next().expect("a host").to_owned();
    let figures = || {
        let mut stream = TcpStream::connect(&host).expect("it listens");
        let request = format!("GET /metrics HTTP/1.1\r\nhost: {host}\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it ends");
        answer
    };
    let there = figures();
    for line in [
        "# TYPE haft_agent_linked gauge",
        r#"haft_agent_linked{agent="plant-7",transport="quic"} 1"#,
        r#"haft_agent_links_total{agent="plant-7"} 1"#,
        r#"haft_agent_calls_in_flight{agent="plant-7"} 0"#,
        r#"haft_agent_calls_lost_total{agent="plant-7"} 0"#,
    ] {
        assert!(there.lines().any(|told| told == line), "{line}: {there}");
    }
    signal(&agent.process(), "-TERM");
    let since = Instant::now();
    while figures().contains("haft_agent_linked{") {
        assert!(since.elapsed() < DEADLINE, "it is gone");
    }
}

#[test]
fn a_call_is_made_by_hand_and_what_comes_of_it_is_told() {
    let (hub, _site, _agent) = seen();
    let door = Door::of(&hub.served);
    let ask = |query: &str, body: &str| {
        let more = format!("content-length: {}\r\n\r\n{body}", body.len());
        // The blank line ends the head; what follows is not looked at.
        door.ask_with(&format!("POST /link/v1/execute{query}"), &more)
    };
    let message = json!({"jsonrpc": "2.0", "id": "by hand", "method": "tools/call", "params": {
        "name": "echo", "arguments": {"text": "é"}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "curl", "version": "8"},
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }});
    let request = json!({"deadlineMs": 5000, "later": [1], "message": message}).to_string();
    let (status, lines) = ask("?agent=plant-7", &request);
    assert_eq!(status, 200, "{lines}");
    let last: Value = serde_json::from_str(lines.lines().last().expect("one")).expect("JSON");
    assert_eq!((&last["kind"], &last["payload"]["id"]), (&json!("END"), &json!("by hand")));
    assert!(last["payload"]["result"].to_string().contains('é'), "{last}");
    for (query, body, status, why) in [
        ("", &*request, 404, "?agent=NAME"),
        ("?agent=nobody", &request, 404, "there is no such agent"),
        ("?agent=plant-7", "{", 400, "no ExecuteRequest"),
        ("?agent=plant-7", "{}", 400, "`message`"),
        ("?agent=plant-7", r#"{"message":{},"deadlineMs":"soon"}"#, 400, "soon"),
    ] {
        let (answered, said) = ask(query, body);
        assert_eq!(answered, status, "{query} {body}: {said}");
        assert!(said.contains(why), "{said}");
    }
    let long = format!(r#"{{"message":"{}"}}"#, "x".repeat(1 << 20));
    assert_eq!(ask("?agent=plant-7", &long).0, 413);
    assert_eq!(door.ask("GET /link/v1/execute").0, 405);
}

#[test]
fn what_quic_does_is_written_for_each_link_at_both_ends() {
    let place = Desk::with("");
    let (near, far) = (place.path("gateway"), place.path("agent"));
    for directory in [&near, &far] {
        std::fs::create_dir(directory).expect("ours");
    }
    let text = |path: &Path| path.to_str().expect("text").to_owned();
    let hub = Hub::seen("plant-7", &["--qlog", &text(&near)]);
    let site = Desk::with(&city("plant"));
    let token = hub.token("plant-7");
    let agent = Agent::with(&site, hub.port, &["--qlog", &text(&far)], &token);
    hub.has(&TOOLS);
    signal(&agent.process(), "-TERM");
    hub.has(&[]);
    drop((agent, hub));
    for directory in [near, far] {
        let files = std::fs::read_dir(&directory).expect("there").flatten();
        let files: Vec<_> = files.map(|file| file.path()).collect();
        // It joined by one link, and came by the next.
        assert!(files.len() >= 2, "{files:?}");
        let longest = files.iter().map(|path| std::fs::read_to_string(path).expect("text"));
        let longest = longest.max_by_key(String::len).expect("one");
        let mut records = longest.split('\u{1e}').filter(|record| !record.trim().is_empty());
        let head: Value = serde_json::from_str(records.next().expect("one")).expect("JSON");
        assert_eq!(head["qlog_format"], "JSON-SEQ");
        // The last may be cut where the process ended.
        let events: Vec<Value> = records.map_while(|it| serde_json::from_str(it).ok()).collect();
        let is_sent = |event: &&Value| event["name"] == "transport:packet_sent";
        assert!(events.iter().filter(is_sent).count() > 2, "{}", events.len());
        let mode = std::fs::metadata(&files[0]).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let nowhere = haft(["agent", site.file(), "--gateway", "a:1", "--qlog", "/nonexistent"]);
    assert_eq!(nowhere.code, Some(2), "{nowhere:?}");
    assert!(nowhere.stderr.contains("nothing can be written into /nonexistent"), "{nowhere:?}");
}

#[test]
fn frames_are_told_without_what_is_in_them_and_a_token_is_read_where_others_cannot() {
    let hub = Hub::seen("plant-7", &["--log-frames"]);
    let site = Desk::with(&city("plant").replace("echo $PPID", "echo =$HAFT_JOIN="));
    let token = hub.token("plant-7");
    let agent = Agent::with(&site, hub.port, &["--log-frames"], &token);
    hub.has(&TOOLS);
    assert_eq!(called(hub.url(), "modern", "plant_echo", &json!({"text": "sesame"})), "sesame");
    assert_eq!(called(hub.url(), "modern", "plant_process", &json!({})), "==");
    for frame in ["-> Join", "<- Joined", "-> Hello version 1", "<- ExecuteRequest", "End, "] {
        agent.says(frame);
    }
    hub.served.told(&["-> ExecuteRequest"]);
    let said = agent.said.lock().expect("free").join("\n");
    assert!(!said.contains("sesame") && !said.contains(&token), "{said}");
}
