//! The Model Context Protocol for Rust programs: a function with an attribute is a tool, and a
//! server of such tools speaks stdio and Streamable HTTP, to clients of every revision at once.
//!
//! ```no_run
//! /// Greets somebody.
//! #[haft::tool]
//! fn hello(
//!     /// Whom to greet.
//!     name: String,
//! ) -> String {
//!     format!("Hello, {name}!")
//! }
//!
//! #[tokio::main]
//! async fn main() -> haft::Result<()> {
//!     haft::server("hello", "1.0.0").tool(hello::tool()).serve().await
//! }
//! ```
//!
//! The attribute is described at [`tool`](macro@tool), the command line of such a program at
//! [`ServerBuilder::serve`], and tests without a process in [`testing`]. Everything else is said by
//! types: [`Json`] is a structured result, [`Args`] takes all arguments as one struct, and
//! [`Context`] is the way back to the client while a call runs. [`Tool::typed`] needs no attribute.
//! The other end is `client`, with the feature of that name.
//!
//! With the feature `store`, tools keep what they are told, in memory or in a file that survives a
//! crash:
//!
#![cfg_attr(feature = "store", doc = "```")]
#![cfg_attr(not(feature = "store"), doc = "```text")]
//! use haft::store::Store;
//!
//! /// Counts visits.
//! #[haft::tool]
//! async fn count(store: haft::State<Store>) -> Result<String, haft::store::StoreError> {
//!     Ok(store.add("visits", 1, None).await?.to_string())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), haft::store::StoreError> {
//! let server = haft::server("desk", "1.0.0").state(Store::memory()?).tool(count::tool());
//! let client = haft::testing::client(server);
//! assert_eq!(client.call("count", haft::serde_json::json!({})).await.text(), "1");
//! # Ok(())
//! # }
//! ```

// What the macros write names the crate, in its own tests too.
extern crate self as haft;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
mod args;
mod builder;
mod command_line;
mod error;
mod serve;
pub mod testing;

pub use args::Args;
pub use builder::{AnyResource, ServerBuilder, server};
pub use command_line::{DEFAULT_ADDRESS, Wire};
pub use error::{Error, Result};
#[cfg(feature = "client")]
pub use haft_client as client;
pub use haft_macros::{json, prompt, resource, tool};
pub use haft_proto::encode::fields::Caching;
pub use haft_proto::error::{Mistake, Refusal};
pub use haft_proto::limits::Limits;
pub use haft_proto::service::Principal;
pub use haft_proto::spec::completion::Completion;
pub use haft_proto::spec::content::{Annotations, Content, ResourceContents, Role};
pub use haft_proto::spec::icon::Icon;
pub use haft_proto::spec::level::Level;
pub use haft_proto::spec::prompt::{Message, PromptResult};
pub use haft_proto::spec::question::{
    Preferences, Sample, SampleContent, SampleMessage, ToolChoice,
};
pub use haft_proto::spec::resource::ReadResult;
pub use haft_proto::spec::tool::Annotations as ToolAnnotations;
pub use haft_proto::spec::tool_result::ToolResult;
pub use haft_server::around;
pub use haft_server::handler::{Json, Output};
pub use haft_server::{
    AskError, BuildError, Completing, Context, Csp, Elicited, FolderTasks, Get, Handling, Headers,
    MemoryTasks, Middleware, Next, Outcome, Prompt, Read, Request, Resource, ResourceTemplate,
    Root, Sampled, Server, State, StateKey, TaskStore, TaskUse, Tool, ToolUse, Ui, WeakServer,
};
#[cfg(feature = "store")]
pub use haft_store as store;
pub use haft_transport::http::Options as HttpOptions;
pub use schemars;
pub use serde;
pub use serde_json;
pub use serve::serve;

/// The README's Rust, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The book's Rust, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
struct Book;
