//! What one upstream has, as this server would serve it: named, changed as the file says, and each
//! alone known to be fit for a server. Made by `catalogue`, once for what the upstream says; knows
//! of no other upstream.

use crate::alike::Alike;
use crate::catalogue::{Listed, Offer};
use crate::forward::Forward;
use crate::idle;
use crate::limits::{NAME_BYTES_MAX, SLACK};
use crate::rules::{Ruled, doubts, shape};
use crate::upstream::Upstream;
use haft_manifest::{Rules, What};
use haft_proto::json::member;
use haft_proto::spec::tool::is_valid_name;
use haft_server::{Prompt, Resource, ResourceTemplate, TaskUse, Tool};
use serde_json::value::RawValue;
use std::sync::Arc;

/// See above.
#[derive(Default)]
pub(crate) struct Made {
    pub(crate) tools: Vec<Thing<Tool>>,
    pub(crate) resources: Vec<Thing<Resource>>,
    pub(crate) templates: Vec<Thing<ResourceTemplate>>,
    pub(crate) prompts: Vec<Thing<Prompt>>,
    /// What the upstream's lists have and nobody can use: what each is, its name there, and why.
    pub(crate) dropped: Vec<(&'static str, Box<str>, String)>,
    /// Rules of the file that do nothing, or not what was meant: a clause for each.
    pub(crate) odd: Vec<String>,
}

/// Something of an upstream.
pub(crate) struct Thing<T> {
    /// Its name or address there.
    pub(crate) there: Box<str>,
    /// It, or why it cannot be served.
    pub(crate) made: Result<T, String>,
}

impl Made {
    pub(crate) fn new(upstream: &Arc<Upstream>, rules: &Rules, offer: &Offer) -> Self {
        let mut odd = idle(rules, offer);
        odd.extend((offer.returned > 0).then(|| {
            let count = offer.returned;
            format!("{count} of its things came through this gateway before, and are left out")
        }));
        let has = |what, name: &str| rules.selection.has(what, name);
        let is_wanted = |kind: &str, name: &str| what(kind).is_none_or(|what| has(what, name));
        let dropped = offer.dropped.iter().filter(|(kind, name, _)| is_wanted(kind, name));
        let dropped = dropped.map(|(kind, name, why)| (*kind, name.as_str().into(), why.clone()));
        let task_use = if offer.has_tasks { TaskUse::OnDemand } else { TaskUse::Never };
        let mut tools = Vec::new();
        for (name, definition) in chosen(rules, What::Tool, &offer.tools) {
            let made = tool(upstream, rules, (name, &**definition), &mut odd);
            let made = made.map(|tool| tool.task(task_use));
            tools.push(Thing { there: name.as_str().into(), made });
        }
        let resources = chosen(rules, What::Resource, &offer.resources);
        let resources = resources.map(|(uri, told)| Thing::of(uri, resource(upstream, uri, told)));
        let templates = chosen(rules, What::Resource, &offer.templates);
        let templates =
            templates.map(|(uri, told)| Thing::of(uri, family(upstream, rules, (uri, told))));
        let prompts = chosen(rules, What::Prompt, &offer.prompts);
        let prompts = prompts.map(|(name, told)| Thing::of(name, Ok(prompt(upstream, name, told))));
        Self {
            tools,
            resources: resources.collect(),
            templates: templates.collect(),
            prompts: prompts.collect(),
            dropped: dropped.collect(),
            odd,
        }
    }
}

impl<T> Thing<T> {
    fn of(there: &str, made: Result<T, String>) -> Self {
        Self { there: there.into(), made }
    }
}

/// What a file calls things of this kind; a list as a whole has no name there.
fn what(kind: &str) -> Option<What> {
    match kind {
        "tool" => Some(What::Tool),
        "resource" | "resource template" => Some(What::Resource),
        "prompt" => Some(What::Prompt),
        _ => None,
    }
}

/// Those that the file lets through.
fn chosen<'o>(rules: &Rules, what: What, list: &'o [Listed]) -> impl Iterator<Item = &'o Listed> {
    list.iter().filter(move |(name, _)| rules.selection.has(what, name))
}

/// The rules that are about nothing that the upstream has now.
fn idle(rules: &Rules, offer: &Offer) -> Vec<String> {
    let names = |of: What| {
        let (first, second): (&[Listed], &[Listed]) = match of {
            What::Tool => (&offer.tools, &[]),
            What::Resource => (&offer.resources, &offer.templates),
            What::Prompt => (&offer.prompts, &[]),
        };
        let dropped = offer.dropped.iter().filter(move |(kind, ..)| what(kind) == Some(of));
        let listed = first.iter().chain(second).map(|(name, _)| name.as_str());
        listed.chain(dropped.map(|(_, name, _)| name.as_str())).collect()
    };
    let mut clauses = idle::choices(&rules.selection, names);
    clauses.extend(idle::rules(&rules.tools, &names(What::Tool)));
    clauses
}

fn tool(
    upstream: &Arc<Upstream>,
    rules: &Rules,
    (name, definition): (&str, &RawValue),
    odd: &mut Vec<String>,
) -> Result<Tool, String> {
    let hints = member(definition.get(), "annotations").unwrap_or("null");
    let says = |hint| member(hints, hint) == Some("true");
    let is_repeatable = says("readOnlyHint") || says("idempotentHint");
    let forward = Forward { is_repeatable, ..way(upstream, name) };
    let mut here = exposed(&upstream.settings.prefix, name);
    let tool = match rules.tools.of(name) {
        None => Tool::relayed(here, definition.to_owned(), forward),
        Some(rule) => {
            let shaped = shape(&rule, rules.tools.naming(name), definition);
            odd.extend(doubts(name, &shaped));
            here = rule.name.unwrap_or(here);
            match shaped.given {
                None => Tool::relayed(here, shaped.definition, forward),
                Some(given) => {
                    let (inner, name) = (Arc::new(forward), here.as_str().into());
                    let ruled = Ruled { inner, given, name };
                    Tool::relayed(here, shaped.definition, ruled)
                }
            }
        }
    };
    let tool = match rules.leaves_out_extra {
        Some(true) => tool.leave_out_extra_arguments(),
        _ => tool,
    };
    let tool = match &rules.around {
        Some(around) => around.wrap(tool),
        None => tool,
    };
    // The connection knows better what was waited for, and says it first.
    let tool = tool.timeout(upstream.timeout().saturating_add(SLACK));
    tool.verified().map_err(|error| error.to_string())
}

fn resource(upstream: &Arc<Upstream>, uri: &str, told: &RawValue) -> Result<Resource, String> {
    let way = way(upstream, uri);
    let resource =
        Resource::relayed(uri, told.to_owned(), move |asked| Alike::relay(way.clone(), asked));
    let resource = resource.relayed_within(upstream.timeout().saturating_add(SLACK));
    resource.verify().map_err(|error| error.to_string())?;
    Ok(resource)
}

/// A family of resources, without those that the file takes out one by one.
fn family(
    upstream: &Arc<Upstream>,
    rules: &Rules,
    (template, told): (&str, &RawValue),
) -> Result<ResourceTemplate, String> {
    let way = way(upstream, template);
    let relay = move |asked| Alike::relay(way.clone(), asked);
    let family = ResourceTemplate::relayed(template, told.to_owned(), relay);
    let mut family = family.relayed_within(upstream.timeout().saturating_add(SLACK));
    if rules.selection.excludes_any(What::Resource) {
        let selection = rules.selection.clone();
        family = family.except(move |uri| selection.excludes(What::Resource, uri));
    }
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
fn exposed(prefix: &str, name: &str) -> String {
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
