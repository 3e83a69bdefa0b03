//! Every way in which talking to a server can fail, named after the mistake. Returned by everything
//! in this crate; the command line turns each into an exit code. Header values, which may be
//! secrets, are never part of a message.

use crate::absent;
use crate::auth::AuthError;
use crate::plain::steers;
use haft_proto::method::Method;
use haft_proto::version::{Era, Revision};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::fmt::Write as _;
use std::time::Duration;

/// Why there is no answer. Messages are one line, and say what to do where something can be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// An answer came, but to a request that was never sent.
    #[error("the server answered request {theirs} while {ours} was asked; it must repeat the `id`")]
    AnsweredAnotherId {
        /// The id that was sent, as JSON.
        ours: String,
        /// The id that came back, as JSON.
        theirs: String,
    },
    /// A question of the server has no answer, for a reason on our side.
    #[error("the server's question is not answered: {reason}")]
    AnswerFailed {
        /// Why not.
        reason: String,
    },
    /// HTTP 401 or 403.
    #[error("the server refused access ({status}){}; send credentials in a header", colon(said))]
    AuthenticationNeeded {
        /// 401 or 403.
        status: u16,
        /// What it said, if anything.
        said: String,
    },
    /// An access token is needed and cannot be had.
    #[error(transparent)]
    Authorization(#[from] AuthError),
    /// A question of the server that is not what MCP defines.
    #[error(
        "the server asks `{}` in a way that MCP does not define: {}",
        brief(method),
        brief(reason)
    )]
    BadQuestion {
        /// What it asks.
        method: String,
        /// What is wrong.
        reason: String,
    },
    /// Text that is not an `http://` or `https://` address, or one with a password in it.
    #[error("the URL {reason}")]
    BadUrl {
        /// What is wrong with it.
        reason: String,
    },
    /// The child process could not be started.
    #[error("cannot start `{program}`: {reason}")]
    CannotStart {
        /// What was to be run.
        program: String,
        /// What the system said.
        reason: String,
    },
    /// Nothing more is heard of changes, and not because the server said that it is over.
    #[error("the server stopped telling of changes ({reason}); listen again")]
    ChangesEnded {
        /// What happened.
        reason: String,
    },
    /// The connection ended within a message, or before the answer on an event stream.
    #[error("the server ended the connection in the middle of its answer to `{method}`; ask again")]
    ClosedMidAnswer {
        /// What was asked.
        method: &'static str,
    },
    /// This client was closed, by us.
    #[error("the connection was closed; connect again")]
    ConnectionClosed,
    /// The era that was asked for is not one that the server speaks.
    #[error("the server does not speak the {} era ({reason}); try `auto`", era_name(*era))]
    EraNotSpoken {
        /// The era that was asked for.
        era: Era,
        /// How it answered.
        reason: String,
    },
    /// A server of HTTP+SSE (2024-11-05) that wants messages sent to another server, which must not
    /// get our headers.
    #[error(
        "the server wants messages sent to {to}, which is another server; its `endpoint` event \
         must name an address of its own"
    )]
    ForeignEndpoint {
        /// Scheme, host and port of the other one.
        to: String,
    },
    /// Events of a stream that are not JSON-RPC, and no answer.
    #[error("the server sent {line:?} in place of an answer to `{method}`, which is no message")]
    GarbageInStream {
        /// What was asked.
        method: &'static str,
        /// The beginning of the first such event.
        line: String,
    },
    /// Lines on stdout that are not JSON-RPC, and no answer.
    #[error("the server wrote {line:?} on stdout, which belongs to MCP; make it log to stderr")]
    GarbageOnStdout {
        /// The beginning of the first such line.
        line: String,
    },
    /// An HTTP status that says nothing about MCP.
    #[error("the server answered `{method}` with HTTP {status}{}", colon(said))]
    HttpStatus {
        /// What was asked.
        method: &'static str,
        /// The status.
        status: u16,
        /// The beginning of what it said.
        said: String,
    },
    /// The server wants to know something that this client has not offered to tell.
    #[error("the server asks for more input ({}), which this client cannot give", brief(kinds))]
    InputNeeded {
        /// The methods that it would have called.
        kinds: String,
    },
    /// A list that is longer than may be.
    #[error("the list has more than {limit} bytes on its pages")]
    ListTooLong {
        /// The limit.
        limit: usize,
    },
    /// A list whose pages do not end.
    #[error("the list did not end after {pages} pages; the server must stop sending `nextCursor`")]
    ListWithoutEnd {
        /// How many were read.
        pages: usize,
    },
    /// Whoever carries requests to the server lost what became of one, which may have been done.
    #[error("what became of `{method}` was lost on the way: {reason}")]
    LostOnTheWay {
        /// What was asked.
        method: &'static str,
        /// How.
        reason: String,
    },
    /// A result that the specification does not allow.
    #[error("the result of `{method}` is not what MCP defines: {}", brief(reason))]
    MalformedResult {
        /// What was asked.
        method: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// More bytes than the limit in one message.
    #[error("the server sent a message larger than {limit} bytes; raise the limit or ask for less")]
    MessageTooLarge {
        /// The limit.
        limit: usize,
    },
    /// No revision is spoken on both sides.
    #[error("the server speaks {}; this client speaks {}", brief(theirs), our_versions())]
    NoCommonVersion {
        /// What it offered.
        theirs: String,
    },
    /// A stream of events, as of HTTP+SSE (2024-11-05), that does not say where messages go.
    #[error(
        "{url} has a stream of events, but no usable `endpoint` event of HTTP+SSE: {}",
        brief(reason)
    )]
    NoEndpoint {
        /// The address.
        url: String,
        /// What came instead.
        reason: String,
    },
    /// A legacy server over HTTP without a stream for what belongs to no request.
    #[error("the server does not tell of changes (HTTP {status} to GET); list again instead")]
    NoStandingStream {
        /// The status.
        status: u16,
    },
    /// The address answers, but not as an MCP server.
    #[error("no MCP server answers at {url} (HTTP {status}); check the path, often `/mcp`")]
    NotAnEndpoint {
        /// The address.
        url: String,
        /// Its answer to `initialize`.
        status: u16,
    },
    /// What listens there does not answer in HTTP/1.1.
    #[error(
        "what the server answers to `{method}` is not HTTP/1.1; check the address and its port"
    )]
    NotHttp {
        /// What was asked.
        method: &'static str,
    },
    /// Whoever carries requests to the server did not get it there, so nothing was done.
    #[error("the request did not get there: {reason}")]
    NotCarried {
        /// Why not.
        reason: String,
    },
    /// An HTTP body or event that is not JSON-RPC.
    #[error("the server's answer to `{method}` is not a JSON-RPC message: {}", brief(reason))]
    NotJsonRpc {
        /// What was asked.
        method: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// No certificate authority is trusted on this machine.
    #[error("no trusted certificates were found; install them or set SSL_CERT_FILE")]
    NoTrustedRoots,
    /// The child process closed its stdout while nobody waited for an answer.
    #[error("the server closed its stdout{}", last(words))]
    OutputEnded {
        /// The last line that it wrote to a captured stderr.
        words: String,
    },
    /// The child process ended while nobody waited for an answer.
    #[error("the server process ended ({status}){}", last(words))]
    ProcessEnded {
        /// Its exit status, in words.
        status: String,
        /// The last line that it wrote to a captured stderr.
        words: String,
    },
    /// A redirect to another server, which must not get our headers.
    #[error("the server redirects to {to}; use that address if you trust it")]
    Redirected {
        /// Where to.
        to: String,
    },
    /// A JSON-RPC error.
    #[error("the server refused `{method}`: {error}")]
    Refused {
        /// What was asked.
        method: &'static str,
        /// The error.
        error: RpcError,
        /// The HTTP status it came with, on HTTP.
        status: Option<u16>,
    },
    /// The child process ended.
    #[error("the server process ended ({status}) before it answered `{method}`{}", last(words))]
    ServerExited {
        /// What was asked.
        method: &'static str,
        /// Its exit status, in words.
        status: String,
        /// The last line that it wrote to a captured stderr.
        words: String,
    },
    /// A legacy session that the server no longer knows.
    #[error("the server has forgotten the session; connect again")]
    SessionLost,
    /// More bytes than this client sends back.
    #[error("the server's `requestState` is longer than {limit} bytes; it must be shorter")]
    StateTooLarge {
        /// The limit.
        limit: usize,
    },
    /// The child process runs, but has closed its stdout.
    #[error("the server closed its stdout before it answered `{method}`{}", last(words))]
    StdoutClosed {
        /// What was asked.
        method: &'static str,
        /// The last line that it wrote to a captured stderr.
        words: String,
    },
    /// The task that a call became was cancelled, not by us.
    #[error("the server cancelled the task that the call had become; call again")]
    TaskCancelled,
    /// No answer in time.
    #[error("no answer to `{method}` within {after:?}; look at the server, or wait longer")]
    TimedOut {
        /// What was asked.
        method: &'static str,
        /// How long it was waited for.
        after: Duration,
    },
    /// As many requests are unanswered as may be.
    #[error("{limit} requests are unanswered; wait for one of them")]
    TooManyInFlight {
        /// The limit.
        limit: usize,
    },
    /// The server asks more questions because of one request than may be.
    #[error("the server asks more than {limit} questions because of one request")]
    TooManyQuestions {
        /// The limit.
        limit: usize,
    },
    /// The server needs more input again and again.
    #[error("the server still needs more input after {limit} rounds")]
    TooManyRounds {
        /// The limit.
        limit: usize,
    },
    /// A body that is neither JSON nor an event stream.
    #[error(
        "the answer to `{method}` is {found:?}, neither `application/json` nor `text/event-stream`"
    )]
    UnknownContentType {
        /// What was asked.
        method: &'static str,
        /// The type.
        found: String,
    },
    /// A result of a kind that MCP does not define, or that this client has not asked for.
    #[error("the result of `{method}` is of the unknown type {found:?}")]
    UnknownResultType {
        /// What was asked.
        method: &'static str,
        /// Its `resultType`.
        found: String,
    },
    /// No connection: name, network, port or certificate.
    #[error("cannot reach {authority}: {reason}")]
    Unreachable {
        /// Host and port.
        authority: String,
        /// What failed.
        reason: String,
    },
}

