//! What a server wants before it answers: the `Bearer` challenge in `WWW-Authenticate` (RFC 9110,
//! 11.6.1; RFC 6750, 3; RFC 9728, 5.1). Read leniently: what cannot be read is not there.

use crate::limits::CHALLENGE_BYTES_MAX;
use http::HeaderMap;
use http::header::WWW_AUTHENTICATE;

/// The challenge, as far as this client knows what to do with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Challenge {
    /// Where the metadata of the resource is.
    pub(crate) resource_metadata: Option<String>,
    /// What a token needs.
    pub(crate) scope: Option<String>,
    /// What was wrong with the one that was sent.
    pub(crate) error: Option<String>,
}

impl Challenge {
    /// The first `Bearer` challenge, if there is one.
    pub(crate) fn read(headers: &HeaderMap) -> Option<Self> {
        let lines = headers.get_all(WWW_AUTHENTICATE).iter();
        let lines = lines.filter_map(|line| line.to_str().ok());
        lines.filter(|line| line.len() <= CHALLENGE_BYTES_MAX).find_map(read_line)
    }

    /// Whether the token lacks something that another one could have.
    pub(crate) fn is_insufficient_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }
}

fn read_line(line: &str) -> Option<Challenge> {
    let mut rest = line;
    let mut found: Option<Challenge> = None;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        if rest.is_empty() {
            return found;
        }
        let (name, after) = token(rest)?;
        match after.trim_start_matches([' ', '\t']).strip_prefix('=') {
            // `name = value` belongs to the challenge before it.
            Some(after) if !after.starts_with('=') => {
                let (value, after) = value(after.trim_start_matches([' ', '\t']))?;
                if let Some(challenge) = &mut found {
                    challenge.set(name, value);
                }
                rest = after;
            }
            _ => {
                if found.is_some() {
                    return found;
                }
                found = name.eq_ignore_ascii_case("bearer").then(Challenge::default);
                rest = after_token68(after);
            }
        }
    }
}

impl Challenge {
    fn set(&mut self, name: &str, value: String) {
        let place = match name.to_ascii_lowercase().as_str() {
            "resource_metadata" => &mut self.resource_metadata,
            "scope" => &mut self.scope,
            "error" => &mut self.error,
            _ => return,
        };
        place.get_or_insert(value);
    }
}

fn token(text: &str) -> Option<(&str, &str)> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let end = text.bytes().position(|byte| !is_token(byte)).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// A token or a quoted text.
fn value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        // Servers leave addresses unquoted, too.
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        let (value, rest) = text.split_at(end);
        return Some((value.to_owned(), rest));
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &quoted[at + 1..])),
            '\\' => value.push(characters.next()?.1),
            character => value.push(character),
        }
    }
    None
}

/// What is behind a value that some schemes have in place of parameters.
fn after_token68(text: &str) -> &str {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte);
    let trimmed = text.trim_start_matches([' ', '\t']);
    let end = trimmed.bytes().position(|byte| !is_part(byte)).unwrap_or(trimmed.len());
    let rest = trimmed[end..].trim_start_matches('=');
    let is_whole = rest.is_empty() || rest.starts_with([',', ' ']);
    if end > 0 && is_whole && !rest.trim_start().starts_with('=') { rest } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(lines: &[&str]) -> Option<Challenge> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(WWW_AUTHENTICATE, line.parse().expect("a header value"));
        }
        Challenge::read(&headers)
    }

    fn check(line: &str, [metadata, scope, error]: [&str; 3]) {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let (resource_metadata, scope, error) = (some(metadata), some(scope), some(error));
        assert_eq!(read(&[line]), Some(Challenge { resource_metadata, scope, error }), "{line}");
    }

    #[test]
    fn a_bearer_challenge_is_read_wherever_it_stands() {
        check("Bearer", ["", "", ""]);
        check(r#"Bearer realm="x", scope="a b""#, ["", "a b", ""]);
        check(r#"bearer SCOPE = "a" , error=invalid_token"#, ["", "a", "invalid_token"]);
        check(r#"Basic realm="a, Bearer b", Bearer scope="c""#, ["", "c", ""]);
        check(r#"Negotiate abc==, Bearer scope="c""#, ["", "c", ""]);
        check(r#"Negotiate, Bearer scope="c", Basic scope="d""#, ["", "c", ""]);
        check(r#"Bearer resource_metadata=https://a/b?c, scope=d"#, ["https://a/b?c", "d", ""]);
        check(r#"Bearer scope="a\"b\\c", scope="again""#, ["", r#"a"b\c"#, ""]);
        let two = read(&["Basic", r#"Bearer error="insufficient_scope""#]);
        assert!(two.is_some_and(|challenge| challenge.is_insufficient_scope()));
    }

    #[test]
    fn what_is_no_bearer_challenge_is_none() {
        for line in ["Basic", "DPoP scope=\"a\"", "", "\"", "Bearer scope=\"open", "=a"] {
            assert_eq!(read(&[line]), None, "{line}");
        }
        let long = format!("Bearer scope=\"{}\"", "a".repeat(CHALLENGE_BYTES_MAX));
        assert_eq!(read(&[&long]), None);
    }

    proptest! {
        #[test]
        fn no_line_makes_it_fail(line in "[ -~]{0,60}", mix in "[Bbearer =,\"\\\\a]{0,40}") {
            read_line(&line);
            read_line(&mix);
        }
    }
}
