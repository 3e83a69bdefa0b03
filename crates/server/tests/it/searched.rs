//! Tools that are found and not listed: what stands in the list for them, and what comes of it.

use crate::wire::ask;
use haft_proto::error::{Mistake, Refusal};
use haft_proto::version::Revision;
use haft_server::handler::{Answer, Call, Handler, Made};
use haft_server::{CALL, FIND, Relayed, Server, ServerBuilder, Tool, handler};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// A tool of another server, which answers with the arguments that it gets.
struct Far;

impl Handler for Far {
    fn call(&self, call: Call<'_>, _: Answer<'_>) -> Made {
        let answer =
            format!(r#"{{"content":[],"structuredContent":{{"got":{}}}}}"#, call.arguments);
        Made::Relayed(Box::pin(std::future::ready(Ok(Relayed::Whole(answer.into())))))
    }
}

#[derive(serde::Deserialize)]
struct Add {
    a: i64,
    b: i64,
}

fn builder(least: usize) -> ServerBuilder {
    let schema = r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},
        "required":["a","b"]}"#;
    let add = Tool::new("add", handler::function(|it: Add| it.a + it.b)).input_schema(schema);
    let definition = r#"{"name":"x","description":"Looks for books.","inputSchema":
        {"type":"object","properties":{"title":{"type":"string","x-mcp-header":"T"}}}}"#;
    let definition = RawValue::from_string(definition.to_owned()).expect("JSON");
    let books = Tool::relayed("library_search", definition, Far);
    let angry = Tool::new(
        "angry",
        handler::function(|_: Value| -> Result<String, Refusal> {
            Err(Refusal::new(Mistake::Own { code: 7 }, "no"))
        }),
    );
    let add = add.description("Adds two numbers.");
    Server::builder("s", "1").tool(add).tool(books).tool(angry).search_from(least)
}

async fn listed(server: &Server, revision: Revision) -> Vec<String> {
    let answer = ask(server, revision, "tools/list", json!({})).await;
    let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}")).clone();
    tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
}

async fn call(server: &Server, revision: Revision, name: &str, arguments: Value) -> Value {
    ask(server, revision, "tools/call", json!({"name": name, "arguments": arguments})).await
}

async fn found(server: &Server, query: &str) -> Vec<Value> {
    let answer = call(server, Revision::LATEST, FIND, json!({"query": query})).await;
    let text = answer["result"]["content"][0]["text"].as_str().expect("a text").to_owned();
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"))
}

const ERAS: [Revision; 2] = [Revision::LATEST_LEGACY, Revision::LATEST];

#[tokio::test]
async fn two_tools_stand_for_all_where_they_are_many() {
    let many = builder(3).build().expect("right");
    let few = builder(4).build().expect("right");
    for revision in ERAS {
        assert_eq!(listed(&many, revision).await, [FIND, CALL]);
        assert_eq!(listed(&few, revision).await, ["add", "library_search", "angry"]);
        let answer = call(&few, revision, FIND, json!({"query": "x"})).await;
        assert!(answer["error"].is_object(), "{answer}");
    }
}

#[tokio::test]
async fn what_is_found_can_be_called_by_the_other_and_by_its_name() {
    let server = builder(1).build().expect("right");
    let tools = found(&server, "a book").await;
    assert_eq!(tools.len(), 1);
    assert_eq!(
        (&tools[0]["name"], tools[0]["inputSchema"]["type"].as_str()),
        (&json!("library_search"), Some("object"))
    );
    assert_eq!(found(&server, "numbers").await[0]["name"], "add");
    for revision in ERAS {
        let given = json!({"a": 1, "b": 2});
        for (name, arguments) in
            [("add", given.clone()), (CALL, json!({"name": "add", "arguments": given}))]
        {
            let answer = call(&server, revision, name, arguments).await;
            assert_eq!(answer["result"]["content"][0]["text"], "3", "{answer}");
        }
        let arguments = json!({"name": "library_search", "arguments": {"title": "é"}});
        let answer = call(&server, revision, CALL, arguments).await;
        let got = &answer["result"]["structuredContent"]["got"];
        assert_eq!(*got, json!({"title": "é"}), "{answer}");
    }
}

#[tokio::test]
async fn what_goes_wrong_is_told_as_of_the_tool_itself() {
    let server = builder(1).build().expect("right");
    let within = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
    for revision in ERAS {
        let answer = call(&server, revision, CALL, within("add", json!({"a": 1}))).await;
        let text = answer["result"]["content"][0]["text"].as_str().expect("a text");
        assert!(text.starts_with("Invalid arguments for `add`: "), "{answer}");
        assert_eq!(answer["result"]["isError"], true);
        let answer = call(&server, revision, CALL, within("angry", json!({}))).await;
        assert_eq!(answer["error"], json!({"code": 7, "message": "no"}));
        for (arguments, message) in [
            (within("ad", json!({})), "Unknown tool: \"ad\"; did you mean \"add\"?"),
            (within("zebra", json!({})), "Unknown tool: \"zebra\"; `find_tools` has the names"),
            (
                within(CALL, json!({})),
                "Invalid params: `call_tool` needs the `name` of another tool",
            ),
            (json!({}), "Invalid params: `call_tool` needs the `name` of a tool"),
            (json!({"name": 7}), "Invalid params: `call_tool` needs the `name` of a tool"),
            (
                within("add", json!([1])),
                "Invalid params: `call_tool` needs `arguments` that are an object",
            ),
        ] {
            let answer = call(&server, revision, CALL, arguments).await;
            assert_eq!(answer["error"]["message"], message, "{answer}");
        }
    }
    let answer = call(&server, Revision::LATEST, FIND, json!({"query": "zebra"})).await;
    let text = "No tool fits; try other words for what it is to do.";
    assert_eq!(answer["result"]["content"][0]["text"], text);
}

#[tokio::test]
async fn what_comes_and_goes_is_found_as_it_is() {
    let server = builder(3).build().expect("right");
    let zebra = Tool::new("zebra", handler::function(|_: Value| "stripes"));
    server.add_tool(zebra).expect("it fits");
    assert_eq!(found(&server, "zebra").await[0]["name"], "zebra");
    assert!(server.remove_tool("zebra"));
    let answer = call(&server, Revision::LATEST, FIND, json!({"query": "zebra"})).await;
    assert!(answer.to_string().contains("No tool fits"), "{answer}");
    assert!(server.remove_tool("angry"));
    assert_eq!(listed(&server, Revision::LATEST).await, ["add", "library_search"]);
    server.replace(builder(1)).expect("it fits");
    assert_eq!(listed(&server, Revision::LATEST).await, [FIND, CALL]);
}