/// A JSON-RPC error, as a server sent it.
#[derive(Debug, Deserialize, thiserror::Error)]
#[error("{} ({code})", brief(message))]
pub struct RpcError {
    /// What kind of error: negative numbers are JSON-RPC's and MCP's own.
    pub code: i64,
    /// One line, from the server.
    #[serde(default, deserialize_with = "absent::or_null")]
    pub message: String,
    /// More about it.
    pub data: Option<Box<RawValue>>,
}

/// The first line of a peer's text, without what steers a terminal, at most 200 characters long.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    const CHARS_MAX: usize = 200;
    let head = bytes.get(..CHARS_MAX * 4).unwrap_or(bytes);
    let text = String::from_utf8_lossy(head);
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    line.trim().chars().filter(|character| !steers(*character)).take(CHARS_MAX).collect()
}

/// A peer's text in one line, without what steers a terminal, at most 1000 characters long.
fn brief(text: &str) -> String {
    const CHARS_MAX: usize = 1000;
    let words = text.split_whitespace().flat_map(|word| [" ", word]).skip(1);
    let mut characters = words.flat_map(str::chars).filter(|character| !steers(*character)).fuse();
    let mut line: String = characters.by_ref().take(CHARS_MAX).collect();
    if characters.next().is_some() {
        line.push('…');
    }
    line
}

