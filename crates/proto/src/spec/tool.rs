//! A tool as clients see it (Server Features, "Tools"). Schemas are JSON text that is passed on
//! verbatim; nothing here checks them.

use super::Meta;
use super::icon::Icon;
use serde_json::value::RawValue;
use std::collections::HashMap;

/// What a client is told of a tool.
#[derive(Clone, Debug)]
pub struct Tool {
    /// 1 to 128 characters of `A-Za-z0-9_.-`, unique in its server.
    pub name: String,
    /// The name that people read.
    pub title: Option<String>,
    /// What it does, for the model.
    pub description: Option<String>,
    /// The JSON Schema of its arguments, whose type is an object.
    pub input_schema: Box<RawValue>,
    /// The JSON Schema of its structured result.
    pub output_schema: Option<Box<RawValue>>,
    /// How it behaves.
    pub annotations: Annotations,
    /// Pictures (from 2025-11-25 on).
    pub icons: Vec<Icon>,
    /// `_meta` (from 2025-06-18 on).
    pub meta: Option<Meta>,
}

/// Hints about a tool's behaviour; `None` is not said, and clients then assume the worst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    /// It changes nothing.
    pub read_only: Option<bool>,
    /// It may destroy something.
    pub destructive: Option<bool>,
    /// Doing it twice is like doing it once.
    pub idempotent: Option<bool>,
    /// It reaches beyond its own machine or data.
    pub open_world: Option<bool>,
}

impl Annotations {
    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }
}

/// Whether a tool may have this name (Tools, "Tool Names").
///
/// ```
/// assert!(haft_proto::spec::tool::is_valid_name("word_count"));
/// assert!(!haft_proto::spec::tool::is_valid_name("word count"));
/// ```
#[must_use]
pub fn is_valid_name(name: &str) -> bool {
    (1..=128).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

/// The longest name that all clients take, in bytes.
pub const PORTABLE_NAME_BYTES_MAX: usize = 64;

/// Whether every client in use takes a tool of this name; some refuse all tools for one with a dot.
///
/// ```
/// use haft_proto::spec::tool::is_portable_name;
/// assert!(is_portable_name("word_count"));
/// assert!(!is_portable_name("word.count"));
/// ```
#[must_use]
pub fn is_portable_name(name: &str) -> bool {
    (1..=PORTABLE_NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(is_portable)
}

const fn is_portable(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Names that all clients take for tools of these names, in their order, none longer than
/// `bytes_max`. A name that they take stays. In another, `_` stands for what they refuse; where
/// that is another tool's name, or too long, or says nothing, its end tells it from others, and
/// depends on the name alone.
///
/// ```
/// use haft_proto::spec::tool::portable_names;
/// let names = ["find.things", "find_things", "read/file", "größe"];
/// let told = ["find_things_ccd58b34", "find_things", "read_file", "gr__e_42c44ec4"];
/// assert_eq!(portable_names(&names, 64), told);
/// ```
#[must_use]
pub fn portable_names<T: AsRef<str>>(names: &[T], bytes_max: usize) -> Vec<String> {
    let is_fit = |name: &str| is_portable_name(name) && name.len() <= bytes_max;
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    let mut uses: HashMap<String, usize> = HashMap::new();
    for name in &names {
        *uses.entry(simple(name).unwrap_or_default()).or_default() += 1;
    }
    let told = |name: &&str| match simple(name) {
        _ if is_fit(name) => (*name).to_owned(),
        Some(simple) if is_fit(&simple) && uses[&simple] == 1 => simple,
        _ => told_apart(name, bytes_max),
    };
    names.iter().map(told).collect()
}

/// The name with `_` for each character that clients refuse; nothing, if a letter is one of those.
fn simple(name: &str) -> Option<String> {
    let instead = |byte| if is_portable(byte) { char::from(byte) } else { '_' };
    name.is_ascii().then(|| name.bytes().map(instead).collect())
}

/// A name whose end is made from all of it.
#[must_use]
pub fn told_apart(name: &str, bytes_max: usize) -> String {
    let end = format!("_{:08x}", print(name));
    let is_portable = |character: &char| u8::try_from(*character).is_ok_and(is_portable);
    let instead = |character| if is_portable(&character) { character } else { '_' };
    let kept = name.chars().take(bytes_max.saturating_sub(end.len())).map(instead);
    kept.chain(end.chars()).collect()
}

/// The same number for the same text, wherever and whenever (FNV-1a, folded).
fn print(text: &str) -> u32 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let folded = (hash >> 32) ^ (hash & u64::from(u32::MAX));
    u32::try_from(folded).expect("half of the bits are left")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_as_all_clients_take_them() {
        let long = "x".repeat(80);
        for (names, expected) in [
            (vec!["a", "A-1_b"], vec!["a", "A-1_b"]),
            (vec!["a.b", "c/d", "e f", "g:h", "$ref"], vec!["a_b", "c_d", "e_f", "g_h", "_ref"]),
            (vec!["a.b", "a_b"], vec!["a_b_9d2cf3a3", "a_b"]),
            (vec!["a.b", "a/b"], vec!["a_b_9d2cf3a3", "a_b_9d2cf3a2"]),
        ] {
            let told = portable_names(&names, 64);
            assert_eq!(told.len(), expected.len());
            for (told, expected) in told.iter().zip(expected) {
                let stem = expected.rsplit_once('_').map_or(expected, |(stem, _)| stem);
                let has_end = expected.len() > 9 && expected.is_char_boundary(4);
                assert!(told == expected || has_end && told.starts_with(stem), "{names:?}: {told}");
            }
        }
        let odd = ["", "ü", "naïve", "zwei worte", &long, "a.b", "a b", "a/b", "a_b"];
        for bytes_max in [64, 40, 20] {
            let told = portable_names(&odd, bytes_max);
            for (place, name) in told.iter().enumerate() {
                assert!(is_portable_name(name) && name.len() <= bytes_max, "{name}");
                assert!(!told[..place].contains(name), "{name}");
            }
            // The order and what else there is say nothing.
            assert_eq!(portable_names(&odd[1..5], bytes_max)[..], told[1..5]);
        }
    }
}
