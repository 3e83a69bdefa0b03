//! Arguments that are checked while they are decoded: whatever a client sends and whatever a type
//! makes of it, the answer is the one of a check that is followed by a decoding.

use crate::wire::{TestWire, ask_text};
use futures_util::FutureExt;
use haft_proto::version::Revision;
use haft_server::handler::{Answer, Call, Handler, Made};
use haft_server::schema::{Schema, derived};
use haft_server::{Server, Tool, handler};
use proptest::prelude::*;
use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::{self, Debug};
use std::future::ready;

/// A handler as somebody else writes it, whose arguments are checked before it is called.
struct InTwoSteps<H>(H);

impl<H: Handler> Handler for InTwoSteps<H> {
    fn call(&self, call: Call<'_>, answer: Answer<'_>) -> Made {
        self.0.call(call, answer)
    }
}

/// A type's names, each with values that fit.
type Names = &'static [(&'static str, &'static [&'static str])];

/// Values of every kind and form.
const ANY: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "-0",
    "1",
    "-1",
    "7",
    "9",
    "10",
    "255",
    "256",
    "-129",
    "0.0",
    "1.0",
    "1.5",
    "-2.25",
    "1e2",
    "1E-2",
    "5e0",
    "1e400",
    "4294967296",
    "123456789012345678",
    "1234567890123456789",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "\"\"",
    "\"a\"",
    "\"ab\"",
    "\"1\"",
    "\"true\"",
    "\"\\u00e9\"",
    "\"\\n\"",
    "\"é\"",
    "\"left\"",
    "\"right\"",
    "\"[1]\"",
    "\"\\ud83d\\ude00\"",
    "[]",
    "[1]",
    "[1,2]",
    "[ 1 , 2 ]",
    "[1,2,3]",
    "[\"a\"]",
    "[null]",
    "[[1]]",
    "{}",
    "{\"x\":1}",
    "{\"x\":1,\"y\":2}",
    "{\"y\":2,\"x\":1}",
    "{\"x\":1,\"x\":2}",
    "{ \"x\" : 1 }",
    "{\"left\":1}",
    "{\"1\":2}",
    "{\"\\u0078\":1}",
];

/// More bytes than arguments have that are decoded in the common way.
const LONG: usize = 1100;

/// Between tokens.
const SPACE: &[&str] = &["", "", "", "", " ", "\n  "];

/// Arguments as they may be sent: most members right, some of another form, some missing, there
/// twice, or of a name that nobody knows.
fn texts(names: Names) -> impl Strategy<Value = String> {
    let anything = || prop::sample::select(ANY);
    let own = names.iter().map(|(name, fitting)| {
        let name = prop_oneof![
            40 => Just((*name).to_owned()),
            1 => Just(escaped(name)),
        ];
        let value = prop_oneof![20 => prop::sample::select(*fitting), 1 => anything()];
        (0..30_u8, name, value).prop_map(|(dice, name, value)| (dice > 0).then_some((name, value)))
    });
    let others = prop::sample::select(&["z", "x", "a", "left", "é", "\\u0061", "_", "1"][..]);
    let others = (others.prop_map(str::to_owned), anything());
    let others = prop::collection::vec((0..8_u8, others), 0..3);
    let space = || prop::sample::select(SPACE);
    let own = own.collect::<Vec<_>>();
    let form = (any::<bool>(), 0..8_u8, 0..24_u8);
    (own, others, form, any::<u64>(), space(), space()).prop_map(
        |(own, others, (is_mixed, long, array), seed, before, behind)| {
            let own = own.into_iter().flatten();
            // serde_json takes an array for a struct.
            if array == 0 {
                let all: Vec<_> = own.map(|(_, value)| value).collect();
                return format!("[{}]", all.join(","));
            }
            let others =
                others.into_iter().filter_map(|(dice, other)| (dice == 0).then_some(other));
            let mut all: Vec<_> = own.chain(others).collect();
            if is_mixed && !all.is_empty() {
                let by = usize::try_from(seed % 7).expect("it is small") % all.len();
                all.rotate_left(by);
            }
            // Long arguments, and long texts in them, are decoded in another way.
            let padding = if long == 0 { LONG } else { 0 };
            let member = |(name, value): (String, &str)| {
                let value = match value {
                    "\"a\"" if long == 0 => format!("\"{}\"", "a".repeat(LONG)),
                    "\"\\n\"" if long == 0 => format!("\"{}\"", "\\n".repeat(LONG)),
                    value => value.to_owned(),
                };
                format!("\"{name}\"{behind}:{before}{value}{behind}")
            };
            let all: Vec<_> = all.into_iter().map(member).collect();
            format!("{{{before}{}{:padding$}}}", all.join(&format!(",{before}")), "")
        },
    )
}

