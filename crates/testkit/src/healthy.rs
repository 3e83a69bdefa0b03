//! What a server without faults answers: it has one tool, `try`, of the legacy era.

use serde_json::{Value, json};

/// The answer to a message, if it is a request.
pub(crate) fn answer(message: &Value) -> Option<String> {
    let id = message.get("id")?;
    let result = match message.get("method")?.as_str()? {
        "initialize" => json!({
            "protocolVersion": "2025-06-18",
            "capabilities": { "tools": { "listChanged": true } },
            "serverInfo": { "name": "faulty", "version": "1" },
        }),
        "tools/list" => json!({
            "tools": [{ "name": "try", "inputSchema": { "type": "object" } }],
        }),
        "tools/call" => json!({ "content": [{ "type": "text", "text": "tried" }] }),
        "ping" => json!({}),
        _ => {
            let error = json!({ "code": -32601, "message": "Method not found" });
            return Some(json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string());
        }
    };
    Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string())
}
