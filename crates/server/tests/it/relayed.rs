//! Tools that another server has: what clients are told of them, and what they are answered with.

use crate::wire::{TestWire, ask, ask_text};
use haft_proto::error::{Mistake, Refusal};
use haft_proto::spec::content::Content;
use haft_proto::version::Revision;
use haft_server::handler::{Answer, Call, Handler, Made};
use haft_server::{
    BuildError, Next, Outcome, Prompt, Relayed, Relaying, Request, Resource, ResourceTemplate,
    Server, ServerBuilder, Tool,
};
use serde_json::json;
use serde_json::value::RawValue;
use std::time::Duration;
use tokio::time::Instant;

/// Another server, which has one answer.
struct Far(&'static str);

impl Handler for Far {
    fn call(&self, call: Call<'_>, _: Answer<'_>) -> Made {
        let answer = self.0.replace("ARGUMENTS", call.arguments);
        Made::Relayed(Box::pin(async move {
            tokio::task::yield_now().await;
            match answer.strip_prefix("error ") {
                Some(message) => Err(Refusal::new(Mistake::Own { code: 7 }, message.to_owned())),
                None => Ok(Relayed::Whole(answer.into())),
            }
        }))
    }
}

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).expect("JSON")
}

const DEFINITION: &str = r#"{"x-new":{"name":1.50},"name":"search","title":"T","icons":[],
    "inputSchema":{"type":"object","required":["q"],"properties":{"q":{"type":"string"}}},
    "outputSchema":{"type":"object","required":["n"]},
    "annotations":{"readOnlyHint":true,"x-hint":1},"_meta":{"a":1}}"#;

fn far(answer: &'static str) -> Tool {
    Tool::relayed("far_search", raw(DEFINITION), Far(answer))
}

fn server(answer: &'static str) -> Server {
    Server::builder("gate", "1").tool(far(answer)).build().expect("right")
}

#[tokio::test]
async fn clients_are_told_what_the_other_server_tells_under_another_name() {
    let server = server("{}");
    let listed = ask(&server, Revision::LATEST, "tools/list", json!({})).await;
    let mut expected: serde_json::Value = serde_json::from_str(DEFINITION).expect("JSON");
    expected["name"] = "far_search".into();
    assert_eq!(listed["result"]["tools"], json!([expected]));
    // What a revision does not have is not told.
    let listed = ask(&server, Revision::V2024_11_05, "tools/list", json!({})).await;
    let tool = listed["result"]["tools"][0].as_object().expect("a tool");
    for key in ["title", "icons", "outputSchema", "annotations", "_meta"] {
        assert!(!tool.contains_key(key), "{tool:?}");
    }
    assert_eq!(tool["x-new"], json!({"name": 1.5}));
}

#[tokio::test]
async fn arguments_and_results_are_for_the_other_server_to_check() {
    // Neither the argument that is asked for, nor the promised structure.
    let server = server(r#"{"content":[{"type":"hologram"}],"x":[ARGUMENTS]}"#);
    let call = json!({"name": "far_search", "arguments": {"q": "7"}});
    let answer = ask(&server, Revision::LATEST_LEGACY, "tools/call", call).await;
    let expected = json!({"content": [{"type": "hologram"}], "x": [{"q": "7"}]});
    assert_eq!(answer["result"], expected);
    let call = json!({"name": "far_search", "arguments": {"q": null}});
    let answer = ask(&server, Revision::LATEST, "tools/call", call).await;
    assert_eq!(answer["result"]["x"], json!([{"q": null}]));
    assert_eq!(answer["result"]["resultType"], "complete");
}

#[tokio::test]
async fn arguments_pass_as_they_came() {
    let server = server(r#"{"content":[],"x":ARGUMENTS}"#);
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"far_search",
        "arguments":{"q" : 1.50,"q":"\u0041"}}}"#;
    let answer = ask_text(&TestWire::default(), &server, Revision::LATEST_LEGACY, call).await;
    // Of two members with one name, a reader has the last.
    assert_eq!(answer["result"]["x"], json!({"q": "A"}));
}

#[tokio::test]
async fn an_error_of_the_other_server_is_passed_on() {
    let server = server("error no such thing");
    let call = json!({"name": "far_search"});
    let answer = ask(&server, Revision::LATEST, "tools/call", call).await;
    assert_eq!(answer["error"], json!({"code": 7, "message": "no such thing"}));
}