/// A name with its first letter written in another way.
fn escaped(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map_or(0, u32::from);
    format!("\\u{first:04x}{}", letters.as_str())
}

fn said(server: &Server, arguments: &str) -> Value {
    let params = format!(r#"{{"name":"t","arguments":{arguments}}}"#);
    let request = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
    let wire = TestWire::default();
    let revision = Revision::LATEST_LEGACY;
    ask_text(&wire, server, revision, &request).now_or_never().expect("it answers at once")
}

/// Compares the tools of a type, with the schema that is given or its own.
fn agree<A>(names: Names, schema: Option<&str>)
where
    A: DeserializeOwned + JsonSchema + Debug + Send + 'static,
{
    let (fitting, others) = compared::<A>(names, schema);
    assert!(fitting > 80 && others > 80, "{fitting} fit and {others} do not");
}

/// The same; how many arguments fit, and how many do not.
fn compared<A>(names: Names, schema: Option<&str>) -> (u32, u32)
where
    A: DeserializeOwned + JsonSchema + Debug + Send + 'static,
{
    let own = derived::of_arguments::<A>();
    let compiled = Schema::compile(schema.unwrap_or(&own)).expect("it is a schema");
    assert!(compiled.is_direct(), "else both tools take two steps: {own}");
    let show = |arguments: A| format!("{arguments:?}");
    let server = |tool: Tool| {
        let tool = match schema {
            Some(schema) => tool.input_schema(schema),
            None => tool,
        };
        Server::builder("s", "1").tool(tool).build().expect("it is right")
    };
    let fused = server(Tool::typed_function("t", show));
    let later = server(Tool::typed("t", move |arguments, _| ready(show(arguments))));
    let in_two = InTwoSteps(handler::function(show));
    let apart = server(Tool::of_types::<A, String>("t", in_two));
    let (fitting, others) = (Cell::new(0), Cell::new(0));
    proptest!(ProptestConfig::with_cases(800), |(text in texts(names))| {
        let (fused, later, apart) =
            (said(&fused, &text), said(&later, &text), said(&apart, &text));
        let count = if apart["result"]["isError"] == true { &others } else { &fitting };
        count.update(|count| count + 1);
        prop_assert_eq!(&fused, &apart, "{}", text);
        prop_assert_eq!(later, apart, "{}", text);
    });
    (fitting.get(), others.get())
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "they are shown")]
struct Scalars {
    a: i64,
    byte: u8,
    float: f64,
    single: f32,
    flag: bool,
    text: String,
    maybe: Option<String>,
    #[serde(default)]
    count: i32,
}

const SCALARS: Names = &[
    ("a", &["1", "-5", "1.0"]),
    ("byte", &["0", "255"]),
    ("float", &["1", "1.5", "-0", "1e2"]),
    ("single", &["2", "0.1"]),
    ("flag", &["true", "false"]),
    ("text", &["\"a\"", "\"\\n\""]),
    ("maybe", &["\"a\"", "null"]),
    ("count", &["1", "-1"]),
];

#[test]
fn numbers_and_texts() {
    agree::<Scalars>(SCALARS, None);
    // A schema that says less than the type, and one that says more.
    agree::<Scalars>(SCALARS, Some(r#"{"type":"object"}"#));
    let more = r#"{"type":"object","properties":{"a":{"minimum":-9,"maximum":9},"text":
        {"minLength":1,"maxLength":1},"byte":{"enum":[0,255]},"flag":{"const":true},
        "float":{"type":"number"},"single":{"maximum":3},"maybe":{"type":["string","null"]},
        "count":{"type":"integer"}},"required":["maybe"],"additionalProperties":{"type":
        ["number","boolean","string","null"]}}"#;
    agree::<Scalars>(SCALARS, Some(more));
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "they are shown")]
struct Point {
    x: i32,
    #[serde(default)]
    y: u8,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "they are shown")]
