//! Examples over HTTP, some asked by haft's own client, and two replicas of one.

use haft_client::{Client, Launch, Options, Target, connect};
use haft_proto::version::Era;
use http::HeaderMap;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// An example that listens, ended when this is dropped.
struct Serving {
    child: Child,
    url: String,
}

impl Serving {
    fn start(program: &str, key: &str) -> Self {
        let mut command = Command::new(program);
        command.args(["--http", "127.0.0.1:0"]).env("STATE_KEY", key);
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the example is built");
        let mut line = String::new();
        let stderr = child.stderr.as_mut().expect("it is piped");
        BufReader::new(stderr).read_line(&mut line).expect("it says where it is");
        let url = line.trim_end().split(' ').next_back().expect("a word").to_owned();
        Self { child, url }
    }

    /// Posts one modern request.
    fn post(&self, method: &str, name: &str, mut params: Value) -> Value {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let body = body.to_string();
        let address = self.url.trim_start_matches("http://").trim_end_matches("/mcp");
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
             content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
             mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\nmcp-name: {name}\r\n\
             content-length: {}\r\n\r\n",
            body.len()
        );
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.write_all(format!("{head}{body}").as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        serde_json::from_str(body).expect("the answer is all that there is to say")
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a tool answers, as its client shows it.
async fn call(client: &Client, tool: &str, arguments: Value) -> String {
    let arguments = to_raw_value(&arguments).expect("it is JSON");
    let result = client.call_tool(tool, &arguments, &mut |_| {}).await.expect("it answers");
    result.raw.get().to_owned()
}

/// Both eras of each target.
async fn clients(target: &Target, headers: &HeaderMap) -> Vec<Client> {
    let mut clients = Vec::new();
    for era in [Era::Legacy, Era::Modern] {
        let headers = headers.clone();
        let options = Options { era: Some(era), headers, ..Options::default() };
        clients.push(connect(target, &options).await.expect("it answers"));
    }
    clients
}

#[tokio::test]
async fn structured_output_is_a_value_with_a_schema_over_both_wires() {
    let program = env!("CARGO_BIN_EXE_structured_output");
    let serving = Serving::start(program, "");
    let stdio = Target::Command(Launch::new(program, [""; 0]));
    for target in [stdio, Target::Url(serving.url.clone())] {
        for client in clients(&target, &HeaderMap::new()).await {
            let tools = client.list_tools().await.expect("it lists").tools;
            let tool: Value = serde_json::from_str(tools[0].raw.get()).expect("JSON");
            assert_eq!(tool["outputSchema"]["required"].as_array().expect("a list").len(), 4);
            let bill = json!({ "total": 90, "people": 4, "tip": 10 });
            let split: Value =
                serde_json::from_str(&call(&client, "split_bill", bill).await).expect("JSON");
            let expected = json!({
                "each_cents": 2475, "rest_cents": 0, "tip_cents": 900, "mood": "usual",
            });
            assert_eq!(split["structuredContent"], expected);
            client.close().await;
        }
    }
}

#[tokio::test]
async fn modules_serve_the_tools_of_all_of_them_over_both_wires() {
    let program = env!("CARGO_BIN_EXE_modules");
    let serving = Serving::start(program, "");
    let stdio = Target::Command(Launch::new(program, [""; 0]));
    for target in [stdio, Target::Url(serving.url.clone())] {
        for client in clients(&target, &HeaderMap::new()).await {
            let tools = client.list_tools().await.expect("it lists").tools;
            let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
            let distances = ["miles_to_kilometres", "kilometres_to_miles"];
            assert_eq!(names, [&distances[..], &["ounces_to_grams", "grams_to_ounces"]].concat());
            let far = call(&client, "miles_to_kilometres", json!({ "miles": 10 })).await;
            assert!(far.contains("16.09344"), "{far}");
            client.close().await;
        }
    }
}

#[tokio::test]
async fn headers_choose_the_language_and_the_principal_what_is_allowed() {
    let program = env!("CARGO_BIN_EXE_state_and_headers");
    let serving = Serving::start(program, "");
    let mut german = HeaderMap::new();
    german.insert("accept-language", "de-AT".parse().expect("a value"));
    for client in clients(&Target::Url(serving.url.clone()), &german).await {
        let hours = call(&client, "opening_hours", json!({ "day": "sunday" })).await;
        assert!(hours.contains("Geschlossen"), "{hours}");
        let change = json!({ "day": "sunday", "open": "8-10" });
        let refused = call(&client, "set_hours", change).await;
        assert!(refused.contains("sign in"), "{refused}");
        client.close().await;
    }
    // Whoever started the server is no stranger.
    let stdio = Target::Command(Launch::new(program, [""; 0]));
    for client in clients(&stdio, &HeaderMap::new()).await {
        call(&client, "set_hours", json!({ "day": "sunday", "open": "8-10" })).await;
        let hours = call(&client, "opening_hours", json!({ "day": "sunday" })).await;
        assert!(hours.contains("Open 8-10"), "{hours}");
        client.close().await;
    }
}

#[test]
fn replicas_that_share_a_key_take_each_others_states() {
    let program = env!("CARGO_BIN_EXE_state_keys");
    let key = "correct horse battery staple";
    let (first, second) = (Serving::start(program, key), Serving::start(program, key));
    let stranger = Serving::start(program, "another secret that is long");
    let call = json!({ "name": "pay_invoice", "arguments": { "invoice": "A7", "euros": 40 } });
    let asked = first.post("tools/call", "pay_invoice", call.clone());
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let mut again = call;
    again["requestState"] = asked["result"]["requestState"].clone();
    again["inputResponses"] =
        json!({ "agreement": { "action": "accept", "content": { "agreed": true } } });
    let refused = stranger.post("tools/call", "pay_invoice", again.clone());
    assert!(refused["error"]["message"].as_str().expect("why").contains("`requestState`"));
    let paid = second.post("tools/call", "pay_invoice", again);
    let (first, second) = (first.child.id(), second.child.id());
    let expected = format!("40 € are paid: asked by process {first}, paid by {second}.");
    assert_eq!(paid["result"]["content"][0]["text"], expected);
}
