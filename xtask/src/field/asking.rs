//! A call through the gateway's HTTP, and what its caller is told: an answer, or that there is
//! none, and why. More than one answer to a call is seen, too.

use serde_json::{Value, json};

use super::limits;
use crate::failure::Failure;
use crate::soak::asking::{Client, Era, exchange_within};

/// Somebody who asks the gateway.
pub(super) struct Caller {
    client: Client,
    address: String,
}

/// What became of a call, as its caller is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// It was done, and this came of it.
    Answered(String),
    /// It has no result, for this reason.
    Refused(String),
    /// The gateway itself did not answer.
    Silence(String),
    /// There was more than one answer.
    Twice,
}

impl Caller {
    pub(super) fn new(address: &str) -> Result<Self, Failure> {
        let client = Client::begin(address, Era::Modern).map_err(Failure::Disproved)?;
        Ok(Self { client, address: address.to_owned() })
    }

    pub(super) fn call(&self, id: u64, tool: &str, arguments: &Value) -> Told {
        let request = self.client.call_request(id, tool, arguments);
        match exchange_within(&self.address, &request, limits::ANSWER) {
            Ok(told) => told_by(id, &told),
            Err(why) => Told::Silence(why),
        }
    }

    /// The names of all tools.
    pub(super) fn tools(&self) -> Result<Vec<String>, String> {
        let (mut names, mut params) = (Vec::new(), json!({}));
        loop {
            let request = self.client.request_of(1, "tools/list", None, params);
            let told = exchange_within(&self.address, &request, limits::ANSWER)?;
            let all = messages(1, &told);
            let page = all.first().map(|message| &message["result"]).unwrap_or(&Value::Null);
            let tools = page["tools"].as_array().ok_or_else(|| format!("no list: {told}"))?;
            names.extend(tools.iter().filter_map(|tool| Some(tool["name"].as_str()?.to_owned())));
            let Some(cursor) = page["nextCursor"].as_str() else { return Ok(names) };
            params = json!({ "cursor": cursor });
        }
    }
}

/// All messages of an answer that are answers to that request: one message, or a stream of events.
fn messages(id: u64, told: &str) -> Vec<Value> {
    let body = told.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let each = body.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
    let read = each.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    read.filter(|message| message["id"] == id && message.get("method").is_none()).collect()
}

fn told_by(id: u64, told: &str) -> Told {
    match &messages(id, told)[..] {
        [one] => {
            let result = &one["result"];
            let text = result["content"][0]["text"].as_str();
            match (text, result["isError"].as_bool().unwrap_or_default()) {
                (Some(text), false) => Told::Answered(text.to_owned()),
                (Some(text), true) => Told::Refused(text.to_owned()),
                (None, _) => {
                    let said = one["error"]["message"].as_str();
                    Told::Refused(said.map_or_else(|| one.to_string(), str::to_owned))
                }
            }
        }
        [] => {
            let start: String = told.chars().take(200).collect();
            Told::Silence(format!("no whole answer: {start:?}"))
        }
        _ => Told::Twice,
    }
}

#[cfg(test)]
mod tests {
    use super::{Told, told_by};

    #[test]
    fn an_answer_is_one_message_with_the_id_of_its_call() {
        let right = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"text":"a"}]}}"#;
        let error = r#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"it is lost"}}"#;
        let bad = r#"{"id":7,"result":{"isError":true,"content":[{"text":"b"}]}}"#;
        let answered = Told::Answered("a".to_owned());
        for (body, expected) in [
            (right.to_owned(), answered.clone()),
            (format!("event: message\ndata: {{\"method\":\"x\"}}\n\ndata: {right}\n"), answered),
            (error.to_owned(), Told::Refused("it is lost".to_owned())),
            (bad.to_owned(), Told::Refused("b".to_owned())),
            (format!("data: {right}\ndata: {error}\n"), Told::Twice),
        ] {
            assert_eq!(told_by(7, &format!("HTTP/1.0 200 OK\r\na: b\r\n\r\n{body}")), expected);
        }
        assert!(matches!(told_by(8, &format!("a\r\n\r\n{right}")), Told::Silence(_)));
    }
}
