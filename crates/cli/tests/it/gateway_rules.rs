//! What a file says of the tools of its upstreams, as clients see it: which there are, what they
//! are called, and which arguments are whose.

use crate::desk::Desk;
use crate::gateway::{DEADLINE, called, city, gate, pipe, serve, serve_with, signal, tools};
use crate::gateway_admin::Door;
use crate::haft::haft;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

/// A server of tickets, which repeats what it is asked, and in which process.
const TRACKER: &str = r#"
server: { name: tracker }
tools:
  - name: create_issue
    description: Creates an issue.
    input_schema:
      type: object
      properties:
        owner: { type: string, x-mcp-header: Owner }
        title: { type: string, x-mcp-header: Title }
        draft: { type: boolean }
        note: { type: string }
      required: [owner, title]
      additionalProperties: false
    command: [echo, "{{ owner }}", "{{ title }}", "{{ draft }}", "{{ note }}"]
  - { name: get_issue, description: Gets one., input: { number: integer }, text: "{{ number }}" }
  - { name: get_secret, description: Gets a secret., text: hush }
  - { name: process, description: Says which process it is., command: [sh, -c, "echo $PPID"] }
resources:
  - { uri: "tracker://a", name: a, text: A }
  - { uri: "secret://b", name: b, text: B }
  - { uri: "secret://{c}", name: c, command: [echo, "{{ c }}"] }
  - { uri: "public://{d}", name: d, command: [echo, "{{ d }}"] }
prompts:
  - { name: plan, text: Plan. }
  - { name: gossip, text: Gossip. }
"#;

const RULES: &str = "
    include: { tools: [create_issue, get_*, process] }
    exclude: { tools: ['*_secret'], resources: ['secret://*', 'public://no*'], prompts: [gossip] }
    tools:
      create_issue:
        name: open_ticket
        description: Opens a ticket of ours.
        fixed: { owner: 'us \"and\" them' }
        hidden: [note]
";

