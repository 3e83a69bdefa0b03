//! Servers that others wrote, each over every wire that it has, and calls whose answers are the
//! same each time. What they answer without a gateway is asked here, by haft's client.

use super::argv;
use crate::foreign_servers::{
    Listening, everything, filesystem, go, listening_everything, listening_go, listening_python,
    memory, python,
};
use haft_client::{Client, Launch, Options, Target, connect};
use haft_proto::version::Era;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// All of them.
pub(super) struct Town {
    pub(super) houses: Vec<House>,
    folder: TempDir,
    _listening: Vec<Listening>,
}

/// One server over one wire.
pub(super) struct House {
    /// What its tools are prefixed by.
    pub(super) prefix: String,
    target: Target,
    /// Its entry in a file.
    entry: String,
    /// Tools, and arguments.
    pub(super) calls: Vec<(&'static str, Value)>,
}

/// What a server has and answers.
#[derive(Debug)]
pub(super) struct Heard {
    pub(super) tools: Vec<Value>,
    pub(super) answers: Vec<Value>,
}

impl Town {
    /// Those that keep something, and nobody else.
    pub(super) fn build_stores() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut town = Self { houses: Vec::new(), folder, _listening: Vec::new() };
        town.store();
        town
    }

    pub(super) fn build() -> Self {
        let mut town = Self::build_stores();
        let everything_calls = || {
            vec![
                ("echo", json!({ "message": "é \" \\ \u{1f600}" })),
                ("get-sum", json!({ "a": 1.5, "b": -2 })),
                ("get-structured-content", json!({ "location": "New York" })),
            ]
        };
        town.pipe("all", &everything(), everything_calls());
        town.far("allhttp", listening_everything("streamableHttp"), everything_calls());
        town.far("allsse", listening_everything("sse"), everything_calls());
        for package in ["mcp", "fastmcp"] {
            let calls = || {
                vec![
                    ("add", json!({ "a": 1, "b": 2 })),
                    ("greet", json!({})),
                    ("place", json!({})),
                    ("fail", json!({})),
                ]
            };
            town.pipe(package, &python(package, "stdio"), calls());
            for wire in ["http", "sse"] {
                town.far(&format!("{package}{wire}"), listening_python(package, wire), calls());
            }
        }
        let calls = || {
            let greet = ("greet", json!({ "name": "Zoë" }));
            vec![("add", json!({ "a": 1, "b": 2 })), greet, ("fail", json!({}))]
        };
        town.pipe("go", &go("stdio"), calls());
        for wire in ["http", "sse"] {
            town.far(&format!("go{wire}"), listening_go(wire), calls());
        }
        town
    }

    /// The servers that keep something, and what they have to begin with.
    fn store(&mut self) {
        let (files, graph) = (self.files(), self.graph());
        fs::create_dir_all(files.join("inner")).expect("a folder of ours");
        fs::write(files.join("inner/one.txt"), "one\nzwei\n").expect("a folder of ours");
        let entity =
            json!({ "type": "entity", "name": "Å", "entityType": "place", "observations": ["x"] });
        fs::write(&graph, format!("{entity}\n")).expect("a folder of ours");
        let calls = vec![
            ("read_text_file", json!({ "path": files.join("inner/one.txt") })),
            ("list_directory", json!({ "path": files.join("inner") })),
            ("directory_tree", json!({ "path": files })),
            ("read_text_file", json!({ "path": "/etc/hostname" })),
        ];
        self.pipe("files", &filesystem(&files), calls);
        let calls = vec![("read_graph", json!({})), ("search_nodes", json!({ "query": "place" }))];
        self.pipe("memory", &memory(&graph), calls);
    }

    /// The folder that the server for files may touch.
    pub(super) fn files(&self) -> PathBuf {
        let folder = self.folder.path().canonicalize().expect("it is there");
        folder.join("files")
    }

    /// What the server that remembers writes.
    pub(super) fn graph(&self) -> PathBuf {
        self.folder.path().join("memory.jsonl")
    }

    /// All of them, as `upstreams` has them.
    pub(super) fn entries(&self) -> String {
        self.houses.iter().map(|house| format!("  {}: {}\n", house.prefix, house.entry)).collect()
    }

    fn pipe(&mut self, prefix: &str, command: &str, calls: Vec<(&'static str, Value)>) {
        let mut words = shlex::split(command).expect("quotes are closed");
        let entry = format!("{{ command: {} }}", argv(command));
        let program = words.remove(0);
        let target = Target::Command(Launch::new(program, words));
        self.houses.push(House { prefix: prefix.to_owned(), target, entry, calls });
    }

    fn far(&mut self, prefix: &str, server: Listening, calls: Vec<(&'static str, Value)>) {
        let entry = format!("{{ url: {:?} }}", server.url);
        let target = Target::Url(server.url.clone());
        self.houses.push(House { prefix: prefix.to_owned(), target, entry, calls });
        self._listening.push(server);
    }
}

impl House {
    /// What it has and answers itself.
    pub(super) async fn itself(&self) -> Heard {
        let client = connect(&self.target, &Options::default()).await;
        let client = client.unwrap_or_else(|error| panic!("{}: {error}", self.prefix));
        let heard = Heard {
            tools: tools(&client).await,
            answers: answers(&client, self.calls.iter().map(|(tool, input)| (*tool, input))).await,
        };
        client.close().await;
        heard
    }
}

/// A connection to a gateway.
pub(super) async fn through(url: &str, era: Era) -> Client {
    let options = Options { era: Some(era), ..Options::default() };
    connect(&Target::Url(url.to_owned()), &options).await.expect("a gateway")
}

/// All tools, as they are told of.
pub(super) async fn tools(client: &Client) -> Vec<Value> {
    let list = client.list_tools().await.expect("a list");
    assert_eq!(list.dropped.len(), 0, "{:?}", list.dropped);
    list.tools.iter().map(|tool| serde_json::from_str(tool.raw.get()).expect("JSON")).collect()
}

/// What is answered to each call.
pub(super) async fn answers(
    client: &Client,
    calls: impl Iterator<Item = (&str, &Value)>,
) -> Vec<Value> {
    let mut answers = Vec::new();
    for (tool, input) in calls {
        let input = to_raw_value(input).expect("JSON");
        let answer = client.call_tool(tool, &input, &mut |_| {}).await;
        let answer = answer.unwrap_or_else(|error| panic!("{tool}: {error}"));
        answers.push(plain(&serde_json::from_str(answer.raw.get()).expect("JSON")));
    }
    answers
}

/// What everybody has to hand out of a result: other clients leave out what says nothing.
pub(super) fn plain(result: &Value) -> Value {
    json!({
        "content": without_nulls(&result["content"]),
        "structured": without_nulls(&result["structuredContent"]),
        "failed": result["isError"] == true,
    })
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Array(all) => all.iter().map(without_nulls).collect(),
        Value::Object(all) => {
            let kept = all.iter().filter(|(_, value)| !value.is_null());
            kept.map(|(key, value)| (key.clone(), without_nulls(value))).collect()
        }
        value => value.clone(),
    }
}
