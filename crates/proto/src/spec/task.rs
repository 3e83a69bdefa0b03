//! A call that goes on after its answer (the extension `io.modelcontextprotocol/tasks`), as it
//! stands. Kept by whoever runs it; written by `encode`.

use super::question::Question;

/// A task as a client is told of it.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// Its id, which nobody can guess.
    pub id: &'a str,
    /// How far it is.
    pub stage: Stage<'a>,
    /// One line for a person.
    pub message: Option<&'a str>,
    /// When it began, as ISO 8601.
    pub created_at: &'a str,
    /// When it last changed, as ISO 8601.
    pub updated_at: &'a str,
    /// For how many milliseconds after its beginning it is kept; `None` is without end.
    pub ttl_ms: Option<u64>,
    /// How many milliseconds to wait before asking again.
    pub poll_ms: Option<u64>,
}

/// How far a task is.
#[derive(Clone, Copy, Debug)]
pub enum Stage<'a> {
    /// It was ended before it was done.
    Cancelled,
    /// It is done: raw JSON of the result that the call would have had.
    Completed(&'a str),
    /// It failed in a way that is no result: raw JSON of the error.
    Failed(&'a str),
    /// It waits for answers, by their keys.
    InputRequired(&'a [(Box<str>, Question)]),
    /// It runs.
    Working,
}

impl Stage<'_> {
    /// The word on the wire.
    #[must_use]
    pub const fn status(&self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Completed(_) => "completed",
            Self::Failed(_) => "failed",
            Self::InputRequired(_) => "input_required",
            Self::Working => "working",
        }
    }

    /// Whether nothing will change any more.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        matches!(self, Self::Cancelled | Self::Completed(_) | Self::Failed(_))
    }
}
