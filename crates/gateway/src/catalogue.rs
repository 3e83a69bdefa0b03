//! What all upstreams have, under names of this server: prefixed, short enough for every client,
//! and the same whatever other upstreams there are. Resources keep their addresses. What cannot be
//! served is left out alone, with the reason. Made anew by `gateway` when an upstream has something
//! else than before.

use crate::alike::Alike;
use crate::forward::Forward;
use crate::limits::{NAME_BYTES_MAX, SLACK};
use crate::upstream::Upstream;
use haft_manifest::{Guests, Owned};
use haft_proto::json::member;
use haft_proto::spec::tool::is_valid_name;
use haft_server::{Prompt, Resource, ResourceTemplate, Tool};
use serde_json::value::RawValue;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// What one upstream has, as it says it: names or addresses, and definitions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offer {
    pub(crate) tools: Vec<Listed>,
    /// What cannot be used of its lists, and lists that cannot be had: what each is, its name, and
    /// why.
    pub(crate) dropped: Vec<(&'static str, String, String)>,
    /// A list could not be had.
    pub(crate) is_partial: bool,
    /// How long all lists stay as they are, if somebody says so.
    pub(crate) ttl: Option<Duration>,
    pub(crate) resources: Vec<Listed>,
    pub(crate) templates: Vec<Listed>,
    pub(crate) prompts: Vec<Listed>,
}

pub(crate) type Listed = (String, Box<RawValue>);

impl Offer {
    /// Whether another one says the same, to the letter.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let is_same = |one: &[Listed], other: &[Listed]| {
            let pairs = one.iter().zip(other);
            one.len() == other.len()
                && pairs.into_iter().all(|(one, other)| one.1.get() == other.1.get())
        };
        is_same(&self.tools, &other.tools)
            && is_same(&self.resources, &other.resources)
            && is_same(&self.templates, &other.templates)
            && is_same(&self.prompts, &other.prompts)
            && self.dropped == other.dropped
    }
}

/// All of it.
#[derive(Default)]
pub(crate) struct Catalogue {
    pub(crate) guests: Guests,
    pub(crate) left_out: Vec<LeftOut>,
}

/// Something that is not served.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LeftOut {
    /// "tool", say.
    pub(crate) kind: &'static str,
    pub(crate) upstream: String,
    /// Its name there.
    pub(crate) name: String,
    pub(crate) reason: String,
}

/// Puts together what there is; of two with one name the first is served, and `own` is what the
/// file has itself.
pub(crate) fn gather<'o>(
    offers: impl Iterator<Item = (&'o Arc<Upstream>, &'o Offer)>,
    own: &Owned,
) -> Catalogue {
    let mut gathering = Gathering {
        catalogue: Catalogue::default(),
        tools: Names::new("tool", &own.tools),
        resources: Names::new("resource", &own.resources),
        templates: Names::new("resource template", &own.templates),
        prompts: Names::new("prompt", &own.prompts),
    };
    for (upstream, offer) in offers {
        gathering.take(upstream, offer);
    }
    gathering.catalogue
}

struct Gathering {
    catalogue: Catalogue,
    tools: Names,
    resources: Names,
    templates: Names,
    prompts: Names,
}

/// Whose each name of one kind is.
struct Names {
    kind: &'static str,
    owners: HashMap<String, String>,
}

impl Names {
    fn new(kind: &'static str, own: &HashSet<String>) -> Self {
        let owner = |name: &String| (name.clone(), "this server's file".to_owned());
        Self { kind, owners: own.iter().map(owner).collect() }
    }

    /// Takes a name for an upstream.
    fn take(&mut self, name: &str, upstream: &Upstream) -> Result<(), String> {
        if let Some(owner) = self.owners.get(name) {
            let help = if self.kind.starts_with("resource") { "" } else { "; set `prefix`" };
            return Err(format!("`{name}` is the name of a {} of {owner}{help}", self.kind));
        }
        self.owners.insert(name.to_owned(), format!("the upstream `{}`", upstream.name()));
        Ok(())
    }
}

