//! An MCP client that speaks both protocol eras: over the pipes of a child process or over HTTP. It
//! finds out which era a server speaks; lists and calls its tools, reads its resources and fills in
//! its prompts; takes what a server asks meanwhile to an [`Answerer`]; gets access tokens where a
//! server wants them, with an [`Authorizer`]; and listens for changes. It never prints.
//!
//! ```no_run
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use haft_client::{Options, Target, connect};
//! let target = Target::Url("http://127.0.0.1:7300/mcp".to_owned());
//! let client = connect(&target, &Options::default()).await?;
//! let arguments = serde_json::value::to_raw_value(&serde_json::json!({"text": "one two"}))?;
//! let result = client.call_tool("word_count", &arguments, &mut |_| {}).await?;
//! assert!(!result.is_error);
//! client.close().await;
//! # Ok(())
//! # }
//! ```

mod absent;
mod answerer;
mod auth;
mod carried;
mod changes;
mod client;
mod coded;
mod connect;
mod content;
mod desk;
mod environment;
mod era;
mod eras;
mod error;
mod exchange;
mod express;
mod farewell;
mod flood;
mod forgotten;
mod form;
mod formats;
mod http;
mod inquiry;
mod lane;
mod limits;
mod listen;
mod long;
mod members;
mod message;
mod old_sse;
mod options;
mod pages;
mod param_headers;
mod passing;
mod patience;
mod plain;
mod process;
mod prompts;
mod questions;
mod reply;
mod resources;
mod road;
mod rounds;
mod sampling;
mod standing;
mod stdio;
mod stream;
mod tasks;
mod tools;
mod unreadable;
mod wire;

pub use answerer::{Answerer, Answering, Asker, Consent, Declined, Elicited, Offers, Root, Visit};
pub use auth::{
    AuthError, Authorizer, Behalf, Journey, OAuth, Proof, Reception, Registered, Secret, Voucher,
};
pub use carried::{Answer, Carrier, Carrying, Hear, Parcel, Rest, Uncarried};
pub use changes::{Change, Interest};
pub use client::Client;
pub use connect::{Target, connect, connect_carried, connect_unless};
pub use content::Content;
pub use environment::Inherit;
pub use era::{Handshake, ServerInfo};
pub use eras::Eras;
pub use error::{ClientError, RpcError};
pub use form::{Choice, Field, FieldKind, Form};
pub use formats::Format;
pub use haft_fetch::Proxies;
pub use lane::Connections;
pub use listen::Changes;
pub use long::{LongResult, Passed};
pub use message::{Listener, Notice};
pub use options::Options;
pub use pages::{Dropped, Listing};
pub use passing::{Asks, Inquirer, Passing};
pub use process::{Hearing, Launch, Nursery, Process, Stderr, Ward};
pub use prompts::{CompleteFor, Completion, Prompt, PromptArgument, PromptResult};
pub use resources::{ReadResult, Resource, ResourceBody, ResourcePart, ResourceTemplate};
pub use rounds::Needed;
pub use sampling::{Message, SampleRequest, text_message};
pub use tools::{CallResult, Tool, ToolList};
