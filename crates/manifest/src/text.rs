//! A tool that answers with a text: its template, filled with the arguments. Nothing waits here.

use crate::command::arguments_of;
use crate::template::Template;
use haft_proto::spec::tool_result::ToolResult;
use haft_server::handler::{Answer, Call, Handler, Made};
use minijinja::Environment;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Fills a template for each call.
pub(crate) struct TextHandler {
    pub(crate) template: Template,
    pub(crate) defaults: Map<String, Value>,
    pub(crate) templates: Arc<Environment<'static>>,
}

impl Handler for TextHandler {
    fn call(&self, call: Call<'_>, answer: Answer<'_>) -> Made {
        let rendered = arguments_of(call.arguments, &self.defaults).and_then(|arguments| {
            let rendered = self.template.render(&self.templates, &arguments);
            rendered.map_err(|error| format!("The tool's text cannot be filled: {error}"))
        });
        match rendered {
            // A block of text in YAML ends with a line end that nobody means.
            Ok(text) => answer.text(text.strip_suffix('\n').unwrap_or(&text)),
            Err(reason) => answer.result(&ToolResult::error(reason)),
        }
        Made::Now
    }
}
