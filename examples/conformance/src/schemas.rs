//! Tools whose schemas matter: all of JSON Schema 2020-12 may be used and reaches clients as it
//! stands, and an argument can be mirrored in a header for whoever routes by it.

use haft_server::{Tool, handler};
use serde::Deserialize;
use serde::de::IgnoredAny;

pub(crate) fn tools() -> Vec<Tool> {
    vec![
        Tool::new("json_schema_2020_12_tool", handler::function(|_: IgnoredAny| "It fits."))
            .description("Takes what fits a schema with references and conditions.")
            .input_schema(CONTACT),
        Tool::new("test_custom_header", handler::function(|place: Place| place.region))
            .description("Takes a region, which modern clients also send as `Mcp-Param-Region`.")
            .input_schema(
                r#"{"type":"object","required":["region"],"additionalProperties":false,
                    "properties":{"region":{"type":"string","x-mcp-header":"Region"}}}"#,
            ),
    ]
}

#[derive(Deserialize)]
struct Place {
    region: String,
}

const CONTACT: &str = r##"{
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}}
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"}
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": false
}"##;
