//! Functions as tools: what clients see of them, and that a call is a call of the function.

use haft::testing::{Client, client};
use haft::{Args, Context, Json, Tool, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A client of a server of these tools.
fn serving<const N: usize>(tools: [Tool; N]) -> Client {
    client(haft::server("test", "1.0.0").tools(tools))
}

/// What clients see of one tool.
async fn listed(tool: Tool) -> Value {
    serving([tool]).list_tools().await.remove(0)
}

/// Greets somebody
/// by name.
///
/// Twice, if asked to.
///
/// # Panics
/// Never, which is no business of a model.
#[haft::tool]
fn hello(
    /// Whom to greet:
    /// a *first* name.
    name: String,
    times: Option<u8>,
) -> String {
    format!("Hello, {name}!").repeat(times.unwrap_or(1).into())
}

#[tokio::test]
async fn a_function_is_described_by_what_stands_on_it() {
    let expected = json!({
        "name": "hello",
        "description": "Greets somebody by name.\n\nTwice, if asked to.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "Whom to greet: a *first* name."},
                "times": {"type": "integer", "minimum": 0, "maximum": 255},
            },
            "required": ["name"],
            "additionalProperties": false,
        },
    });
    assert_eq!(listed(hello::tool()).await, expected);
}

#[tokio::test]
async fn a_call_is_a_call_of_the_function() {
    let client = serving([hello::tool()]);
    assert_eq!(client.call("hello", json!({"name": "Ada"})).await.text(), "Hello, Ada!");
    let twice = client.call("hello", json!({"name": "A", "times": 2})).await;
    assert_eq!(twice.text(), hello("A".to_owned(), Some(2)));
    let null = client.call("hello", json!({"name": "A", "times": null})).await;
    assert_eq!(null.text(), "Hello, A!", "as many models send what they leave out");
    let refused = client.call("hello", json!({"nam": "Ada"})).await.failure();
    assert!(refused.contains("`nam` is not known; did you mean `name`?"), "{refused}");
}

#[derive(Deserialize, JsonSchema, Serialize)]
struct Sum {
    sum: i64,
}

mod inner {
    use super::{Json, Sum};

    /// Adds.
    #[haft::tool(
        name = "math.add",
        title = "Addition",
        read_only,
        destructive = false,
        idempotent,
        open_world = false,
        timeout = "5s"
    )]
    pub(super) async fn add(a: i64, r#type: i64) -> Result<Json<Sum>, String> {
        tokio::task::yield_now().await;
        let sum = a.checked_add(r#type).ok_or("the sum is too large")?;
        Ok(Json(Sum { sum }))
    }
}

#[tokio::test]
async fn options_and_the_result_s_type_are_seen_by_clients() {
    let sum = json!({"type": "object", "properties": {"sum": {"type": "integer"}},
                     "required": ["sum"]});
    let expected = json!({
        "name": "math.add",
        "title": "Addition",
        "description": "Adds.",
        "inputSchema": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "type": {"type": "integer"}},
            "required": ["a", "type"],
            "additionalProperties": false,
        },
        "outputSchema": sum,
        "annotations": {"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true,
                        "openWorldHint": false},
    });
    assert_eq!(listed(inner::add::tool()).await, expected);
    let client = serving([inner::add::tool()]);
    let sum: Sum = client.call("math.add", json!({"a": 1, "type": 2})).await.json();
    assert_eq!(sum.sum, 3);
    let failure = client.call("math.add", json!({"a": i64::MAX, "type": 1})).await.failure();
    assert_eq!(failure, "the sum is too large");
}

#[haft::tool]
fn nothing() {}

#[haft::tool]
fn words() -> &'static str {
    "words"
}

#[haft::tool]
async fn whole() -> ToolResult {
    ToolResult::error("on purpose")
}

#[haft::tool(blocking)]
fn thread() -> String {
    format!("{:?}", std::thread::current().id())
}

#[haft::tool]
fn hidden_type() -> impl haft::Output {
    Json([1, 2])
}

