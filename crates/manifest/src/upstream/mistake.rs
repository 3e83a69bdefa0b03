//! What can be wrong with the servers behind this one, beside what is wrong with any key: one
//! variant for each mistake, its sentence and what to do. Called by `problem`.

use crate::limits::{AGENT_NAME_MAX, PREFIX_BYTES_MAX, UPSTREAM_NAME_MAX, UPSTREAM_TOOL_NAME_MAX};

/// A mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are the words of the sentences below")]
pub enum UpstreamMistake {
    /// An agent named twice in one list.
    AgentTwice { name: String },
    /// The name of an agent.
    BadAgentName { name: String },
    /// The name of an upstream.
    BadName { name: String },
    /// A prefix of names.
    BadPrefix { shown: String },
    /// The name that a tool gets here.
    BadToolName { name: String },
    /// An address.
    BadUrl { reason: &'static str },
    /// An argument that has a value, and yet is to be left out.
    FixedAndHidden { argument: String },
    /// A header typed twice, in capitals and without.
    HeaderTwice { name: String },
    /// A text that cannot be given to a program.
    Nul { key: &'static str },
    /// A key of one tool, for all that fit a pattern.
    OfMany { key: &'static str, pattern: String },
    /// A key of processes of single sessions, where all clients share one.
    OfOwn { key: &'static str },
    /// Two upstreams whose names would not be told apart.
    SamePrefix { shown: String, first_line: usize },
}

impl UpstreamMistake {
    pub(crate) fn message(&self) -> String {
        match self {
            Self::AgentTwice { name } => format!("the agent `{name}` is there twice"),
            Self::BadAgentName { name } => format!("{name:?} is no name for an agent"),
            Self::BadName { name } => format!("{name:?} is no name for an upstream"),
            Self::BadPrefix { shown } => format!("{shown} cannot begin the names of tools"),
            Self::BadToolName { name } => format!("{name:?} is no name for a tool"),
            Self::BadUrl { reason } => format!("the address cannot be used: {reason}"),
            Self::FixedAndHidden { argument } => {
                format!("`{argument}` has a value in `fixed`, and clients are not told of it then")
            }
            Self::HeaderTwice { name } => format!("the header `{name}` is there twice"),
            Self::Nul { key } => format!("a text of `{key}` has a character 0 in it"),
            Self::OfMany { key, pattern } => {
                format!("`{key}` is for one tool, and `{pattern}` may be many")
            }
            Self::OfOwn { key } => {
                format!("`{key}` is for sessions that have a process of their own")
            }
            Self::SamePrefix { shown, first_line } => {
                format!("the names of the upstream of line {first_line} begin with {shown}, too")
            }
        }
    }

    pub(crate) fn help(&self) -> String {
        match self {
            Self::AgentTwice { .. } => "keep one of them".to_owned(),
            Self::BadAgentName { .. } => {
                format!("use 1 to {AGENT_NAME_MAX} letters, digits, `_` or `-`")
            }
            Self::BadName { .. } => {
                format!("use 1 to {UPSTREAM_NAME_MAX} letters, digits, `_` or `-`")
            }
            Self::BadPrefix { .. } => {
                format!("use at most {PREFIX_BYTES_MAX} letters, digits, `_` and `-`, like pet_")
            }
            Self::BadToolName { .. } => {
                format!("use 1 to {UPSTREAM_TOOL_NAME_MAX} letters, digits, `_`, `-` or `.`")
            }
            Self::BadUrl { .. } => "write it like https://docs.example.com/mcp".to_owned(),
            Self::FixedAndHidden { .. } => "remove it from `hidden`".to_owned(),
            Self::HeaderTwice { .. } => "keep one of them".to_owned(),
            Self::Nul { .. } => "remove it: no program can be given one".to_owned(),
            Self::OfMany { .. } => "write the tool's name there, without `*`".to_owned(),
            Self::OfOwn { .. } => "write `sessions: own`, or remove it".to_owned(),
            Self::SamePrefix { .. } => "give one of them another `prefix`".to_owned(),
        }
    }
}
