//! Every mistake that a peer can be told of: one table from mistake to JSON-RPC code and HTTP
//! status, and the messages of malformed envelopes. Nothing else names a code.

use crate::version::Era;
use std::borrow::Cow;
use std::fmt;

/// What went wrong, as a peer is told. Each has a code and a status, in one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mistake {
    /// The bytes are not JSON.
    Parse,
    /// JSON, but not a JSON-RPC message that MCP allows here.
    InvalidRequest,
    /// The message is larger than the limit.
    TooLarge,
    /// The method is not known, or its capability is not offered.
    MethodNotFound,
    /// The parameters do not fit the method.
    InvalidParams,
    /// There is no such resource, as the legacy era says it.
    ResourceNotFound,
    /// A modern request without its required `_meta` keys.
    MissingMeta,
    /// A header says something else than the body.
    HeaderMismatch,
    /// The request needs a capability that its client did not declare.
    MissingCapability,
    /// The revision is not served.
    UnsupportedVersion,
    /// The session id is not, or no longer, known.
    UnknownSession,
    /// The request needs a session id and has none.
    MissingSession,
    /// Too much is in flight already.
    Overloaded,
    /// The request took longer than it may.
    TimedOut,
    /// The request was cancelled, by its sender or because the server stops.
    Cancelled,
    /// A fault of ours.
    Internal,
    /// A server behind this one cannot be reached, or answers with what is no answer.
    Upstream,
    /// What a program calls by a code of its own; JSON-RPC keeps those from -32768 to -32000 for
    /// itself.
    Own {
        /// The code.
        code: i32,
    },
}

impl Mistake {
    /// JSON-RPC code, HTTP status in the legacy era, HTTP status in the modern era.
    ///
    /// The codes from -32022 to -32020 are MCP's own (2026-07-28, "Error Codes"); those above
    /// -32000 are outside JSON-RPC's reserved range, as the specification asks of an
    /// implementation's own.
    const fn row(self) -> (i32, u16, u16) {
        match self {
            Self::Parse => (-32700, 400, 400),
            Self::InvalidRequest => (-32600, 400, 400),
            Self::TooLarge => (-32600, 413, 413),
            Self::MethodNotFound => (-32601, 200, 404),
            Self::InvalidParams => (-32602, 200, 200),
            Self::ResourceNotFound => (-32002, 200, 200),
            Self::MissingMeta => (-32602, 400, 400),
            Self::HeaderMismatch => (-32020, 400, 400),
            Self::MissingCapability => (-32021, 400, 400),
            Self::UnsupportedVersion => (-32022, 400, 400),
            Self::UnknownSession => (-31001, 404, 404),
            Self::MissingSession => (-31002, 400, 400),
            Self::Overloaded => (-31003, 503, 503),
            Self::TimedOut => (-31004, 200, 200),
            Self::Cancelled => (-31005, 200, 200),
            Self::Internal => (-32603, 200, 200),
            Self::Upstream => (-31006, 200, 200),
            Self::Own { code } => (code, 200, 200),
        }
    }

    /// The JSON-RPC code.
    #[must_use]
    pub const fn code(self) -> i32 {
        self.row().0
    }

    /// The mistake that another server means by a code. Only such codes are taken for mistakes of
    /// this table as mean the same wherever they come from; the others are its own.
    ///
    /// ```
    /// use haft_proto::error::Mistake;
    /// assert_eq!(Mistake::of_code(-32602), Mistake::InvalidParams);
    /// assert_eq!(Mistake::of_code(4003), Mistake::Own { code: 4003 });
    /// ```
    #[must_use]
    pub fn of_code(code: i64) -> Self {
        let known = [Self::MethodNotFound, Self::InvalidParams, Self::MissingCapability];
        let is_same = |mistake: &Self| i64::from(mistake.code()) == code;
        match (known.into_iter().find(is_same), i32::try_from(code)) {
            (Some(mistake), _) => mistake,
            (None, Ok(code)) => Self::Own { code },
            (None, Err(_)) => Self::Internal,
        }
    }

    /// The HTTP status that goes with it.
    #[must_use]
    pub const fn http_status(self, era: Era) -> u16 {
        match era {
            Era::Legacy => self.row().1,
            Era::Modern => self.row().2,
        }
    }
}

