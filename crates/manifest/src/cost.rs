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
            icons: Vec::new(),
            meta: None,
        };
        let mut written = Vec::new();
        encode::tools::tool(&mut written, Revision::LATEST, &definition);
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

/// About how many tokens a text is to a model, without a tokenizer: the text is cut where
/// tokenizers cut, and each piece is given the tokens that pieces of its length have on average.
///
/// Calibrated with the npm package `gpt-tokenizer` 4.0.0, `encode(text).length` of its modules
/// `encoding/o200k_base` and `encoding/cl100k_base`, on the `tools/list` of ten public servers,
/// 201 kB in all (GitHub's 117 tools without icons, Cloudflare's, and the reference servers for
/// files, memory, fetching and browsing): 1.4 % below o200k and 3.1 % above cl100k over all of
/// them, and for a single server between 5.4 % below and 9.8 % above either. Descriptions in other
/// languages are further off: German and Japanese up to 10 %, Russian up to 22 %.
#[must_use]
pub fn tokens(text: &str) -> usize {
    let mut hundredths = 0;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (length, cost) = match Class::of(first) {
            Class::Digit => digits(rest),
            Class::Ideograph => (first.len_utf8(), IDEOGRAPH),
            Class::Letter => word(rest),
            Class::Mark => marks(rest),
            Class::Space => spaces(rest),
        };
        hundredths += cost;
        rest = &rest[length..];
    }
    hundredths.div_ceil(100)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Digit,
    Ideograph,
    Letter,
    Mark,
    Space,
}

/// Of a Chinese or Japanese character, in hundredths of a token.
const IDEOGRAPH: usize = 90;

impl Class {
    fn of(character: char) -> Self {
        match character {
            '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' => {
                Self::Ideograph
            }
            _ if character.is_alphabetic() => Self::Letter,
            _ if character.is_numeric() => Self::Digit,
            _ if character.is_whitespace() => Self::Space,
            _ => Self::Mark,
        }
    }
}

/// The bytes of the first characters of a class, and how many there are.
fn run(text: &str, class: Class) -> (usize, usize) {
    let count = text.chars().take_while(|&character| Class::of(character) == class).count();
    let bytes = text.char_indices().nth(count).map_or(text.len(), |(at, _)| at);
    (bytes, count)
}

/// Short words are one token, long ones a few; other scripts have shorter tokens.
fn word(text: &str) -> (usize, usize) {
    let (bytes, count) = run(text, Class::Letter);
    let latin = match count {
        0..=4 => 102,
        5..=8 => 110,
        9..=11 => 125,
        more => 130 + (more - 11) * 35,
    };
    let is_latin = text[..bytes].chars().all(|character| character < '\u{250}');
    (bytes, if is_latin { latin } else { 50 + 25 * count })
}

/// Up to three digits are one token.
fn digits(text: &str) -> (usize, usize) {
    let (bytes, count) = run(text, Class::Digit);
    (bytes, 100 * count.div_ceil(3))
}

/// JSON's own marks come in groups that are one token each; a mark alone joins the word after it.
fn marks(text: &str) -> (usize, usize) {
    let (bytes, count) = run(text, Class::Mark);
    let is_joined =
        text[bytes..].chars().next().is_some_and(|next| Class::of(next) == Class::Letter);
    let cost = match count {
        1 if is_joined => 0,
        0..=3 => 102,
        4 => 132,
        more => 220 + (more - 5) * 40,
    };
    (bytes, cost)
}

/// A space joins the word after it.
fn spaces(text: &str) -> (usize, usize) {
    let (bytes, count) = run(text, Class::Space);
    (bytes, if count == 1 && !text.starts_with('\n') { 0 } else { 100 })
}

#[cfg(test)]
mod tests {
    use super::tokens;

    /// What o200k and cl100k say of a text; the estimate is off by so many per cent at most.
    #[track_caller]
    fn check(text: &str, o200k: usize, cl100k: usize, per_cent: usize) {
        let estimate = tokens(text);
        for exact in [o200k, cl100k] {
            let off = estimate.abs_diff(exact) * 100;
            assert!(off <= exact * per_cent, "{estimate} is not about {exact}: {text}");
        }
    }

    #[test]
    fn the_estimate_is_near_what_tokenizers_say() {
        let word_count = concat!(
            r#"{"name":"word_count","description":"Counts the words of a text.","inputSchema":{"#,
            r#""type":"object","properties":{"text":{"type":"string"}},"required":["text"],"#,
            r#""additionalProperties":false},"annotations":{"readOnlyHint":true,"#,
            r#""idempotentHint":true,"openWorldHint":false}}"#
        );
        check(word_count, 62, 60, 10);
        let git_log = concat!(
            r#"{"name":"git_log","title":"Recent commits","description":"Lists the newest "#,
            r#"commits, as HASH DATE AUTHOR SUBJECT.","inputSchema":{"type":"object","#,
            r#""properties":{"count":{"type":"integer","minimum":1,"maximum":50,"default":10},"#,
            r#""path":{"type":"string","description":"Only commits that changed this path."}},"#,
            r#""additionalProperties":false}}"#
        );
        check(git_log, 73, 73, 10);
        let sentence = "Finds the lines that match a regular expression, as FILE:NUMBER:LINE. At \
                        most 20 lines of a file are shown.";
        check(sentence, 28, 28, 20);
        check("指定した都市の今後七日間の天気予報を返します。", 18, 23, 25);
    }

    #[test]
    fn any_text_has_an_estimate() {
        assert_eq!(tokens(""), 0);
        for text in ["é", "\u{1f600}\u{1f600}", "\n\n  \t", "²³", "\u{20000}", "a\u{301}"] {
            assert!((1..=4).contains(&tokens(text)), "{text:?}: {}", tokens(text));
        }
    }
}
