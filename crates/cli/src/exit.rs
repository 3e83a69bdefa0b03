//! Exit codes, failures, and which failure has which code: the only file that decides that. A
//! library error becomes a `Failure` here.

use haft_bench::{BenchError, WrongKind};
use haft_client::ClientError;
use haft_manifest::Fault;
use haft_proto::error::Mistake;
use std::io;
use std::process::ExitCode;

/// How a command ended. The numbers are part of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It did what was asked.
    Ok = 0,
    /// Something that has no code of its own.
    Other = 1,
    /// The command line, or the file that it names, cannot be used.
    Usage = 2,
    /// The server wants to know who is asking.
    Authentication = 3,
    /// There is no server, or it does not stay.
    Unreachable = 4,
    /// The tool failed, or it, the resource or the prompt does not exist.
    ToolFailed = 5,
    /// The arguments do not fit the tool.
    InvalidArguments = 6,
    /// It took too long.
    TimedOut = 7,
    /// `haft check --strict` found a warning, or a bench crossed a threshold.
    CheckFailed = 8,
    /// Ctrl-C, as shells count it. `serve` and `dev` end with 0 when told to stop.
    Interrupted = 130,
}

impl Exit {
    /// The code's name in JSON.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Other => "other",
            Self::Usage => "usage",
            Self::Authentication => "authentication_needed",
            Self::Unreachable => "unreachable",
            Self::ToolFailed => "tool_failed",
            Self::InvalidArguments => "invalid_arguments",
            Self::TimedOut => "timed_out",
            Self::CheckFailed => "check_failed",
            Self::Interrupted => "interrupted",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Its code. [`Exit::Ok`] means: say nothing and stop.
    pub(crate) exit: Exit,
    /// What is wrong, in a line.
    pub(crate) message: String,
    /// What to try, in a line.
    pub(crate) hint: Option<String>,
    /// What people see instead of both lines: a drawing, in colour.
    pub(crate) drawing: Option<String>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), hint: None, drawing: None }
    }

    /// The command line makes no sense.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// The same with a second line.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let failure = Self::new(exit_of(&error), error.to_string());
        let code = i64::from(Mistake::MissingCapability.code());
        match &error {
            ClientError::Refused { error, .. } if error.code == code => failure.hint(OFFERS),
            ClientError::InputNeeded { .. } => failure.hint(OFFERS),
            _ => failure,
        }
    }
}

const OFFERS: &str = "--root, --sampling-text and --tasks offer a server more";

impl From<BenchError> for Failure {
    fn from(error: BenchError) -> Self {
        let exit = match &error {
            BenchError::Plan(_) => Exit::Usage,
            BenchError::Unreachable(_) => Exit::Unreachable,
            BenchError::Greeting { wrong, .. } => exit_of_wrong(wrong.kind()),
            _ => Exit::Other,
        };
        Self::new(exit, error.to_string())
    }
}

/// The code for an answer that was none.
pub(crate) fn exit_of_wrong(kind: WrongKind) -> Exit {
    match kind {
        WrongKind::TimedOut => Exit::TimedOut,
        WrongKind::Closed | WrongKind::NoAnswer | WrongKind::Status => Exit::Unreachable,
        WrongKind::AsksForInput | WrongKind::Refused | WrongKind::ToolFailed => Exit::ToolFailed,
        _ => Exit::Other,
    }
}

/// A file that cannot be used is a usage error, drawn for people.
impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        let drawing = Some(fault.coloured());
        Self { hint: fault.help(), drawing, ..Self::usage(fault.message()) }
    }
}

/// An editor's file that cannot be used is a usage error; a system that refuses is none.
impl From<haft_editors::Mistake> for Failure {
    fn from(mistake: haft_editors::Mistake) -> Self {
        let exit = match &mistake {
            haft_editors::Mistake::System { .. } => Exit::Other,
            haft_editors::Mistake::ChangedMeanwhile { .. } => Exit::Other,
            haft_editors::Mistake::Locked { .. } => Exit::Other,
            _ => Exit::Usage,
        };
        Self::new(exit, mistake.to_string())
    }
}

/// Output that nobody reads ends a command quietly: `haft list … | head -1` is no failure.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let exit = if error.kind() == io::ErrorKind::BrokenPipe { Exit::Ok } else { Exit::Other };
        Self::new(exit, format!("cannot write: {error}"))
    }
}

fn exit_of(error: &ClientError) -> Exit {
    match error {
        ClientError::AuthenticationNeeded { .. } | ClientError::Authorization(_) => {
            Exit::Authentication
        }
        ClientError::BadUrl { .. } => Exit::Usage,
        ClientError::CannotStart { .. }
        | ClientError::ClosedMidAnswer { .. }
        | ClientError::ForeignEndpoint { .. }
        | ClientError::GarbageInStream { .. }
        | ClientError::GarbageOnStdout { .. }
        | ClientError::HttpStatus { .. }
        | ClientError::LostOnTheWay { .. }
        | ClientError::NoEndpoint { .. }
        | ClientError::NoTrustedRoots
        | ClientError::NotAnEndpoint { .. }
        | ClientError::NotCarried { .. }
        | ClientError::NotHttp { .. }
        | ClientError::OutputEnded { .. }
        | ClientError::ProcessEnded { .. }
        | ClientError::Redirected { .. }
        | ClientError::ServerExited { .. }
        | ClientError::SessionLost
        | ClientError::StdoutClosed { .. }
        | ClientError::Unreachable { .. } => Exit::Unreachable,
        ClientError::AnswerFailed { .. }
        | ClientError::InputNeeded { .. }
        | ClientError::TaskCancelled => Exit::ToolFailed,
        ClientError::TimedOut { .. } => Exit::TimedOut,
        // A server of MCP, at another path.
        ClientError::Refused { method: "initialize", status: Some(404), .. } => Exit::Unreachable,
        ClientError::Refused { method, error, .. } => exit_of_refusal(method, error.code),
        _ => Exit::Other,
    }
}

fn exit_of_refusal(method: &str, code: i64) -> Exit {
    let is = |mistake: Mistake| i64::from(mistake.code()) == code;
    match method {
        _ if is(Mistake::TimedOut) => Exit::TimedOut,
        // Its only parameter is the address: there is no such resource.
        "resources/read" => Exit::ToolFailed,
        "tools/call" | "prompts/get" if is(Mistake::InvalidParams) => Exit::InvalidArguments,
        "tools/call" | "prompts/get" => Exit::ToolFailed,
        _ => Exit::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_pipe_is_no_failure() {
        let failure = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!(failure.exit, Exit::Ok);
        let failure = Failure::from(io::Error::from(io::ErrorKind::StorageFull));
        assert_eq!(failure.exit, Exit::Other);
    }

    #[test]
    fn a_refused_call_is_told_apart_by_its_code() {
        assert_eq!(exit_of_refusal("tools/call", -32602), Exit::InvalidArguments);
        assert_eq!(exit_of_refusal("tools/call", -32603), Exit::ToolFailed);
        assert_eq!(exit_of_refusal("tools/call", -31004), Exit::TimedOut);
        assert_eq!(exit_of_refusal("tools/list", -32602), Exit::Other);
        assert_eq!(exit_of_refusal("prompts/get", -32602), Exit::InvalidArguments);
        assert_eq!(exit_of_refusal("resources/read", -32602), Exit::ToolFailed);
        assert_eq!(exit_of_refusal("resources/read", -32002), Exit::ToolFailed);
    }
}
