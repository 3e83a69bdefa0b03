//! What a tool's output is taken for: how it is understood, which part of it is picked, and how
//! much of it there may be. The same for programs and servers; called by the folders of both.

use crate::amount;
use crate::fault::Wrong;
use crate::fill::Surroundings;
use crate::http::mistake::HttpMistake;
use crate::json_text;
use crate::limits::{OUTPUT_BYTES, OUTPUT_BYTES_MAX};
use crate::place::Placed;
use crate::problem::Problem;
use crate::template;
use crate::written::tool::{self as written, OutputOptions, Parse};
use haft_proto::spec::content::{Content, ResourceContents};
use haft_proto::spec::tool_result::{Cause, ToolResult};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use std::borrow::Cow;
use std::collections::HashMap;

/// What output is taken for.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub(crate) parse: Parse,
    pub(crate) pick: Option<Pointer>,
    /// In bytes.
    pub(crate) limit: usize,
}

/// A JSON Pointer (RFC 6901).
#[derive(Clone, Debug)]
pub(crate) struct Pointer {
    pub(crate) typed: String,
    tokens: Vec<String>,
}

/// Why output is not what it should be.
#[derive(Debug)]
pub(crate) enum Flaw {
    /// It is not one JSON value.
    NotJson(String),
    /// What was to be picked is not in it.
    NotThere(String),
}

/// Why there is no output.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) reason: String,
    pub(crate) cause: Option<Cause>,
}

impl From<String> for Failure {
    fn from(reason: String) -> Self {
        Self { reason, cause: None }
    }
}

/// Checks `output`; `default` is how it is understood without a word about it.
pub(crate) fn check(
    written: Option<Placed<written::Output>>,
    default: Parse,
    surroundings: &Surroundings<'_>,
) -> Result<Output, Wrong> {
    let parse = parse_of(written.as_ref().map(|output| &output.value), default);
    let belongs = |place, key, owners, other: &str| {
        let other = other.to_owned();
        Err(Wrong::new(place, Problem::KeyBelongsTo { key, owners, other }))
    };
    let Some(written) = written else { return Ok(Output::new(parse)) };
    match parse {
        Parse::Auto if default != Parse::Auto => {
            return belongs(written.place, "output: auto", "tools", "http");
        }
        Parse::Binary if default != Parse::Auto => {
            return belongs(written.place, "output: binary", "tools", "http");
        }
        _ => {}
    }
    let mut output = Output::new(parse);
    let written::Output::Detailed(OutputOptions { pick, limit, .. }) = written.value else {
        return Ok(output);
    };
    if let Some(pick) = pick {
        if !matches!(parse, Parse::Auto | Parse::Json) {
            return belongs(pick.place, "pick", "outputs", "parse: json");
        }
        output.pick = Some(Pointer::check(&pick)?);
    }
    if let Some(limit) = limit {
        output.limit = amount::bytes("limit", &limit, OUTPUT_BYTES_MAX, surroundings)?;
    }
    Ok(output)
}

/// How output is understood; who picks a part of it means JSON.
pub(crate) fn parse_of(written: Option<&written::Output>, default: Parse) -> Parse {
    match written {
        None => default,
        Some(written::Output::Word(parse)) => *parse,
        Some(written::Output::Detailed(options)) => match (options.parse, &options.pick) {
            (Some(parse), _) => parse,
            (None, Some(_)) => Parse::Json,
            (None, None) => default,
        },
    }
}

impl Output {
    pub(crate) fn new(parse: Parse) -> Self {
        Self { parse, pick: None, limit: OUTPUT_BYTES }
    }

    /// The result of a JSON text: its structured value, or the part that is picked, and the same
    /// for the model.
    pub(crate) fn json(&self, text: &str) -> Result<ToolResult, Flaw> {
        let value = self.value(text)?;
        let text = match self.pick {
            Some(_) => plain(&value),
            None => value.get().to_owned(),
        };
        Ok(ToolResult { structured: Some(value), ..ToolResult::text(text) })
    }

    /// The value of a JSON text, or the part of it that is picked.
    pub(crate) fn value(&self, text: &str) -> Result<Box<RawValue>, Flaw> {
        let json = json_text::parse(text).map_err(Flaw::NotJson)?;
        let Some(pointer) = &self.pick else { return Ok(json) };
        let part = pointer.find(&json).map(ToOwned::to_owned);
        part.ok_or_else(|| Flaw::NotThere(pointer.typed.clone()))
    }
}

