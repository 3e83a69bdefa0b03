//! As many processes as there may be: who runs none takes no place, one that runs keeps its place
//! for as long as it does, and an edit takes nothing away.

use super::bed::{Bed, address, exchange, modern, posted, wait_until};
use super::lives::children;
use super::sessions::Client;
use crate::gateway::is_alive;
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A call that asks its client something, and waits.
const ASKS: &str = concat!(
    r#"tools/call send {"jsonrpc":"2.0","id":"q","method":"elicitation/create","#,
    r#""params":{"message":"who?","requestedSchema":{"type":"object","properties":{}}}}"#
);
const FULL: &str = "2 processes of upstreams run, as many as `processes` allows";
/// Longer than a call of the upstreams here may take without an answer of its client.
const LONG: Duration = Duration::from_secs(3);

/// With two processes, of which one is the healthy upstream's; there may be no more.
fn full(rules: &[&str]) -> Bed {
    let bed = Bed::piped_with(rules, &json!({ "timeout": "1s" }));
    assert!(wait_until(|| bed.see("upstreams")[0]["state"] == "ready"));
    assert_eq!(bed.call("good_try").said(), "tried");
    bed.rewrite(|file| file["server"]["processes"] = json!(2));
    bed
}

/// Lets one be asked, who does not answer.
fn keep_asking(client: &Client<'_>) -> TcpStream {
    let url = &client.bed.gate.url;
    let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": { "name": "bad_try", "arguments": {} } });
    let mut stream = TcpStream::connect(address(url)).expect("it listens");
    let request = posted(url, &client.headers, &call.to_string());
    stream.write_all(request.as_bytes()).expect("it reads");
    let (mut told, mut some) = (String::new(), [0; 1024]);
    while !told.contains("elicitation/create") {
        let count = stream.read(&mut some).expect("it answers");
        assert!(count > 0, "{told}");
        told.push_str(&String::from_utf8_lossy(&some[..count]));
    }
    stream
}

/// A call of a modern client that can be asked.
fn capable(url: &str) -> String {
    let able = r#"{"elicitation":{}}"#;
    let params = json!({ "name": "bad_try", "arguments": {} });
    let request = modern(url, ("tools/call", "bad_try"), params);
    let (head, body) = request.split_once("\r\n\r\n").expect("a request");
    let key = "clientCapabilities\":";
    let body = body.replace(&format!("{key}{{}}"), &format!("{key}{able}"));
    let lines = head.lines().filter(|line| !line.starts_with("content-length"));
    let head = lines.collect::<Vec<_>>().join("\r\n");
    format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

#[test]
fn who_runs_no_process_takes_no_room() {
    for bad in [json!({ "command": ["/nonexistent/server"] }), json!({ "command": ["false"] })] {
        let bed = Bed::of(&bad, None);
        assert_eq!(bed.call("good_try").said(), "tried");
        bed.rewrite(|file| {
            file["server"]["processes"] = json!(1);
            let good = file["upstreams"].as_object_mut().expect("an object").remove("good");
            file["upstreams"]["late"] = good.expect("it was there");
        });
        assert!(wait_until(|| bed.tools() == ["late_try"]), "{:?}", bed.see("upstreams"));
        bed.stop().expect("an orderly end");
    }
}

#[test]
fn an_edit_takes_nothing_away_where_all_places_are_taken() {
    let bed = full(&[ASKS]);
    let old = children(&bed, "tools/call");
    let client = Client::begin(&bed);
    let asking = keep_asking(&client);
    // The old one is asked for longer than this takes.
    bed.edit(|bad| bad["command"].as_array_mut().expect("a list").truncate(1));
    assert!(wait_until(|| {
        assert_eq!(bed.tools(), ["bad_try", "good_try"]);
        bed.see("upstreams")[0]["state"] == "ready"
    }));
    assert_eq!(bed.call("bad_try").said(), "tried");
    // There is one place more for that, and no other.
    bed.edit(|bad| bad["env"]["NUMBER"] = json!("2"));
    assert!(wait_until(|| {
        assert_eq!(bed.tools(), ["bad_try", "good_try"]);
        bed.see("upstreams")[0]["reason"] == FULL
    }));
    assert!(bed.processes().len() <= 3);
    assert_eq!(bed.call("bad_try").said(), "tried");
    assert!(is_alive(&old[0]));
    client.end();
    assert!(wait_until(|| {
        assert_eq!(bed.tools(), ["bad_try", "good_try"]);
        bed.see("upstreams")[0]["state"] == "ready"
    }));
    assert!(wait_until(|| bed.processes().len() == 2 && !is_alive(&old[0])));
    drop(asking);
    bed.stop().expect("an orderly end");
}

#[test]
fn a_process_keeps_its_place_until_it_has_ended() {
    let bed = full(&[ASKS]);
    let client = Client::begin(&bed);
    let asking = keep_asking(&client);
    bed.rewrite(|file| {
        let all = file["upstreams"].as_object_mut().expect("an object");
        let bad = all.remove("bad").expect("it was there");
        all.insert("late".to_owned(), bad);
    });
    let began = Instant::now();
    assert!(wait_until(|| {
        assert!(bed.processes().len() <= 2);
        began.elapsed() > LONG
    }));
    assert_eq!(bed.see("upstreams")[1]["reason"], FULL);
    client.end();
    assert!(wait_until(|| bed.see("upstreams")[1]["state"] == "ready"));
    drop(asking);
    bed.stop().expect("an orderly end");
}

#[test]
fn a_call_that_waits_for_its_client_keeps_no_place_of_what_failed() {
    let bed = full(&[ASKS, "tools/call@2 fill"]);
    let asked = exchange(&bed.gate.url, &capable(&bed.gate.url));
    assert_eq!(asked.message["result"]["resultType"], "input_required", "{asked:?}");
    let failed = bed.call("bad_try");
    assert!(failed.said().contains("`bad`"), "{failed:?}");
    assert!(wait_until(|| {
        let bad = bed.see("upstreams")[0].clone();
        (&bad["state"], &bad["restarts"]) == (&json!("ready"), &json!(1))
    }));
    bed.stop().expect("an orderly end");
}
