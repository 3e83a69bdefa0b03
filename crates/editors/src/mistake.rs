//! Everything that can be wrong with an editor's file, one line each. Returned by all of this
//! crate; values of variables and headers, which may be secrets, are never part of a message.

use std::path::PathBuf;

/// Why a file was not read or not changed. Messages are one line and say what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Mistake {
    /// The name of a server that hosts would refuse.
    #[error(
        "`{name}` is no name for a server; use 1 to 64 letters, digits, `-`, `_` and `.`, and no \
         `.` first"
    )]
    BadName {
        /// The name.
        name: String,
    },
    /// Another program wrote the file while it was being changed.
    #[error("{file} was changed by another program in the meantime; try again")]
    ChangedMeanwhile {
        /// The file.
        file: PathBuf,
    },
    /// Another program keeps the lock of the file's directory.
    #[error("{file} is locked by another program, which has its directory; end that and try again")]
    Locked {
        /// The file.
        file: PathBuf,
    },
    /// Another server has the name already.
    #[error("there is another server named `{name}`; choose another name, or replace it")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// The host starts its servers itself.
    #[error("{host} reaches no URLs by its file; give it a haft.yaml to start")]
    NoUrls {
        /// The host.
        host: &'static str,
    },
    /// What should hold the servers is no mapping.
    #[error("`{key}` is not a mapping of servers; mend it by hand")]
    NotMapping {
        /// The keys that lead there.
        key: String,
    },
    /// More bytes than are read.
    #[error("the file is longer than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// More servers than are read.
    #[error("it has more than {limit} servers; the others are left out")]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// An edit whose result could not be proved right.
    #[error("it is written in a way that haft does not edit; add or remove `{name}` by hand")]
    Unsure {
        /// The server's name.
        name: String,
    },
    /// A server that cannot be understood.
    #[error("`{name}` {reason}")]
    Unusable {
        /// The server's name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The text is not what the file's name promises.
    #[error("it is not {format}: {reason}")]
    Unreadable {
        /// The format.
        format: &'static str,
        /// What the parser says.
        reason: String,
    },
    /// The system refuses.
    #[error("cannot {act} {file}: {reason}")]
    System {
        /// What was tried.
        act: &'static str,
        /// With which file.
        file: PathBuf,
        /// What the system says.
        reason: String,
    },
}

impl Mistake {
    pub(crate) fn unusable(name: &str, reason: impl Into<String>) -> Self {
        Self::Unusable { name: name.to_owned(), reason: reason.into() }
    }

    pub(crate) fn unreadable(format: &'static str, reason: impl ToString) -> Self {
        let reason = reason.to_string();
        let line = reason.lines().next().unwrap_or_default().trim().to_owned();
        Self::Unreadable { format, reason: line }
    }
}
