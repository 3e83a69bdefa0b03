//! Answers that are larger than a model can read are refused, in words that it can.

use super::{is_call, size};
use crate::middleware::{Handling, Middleware, Next, Outcome, Request};
use haft_proto::spec::tool_result::ToolResult;

/// The most bytes of content, structured content included, that a tool may answer with. A larger
/// answer becomes an error that says so: half an answer could mislead. Failures of up to 4 KiB pass
/// in any case.
#[derive(Clone, Copy, Debug)]
pub struct MaxSize(usize);

impl MaxSize {
    /// So many bytes, before any encoding.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        Self(bytes)
    }
}

/// The most bytes of a failure that passes however small the limit: who reads it needs it.
const FAILURE_BYTES: usize = 4096;

fn is_short_failure(result: &ToolResult) -> bool {
    result.is_error && size(result) <= FAILURE_BYTES
}

impl Middleware for MaxSize {
    fn handle(&self, request: Request, next: Next) -> Handling {
        if !is_call(&request) {
            return next.run(request);
        }
        let (Self(max), name) = (*self, request.name.clone());
        let handling = next.run(request);
        Box::pin(async move {
            match handling.await {
                Outcome::Tool(result) if size(&result) > max && !is_short_failure(&result) => {
                    let size = size(&result);
                    Outcome::Tool(ToolResult::error(format!(
                        "The answer of `{name}` has {size} bytes, and {max} is the most that it \
                         may have. Ask for less at once."
                    )))
                }
                other => other,
            }
        })
    }
}
