//! An upstream of which each session has a process of its own: it ends with the session and dies
//! alone, and there are not more of them than may be.

use super::bed::{Bed, ask, wait_until};
use super::lives::children;
use crate::gateway::{is_alive, signal};
use serde_json::{Value, json};

/// Each process counts its calls by itself.
const COUNTS: &str = r#"tools/call send {"jsonrpc":"2.0","id":$id,"result":{
    "content":[{"type":"text","text":"$n"}]}}"#;

/// What the command lines of its processes have in them, and no others.
const RULE: &str = "tools/call";

fn bed() -> Bed {
    bed_with(&json!({ "sessions": "own" }))
}

fn bed_with(keys: &Value) -> Bed {
    let bed = Bed::piped_with(&[&COUNTS.replace('\n', " ")], keys);
    assert!(wait_until(|| bed.see("upstreams")[0]["state"] == "ready"));
    bed
}

/// A client of the legacy era, which can be asked.
pub(super) struct Client<'a> {
    pub(super) bed: &'a Bed,
    pub(super) headers: String,
}

impl<'a> Client<'a> {
    pub(super) fn begin(bed: &'a Bed) -> Self {
        let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{
            "protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},
            "clientInfo":{"name":"a","version":"1"}}}"#;
        let told = ask(&bed.gate.url, "", hello);
        let id = told.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        let id = id.unwrap_or_else(|| panic!("{told}"));
        let headers = format!("mcp-session-id: {id}\r\nmcp-protocol-version: 2025-11-25\r\n");
        Self { bed, headers }
    }

    /// What it is told.
    fn call(&self) -> String {
        let body = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": { "name": "bad_try", "arguments": {} } });
        let told = ask(&self.bed.gate.url, &self.headers, &body.to_string());
        let (_, body) = told.split_once("\r\n\r\n").expect("a response");
        let event = body.lines().rev().find_map(|line| line.strip_prefix("data: "));
        let message: Value = serde_json::from_str(event.unwrap_or(body)).expect("JSON");
        let error = message["error"]["message"].as_str();
        let text = message["result"]["content"][0]["text"].as_str();
        error.or(text).unwrap_or_else(|| panic!("{told}")).to_owned()
    }

    pub(super) fn end(self) {
        let url = &self.bed.gate.url;
        let request = format!(
            "DELETE /mcp HTTP/1.0\r\nhost: {}\r\n{}\r\n",
            super::bed::address(url),
            self.headers
        );
        let told = super::bed::send(url, &request);
        assert!(told.starts_with("HTTP/1.0 2") || told.starts_with("HTTP/1.1 2"), "{told}");
    }
}

fn own(bed: &Bed) -> u64 {
    bed.see("upstreams")[0]["own"].as_u64().expect("a number")
}

#[test]
fn each_session_has_a_process_of_its_own_that_ends_with_it() {
    let bed = bed();
    let shared = children(&bed, RULE);
    let (first, second) = (Client::begin(&bed), Client::begin(&bed));
    assert_eq!([first.call(), first.call(), second.call(), first.call()], ["1", "2", "1", "3"]);
    // Who has no session shares the one that is there for all.
    assert_eq!([bed.call("bad_try").said(), bed.call("bad_try").said()], ["1", "2"]);
    assert_eq!((own(&bed), children(&bed, RULE).len()), (2, shared.len() + 2));

    let of_first: Vec<String> =
        children(&bed, RULE).into_iter().filter(|one| !shared.contains(one)).collect();
    first.end();
    assert!(wait_until(|| own(&bed) == 1));
    assert_eq!(of_first.iter().filter(|one| is_alive(one)).count(), 1);
    assert_eq!(second.call(), "2");
    bed.stop().expect("an orderly end");
}

#[test]
fn what_dies_of_one_session_dies_alone() {
    let bed = bed();
    let shared = children(&bed, RULE);
    let first = Client::begin(&bed);
    assert_eq!(first.call(), "1");
    let child = children(&bed, RULE).into_iter().find(|one| !shared.contains(one));
    let second = Client::begin(&bed);
    assert_eq!([second.call(), second.call()], ["1", "2"]);
    signal(&child.expect("it has answered"), "-9");
    // It begins anew.
    assert!(wait_until(|| first.call() == "1"));
    assert_eq!(second.call(), "3");
    assert_eq!(bed.see("upstreams")[0]["restarts"], 0);
    bed.stop().expect("an orderly end");
}

#[test]
fn there_are_not_more_of_them_than_may_be() {
    let bed = bed_with(&json!({ "sessions": "own", "sessions_max": 3 }));
    let clients: Vec<Client<'_>> = (0..4).map(|_| Client::begin(&bed)).collect();
    let (last, others) = clients.split_last().expect("some");
    assert!(others.iter().all(|client| client.call() == "1"));
    let refused = last.call();
    assert!(refused.contains("`bad`") && refused.contains("3 sessions"), "{refused}");
    assert_eq!(bed.call("bad_try").said(), "1");
    bed.stop().expect("an orderly end");
}

#[test]
fn one_whose_session_asks_nothing_for_long_ends_and_begins_anew() {
    let bed = bed_with(&json!({ "sessions": "own", "sessions_idle": "2s" }));
    let shared = children(&bed, RULE).len();
    let (quiet, busy) = (Client::begin(&bed), Client::begin(&bed));
    assert_eq!(quiet.call(), "1");
    let mut calls = 0;
    assert!(wait_until(|| {
        calls += 1;
        assert_eq!(busy.call(), calls.to_string());
        own(&bed) == 1
    }));
    assert!(wait_until(|| children(&bed, RULE).len() == shared + 1));
    assert_eq!((quiet.call(), own(&bed)), ("1".to_owned(), 2));
    bed.stop().expect("an orderly end");
}

#[test]
fn there_are_not_more_processes_of_all_upstreams_than_may_be() {
    let bed = bed();
    // Each upstream has one for all.
    bed.rewrite(|file| file["server"]["processes"] = json!(3));
    let (first, second) = (Client::begin(&bed), Client::begin(&bed));
    assert_eq!(first.call(), "1");
    let refused = second.call();
    let why = "3 processes of upstreams run, as many as `processes` allows";
    assert_eq!(refused, format!("Upstream `bad`: {why}"));

    bed.rewrite(|file| file["upstreams"]["late"] = file["upstreams"]["good"].clone());
    let late = || bed.see("upstreams")[2].clone();
    assert!(wait_until(|| late()["state"] == "down"));
    assert_eq!(late()["reason"], why);
    assert_eq!(first.call(), "2", "nobody else is harmed");
    first.end();
    assert!(wait_until(|| late()["state"] == "ready"));
    assert!(second.call().contains(why));
    bed.rewrite(|file| file["server"]["processes"] = json!(4));
    assert_eq!(second.call(), "1");
    bed.stop().expect("an orderly end");
}
