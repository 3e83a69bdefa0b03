//! Tools become an MCP service. A [`Server`] is built from tools, holds them as an immutable
//! snapshot, and answers whatever a wire of `haft-transport` has admitted. It opens no socket and
//! reads no file.
//!
//! ```
//! use haft_server::{Server, Tool, handler};
//! # #[derive(serde::Deserialize)] struct Add { a: i64, b: i64 }
//! let add = Tool::new("add", handler::function(|add: Add| add.a + add.b))
//!     .description("Add two integers.")
//!     .input_schema(r#"{"type":"object","required":["a","b"],"additionalProperties":false,
//!         "properties":{"a":{"type":"integer"},"b":{"type":"integer"}}}"#);
//! let server = Server::builder("calculator", "1.0.0").tool(add).build()?;
//! assert_eq!(server.tool_names(), ["add"]);
//! # Ok::<(), haft_server::BuildError>(())
//! ```

mod builder;
mod context;
mod dispatch;
pub mod handler;
mod list_cache;
mod nearest;
mod param_headers;
pub mod prose;
mod registry;
pub mod schema;
mod typed;

pub use builder::{BuildError, ServerBuilder, Tool};
pub use context::Context;
pub use dispatch::Server;
pub use nearest::nearest;
