//! What a request or a program is given and nobody else should read, taken out of what a server or
//! the program says back. Made by `auth` and `command`; used on every answer that becomes a result,
//! and on every failure.

use crate::limits::SECRET_BYTES_MIN;
use std::fmt;

/// The secrets of one request or program, in every form that they may come back in.
#[derive(Clone, Default)]
pub(crate) struct Secrets {
    values: Vec<String>,
    /// What stands in the place of one.
    mark: &'static str,
}

impl Secrets {
    /// Of these, as they are sent.
    pub(crate) fn new(mut sent: Vec<String>) -> Self {
        let in_json: Vec<String> = sent.iter().flat_map(|secret| as_in_json(secret)).collect();
        sent.extend(in_json);
        sent.retain(|secret| secret.len() >= SECRET_BYTES_MIN);
        // One may be a part of another.
        sent.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        sent.dedup();
        Self { values: sent, mark: "…" }
    }

    /// Of what a program is given; the mark is that of `redact`.
    pub(crate) fn given(values: Vec<String>) -> Self {
        Self { mark: "[redacted]", ..Self::new(values) }
    }

    /// The text without them. JSON stays JSON.
    pub(crate) fn redact(&self, text: String) -> String {
        if !self.values.iter().any(|secret| text.contains(secret)) {
            return text;
        }
        let redacted = self.replaced(&text);
        if is_json(&redacted) || !is_json(&text) { redacted } else { self.in_json(&text) }
    }

    /// What a program has printed without them.
    pub(crate) fn redact_bytes(&self, said: Vec<u8>) -> Vec<u8> {
        if self.values.is_empty() {
            return said;
        }
        match String::from_utf8(said) {
            Ok(text) => self.redact(text).into_bytes(),
            Err(error) => self.values.iter().fold(error.into_bytes(), |said, secret| {
                replaced_bytes(said, secret.as_bytes(), self.mark)
            }),
        }
    }

    fn replaced(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.values {
            if text.contains(secret) {
                text = text.replace(secret, self.mark);
            }
        }
        text
    }

    /// JSON in which a number that has a secret becomes a text.
    fn in_json(&self, json: &str) -> String {
        let is_of_number = |byte: char| byte.is_ascii_alphanumeric() || "+-.".contains(byte);
        let mut redacted = String::with_capacity(json.len());
        let mut rest = json;
        while let Some(first) = rest.chars().next() {
            let is_text = first == '"';
            let length = match first {
                '"' => length_of_text(rest),
                _ if is_of_number(first) => {
                    rest.find(|byte| !is_of_number(byte)).unwrap_or(rest.len())
                }
                _ => first.len_utf8(),
            };
            let (token, after) = rest.split_at(length);
            match self.replaced(token) {
                same if same == token => redacted.push_str(token),
                clean if is_text && is_json(&clean) => redacted.push_str(&clean),
                _ => redacted.extend(["\"", self.mark, "\""]),
            }
            rest = after;
        }
        redacted
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets")
    }
}

/// What is no text, without a secret.
fn replaced_bytes(said: Vec<u8>, secret: &[u8], mark: &str) -> Vec<u8> {
    let mut rest = &*said;
    let mut clean = Vec::new();
    while let Some(at) = rest.windows(secret.len()).position(|part| part == secret) {
        clean.extend_from_slice(&rest[..at]);
        clean.extend_from_slice(mark.as_bytes());
        rest = &rest[at + secret.len()..];
    }
    if clean.is_empty() && rest.len() == said.len() {
        return said;
    }
    clean.extend_from_slice(rest);
    clean
}

/// The length of the text in quotes that JSON begins with, in bytes.
fn length_of_text(json: &str) -> usize {
    let mut is_escaped = false;
    let end = json.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    end.map_or(json.len(), |end| end + 2)
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// How a text looks within one of JSON, where that differs; some write `/` as `\/`.
fn as_in_json(text: &str) -> impl Iterator<Item = String> {
    let quoted = serde_json::Value::from(text).to_string();
    let escaped = quoted[1..quoted.len() - 1].to_owned();
    let slashed = escaped.replace('/', "\\/");
    let text = text.to_owned();
    [escaped, slashed].into_iter().filter(move |form| *form != text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_stays_json() {
        let secrets = Secrets::new(vec!["1234567".to_owned(), "\": [hunter".to_owned()]);
        for (text, expected) in [
            ("a 1234567 b", "a … b"),
            ("[1234567, -1234567.5, 12]", r#"["…", "…", 12]"#),
            (r#"{"1234567": "x1234567\""}"#, r#"{"…": "x…\""}"#),
            (r#"{"a\\": [1234567]}"#, r#"{"a\\": ["…"]}"#),
            (r#"{"a": "\": [hunter"}"#, r#"{"a": "…"}"#),
            (r#"["none"]"#, r#"["none"]"#),
        ] {
            assert_eq!(secrets.redact(text.to_owned()), expected, "{text}");
        }
    }

    #[test]
    fn a_short_one_is_a_word() {
        assert_eq!(Secrets::new(vec!["admin".to_owned()]).redact("admin".to_owned()), "admin");
        assert_eq!(Secrets::new(vec!["a/bcde".to_owned()]).redact(r"a\/bcde".to_owned()), "…");
    }
}
