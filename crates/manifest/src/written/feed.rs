//! What is typed of a program or a server that something is read from: contents of resources,
//! messages of prompts, suggestions. Its keys stand among those of the owner; `feed` checks them.

use crate::place::Placed;
use crate::written::Scalar;
use crate::written::environ::Environ;
use crate::written::http::Http;

/// A program or a server, and what to make of what it says.
#[derive(Debug, Default)]
pub(crate) struct Feed {
    pub(crate) command: Option<Placed<Vec<Placed<Scalar>>>>,
    pub(crate) stdin: Option<Placed<Scalar>>,
    pub(crate) env: Option<Placed<Environ>>,
    pub(crate) cwd: Option<Placed<String>>,
    pub(crate) ok_exit: Option<Placed<Vec<u8>>>,
    pub(crate) http: Option<Placed<Http>>,
    pub(crate) pick: Option<Placed<String>>,
    pub(crate) limit: Option<Placed<Scalar>>,
    pub(crate) timeout: Option<Placed<Scalar>>,
}

/// Takes the keys of a feed out of a struct that has them all among its own.
macro_rules! take_feed {
    ($owner:expr) => {
        $crate::written::feed::Feed {
            command: $owner.command.take(),
            stdin: $owner.stdin.take(),
            env: $owner.env.take(),
            cwd: $owner.cwd.take(),
            ok_exit: $owner.ok_exit.take(),
            http: $owner.http.take(),
            pick: $owner.pick.take(),
            limit: $owner.limit.take(),
            timeout: $owner.timeout.take(),
        }
    };
}

pub(crate) use take_feed;