enum Side {
    Left,
    Right,
    #[serde(untagged)]
    Other(u8),
}

#[derive(Debug, Deserialize, JsonSchema)]
struct City(#[expect(dead_code, reason = "it is shown")] String);

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "they are shown")]
struct Nested {
    point: Point,
    list: Vec<i64>,
    points: Option<Vec<Point>>,
    pair: (u8, u8),
    side: Side,
    city: City,
    letter: char,
    large: u128,
    nothing: (),
    map: BTreeMap<String, i64>,
    numbered: BTreeMap<u8, i64>,
    any: Value,
    #[schemars(with = "Value")]
    raw: Box<RawValue>,
    #[schemars(with = "Value")]
    octets: Octets,
    unit: Marker,
    corners: Corners,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Marker;

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "they are shown")]
struct Corners(u8, Option<u8>);

/// Bytes, written as a list of them or as a text.
#[derive(Debug)]
struct Octets(#[expect(dead_code, reason = "they are shown")] Vec<u8>);

impl<'de> Deserialize<'de> for Octets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reading;
        impl<'de> Visitor<'de> for Reading {
            type Value = Octets;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Octets, E> {
                Ok(Octets(bytes.to_vec()))
            }

            fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<Octets, S::Error> {
                let mut bytes = Vec::new();
                while let Some(byte) = seq.next_element()? {
                    bytes.push(byte);
                }
                Ok(Octets(bytes))
            }
        }
        deserializer.deserialize_bytes(Reading)
    }
}

const NESTED: Names = &[
    ("point", &["{\"x\":1}", "{\"x\":1,\"y\":2}", "{\"y\":2,\"x\":1}"]),
    ("list", &["[]", "[1]", "[ 1 , 2 ]"]),
    ("points", &["[]", "[{\"x\":1},{\"x\":2,\"y\":0}]"]),
    ("pair", &["[1,2]"]),
    ("side", &["\"left\"", "\"right\"", "7"]),
    ("city", &["\"Bern\""]),
    ("letter", &["\"a\"", "\"\\u00e9\""]),
    ("large", &["1", "18446744073709551616"]),
    ("nothing", &["null"]),
    ("map", &["{}", "{\"x\":1,\"y\":2}"]),
    ("numbered", &["{}", "{\"1\":2}"]),
    ("any", ANY),
    ("raw", &["1", "[ 1 ]", "{ \"x\" : 1.50 }"]),
    ("octets", &["[]", "[1,2]", "[ 255 ]", "\"a\"", "\"\\n\""]),
    ("unit", &["null"]),
    ("corners", &["[1,2]", "[0,null]"]),
];

#[test]
fn what_is_in_what_else() {
    let direct = r#"{"type":"object","properties":{"point":{"type":"object","properties":
        {"x":{"type":"integer"},"y":{"type":"integer"}},"required":["x"]},"list":{"type":"array",
        "items":{"type":"integer"},"maxItems":2},"points":{"type":"array","items":{"required":["x"],
        "properties":{"x":{"minimum":1}}}},"pair":{"type":"array","minItems":2},"side":{"enum":
        ["left","right",7]},"city":{"minLength":1},"letter":{"type":"string","maxLength":1},"large":
        {"type":"integer"},"nothing":{"type":"null"},"map":{"additionalProperties":{"type":
        "integer"}},"numbered":{"type":"object"},"any":{"type":["null","boolean","number","string",
        "array","object"]},"raw":{"type":["number","array","object"]},"octets":{"type":["array",
        "string"],"items":{"maximum":255}},"unit":{"type":"null"},"corners":{"type":"array"}},
        "required":["nothing"]}"#;
    agree::<Nested>(NESTED, Some(direct));
}

/// Makes do without what cannot be read.
fn forgiving<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
    Ok(u8::deserialize(deserializer).unwrap_or(42))
}

