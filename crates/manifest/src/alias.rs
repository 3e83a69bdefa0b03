//! Names that a template cannot read, `dry-run` or `range`, written as names that it can. The files
//! of others have such arguments; callers use the names as they are.

use crate::pipeline::is_readable;
use std::borrow::Cow;
use std::fmt::Write;

/// How the names begin that stand for others.
const MARK: &str = "odd_";

/// What templates call it.
pub(crate) fn inner(name: &str) -> Cow<'_, str> {
    if is_readable(name) && !name.starts_with(MARK) {
        return Cow::Borrowed(name);
    }
    let mut inner = MARK.to_owned();
    for byte in name.bytes() {
        match byte.is_ascii_alphanumeric() {
            true => inner.push(char::from(byte)),
            // Writing to a string does not fail.
            false => _ = write!(inner, "_{byte:02x}"),
        }
    }
    Cow::Owned(inner)
}

/// What callers call it.
pub(crate) fn outer(inner: &str) -> Cow<'_, str> {
    let Some(mut rest) = inner.strip_prefix(MARK) else { return Cow::Borrowed(inner) };
    let mut name = Vec::new();
    while let Some(first) = rest.bytes().next() {
        let byte = rest.get(1..3).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match byte.filter(|_| first == b'_') {
            Some(byte) => {
                name.push(byte);
                rest = &rest[3..];
            }
            None => {
                name.push(first);
                rest = rest.get(1..).unwrap_or_default();
            }
        }
    }
    String::from_utf8(name).map_or(Cow::Borrowed(inner), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_again_and_no_two_are_one() {
        let names =
            ["a", "a_b", "a-b", "odd_a", "odd_a_2db", "range", "in", "errors", "ü", "", "_"];
        let inner: Vec<_> = names.iter().map(|name| inner(name)).collect();
        for (name, inner) in names.iter().zip(&inner) {
            assert_eq!(outer(inner), *name);
            assert!(is_readable(inner), "{inner}");
        }
        for (index, name) in inner.iter().enumerate() {
            assert!(!inner[..index].contains(name), "{name}");
        }
        assert_eq!((&*inner[0], &*inner[1], &*inner[2]), ("a", "a_b", "odd_a_2db"));
    }
}