/// A mistake with what to say about it: an error of the protocol. A handler that fails with one is
/// answered for by it; whatever else a tool fails with is a result that the model reads.
///
/// ```
/// use haft_proto::error::{Mistake, Refusal};
/// let refusal = Refusal::new(Mistake::Own { code: 4003 }, "The shop is closed on Sundays")
///     .with_data(r#"{"opens":"08:00"}"#.to_owned());
/// assert_eq!(refusal.mistake.code(), 4003);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Which mistake.
    pub mistake: Mistake,
    /// One line: what is wrong and what to do.
    pub message: Cow<'static, str>,
    /// `error.data`, as JSON text.
    pub data: Option<String>,
}

impl Refusal {
    /// A refusal without data.
    #[must_use]
    pub fn new(mistake: Mistake, message: impl Into<Cow<'static, str>>) -> Self {
        Self { mistake, message: message.into(), data: None }
    }

    /// The same with `error.data`, which is JSON text.
    #[must_use]
    pub fn with_data(mut self, data: String) -> Self {
        self.data = Some(data);
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

/// Why bytes are not an envelope. Positions are byte offsets into the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// A batch with more messages than the limit.
    BatchTooLong {
        /// The limit.
        limit: usize,
    },
    /// Both a method and a result or error.
    CallAndAnswer,
    /// The same member twice, where only one can count.
    DuplicateMember {
        /// Its name.
        name: &'static str,
    },
    /// No bytes but white space.
    Empty,
    /// `[]`.
    EmptyBatch,
    /// An id longer than the limit.
    IdTooLong {
        /// The limit.
        limit: usize,
    },
    /// More bytes than the limit.
    MessageTooLong {
        /// The limit.
        limit: usize,
    },
    /// No `method`, and no `result` or `error` either.
    NoMethod,
    /// `jsonrpc` is missing or not "2.0".
    NoVersion,
    /// Not JSON at this byte.
    NotJson {
        /// Where.
        at: usize,
        /// What should have been there.
        expected: &'static str,
    },
    /// Not UTF-8 from this byte on.
    NotUtf8 {
        /// Where.
        at: usize,
    },
    /// Both a result and an error.
    ResultAndError,
    /// Arrays and objects inside each other beyond the limit.
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// A member of the wrong JSON type.
    WrongType {
        /// Its name.
        name: &'static str,
        /// The type that it must have.
        expected: &'static str,
    },
}

impl Malformed {
    /// Which row of the table this is.
    #[must_use]
    pub const fn mistake(self) -> Mistake {
        match self {
            Self::Empty | Self::NotJson { .. } | Self::NotUtf8 { .. } | Self::TooDeep { .. } => {
                Mistake::Parse
            }
            Self::MessageTooLong { .. } => Mistake::TooLarge,
            _ => Mistake::InvalidRequest,
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::BatchTooLong { limit } => {
                write!(f, "Invalid request: a batch has at most {limit} messages")
            }
            Self::CallAndAnswer => f.write_str(
                "Invalid request: a message has either a method or a result or error, not both",
            ),
            Self::DuplicateMember { name } => {
                write!(f, "Invalid request: `{name}` is there twice; send it once")
            }
            Self::Empty => f.write_str("Parse error: the message is empty"),
            Self::EmptyBatch => f.write_str("Invalid request: the batch is empty"),
            Self::IdTooLong { limit } => {
                write!(f, "Invalid request: `id` is longer than {limit} bytes")
            }
            Self::MessageTooLong { limit } => {
                write!(f, "Invalid request: the message is larger than {limit} bytes")
            }
            Self::NoMethod => f.write_str("Invalid request: `method` is missing"),
            Self::NoVersion => f.write_str("Invalid request: `jsonrpc` must be \"2.0\""),
            Self::NotJson { at, expected } => {
                write!(f, "Parse error: expected {expected} at byte {at}")
            }
            Self::NotUtf8 { at } => write!(f, "Parse error: not UTF-8 at byte {at}"),
            Self::ResultAndError => {
                f.write_str("Invalid request: an answer has either a result or an error, not both")
            }
            Self::TooDeep { limit } => {
                write!(f, "Parse error: arrays and objects nest deeper than {limit}")
            }
            Self::WrongType { name, expected } => {
                write!(f, "Invalid request: `{name}` must be {expected}")
            }
        }
    }
}

impl std::error::Error for Malformed {}

impl From<Malformed> for Refusal {
    fn from(malformed: Malformed) -> Self {
        Self::new(malformed.mistake(), malformed.to_string())
    }
}
