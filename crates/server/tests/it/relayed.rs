//! Tools that another server has: what clients are told of them, and what they are answered with.

use crate::wire::{TestWire, ask, ask_text};
use haft_proto::error::{Mistake, Refusal};
use haft_proto::spec::content::Content;
use haft_proto::version::Revision;
use haft_server::handler::{Answer, Call, Handler, Made};
use haft_server::{BuildError, Next, Outcome, Relayed, Request, Server, Tool};
use serde_json::json;
use serde_json::value::RawValue;

/// Another server, which has one answer.
struct Far(&'static str);

impl Handler for Far {
    fn call(&self, call: Call<'_>, _: Answer<'_>) -> Made {
        let answer = self.0.replace("ARGUMENTS", call.arguments);
        Made::Relayed(Box::pin(async move {
            tokio::task::yield_now().await;
            match answer.strip_prefix("error ") {
                Some(message) => Err(Refusal::new(Mistake::Own { code: 7 }, message.to_owned())),
                None => Ok(Relayed(raw(&answer))),
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
