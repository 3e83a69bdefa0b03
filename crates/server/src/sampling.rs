//! A conversation with a client's model that uses tools (Client Features, "Sampling", "Tool Use"):
//! what it wants to use, and what it is told of it. Called by handlers; runs no tool.

use crate::ask::Sampled;
use haft_proto::json::member;
use haft_proto::spec::content::Role;
use haft_proto::spec::question::{SampleContent, SampleMessage};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

/// A tool that a model wants to use.
#[derive(Clone, Debug, Deserialize)]
pub struct ToolUse {
    /// What the model calls this use.
    pub id: String,
    /// The name of the tool; the model may name one that it was not offered.
    pub name: String,
    /// The arguments, unchecked: JSON text of an object.
    pub input: Box<RawValue>,
}

impl Sampled {
    /// The tools that the model wants to use before it goes on; none if it is done. What is no
    /// `tool_use` block is left out.
    #[must_use]
    pub fn tool_uses(&self) -> Vec<ToolUse> {
        let raw = self.content.iter().filter_map(|piece| match piece {
            SampleContent::Raw(raw) => Some(raw.get()),
            SampleContent::Content(_) => None,
        });
        let is_use = |raw: &&str| member(raw, "type") == Some(r#""tool_use""#);
        raw.filter(is_use).filter_map(|raw| serde_json::from_str(raw).ok()).collect()
    }

    /// What the model said, for the next [`Sample`](haft_proto::spec::question::Sample) of the same
    /// conversation.
    #[must_use]
    pub fn into_message(self) -> SampleMessage {
        SampleMessage { role: Role::Assistant, content: self.content }
    }
}

impl ToolUse {
    /// What came of it, for the model. All results of what it wanted at once go into one message.
    #[must_use]
    pub fn result(&self, text: &str, is_error: bool) -> SampleContent {
        let content = [json!({ "type": "text", "text": text })];
        let block = json!({
            "type": "tool_result",
            "toolUseId": self.id,
            "content": content,
            "isError": is_error,
        });
        SampleContent::Raw(to_raw_value(&block).expect("values become JSON"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(blocks: &[&str]) -> Sampled {
        let raw = |block: &&str| RawValue::from_string((*block).to_owned()).expect("JSON");
        let content = blocks.iter().map(raw).map(SampleContent::Raw).collect();
        Sampled { content, model: String::new(), stop_reason: None }
    }

    #[test]
    fn what_a_model_wants_to_use_is_found_among_what_it_says() {
        let said = said(&[
            r#"{"type":"text","text":"Let me see."}"#,
            r#"{"type":"tool_use","id":"1","name":"price_of","input":{"item":"tea"},"_meta":{}}"#,
            r#"{"type":"tool_use","id":"2"}"#,
        ]);
        let uses = said.tool_uses();
        assert_eq!(uses.len(), 1);
        assert_eq!((&*uses[0].id, &*uses[0].name), ("1", "price_of"));
        assert_eq!(uses[0].input.get(), r#"{"item":"tea"}"#);
        let SampleContent::Raw(told) = uses[0].result("4.20", false) else { panic!("it is raw") };
        let expected = r#"{"type":"tool_result","toolUseId":"1","#;
        assert!(told.get().starts_with(expected), "{}", told.get());
    }
}
