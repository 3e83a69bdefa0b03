//! Where haft keeps what it must know again: a directory of the user's, each kind of thing in a
//! place of its own below it.

use std::path::PathBuf;

/// The directory (XDG Base Directory Specification, `XDG_STATE_HOME`); nothing, if nobody says
/// where home is.
pub(crate) fn directory() -> Option<PathBuf> {
    let set = |name: &str| {
        let value = std::env::var_os(name).map(PathBuf::from);
        value.filter(|path| path.is_absolute())
    };
    let state = set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local/state")));
    Some(state?.join("haft"))
}
