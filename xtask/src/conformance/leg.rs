//! Who is tested: a server, which the suite asks, or a client, which it starts and answers. The
//! words and places that differ; running either is `suite`'s business.

use std::env;

use crate::failure::Failure;

/// One side of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leg {
    Client,
    Server,
}

impl Leg {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }

    pub(super) fn parse(word: &str) -> Option<Self> {
        [Self::Client, Self::Server].into_iter().find(|leg| leg.as_str() == word)
    }

    /// What the suite puts before the name of a scenario, for a folder of results.
    pub(super) const fn prefix(self) -> &'static str {
        match self {
            Self::Client => "",
            Self::Server => "server-",
        }
    }

    /// The option by which the suite is told who is tested.
    pub(super) const fn option(self) -> &'static str {
        match self {
            Self::Client => "--command",
            Self::Server => "--url",
        }
    }
}

/// The client under test, as the suite starts it: Cargo puts it beside us.
pub(super) fn client() -> Result<String, Failure> {
    let us = env::current_exe().map_err(|source| Failure::file("xtask itself", source))?;
    let path = us.with_file_name(format!("haft-conformance-client{}", env::consts::EXE_SUFFIX));
    let path = path.to_string_lossy().into_owned();
    // The suite gives the whole of it to a shell.
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+".contains(&byte);
    if path.bytes().all(is_plain) {
        Ok(path)
    } else {
        Err(Failure::SuiteBroken(format!("the suite cannot start {path}: it is no plain path")))
    }
}
