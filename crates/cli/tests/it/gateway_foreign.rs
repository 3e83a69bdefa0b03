//! Servers that others wrote, behind a gateway: what they answer through it is what they answer
//! themselves, to clients of either era.

mod clients;
mod flawed;
mod town;

use crate::foreign_servers::{everything, listening, official};
use crate::gateway::{gate, serve};
use crate::haft::{Ran, haft};
use serde_json::{Value, json};

/// A command line as `upstreams` has it.
fn argv(command: &str) -> String {
    let words = shlex::split(command).expect("quotes are closed");
    json!(words).to_string()
}

/// What a tool answered, without what a server of another era has to add.
fn result(ran: &Ran) -> Value {
    let mut result = ran.json();
    let members = result.as_object_mut().unwrap_or_else(|| panic!("{ran:?}"));
    members.remove("resultType");
    let meta = members.get_mut("_meta").and_then(Value::as_object_mut);
    let is_bare = meta.is_some_and(|meta| {
        meta.remove("io.modelcontextprotocol/serverInfo");
        meta.is_empty()
    });
    if is_bare {
        members.remove("_meta");
    }
    result
}

/// A result without the time of day at which it was made.
fn timeless(result: Value) -> Value {
    let text = result.to_string();
    let mut parts = text.split("created at ");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.trim_start_matches(|made| made != '"'));
    let text = first + &rest.collect::<String>();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {result}"))
}

#[test]
fn what_others_answer_is_the_same_through_a_gateway() {
    let (everything, modern) = (everything(), official("stdio"));
    let http = listening("http");
    let desk = gate(&format!(
        "  all: {{ command: {} }}\n  modern: {{ command: {} }}\n  http: {{ url: {:?} }}\n",
        argv(&everything),
        argv(&modern),
        http.url
    ));
    let gate = serve(desk.file());
    let direct = [("all", &everything), ("modern", &modern)];
    let mut compared = 0;
    for era in ["legacy", "modern"] {
        let through = haft(["list", &gate.url, "--era", era, "--json"]).json();
        for (prefix, command) in direct {
            let itself = haft(["list", "--command", command, "--json"]).json();
            for kind in ["resources", "resourceTemplates"] {
                let there = itself[kind].as_array().map_or(0, Vec::len);
                assert!(through[kind].as_array().map_or(0, Vec::len) >= there, "{prefix} {kind}");
            }
            for tool in itself["tools"].as_array().expect("it has tools") {
                let name = tool["name"].as_str().expect("a name");
                let here = format!("{prefix}_{name}");
                let tools = through["tools"].as_array().expect("there are tools");
                let told = tools.iter().find(|told| told["name"] == here);
                let told = told.unwrap_or_else(|| panic!("{here} is not in {through}"));
                for key in ["description", "inputSchema"] {
                    assert_eq!(told[key], tool[key], "{here} {key} in the {era} era");
                }
            }
        }
        for (tool, input) in [
            ("echo", json!({"message": "é \" \\ \u{1f600}"})),
            ("get-sum", json!({"a": 1.5, "b": -2})),
            ("get-tiny-image", json!({})),
            ("get-structured-content", json!({"location": "New York"})),
            ("get-annotated-message", json!({"messageType": "error", "includeImage": true})),
            ("get-resource-links", json!({"count": 2})),
            ("get-resource-reference", json!({"resourceType": "Text", "resourceId": 1})),
        ] {
            let input = input.to_string();
            let asked = ["--input-json", &input, "--json"];
            let here = format!("all_{tool}");
            let through = haft([&["call", &gate.url, &here, "--era", era], &asked[..]].concat());
            let itself = haft([&["call", "--command", &everything, tool], &asked[..]].concat());
            let [through, itself] = [result(&through), result(&itself)].map(timeless);
            assert_eq!(through, itself, "{tool} in the {era} era");
            compared += 1;
        }
    }
    assert_eq!(compared, 14);
}
