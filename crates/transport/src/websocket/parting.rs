//! Why a WebSocket is closed by this side: a code of RFC 6455 and a reason for each. Sends nothing.

use haft_proto::limits::Limits;
use tungstenite::Error;
use tungstenite::error::ProtocolError;
use tungstenite::protocol::CloseFrame;
use tungstenite::protocol::frame::coding::CloseCode;

/// What the peer has done, or not.
#[derive(Debug)]
pub(super) enum Parting {
    /// It has sent a binary frame.
    Binary,
    /// Its frames break the rules.
    Broken(ProtocolError),
    /// The listener holds as much of unfinished messages as it may.
    NoRoom,
    NotText,
    /// It pings and pongs too much.
    Pings,
    Silent,
    /// A message does not come to its end.
    Slow,
    /// Nothing: the server stops.
    Stopping,
    TooLong,
}

impl Parting {
    /// What an error of reading is; `None` if the peer has just gone.
    pub(super) fn of(error: Error) -> Option<Self> {
        match error {
            Error::Capacity(_) => Some(Self::TooLong),
            Error::Utf8(_) => Some(Self::NotText),
            Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => None,
            Error::Protocol(broken) => Some(Self::Broken(broken)),
            _ => None,
        }
    }

    pub(super) fn frame(&self, limits: &Limits) -> CloseFrame {
        let (code, reason) = match self {
            Self::Binary => (
                CloseCode::Unsupported,
                "Binary frames are not taken: send each message as one text frame".to_owned(),
            ),
            Self::Broken(broken) => (CloseCode::Protocol, format!("Broken frame: {broken}")),
            Self::NoRoom => (
                CloseCode::Again,
                "Overloaded: too many unfinished messages; try again in a second".to_owned(),
            ),
            Self::NotText => (CloseCode::Invalid, "A text frame must be UTF-8".to_owned()),
            Self::Pings => (
                CloseCode::Policy,
                format!(
                    "Too many pings: {} in {} s are the most",
                    limits.pings,
                    limits.keep_alive.as_secs_f32()
                ),
            ),
            Self::Silent => (
                CloseCode::Policy,
                format!("No answer to a ping in {} s", limits.write_stall.as_secs_f32()),
            ),
            Self::Slow => (
                CloseCode::Policy,
                format!("A message must be whole in {} s", limits.body_timeout.as_secs_f32()),
            ),
            Self::Stopping => (CloseCode::Away, "The server is stopping".to_owned()),
            Self::TooLong => (
                CloseCode::Size,
                format!("Message too long: it may have {} bytes", limits.message_bytes),
            ),
        };
        // A control frame has 125 bytes, two of which are the code.
        let reason: String = reason.chars().take(123).collect();
        CloseFrame { code, reason: reason.into() }
    }
}
