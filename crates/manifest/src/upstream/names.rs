//! Names of upstreams, of their agents and of what they have, as far as a file decides on them.
//! Called by `upstream`; what each thing is called is known once an upstream has said what it has.

use super::mistake::UpstreamMistake;
use super::{Taken, Upstream, bad};
use crate::fault::Wrong;
use crate::limits::{AGENT_NAME_MAX, TOLD_NAME_BYTES_MIN, UPSTREAM_NAME_MAX};
use crate::openapi::Note;
use crate::place::Placed;
use crate::problem::Problem;
use crate::written::upstream::AgentNames;
use haft_proto::spec::tool::PORTABLE_NAME_BYTES_MAX;

/// Whether an upstream can be called so.
pub(super) fn is_name(text: &str) -> bool {
    (1..=UPSTREAM_NAME_MAX).contains(&text.len()) && is_plain(text)
}

/// How long a name may be that clients put the name of this server before, as `mcp__NAME__`.
pub(super) fn room_for_names(server: &str) -> usize {
    let taken = "mcp__".len() + server.len() + "__".len();
    PORTABLE_NAME_BYTES_MAX.saturating_sub(taken).max(TOLD_NAME_BYTES_MIN)
}

/// Prefixes that begin with those of others: the names are of who has the longest.
pub(super) fn overlaps(upstreams: &[Upstream], taken: &[Taken]) -> Vec<Note> {
    let mut notes = Vec::new();
    for longer in upstreams {
        let begins = |other: &&Upstream| {
            other.name != longer.name
                && !other.prefix.is_empty()
                && longer.prefix.starts_with(&other.prefix)
        };
        let place = taken.iter().find(|taken| taken.speaks_mcp && taken.prefix == longer.prefix);
        let Some(place) = place.map(|taken| taken.place) else { continue };
        for shorter in upstreams.iter().filter(begins) {
            let (name, prefix) = (&longer.name, &longer.prefix);
            let message = format!(
                "names that begin with `{prefix}` are those of `{name}`; what `{}` calls so, as \
                 its names begin with `{}`, is left out",
                shorter.name, shorter.prefix
            );
            notes.push(Note { place, name: name.clone(), message });
        }
    }
    notes
}

/// The names of agents.
pub(super) fn agents(Placed { value, place }: Placed<AgentNames>) -> Result<Vec<String>, Wrong> {
    let names = match value {
        AgentNames::One(name) => vec![Placed { value: name, place }],
        AgentNames::Any(names) => names,
    };
    if names.is_empty() {
        let help = "name the agents: [plant-7, plant-8]";
        return Err(Wrong::new(place, Problem::EmptyList { key: "agent", help }));
    }
    let mut known: Vec<String> = Vec::new();
    for Placed { value: name, place } in names {
        if !is_plain(&name) || !(1..=AGENT_NAME_MAX).contains(&name.len()) {
            return Err(bad(place, UpstreamMistake::BadAgentName { name }));
        }
        if known.contains(&name) {
            return Err(bad(place, UpstreamMistake::AgentTwice { name }));
        }
        known.push(name);
    }
    Ok(known)
}

/// Whether a text has letters, digits, `-` and `_` alone.
pub(super) fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}
