//! The schemas of Rust types: small, closed, and such that every host can read them.

use crate::wire::call;
use haft_server::handler::Json;
use haft_server::schema::Schema;
use haft_server::schema::derived::{of_arguments, of_output};
use haft_server::{Server, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
enum Unit {
    Metric,
    Imperial,
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
struct Place {
    /// A city,
    /// as people write it.
    city: String,
    country: Option<String>,
}

/// What is wanted.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Forecast {
    place: Place,
    unit: Option<Unit>,
    #[serde(default = "week")]
    #[schemars(range(min = 1, max = 14))]
    days: u8,
    others: Option<Vec<Place>>,
    ratio: Option<f32>,
    by_name: BTreeMap<String, u64>,
}

fn week() -> u8 {
    7
}

fn arguments<T: JsonSchema>() -> Value {
    let text = of_arguments::<T>();
    Schema::compile(&text).expect("it is a schema");
    serde_json::from_str(&text).expect("it is JSON")
}

#[test]
fn a_schema_has_what_a_model_needs_and_nothing_else() {
    let place = |describes: bool| {
        let mut city = json!({"type": "string"});
        if describes {
            city["description"] = "A city, as people write it.".into();
        }
        json!({"type": "object", "properties": {"city": city, "country": {"type": "string"}},
               "required": ["city"]})
    };
    let expected = json!({
        "type": "object",
        "properties": {
            "place": place(true),
            "unit": {"type": "string", "enum": ["metric", "imperial"]},
            "days": {"type": "integer", "minimum": 1, "maximum": 14, "default": 7},
            "others": {"type": "array", "items": place(true)},
            "ratio": {"type": "number"},
            "by_name": {"type": "object",
                        "additionalProperties": {"type": "integer", "minimum": 0}},
        },
        "required": ["place", "by_name"],
        "additionalProperties": false,
    });
    assert_eq!(arguments::<Forecast>(), expected);
    assert_eq!(of_arguments::<Forecast>(), of_arguments::<Forecast>());
    assert!(Schema::compile(&of_arguments::<Forecast>()).is_ok_and(|schema| schema.is_direct()));
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Tree {
    name: String,
    children: Vec<Self>,
    parent: Option<Box<Self>>,
}

#[test]
fn a_type_that_contains_itself_is_referred_to() {
    let schema = Schema::compile(&of_arguments::<Tree>()).expect("it is a schema");
    let leaf = r#"{"name":"b","children":[]}"#;
    assert_eq!(schema.check(&format!(r#"{{"name":"a","children":[{leaf}]}}"#)), Ok(()));
    assert!(schema.check(r#"{"name":"a","children":[{"name":1,"children":[]}]}"#).is_err());
}

macro_rules! often {
    ($($field:ident)*) => {
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only its schema is looked at")]
        struct Often { $($field: Place),* }
    };
}
often!(a b c d e f g h i j k l);

#[test]
fn a_type_that_is_used_often_is_written_once() {
    let schema = arguments::<Often>();
    assert_eq!(schema["properties"]["a"]["$ref"], "#/$defs/Place");
    assert_eq!(schema["properties"]["l"], schema["properties"]["a"]);
    assert_eq!(schema["additionalProperties"], false);
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is looked at")]
enum Search {
    Name { name: String },
    Number { number: u32 },
}

#[test]
fn alternatives_are_one_object() {
    let schema = arguments::<Search>();
    assert_eq!(schema["type"], "object");
    assert_eq!(schema.get("additionalProperties"), None);
    let schema = Schema::compile(&of_arguments::<Search>()).expect("it is a schema");
    assert_eq!(schema.check(r#"{"by":"number","number":7}"#), Ok(()));
    assert!(schema.check(r#"{"by":"number","name":"seven"}"#).is_err());
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Open {
    name: String,
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

#[test]
fn a_type_that_takes_more_keys_says_so() {
    let schema = Schema::compile(&of_arguments::<Open>()).expect("it is a schema");
    assert_eq!(schema.check(r#"{"name":"a","more":[1]}"#), Ok(()));
}

#[test]
fn what_may_be_null_in_a_result_is_null_in_its_schema() {
    let schema: Value = of_output::<Place>()
        .map(|text| serde_json::from_str(&text).expect("it is JSON"))
        .expect("it says something");
    assert_eq!(schema["properties"]["country"]["type"], json!(["string", "null"]));
    assert_eq!(schema["required"], json!(["city", "country"]));
}

#[tokio::test]
async fn a_tool_from_types_takes_and_gives_what_they_say() {
    let later = Tool::typed("later", |place: Place, _| async move { Json(place) });
    let now = Tool::typed_function("now", |place: Place| Ok::<_, String>(Json(place)));
    let thread = Tool::typed_blocking("thread", |place: Place| Json(place));
    let plain = Tool::typed_function("plain", |place: Place| place.city);
    let tools = [later, now, thread, plain];
    let server = tools.into_iter().fold(Server::builder("s", "1"), |all, tool| all.tool(tool));
    let server = server.build().expect("it is right");
    for tool in ["later", "now", "thread"] {
        let result = call(&server, tool, json!({"city": "Bern"})).await;
        assert_eq!(result["structuredContent"], json!({"city": "Bern", "country": null}), "{tool}");
        let result = call(&server, tool, json!({"city": "Bern", "contry": "CH"})).await;
        let text = format!(
            "Invalid arguments for `{tool}`: `contry` is not known; did you mean \
                            `country`?"
        );
        assert_eq!(result["content"][0]["text"], text);
    }
    let result = call(&server, "plain", json!({"city": "Bern"})).await;
    assert_eq!(result["content"][0]["text"], "Bern");
    assert_eq!(result.get("structuredContent"), None);
}
