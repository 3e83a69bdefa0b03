//! What can be wrong with views, beside what is wrong with any key: one variant for each mistake,
//! its sentence and what to do. Called by `problem`.

use crate::limits::UPSTREAM_NAME_MAX;

/// A mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are the words of the sentences below")]
pub enum ViewMistake {
    /// The name of a view.
    BadName { name: String },
    /// A rule about a tool that is no upstream's.
    OwnTool { name: String },
    /// The path of another view.
    SamePath { path: String, first_line: usize },
    /// The name of a tool by which tools are found or called.
    SearchName { name: String },
    /// The path of something else.
    TakenPath { path: String },
    /// An upstream that is not in the file.
    UnknownUpstream { name: String, nearest: Option<String> },
}

impl ViewMistake {
    pub(crate) fn message(&self) -> String {
        match self {
            Self::BadName { name } => format!("{name:?} is no name for a view"),
            Self::OwnTool { name } => {
                format!("`{name}` is a tool of this file, and rules are for those of upstreams")
            }
            Self::SamePath { path, first_line } => {
                format!("the view of line {first_line} is at {path} already")
            }
            Self::SearchName { name } => format!("`{name}` is the name of a tool of `search`"),
            Self::TakenPath { path } => format!("{path} is a path of `listen` already"),
            Self::UnknownUpstream { name, .. } => format!("there is no upstream `{name}`"),
        }
    }

    pub(crate) fn help(&self) -> String {
        match self {
            Self::BadName { .. } => {
                format!("use 1 to {UPSTREAM_NAME_MAX} letters, digits, `_` or `-`")
            }
            Self::OwnTool { .. } => {
                "make it as it should be in `tools` of the file, or a second one beside it".into()
            }
            Self::SearchName { .. } => "give it another name".to_owned(),
            Self::SamePath { .. } | Self::TakenPath { .. } => {
                "give it another `path`, like /docs/mcp".to_owned()
            }
            Self::UnknownUpstream { nearest: Some(nearest), .. } => {
                format!("did you mean `{nearest}`?")
            }
            Self::UnknownUpstream { .. } => "name one that stands in `upstreams`".to_owned(),
        }
    }
}
