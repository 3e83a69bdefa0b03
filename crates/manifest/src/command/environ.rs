//! Which variables of haft's own environment the program of a tool has: those that programs need to
//! find their way and their place, and no others, as any other may be a secret. Used by `handler`.

use crate::fault::Wrong;
use crate::place::Placed;
use crate::problem::Problem;
use crate::written::environ::Inherit;
use std::ffi::{OsStr, OsString};
use std::sync::LazyLock;
use tokio::process::Command;

/// The names of the variables that every program has, if haft has them, beside all `LC_*`. The
/// second line is for systems whose programs do not start without.
const USUAL: &[&str] = &[
    "HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "APPDATA",
    "COMSPEC",
    "LOCALAPPDATA",
    "PATHEXT",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];

/// What haft is told in variables and no program that it runs should know.
const OWN_SECRETS: [&str; 2] = ["HAFT_CLIENT_SECRET", "HAFT_JOIN"];

/// What of the usual variables there is. Nothing in haft changes its environment.
static THERE: LazyLock<Vec<(OsString, OsString)>> =
    LazyLock::new(|| std::env::vars_os().filter(|(name, _)| is_usual(name)).collect());

/// What a program has of haft's environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Inherited {
    /// All but haft's own secrets.
    All,
    /// The usual variables and those of these names.
    Usual(Vec<String>),
}

impl Inherited {
    /// As typed.
    pub(crate) fn check(written: Option<Placed<Inherit>>) -> Result<Self, Wrong> {
        match written.map(|written| written.value) {
            None => Ok(Self::Usual(Vec::new())),
            Some(Inherit::All) => Ok(Self::All),
            Some(Inherit::Named(names)) => {
                names.into_iter().map(name).collect::<Result<_, _>>().map(Self::Usual)
            }
        }
    }

    /// Leaves the rest out of what a program would have.
    pub(crate) fn apply(&self, command: &mut Command) {
        match self {
            Self::All => OWN_SECRETS.iter().for_each(|name| {
                command.env_remove(name);
            }),
            Self::Usual(more) => {
                command.env_clear().envs(THERE.iter().map(|(name, value)| (name, value)));
                let more = more.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
                command.envs(more);
            }
        }
    }
}

/// The name of a variable.
pub(crate) fn name(name: Placed<String>) -> Result<String, Wrong> {
    if name.value.is_empty() || name.value.contains(['=', '\0']) {
        return Err(Wrong::new(name.place, Problem::BadEnvName { name: name.value }));
    }
    Ok(name.value)
}

/// Whether every program has the variable of this name, so that its value is no secret.
pub(crate) fn is_usual(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    name.starts_with("LC_") || USUAL.contains(&name)
}
