//! The tools of a server as an immutable snapshot: looked up without a lock, swapped as a whole.
//! Requests in flight keep the snapshot that they began on.

use crate::builder::{BuildError, Tool};
use crate::handler::Handler;
use crate::list_cache::ListCache;
use crate::param_headers::ParamHeaders;
use crate::schema::Schema;
use haft_proto::encode::Caching;
use haft_proto::limits::Limits;
use haft_proto::spec;
use haft_proto::spec::implementation::Implementation;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::time::Duration;

/// All tools at one time.
pub(crate) struct Snapshot {
    tools: Vec<Arc<Registered>>,
    by_name: FxHashMap<Box<str>, usize>,
    pub(crate) list: ListCache,
}

/// A tool, compiled.
pub(crate) struct Registered {
    pub(crate) tool: spec::tool::Tool,
    pub(crate) input: Schema,
    pub(crate) output: Option<Schema>,
    pub(crate) param_headers: ParamHeaders,
    pub(crate) handler: Box<dyn Handler>,
    pub(crate) timeout: Duration,
}

impl Snapshot {
    /// Compiles tools, in the order in which they will be listed.
    pub(crate) fn new(
        tools: Vec<Tool>,
        server: &Implementation,
        caching: Caching,
        limits: &Limits,
    ) -> Result<Self, BuildError> {
        let mut by_name = FxHashMap::default();
        let mut registered = Vec::with_capacity(tools.len());
        for tool in tools {
            let tool = tool.compile(limits.request_timeout)?;
            let name: Box<str> = tool.tool.name.as_str().into();
            if by_name.insert(name, registered.len()).is_some() {
                return Err(BuildError::DuplicateTool { name: tool.tool.name });
            }
            registered.push(Arc::new(tool));
        }
        let listed: Vec<_> = registered.iter().map(|tool| &tool.tool).collect();
        let list = ListCache::new(&listed, server, caching, limits.page_entries);
        Ok(Self { tools: registered, by_name, list })
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Arc<Registered>> {
        self.by_name.get(name).map(|index| &self.tools[*index])
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.tool.name.as_str())
    }
}
