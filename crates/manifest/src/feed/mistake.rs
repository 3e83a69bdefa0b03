//! What can be wrong with a program or a server that something is read from, and with the variables
//! of its address: one variant for each mistake, its sentence and what to do. Called by `problem`.

use crate::limits::{PAGES_BYTES_MAX, PAGES_MAX};

/// A mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are the words of the sentences below")]
pub enum FeedMistake {
    /// An address with variables that cannot be found in it again.
    BadVariables { shown: String, reason: String },
    /// A directory of prompts with too much in it.
    Crowded { path: String },
    /// Many resources where one is meant.
    Family { uri: String },
    /// A method that changes something, or brings nothing.
    Method { method: String },
    /// Suggestions for what is not there.
    NoVariable { name: String, known: Vec<String> },
}

impl FeedMistake {
    pub(crate) fn message(&self) -> String {
        match self {
            Self::BadVariables { shown, reason } => {
                format!("{shown} is no address with variables: {reason}")
            }
            Self::Crowded { path } => format!(
                "{path:?} has more than {PAGES_MAX} files, or {PAGES_BYTES_MAX} bytes of prompts"
            ),
            Self::Family { uri } => format!("`{uri}` stands for many resources"),
            Self::Method { method } => format!("`{method}` reads nothing"),
            Self::NoVariable { name, .. } => format!("the address has no variable `{name}`"),
        }
    }

    pub(crate) fn help(&self) -> String {
        match self {
            Self::BadVariables { .. } => "write it like issue://{owner}/{number}".to_owned(),
            Self::Crowded { .. } => "keep files that are no prompts elsewhere".to_owned(),
            Self::Family { .. } => {
                "name one without variables, or give the message the `command` or `http`".to_owned()
            }
            Self::Method { .. } => "use `get`, or `post` if the server wants a body".to_owned(),
            Self::NoVariable { known, .. } if known.is_empty() => {
                "give it some, like issue://{owner}/{number}, or remove `complete`".to_owned()
            }
            Self::NoVariable { known, .. } => {
                let known: Vec<_> = known.iter().map(|name| format!("`{name}`")).collect();
                format!("it has {}", known.join(", "))
            }
        }
    }
}
