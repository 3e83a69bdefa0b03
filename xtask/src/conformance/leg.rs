//! Who is tested: a server, which the suite asks, alone or behind a gateway, or a client, which it
//! starts and answers. The words and places that differ; running either is `suite`'s business.

use std::env;

use crate::failure::Failure;

/// One side of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leg {
    Client,
    Server,
    /// The same server, with a `haft serve` in front of it, which is the one that is asked.
    Gateway(Behind),
}

/// How a gateway speaks to the server behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Behind {
    /// As the key `era` has it.
    pub(super) era: &'static str,
    pub(super) wire: Wire,
}

/// Over what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire {
    Http,
    Pipes,
}

/// The words for legs, of the command line and of excuses.
const WORDS: [&str; 3] = ["client", "server", "gateway"];

impl Leg {
    /// What people call it.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Gateway(_) => "gateway",
        }
    }

    /// What is behind a gateway: `legacy pipes`.
    pub(super) fn behind(self) -> Option<String> {
        match self {
            Self::Gateway(Behind { era, wire }) => Some(format!("{era} {}", wire.as_str())),
            Self::Client | Self::Server => None,
        }
    }

    /// What the suite calls it: it knows of no gateways.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server | Self::Gateway(_) => "server",
        }
    }

    pub(super) fn known(word: &str) -> Option<&'static str> {
        WORDS.into_iter().find(|known| *known == word)
    }

    /// What the suite puts before the name of a scenario, for a folder of results.
    pub(super) const fn prefix(self) -> &'static str {
        match self {
            Self::Client => "",
            Self::Server | Self::Gateway(_) => "server-",
        }
    }

    /// The option by which the suite is told who is tested.
    pub(super) const fn option(self) -> &'static str {
        match self {
            Self::Client => "--command",
            Self::Server | Self::Gateway(_) => "--url",
        }
    }
}

impl Wire {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Pipes => "pipes",
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
