//! What a server wants a model to go on from (Sampling), and the simplest answer. Read by
//! `inquiry`; an [`Answerer`](crate::Answerer) asks the model.

use crate::content::{Content, read_content};
use crate::message::quoted;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A request for a model's next message.
#[derive(Clone, Debug)]
pub struct SampleRequest {
    /// What has been said so far.
    pub messages: Vec<Message>,
    /// What the model is told first, if the server wants that.
    pub system_prompt: Option<String>,
    /// How many tokens the answer may have.
    pub max_tokens: u64,
    /// Whether the model may use tools, which stand in `raw`.
    pub has_tools: bool,
    /// The parameters, as they came.
    pub raw: Box<RawValue>,
}

/// One message of a conversation.
#[derive(Clone, Debug)]
pub struct Message {
    /// "user" or "assistant".
    pub role: String,
    /// What it says, in one piece or in several.
    pub content: Vec<Content>,
}

/// A message of the model in plain text, as an answer to a [`SampleRequest`].
#[must_use]
pub fn text_message(model: &str, text: &str) -> Box<RawValue> {
    let content = format!(r#"{{"type":"text","text":{}}}"#, quoted(text));
    let message = format!(
        r#"{{"role":"assistant","content":{content},"model":{},"stopReason":"endTurn"}}"#,
        quoted(model)
    );
    RawValue::from_string(message).expect("JSON from JSON strings")
}

impl SampleRequest {
    /// Reads the parameters of a question.
    ///
    /// # Errors
    /// One line on what is wrong.
    pub(crate) fn read(raw: &RawValue) -> Result<Self, String> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Written {
            messages: Vec<Value>,
            system_prompt: Option<String>,
            max_tokens: f64,
            tools: Option<Value>,
        }
        let written: Written =
            serde_json::from_str(raw.get()).map_err(|error| error.to_string())?;
        let messages = written.messages.iter().map(Message::read);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float becomes the nearest count; some servers write 100.0"
        )]
        let max_tokens = written.max_tokens as u64;
        Ok(Self {
            messages: messages.collect::<Option<_>>().ok_or("a message needs a `role`")?,
            system_prompt: written.system_prompt,
            max_tokens,
            has_tools: written.tools.is_some(),
            raw: raw.to_owned(),
        })
    }
}

impl Message {
    pub(crate) fn read(written: &Value) -> Option<Self> {
        let role = written.get("role")?.as_str()?.to_owned();
        let content = match written.get("content") {
            Some(Value::Array(pieces)) => pieces.iter().map(read_content).collect(),
            Some(piece) => vec![read_content(piece)],
            None => Vec::new(),
        };
        Some(Self { role, content })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<SampleRequest, String> {
        SampleRequest::read(&RawValue::from_string(text.to_owned()).expect("JSON"))
    }

    #[test]
    fn messages_have_one_piece_or_several() {
        let request = read(
            r#"{"messages":[{"role":"user","content":{"type":"text","text":"a"}},
            {"role":"assistant","content":[{"type":"text","text":"b"},{"type":"tool_use"}]}],
            "maxTokens":100.0,"tools":[]}"#,
        );
        let request = request.expect("a request");
        let counts: Vec<usize> = request.messages.iter().map(|m| m.content.len()).collect();
        assert_eq!((&*counts, request.max_tokens, request.has_tools), (&[1, 2][..], 100, true));
    }

    #[test]
    fn a_request_without_messages_or_a_limit_is_refused() {
        for text in ["{}", r#"{"messages":[{}],"maxTokens":1}"#, r#"{"messages":[]}"#, "7"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_text_message_is_json_whatever_the_text_is() {
        let message = text_message("m", "say \"hi\"\n");
        let message: Value = serde_json::from_str(message.get()).expect("JSON");
        assert_eq!(message["content"]["text"], "say \"hi\"\n");
    }
}
