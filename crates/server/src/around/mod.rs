//! Middleware that comes with haft: what stands around calls in every serious server. Each is put
//! around one tool ([`Tool::middleware`](crate::Tool::middleware)) or around all of them
//! ([`ServerBuilder::middleware`](crate::ServerBuilder::middleware)); around all, each tool still
//! has its own count, and only a [`Turns`] is shared. Resources and prompts pass through untouched,
//! but for [`Measure`], which counts them too.
//!
//! From the outside in, the order that serves most: [`Redact`], [`MaxSize`], [`Cache`],
//! [`Turns`], [`Breaker`], [`Retry`]: calls that waited for their turn do not go on to a tool that
//! began to rest meanwhile, and their waiting is no failure of it.
//!
//! ```
//! use haft_server::around::{Breaker, Cache, Retry};
//! use haft_server::{Server, Tool, handler};
//! use std::time::Duration;
//! #[derive(serde::Deserialize)]
//! struct Nothing {}
//! let weather = Tool::new("weather", handler::function(|_: Nothing| "It rains."))
//!     .read_only(true)
//!     .middleware(Cache::new(Duration::from_secs(60)))
//!     .middleware(Breaker::new(5, Duration::from_secs(30)))
//!     .middleware(Retry::new(3));
//! let server = Server::builder("sky", "1.0.0").tool(weather).build()?;
//! # Ok::<(), haft_server::BuildError>(())
//! ```

mod breaker;
mod cache;
mod max_size;
mod measure;
mod redact;
mod retry;
mod stopped;
mod turns;

pub use breaker::Breaker;
pub use cache::Cache;
pub use max_size::MaxSize;
pub(crate) use measure::tell_repairs;
pub use measure::{METRICS, Measure, Metric};
pub use redact::{BadPattern, Redact};
pub use retry::Retry;
pub use turns::Turns;

use crate::middleware::{Outcome, Request};
use haft_proto::method::Method;
use haft_proto::spec::tool_result::{Cause, ToolResult};

/// Whether a failure is one of what the tool stands on, which may pass: every failure, but for a
/// server that found a request wrong (HTTP 4xx, without 408, 425 and 429, which ask to come back).
#[must_use]
pub fn may_pass(failure: &ToolResult) -> bool {
    match failure.cause {
        Some(Cause::Status(status)) => status >= 500 || matches!(status, 408 | 425 | 429),
        Some(Cause::Busy | Cause::Exit(_) | Cause::Timeout | Cause::Unreachable) | None => true,
    }
}

/// Whether a request calls a tool.
fn is_call(request: &Request) -> bool {
    request.method == Method::ToolsCall
}

/// Whether doing it twice is like doing it once, by the word of the tool's annotations.
fn is_repeatable(request: &Request) -> bool {
    let annotations = request.annotations;
    is_call(request)
        && (annotations.read_only == Some(true) || annotations.idempotent == Some(true))
}

/// Whether it changes nothing, by the word of the tool's annotations.
fn only_reads(request: &Request) -> bool {
    is_call(request) && request.annotations.read_only == Some(true)
}

/// The failure that an outcome tells of, if it is one that another attempt could end otherwise.
fn failure(outcome: &Outcome) -> Option<&ToolResult> {
    match outcome {
        Outcome::Tool(result) if result.is_error => Some(result),
        _ => None,
    }
}

/// How many bytes of content an answer has.
fn size(result: &ToolResult) -> usize {
    let structured = result.structured.as_ref().map_or(0, |json| json.get().len());
    result.content.iter().map(haft_proto::spec::content::Content::size).sum::<usize>() + structured
}