/// Takes less than it says.
fn small<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
    let value = u8::deserialize(deserializer)?;
    if value < 8 { Ok(value) } else { Err(serde::de::Error::custom("it is too large")) }
}

/// Looks at nothing.
fn blind<'de, D: Deserializer<'de>>(_: D) -> Result<u8, D::Error> {
    Ok(3)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "they are shown")]
struct Willed {
    #[serde(deserialize_with = "forgiving", default)]
    #[schemars(with = "u8", range(max = 9))]
    forgiving: u8,
    #[serde(deserialize_with = "small")]
    #[schemars(with = "u8")]
    small: u8,
    #[schemars(range(min = 1, max = 9))]
    ranged: i64,
    #[schemars(length(min = 1, max = 2))]
    #[serde(alias = "long")]
    short: String,
    #[serde(rename = "é")]
    renamed: u8,
    #[schemars(with = "Value")]
    ignored: Option<()>,
}

const WILLED: Names = &[
    ("forgiving", &["1", "300", "9", "\"1\""]),
    ("small", &["1", "7", "9"]),
    ("ranged", &["1", "9", "10"]),
    ("short", &["\"a\"", "\"é\"", "\"\\u00e9\\u00e9\""]),
    ("é", &["1"]),
    ("ignored", &["null"]),
];

#[test]
fn types_with_a_will_of_their_own() {
    agree::<Willed>(WILLED, None);
    agree::<Willed>(WILLED, Some(r#"{"type":"object","properties":{"forgiving":{"maximum":9}}}"#));
    let aliased = r#"{"type":"object","properties":{"short":{"type":"string"},
        "long":{"type":"string","maxLength":1},"forgiving":{"type":"integer"},"small":
        {"type":"integer"},"ranged":{"minimum":1},"é":{"maximum":1},"ignored":true}}"#;
    agree::<Willed>(WILLED, Some(aliased));
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "they are shown")]
struct Blind {
    #[serde(deserialize_with = "blind")]
    #[schemars(with = "u8")]
    blind: u8,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "they are shown")]
struct Flat {
    a: u8,
    #[serde(flatten)]
    point: Point,
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[expect(dead_code, reason = "they are shown")]
enum Shape {
    Circle { radius: f64 },
    Square { side: f64 },
}

/// Reads one key and no more.
#[derive(Debug, JsonSchema)]
struct First(#[expect(dead_code, reason = "it is shown")] String);

impl<'de> Deserialize<'de> for First {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reading;
        impl<'de> Visitor<'de> for Reading {
            type Value = First;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<First, M::Error> {
                let (name, _) = map.next_entry::<String, IgnoredAny>()?.unwrap_or_default();
                Ok(First(name))
            }
        }
        deserializer.deserialize_map(Reading)
    }
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
struct Nothing {}

#[test]
fn other_forms_of_arguments() {
    const XY: Names = &[("a", &["1"]), ("x", &["1", "2"]), ("y", &["2"])];
    const SHAPE: Names =
        &[("kind", &["\"circle\"", "\"square\""]), ("radius", &["1", "1.5"]), ("side", &["2"])];
    const SCHEMA: &str = r#"{"type":"object","properties":{"a":{"type":"integer"},
        "x":{"type":"integer","maximum":1},"y":{"minimum":2}},"required":["a"]}"#;
    agree::<Flat>(XY, None);
    agree::<Flat>(XY, Some(SCHEMA));
    agree::<Map<String, Value>>(XY, Some(SCHEMA));
    agree::<Value>(XY, Some(SCHEMA));
    agree::<BTreeMap<String, u8>>(XY, Some(SCHEMA));
    agree::<Nothing>(XY, Some(SCHEMA));
    agree::<First>(&[("a", &["1"])], Some(SCHEMA));
    let tagged = r#"{"type":"object","properties":{"kind":{"enum":["circle","square"]},
        "radius":{"type":"number","minimum":0},"side":{"type":"number"}}}"#;
    agree::<Shape>(SHAPE, Some(tagged));
    assert_eq!(compared::<Blind>(&[("blind", &["1"])], Some(SCHEMA)).0, 0);
}
