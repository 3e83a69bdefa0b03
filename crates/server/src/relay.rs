//! Calls of tools that another server has: their arguments are for that server to check, and what
//! it answers is passed on as it came. Used by `calls`; speaks with no server itself.

use crate::calls::ToolEnding;
use crate::driver::Ending;
use crate::face::Face;
use haft_proto::encode;
use haft_proto::error::{Mistake, Refusal};
use haft_proto::json::member;
use haft_proto::spec::tool_result::ToolResult;
use serde_json::value::RawValue;
use std::time::Duration;

/// What another server answered a call with: the JSON text of its result.
#[derive(Clone, Debug)]
pub struct Relayed(pub Box<RawValue>);

impl Relayed {
    /// The same for whoever stands around the tool and looks into its answers.
    pub(crate) fn read(&self) -> Result<ToolResult, Refusal> {
        ToolResult::read(self.0.get()).map_err(|error| {
            let message = format!("Internal error: another server's answer is no result: {error}");
            Refusal::new(Mistake::Internal, message)
        })
    }
}

/// How calls end that another server answers.
pub(crate) struct RelayEnding(pub(crate) ToolEnding);

impl Ending for RelayEnding {
    type Made = Result<Relayed, Refusal>;

    fn face(&self) -> &Face {
        self.0.face()
    }

    fn define(&self, out: &mut Vec<u8>) {
        self.0.define(out);
    }

    fn write(&self, made: Self::Made, out: &mut Vec<u8>) -> Result<(), Refusal> {
        let (Relayed(result), revision) = (made?, self.0.revision);
        encode::relay::result(out, revision, self.face().fields(revision), result.get());
        Ok(())
    }

    fn has_failed(made: &Self::Made) -> bool {
        let says_so = |result: &str| member(result, "isError") == Some("true");
        made.as_ref().map_or(true, |Relayed(result)| says_so(result.get()))
    }

    fn too_long(&self, limit: Duration, out: &mut Vec<u8>) -> Result<(), Refusal> {
        self.0.too_long(limit, out)
    }

    const KIND: &'static str = ToolEnding::KIND;
}
