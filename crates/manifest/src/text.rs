//! A tool that answers with a text: its template, filled with the arguments. Nothing waits here.

use crate::kind::Setting;
use crate::template::Template;
use haft_proto::spec::tool_result::ToolResult;
use haft_server::handler::{Answer, Call, Handler, Made};

/// Fills a template for each call.
pub(crate) struct TextHandler {
    pub(crate) template: Template,
    pub(crate) setting: Setting,
}

impl Handler for TextHandler {
    fn call(&self, call: Call<'_>, answer: Answer<'_>) -> Made {
        let rendered = self.setting.arguments(call.arguments).and_then(|arguments| {
            let rendered = self.template.render(&self.setting.templates, &arguments);
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
