//! What happens to upstreams, told as it happens: lines for whoever runs the gateway, and events
//! for programs. Told by `gateway` and `murmur`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Hears what happens to upstreams, and waits for nothing.
pub type Telling = Arc<dyn Fn(News<'_>) + Send + Sync>;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are what they are called")]
pub enum News<'a> {
    /// Something is not as it should be.
    Odd(&'a str),
    /// A connection of an upstream is lost, or there again.
    Upstream(Event<'a>),
    /// A process of an upstream says it on its stderr; without control characters.
    Stderr { upstream: &'a str, line: &'a str },
}

/// What became of a connection of an upstream. Shown, it is a line.
///
/// ```
/// use haft_gateway::{Change, Event};
/// let change = Change::Down { reason: "connection refused".into() };
/// let event = Event { upstream: "docs", instance: Some(2), change };
/// assert_eq!(event.to_string(), "instance 2 of the upstream `docs` is down: connection refused");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// The upstream's name.
    pub upstream: &'a str,
    /// Which of its instances, from 1, if it has several.
    pub instance: Option<usize>,
    /// What became of it.
    pub change: Change,
}

/// What became of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are the words of the sentences above them")]
pub enum Change {
    /// It is there again after an outage.
    Back { after: Duration },
    /// It cannot be had, and is tried again.
    Down { reason: Arc<str> },
    /// It is there for the first time.
    Ready,
    /// It was lost, and is made anew at once.
    Restarts { reason: Arc<str> },
    /// What the file says now cannot be had, and what was there before the edit is served.
    Unedited { reason: Arc<str> },
}

impl fmt::Display for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(number) = self.instance {
            write!(f, "instance {number} of ")?;
        }
        write!(f, "the upstream `{}` is ", self.upstream)?;
        match &self.change {
            Change::Back { after } => write!(f, "back after {:.1} s", after.as_secs_f64()),
            Change::Down { reason } => write!(f, "down: {reason}"),
            Change::Ready => f.write_str("ready"),
            Change::Restarts { reason } => write!(f, "started again: {reason}"),
            Change::Unedited { reason } => {
                write!(f, "served as it was before it was edited: {reason}")
            }
        }
    }
}
