//! A server in a test, without a socket or a process: a [`Client`] asks it through the same
//! reading, admission and dispatch as a wire does, and [`assert_tools!`](crate::assert_tools) keeps
//! what clients see of its tools in a file. For tests alone: a mistake is a panic that says what it
//! is.
//!
//! ```
//! use serde_json::json;
//!
//! /// Greets somebody.
//! #[haft::tool]
//! fn hello(name: String) -> String {
//!     format!("Hello, {name}!")
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let client = haft::testing::client(haft::server("hello", "1.0.0").tool(hello::tool()));
//! assert_eq!(client.call("hello", json!({"name": "Ada"})).await.text(), "Hello, Ada!");
//! let refused = client.call("hello", json!({"nam": "Ada"})).await;
//! assert!(refused.failure().contains("did you mean `name`?"));
//! # }
//! ```

mod answer;
mod ask;
mod client;
mod diff;
mod golden;
mod question;

pub use crate::assert_tools;
pub use answer::{Answer, Progress};
pub use client::{Client, Testable, client};
pub use golden::check_tools;
pub use question::{Question, Reply};
