//! Arguments for a tool that nobody has told us about: what the suite wants to see, or else a value
//! of the right type for each property of its schema. Asked by `main`; sends nothing.

use crate::context::Context;
use haft_client::Tool;
use serde_json::{Map, Value, json};

/// The tool that is to be given the schema of another one, as this client has seen it.
const ECHO: &str = "json_schema_echo";

/// Arguments for `tool`, one of `tools`.
pub(crate) fn of(tool: &Tool, tools: &[Tool], context: &Context) -> Value {
    if let Some(call) = context.tool_calls.iter().find(|call| call.name == tool.name) {
        return call.arguments.clone();
    }
    if tool.name == ECHO
        && let Some(other) = tools.iter().find(|other| other.name != ECHO)
    {
        return json!({ "schema": other.input_schema });
    }
    let properties = tool.input_schema.get("properties").and_then(Value::as_object);
    let filled = properties.into_iter().flatten();
    Value::Object(filled.map(|(name, schema)| (name.clone(), value(schema))).collect())
}

/// A value that fits simple schemas, and any that say what they want by `default` or `enum`.
fn value(schema: &Value) -> Value {
    let proposed = schema.get("default").or_else(|| schema.get("const"));
    if let Some(proposed) = proposed.or_else(|| schema.get("enum")?.get(0)) {
        return proposed.clone();
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("array") => json!([]),
        Some("boolean") => json!(true),
        Some("integer" | "number") => json!(3),
        Some("object") => Value::Object(Map::new()),
        Some("null") => Value::Null,
        _ => json!("text"),
    }
}
