//! Tools, resources and prompts become an MCP service. A [`Server`] is built from them, holds them
//! as an immutable snapshot, and answers whatever a wire of `haft-transport` has admitted. It opens
//! no socket and reads no file.
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

mod aliases;
mod arguments;
pub mod around;
mod ask;
mod builder;
mod calls;
mod canonical;
mod changes;
mod checks;
mod completion;
mod context;
mod core;
mod dispatch;
mod driver;
mod extra;
mod face;
pub mod handler;
mod headers;
mod kinds;
mod layers;
mod list_cache;
mod middleware;
mod missing;
mod names;
mod nearest;
mod nested;
pub mod normal;
mod onlookers;
mod output;
mod param_headers;
mod part;
mod passing;
mod prompt;
pub mod prose;
mod reading;
mod reads;
mod registry;
mod relay;
mod resource;
mod room;
mod rounds;
mod sampling;
pub mod schema;
mod sealed;
mod search;
mod state;
mod subscriptions;
mod suggest;
mod swap;
mod task_ages;
mod task_calls;
mod task_store;
mod tasks;
mod text;
mod tool;
mod typed;
mod ui;
mod uri_expansion;
mod uri_template;

pub use ask::{AskError, Elicited, Root, Sampled};
pub use builder::{BuildError, ServerBuilder};
pub use changes::Interest;
pub use completion::Completing;
pub use context::Context;
pub use dispatch::{Server, WeakServer};
pub use headers::Headers;
pub use middleware::{Handling, Middleware, Next, Onlooker, Outcome, Request, Seen};
pub use missing::Missing;
pub use nearest::nearest;
pub use normal::visible;
pub use passing::{Answers, Inquiry};
pub use prompt::{Get, Prompt};
pub use reading::{Answering, Output, Reader, Writer};
pub use relay::{LongResult, Pieces, Relayed, Relaying};
pub use resource::{Read, Resource, ResourceTemplate};
pub use room::Room;
pub use sampling::ToolUse;
pub use sealed::StateKey;
pub use search::{CALL, FIND};
pub use state::State;
pub use task_store::{FolderTasks, MemoryTasks, Stored, TaskRecord, TaskState, TaskStore};
pub use tasks::TaskUse;
pub use tool::Tool;
pub use ui::{Csp, UI_MIME_TYPE, Ui};
pub use uri_template::{Variables, uri_decoded, uri_matched, uri_variables};
