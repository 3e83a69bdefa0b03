//! Resources, prompts and completions: what is sent for each, and that lists end.

use crate::answering::{Agreeable, answered_by};
use crate::scripted_http::{Request, Scripted, Turn, json, response};
use haft_client::{Client, ClientError, CompleteFor, Options, ResourceBody, Target, connect};
use haft_proto::version::Era;
use serde_json::{Value, json as value};
use std::sync::Arc;

fn answer(id: u32, result: &str) -> Turn {
    json(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
}

async fn connected(capabilities: &str, turns: Vec<Turn>) -> (Client, Scripted) {
    let discovered =
        format!(r#"{{"supportedVersions":["2026-07-28"],"capabilities":{capabilities}}}"#);
    let turns = [answer(1, &discovered)].into_iter().chain(turns);
    let mut server = Scripted::new(turns).await;
    let target = Target::Url(server.url.clone());
    let options = Options { era: Some(Era::Modern), ..Options::default() };
    let options = answered_by(&Arc::new(Agreeable::default()), options);
    let client = connect(&target, &options).await.expect("a connection");
    server.request().await;
    (client, server)
}

fn params(request: &Request) -> Value {
    let body: Value = serde_json::from_str(&request.body).expect("JSON");
    let mut params = body["params"].clone();
    params.as_object_mut().expect("an object").remove("_meta");
    params
}

#[tokio::test]
async fn all_pages_of_every_list_are_asked_for() {
    let turns = vec![
        answer(2, r#"{"resources":[{"uri":"file:///a","name":"a","size":3}],"nextCursor":"1"}"#),
        answer(3, r#"{"resources":[{"uri":"file:///b","name":"b"}]}"#),
        answer(4, r#"{"resourceTemplates":[{"uriTemplate":"x:{y}","name":"t"}],"nextCursor":"n"}"#),
        answer(5, r#"{"resourceTemplates":[]}"#),
        answer(6, r#"{"prompts":[{"name":"p"}],"nextCursor":"n"}"#),
        answer(7, r#"{"prompts":[{"name":"q"}]}"#),
    ];
    let (client, mut server) = connected("{}", turns).await;
    let resources = client.list_resources().await.expect("resources");
    let uris: Vec<&str> = resources.entries.iter().map(|one| one.uri.as_str()).collect();
    assert_eq!((&*uris, resources.pages), (&["file:///a", "file:///b"][..], 2));
    assert_eq!(resources.entries[0].size, Some(3));
    server.request().await;
    assert_eq!(params(&server.request().await), value!({"cursor": "1"}));
    let templates = client.list_resource_templates().await.expect("templates");
    assert_eq!(templates.entries[0].uri_template, "x:{y}");
    let prompts = client.list_prompts().await.expect("prompts");
    assert_eq!((prompts.entries.len(), prompts.pages), (2, 2));
}

#[tokio::test]
async fn what_a_server_does_not_offer_is_an_empty_list() {
    let unknown = |id: u32| {
        let error = r#"{"code":-32601,"message":"what?"}"#;
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#);
        response(404, "application/json", &body)
    };
    let turns = vec![unknown(2), unknown(3), unknown(4)];
    let (client, _server) = connected(r#"{"resources":{}}"#, turns).await;
    assert_eq!(client.list_prompts().await.expect("none").entries.len(), 0);
    assert_eq!(client.list_resource_templates().await.expect("none").entries.len(), 0);
    let error = client.list_resources().await.expect_err("it said that it has some");
    assert!(matches!(error, ClientError::Refused { .. }), "{error}");
}

#[tokio::test]
async fn a_list_ends_where_its_cursor_leads_back() {
    let page = |n: u32, name: &str, cursor: &str| {
        let entry = format!(r#"{{"uri":"x:{name}","name":"{name}"}}"#);
        answer(n, &format!(r#"{{"resources":[{entry}],"nextCursor":{cursor}}}"#))
    };
    let back = "the server's `nextCursor` leads back to a page that was read";
    let empty = "the server's `nextCursor` is empty; it must leave it out";
    for (pages, names, warned) in [
        (&[("a", "null")][..], "a", None),
        (&[("a", "\"\"")], "a", Some(("page 2 and later", empty))),
        (&[("a", "\"1\""), ("b", "\"\"")], "a b", Some(("page 3 and later", empty))),
        // Whoever does not heed cursors sends the first page again.
        (&[("a", "\"1\""), ("a", "\"1\"")], "a", Some(("page 3 and later", back))),
        (&[("a", "\"1\""), ("b", "\"1\"")], "a b", Some(("page 3 and later", back))),
        (
            &[("a", "\"1\""), ("b", "\"2\""), ("c", "\"3\""), ("d", "\"2\"")],
            "a b c d",
            Some(("page 5 and later", back)),
        ),
    ] {
        let turns = (2..).zip(pages).map(|(id, (name, cursor))| page(id, name, cursor));
        let (client, _server) = connected("{}", turns.collect()).await;
        let list = client.list_resources().await.expect(names);
        let found: Vec<&str> = list.entries.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(found.join(" "), names);
        let dropped: Vec<_> = list.dropped.iter().map(|one| (&*one.name, &*one.reason)).collect();
        assert_eq!(dropped, Vec::from_iter(warned), "{names}");
    }
}

#[tokio::test]
async fn reading_and_filling_in_take_part_in_rounds_and_name_their_target() {
    let asks = r#"{"resultType":"input_required","requestState":"s",
        "inputRequests":{"r":{"method":"roots/list"}}}"#;
    let message = r#"{"messages":[{"role":"user","content":{"type":"text","text":"x"}}]}"#;
    let turns = vec![
        answer(2, asks),
        answer(3, r#"{"contents":[{"uri":"file:///ä b","text":"x"}]}"#),
        answer(4, asks),
        answer(5, message),
    ];
    let (client, mut server) = connected("{}", turns).await;
    let read = client.read_resource("file:///ä b", &mut |_| {}).await.expect("a resource");
    assert_eq!(read.contents[0].body, ResourceBody::Text("x".to_owned()));
    let filled = client.get_prompt("p", &[("a", "\"1\"")], &mut |_| {}).await.expect("a prompt");
    assert_eq!(filled.messages.len(), 1);
    let roots = value!({"r": {"roots": [{"uri": "file:///x"}]}});
    let request = server.request().await;
    assert_eq!(request.header("mcp-name"), Some("=?base64?ZmlsZTovLy/DpCBi?="));
    assert_eq!(params(&request), value!({"uri": "file:///ä b"}));
    let again = params(&server.request().await);
    let expected = value!({"uri": "file:///ä b", "requestState": "s", "inputResponses": roots});
    assert_eq!(again, expected);
    let request = server.request().await;
    assert_eq!(request.header("mcp-name"), Some("p"));
    let again = params(&server.request().await);
    assert_eq!(again["arguments"], value!({"a": "\"1\""}));
    assert_eq!(again["inputResponses"], roots);
}

#[tokio::test]
async fn a_completion_says_what_it_is_for() {
    let values = r#"{"completion":{"values":["paris"],"hasMore":true}}"#;
    let (client, mut server) = connected("{}", vec![answer(2, values), answer(3, values)]).await;
    let prompt = CompleteFor::Prompt("p");
    let found = client.complete(prompt, "city", "pa", &[("land", "fr")]).await.expect("values");
    assert_eq!((&*found.values, found.has_more), (&["paris".to_owned()][..], true));
    let template = CompleteFor::Template("x:{y}");
    client.complete(template, "y", "", &[]).await.expect("values");
    let expected = value!({"ref": {"type": "ref/prompt", "name": "p"},
        "argument": {"name": "city", "value": "pa"}, "context": {"arguments": {"land": "fr"}}});
    assert_eq!(params(&server.request().await), expected);
    let expected = value!({"ref": {"type": "ref/resource", "uri": "x:{y}"},
        "argument": {"name": "y", "value": ""}});
    assert_eq!(params(&server.request().await), expected);
}