/// What a call is answered whose arguments no client has looked at; more header lines end with
/// CRLF.
pub(crate) fn asked(url: &str, tool: &str, arguments: &Value, more: &str) -> Value {
    let (host, path) = url["http://".len()..].split_once('/').expect("a URL has a path");
    let version = "io.modelcontextprotocol/protocolVersion";
    let meta = json!({version: "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let body = body.to_string();
    let head = format!(
        "POST /{path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
         accept: application/json\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: tools/call\r\nmcp-name: {tool}\r\n{more}content-length: {}\r\n\
         connection: close\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(host).expect("it listens");
    stream.set_read_timeout(Some(DEADLINE)).expect("a socket has time limits");
    stream.write_all((head + &body).as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it ends");
    let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
    serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer}"))
}

fn named<'l>(listed: &'l Value, kind: &str, key: &str) -> Vec<&'l str> {
    let list = listed[kind].as_array().unwrap_or_else(|| panic!("{listed}"));
    list.iter().map(|one| one[key].as_str().expect("a text")).collect()
}

#[test]
fn what_is_left_out_is_not_there_in_either_era() {
    let tracker = Desk::with(TRACKER);
    let far = serve(tracker.file());
    let desk = gate(&format!(
        "  near:\n    {}{RULES}  far:\n    url: {:?}{}",
        pipe(&tracker),
        far.url,
        RULES.replace("open_ticket", "far_ticket")
    ));
    let gate = serve(desk.file());
    assert_eq!(*gate.said.lock().expect("free"), [""; 0]);
    for era in ["legacy", "modern"] {
        let listed = haft(["list", &gate.url, "--era", era, "--json"]).json();
        assert_eq!(
            named(&listed, "tools", "name"),
            [
                ["own"].as_slice(),
                &["open_ticket", "near_get_issue", "near_process"],
                &["far_ticket", "far_get_issue", "far_process"],
            ]
            .concat()
        );
        assert_eq!(named(&listed, "resources", "uri"), ["tracker://a"]);
        assert_eq!(named(&listed, "resourceTemplates", "uriTemplate"), ["public://{d}"]);
        let read = |uri: &str| haft(["read", &gate.url, uri, "--era", era]);
        assert_eq!(read("public://yes").printed().trim(), "yes");
        assert_ne!(read("public://nothing").code, Some(0));
        assert_eq!(named(&listed, "prompts", "name"), ["near_plan", "far_plan"]);
        let gone = haft(["call", &gate.url, "near_get_secret", "--era", era]);
        assert!(gone.code != Some(0) && !gone.stdout.contains("hush"), "{gone:?}");
        let gone = haft(["read", &gate.url, "secret://b", "--era", era]);
        assert_ne!(gone.code, Some(0), "{gone:?}");
        assert_eq!(called(&gate.url, era, "near_get_issue", &json!({"number": 7})), "7");
    }
}

#[test]
fn a_fixed_argument_is_no_business_of_clients_and_has_its_value_in_headers_too() {
    let tracker = Desk::with(TRACKER);
    let far = serve(tracker.file());
    let desk = gate(&format!(
        "  near:\n    {}{RULES}  far:\n    url: {:?}{}",
        pipe(&tracker),
        far.url,
        RULES.replace("open_ticket", "far_ticket")
    ));
    let gate = serve(desk.file());
    for (era, tool) in [
        ("legacy", "open_ticket"),
        ("modern", "open_ticket"),
        ("legacy", "far_ticket"),
        ("modern", "far_ticket"),
    ] {
        let listed = haft(["list", &gate.url, "--era", era, "--json"]).json();
        let all = listed["tools"].as_array().expect("a list");
        let told = all.iter().find(|one| one["name"] == tool).expect("it is there");
        assert_eq!(told["description"], "Opens a ticket of ours.");
        let schema = json!({
            "type": "object",
            "properties": {
                "title": {"type": "string", "x-mcp-header": "Title"},
                "draft": {"type": "boolean"},
            },
            "required": ["title"],
            "additionalProperties": false,
        });
        assert_eq!(told["inputSchema"], schema);
        let call = |input: Value| called(&gate.url, era, tool, &input);
        assert_eq!(call(json!({"title": "é"})), "us \"and\" them é");
        assert_eq!(call(json!({"title": "t", "draft": true})), "us \"and\" them t true");
    }
    for (tool, argument) in [("open_ticket", "owner"), ("far_ticket", "note")] {
        let arguments = json!({"title": "t", argument: "evil"});
        let headers = "mcp-param-title: t\r\nmcp-param-owner: evil\r\n";
        let answer = asked(&gate.url, tool, &arguments, headers);
        let why = format!("`{argument}` is not for callers to give; leave it out.");
        let result = &answer["result"];
        let text = format!("Invalid arguments for `{tool}`: {why}");
        assert_eq!(result["content"][0]["text"], text, "{answer}");
        assert_eq!((&result["isError"], &result["resultType"]), (&json!(true), &json!("complete")));
        // What a header says for an argument that nobody may give is nobody's business.
        let answer = asked(&gate.url, tool, &json!({"title": "t"}), headers);
        assert_eq!(answer["result"]["content"][0]["text"], "us \"and\" them t", "{answer}");
    }
}

#[test]
fn an_edit_of_rules_leaves_the_process_and_idle_rules_are_told() {
    let tracker = Desk::with(TRACKER);
    let before = format!("  near:\n    {}\n", pipe(&tracker));
    let desk = gate(&before);
    let gate = serve_with(desk.file(), &["--admin", "127.0.0.1:0"]);
    let door = Door::of(&gate);
    let process = called(&gate.url, "modern", "near_process", &json!({}));
    let rules = "    include: { tools: [create_isue, process] }
    exclude: { prompts: ['x*'] }
    tools: { process: { name: pid, hidden: [a] }, '*': { fixed: { b: 1 } } }\n";
    let text = std::fs::read_to_string(&desk.file).expect("it is ours");
    std::fs::write(&desk.file, text.replace(&before, &format!("{before}{rules}"))).expect("ours");
    signal(&gate.child.0.id().to_string(), "-HUP");
    let since = Instant::now();
    while tools(&gate.url, "modern") != ["own", "pid"] {
        assert!(since.elapsed() < DEADLINE, "{:?}", tools(&gate.url, "modern"));
    }
    assert_eq!(called(&gate.url, "legacy", "pid", &json!({})), process);
    let lines = [
        "`tools` in `include` names `create_isue`, which fits none of its tools; \
         did you mean `create_issue`?",
        "`prompts` in `exclude` names `x*`, which fits none of its prompts",
        "`tools` names the argument `a` of `process`, which has no such",
    ];
    for line in lines {
        gate.told(&["warning: the upstream `near`: ", line]);
    }
    let warnings = loop {
        let catalogue = door.see("catalogue");
        if catalogue["warnings"].as_array().is_some_and(|warnings| !warnings.is_empty()) {
            break catalogue["warnings"].clone();
        }
        assert!(since.elapsed() < DEADLINE, "{catalogue}");
    };
    let expected = lines.map(|line| json!({"upstream": "near", "what": line}));
    assert_eq!(warnings, json!(expected));
}

#[test]
fn a_hidden_argument_that_is_needed_is_told() {
    let tracker = Desk::with(TRACKER);
    let rules = "    tools: { create_issue: { hidden: [owner] } }\n";
    let desk = gate(&format!("  near:\n    {}\n{rules}", pipe(&tracker)));
    let gate = serve(desk.file());
    gate.told(&["hides the argument `owner` of `create_issue`, which every call needs there"]);
}

#[test]
fn a_value_that_the_schema_refuses_is_told_of_upstreams_and_views() {
    let tracker = Desk::with(TRACKER);
    let rules = "    tools: { create_issue: { fixed: { owner: 17 } } }\n";
    let tools = "{ near_create_issue: { fixed: { title: [a] } } }";
    let view = format!("views: {{ desk: {{ path: /desk, tools: {tools} }} }}\n");
    let desk = gate(&format!("  near:\n    {}\n{rules}{view}", pipe(&tracker)));
    let gate = serve(desk.file());
    let refuses = "a value that its schema refuses";
    gate.told(&[&format!("`tools` gives the argument `owner` of `create_issue` {refuses}")]);
    gate.told(&[
        "the view `desk`",
        &format!("gives the argument `title` of `near_create_issue` {refuses}"),
    ]);
}

#[test]
fn of_many_things_that_are_left_out_some_are_told_and_the_others_counted() {
    let tools: String = (0..300)
        .map(|number| format!("  - {{ name: t{number}, description: One of many., text: a }}\n"))
        .collect();
    let many = Desk::with(&format!("server: {{ name: many }}\ntools:\n{tools}"));
    let upstreams = format!("upstreams:\n  many: {{ {}, prefix: \"\" }}\n", pipe(&many));
    let desk = Desk::with(&format!("server: {{ name: gate }}\ntools:\n{tools}{upstreams}"));
    let gate = serve_with(desk.file(), &["--admin", "127.0.0.1:0"]);
    gate.told(&["the tool `t0` of the upstream `many` is left out: ", "this server's file"]);
    gate.told(&["284 more warnings like these"]);
    let said = gate.said.lock().expect("free").clone();
    let told = said.iter().filter(|line| line.contains(" is left out: ")).count();
    assert_eq!(told, 16, "{said:?}");
    let since = Instant::now();
    let catalogue = loop {
        let catalogue = Door::of(&gate).see("catalogue");
        if catalogue["leftOutMore"] != 0 {
            break catalogue;
        }
        assert!(since.elapsed() < DEADLINE, "{catalogue}");
    };
    let kept = catalogue["leftOut"].as_array().expect("a list").len();
    assert_eq!((kept, &catalogue["leftOutMore"]), (256, &json!(44)));
}

#[test]
fn defaults_stand_around_the_tools_of_upstreams_too() {
    let north = Desk::with(&city("north"));
    let desk = gate(&format!(
        "  north: {{ {} }}\ndefaults: {{ redact: [orth], max_size: 40 }}\n",
        pipe(&north)
    ));
    let gate = serve(desk.file());
    for era in ["legacy", "modern"] {
        assert_eq!(called(&gate.url, era, "north_whoami", &json!({})), "n[redacted]");
        let input = json!({"text": "x".repeat(60)}).to_string();
        let run = haft(["call", &gate.url, "north_echo", "--era", era, "--input-json", &input]);
        assert!(run.code != Some(0), "{run:?}");
    }
    // An edit of them holds as well.
    let text = std::fs::read_to_string(&desk.file).expect("it is ours");
    std::fs::write(&desk.file, text.replace("redact: [orth], ", "")).expect("it is ours");
    signal(&gate.child.0.id().to_string(), "-HUP");
    let since = Instant::now();
    while called(&gate.url, "modern", "north_whoami", &json!({})) != "north" {
        assert!(since.elapsed() < DEADLINE);
    }
}
