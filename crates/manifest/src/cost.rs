//! What a tool costs whoever lists it: the bytes of its definition, and about how many tokens of a
//! model's context they are.

use crate::tool::{Run, Tool};
use haft_proto::encode;
use haft_proto::spec;
use haft_proto::version::Revision;
use serde_json::value::RawValue;

/// The cost of one tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Its name.
    pub tool: String,
    /// `command` or `text`.
    pub kind: &'static str,
    /// Its arguments; optional ones end in `?`.
    pub arguments: Vec<String>,
    /// The bytes of its definition in `tools/list`.
    pub bytes: usize,
    /// About how many tokens these are; see [`tokens`].
    pub tokens: usize,
}

impl Cost {
    pub(crate) fn of(tool: &Tool) -> Self {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).ok();
        let definition = spec::tool::Tool {
            name: tool.name.value.clone(),
            title: tool.title.clone(),
            description: tool.description.as_ref().map(|text| text.value.clone()),
            input_schema: raw(&tool.input.schema).unwrap_or_default(),
            output_schema: tool.output_schema.as_deref().and_then(raw),
            annotations: tool.annotations,
        };
        let mut written = Vec::new();
        encode::tool(&mut written, Revision::LATEST, &definition);
        let arguments = tool.input.arguments.iter();
        Self {
            tool: definition.name,
            kind: match tool.run {
                Run::Command(_) => "command",
                Run::Text(_) => "text",
            },
            arguments: arguments
                .map(|argument| {
                    let mark = if argument.is_required { "" } else { "?" };
                    format!("{}{mark}", argument.name)
                })
                .collect(),
            bytes: written.len(),
            tokens: tokens(&String::from_utf8_lossy(&written)),
        }
    }
}

/// About how many tokens a text is.
#[must_use]
pub fn tokens(text: &str) -> usize {
    text.len() / 4
}
