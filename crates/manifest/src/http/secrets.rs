//! What a request says of who asks and nobody else should read, taken out of what a server says
//! back. Made by `auth`; used on every answer that becomes a result, and on every failure.

/// The secrets of one request, in every form that they may come back in.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    /// Of these, as they are sent.
    pub(crate) fn new(mut sent: Vec<String>) -> Self {
        /// Shorter ones are words of any text.
        const LENGTH_MIN: usize = 6;
        let in_json: Vec<String> = sent.iter().flat_map(|secret| as_in_json(secret)).collect();
        sent.extend(in_json);
        sent.retain(|secret| secret.len() >= LENGTH_MIN);
        // One may be a part of another.
        sent.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        sent.dedup();
        Self(sent)
    }

    /// The text without them. JSON stays JSON.
    pub(crate) fn redact(&self, text: String) -> String {
        if !self.0.iter().any(|secret| text.contains(secret)) {
            return text;
        }
        let redacted = self.replaced(&text);
        if is_json(&redacted) || !is_json(&text) { redacted } else { self.in_json(&text) }
    }

    fn replaced(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.0 {
            if text.contains(secret) {
                text = text.replace(secret, "…");
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
                _ => redacted.push_str("\"…\""),
            }
            rest = after;
        }
        redacted
    }
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
