//! The manifest that `haft new` writes. The command line asks for it; nothing is written here.

/// A manifest to begin with, for a server of that name.
#[must_use]
pub fn starter(name: &str) -> String {
    include_str!("starter.yaml").replace("SERVER_NAME", name)
}
