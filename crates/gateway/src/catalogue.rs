//! What all upstreams have, under names of this server: prefixed, short enough for every client,
//! and the same whatever other upstreams there are. What cannot be served is left out alone, with
//! the reason. Made anew by `gateway` when an upstream has something else than before.

use crate::forward::Forward;
use crate::limits::NAME_BYTES_MAX;
use crate::upstream::Upstream;
use haft_proto::json::member;
use haft_proto::spec::tool::is_valid_name;
use haft_server::Tool;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::Arc;

/// What one upstream has, as it says it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offer {
    /// Names and definitions.
    pub(crate) tools: Vec<(String, Box<RawValue>)>,
    /// Those that its client must not use, and why.
    pub(crate) dropped: Vec<(String, String)>,
}

/// All of it.
#[derive(Default)]
pub(crate) struct Catalogue {
    pub(crate) tools: Vec<Tool>,
    pub(crate) left_out: Vec<LeftOut>,
}

/// Something that is not served.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LeftOut {
    pub(crate) upstream: String,
    /// Its name there.
    pub(crate) tool: String,
    pub(crate) reason: String,
}

/// Puts together what there is; of two with one name the first is served. `own` are the names that
/// the file has itself.
pub(crate) fn gather<'o>(
    offers: impl Iterator<Item = (&'o Arc<Upstream>, &'o Offer)>,
    own: &[String],
) -> Catalogue {
    let mut catalogue = Catalogue::default();
    let mut owners: HashMap<String, String> =
        own.iter().map(|name| (name.clone(), "this server's file".to_owned())).collect();
    for (upstream, offer) in offers {
        let left_out = |tool: &str, reason: String| LeftOut {
            upstream: upstream.name().to_owned(),
            tool: tool.to_owned(),
            reason,
        };
        let dropped = offer.dropped.iter().map(|(tool, reason)| left_out(tool, reason.clone()));
        catalogue.left_out.extend(dropped);
        for (tool, definition) in &offer.tools {
            let name = exposed(&upstream.settings.prefix, tool);
            if let Some(owner) = owners.get(&name) {
                let reason = format!("`{name}` is the name of a tool of {owner}; set `prefix`");
                catalogue.left_out.push(left_out(tool, reason));
                continue;
            }
            match relayed(upstream, tool, &name, definition) {
                Ok(relayed) => catalogue.tools.push(relayed),
                Err(reason) => {
                    catalogue.left_out.push(left_out(tool, reason));
                    continue;
                }
            }
            owners.insert(name, format!("the upstream `{}`", upstream.name()));
        }
    }
    catalogue
}

fn relayed(
    upstream: &Arc<Upstream>,
    tool: &str,
    name: &str,
    definition: &RawValue,
) -> Result<Tool, String> {
    let hints = member(definition.get(), "annotations").unwrap_or("null");
    let says = |hint| member(hints, hint) == Some("true");
    let is_repeatable = says("readOnlyHint") || says("idempotentHint");
    let forward = Forward { upstream: Arc::clone(upstream), tool: tool.into(), is_repeatable };
    let relayed = Tool::relayed(name, definition.to_owned(), forward);
    let relayed = match upstream.settings.timeout {
        Some(timeout) => relayed.timeout(timeout),
        None => relayed,
    };
    relayed.verify().map_err(|error| error.to_string())?;
    Ok(relayed)
}

/// The name of a tool here. What clients would refuse in it is replaced, and what is too long cut
/// off; then its end tells it from others, and depends on nothing but the prefix and the name.
pub(crate) fn exposed(prefix: &str, tool: &str) -> String {
    let full = format!("{prefix}{tool}");
    if full.len() <= NAME_BYTES_MAX && is_valid_name(&full) {
        return full;
    }
    let is_allowed = |character: &char| is_valid_name(character.encode_utf8(&mut [0; 4]));
    let instead = |character: char| if is_allowed(&character) { character } else { '_' };
    let end = format!("_{:08x}", print(&full));
    let kept = full.chars().take(NAME_BYTES_MAX - end.len()).map(instead);
    kept.chain(end.chars()).collect()
}

/// The same number for the same text, wherever and whenever (FNV-1a, folded).
fn print(text: &str) -> u32 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let folded = (hash >> 32) ^ (hash & u64::from(u32::MAX));
    u32::try_from(folded).expect("half of the bits are left")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_every_client_takes_stays_as_it_is() {
        assert_eq!(exposed("github_", "search.code-2"), "github_search.code-2");
        assert_eq!(exposed("", "add"), "add");
        let longest = "x".repeat(NAME_BYTES_MAX - 2);
        assert_eq!(exposed("a_", &longest), format!("a_{longest}"));
    }

    #[test]
    fn other_names_end_with_what_tells_them_apart() {
        let (one, other) = ("x".repeat(80) + "1", "x".repeat(80) + "2");
        let names = [
            exposed("a_", &one),
            exposed("a_", &other),
            exposed("b_", &one),
            exposed("a_", "zwei worte"),
            exposed("a_", "zwei_worte!"),
            exposed("a_", "naïve"),
            exposed("", ""),
        ];
        for (place, name) in names.iter().enumerate() {
            assert!(is_valid_name(name) && name.len() <= NAME_BYTES_MAX, "{name}");
            assert!(!names[..place].contains(name), "{name}");
        }
        assert_eq!(exposed("a_", "zwei worte"), "a_zwei_worte_daa9f6ca");
    }
}
