//! `tools/list`, `initialize` and `server/discover` in every revision.

use crate::wire::ask;
use haft_proto::encode::fields::Caching;
use haft_proto::limits::Limits;
use haft_proto::spec::tool::Annotations;
use haft_proto::version::{Era, Revision};
use haft_server::{Resource, Server, Tool, handler};
use serde_json::value::RawValue;
use serde_json::{Value, json};

#[derive(serde::Deserialize)]
struct Nothing {}

fn tool(name: &str) -> Tool {
    Tool::new(name, handler::function(|Nothing {}| "ok"))
}

fn numbered(count: usize) -> Vec<Tool> {
    (0..count).map(|index| tool(&format!("tool_{index}"))).collect()
}

#[tokio::test]
async fn each_revision_gets_the_fields_that_it_has_and_no_others() {
    let full = tool("full")
        .title("Full")
        .description("All fields.")
        .output_schema(r#"{"type":"object"}"#)
        .annotations(Annotations { read_only: Some(true), ..Annotations::default() });
    let list = tool("list").output_schema(r#"{"type":"array"}"#);
    let server = Server::builder("s", "1").tool(full).tool(list).build().expect("it is right");
    let expected: [(&str, &[&str], &[&str]); 5] = [
        ("2024-11-05", &["description", "inputSchema", "name"], &[]),
        ("2025-03-26", &["annotations", "description", "inputSchema", "name"], &[]),
        (
            "2025-06-18",
            &["annotations", "description", "inputSchema", "name", "outputSchema", "title"],
            &[],
        ),
        (
            "2025-11-25",
            &["annotations", "description", "inputSchema", "name", "outputSchema", "title"],
            &[],
        ),
        (
            "2026-07-28",
            &["annotations", "description", "inputSchema", "name", "outputSchema", "title"],
            &["outputSchema"],
        ),
    ];
    for (date, fields, of_array) in expected {
        let revision = Revision::parse(date).expect("a revision");
        let answer = ask(&server, revision, "tools/list", json!({})).await;
        let tools = &answer["result"]["tools"];
        let mut keys: Vec<_> = tools[0].as_object().expect("a tool").keys().collect();
        keys.sort();
        assert_eq!(keys, fields, "{date}");
        let has_schema = tools[1].get("outputSchema").is_some();
        assert_eq!(has_schema, !of_array.is_empty(), "{date}: arrays came with 2026-07-28");
        let is_modern = revision.era() == Era::Modern;
        for key in ["resultType", "ttlMs", "cacheScope", "_meta"] {
            assert_eq!(answer["result"].get(key).is_some(), is_modern, "{date} {key}");
        }
    }
    let old = Revision::parse("2025-03-26").expect("a revision");
    let answer = ask(&server, old, "tools/list", json!({})).await;
    let annotations = &answer["result"]["tools"][0]["annotations"];
    assert_eq!(annotations, &json!({"title": "Full", "readOnlyHint": true}));
}

#[tokio::test]
async fn pages_follow_each_other_in_order_and_foreign_cursors_are_refused() {
    let limits = Limits { page_entries: 2, ..Limits::default() };
    let mut builder = Server::builder("s", "1").limits(limits);
    for tool in numbered(5) {
        builder = builder.tool(tool);
    }
    let server = builder.build().expect("it is right");
    for revision in Revision::ALL {
        let (mut names, mut cursor) = (Vec::new(), Value::Null);
        loop {
            let params = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
            let page = ask(&server, revision, "tools/list", params).await["result"].clone();
            let tools = page["tools"].as_array().expect("a list").clone();
            assert!(tools.len() <= 2);
            names.extend(tools.iter().map(|tool| tool["name"].as_str().unwrap_or("").to_owned()));
            let Some(next) = page.get("nextCursor") else { break };
            cursor = next.clone();
        }
        assert_eq!(names, server.tool_names());
    }
    let first = ask(&server, Revision::LATEST, "tools/list", json!({})).await;
    let old = first["result"]["nextCursor"].clone();
    server.replace_tools(numbered(4)).expect("they are right");
    for cursor in [old, json!("0"), json!(7), json!("0000000000000000-1")] {
        let params = json!({"cursor": cursor});
        let refused = ask(&server, Revision::LATEST, "tools/list", params).await;
        assert_eq!(refused["error"]["code"], -32602, "{cursor}");
    }
}

#[tokio::test]
async fn what_is_said_of_all_lists_stands_in_each_where_the_revision_has_room_for_it() {
    let meta = RawValue::from_string(r#"{"a/b":["c"]}"#.to_owned()).expect("JSON");
    let server = Server::builder("s", "1").tools(numbered(3)).list_meta(meta);
    let server = server.resource(Resource::text("a:b", "b", "1"));
    let server = server.limits(Limits { page_entries: 2, ..Limits::default() });
    let server = server.build().expect("it is right");
    for revision in Revision::ALL {
        for list in ["tools/list", "resources/list", "resources/templates/list"] {
            let result = ask(&server, revision, list, json!({})).await["result"].clone();
            let said = &result["_meta"]["a/b"];
            assert_eq!(said.is_null(), revision.as_str() < "2025-06-18", "{revision:?}: {result}");
            let who = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
            assert_eq!(who.is_null(), revision.era() == Era::Legacy, "{result}");
        }
        let next = ask(&server, revision, "tools/list", json!({})).await["result"].clone();
        let rest = ask(&server, revision, "tools/list", json!({"cursor": next["nextCursor"]}));
        assert_eq!(rest.await["result"]["_meta"], next["_meta"]);
    }
}

#[tokio::test]
async fn a_server_without_tools_lists_none() {
    let server = Server::builder("s", "1").build().expect("it is right");
    let answer = ask(&server, Revision::LATEST, "tools/list", json!({})).await;
    assert_eq!(answer["result"]["tools"], json!([]));
}

#[tokio::test]
async fn a_server_says_who_it_is_in_the_words_of_the_revision() {
    let caching = Caching { ttl_ms: 5, is_public: false };
    let server = Server::builder("s", "1.2")
        .title("Server")
        .description("About.")
        .website_url("https://s.example")
        .instructions("Ask first.")
        .caching(caching)
        .build()
        .expect("it is right");
    for revision in Revision::ALL.into_iter().filter(|revision| revision.era() == Era::Legacy) {
        let params = json!({"protocolVersion": revision.as_str(), "capabilities": {}});
        let answer = ask(&server, revision, "initialize", params).await["result"].clone();
        assert_eq!(answer["protocolVersion"], revision.as_str());
        assert_eq!(answer["instructions"], "Ask first.");
        let info = answer["serverInfo"].as_object().expect("who it is");
        assert_eq!((&info["name"], &info["version"]), (&json!("s"), &json!("1.2")));
        assert_eq!(info.contains_key("title"), revision.as_str() >= "2025-06-18");
        assert_eq!(info.contains_key("websiteUrl"), revision.as_str() >= "2025-11-25");
    }
    let hello =
        ask(&server, Revision::LATEST, "server/discover", json!({})).await["result"].clone();
    assert_eq!((&hello["ttlMs"], &hello["cacheScope"]), (&json!(5), &json!("private")));
    assert_eq!(hello["capabilities"], json!({"logging": {}, "tools": {"listChanged": true}}));
    assert_eq!(hello["_meta"]["io.modelcontextprotocol/serverInfo"]["title"], "Server");
}

#[tokio::test]
async fn a_schema_is_passed_on_as_it_is_on_one_line() {
    let schema = "{\n  \"type\": \"object\",\r\n \"$defs\":{\"a b\":{\"$anchor\":\"x\"}},\n\
        \"properties\":{\"z\":{\"default\":1.0},\"a\":{\"enum\":[1e2,\"\\n\"]}}\n}";
    let server =
        Server::builder("s", "1").tool(tool("t").input_schema(schema)).build().expect("right");
    let answer = ask(&server, Revision::LATEST, "tools/list", json!({})).await;
    let listed = answer["result"]["tools"][0]["inputSchema"].to_string();
    let written: Value = serde_json::from_str(schema).expect("JSON");
    assert_eq!(listed, written.to_string(), "keys in order, numbers as they are");
}
