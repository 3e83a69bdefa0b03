//! What views make of tools that upstreams have: other names, descriptions and arguments, in that
//! view alone. And which of their words are about nothing. Called by `gateway` for all that is to
//! be served; what upstreams' own rules say was done before.

use crate::catalogue::{Odd, Whose};
use crate::idle;
use crate::rules::{Ruled, doubts, shape};
use haft_manifest::{Guest, Guests, Owned, ToolRule, View, What};
use haft_server::{Prompt, Resource, ResourceTemplate, Tool};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Makes the tools that are other in views, and says what of these is odd.
pub(crate) fn tailor(views: &[View], own: &Owned, guests: &mut Guests) -> Vec<Odd> {
    let mut odd = Vec::new();
    for view in views {
        let whose = Whose::View(view.name.as_str().into());
        let mut say = |what: String| odd.push(Odd { whose: whose.clone(), what });
        let tools = tools(view, own, &guests.of, &mut say);
        if !tools.is_empty() {
            guests.tailored.insert(view.name.clone(), tools);
        }
        // Of one that is away nobody knows what it has.
        let mut seen = guests.of.iter().filter(|guest| view.has_of(&guest.upstream));
        if seen.all(|guest| guest.missing.is_empty()) {
            let names = |what| names(what, view, own, &guests.of);
            idle::clauses(view.selection(), view.tools(), names).into_iter().for_each(say);
        }
    }
    odd
}

/// The tools that are other in a view, by their names elsewhere.
fn tools(
    view: &View,
    own: &Owned,
    guests: &[Guest],
    say: &mut impl FnMut(String),
) -> HashMap<String, Tool> {
    let of_view = guests.iter().flat_map(|guest| {
        let has = |tool: &&Tool| view.has(Some(&guest.upstream), What::Tool, tool.name());
        guest.tools.iter().filter(has)
    });
    let ruled = |tool: &Tool| view.tools().of(tool.name());
    let (others, plain): (Vec<&Tool>, Vec<&Tool>) = of_view.partition(|tool| ruled(tool).is_some());
    // Whose name stays as it is keeps it, and so does what the file has.
    let mut taken: HashSet<String> = plain.iter().map(|tool| tool.name().to_owned()).collect();
    taken.extend(own.tools.iter().cloned());
    let is_renamed = |tool: &&&Tool| ruled(tool).is_some_and(|rule| rule.name.is_some());
    let unnamed = others.iter().filter(|tool| !is_renamed(tool));
    taken.extend(unnamed.map(|tool| tool.name().to_owned()));
    let mut made = HashMap::new();
    for tool in others {
        let Some(mut rule) = ruled(tool) else { continue };
        let name = tool.name();
        if let Some(new) = rule.name.take_if(|new| !taken.insert(new.clone())) {
            say(format!("`tools` calls `{name}` `{new}`, as another tool is called there"));
            if !taken.insert(name.to_owned()) {
                continue;
            }
        }
        match tailored(tool, &rule, view.tools().naming(name), say) {
            Ok(tool) => _ = made.insert(name.to_owned(), tool),
            Err(why) => say(format!("`{name}` is as it is elsewhere: {why}")),
        }
    }
    made
}

/// A tool as a rule wants it.
fn tailored(
    tool: &Tool,
    rule: &ToolRule,
    naming: Option<&ToolRule>,
    say: &mut impl FnMut(String),
) -> Result<Tool, String> {
    let not_passed_on = || "it is not passed on".to_owned();
    let shaped = shape(rule, naming, tool.told_there().ok_or_else(not_passed_on)?);
    doubts(tool.name(), &shaped).into_iter().for_each(say);
    let here = rule.name.as_deref().unwrap_or_else(|| tool.name());
    let retold = tool.retold(here, shaped.definition, |inner| match shaped.given {
        None => inner,
        Some(given) => Arc::new(Ruled { inner, given, name: here.into() }),
    });
    retold.ok_or_else(not_passed_on)?.verified().map_err(|error| error.to_string())
}

/// The names of all things of a kind that a view could have.
fn names<'n>(what: What, view: &View, own: &'n Owned, guests: &'n [Guest]) -> Vec<&'n str> {
    let mut names: Vec<&str> = Vec::new();
    let owned: &[&HashSet<String>] = match what {
        What::Tool => &[&own.tools],
        What::Resource => &[&own.resources, &own.templates],
        What::Prompt => &[&own.prompts],
    };
    names.extend(owned.iter().flat_map(|names| names.iter()).map(String::as_str));
    for guest in guests.iter().filter(|guest| view.has_of(&guest.upstream)) {
        match what {
            What::Tool => names.extend(guest.tools.iter().map(Tool::name)),
            What::Resource => {
                names.extend(guest.resources.iter().map(Resource::uri));
                names.extend(guest.templates.iter().map(ResourceTemplate::uri_template));
            }
            What::Prompt => names.extend(guest.prompts.iter().map(Prompt::name)),
        }
    }
    names
}