#[tokio::test]
async fn a_function_may_take_nothing_and_give_many_things() {
    let tools = haft::tools![nothing, words, whole, thread, hidden_type];
    let client = serving(tools);
    for tool in client.list_tools().await {
        let schema = json!({"type": "object", "additionalProperties": false});
        assert_eq!(tool["inputSchema"], schema);
    }
    assert_eq!(client.call("nothing", json!({})).await.result()["content"], json!([]));
    assert_eq!(client.call("words", json!({})).await.text(), "words");
    assert_eq!(client.call("whole", json!({})).await.failure(), "on purpose");
    let this_thread = format!("{:?}", std::thread::current().id());
    assert_ne!(client.call("thread", json!({})).await.text(), this_thread);
    assert_eq!(client.call("hidden_type", json!({})).await.json::<[u8; 2]>(), [1, 2]);
}

#[derive(Debug, Default, Deserialize, JsonSchema, Serialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Unit {
    #[default]
    Metric,
    Imperial,
}

#[haft::tool]
fn forecast(
    #[haft(rename = "place", length(1..=64))] city: String,
    #[haft(default = 7, range(1..=14))] days: u8,
    #[haft(default)] unit: Unit,
    #[haft(default = "en")] language: String,
    #[haft(header = "Region")] region: Option<String>,
    #[schemars(extend("examples" = [0.5]))] share: f32,
    #[serde(rename = "also")] _unused: Option<Vec<String>>,
) -> String {
    format!("{city} {days} {unit:?} {language} {region:?} {share}")
}

#[tokio::test]
async fn what_is_said_of_an_argument_is_in_its_schema() {
    let expected = json!({
        "place": {"type": "string", "minLength": 1, "maxLength": 64},
        "days": {"type": "integer", "minimum": 1, "maximum": 14, "default": 7},
        "unit": {"type": "string", "enum": ["metric", "imperial"], "default": "metric"},
        "language": {"type": "string", "default": "en"},
        "region": {"type": "string", "x-mcp-header": "Region"},
        "share": {"type": "number", "examples": [0.5]},
        "also": {"type": "array", "items": {"type": "string"}},
    });
    let schema = &listed(forecast::tool()).await["inputSchema"];
    assert_eq!(schema["properties"], expected);
    assert_eq!(schema["required"], json!(["place", "share"]));
}

#[tokio::test]
async fn what_is_left_out_has_its_default() {
    let client = serving([forecast::tool()]);
    let said = client.call("forecast", json!({"place": "Bern", "share": 1.5})).await;
    assert_eq!(said.text(), "Bern 7 Metric en None 1.5");
    let arguments = json!({"place": "Bern", "share": 1, "days": 1, "unit": "imperial",
                           "language": "de", "region": "eu", "also": []});
    let said = client.call("forecast", arguments).await;
    assert_eq!(said.text(), "Bern 1 Imperial de Some(\"eu\") 1");
    let refused = client.call("forecast", json!({"place": "", "share": 0, "days": 15})).await;
    let refused = refused.failure();
    assert!(refused.contains("`days` must be at most 14, not 15"), "{refused}");
    assert!(refused.contains("`place` must have at least 1 characters"), "{refused}");
}

/// A point. This is not told twice.
#[derive(Deserialize, JsonSchema)]
struct Point {
    x: f64,
    /// Upwards.
    y: f64,
}

#[haft::tool]
fn length(Args(point): Args<Point>) -> f64 {
    point.x.hypot(point.y)
}

#[haft::tool]
fn length_flat(#[haft(flatten)] Point { x, y }: Point) -> f64 {
    x.hypot(y)
}

#[haft::tool]
fn moved(
    #[haft(flatten)] from: Point,
    /// How far.
    by: f64,
) -> String {
    format!("{} {}", from.x + by, from.y)
}

