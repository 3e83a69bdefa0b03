//! What views make of tools that upstreams have: other names, descriptions and arguments, in that
//! view alone. And which of their words are about nothing. Asked by `gateway`, and by whoever puts
//! a view together; what upstreams' own rules say was done before.

use crate::catalogue::{Odd, Whose};
use crate::idle;
use crate::rules::{Given, Ruled, doubts, shape};
use haft_manifest::{Guests, Owned, ToolRule, View, What};
use haft_proto::spec::tool_result::ToolResult;
use haft_server::{
    Handling, Middleware, Next, Outcome, Prompt, Request, Resource, ResourceTemplate, Tool,
};
use std::collections::{HashMap, HashSet};
use std::future::ready;
use std::sync::Arc;

/// The tools that are other in a view, by their names elsewhere; `None` for those that it cannot
/// have as it wants them. What is odd of that is said.
pub(crate) fn tools(
    view: &View,
    own: &Owned,
    guests: &Guests,
    say: &mut dyn FnMut(String),
) -> HashMap<String, Option<Tool>> {
    // What is called as elsewhere keeps its name, and so does what the file has. Whether a tool is
    // there or may come back makes no difference to the names of others.
    let mut taken = own.tools.clone();
    let mut renamed = Vec::new();
    let mut made = HashMap::new();
    for (name, tool) in known(view, guests) {
        let rule = view.tools().of(name);
        if rule.as_ref().is_some_and(|rule| rule.name.is_some()) {
            renamed.extend(rule.map(|rule| (name, tool, rule)));
            continue;
        }
        taken.insert(name.to_owned());
        if let Some((rule, tool)) = rule.zip(tool) {
            made.insert(name.to_owned(), fitted(tool, rule, view, say));
        }
    }
    for (name, tool, rule) in renamed {
        let new = rule.name.as_deref().unwrap_or_default();
        let is_free = taken.insert(new.to_owned());
        let Some(tool) = tool else { continue };
        if !is_free {
            let clash = format!("`tools` calls `{name}` `{new}`, which is another's name there");
            say(format!("{clash}: it is left out"));
        }
        made.insert(name.to_owned(), is_free.then(|| fitted(tool, rule, view, say)).flatten());
    }
    made
}

/// What views say, and cannot be meant.
pub(crate) fn odd(views: &[View], own: &Owned, guests: &Guests) -> Vec<Odd> {
    let mut odd = Vec::new();
    for view in views {
        let whose = Whose::View(view.name.as_str().into());
        let mut say = |what: String| odd.push(Odd { whose: whose.clone(), what });
        tools(view, own, guests, &mut say);
        // Of one that is away nobody knows what it has.
        let mut seen = guests.of.iter().filter(|guest| view.has_of(&guest.upstream));
        if seen.all(|guest| guest.missing.is_empty()) {
            let choices = idle::choices(view.selection(), |what| names(what, view, own, guests));
            let tools: Vec<&str> = known(view, guests).map(|(name, _)| name).collect();
            choices.into_iter().chain(idle::rules(view.tools(), &tools)).for_each(say);
        }
    }
    odd
}

/// The tools of upstreams that a view has, by their names elsewhere; only the names of those that
/// are away.
fn known<'g>(
    view: &'g View,
    guests: &'g Guests,
) -> impl Iterator<Item = (&'g str, Option<&'g Tool>)> {
    guests.of.iter().flat_map(move |guest| {
        let there = guest.tools.iter().map(|tool| (tool.name(), Some(tool)));
        let away = guest.reserved.iter().map(|name| (name.as_str(), None));
        let has = |name: &str| view.has(Some(&guest.upstream), What::Tool, name);
        there.chain(away).filter(move |(name, _)| has(name))
    })
}

/// A tool as a rule wants it; why there is none is said.
fn fitted(tool: &Tool, rule: ToolRule, view: &View, say: &mut dyn FnMut(String)) -> Option<Tool> {
    let name = tool.name();
    let changed = changed(tool, rule, view, say);
    changed.inspect_err(|why| say(format!("`{name}` is left out: {why}"))).ok()
}

fn changed(
    tool: &Tool,
    mut rule: ToolRule,
    view: &View,
    say: &mut dyn FnMut(String),
) -> Result<Tool, String> {
    let not_passed_on = || "it is not passed on".to_owned();
    let told = tool.told_there().ok_or_else(not_passed_on)?;
    let mut shaped = shape(&rule, view.tools().naming(tool.name()), told);
    doubts(tool.name(), &shaped).into_iter().for_each(say);
    if !shaped.absent.is_empty() {
        // They may be no business of views either.
        rule.fixed.retain(|(argument, _)| !shaped.absent.contains(argument));
        shaped = shape(&rule, None, told);
    }
    let here = rule.name.as_deref().unwrap_or_else(|| tool.name());
    let retold = match shaped.given {
        None => tool.retold(here, shaped.definition, |inner| inner),
        // What stands around it must know all arguments, as a cache does.
        Some(given) if tool.has_middleware() => {
            let around = Giving { given: Arc::new(given), name: here.into() };
            let retold = tool.retold(here, shaped.definition, |inner| inner);
            retold.map(|tool| tool.outer_middleware(around))
        }
        Some(given) => tool.retold(here, shaped.definition, |inner| {
            Arc::new(Ruled { inner, given, name: here.into() })
        }),
    };
    retold.ok_or_else(not_passed_on)?.verified().map_err(|error| error.to_string())
}

/// Gives a call the arguments that are no business of who calls.
struct Giving {
    given: Arc<Given>,
    name: Box<str>,
}

impl Middleware for Giving {
    fn handle(&self, mut request: Request, next: Next) -> Handling {
        match self.given.splice(&request.arguments) {
            Ok(arguments) => request.arguments = arguments.into_owned(),
            Err(why) => {
                let text = Given::refusal(&self.name, &why);
                return Box::pin(ready(Outcome::Tool(ToolResult::error(text))));
            }
        }
        next.run(request)
    }
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