#[tokio::test]
async fn who_stands_around_it_sees_a_result() {
    async fn look(request: Request, next: Next) -> Outcome {
        assert_eq!(request.annotations.read_only, Some(true));
        match next.run(request).await {
            Outcome::Tool(mut result) => {
                let [Content::Text(text), Content::Raw(other)] = &*result.content else {
                    panic!("{result:?}")
                };
                assert_eq!((&**text, other.get()), ("a", r#"{"type":"hologram","x":1.50}"#));
                result.content.remove(0);
                Outcome::Tool(result)
            }
            other => panic!("{other:?}"),
        }
    }
    const ANSWER: &str = r#"{"content":[{"type":"text","text":"a"},
        {"type":"hologram","x":1.50}],"structuredContent":{"n":1.50},"isError":true}"#;
    let server = Server::builder("gate", "1").middleware(look).tool(far(ANSWER));
    let server = server.build().expect("right");
    let answer = ask(&server, Revision::LATEST, "tools/call", json!({"name": "far_search"})).await;
    let result = &answer["result"];
    assert_eq!(result["content"], json!([{"type": "hologram", "x": 1.5}]), "{answer}");
    assert_eq!(
        (&result["isError"], &result["structuredContent"]),
        (&true.into(), &json!({"n": 1.5}))
    );
}