impl Gathering {
    fn take(&mut self, upstream: &Arc<Upstream>, offer: &Offer) {
        let Self { catalogue: Catalogue { guests, left_out }, .. } = self;
        let mut leave_out = |kind, name: &str, reason| {
            let (upstream, name) = (upstream.name().to_owned(), name.to_owned());
            left_out.push(LeftOut { kind, upstream, name, reason });
        };
        for (kind, name, reason) in &offer.dropped {
            leave_out(kind, name, reason.clone());
        }
        for (name, definition) in &offer.tools {
            let made = tool(upstream, name, definition);
            let taken = made.and_then(|tool| {
                self.tools.take(tool.name(), upstream).map(|()| guests.tools.push(tool))
            });
            taken.unwrap_or_else(|reason| leave_out("tool", name, reason));
        }
        for (uri, definition) in &offer.resources {
            let made = resource(upstream, uri, definition);
            let taken = made.and_then(|made| {
                self.resources.take(uri, upstream).map(|()| guests.resources.push(made))
            });
            taken.unwrap_or_else(|reason| leave_out("resource", uri, reason));
        }
        for (template, definition) in &offer.templates {
            let made = family(upstream, template, definition);
            let taken = made.and_then(|made| {
                self.templates.take(template, upstream).map(|()| guests.templates.push(made))
            });
            taken.unwrap_or_else(|reason| leave_out("resource template", template, reason));
        }
        for (name, definition) in &offer.prompts {
            let made = prompt(upstream, name, definition);
            let taken = self.prompts.take(made.name(), upstream);
            match taken {
                Ok(()) => guests.prompts.push(made),
                Err(reason) => leave_out("prompt", name, reason),
            }
        }
    }
}

fn tool(upstream: &Arc<Upstream>, name: &str, definition: &RawValue) -> Result<Tool, String> {
    let hints = member(definition.get(), "annotations").unwrap_or("null");
    let says = |hint| member(hints, hint) == Some("true");
    let is_repeatable = says("readOnlyHint") || says("idempotentHint");
    let forward = Forward { is_repeatable, ..way(upstream, name) };
    let exposed = exposed(&upstream.settings.prefix, name);
    let tool = Tool::relayed(exposed, definition.to_owned(), forward);
    // The connection knows better what was waited for, and says it first.
    let tool = tool.timeout(upstream.timeout().saturating_add(SLACK));
    tool.verify().map_err(|error| error.to_string())?;
    Ok(tool)
}

fn resource(upstream: &Arc<Upstream>, uri: &str, told: &RawValue) -> Result<Resource, String> {
    let way = way(upstream, uri);
    let resource =
        Resource::relayed(uri, told.to_owned(), move |asked| Alike::relay(way.clone(), asked));
    let resource = resource.relayed_within(upstream.timeout().saturating_add(SLACK));
    resource.verify().map_err(|error| error.to_string())?;
    Ok(resource)
}

fn family(
    upstream: &Arc<Upstream>,
    template: &str,
    told: &RawValue,
) -> Result<ResourceTemplate, String> {
    let way = way(upstream, template);
    let relay = move |asked| Alike::relay(way.clone(), asked);
    let family = ResourceTemplate::relayed(template, told.to_owned(), relay);
    let family = family.relayed_within(upstream.timeout().saturating_add(SLACK));
    family.verify().map_err(|error| error.to_string())?;
    Ok(family)
}

fn prompt(upstream: &Arc<Upstream>, name: &str, told: &RawValue) -> Prompt {
    let way = way(upstream, name);
    let exposed = exposed(&upstream.settings.prefix, name);
    let prompt =
        Prompt::relayed(exposed, told.to_owned(), move |asked| Alike::relay(way.clone(), asked));
    prompt.relayed_within(upstream.timeout().saturating_add(SLACK))
}

fn way(upstream: &Arc<Upstream>, name: &str) -> Forward {
    Forward { upstream: Arc::clone(upstream), name: name.into(), is_repeatable: true }
}

/// The name of a tool or prompt here. What clients would refuse in it is replaced, and what is too
/// long cut off; then its end tells it from others, and depends on the prefix and the name alone.
pub(crate) fn exposed(prefix: &str, name: &str) -> String {
    let full = format!("{prefix}{name}");
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
