//! Rounds of a modern client as they are on the wire: which server has the call, what is made
//! again, and what is sent on.

use super::{ERAS, Gate, kill};
use crate::gateway::DEADLINE;
use haft_proto::version::Era;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;

/// A modern request by hand.
fn post(url: &str, method: &str, name: &str, params: &Value) -> Value {
    let capabilities = json!({"elicitation": {}, "sampling": {}, "roots": {}});
    post_as(&capabilities, url, method, name, params)
}

/// The same of a client with these capabilities.
pub(super) fn post_as(
    capabilities: &Value,
    url: &str,
    method: &str,
    name: &str,
    params: &Value,
) -> Value {
    let address = url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp"));
    let address = address.expect("it serves /mcp on loopback");
    let mut params = params.clone();
    let meta = params.as_object_mut().expect("an object").entry("_meta").or_insert(json!({}));
    meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    meta["io.modelcontextprotocol/clientCapabilities"] = capabilities.clone();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let request = format!(
        "POST /mcp HTTP/1.0\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: {method}\r\nmcp-name: {name}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).expect("the server listens");
    stream.set_read_timeout(Some(DEADLINE)).expect("a socket has time limits");
    stream.write_all(request.as_bytes()).expect("the server reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the server answers");
    let (_, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    let mut events = body.lines().filter_map(|line| line.strip_prefix("data: {"));
    let json = events.next_back().map_or_else(|| body.to_owned(), |event| format!("{{{event}"));
    serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

/// What is brought to the next round.
fn next(asked: &Value, answer: &Value) -> Value {
    let asked = &asked["result"];
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let requests = asked["inputRequests"].as_object().unwrap_or_else(|| panic!("{asked}"));
    assert_eq!(requests.len(), 1, "{asked}");
    let key = requests.keys().next().expect("one");
    json!({
        "inputResponses": {key: {"action": "accept", "content": answer}},
        "requestState": asked["requestState"],
    })
}

fn with(mut params: Value, more: &Value) -> Value {
    let members = more.as_object().expect("an object").clone();
    params.as_object_mut().expect("an object").extend(members);
    params
}

#[test]
fn another_replica_makes_the_call_again_if_it_may_and_refuses_it_if_not() {
    let gates = [(); 2].map(|()| Gate::piped(Era::Legacy));
    let urls = gates.each_ref().map(|gate| &*gate.served.url);
    // A prompt may be asked for twice.
    let prompt = "test_input_required_result_prompt";
    let params = json!({"name": prompt, "arguments": {}});
    let asked = post(urls[0], "prompts/get", prompt, &params);
    let more = next(&asked, &json!({"context": "snow"}));
    let got = post(urls[1], "prompts/get", prompt, &with(params.clone(), &more));
    assert_eq!(
        got["result"]["messages"][0]["content"]["text"], "Prompt with context: snow",
        "{got}"
    );
    // Where it waits, it goes on.
    let got = post(urls[0], "prompts/get", prompt, &with(params, &more));
    assert!(got["result"]["messages"].is_array(), "{got}");
    assert_eq!(gates[0].sent("prompts/get").len(), 1);
    // A tool that does not say so may not.
    let tool = "test_input_required_result_multi_round";
    let params = json!({"name": tool, "arguments": {}});
    let asked = post(urls[0], "tools/call", tool, &params);
    let more = next(&asked, &json!({"name": "Eve"}));
    let refused = post(urls[1], "tools/call", tool, &with(params.clone(), &more));
    let message = refused["error"]["message"].as_str().unwrap_or_else(|| panic!("{refused}"));
    assert!(message.starts_with("Upstream `it`: the call that asked is not there"), "{message}");
    assert_eq!(gates[1].sent("tools/call").len(), 0);
    // Nobody waits for another client of the same person.
    let got = post(urls[0], "tools/call", tool, &params);
    assert_eq!(got["result"]["resultType"], "input_required", "{got}");
    let asked = post(urls[0], "tools/call", tool, &with(params.clone(), &more));
    let more = next(&asked, &json!({"color": "red"}));
    let got = post(urls[0], "tools/call", tool, &with(params.clone(), &more));
    assert_eq!(got["result"]["content"][0]["text"], "Eve likes red.", "{got}");
    assert_eq!(gates[0].sent("tools/call").len(), 2, "this one, and the other");
    // A state is good for its own request.
    let asked = post(urls[0], "tools/call", tool, &params);
    let more = next(&asked, &json!({"name": "Eve"}));
    let other = "test_input_required_result_elicitation";
    let forged = with(json!({"name": other, "arguments": {}}), &more);
    let refused = post(urls[0], "tools/call", other, &forged);
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
}

#[test]
fn what_is_asked_at_the_same_time_is_asked_in_one_round() {
    for upstream in ERAS {
        let gate = Gate::piped(upstream);
        let tool = "test_input_required_result_multiple_inputs";
        let params = json!({"name": tool, "arguments": {}});
        let asked = post(&gate.served.url, "tools/call", tool, &params);
        let requests = asked["result"]["inputRequests"].as_object();
        let requests = requests.unwrap_or_else(|| panic!("{asked}"));
        let kinds: Vec<_> = requests.values().filter_map(|one| one["method"].as_str()).collect();
        let all = ["elicitation/create", "sampling/createMessage", "roots/list"];
        assert!(all.iter().all(|kind| kinds.contains(kind)), "{asked}");
    }
}

#[test]
fn a_call_that_waits_for_an_answer_is_lost_with_its_server_and_says_so() {
    let gate = Gate::piped(Era::Legacy);
    let tool = "test_input_required_result_multi_round";
    let params = json!({"name": tool, "arguments": {}});
    let asked = post(&gate.served.url, "tools/call", tool, &params);
    kill(&gate);
    let more = next(&asked, &json!({"name": "Eve"}));
    let lost = post(&gate.served.url, "tools/call", tool, &with(params, &more));
    let message = lost["error"]["message"].as_str().unwrap_or_else(|| panic!("{lost}"));
    assert!(message.starts_with("Upstream `it`"), "{message}");
}

#[test]
fn what_traces_a_request_crosses_and_what_is_between_two_does_not() {
    for upstream in ERAS {
        let gate = Gate::piped(upstream);
        let tool = "test_simple_text";
        let meta = json!({
            "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "baggage": "a=1", "com.example/mine": [1.5], "progressToken": "theirs",
        });
        let params = json!({"name": tool, "arguments": {}, "_meta": meta});
        let got = post(&gate.served.url, "tools/call", tool, &params);
        assert!(got["result"].is_object(), "{got}");
        let sent = &gate.sent("tools/call")[0]["params"]["_meta"];
        for key in ["traceparent", "baggage", "com.example/mine"] {
            assert_eq!(sent[key], meta[key], "{key} {sent}");
        }
        assert_ne!(sent["progressToken"], meta["progressToken"], "it is this server's own");
        let capabilities = &sent["io.modelcontextprotocol/clientCapabilities"];
        match upstream {
            Era::Legacy => assert!(capabilities.is_null(), "{sent}"),
            Era::Modern => assert!(capabilities["roots"].is_object(), "{sent}"),
        }
    }
}
