//! What the suite tells a client beside the address: the calls to make, and who the client is. Read
//! once by `main`.

use serde::Deserialize;
use serde_json::Value;
use std::env;

/// `MCP_CONFORMANCE_CONTEXT`. Everything is optional: most scenarios have none.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Context {
    /// Arguments that the suite wants to see.
    pub(crate) tool_calls: Vec<ToolCall>,
}

/// A call that the suite wants to see.
#[derive(Debug, Deserialize)]
pub(crate) struct ToolCall {
    pub(crate) name: String,
    pub(crate) arguments: Value,
}

impl Context {
    /// Reads it from the environment, where it may be absent.
    pub(crate) fn from_env() -> Result<Self, serde_json::Error> {
        match env::var("MCP_CONFORMANCE_CONTEXT") {
            Ok(text) => serde_json::from_str(&text),
            Err(_) => Ok(Self::default()),
        }
    }
}
