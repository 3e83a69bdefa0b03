//! The envelope against serde_json's reading of the same bytes: both refuse what is not JSON, and
//! what both take means the same.

use haft_proto::envelope::{Envelope, Incoming, Kind, Rejected, read};
use haft_proto::error::Malformed;
use haft_proto::json::JsonStr;
use haft_proto::limits::Limits;
use serde_json::Value;

/// Panics if the two readings differ.
pub fn agrees_with_serde_json(bytes: &[u8]) {
    // serde_json's `raw_value` feature gives keys like this one a meaning that JSON does not.
    if bytes.windows(MAGIC.len()).any(|window| window == MAGIC) {
        return;
    }
    let ours = read(bytes, &Limits::default());
    // A byte order mark is skipped, and serde_json has no such patience.
    let text = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let theirs = serde_json::from_slice::<Value>(text);
    match (ours, theirs) {
        (Ok(Incoming::One(message)), Ok(value)) => same(&message, &value),
        (Ok(Incoming::Batch(messages)), Ok(Value::Array(values))) => {
            assert_eq!(messages.len(), values.len());
            for (message, value) in messages.iter().zip(&values) {
                match message {
                    Ok(message) => same(message, value),
                    Err(Rejected { reason, .. }) => assert!(!is_grammar(*reason)),
                }
            }
        }
        (Ok(_), Ok(value)) => panic!("a batch that is none: {value}"),
        // serde_json also has opinions on the size of numbers, and counts depth a little otherwise.
        (Ok(_), Err(error)) => {
            let error = error.to_string();
            let is_opinion = error.contains("out of range") || error.contains("recursion limit");
            assert!(is_opinion, "we took what serde_json refused: {error}");
        }
        (Err(Rejected { reason, .. }), Ok(value)) => {
            assert!(!is_grammar(reason), "we refused JSON: {reason} in {value}");
        }
        (Err(_), Err(_)) => {}
    }
}

const MAGIC: &[u8] = b"$serde_json::private::";

fn is_grammar(reason: Malformed) -> bool {
    matches!(reason, Malformed::NotJson { .. } | Malformed::NotUtf8 { .. } | Malformed::Empty)
}

fn same(message: &Envelope<'_>, value: &Value) {
    assert_eq!(value["jsonrpc"], "2.0");
    let id = message.id.map(|id| parse(id.raw()));
    assert_eq!(id.as_ref(), value.get("id").filter(|id| !id.is_null()));
    let method = message.method.map(|method| Value::from(method.decode().into_owned()));
    assert_eq!(method.as_ref(), value.get("method"));
    let params = &message.params;
    for (ours, name) in [
        (params.name, "name"),
        (params.uri, "uri"),
        (params.task_id, "taskId"),
        (params.arguments, "arguments"),
        (params.cursor, "cursor"),
        (params.request_id, "requestId"),
        (params.protocol_version, "protocolVersion"),
        (params.progress_token, "progressToken"),
        (params.meta.raw, "_meta"),
    ] {
        // What is `null` is not there, nor what is an empty text where an object is meant.
        let is_object = matches!(name, "arguments" | "_meta");
        let is_there = |value: &&Value| !value.is_null() && !(is_object && **value == "");
        let theirs = value.get("params").and_then(|params| params.get(name)).filter(is_there);
        assert_eq!(ours.map(parse).as_ref(), theirs, "{name}");
        // A string is decoded as serde_json decodes it.
        let text = ours.and_then(JsonStr::from_raw).map(JsonStr::decode);
        assert_eq!(text.as_deref(), theirs.and_then(Value::as_str), "{name}");
    }
    let theirs = value.get("params").filter(|params| !params.is_null() && **params != "");
    assert_eq!(params.raw.map(parse).as_ref(), theirs);
    let (result, error) = match (value.get("result"), value.get("error")) {
        (Some(result), Some(Value::Null)) => (Some(result), None),
        (Some(Value::Null), Some(error)) => (None, Some(error)),
        both => both,
    };
    assert_eq!(message.result.map(parse).as_ref(), result);
    assert_eq!(message.error.map(parse).as_ref(), error);
    let expected = match (value.get("method"), value.get("id"), result) {
        (Some(_), None, _) => Kind::Notification,
        (Some(_), Some(_), _) => Kind::Request,
        (None, _, Some(_)) => Kind::Response,
        (None, _, None) => Kind::Error,
    };
    assert_eq!(message.kind, expected);
}

fn parse(raw: &str) -> Value {
    serde_json::from_str(raw).expect("a slice of JSON is JSON")
}
