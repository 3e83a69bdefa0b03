//! What anything costs whoever lists it: the bytes of its definition, and about how many tokens of
//! a model's context they are.

use crate::prompt::Prompt;
use crate::resource::{Resource, Source};
use crate::tool::Tool;
use haft_proto::encode;
use haft_proto::spec;
use haft_proto::version::Revision;
use serde_json::value::RawValue;

/// The cost of one entry of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Which list.
    pub part: Part,
    /// Its name; of a resource, its address.
    pub name: String,
    /// What it is: `command`, `http`, `pipeline`, `state`, `text`, `file`, `directory`, `message`
    /// or `messages`.
    pub kind: &'static str,
    /// Its arguments; optional ones end in `?`.
    pub arguments: Vec<String>,
    /// The bytes of its definition; of a directory, those of its listed files too.
    pub bytes: usize,
    /// About how many tokens these are; see [`tokens`].
    pub tokens: usize,
}

/// The parts of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A tool.
    Tool,
    /// A resource, or a family of them.
    Resource,
    /// A prompt.
    Prompt,
    /// A server behind this one.
    Upstream,
    /// The file itself, of which no client sees anything.
    File,
}

impl Part {
    /// All that clients see, in the order in which a file has them.
    pub const ALL: [Self; 3] = [Self::Tool, Self::Resource, Self::Prompt];

    /// What one is called.
    #[must_use]
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Resource => "resource",
            Self::Prompt => "prompt",
            Self::Upstream => "upstream",
            Self::File => "file",
        }
    }
}

impl Cost {
    pub(crate) fn of_tool(tool: &Tool) -> Self {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).ok();
        let definition = spec::tool::Tool {
            name: tool.name.value.clone(),
            title: tool.title.clone(),
            description: tool.description.as_ref().map(|text| text.value.clone()),
            input_schema: raw(tool.input.schema.text()).unwrap_or_default(),
            output_schema: tool.output_schema.as_ref().and_then(|schema| raw(schema.text())),
            annotations: tool.annotations,
            icons: tool.icons.clone(),
            meta: tool.meta.clone(),
        };
        let mut written = Vec::new();
        encode::tools::tool(&mut written, Revision::LATEST, &definition);
        let kind = tool.kind.key();
        let arguments = tool.input.arguments.iter();
        let arguments = arguments.map(|argument| marked(&argument.name, argument.is_required));
        Self::new(Part::Tool, definition.name, kind, arguments.collect(), &written)
    }

    pub(crate) fn of_resource(resource: &Resource) -> Self {
        let uri = resource.uri.value.clone();
        let (name, title) = (resource.name.clone(), resource.title.clone());
        let description = resource.description.as_ref().map(|text| text.value.clone());
        let (mime_type, annotations) = (resource.mime_type.clone(), resource.annotations.clone());
        let (icons, meta) = (resource.icons.clone(), resource.meta.clone());
        let mut written = Vec::new();
        let family = || spec::resource::ResourceTemplate {
            uri_template: uri.clone(),
            name: name.clone(),
            title: title.clone(),
            description: description.clone(),
            mime_type: mime_type.clone(),
            annotations: annotations.clone(),
            icons: icons.clone(),
            meta: meta.clone(),
        };
        let (kind, arguments) = match &resource.source {
            Source::Feed(fed) if !fed.variables.is_empty() => {
                encode::resource::resource_template(&mut written, Revision::LATEST, &family());
                (fed.feed.key(), fed.variables.clone())
            }
            Source::Directory(below) => {
                encode::resource::resource_template(&mut written, Revision::LATEST, &family());
                for listed in resource.listed() {
                    let definition = spec::resource::Resource {
                        uri: listed.uri,
                        name: listed.name,
                        mime_type: listed.mime_type,
                        annotations: resource.annotations.clone(),
                        ..spec::resource::Resource::default()
                    };
                    encode::resource::resource(&mut written, Revision::LATEST, &definition);
                }
                ("directory", vec![below.variable.clone()])
            }
            source => {
                let (uri, size) = (uri.clone(), source.text().map(|text| text.len() as u64));
                #[rustfmt::skip]
                let definition = spec::resource::Resource {
                    uri, name, title, description, mime_type, size, annotations, icons, meta,
                };
                encode::resource::resource(&mut written, Revision::LATEST, &definition);
                let kind = match source {
                    Source::Feed(fed) => fed.feed.key(),
                    Source::Directory(_) | Source::File(_) => "file",
                    Source::Text(_) => "text",
                };
                (kind, Vec::new())
            }
        };
        Self::new(Part::Resource, uri, kind, arguments, &written)
    }

    pub(crate) fn of_prompt(prompt: &Prompt) -> Self {
        let definition = spec::prompt::Prompt {
            name: prompt.name.value.clone(),
            title: prompt.title.clone(),
            description: prompt.description.as_ref().map(|text| text.value.clone()),
            arguments: prompt.arguments.iter().map(|argument| argument.spec.clone()).collect(),
            icons: prompt.icons.clone(),
            meta: prompt.meta.clone(),
        };
        let mut written = Vec::new();
        encode::prompt::prompt(&mut written, Revision::LATEST, &definition);
        let kind = if prompt.messages.len() == 1 { "message" } else { "messages" };
        let arguments = definition.arguments.iter();
        let arguments = arguments.map(|argument| marked(&argument.name, argument.required));
        Self::new(Part::Prompt, definition.name.clone(), kind, arguments.collect(), &written)
    }

    fn new(
        part: Part,
        name: String,
        kind: &'static str,
        arguments: Vec<String>,
        written: &[u8],
    ) -> Self {
        let tokens = tokens(&String::from_utf8_lossy(written));
        Self { part, name, kind, arguments, bytes: written.len(), tokens }
    }
}

fn marked(name: &str, is_required: bool) -> String {
    format!("{name}{}", if is_required { "" } else { "?" })
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