/// A text as it is, and anything else as JSON.
pub(crate) fn plain(value: &RawValue) -> String {
    serde_json::from_str(value.get()).unwrap_or_else(|_| value.get().to_owned())
}

/// A part of JSON for who reads it.
pub(crate) fn part(value: &RawValue, kind: Option<&str>) -> ResourceContents {
    let own = if value.get().starts_with('"') { "text/plain" } else { "application/json" };
    ResourceContents::text("", plain(value)).mime_type(kind.unwrap_or(own))
}

/// The texts and numbers of a list; nothing if it is none.
pub(crate) fn values(list: &RawValue) -> Option<Vec<String>> {
    let items: Vec<serde_json::Value> = serde_json::from_str(list.get()).ok()?;
    let is_one = |item: &serde_json::Value| item.is_string() || item.is_number();
    let plain = |item: serde_json::Value| template::plain(&item);
    Some(items.into_iter().filter(is_one).map(plain).filter(|text| !text.is_empty()).collect())
}

/// The lines of a text that say something.
pub(crate) fn values_of_lines(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

/// The lines of a text, as a structured value too.
pub(crate) fn lines(text: String) -> ToolResult {
    let lines: Vec<_> = text.lines().collect();
    let structured = to_raw_value(&json!({ "lines": lines })).ok();
    ToolResult { content: vec![Content::Text(text)], structured, ..ToolResult::default() }
}

impl Pointer {
    pub(crate) fn check(written: &Placed<String>) -> Result<Self, Wrong> {
        Self::parse(&written.value).ok_or_else(|| {
            let mistake = HttpMistake::Pointer { shown: format!("{:?}", written.value) };
            Wrong::new(written.place, Problem::Http(mistake))
        })
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let typed = text.to_owned();
        if text.is_empty() {
            return Some(Self { typed, tokens: Vec::new() });
        }
        let token = |token: &str| {
            // `~` means nothing but `~0` and `~1`.
            let is_bad = |(at, _): (usize, &str)| !token[at + 1..].starts_with(['0', '1']);
            let is_good = !token.match_indices('~').any(is_bad);
            is_good.then(|| token.replace("~1", "/").replace("~0", "~"))
        };
        let tokens = text.strip_prefix('/')?.split('/').map(token).collect::<Option<_>>()?;
        Some(Self { typed, tokens })
    }

    /// The part of a JSON text that it points at, as it is written there.
    fn find<'j>(&self, json: &'j RawValue) -> Option<&'j RawValue> {
        self.tokens.iter().try_fold(json, |json, token| match json.get().as_bytes().first()? {
            b'{' => {
                let members: HashMap<Cow<'j, str>, &'j RawValue> =
                    serde_json::from_str(json.get()).ok()?;
                members.get(token.as_str()).copied()
            }
            b'[' => {
                let is_index = token == "0" || !token.starts_with(['0', '+']);
                let index: usize = token.parse().ok().filter(|_| is_index)?;
                let items: Vec<&'j RawValue> = serde_json::from_str(json.get()).ok()?;
                items.get(index).copied()
            }
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_finds_what_is_there() {
        let json = r#"{"a":[10,{"b/c":"d","":1}],"~":true,"é":{}}"#;
        let json: &RawValue = serde_json::from_str(json).expect("JSON");
        for (pointer, expected) in [
            ("", Some(json.get())),
            ("/a/0", Some("10")),
            ("/a/1/b~1c", Some("\"d\"")),
            ("/a/1/", Some("1")),
            ("/~0", Some("true")),
            ("/é", Some("{}")),
            ("/a/2", None),
            ("/a/00", None),
            ("/a/-", None),
            ("/a/0/x", None),
            ("/x", None),
        ] {
            let pointer = Pointer::parse(pointer).expect("a pointer");
            assert_eq!(pointer.find(json).map(RawValue::get), expected, "{}", pointer.typed);
        }
        for text in ["a", "$.a", "/a~", "/~2"] {
            assert!(Pointer::parse(text).is_none(), "{text}");
        }
    }
}
