//! Calls that servers turn into tasks: looked at, provided with answers, and cancelled when nobody
//! waits. The server is a script that is told when to go on.

use crate::answering::{Agreeable, answered_by};
use crate::scripted_http::{Request, Scripted, Turn, json};
use haft_client::{CallResult, Client, ClientError, Notice, Options, Target, connect};
use haft_proto::version::Era;
use serde_json::value::RawValue;
use serde_json::{Value, json as value};
use std::sync::Arc;
use std::time::Duration;

const DISCOVERED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],
    "capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}}"#;

fn task(id: u32, kind: &str, members: &str) -> Turn {
    json(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"{kind}","taskId":"t-Ä",
        "createdAt":"2026-07-28T00:00:00Z","lastUpdatedAt":"2026-07-28T00:00:00Z","ttlMs":null,
        "pollIntervalMs":1,{members}}}}}"#
    ))
}

fn done(id: u32) -> Turn {
    json(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete"}}}}"#))
}

async fn connected(turns: Vec<Turn>) -> (Client, Scripted) {
    let mut server = Scripted::new([json(DISCOVERED)].into_iter().chain(turns)).await;
    let target = Target::Url(server.url.clone());
    let options = Options { era: Some(Era::Modern), tasks: true, ..Options::default() };
    let options = answered_by(&Arc::new(Agreeable::default()), options);
    let client = connect(&target, &options).await.expect("a connection");
    server.request().await;
    (client, server)
}

async fn call(client: &Client, said: &mut Vec<String>) -> Result<CallResult, ClientError> {
    let arguments = RawValue::from_string("{}".to_owned()).expect("JSON");
    let mut listener = |notice| {
        if let Notice::Status { message } = notice {
            said.push(message);
        }
    };
    client.call_tool("tool", &arguments, &mut listener).await
}

/// A request by method, routing header and parameters without `_meta`.
fn summary(request: &Request) -> (String, Option<String>, Value) {
    let body: Value = serde_json::from_str(&request.body).expect("JSON");
    let mut params = body["params"].clone();
    let meta = params.as_object_mut().and_then(|params| params.remove("_meta")).expect("_meta");
    let extensions = &meta["io.modelcontextprotocol/clientCapabilities"]["extensions"];
    assert_eq!(*extensions, value!({"io.modelcontextprotocol/tasks": {}}));
    let name = request.header("mcp-name").map(str::to_owned);
    (body["method"].as_str().expect("a method").to_owned(), name, params)
}

#[tokio::test]
async fn a_task_is_looked_at_and_provided_with_answers_until_it_is_over() {
    let working = r#""status":"working","statusMessage":"half""#;
    let asking = r#""status":"input_required","inputRequests":{"r":{"method":"roots/list"}}"#;
    let result = r#""status":"completed","result":{"content":[{"type":"text","text":"ok"}]}"#;
    let turns = vec![
        task(2, "task", working),
        task(3, "complete", working),
        task(4, "complete", asking),
        done(5),
        task(6, "complete", asking),
        task(7, "complete", result),
    ];
    let (client, mut server) = connected(turns).await;
    let mut said = Vec::new();
    let answer = call(&client, &mut said).await.expect("an answer");
    assert_eq!(answer.raw.get(), r#"{"content":[{"type":"text","text":"ok"}]}"#);
    assert_eq!(said, ["half"], "the same is not said twice");
    let mut asked = Vec::new();
    for _ in 0..6 {
        asked.push(summary(&server.request().await));
    }
    let name = Some("=?base64?dC3DhA==?=".to_owned());
    let get = ("tasks/get".to_owned(), name.clone(), value!({"taskId": "t-Ä"}));
    assert_eq!(asked[1], get);
    let roots = value!({"r": {"roots": [{"uri": "file:///x"}]}});
    let update = value!({"taskId": "t-Ä", "inputResponses": roots});
    assert_eq!(asked[3], ("tasks/update".to_owned(), name, update));
    assert_eq!(&asked[4..], [get.clone(), get], "a question is answered once");
}

#[tokio::test]
async fn a_task_ends_as_its_call_would_have_ended() {
    let ended = async |members: &str| {
        let turns = vec![task(2, "task", r#""status":"working""#), task(3, "complete", members)];
        let (client, _server) = connected(turns).await;
        call(&client, &mut Vec::new()).await.expect_err("no result")
    };
    let error = ended(r#""status":"failed","error":{"code":-32603,"message":"no"}"#).await;
    assert!(matches!(&error, ClientError::Refused { error, .. } if error.code == -32603));
    let error = ended(r#""status":"cancelled""#).await;
    assert!(matches!(error, ClientError::TaskCancelled), "{error}");
    for wrong in [r#""status":"completed""#, r#""status":"failed""#, r#""status":"asleep""#] {
        let error = ended(wrong).await;
        assert!(matches!(error, ClientError::MalformedResult { .. }), "{wrong}: {error}");
    }
}

#[tokio::test]
async fn a_task_that_nobody_waits_for_is_cancelled() {
    let working = r#""status":"working""#;
    let (held, _hold) = Turn::held(String::new());
    let (client, mut server) = connected(vec![task(2, "task", working), held, done(4)]).await;
    let mut said = Vec::new();
    tokio::select! {
        result = call(&client, &mut said) => panic!("{result:?}"),
        () = async { server.request().await; server.request().await; } => {}
    }
    client.close().await;
    let (method, name, params) = summary(&server.request().await);
    assert_eq!(method, "tasks/cancel");
    assert_eq!((name.is_some(), params), (true, value!({"taskId": "t-Ä"})));
}

#[tokio::test]
async fn a_task_is_not_waited_for_for_ever() {
    let (held, _hold) = Turn::held(String::new());
    let mut server =
        Scripted::new([json(DISCOVERED), task(2, "task", r#""status":"working""#), held]).await;
    let target = Target::Url(server.url.clone());
    let day = Duration::from_secs(24 * 60 * 60);
    let options =
        Options { era: Some(Era::Modern), tasks: true, timeout: 2 * day, ..Options::default() };
    let client = connect(&target, &options).await.expect("a connection");
    let mut said = Vec::new();
    let waiting = async {
        for _ in 0..3 {
            server.request().await;
        }
        // Nobody answers any more, so that only time can end it.
        tokio::time::pause();
        std::future::pending::<()>().await;
    };
    let error = tokio::select! {
        result = call(&client, &mut said) => result.expect_err("no end"),
        () = waiting => panic!("it waits for ever"),
    };
    let ClientError::TimedOut { method, after } = error else { panic!("{error}") };
    assert_eq!((method, after), ("tools/call", day));
}

#[tokio::test]
async fn a_task_that_never_stops_asking_is_given_up_and_cancelled() {
    let asking = |round: u32| {
        let requests: Vec<String> =
            (0..40).map(|n| format!(r#""{round}.{n}":{{"method":"roots/list"}}"#)).collect();
        format!(r#""status":"input_required","inputRequests":{{{}}}"#, requests.join(","))
    };
    let turns = vec![
        task(2, "task", r#""status":"working""#),
        task(3, "complete", &asking(1)),
        done(4),
        task(5, "complete", &asking(2)),
        done(6),
    ];
    let (client, mut server) = connected(turns).await;
    let error = call(&client, &mut Vec::new()).await.expect_err("no end");
    assert!(matches!(error, ClientError::TooManyQuestions { limit: 64 }), "{error}");
    client.close().await;
    let mut last = String::new();
    for _ in 0..5 {
        last = summary(&server.request().await).0;
    }
    assert_eq!(last, "tasks/cancel");
}
