//! What the steps of a pipeline pass on: what the called tools take. Members that pforge would let
//! fall would be mistakes here. Called by `tool`, once all tools are made.

use super::build::{self, Mapping};
use super::placeholder::{is_path, reading};
use super::section::{Section, Work};
use super::tool::One;
use crate::tree::{Entry, Node, Tree};
use haft_server::nearest;
use std::collections::HashMap;

/// The names that each tool takes, by its name.
type Takes = HashMap<String, Vec<String>>;

/// Leaves out of every step what the tool that it calls does not take.
pub(super) fn fit(tools: &mut [One<'_>], work: &mut Work<'_>) {
    let takes: Takes = tools.iter().filter_map(taken).collect();
    for One { section, made, .. } in tools {
        let steps = made.as_mut().filter(|made| !made.calls.is_empty());
        let steps = steps.and_then(|made| made.tool.get_mut("pipeline"));
        let Some(Tree { node: Node::List(steps), .. }) = steps else { continue };
        steps.iter_mut().for_each(|step| fit_step(step, &takes, *section, work));
    }
}

fn taken(one: &One<'_>) -> Option<(String, Vec<String>)> {
    let input = one.made.as_ref()?.tool.get("input")?.entries()?;
    let name = |entry: &Entry| entry.key.strip_suffix('?').unwrap_or(&entry.key).to_owned();
    Some((one.name.value.clone(), input.iter().map(name).collect()))
}

fn fit_step(step: &mut Tree, takes: &Takes, section: Section<'_>, work: &mut Work<'_>) {
    let Some(Node::Text(tool)) = step.get("call").map(|call| call.node.clone()) else { return };
    let Node::Map(entries) = &mut step.node else { return };
    let Some(with) = entries.iter_mut().find(|entry| entry.key == "with") else { return };
    let names = takes.get(&tool);
    let is_taken = |entry: &Entry| names.is_none_or(|names| names.contains(&entry.key));
    match &mut with.value.node {
        Node::Map(entries) => {
            for entry in entries.iter().filter(|entry| !is_taken(entry)) {
                let names = names.into_iter().flatten().map(String::as_str);
                let near = nearest(&entry.key, names);
                let help = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                let message = format!("`{tool}` takes no `{}`: it gets none{help}", entry.key);
                work.note(section, entry.key_place, message);
            }
            entries.retain(is_taken);
        }
        _ => with.value = members(&with.value, names.map_or(&[], Vec::as_slice)),
    }
}

/// The members of a value that is passed on whole.
fn members(whole: &Tree, names: &[String]) -> Tree {
    let path = match &whole.node {
        Node::Text(text) => text.trim().trim_start_matches("{{").trim_end_matches("}}").trim(),
        _ => "",
    };
    let value = if is_path(path) { reading(path) } else { format!("({path})") };
    let mut with = Mapping::new(whole.place);
    for name in names {
        let quoted = serde_json::Value::from(name.as_str());
        with.put(name, build::text(whole.place, format!("{{{{ {value}[{quoted}] }}}}")));
    }
    with.tree()
}
