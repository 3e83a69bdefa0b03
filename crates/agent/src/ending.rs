//! Why a link ends, as both ends call it: the code and the words of its last frame, so that the
//! logs of both say the same.

use crate::trust::TrustError;
use quinn::{ConnectionError, TransportErrorCode};
use std::fmt;

macro_rules! endings {
    ($($(#[$doc:meta])* $code:literal $name:ident $words:literal,)*) => {
        /// See above.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Ending {
            $($(#[$doc])* $name,)*
            /// Of a later version: this is its code.
            Other(u32),
        }

        impl Ending {
            /// What stands for it.
            #[must_use]
            pub fn code(self) -> u32 {
                match self {
                    $(Self::$name => $code,)*
                    Self::Other(code) => code,
                }
            }

            pub(crate) fn of(code: u32) -> Self {
                match code {
                    $($code => Self::$name,)*
                    code => Self::Other(code),
                }
            }
        }

        impl fmt::Display for Ending {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$name => f.write_str($words),)*
                    Self::Other(code) => write!(f, "it ended for reason {code}"),
                }
            }
        }
    };
}

endings! {
    /// The other end stops.
    0 Stopped "the other end stops",
    /// It said what the protocol does not have there.
    1 Breach "it broke the rules of the link",
    /// It was silent where it had to greet.
    2 Silent "it did not say who it is",
    /// It speaks another version.
    3 Version "it speaks another version of the link: update the older one",
    /// Its certificate is another's.
    4 Name "its certificate is not that of the name that it gives",
    /// It was revoked.
    5 Revoked "its certificate was revoked: join again with a new token",
    /// Another agent with that name is here.
    6 Taken "another agent with this name is connected: give each a name of its own",
    /// The same agent has connected again.
    7 Replaced "the same agent has connected again",
    /// It is connected to this gateway already, by another address.
    8 Duplicate "this gateway is connected already, by another address",
    /// There is no room for more agents.
    9 Full "the gateway has as many agents as it may",
    /// Nobody here knows that name.
    10 Unknown "no upstream of the gateway's file has this agent",
    /// It has no certificate.
    11 Uncertified "it has no certificate: join with a token first",
    /// Its token is none, or was used.
    12 Token "the token is not known, or was used before: ask for a new one",
    /// Its token is too old.
    13 LateToken "the time of the token is over: ask for a new one",
    /// It has what it asked for.
    14 Joined "it has joined",
    /// The gateway cannot sign, which is in its log.
    15 Unsigned "the gateway could not sign a certificate: see its log",
    /// It granted more than was sent.
    17 Credit "it granted more than it was sent",
    /// Nothing was heard of the other end for too long.
    18 Quiet "nothing came over it any more",
    /// Too many have come from its network.
    19 Crowd "too many have come from its address and not said who they are: try later",
    /// Its certificate does not hold any more.
    16 Over "the time of its certificate is over: join again, unless it has a newer one",
}

impl From<&TrustError> for Ending {
    fn from(error: &TrustError) -> Self {
        match error {
            TrustError::BadToken | TrustError::UnknownToken => Self::Token,
            TrustError::LateToken => Self::LateToken,
            TrustError::BadRequest => Self::Breach,
            TrustError::Revoked => Self::Revoked,
            TrustError::Over => Self::Over,
            TrustError::Foreign => Self::Uncertified,
            _ => Self::Unsigned,
        }
    }
}

impl Ending {
    /// What a link ended with, if the other end ended it so.
    #[must_use]
    pub fn said(error: &ConnectionError) -> Option<Self> {
        match error {
            ConnectionError::ApplicationClosed(close) => {
                u32::try_from(close.error_code.into_inner()).ok().map(Self::of)
            }
            _ => None,
        }
    }

    /// Why a link ended, in words.
    #[must_use]
    pub fn why(error: &ConnectionError) -> String {
        match (Self::said(error), error) {
            (Some(ending), _) => ending.to_string(),
            (None, ConnectionError::TimedOut) => Self::Quiet.to_string(),
            // Whoever is refused has no link on which that could be said.
            (None, ConnectionError::ConnectionClosed(close))
                if close.error_code == TransportErrorCode::CONNECTION_REFUSED =>
            {
                Self::Crowd.to_string()
            }
            (None, error) => error.to_string(),
        }
    }
}
