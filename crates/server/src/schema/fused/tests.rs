//! What one pass makes of a text, where serde_json makes the same of it, and where nothing is made.

use crate::schema::Schema;
use crate::schema::derived::of_arguments;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, EnumAccess, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Debug};

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
struct Ticket {
    title: String,
    #[schemars(range(min = 1, max = 9))]
    pieces: i64,
    #[serde(default)]
    progress: f32,
    labels: Option<Vec<String>>,
    assignee: Option<Assignee>,
    notify: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
struct Assignee {
    id: u32,
    name: Option<String>,
}

const TICKET: &str = r#"{"title":"It is \u00e9mpty","pieces":2,"progress":0.25,"labels":["a"],
    "assignee" : {"name":"Ada","id":4711},"notify":true}"#;

fn decoded<T: DeserializeOwned>(schema: &str, text: &str) -> Option<T> {
    Schema::compile(schema).expect("it is a schema").decode(text)
}

fn is_as_serde_json_reads_it<T: DeserializeOwned + Debug + PartialEq>(schema: &str) {
    for text in [TICKET, r#"{"pieces":1,"title":""}"#] {
        let expected = serde_json::from_str::<T>(text).ok();
        assert!(expected.is_some());
        assert_eq!(decoded::<T>(schema, text), expected);
    }
}

#[test]
fn what_fits_takes_one_pass() {
    let schema = of_arguments::<Ticket>();
    is_as_serde_json_reads_it::<Ticket>(&schema);
    is_as_serde_json_reads_it::<Value>(&schema);
    is_as_serde_json_reads_it::<Map<String, Value>>(&schema);
}