/// An error and what caused it, in one line.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let text = next.to_string();
        if !line.ends_with(&text) {
            // Writing to a string cannot fail.
            _ = write!(line, ": {text}");
        }
        cause = next.source();
    }
    line
}

pub(crate) const fn era_name(era: Era) -> &'static str {
    match era {
        Era::Legacy => "legacy",
        Era::Modern => "modern",
    }
}

fn our_versions() -> String {
    Revision::ALL.map(Revision::as_str).join(", ")
}

fn colon(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(": {said}") }
}

fn last(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!("; its last words: {words}") }
}

impl ClientError {
    /// The same of a request that belongs to one which the server has taken up before: whatever
    /// happened to it, what was begun may have been done.
    #[must_use]
    pub fn once_begun(self, method: Method) -> Self {
        match self {
            Self::ConnectionClosed | Self::SessionLost | Self::Unreachable { .. } => {
                Self::ClosedMidAnswer { method: method.name() }
            }
            error => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_one_short_line_without_control_characters() {
        assert_eq!(excerpt("\n \n\x1b[31mred\x1b[0m\u{202e}\nmore".as_bytes()), "[31mred[0m");
        assert_eq!(excerpt(&[b'x'; 9000]).len(), 200);
        assert_eq!(excerpt(b"\xff\xfe"), "\u{fffd}\u{fffd}");
    }

    #[test]
    fn what_a_server_says_is_one_line_and_has_an_end() {
        let evil = format!("a\n \x1b[31mb{}", "\u{9b}z".repeat(5000));
        let method = "tools/call";
        let rpc = RpcError { code: -1, message: evil.clone(), data: None };
        for error in [
            ClientError::BadQuestion { method: evil.clone(), reason: evil.clone() },
            ClientError::InputNeeded { kinds: evil.clone() },
            ClientError::MalformedResult { method, reason: evil.clone() },
            ClientError::NoCommonVersion { theirs: evil.clone() },
            ClientError::NotJsonRpc { method, reason: evil },
            ClientError::Refused { method, error: rpc, status: None },
        ] {
            let line = error.to_string();
            assert!(!line.contains(char::is_control) && line.len() < 2500, "{line:.99}");
            assert!(line.contains("a [31mbzz") && line.contains("z…"), "{line:.99}");
        }
        assert_eq!(brief(" [\n  {\n    \"code\": 1\n  }\n]"), r#"[ { "code": 1 } ]"#);
        assert_eq!(brief(&"é".repeat(1000)).chars().count(), 1000, "it is whole");
    }

    #[test]
    fn messages_are_one_line() {
        let error = ClientError::ServerExited {
            method: "initialize",
            status: "exit status: 1".to_owned(),
            words: "no such file".to_owned(),
        };
        let line = error.to_string();
        assert!(line.ends_with("its last words: no such file"), "{line}");
        assert!(!line.contains('\n'), "{line}");
    }
}
