//! What is odd about a server behind this one that is started: its program, its directory.

use super::{Notes, program};
use crate::place::{Place, Placed};
use crate::tool::typed;
use crate::upstream::{Reach, Upstream};
use crate::written::upstream as written;
use std::path::Path;

/// Where an upstream's program and directory are typed; its name, where it has none.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    program: Place,
    /// The program as it was typed: what was filled in is not shown.
    shown: String,
    directory: Place,
}

impl Places {
    pub(crate) fn of(name: &Placed<String>, written: &written::Upstream) -> Self {
        let program = written.command.as_ref().and_then(|command| command.value.first());
        Self {
            program: program.map_or(name.place, |program| program.place),
            shown: program.map(|program| typed(program).value).unwrap_or_default(),
            directory: written.cwd.as_ref().map_or(name.place, |cwd| cwd.place),
        }
    }
}

pub(super) fn judge(upstream: &Upstream, places: &Places, notes: &mut Notes) {
    let Reach::Command { argv, env, directory, .. } = &upstream.reach else { return };
    if !directory.is_dir() {
        let why = "this directory does not exist; the upstream cannot be started";
        notes.add(places.directory, why);
    }
    let Some(first) = argv.first() else { return };
    let own_path = env.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone());
    if let Some(why) = program::fault(Path::new(first), &places.shown, own_path) {
        notes.add(places.program, why);
    }
}
