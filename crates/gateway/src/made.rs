//! What one upstream has, as this server would serve it: named, changed as the file says, and each
//! alone known to be fit for a server. Made by `catalogue`, once for what the upstream says; knows
//! of no other upstream.

use crate::alike::Alike;
use crate::catalogue::{Listed, Offer};
use crate::forward::Forward;
use crate::idle;
use crate::limits::SLACK;
use crate::mended::Mended;
use crate::rules::{Ruled, doubts, shape};
use crate::upstream::Upstream;
use haft_manifest::{Rules, What};
use haft_proto::json::member;
use haft_proto::spec::tool::{PORTABLE_NAME_BYTES_MAX, is_valid_name, portable_names, told_apart};
use haft_server::normal::{self, Listed as Of};
use haft_server::{BuildError, Prompt, Resource, ResourceTemplate, TaskUse, Tool};
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
        let mut mended = Mended::default();
        let mut tools = Vec::new();
        let here = tool_names(&upstream.settings.prefix, rules, &offer.tools);
        let wanted = chosen(rules, What::Tool, &offer.tools).zip(&here);
        odd.extend(here.len().checked_sub(rules.tools_max).filter(|more| *more > 0).map(|more| {
            let most = rules.tools_max;
            format!(
                "{more} of its tools are left out, as it has more than {most}; raise `tools_max`"
            )
        }));
        for ((name, told), here) in wanted.take(rules.tools_max) {
            let made = mended.fit(Of::Tool, name, told).and_then(|told| {
                let named = (name.as_str(), here.as_str(), &*told);
                let made = tool(upstream, rules, named, (&mut odd, &mut mended))?;
                Ok(made.task(task_use))
            });
            tools.push(Thing::of(name, made));
        }
        let mut resources = Vec::new();
        for (uri, told) in chosen(rules, What::Resource, &offer.resources) {
            let told = mended.fit(Of::Resource, uri, told);
            resources.push(Thing::of(uri, told.and_then(|told| resource(upstream, uri, &told))));
        }
        let mut templates = Vec::new();
        for (uri, told) in chosen(rules, What::Resource, &offer.templates) {
            let told = mended.fit(Of::Template, uri, told);
            let made = told.and_then(|told| family(upstream, rules, (uri, &told)));
            templates.push(Thing::of(uri, made));
        }
        let mut prompts = Vec::new();
        for (name, told) in chosen(rules, What::Prompt, &offer.prompts) {
            let told = mended.fit(Of::Prompt, name, told);
            prompts.push(Thing::of(name, told.map(|told| prompt(upstream, name, &told))));
        }
        odd.extend(mended.clauses());
        Self { tools, resources, templates, prompts, dropped: dropped.collect(), odd }
    }
}

impl<T> Thing<T> {
    fn of(there: &str, made: Result<T, String>) -> Self {
        Self { there: there.into(), made }
    }
}

const OUTPUT: &str = "outputSchema";

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

/// A tool, without the schema of its results where nothing can be made of that.
fn tool(
    upstream: &Arc<Upstream>,
    rules: &Rules,
    (name, here, definition): (&str, &str, &RawValue),
    (odd, mended): (&mut Vec<String>, &mut Mended),
) -> Result<Tool, String> {
    let mut doubts = Vec::new();
    let made = match shaped(upstream, rules, (name, here, definition), &mut doubts) {
        Err(BuildError::BadSchema { part: "output", reason, .. }) => {
            mended.note(name, [format!("`{OUTPUT}` is left out: {reason}")], 0);
            doubts.clear();
            let rest = normal::without(definition.get(), OUTPUT).unwrap_or_default();
            let rest = RawValue::from_string(rest).map_err(|error| error.to_string())?;
            shaped(upstream, rules, (name, here, &rest), &mut doubts)
        }
        made => made,
    };
    odd.append(&mut doubts);
    made.map_err(|error| error.to_string())
}

fn shaped(
    upstream: &Arc<Upstream>,
    rules: &Rules,
    (name, here, definition): (&str, &str, &RawValue),
    odd: &mut Vec<String>,
) -> Result<Tool, BuildError> {
    let hints = member(definition.get(), "annotations").unwrap_or("null");
    let says = |hint| member(hints, hint) == Some("true");
    let is_repeatable = says("readOnlyHint") || says("idempotentHint");
    let forward = Forward { is_repeatable, ..way(upstream, name) };
    let tool = match rules.tools.of(name) {
        None => {
            let full = format!("{}{name}", upstream.settings.prefix);
            Tool::relayed(full, definition.to_owned(), forward).told_as(here)
        }
        Some(rule) => {
            let shaped = shape(&rule, rules.tools.naming(name), definition);
            odd.extend(doubts(name, &shaped));
            let is_given = rule.name.is_some();
            let full = rule.name.unwrap_or_else(|| format!("{}{name}", upstream.settings.prefix));
            let here = if is_given { full.clone() } else { here.to_owned() };
            let tool = match shaped.given {
                None => Tool::relayed(full, shaped.definition, forward),
                Some(given) => {
                    let (inner, name) = (Arc::new(forward), here.as_str().into());
                    let ruled = Ruled { inner, given, name };
                    Tool::relayed(full, shaped.definition, ruled)
                }
            };
            tool.told_as(&here)
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
    tool.verified()
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
        family = family.addressed(move |uri| selection.address(uri));
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

/// The names of the tools that the file lets through, as clients are told them.
fn tool_names(prefix: &str, rules: &Rules, tools: &[Listed]) -> Vec<String> {
    let full = chosen(rules, What::Tool, tools).map(|(name, _)| format!("{prefix}{name}"));
    match rules.name_bytes_max {
        Some(bytes_max) => portable_names(&full.collect::<Vec<_>>(), bytes_max),
        None => full.map(as_known).collect(),
    }
}

/// The name of a prompt here.
fn exposed(prefix: &str, name: &str) -> String {
    as_known(format!("{prefix}{name}"))
}

/// A name as the protocol has it: what it refuses is replaced, and what is too long cut off; then
/// its end tells it from others.
fn as_known(full: String) -> String {
    match full.len() <= PORTABLE_NAME_BYTES_MAX && is_valid_name(&full) {
        true => full,
        false => told_apart(&full, PORTABLE_NAME_BYTES_MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_every_client_takes_stays_as_it_is() {
        assert_eq!(exposed("github_", "search.code-2"), "github_search.code-2");
        assert_eq!(exposed("", "add"), "add");
        let longest = "x".repeat(PORTABLE_NAME_BYTES_MAX - 2);
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
            assert!(is_valid_name(name) && name.len() <= PORTABLE_NAME_BYTES_MAX, "{name}");
            assert!(!names[..place].contains(name), "{name}");
        }
        assert_eq!(exposed("a_", "zwei worte"), "a_zwei_worte_daa9f6ca");
    }
}
