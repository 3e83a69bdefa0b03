//! What a program printed becomes a result: text, JSON, lines or a report, or the story of its
//! failure.
//! Called by `handler`; runs nothing.

use crate::command::group::Spoken;
use crate::json_text;
use crate::limits::LAST_WORDS_BYTES;
use crate::output::{self, Flaw, Output};
use crate::written::tool::Parse;
use haft_proto::spec::tool_result::ToolResult;
use serde_json::json;
use std::os::unix::process::ExitStatusExt;

/// The result of a program that did what was asked.
pub(crate) fn understand(program: &str, output: &Output, out: Vec<u8>) -> ToolResult {
    if output.parse == Parse::Json {
        let result = json_text::decode(&out).map_err(Flaw::NotJson);
        let result = result.and_then(|text| output.json(text));
        return result.unwrap_or_else(|flaw| ToolResult::error(flawed(program, flaw)));
    }
    // Bytes that are no text are told as what they are: unknown characters.
    let mut text = String::from_utf8(out)
        .unwrap_or_else(|bytes| String::from_utf8_lossy(bytes.as_bytes()).into_owned());
    text.truncate(text.trim_end_matches(['\n', '\r']).len());
    let mark = text.len() - json_text::without_mark(&text).len();
    text.drain(..mark);
    match output.parse {
        Parse::Lines => output::lines(text),
        Parse::Auto | Parse::Binary | Parse::Json | Parse::Report | Parse::Text => {
            ToolResult::text(text)
        }
    }
}

/// Why it is not the JSON that it should be.
pub(crate) fn flawed(program: &str, flaw: Flaw) -> String {
    match flaw {
        Flaw::NotJson(reason) => format!("`{program}` did not print one JSON value: {reason}"),
        Flaw::NotThere(pointer) => format!("`{program}` printed JSON without {pointer}."),
    }
}

/// The schema of [`report`].
pub(crate) const REPORT_SCHEMA: &str = concat!(
    r#"{"type":"object","properties":{"stdout":{"type":"string"},"stderr":{"type":"string"},"#,
    r#""exit_code":{"type":"integer"}},"required":["stdout","stderr","exit_code"]}"#
);

/// All that a program said and how it ended; -1 is a signal.
pub(crate) fn report(spoken: &Spoken) -> ToolResult {
    let report = json!({
        "stdout": String::from_utf8_lossy(&spoken.out),
        "stderr": String::from_utf8_lossy(&spoken.last_words),
        "exit_code": spoken.status.code().unwrap_or(-1),
    });
    ToolResult::json(&report.to_string())
}

/// How a program failed, with its last words.
pub(crate) fn failure(program: &str, spoken: &Spoken) -> String {
    let how = match (spoken.status.code(), spoken.status.signal()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended in an unknown way".to_owned(),
    };
    let said = if spoken.last_words.is_empty() { &spoken.out } else { &spoken.last_words };
    let said = &said[said.len().saturating_sub(LAST_WORDS_BYTES)..];
    let said = String::from_utf8_lossy(said);
    match said.trim() {
        "" => format!("`{program}` {how} and said nothing."),
        said => format!("`{program}` {how}:\n{said}"),
    }
}
