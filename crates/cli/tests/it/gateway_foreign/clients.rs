//! Servers that others wrote behind a gateway, and clients that others wrote in front of it, in
//! both eras: the lists and answers are those that there are without the gateway.

use super::town::{Heard, House, Town, answers, plain, through, tools};
use crate::foreign::{Client, Era, asked};
use crate::gateway::{called, gate, serve, tools as names};
use haft_proto::version;
use serde_json::{Value, json};
use std::fs;
use std::thread;

/// How many servers there are, over all wires.
const HOUSES: usize = 14;

/// The clients in front.
const CLIENTS: [Client; 4] =
    [Client::TypescriptV2, Client::TypescriptV1, Client::Python, Client::Go];

/// The calls of all servers, by the names that the gateway gives to tools.
fn all_calls(town: &Town) -> Vec<(String, Value)> {
    let calls = |house: &House| {
        let named =
            |(tool, input): &(&str, Value)| (format!("{}_{tool}", house.prefix), input.clone());
        house.calls.iter().map(named).collect::<Vec<_>>()
    };
    town.houses.iter().flat_map(calls).collect()
}

/// What the servers have and answer without a gateway.
async fn all_heard(town: &Town) -> Vec<Heard> {
    let mut heard = Vec::new();
    for house in &town.houses {
        heard.push(house.itself().await);
    }
    heard
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(work)
}

/// Whether a tool is told of as by its own server, but for its name.
fn assert_same_tool(told: &Value, itself: &Value, name: &str) {
    for key in ["title", "description", "inputSchema", "outputSchema", "annotations"] {
        assert_eq!(told[key], itself[key], "{name} {key}");
    }
}

#[test]
fn servers_of_others_are_the_same_through_a_gateway_to_clients_of_others() {
    let town = Town::build();
    assert_eq!(town.houses.len(), HOUSES);
    let desk = gate(&town.entries());
    let gate = serve(desk.file());
    let heard = block_on(all_heard(&town));
    let calls = all_calls(&town);
    let expected: Vec<&Value> = heard.iter().flat_map(|heard| &heard.answers).collect();
    assert_eq!(calls.len(), expected.len());

    for era in [version::Era::Legacy, version::Era::Modern] {
        let (told, answered) = block_on(async {
            let client = through(&gate.url, era).await;
            let named = calls.iter().map(|(tool, input)| (tool.as_str(), input));
            (tools(&client).await, answers(&client, named).await)
        });
        for (house, heard) in town.houses.iter().zip(&heard) {
            for itself in &heard.tools {
                let name = format!("{}_{}", house.prefix, itself["name"].as_str().expect("a name"));
                let found = told.iter().find(|told| told["name"] == name);
                assert_same_tool(found.unwrap_or_else(|| panic!("no {name}")), itself, &name);
            }
        }
        // The reference server has some more for clients that can be asked, as a gateway can.
        let is_known = |told: &&Value| {
            let name = told["name"].as_str().unwrap_or_default();
            let (prefix, tool) = name.split_once('_').unwrap_or_default();
            let house = town.houses.iter().position(|house| house.prefix == prefix);
            let tools = house.map(|house| &heard[house].tools);
            tools.is_some_and(|tools| tools.iter().any(|itself| itself["name"] == tool))
        };
        let more = told.iter().filter(|told| !is_known(told)).filter_map(|t| t["name"].as_str());
        let more: Vec<&str> = more.filter(|name| !name.starts_with("all")).collect();
        assert_eq!(more, ["own"], "in the {era:?} era");
        for ((call, answer), expected) in calls.iter().zip(&answered).zip(&expected) {
            assert_eq!(answer, *expected, "{call:?} in the {era:?} era");
        }
    }

    let texts: Vec<(&str, String)> =
        calls.iter().map(|(tool, input)| (tool.as_str(), input.to_string())).collect();
    let texts: Vec<(&str, &str)> =
        texts.iter().map(|(tool, text)| (*tool, text.as_str())).collect();
    let url = gate.url.as_str();
    thread::scope(|scope| {
        for client in CLIENTS {
            let (texts, expected) = (&texts, &expected);
            scope.spawn(move || {
                for &era in client.eras() {
                    assert_same_answers(client, era, texts, expected, url);
                }
            });
        }
    });
}

fn assert_same_answers(
    client: Client,
    era: Era,
    calls: &[(&str, &str)],
    expected: &[&Value],
    url: &str,
) {
    let said = asked(client, era, calls, url);
    let names = said[0].as_array().expect("a list");
    assert!(calls.iter().all(|(tool, _)| names.contains(&json!(tool))), "{client:?}: {names:?}");
    assert_eq!(said.len(), calls.len() + 1, "{client:?}");
    for ((call, result), expected) in calls.iter().zip(&said[1..]).zip(expected) {
        assert_eq!(plain(result), **expected, "{call:?} by {client:?}, {}", era.name());
    }
}

#[test]
fn what_servers_of_others_do_through_a_gateway_is_done() {
    let town = Town::build_stores();
    let desk = gate(&town.entries());
    let gate = serve(desk.file());
    assert!(names(&gate.url, "modern").contains(&"files_write_file".to_owned()));
    for era in ["legacy", "modern"] {
        let path = town.files().join(format!("{era}.txt"));
        let text = format!("written by {era} é\n");
        called(&gate.url, era, "files_write_file", &json!({ "path": path, "content": text }));
        assert_eq!(fs::read_to_string(&path).expect("it was written"), text);
        let new = town.files().join(format!("{era}-moved.txt"));
        let paths = json!({ "source": path, "destination": new });
        called(&gate.url, era, "files_move_file", &paths);
        assert!(new.exists() && !path.exists());
        let entity = json!({ "name": era, "entityType": "era", "observations": ["é"] });
        called(&gate.url, era, "memory_create_entities", &json!({ "entities": [entity] }));
        let graph = fs::read_to_string(town.graph()).expect("it was written");
        let is_it =
            |line: &str| serde_json::from_str::<Value>(line).is_ok_and(|v| v["name"] == era);
        assert!(graph.lines().any(is_it), "{graph}");
    }
    let outside = json!({ "path": "/etc/hostname" });
    let outside = crate::haft::haft([
        "call",
        &gate.url,
        "files_read_text_file",
        "--input-json",
        &outside.to_string(),
        "--json",
    ]);
    assert_eq!(outside.json()["isError"], true, "{outside:?}");
}
