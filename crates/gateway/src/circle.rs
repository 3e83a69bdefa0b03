//! How a gateway knows its own things when they come back to it, from itself or through others, and
//! does not serve them a second time, and a third. Over any wire, the lists of a gateway name in
//! `_meta` those that they came through; to a child process it says in a variable which files are
//! served above it. Asked by `keeper` and `gateway`.

use crate::limits::{ABOVE_MAX, ABOVE_SAME_MAX, GATEWAYS_MAX};
use haft_proto::json::member;
use haft_proto::spec::Meta;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::env;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, RandomState};
use std::path::Path;
use std::time::Duration;

/// The key in `_meta` of lists.
const KEY: &str = "haft/gateways";
/// The variable of the environment.
pub(crate) const ABOVE: &str = "HAFT_ABOVE";
/// A number that is as long in text for all.
const NAME_BYTES: usize = 16;

/// Gateways, by their names.
pub(crate) type Gateways = BTreeSet<Box<str>>;

/// What tells one gateway from all others, as long as it runs.
pub(crate) struct Mark(Box<str>);

impl Mark {
    pub(crate) fn new() -> Self {
        Self(name_of(RandomState::new().hash_one(KEY)))
    }

    /// What is said in `_meta` of lists of what came through these, and through this one.
    pub(crate) fn meta(&self, mut through: Gateways) -> Meta {
        through.insert(self.0.clone());
        let names: Vec<String> = through.iter().map(|name| format!("\"{name}\"")).collect();
        let text = format!("{{\"{KEY}\":[{}]}}", names.join(","));
        RawValue::from_string(text).expect("names are digits")
    }

    /// Why what came through these is not served, if it is not.
    pub(crate) fn refuses(&self, through: &Gateways) -> Option<String> {
        if through.contains(&self.0) {
            return Some(
                "it is this gateway itself, or has it as an upstream: one of the two has to go"
                    .to_owned(),
            );
        }
        (through.len() > GATEWAYS_MAX)
            .then(|| format!("what it has came through more than {GATEWAYS_MAX} gateways"))
    }
}

/// The gateways that a list came through, as its `_meta` says; of too many, one too many.
pub(crate) fn through(meta: &RawValue) -> Gateways {
    let listed = member(meta.get(), KEY).and_then(|raw| serde_json::from_str(raw).ok());
    let listed: Vec<Value> = listed.unwrap_or_default();
    let names = listed.iter().filter_map(Value::as_str);
    let is_name =
        |name: &&str| name.len() == NAME_BYTES && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    names.filter(is_name).map(Box::from).take(GATEWAYS_MAX + 1).collect()
}

/// Between half of a pause and one and a half: two that have refused each other at the same time
/// do not meet again.
pub(crate) fn apart(pause: Duration) -> Duration {
    let any = u32::try_from(RandomState::new().hash_one(KEY) >> 32).unwrap_or(u32::MAX);
    pause.mul_f64(0.5 + f64::from(any) / f64::from(u32::MAX))
}

/// The files that are served above a process, the nearest last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Above(String);

impl Above {
    /// For the children of the gateway that serves this file.
    pub(crate) fn children_of(file: &Path) -> Self {
        Self::within(&env::var(ABOVE).unwrap_or_default(), file)
    }

    fn within(above: &str, file: &Path) -> Self {
        let name = name_of_file(file);
        Self(if above.is_empty() { name.into() } else { format!("{above},{name}") })
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Why a gateway of the file does not begin that is the last of these.
    fn too_deep(&self) -> Option<String> {
        let all: Vec<&str> = self.0.split(',').collect();
        let same = all.iter().filter(|name| Some(**name) == all.last().copied()).count();
        if same > ABOVE_SAME_MAX {
            return Some(
                "it is its own upstream: it has been started by a gateway of the same \
                 file, and that by another"
                    .to_owned(),
            );
        }
        (all.len() > ABOVE_MAX)
            .then(|| format!("it is the upstream of {ABOVE_MAX} gateways, each of the one before"))
    }
}

/// Why a process may not be the gateway of this file, if it may not: it was started by gateways
/// that would go on to start each other for ever.
#[must_use]
pub fn started_by_itself(file: &Path) -> Option<String> {
    Above::children_of(file).too_deep()
}

/// The same for the same file in all processes of one build.
fn name_of_file(file: &Path) -> Box<str> {
    let whole = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    name_of(BuildHasherDefault::<DefaultHasher>::default().hash_one(whole))
}

fn name_of(number: u64) -> Box<str> {
    format!("{number:016x}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Gateways {
        through(&RawValue::from_string(text.to_owned()).expect("JSON"))
    }

    #[test]
    fn what_came_through_a_gateway_is_refused_by_it_and_by_no_other() {
        let (one, other) = (Mark::new(), Mark::new());
        let through = told(one.meta(told(other.meta(Gateways::new()).get())).get());
        assert_eq!(through.len(), 2);
        assert!(one.refuses(&through).is_some_and(|why| why.contains("this gateway itself")));
        assert!(other.refuses(&through).is_some());
        assert_eq!(Mark::new().refuses(&through), None);
    }

    #[test]
    fn what_is_no_name_of_a_gateway_is_nothing() {
        let name = "0123456789abcdef";
        for (text, names) in [
            (format!(r#"{{"haft/gateways":["{name}","{name}"]}}"#), 1),
            (format!(r#"{{"haft/gateways":[7,null,["{name}"],"{name}0","\u0000{name}"]}}"#), 0),
            (format!(r#"{{"haft/gateways":"{name}","other":["{name}"]}}"#), 0),
            (r#"{"haft/gateways":["\"},{\"a\":\"b"]}"#.to_owned(), 0),
            ("[]".to_owned(), 0),
        ] {
            assert_eq!(told(&text).len(), names, "{text}");
        }
    }

    #[test]
    fn more_gateways_than_the_most_are_refused_and_not_kept() {
        let names = |count: u64| {
            let names: Vec<String> = (0..count).map(|n| format!("\"{}\"", name_of(n))).collect();
            told(&format!(r#"{{"haft/gateways":[{}]}}"#, names.join(",")))
        };
        let most = GATEWAYS_MAX as u64;
        assert_eq!(Mark::new().refuses(&names(most)), None);
        assert_eq!(names(most * 3).len(), GATEWAYS_MAX + 1);
        let why = Mark::new().refuses(&names(most + 1)).expect("too many");
        assert!(why.contains(&GATEWAYS_MAX.to_string()), "{why}");
    }

    #[test]
    fn a_file_may_be_above_itself_once_and_others_as_often_as_they_may() {
        let (one, other) = (Path::new("/one.yaml"), Path::new("/other.yaml"));
        let first = Above::within("", one);
        assert_eq!(first.too_deep(), None);
        let second = Above::within(first.as_str(), one);
        assert_eq!(second.too_deep(), None);
        let third = Above::within(second.as_str(), one);
        assert!(third.too_deep().is_some_and(|why| why.contains("its own upstream")));
        assert_eq!(Above::within(second.as_str(), other).too_deep(), None);
        let mut above = Above(String::new());
        for depth in 0..ABOVE_MAX {
            above = Above::within(above.as_str(), Path::new(&format!("/{depth}.yaml")));
            assert_eq!(above.too_deep(), None, "{depth}");
        }
        let why = Above::within(above.as_str(), other).too_deep().expect("too deep");
        assert!(why.contains("upstream of 8 gateways"), "{why}");
    }
}