/// Everything of another server, which answers with what it was asked.
fn mirror() -> ServerBuilder {
    let answer = |asked: Relaying| async move {
        tokio::task::yield_now().await;
        let (method, params) = (asked.method.name(), &asked.params);
        match params.contains("nobody") {
            true => Err(Refusal::new(Mistake::Own { code: 9 }, "nobody is there")),
            false => {
                Ok(Relayed::Whole(format!(r#"{{"asked":"{method}","with":{params}}}"#).into()))
            }
        }
    };
    let note = raw(r#"{"uri":"far:note","name":"note","x-new":[1.50]}"#);
    let notes = raw(r#"{"uriTemplate":"far:notes/{id}","name":"notes","x-new":2}"#);
    let prompt = raw(r#"{"name":"ask","arguments":[{"name":"q","required":true}],"x-new":3}"#);
    Server::builder("gate", "1")
        .resource(Resource::relayed("far:note", note, answer))
        .resource_template(ResourceTemplate::relayed("far:notes/{id}", notes, answer))
        .prompt(Prompt::relayed("far_ask", prompt, answer))
        .open_ended()
}

#[tokio::test]
async fn resources_and_prompts_are_told_and_answered_as_the_other_server_does() {
    async fn pass(request: Request, next: Next) -> Outcome {
        next.run(request).await
    }
    for builder in [mirror(), mirror().middleware(pass)] {
        let server = builder.build().expect("right");
        for (list, key, new) in [
            ("resources/list", "resources", json!([1.5])),
            ("resources/templates/list", "resourceTemplates", json!(2)),
            ("prompts/list", "prompts", json!(3)),
        ] {
            let listed = ask(&server, Revision::V2024_11_05, list, json!({})).await;
            assert_eq!(listed["result"][key][0]["x-new"], new, "{listed}");
        }
        let of_prompt = json!({"type": "ref/prompt", "name": "far_ask"});
        let of_family = json!({"type": "ref/resource", "uri": "far:notes/{id}"});
        let typed = json!({"name": "anything", "value": "v"});
        for (method, params) in [
            ("resources/read", json!({"uri": "far:note"})),
            ("resources/read", json!({"uri": "far:notes/7"})),
            // What is required is for the other server to say.
            ("prompts/get", json!({"name": "far_ask"})),
            ("completion/complete", json!({"ref": of_prompt, "argument": typed})),
            ("completion/complete", json!({"ref": of_family, "argument": typed})),
        ] {
            let answer = ask(&server, Revision::LATEST_LEGACY, method, params.clone()).await;
            assert_eq!(answer["result"], json!({"asked": method, "with": params}), "{answer}");
        }
        let read = json!({"uri": "far:note"});
        let answer = ask(&server, Revision::LATEST, "resources/read", read).await;
        let (kept, kind) = (&answer["result"]["ttlMs"], &answer["result"]["resultType"]);
        assert_eq!((kept, kind), (&json!(0), &json!("complete")), "{answer}");
        let missing = json!({"uri": "far:notes/nobody"});
        let answer = ask(&server, Revision::LATEST, "resources/read", missing).await;
        assert_eq!(answer["error"], json!({"code": 9, "message": "nobody is there"}));
        let unknown = json!({"uri": "far:other"});
        let answer = ask(&server, Revision::LATEST, "resources/read", unknown).await;
        assert_eq!(answer["error"]["code"], -32602);
    }
}

#[tokio::test(start_paused = true)]
async fn another_server_has_its_own_time_for_what_it_has() {
    let limit = Duration::from_secs(90);
    let never = |_: Relaying| std::future::pending();
    let note = raw(r#"{"uri":"far:note","name":"note"}"#);
    let notes = raw(r#"{"uriTemplate":"far:notes/{id}","name":"notes"}"#);
    let prompt = raw(r#"{"name":"ask"}"#);
    let notes = ResourceTemplate::relayed("far:notes/{id}", notes, never);
    let server = Server::builder("gate", "1")
        .resource(Resource::relayed("far:note", note, never).relayed_within(limit))
        .resource_template(notes.relayed_within(limit))
        .prompt(Prompt::relayed("far_ask", prompt, never).relayed_within(limit));
    let server = server.open_ended().build().expect("right");
    let of_prompt = json!({"type": "ref/prompt", "name": "far_ask"});
    let typed = json!({"name": "anything", "value": "v"});
    for (method, params) in [
        ("resources/read", json!({"uri": "far:note"})),
        ("resources/read", json!({"uri": "far:notes/7"})),
        ("prompts/get", json!({"name": "far_ask"})),
        ("completion/complete", json!({"ref": of_prompt, "argument": typed})),
    ] {
        let began = Instant::now();
        let answer = ask(&server, Revision::LATEST, method, params).await;
        assert!(answer["error"]["message"].as_str().is_some_and(|why| why.contains("90s")));
        assert_eq!(began.elapsed().as_secs(), limit.as_secs(), "{method}: {answer}");
    }
}

#[test]
fn an_address_that_no_client_could_ask_for_is_found_before_it_is_served() {
    let never = |_: Relaying| async { unreachable!("nobody asks") };
    let bad = Resource::relayed("note", raw("{}"), never).verify();
    assert!(matches!(bad, Err(BuildError::BadUri { .. })), "{bad:?}");
    let bad = ResourceTemplate::relayed("far:{", raw("{}"), never).verify();
    assert!(matches!(bad, Err(BuildError::BadUriTemplate { .. })), "{bad:?}");
}

#[tokio::test]
async fn a_tool_that_no_client_could_use_is_found_before_it_is_served() {
    for (definition, expected) in [
        (r#"{"name":"x"}"#, "input"),
        (r#"{"name":"x","inputSchema":{"type":"string"}}"#, "input"),
        (r#"{"name":"x","inputSchema":{"type":"object"},"outputSchema":{"type":7}}"#, "output"),
    ] {
        let bad = Tool::relayed("far_x", raw(definition), Far("{}"));
        let Err(BuildError::BadSchema { tool, part, .. }) = bad.verify() else {
            panic!("{definition}")
        };
        assert_eq!((&*tool, part), ("far_x", expected));
    }
    assert_eq!(far("{}").verify(), Ok(()));
}

#[tokio::test]
async fn what_is_verified_is_known_until_it_is_changed() {
    let bad =
        Tool::relayed("far", raw(r#"{"inputSchema":{"type":"object","minimum":"x"}}"#), Far(""));
    assert!(matches!(bad.verified(), Err(BuildError::BadSchema { part: "input", .. })));
    let good = far(r#"{"content":[]}"#).verified().expect("it is right");
    let changed = good.clone().input_schema(r#"{"type":"object","minimum":"x"}"#);
    let refused = Server::builder("gate", "1").tool(changed).build().map(drop);
    assert!(matches!(refused, Err(BuildError::BadSchema { part: "input", .. })), "{refused:?}");
    let changed = good.clone().output_schema("7");
    let refused = Server::builder("gate", "1").tool(changed).build().map(drop);
    assert!(matches!(refused, Err(BuildError::BadSchema { part: "output", .. })), "{refused:?}");
    // The same tool in two servers, and again in one of them.
    for _ in 0..2 {
        let server = Server::builder("gate", "1").tool(good.clone()).build().expect("right");
        server.replace(Server::builder("gate", "2").tool(good.clone())).expect("right");
        let listed = ask(&server, Revision::LATEST, "tools/list", json!({})).await;
        let mut expected: serde_json::Value = serde_json::from_str(DEFINITION).expect("JSON");
        expected["name"] = "far_search".into();
        assert_eq!(listed["result"]["tools"], json!([expected]));
        let params = json!({"name": "far_search", "arguments": {}});
        let answer = ask(&server, Revision::LATEST, "tools/call", params).await;
        assert_eq!(answer["result"]["content"], json!([]), "{answer}");
    }
}
