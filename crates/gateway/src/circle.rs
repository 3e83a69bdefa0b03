//! How a gateway knows its own things when they come back to it, through others, and does not serve
//! them a second time, and a third. Over any wire, the lists of a gateway name it in `_meta`, and
//! what it passes on names those that it came through before; to a child process it says in a
//! variable which files are served above it. Asked by `lists`, `keeper` and `gateway`.

use crate::limits::{ABOVE_MAX, ABOVE_SAME_MAX, GATEWAYS_MAX};
use crate::rules::with_members;
use haft_proto::json::member;
use haft_proto::spec::Meta;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::env;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, RandomState};
use std::path::Path;

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

    /// What is said in `_meta` of all lists.
    pub(crate) fn meta(&self) -> Meta {
        let text = with_members("{}", [(KEY, Some(format!("[\"{}\"]", self.0)))]);
        RawValue::from_string(text).expect("a name is digits")
    }

    /// Whether a list with this `_meta` is of this gateway itself.
    pub(crate) fn is_of(&self, gateways: &Gateways) -> bool {
        gateways.contains(&self.0)
    }

    /// What becomes of a thing of a list that is of these.
    pub(crate) fn take(&self, told: Box<RawValue>, of_list: &Gateways) -> Came {
        let meta = member(told.get(), "_meta").unwrap_or("{}");
        let before = named_in(meta);
        let through: Gateways = before.union(of_list).cloned().collect();
        if through.contains(&self.0) {
            return Came::Back;
        }
        if through.len() > GATEWAYS_MAX {
            return Came::TooFar;
        }
        if through == before {
            return Came::New(told);
        }
        let names: Vec<String> = through.iter().map(|name| format!("\"{name}\"")).collect();
        let meta = with_members(meta, [(KEY, Some(format!("[{}]", names.join(","))))]);
        let told = with_members(told.get(), [("_meta", Some(meta))]);
        Came::New(RawValue::from_string(told).expect("it is made of JSON"))
    }
}

/// What becomes of a thing that an upstream has.
#[derive(Debug)]
pub(crate) enum Came {
    /// It is served, and so are the gateways that it came through.
    New(Box<RawValue>),
    /// It has come through this gateway before.
    Back,
    /// It came through more gateways than it may.
    TooFar,
}

/// The gateways that a `_meta` names; of too many, one too many.
pub(crate) fn named_in(meta: &str) -> Gateways {
    let listed = member(meta, KEY).and_then(|raw| serde_json::from_str(raw).ok());
    let listed: Vec<Value> = listed.unwrap_or_default();
    let names = listed.iter().filter_map(Value::as_str);
    let is_name =
        |name: &&str| name.len() == NAME_BYTES && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    names.filter(is_name).map(Box::from).take(GATEWAYS_MAX + 1).collect()
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

    fn thing(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).expect("JSON")
    }

    fn list_of(mark: &Mark) -> Gateways {
        named_in(mark.meta().get())
    }

    #[test]
    fn what_came_through_a_gateway_is_refused_by_it_and_by_no_other() {
        let [first, second, third] = [Mark::new(), Mark::new(), Mark::new()];
        assert!(first.is_of(&list_of(&first)) && !first.is_of(&list_of(&second)));
        let told = r#"{"name":"t","_meta":{"a":[1.0],"haft/gateways":7},"title":"T"}"#;
        let Came::New(at_second) = second.take(thing(told), &list_of(&first)) else { panic!() };
        let Came::New(at_third) = third.take(at_second, &list_of(&second)) else { panic!() };
        assert_eq!(named_in(member(at_third.get(), "_meta").expect("it has one")).len(), 2);
        let rest = r#"{"name":"t","_meta":{"a":[1.0],"haft/gateways":["#;
        assert!(at_third.get().starts_with(rest) && at_third.get().ends_with(r#","title":"T"}"#));
        for mark in [&first, &second] {
            assert!(matches!(mark.take(at_third.clone(), &list_of(&third)), Came::Back));
        }
        assert!(matches!(Mark::new().take(at_third, &list_of(&third)), Came::New(_)));
    }

    #[test]
    fn what_came_through_none_stays_as_it_is() {
        let (mark, told) = (Mark::new(), r#"{"name": "t" , "_meta" :{}}"#);
        let Came::New(same) = mark.take(thing(told), &Gateways::new()) else { panic!() };
        assert_eq!(same.get(), told);
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
            assert_eq!(named_in(&text).len(), names, "{text}");
        }
    }

    #[test]
    fn what_came_through_more_gateways_than_the_most_is_refused_and_not_kept() {
        let meta = |count: usize| {
            let names: Vec<String> =
                (0..count).map(|n| format!("\"{}\"", name_of(n as u64))).collect();
            format!(r#"{{"haft/gateways":[{}]}}"#, names.join(","))
        };
        let take = |count| {
            let told = thing(&format!(r#"{{"name":"t","_meta":{}}}"#, meta(count)));
            Mark::new().take(told, &Gateways::new())
        };
        assert!(matches!(take(GATEWAYS_MAX), Came::New(_)));
        assert!(matches!(take(GATEWAYS_MAX + 1), Came::TooFar));
        assert_eq!(named_in(&meta(GATEWAYS_MAX * 3)).len(), GATEWAYS_MAX + 1);
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