#[test]
fn what_does_not_fit_is_not_decoded_though_the_type_would_take_it() {
    let schema = of_arguments::<Ticket>();
    for text in [
        r#"{"title":"","pieces":10}"#,
        r#"{"title":"","pieces":0}"#,
        r#"{"title":"","pieces":1,"prize":2}"#,
        r#"{"title":"","pieces":1,"labels":null}"#,
        r#"{"title":"","pieces":1,"assignee":{"id":1,"name":null}}"#,
    ] {
        assert!(serde_json::from_str::<Ticket>(text).is_ok(), "{text}");
        assert_eq!(decoded::<Ticket>(&schema, text), None, "{text}");
    }
    let required = r#"{"properties":{"notify":true},"required":["notify"]}"#;
    assert_eq!(decoded::<Ticket>(required, r#"{"title":"","pieces":1}"#), None);
    assert!(decoded::<Ticket>(required, r#"{"title":"","pieces":1,"notify":true}"#).is_some());
}

/// Compares what is made of the only property of an object, whose schema is given.
fn is_made<T: DeserializeOwned + Debug>(schema: &str, text: &str) {
    let schema = format!(r#"{{"properties":{{"x":{schema}}},"required":["x"]}}"#);
    let text = format!(r#"{{"x":{text}}}"#);
    let expected = serde_json::from_str::<HashMap<String, T>>(&text);
    let expected = expected.expect("serde_json reads it");
    let made = decoded::<HashMap<String, T>>(&schema, &text);
    assert_eq!(format!("{made:?}"), format!("{:?}", Some(expected)), "{schema} {text}");
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "they are shown")]
enum Shape {
    Point,
    Circle(u32),
    Line(i8, i8),
    Box { width: f64 },
}

#[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Name(String);

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "they are shown")]
struct Pair(u8, String);

#[derive(Debug, Deserialize)]
struct Unit;

#[test]
fn types_of_all_kinds_take_one_pass() {
    is_made::<Option<Assignee>>(r#"{"type":["object","null"]}"#, r#"{"id":7}"#);
    is_made::<Option<Assignee>>(r#"{"type":["object","null"]}"#, "null");
    is_made::<Vec<Vec<i64>>>(r#"{"items":{"items":{"maximum":2}}}"#, "[[1], [] ,[2,-2]]");
    is_made::<Vec<Assignee>>(r#"{"minItems":1,"maxItems":2}"#, r#"[{"id":7},{"id":8}]"#);
    is_made::<BTreeMap<String, u8>>(
        r#"{"additionalProperties":{"minimum":1}}"#,
        r#"{"a":1,"b":2}"#,
    );
    is_made::<BTreeMap<Name, u8>>(r#"{"type":"object"}"#, r#"{"Bern":1}"#);
    is_made::<(u8, String)>(r#"{"type":"array"}"#, r#"[ 1, "a" ]"#);
    is_made::<Pair>(r#"{"type":"array"}"#, r#"[1,"a"]"#);
    is_made::<[u8; 2]>(r#"{"maxItems":2}"#, "[1,2]");
    is_made::<Shape>(r#"{"enum":["point"]}"#, "\"point\"");
    is_made::<Shape>(r#"{"type":"object"}"#, r#"{"circle":1}"#);
    is_made::<Shape>(r#"{"type":"object"}"#, r#"{"line":[1,2]}"#);
    is_made::<Shape>(r#"{"type":"object"}"#, r#"{"box":{"width":1.5}}"#);
    is_made::<Name>(r#"{"maxLength":4}"#, "\"Bern\"");
    is_made::<Unit>(r#"{"type":"null"}"#, "null");
    is_made::<()>(r#"{"type":"null"}"#, "null");
    is_made::<char>(r#"{"maxLength":1}"#, "\"\\u00e9\"");
    is_made::<u128>(r#"{"type":"integer"}"#, "340282366920938463463374607431768211455");
    is_made::<i128>(r#"{"type":"integer"}"#, "-170141183460469231731687303715884105728");
    is_made::<f32>(r#"{"maximum":1}"#, "0.1");
    is_made::<f64>(r#"{"type":"number"}"#, "-0");
    is_made::<i64>(r#"{"type":"integer"}"#, "-9223372036854775808");
    is_made::<bool>(r#"{"const":true}"#, "true");
    is_made::<Value>("true", r#"[null,true,-1.5e3,"\u00e9",{"a":[]}]"#);
    is_made::<Value>("{\"items\":{}}", r#"[null,true,-1.5e3,"\u00e9",{"a":[]}]"#);
    is_made::<Box<RawValue>>(r#"{"type":"array"}"#, "[ 1 ]");
}

thread_local! {
    static COUNTED: Cell<u64> = const { Cell::new(0) };
}

/// Counts how often it is made.
#[derive(Debug)]
struct Counted;

impl<'de> Deserialize<'de> for Counted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        COUNTED.set(COUNTED.get() + 1);
        i64::deserialize(deserializer).map(|_| Self)
    }
}

#[test]
fn no_item_is_made_beyond_the_last_that_may_be_there() {
    for items in ["", r#","items":{"type":"integer"}"#] {
        let schema = format!(r#"{{"properties":{{"x":{{"type":"array","maxItems":3{items}}}}}}}"#);
        for (sent, made) in [(0, 0), (3, 3), (4, 3), (10_000, 3)] {
            COUNTED.set(0);
            let text = format!(r#"{{"x":{:?}}}"#, vec![1; sent]);
            let is_some = decoded::<HashMap<String, Vec<Counted>>>(&schema, &text).is_some();
            assert_eq!((is_some, COUNTED.get()), (sent < 4, made), "{schema} {sent}");
        }
    }
    let few = r#"{"type":"array","minItems":2}"#;
    assert!(decoded::<Vec<Counted>>(few, "[1]").is_none());
    assert!(decoded::<Vec<Counted>>(few, "[1,2]").is_some());
}

/// Looks at nothing of what it is given in one way or another.
#[derive(Debug)]
struct Blind<const WAY: u8>;

impl<'de, const WAY: u8> Deserialize<'de> for Blind<WAY> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match WAY {
            0 => Ok(Self),
            1 => deserializer.deserialize_newtype_struct("Blind", Self),
            2 => deserializer.deserialize_option(Self),
            3 => deserializer.deserialize_struct("Blind", &[], Self),
            4 => deserializer.deserialize_seq(Self),
            5 => deserializer.deserialize_tuple(1, Self),
            6 => deserializer.deserialize_enum("Blind", &[], Self),
            _ => deserializer.deserialize_any(Self),
        }
    }
}

impl<'de, const WAY: u8> Visitor<'de> for Blind<WAY> {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, _: D) -> Result<Self, D::Error> {
        Ok(self)
    }

    fn visit_some<D: Deserializer<'de>>(self, _: D) -> Result<Self, D::Error> {
        Ok(self)
    }

    fn visit_map<M: MapAccess<'de>>(self, _: M) -> Result<Self, M::Error> {
        Ok(self)
    }

    fn visit_seq<S: SeqAccess<'de>>(self, _: S) -> Result<Self, S::Error> {
        Ok(self)
    }

    fn visit_enum<E: EnumAccess<'de>>(self, _: E) -> Result<Self, E::Error> {
        Ok(self)
    }
}

/// Where a type that looks at nothing may be.
fn makes_nothing<const WAY: u8>() {
    for value in ["1", "\"a\"", r#"{"a":1}"#, "[1]", "true", "\"\\n\""] {
        for schema in [r#"{"x":{"maximum":7}}"#, "{}"] {
            let schema = format!(r#"{{"properties":{schema}}}"#);
            let text = format!(r#"{{"x":{value}}}"#);
            assert!(serde_json::from_str::<HashMap<String, Blind<WAY>>>(&text).is_err(), "{text}");
            assert!(decoded::<HashMap<String, Blind<WAY>>>(&schema, &text).is_none(), "{text}");
        }
        assert!(decoded::<Vec<Blind<WAY>>>(r#"{"items":{"maximum":7}}"#, "[1]").is_none());
        assert!(decoded::<Blind<WAY>>(r#"{"maximum":7}"#, value).is_none(), "{value}");
    }
}

#[test]
fn what_reads_nothing_makes_nothing() {
    makes_nothing::<0>();
    makes_nothing::<1>();
    makes_nothing::<2>();
    makes_nothing::<3>();
    makes_nothing::<4>();
    makes_nothing::<5>();
    makes_nothing::<6>();
    makes_nothing::<7>();
}

/// A key that says which way it was read.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key<const WAY: u8>(String);

impl<'de, const WAY: u8> Deserialize<'de> for Key<WAY> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let blank = Self(String::new());
        match WAY {
            0 => deserializer.deserialize_u64(blank),
            1 => deserializer.deserialize_i64(blank),
            2 => deserializer.deserialize_f64(blank),
            3 => deserializer.deserialize_u128(blank),
            4 => deserializer.deserialize_bool(blank),
            5 => deserializer.deserialize_bytes(blank),
            6 => deserializer.deserialize_newtype_struct("Key", blank),
            7 => deserializer.deserialize_option(blank),
            8 => deserializer.deserialize_enum("Key", &[], blank),
            9 => deserializer.deserialize_char(blank),
            10 => Ok(blank),
            _ => deserializer.deserialize_any(blank),
        }
    }
}

impl<'de, const WAY: u8> Visitor<'de> for Key<WAY> {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_u64<E>(self, key: u64) -> Result<Self, E> {
        Ok(Self(format!("u64 {key}")))
    }

    fn visit_i64<E>(self, key: i64) -> Result<Self, E> {
        Ok(Self(format!("i64 {key}")))
    }

    fn visit_u128<E>(self, key: u128) -> Result<Self, E> {
        Ok(Self(format!("u128 {key}")))
    }

    fn visit_f64<E>(self, key: f64) -> Result<Self, E> {
        Ok(Self(format!("f64 {key}")))
    }

    fn visit_bool<E>(self, key: bool) -> Result<Self, E> {
        Ok(Self(format!("bool {key}")))
    }

    fn visit_str<E>(self, key: &str) -> Result<Self, E> {
        Ok(Self(format!("text {key}")))
    }

    fn visit_bytes<E>(self, key: &[u8]) -> Result<Self, E> {
        Ok(Self(format!("bytes {key:?}")))
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<Self, D::Error> {
        String::deserialize(inner).map(|key| Self(format!("some {key}")))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<Self, D::Error> {
        String::deserialize(inner).map(|key| Self(format!("new {key}")))
    }

    fn visit_enum<E: EnumAccess<'de>>(self, _: E) -> Result<Self, E::Error> {
        Ok(self)
    }
}

/// Compares what is made of a map's keys; true if something is.
fn has_keys<const WAY: u8>() -> bool {
    let mut is_made = false;
    for key in ["1", "-1", "1.5", "true", "a", ""] {
        let text = format!(r#"{{"{key}":1}}"#);
        let expected = serde_json::from_str::<BTreeMap<Key<WAY>, i64>>(&text).ok();
        let made = decoded(r#"{"additionalProperties":{"maximum":1}}"#, &text);
        is_made |= made.is_some();
        assert!(made.is_none() || made == expected, "{text} {made:?} {expected:?}");
    }
    is_made
}

#[test]
fn a_key_is_what_serde_json_makes_of_it() {
    let are_made = [
        has_keys::<0>(),
        has_keys::<1>(),
        has_keys::<2>(),
        has_keys::<3>(),
        has_keys::<4>(),
        has_keys::<5>(),
        has_keys::<6>(),
        has_keys::<7>(),
        has_keys::<8>(),
        has_keys::<9>(),
        has_keys::<10>(),
        has_keys::<11>(),
    ];
    let made = (0..12).filter(|way| are_made[*way]).collect::<Vec<_>>();
    assert_eq!(made, [6, 7, 9, 11], "names, options and texts take one pass");
}