#[tokio::test]
async fn a_struct_of_arguments_is_taken_whole_or_beside_others() {
    let client = serving(haft::tools![length, length_flat, moved]);
    let tools = client.list_tools().await;
    let number = json!({"type": "number"});
    let point = json!({
        "type": "object",
        "properties": {"x": number, "y": {"type": "number", "description": "Upwards."}},
        "required": ["x", "y"],
        "additionalProperties": false,
    });
    assert_eq!(tools[0]["inputSchema"], point);
    assert_eq!(tools[1]["inputSchema"], point);
    let mut with_more = point;
    with_more["properties"]["by"] = json!({"type": "number", "description": "How far."});
    with_more["required"] = json!(["x", "y", "by"]);
    let moved = &tools[2]["inputSchema"];
    assert_eq!(moved["properties"], with_more["properties"]);
    assert_eq!(moved["additionalProperties"], false);
    for tool in ["length", "length_flat"] {
        assert_eq!(client.call(tool, json!({"x": 3, "y": 4})).await.text(), "5", "{tool}");
    }
    assert_eq!(client.call("moved", json!({"x": 3, "y": 4, "by": 1})).await.text(), "4 4");
    let refused = client.call("moved", json!({"x": 3, "y": 4, "by": 1, "bi": 1})).await.failure();
    assert!(refused.contains("`bi` is not known"), "{refused}");
}

/// A place, as JSON.
#[haft::json]
#[serde(rename_all = "camelCase")]
struct Place {
    /// Its name.
    city_name: String,
    #[serde(default)]
    height: Option<f64>,
}

#[haft::json]
enum Size {
    Small,
    Large,
}

#[haft::tool]
fn place(place: Place, size: Size) -> Json<Place> {
    let height = place.height.map(|height| if matches!(size, Size::Large) { height } else { 0.0 });
    Json(Place { height, ..place })
}

#[tokio::test]
async fn a_type_of_json_needs_no_other_crate() {
    let client = serving([place::tool()]);
    let arguments = json!({"place": {"cityName": "Bern", "height": 540.0}, "size": "Large"});
    let place: Value = client.call("place", arguments).await.json();
    assert_eq!(place, json!({"cityName": "Bern", "height": 540.0}));
    let tool = client.list_tools().await.remove(0);
    let name = &tool["inputSchema"]["properties"]["place"]["properties"]["cityName"];
    assert_eq!(*name, json!({"type": "string", "description": "Its name."}));
    let size = json!({"type": "string", "enum": ["Small", "Large"]});
    assert_eq!(tool["inputSchema"]["properties"]["size"], size);
}

#[tokio::test]
async fn a_function_in_a_function_is_a_tool_too() {
    /// Nested.
    #[haft::tool]
    fn nested(mut count: u32) -> u32 {
        count += 1;
        count
    }
    assert_eq!(serving([nested::tool()]).call("nested", json!({"count": 1})).await.text(), "2");
}

/// A name that the macro could have used itself.
struct Arguments;

#[cfg(any())]
#[haft::tool]
fn absent() -> Missing {}

#[haft::tool]
#[cfg(any())]
fn absent_too() -> Missing {}

#[tokio::test]
async fn names_of_the_program_do_not_meet_those_of_the_macro() {
    #[haft::tool]
    fn arguments(arguments: i64, context: i64, tool: i64) -> i64 {
        let Arguments = Arguments;
        arguments + context + tool
    }
    let client = serving([arguments::tool()]);
    let sum = client.call("arguments", json!({"arguments": 1, "context": 2, "tool": 3})).await;
    assert_eq!(sum.text(), "6");
}

#[tokio::test]
async fn a_tool_needs_no_macro() {
    let typed = Tool::typed("typed", |point: Point, context: Context| async move {
        context.progress(1.0, None, None);
        Json(point.x + point.y)
    });
    let client = serving([typed]);
    let said = client.call("typed", json!({"x": 1, "y": 2})).await;
    assert_eq!((said.json::<f64>(), said.progress().len()), (3.0, 1));
    assert_eq!(client.list_tools().await[0]["outputSchema"], json!({"type": "number"}));
}
