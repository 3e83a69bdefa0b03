//! Tools that are too many to be listed: two tools stand in the list for all, one that finds others
//! by what they do and one that calls them. Which words lead to which tool is known from when there
//! are other tools, by `registry`; `calls` looks into a call of the second and does the one within.

pub(crate) mod index;
mod limits;

use crate::builder::BuildError;
use crate::handler::{Answer, Call, Handler, Made};
use crate::part::Part;
use crate::registry::{Snapshot, tool};
use crate::search::index::Index;
use crate::search::limits::{FOUND_DEFAULT, FOUND_MAX};
use crate::state::States;
use crate::tool::{Registered, Tool};
use haft_proto::limits::Limits;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// The tool that finds tools.
pub const FIND: &str = "find_tools";
/// The tool that calls them.
pub const CALL: &str = "call_tool";

/// What stands in the list for all tools of a snapshot.
pub(crate) struct Search {
    /// From how many tools on.
    pub(crate) least: usize,
    /// The two, or nothing while there are fewer tools.
    pub(crate) instead: Option<Instead>,
}

pub(crate) struct Instead {
    pub(crate) listed: Arc<Part<Registered>>,
    index: Index,
}

impl Search {
    pub(crate) fn new(least: usize, tools: &Part<Registered>) -> Result<Self, BuildError> {
        if tools.iter().count() < least {
            return Ok(Self { least, instead: None });
        }
        let register = |one| tool(one, &Limits::default(), &States::default());
        let listed = Part::new(vec![register(find())?, register(call())?])?;
        let index = Index::new(tools.iter().map(|tool| tool.checks.told.get()));
        Ok(Self { least, instead: Some(Instead { listed: Arc::new(listed), index }) })
    }
}

impl Snapshot {
    /// The tools that a list has.
    pub(crate) fn listed_tools(&self) -> &Arc<Part<Registered>> {
        match self.search.as_deref().and_then(|search| search.instead.as_ref()) {
            Some(instead) => &instead.listed,
            None => &self.tools,
        }
    }

    /// The tool that a client calls, by name.
    #[inline]
    pub(crate) fn find_tool(&self, name: &str) -> Option<&Arc<Registered>> {
        self.tools.find(name).or_else(|| {
            let instead = self.search.as_deref().and_then(|search| search.instead.as_ref());
            let found = instead.and_then(|instead| instead.listed.find(name));
            found.or_else(|| self.tools.find_also(name))
        })
    }

    /// Whether a tool is the one that calls others.
    #[inline]
    pub(crate) fn is_caller(&self, tool: &Arc<Registered>) -> bool {
        let is_it = |search: &Search| {
            let instead = search.instead.as_ref();
            tool.tool.name == CALL
                && instead
                    .and_then(|instead| instead.listed.find(CALL))
                    .is_some_and(|caller| Arc::ptr_eq(caller, tool))
        };
        self.search.as_deref().is_some_and(is_it)
    }

    /// Finds anew what leads where, after a change of the tools.
    pub(crate) fn search_again(&mut self) -> Result<(), BuildError> {
        if let Some(search) = &self.search {
            self.search = Some(Arc::new(Search::new(search.least, &self.tools)?));
        }
        Ok(())
    }
}

fn find() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "description": "What the tool is to do, in a few words.",
            },
            "limit": {
                "type": "integer", "minimum": 1, "maximum": FOUND_MAX, "default": FOUND_DEFAULT,
            },
        },
        "required": ["query"],
        "additionalProperties": false,
    });
    let about = "Finds tools of this server by what they do. Answers with the definitions of those \
                 that fit best, the best first; `call_tool` calls them.";
    Tool::new(FIND, Find).description(about).input_schema(schema.to_string()).read_only(true)
}

fn call() -> Tool {
    let schema = concat!(
        r#"{"type":"object","properties":{"name":{"type":"string","description":"#,
        r#""The name of a tool that `find_tools` has found."},"arguments":{"type":"object","#,
        r#""description":"Its arguments, as its `inputSchema` has them."}},"#,
        r#""required":["name"],"additionalProperties":false}"#
    );
    let about = "Calls a tool that `find_tools` has found, and answers what it answers.";
    Tool::new(CALL, Within).description(about).input_schema(schema)
}

/// Finds tools.
struct Find;

#[derive(Deserialize)]
struct Question {
    query: String,
    limit: Option<usize>,
}

impl Handler for Find {
    fn call(&self, call: Call<'_>, answer: Answer<'_>) -> Made {
        let question: Question = match serde_json::from_str(call.arguments) {
            Ok(question) => question,
            Err(error) => {
                answer.text(&format!("no question: {error}"));
                return Made::Now;
            }
        };
        let snapshot = call.core.snapshot.load();
        let instead = snapshot.search.as_deref().and_then(|search| search.instead.as_ref());
        let limit = question.limit.unwrap_or(FOUND_DEFAULT).clamp(1, FOUND_MAX);
        let found = instead.map(|instead| instead.index.find(&question.query, limit));
        let tools = found.unwrap_or_default();
        let told = tools.iter().filter_map(|place| snapshot.tools.at(*place));
        let told: Vec<&str> = told.map(|tool| tool.checks.told.get()).collect();
        match told.as_slice() {
            [] => answer.text("No tool fits; try other words for what it is to do."),
            told => answer.text(&format!("[{}]", told.join(","))),
        }
        Made::Now
    }
}

/// Is called by no client: what a client asks of it, `calls` does.
struct Within;

impl Handler for Within {
    fn call(&self, _: Call<'_>, answer: Answer<'_>) -> Made {
        answer.text("Call the tool itself.");
        Made::Now
    }
}
