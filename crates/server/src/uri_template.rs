//! URI templates (RFC 6570), read backwards: which variables an address stands for. `{name}`
//! matches up to the next slash and is percent-decoded; `{+name}` matches the rest, slashes
//! included. Matching takes one pass and no regular expression.

use crate::uri_expansion::Expansion;
use std::collections::BTreeMap;
use std::fmt;

/// The variables of an address, by name and decoded: what is percent-encoded in the address may be
/// a slash, `..` or NUL here.
pub type Variables = BTreeMap<String, String>;

/// A template that addresses can be matched with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UriTemplate {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    Variable {
        name: String,
        /// Whether it may contain slashes.
        is_rest: bool,
    },
}

/// Why a text is no template that can be matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BadTemplate {
    Adjacent,
    EmptyName,
    NotClosed,
    Repeated { name: String },
    Unknown { expression: String },
}

impl fmt::Display for BadTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Adjacent => {
                f.write_str("two variables stand side by side; put a character between them")
            }
            Self::EmptyName => f.write_str("a variable has no name"),
            Self::NotClosed => f.write_str("a `{` has no `}`"),
            Self::Repeated { name } => write!(f, "the variable `{name}` is there twice"),
            Self::Unknown { expression } => {
                write!(f, "`{{{expression}}}` is not `{{name}}` or `{{+name}}`, which are known")
            }
        }
    }
}

/// The variables of a URI template, in order: `owner` and `path` of `repo://{owner}/{+path}`.
///
/// # Errors
/// Why addresses cannot be matched with it, for people.
///
/// ```
/// let variables = haft_server::uri_variables("repo://{owner}/{+path}")?;
/// assert_eq!(variables, ["owner", "path"]);
/// assert!(haft_server::uri_variables("repo://{owner}{path}").is_err());
/// # Ok::<(), String>(())
/// ```
pub fn uri_variables(template: &str) -> Result<Vec<String>, String> {
    let parsed = UriTemplate::parse(template).map_err(|bad| bad.to_string())?;
    Ok(parsed.variables().map(str::to_owned).collect())
}

/// The variables of an address that fits a URI template, which may be any of RFC 6570; nothing if
/// it does not.
///
/// ```
/// let found = haft_server::uri_matched("repo://{owner}/{+path}", "repo://ada/docs/a%20b");
/// assert_eq!(found.and_then(|mut found| found.remove("path")).as_deref(), Some("docs/a b"));
/// assert_eq!(haft_server::uri_matched("repo://{owner}", "repo://ada/docs"), None);
/// ```
#[must_use]
pub fn uri_matched(template: &str, uri: &str) -> Option<Variables> {
    Matcher::of_far(template).ok()?.matches(uri)
}

/// What addresses are compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Matcher {
    /// One of a server's own, whose variables its reader is told.
    Plain(UriTemplate),
    /// One of another server, which may be any.
    Full(Expansion),
}

impl Matcher {
    pub(crate) fn of_own(text: &str) -> Result<Self, BadTemplate> {
        UriTemplate::parse(text).map(Self::Plain)
    }

    pub(crate) fn of_far(text: &str) -> Result<Self, BadTemplate> {
        Self::of_own(text).or_else(|_| Expansion::parse(text).map(Self::Full))
    }

    /// The variables of an address, or `None` if it does not fit.
    pub(crate) fn matches(&self, uri: &str) -> Option<Variables> {
        match self {
            Self::Plain(template) => template.matches(uri),
            Self::Full(template) => template.matches(uri),
        }
    }

    /// Those that its reader is told.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &str> {
        let plain = match self {
            Self::Plain(template) => Some(template.variables()),
            Self::Full(_) => None,
        };
        plain.into_iter().flatten()
    }
}

