//! Child processes that ask back, rightly and wrongly, in both eras: what they are told, and what
//! the client makes of those that do not stop.

use crate::answering::{Agreeable, Thinker, answered_by};
use haft_client::{CallResult, Client, ClientError, Launch, Options, Target, connect};
use haft_proto::version::Era;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;

const PRELUDE: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
send() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
said() { printf '{"content":[{"type":"text","text":"ok"}],"structuredContent":%s}' "$1"; }
INFO='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s"}}'
MODERN='{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}'
silent() { while read -r line; do :; done; }
shake() { read -r hello; answer 1 "$INFO"; read -r line; read -r line; }
discover() { read -r hello; answer 1 "$MODERN"; read -r line; }
"#;

/// Connects in the era that the script begins with, and calls its tool.
async fn call(body: &str, options: Options) -> (Result<Value, ClientError>, Client) {
    let era = if body.starts_with("shake") { Era::Legacy } else { Era::Modern };
    let target = Target::Command(Launch::new("sh", ["-c", &format!("{PRELUDE}\n{body}")]));
    let options = Options { era: Some(era), ..options };
    let client = connect(&target, &options).await.expect("a connection");
    let arguments = RawValue::from_string("{}".to_owned()).expect("JSON");
    let result = client.call_tool("tool", &arguments, &mut |_| {}).await;
    (result.map(|CallResult { raw, .. }| serde_json::from_str(raw.get()).expect("JSON")), client)
}

/// What the tool of a script heard, which it puts into its result.
async fn heard(body: &str, options: Options) -> Value {
    let (result, client) = call(body, options).await;
    client.close().await;
    result.expect("an answer")["structuredContent"].clone()
}

/// Why the call failed.
async fn failed(body: &str, options: Options) -> ClientError {
    let (result, client) = call(body, options).await;
    client.close().await;
    result.expect_err("no answer")
}

fn agreeable() -> (Arc<Agreeable>, Options) {
    let answerer = Arc::new(Agreeable::default());
    let options = answered_by(&answerer, Options::default());
    (answerer, options)
}

const FORM: &str = r#""method":"elicitation/create","params":{"message":"m","requestedSchema":
    {"type":"object","properties":{"n":{"type":"integer","default":7}}}}"#;

#[tokio::test]
async fn a_legacy_server_is_told_what_it_may_ask_and_is_answered() {
    let (_, options) = agreeable();
    let body = format!(
        r#"shake
        send '"id":"f",{}'; read -r form
        send '"id":-2,"method":"roots/list"'; read -r roots
        send '"id":3,"method":"sampling/createMessage","params":{{"messages":[],"maxTokens":1}}'
        read -r sample
        answer 2 "$(said "[$hello,$form,$roots,$sample]")"; silent"#,
        FORM.replace('\n', " ")
    );
    let heard = heard(&body, options).await;
    let expected = json!({"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}},
        "roots": {}});
    assert_eq!(heard[0]["params"]["capabilities"], expected);
    let accepted = json!({"action": "accept", "content": {"n": 7}});
    assert_eq!(heard[1], json!({"jsonrpc": "2.0", "id": "f", "result": accepted}));
    assert_eq!(heard[2]["result"], json!({"roots": [{"uri": "file:///x"}]}));
    assert_eq!((&heard[2]["id"], &heard[3]["id"]), (&json!(-2), &json!(3)));
    assert_eq!(heard[3]["result"]["content"]["text"], "s", "the answerer knows who asks");
}

#[tokio::test]
async fn a_legacy_server_that_asks_what_is_not_offered_or_not_defined_is_told_so() {
    let body = r#"shake
        send '"id":1,"method":"roots/list"'; read -r a
        send '"id":2,"method":"no/such"'; read -r b
        send '"id":3,"method":"ping"'; read -r c
        answer 2 "$(said "[$hello,$a,$b,$c]")"; silent"#;
    let none = heard(body, Options::default()).await;
    assert_eq!(none[0]["params"]["capabilities"], json!({}));
    assert_eq!([&none[1]["error"]["code"], &none[2]["error"]["code"]], [-32601, -32601]);
    assert_eq!(none[3]["result"], json!({}));

    let (answerer, options) = agreeable();
    let body = r#"shake
        send '"id":1,"method":"elicitation/create"'; read -r a
        send '"id":2,"method":"elicitation/create","params":{"message":"m","requestedSchema":
            {"type":"object","properties":{"x":{"type":"object"}}}}'; read -r b
        send '"id":3,"method":"elicitation/create","params":
            {"mode":"url","message":"m","url":"javascript:x"}'; read -r c
        send '"id":4,"method":"sampling/createMessage","params":{}'; read -r d
        answer 2 "$(said "[$a,$b,$c,$d]")"; silent"#;
    let wrong = heard(&body.replace(":\n            {", ":{"), options).await;
    for error in wrong.as_array().expect("four") {
        assert_eq!(error["error"]["code"], -32602, "{error}");
    }
    assert_eq!(answerer.count(), 0);
}

#[tokio::test]
async fn ten_thousand_questions_of_a_legacy_server_do_not_reach_anybody() {
    let (answerer, options) = agreeable();
    let body = r#"shake
        n=0; while [ $n -lt 10000 ]; do n=$((n+1)); send "\"id\":$n,\"method\":\"roots/list\""
        done & cat >/dev/null & wait %1
        answer 2 "$(said "[]")"; wait"#;
    heard(body, options).await;
    assert!((1..200).contains(&answerer.count()), "{}", answerer.count());
}

