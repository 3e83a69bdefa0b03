//! What views make of tools that upstreams have: other names, descriptions and arguments, in that
//! view alone. And which of their words are about nothing. Asked by `gateway`, and by whoever puts
//! a view together; what upstreams' own rules say was done before.

use crate::fit::Wardrobe;
use crate::idle;
use crate::told::{Odds, Whose};
use haft_manifest::{Guests, Owned, View, What};
use haft_server::{Prompt, Resource, ResourceTemplate, Tool};
use std::collections::{HashMap, HashSet};

/// The tools that are other in a view, by their names elsewhere; `None` for those that it cannot
/// have as it wants them. What is odd of that is said. Names that the file gives come before all
/// that upstreams say, so that none of them can take one.
pub(crate) fn tools(
    view: &View,
    own: &Owned,
    guests: &Guests,
    wardrobe: &Wardrobe,
    say: &mut dyn FnMut(&str),
) -> HashMap<String, Option<Tool>> {
    let rules = view.tools().iter();
    let given: HashMap<&str, &str> =
        rules.filter_map(|(whose, rule)| Some((rule.name.as_deref()?, whose.as_str()))).collect();
    let mut fitting = wardrobe.fitting(&view.name, view.tools());
    let mut made = HashMap::new();
    for tool in of_view(view, guests) {
        let (name, rule) = (tool.name(), view.tools().of(tool.name()));
        let clash = match rule.as_ref().and_then(|rule| rule.name.as_deref()) {
            Some(new) if own.tools.contains(new) => {
                Some(format!("`tools` calls it `{new}`, which is a name of this server's file"))
            }
            Some(_) => None,
            None => given.get(name).map(|whose| format!("`tools` calls `{whose}` so")),
        };
        if let Some(why) = clash {
            say(&format!("`{name}` is left out: {why}"));
            made.insert(name.to_owned(), None);
        } else if let Some(rule) = rule {
            let fit = fitting.fit(tool, rule);
            fit.odd.iter().for_each(|odd| say(odd));
            made.insert(name.to_owned(), fit.made.clone());
        }
    }
    fitting.end();
    made
}

/// What views say, and cannot be meant.
pub(crate) fn odd(
    views: &[View],
    own: &Owned,
    guests: &Guests,
    wardrobe: &Wardrobe,
    odd: &mut Odds,
) {
    wardrobe.keep(|name| views.iter().any(|view| view.name == name));
    for view in views {
        let whose = Whose::View(view.name.as_str().into());
        let mut say = |what: &str| odd.push(&whose, what);
        tools(view, own, guests, wardrobe, &mut say);
        // Of one that is away nobody knows what it has.
        let mut seen = guests.of.iter().filter(|guest| view.has_of(&guest.upstream));
        if seen.all(|guest| guest.missing.is_empty()) {
            let choices = idle::choices(view.selection(), |what| names(what, view, own, guests));
            let tools: Vec<&str> = of_view(view, guests).map(Tool::name).collect();
            let idle = choices.into_iter().chain(idle::rules(view.tools(), &tools));
            idle.for_each(|what| say(&what));
        }
    }
}

/// The tools of upstreams that a view has.
fn of_view<'g>(view: &'g View, guests: &'g Guests) -> impl Iterator<Item = &'g Tool> {
    guests.of.iter().flat_map(move |guest| {
        let has = |tool: &&Tool| view.has(Some(&guest.upstream), What::Tool, tool.name());
        guest.tools.iter().filter(has)
    })
}

/// The names of all things of a kind that a view could choose.
fn names<'n>(what: What, view: &View, own: &'n Owned, guests: &'n Guests) -> Vec<&'n str> {
    let mut names: Vec<&str> = Vec::new();
    let owned: &[&HashSet<String>] = match what {
        What::Tool => &[&own.tools],
        What::Resource => &[&own.resources, &own.templates],
        What::Prompt => &[&own.prompts],
    };
    names.extend(owned.iter().flat_map(|names| names.iter()).map(String::as_str));
    for guest in guests.of.iter().filter(|guest| view.has_of(&guest.upstream)) {
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