impl UriTemplate {
    pub(crate) fn parse(text: &str) -> Result<Self, BadTemplate> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((literal, after)) = rest.split_once('{') {
            let (expression, after) = after.split_once('}').ok_or(BadTemplate::NotClosed)?;
            if !literal.is_empty() {
                parts.push(Part::Literal(literal.to_owned()));
            } else if matches!(parts.last(), Some(Part::Variable { .. })) {
                return Err(BadTemplate::Adjacent);
            }
            let variable = variable(expression)?;
            let name = variable.name().unwrap_or_default();
            if parts.iter().any(|part: &Part| part.name() == Some(name)) {
                return Err(BadTemplate::Repeated { name: name.to_owned() });
            }
            parts.push(variable);
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(Part::Literal(rest.to_owned()));
        }
        Ok(Self { parts })
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(Part::name)
    }

    /// The variables of an address, or `None` if it does not fit. A variable is never empty, and
    /// what is not UTF-8 once decoded does not fit.
    pub(crate) fn matches(&self, uri: &str) -> Option<Variables> {
        let mut found = Variables::new();
        let mut rest = uri;
        for (index, part) in self.parts.iter().enumerate() {
            match part {
                Part::Literal(literal) => rest = rest.strip_prefix(literal.as_str())?,
                Part::Variable { name, is_rest } => {
                    let raw = match self.parts.get(index + 1) {
                        None => rest,
                        // What ends the template ends the address.
                        Some(Part::Literal(end)) if index + 2 == self.parts.len() => {
                            rest.strip_suffix(end.as_str())?
                        }
                        // A variable that may have slashes ends where its end stands last.
                        Some(Part::Literal(end)) if *is_rest => {
                            &rest[..rest.rfind(end.as_str())?]
                        }
                        Some(Part::Literal(end)) => &rest[..rest.find(end.as_str())?],
                        Some(Part::Variable { .. }) => return None,
                    };
                    if raw.is_empty() || (!is_rest && raw.contains('/')) {
                        return None;
                    }
                    found.insert(name.clone(), uri_decoded(raw)?);
                    rest = &rest[raw.len()..];
                }
            }
        }
        rest.is_empty().then_some(found)
    }
}

impl Part {
    /// That of a variable.
    fn name(&self) -> Option<&str> {
        match self {
            Self::Variable { name, .. } => Some(name),
            Self::Literal(_) => None,
        }
    }
}

fn variable(expression: &str) -> Result<Part, BadTemplate> {
    let (name, is_rest) = match expression.strip_prefix('+') {
        Some(name) => (name, true),
        None => (expression, false),
    };
    if name.is_empty() {
        return Err(BadTemplate::EmptyName);
    }
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
    {
        return Err(BadTemplate::Unknown { expression: expression.to_owned() });
    }
    Ok(Part::Variable { name: name.to_owned(), is_rest })
}

/// Percent-decodes a part of an address; `None` for a broken escape or what is not UTF-8.
///
/// ```
/// assert_eq!(haft_server::uri_decoded("a%20b").as_deref(), Some("a b"));
/// assert_eq!(haft_server::uri_decoded("100%"), None);
/// ```
#[must_use]
pub fn uri_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, uri: &str, expected: Option<&[(&str, &str)]>) {
        let parsed = UriTemplate::parse(template).expect("a template");
        let expected = expected.map(|pairs| {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        });
        assert_eq!(parsed.matches(uri), expected, "{template} {uri}");
    }

    #[test]
    fn a_variable_ends_at_the_next_slash_and_is_decoded() {
        check("t://{id}/data", "t://123/data", Some(&[("id", "123")]));
        check("t://{id}/data", "t://1%2F2/data", Some(&[("id", "1/2")]));
        check("t://{id}/data", "t://1/2/data", None);
        check("t://{id}/data", "t:///data", None);
        check("t://{id}/data", "t://1/data/", None);
        check("t://{a}-{b}", "t://x-y-z", Some(&[("a", "x"), ("b", "y-z")]));
        check("t://{name}.txt", "t://a.txt.txt", Some(&[("name", "a.txt")]));
        check("t://{name}.txt", "t://.txt", None);
        check("t://{id}", "t://%2e%2E", Some(&[("id", "..")]));
        check("t://{id}", "t://..%2fa%00", Some(&[("id", "../a\0")]));
        check("t://{id}", "t://%ff", None);
        check("t://{id}", "t://%4", None);
    }

    #[test]
    fn a_rest_has_its_slashes() {
        check("docs://{+path}", "docs://a/b.md", Some(&[("path", "a/b.md")]));
        check("docs://{+path}/raw", "docs://a/raw/raw", Some(&[("path", "a/raw")]));
        check("docs://{+path}", "docs://", None);
    }

    #[test]
    fn what_cannot_be_matched_is_refused() {
        let refused = |text| UriTemplate::parse(text).expect_err("not a template").to_string();
        assert_eq!(refused("t://{id"), "a `{` has no `}`");
        assert_eq!(refused("t://{}"), "a variable has no name");
        assert!(refused("t://{a}{b}").contains("side by side"));
        assert!(refused("t://{a}/{a}").contains("`a` is there twice"));
        assert!(refused("t://{a}/{+a}").contains("`a` is there twice"));
        assert!(refused("t://{?q}").contains("`{?q}`"));
    }
}