#[tokio::test]
async fn ten_thousand_questions_of_a_modern_server_are_refused_as_a_whole() {
    let (answerer, options) = agreeable();
    let body = r#"discover
        list=$(n=0; while [ $n -lt 10000 ]; do n=$((n+1))
            printf '"%s":{"method":"roots/list"},' $n; done)
        answer 2 "{\"resultType\":\"input_required\",\"inputRequests\":{${list%,}}}"; silent"#;
    let error = failed(body, options).await;
    assert!(matches!(error, ClientError::TooManyQuestions { .. }), "{error}");
    assert_eq!(answerer.count(), 0);
}

#[tokio::test]
async fn a_modern_server_that_needs_more_for_ever_is_given_up() {
    let (answerer, options) = agreeable();
    let body = r#"discover; id=2
        while :; do
        answer $id '{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}'
        id=$((id+1)); read -r line || exit; done"#;
    let error = failed(body, options).await;
    assert!(matches!(error, ClientError::TooManyRounds { limit: 16 }), "{error}");
    assert_eq!(answerer.count(), 16);
}

#[tokio::test]
async fn a_modern_server_that_asks_wrongly_gets_no_second_request() {
    let ask = |request: &str| {
        format!(
            r#"discover
            answer 2 '{{"resultType":"input_required","inputRequests":
                {{"ok":{{"method":"roots/list"}},"a":{request}}}}}'; silent"#
        )
        .replace(":\n                {", ":{")
    };
    let (answerer, options) = agreeable();
    let list = r#"{"type":"object","properties":{"x":{"type":"array"}}}"#;
    let form = format!(
        r#"{{"method":"elicitation/create","params":{{"message":"m","requestedSchema":{list}}}}}"#
    );
    let error = failed(&ask(&form), options.clone()).await;
    assert!(matches!(error, ClientError::BadQuestion { .. }), "{error}");
    let error = failed(&ask(r#"{"method":"tools/list"}"#), options.clone()).await;
    assert!(matches!(error, ClientError::InputNeeded { .. }), "{error}");
    let error = failed(&ask("7"), options).await;
    assert!(matches!(error, ClientError::MalformedResult { .. }), "{error}");
    assert_eq!(answerer.count(), 0, "nobody is asked in vain");
    let error = failed(&ask(&form), Options::default()).await;
    let ClientError::InputNeeded { kinds } = &error else { panic!("{error}") };
    assert_eq!(kinds, "roots/list, elicitation/create");
}

#[tokio::test]
async fn a_state_of_ten_megabytes_is_not_sent_back() {
    let body = r#"discover
        printf '{"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","requestState":"'
        head -c 10000000 /dev/zero | tr '\0' x; printf '"}}\n'; silent"#;
    let (_, mut options) = agreeable();
    let error = failed(body, options.clone()).await;
    assert!(matches!(error, ClientError::MessageTooLarge { .. }), "{error}");
    options.limits.message_bytes = 16 * 1024 * 1024;
    let error = failed(body, options).await;
    assert!(matches!(error, ClientError::StateTooLarge { .. }), "{error}");
}

#[tokio::test]
async fn a_result_of_an_unknown_type_is_named() {
    for kind in ["task", "hologram"] {
        let body = format!(r#"discover; answer 2 '{{"resultType":"{kind}"}}'; silent"#);
        let error = failed(&body, Options::default()).await;
        let ClientError::UnknownResultType { found, .. } = &error else { panic!("{error}") };
        assert_eq!(found, kind);
    }
}

const VISIT_FIRST: &str = r#"shake
    send '"id":2,"error":{"code":-32042,"message":"not yet","data":{"elicitations":[{"mode":"url",
        "elicitationId":"e","url":"https://x.example/","message":"m"}]}}'"#;

#[tokio::test]
async fn a_legacy_server_that_wants_a_visit_first_is_asked_again_after_it() {
    let first = VISIT_FIRST.replace("\n        ", "");
    let again = r#"read -r again; answer 3 "$(said "$again")"; silent"#;
    let (answerer, options) = agreeable();
    let over = r#"
        send '"method":"notifications/elicitation/complete","params":{"elicitationId":"other"}'
        send '"method":"notifications/elicitation/complete","params":{"elicitationId":"e"}'"#;
    let by_server = heard(&format!("{first}; {over}; {again}"), options).await;
    assert_eq!((&by_server["id"], &by_server["params"]["name"]), (&json!(3), &json!("tool")));
    assert_eq!(answerer.count(), 1);

    let by_word = Arc::new(Agreeable { ends_visits: Some(true), ..Agreeable::default() });
    let options = answered_by(&by_word, Options::default());
    assert_eq!(heard(&format!("{first}; {again}"), options).await["id"], 3);
    let given_up = Arc::new(Agreeable { ends_visits: Some(false), ..Agreeable::default() });
    let options = answered_by(&given_up, Options::default());
    let error = failed(&format!("{first}; silent"), options).await;
    assert!(matches!(&error, ClientError::Refused { error, .. } if error.code == -32042));
}

#[tokio::test]
async fn a_question_that_the_server_takes_back_is_dropped() {
    let thinker = Arc::new(Thinker::default());
    let options = answered_by(&thinker, Options::default());
    let body = r#"shake
        send '"id":"q","method":"roots/list"'
        send '"id":8,"method":"ping"'; read -r pong
        send '"method":"notifications/cancelled","params":{"requestId":"q"}'
        send '"id":9,"method":"ping"'; read -r pong
        answer 2 "$(said "$pong")"; silent"#;
    let pong = heard(body, options).await;
    assert_eq!(pong["id"], 9, "a question that was taken back has no answer");
    thinker.is_interrupted.notified().await;
}
