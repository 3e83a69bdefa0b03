//! HTTP headers that repeat what the body says (Streamable HTTP, 2026-07-28, "Standard Request
//! Headers" and "Custom Headers from Tool Parameters"), so that a proxy can route without reading
//! it. Here they are compared with the body; nothing is ever taken from them.

use crate::envelope::{Envelope, PROTOCOL_VERSION};
use crate::error::{Mistake, Refusal};
use crate::json::JsonStr;
use crate::method::{Method, Target};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::borrow::Cow;

/// The headers of a request, as a wire holds them.
pub trait Headers {
    /// The values of a header, found by its lower-case name.
    fn field(&self, name: &str) -> Field<'_>;

    /// Calls `act` with each header: its name in lower case, and its value.
    fn each(&self, act: &mut dyn FnMut(&str, &[u8]));
}

/// How often a header is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field<'a> {
    /// Not at all.
    Absent,
    /// Once.
    One(&'a [u8]),
    /// Several times.
    Repeated,
}

/// `Mcp-Protocol-Version`, in lower case.
pub const VERSION_HEADER: &str = "mcp-protocol-version";
/// `Mcp-Method`, in lower case.
pub const METHOD_HEADER: &str = "mcp-method";
/// `Mcp-Name`, in lower case.
pub const NAME_HEADER: &str = "mcp-name";
/// What a parameter's own header begins with, in lower case.
pub const PARAM_HEADER_PREFIX: &str = "mcp-param-";

/// Compares the headers of a modern request with its body.
///
/// # Errors
/// [`Mistake::HeaderMismatch`], naming the header.
pub fn check(headers: &dyn Headers, message: &Envelope<'_>) -> Result<(), Refusal> {
    let version = text_of(message.params.meta.protocol_version);
    compare(headers, VERSION_HEADER, version.as_deref(), PROTOCOL_VERSION)?;
    let method = message.method.map(JsonStr::decode);
    compare(headers, METHOD_HEADER, method.as_deref(), "method")?;
    let target = method.as_deref().and_then(Method::find).map_or(Target::None, |m| m.row().target);
    let (name, place) = match target {
        Target::None => return Ok(()),
        Target::Name => (message.params.name, "params.name"),
        Target::TaskId => (message.params.task_id, "params.taskId"),
        Target::Uri => (message.params.uri, "params.uri"),
    };
    compare(headers, NAME_HEADER, text_of(name).as_deref(), place)
}

/// Compares one header with the text that the body has in `place`. A header may be there only if
/// the body has the text, and must be if it has.
///
/// # Errors
/// [`Mistake::HeaderMismatch`], naming the header.
pub fn compare(
    headers: &dyn Headers,
    header: &str,
    body: Option<&str>,
    place: &str,
) -> Result<(), Refusal> {
    let mismatch = |what: String| Err(Refusal::new(Mistake::HeaderMismatch, what));
    match (headers.field(header), body) {
        (Field::Absent, None) => Ok(()),
        (Field::Absent, Some(_)) => {
            mismatch(format!("Header mismatch: `{header}` is missing; it must repeat `{place}`"))
        }
        (Field::Repeated, _) => mismatch(format!("Header mismatch: `{header}` is there twice")),
        (Field::One(_), None) => {
            mismatch(format!("Header mismatch: `{header}` is there, but the body has no `{place}`"))
        }
        (Field::One(value), Some(body)) => match decode(value) {
            None => mismatch(format!(
                "Header mismatch: `{header}` is neither plain ASCII nor valid `=?base64?…?=`"
            )),
            Some(text) if text == body => Ok(()),
            Some(_) => mismatch(format!(
                "Header mismatch: `{header}` differs from `{place}` in the body; send the same"
            )),
        },
    }
}

/// The text that a header's value stands for: itself, or what is between `=?base64?` and `?=`.
/// `None` if it has illegal characters, or is not Base64 of UTF-8 between the marks.
#[must_use]
pub fn decode(value: &[u8]) -> Option<Cow<'_, str>> {
    let text = std::str::from_utf8(value).ok()?.trim_matches([' ', '\t']);
    if !text.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte)) {
        return None;
    }
    let Some(coded) = text.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="))
    else {
        return Some(Cow::Borrowed(text));
    };
    String::from_utf8(STANDARD.decode(coded).ok()?).ok().map(Cow::Owned)
}

/// The header value that stands for `text`: itself where that is possible, else Base64.
///
/// ```
/// assert_eq!(haft_proto::mirror::encode("us-west1"), "us-west1");
/// assert_eq!(haft_proto::mirror::encode("Hallo, 世界"), "=?base64?SGFsbG8sIOS4lueVjA==?=");
/// ```
#[must_use]
pub fn encode(text: &str) -> Cow<'_, str> {
    let is_visible = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let is_trimmed = !text.starts_with(' ') && !text.ends_with(' ');
    let looks_coded = text.starts_with("=?base64?") && text.ends_with("?=");
    if is_visible && is_trimmed && !looks_coded {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("=?base64?{}?=", STANDARD.encode(text)))
}

fn text_of(raw: Option<&str>) -> Option<Cow<'_, str>> {
    raw.and_then(JsonStr::from_raw).map(JsonStr::decode)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct One(&'static str, Vec<u8>);

    impl Headers for One {
        fn field(&self, name: &str) -> Field<'_> {
            if name == self.0 { Field::One(&self.1) } else { Field::Absent }
        }

        fn each(&self, act: &mut dyn FnMut(&str, &[u8])) {
            act(self.0, &self.1);
        }
    }

    fn verdict(value: &str, body: Option<&str>) -> bool {
        compare(&One("mcp-name", value.into()), "mcp-name", body, "params.name").is_ok()
    }

    #[test]
    fn a_sentinel_is_decoded_and_half_a_sentinel_is_literal() {
        assert!(verdict("=?base64?SGVsbG8=?=", Some("Hello")));
        assert!(!verdict("=?base64?SGVsbG8?=", Some("Hello")), "padding is required");
        assert!(!verdict("=?base64?SGVs!!!bG8=?=", Some("Hello")), "bad alphabet");
        assert!(verdict("=?base64?SGVsbG8=", Some("=?base64?SGVsbG8=")));
        assert!(verdict("SGVsbG8=?=", Some("SGVsbG8=?=")));
        assert!(verdict("  add \t", Some("add")), "space around a value does not count");
        assert!(!verdict("ADD", Some("add")), "values are case-sensitive");
        assert!(!verdict("add", None));
        assert!(compare(&One("x", vec![]), "mcp-name", Some("add"), "params.name").is_err());
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(text in any::<String>()) {
            let header = encode(&text);
            prop_assert!(header.bytes().all(|b| (b' '..=b'~').contains(&b)));
            let decoded = decode(header.as_bytes());
            prop_assert_eq!(decoded.as_deref(), Some(text.as_str()));
        }
    }
}
