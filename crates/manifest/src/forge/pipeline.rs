//! `type: pipeline` becomes `pipeline`. Called by `tool`.

use super::around;
use super::build::{self, Mapping};
use super::condition;
use super::params::{self, Param};
use super::placeholder::{self, ARGUMENT, Piece, literal};
use super::section::{Section, Work};
use super::tool::{Given, Made};
use crate::alias;
use crate::fault::Wrong;
use crate::limits::TIMEOUT_MAX;
use crate::place::{Place, Placed};
use crate::problem::Problem;
use crate::tree::{Entry, Node, Tree};
use crate::written::tool::{Foreign, Variables};
use haft_server::nearest;

pub(super) fn translate(
    section: Section<'_>,
    mut tool: Mapping,
    work: &mut Work<'_>,
) -> Result<Made, Wrong> {
    let place = section.tree.place;
    let given = Given::new(section, work)?;
    let steps = section.list("steps")?;
    if steps.is_empty() {
        let help = "name a tool to call: - tool: NAME";
        let list = section.get("steps");
        return Err(list.map_or_else(
            || section.lacks("steps"),
            |list| Wrong::new(list.place, Problem::EmptyList { key: "steps", help }),
        ));
    }
    let mut made: Vec<String> = given.slots.declared.clone();
    let (mut list, mut calls) = (Vec::new(), Vec::new());
    for step in steps {
        let step = section.within(step, "steps")?;
        calls.push(step.need("tool")?);
        list.push(self::step(step, &mut made, work)?);
    }
    let steps = section.entry("steps").map_or(place, |entry| entry.value.place);
    tool.put("pipeline", build::list(steps, list));
    let variables = if given.params.is_none() { Variables::Members } else { Variables::Arguments };
    around::of_tool(section, false, &mut tool, work)?;
    let waiting = around::bulkhead(section, &mut tool, work)?;
    let input = match given.params {
        None => params::input(place, vec![self::variables(place)]),
        Some(params) => params::input(place, params),
    };
    tool.put("input", input);
    section.know_of_tool(&["steps"], work);
    let foreign = Foreign { steps: Some(variables), waiting, ..Foreign::default() };
    Ok(Made { tool, foreign, calls })
}

/// A step; `made` are the names that it can see.
fn step(step: Section<'_>, made: &mut Vec<String>, work: &mut Work<'_>) -> Result<Tree, Wrong> {
    let mut out = Mapping::new(step.tree.place);
    let tool = step.need("tool")?;
    out.put("call", build::text(tool.place, tool.value));
    if let Some(entry) = step.any(&["input", "inputs", "params", "with"]) {
        step.within(&entry.value, &entry.key)?;
        out.put_at("with", entry.key_place, templates(&entry.value));
    } else if let Some(from) = step.text("input_from")? {
        // `passed` makes of it what the tool takes.
        out.put("with", build::text(from.place, from.value));
    }
    if let Some(when) = step.any(&["condition", "when", "if"]) {
        let text = super::section::text_of(&when.value, &when.key)?;
        let expression = condition::translate(&text.value, made);
        let when_tree = build::text(text.place, format!("{{{{ {expression} }}}}"));
        out.put_at("when", when.key_place, when_tree);
    }
    if policy(step)? {
        out.put("on_error", build::text(step.tree.place, "continue"));
    }
    if let Some(entry) = step.any(&["output_var", "output_key", "output"]) {
        let name = super::section::text_of(&entry.value, &entry.key)?;
        let alias = alias::inner(&name.value).into_owned();
        out.put_at("as", entry.key_place, build::text(name.place, alias));
        made.push(name.value);
    }
    if let Some(entry) = step.any(&["timeout_ms", "timeout"]) {
        let time = around::time(step, entry, TIMEOUT_MAX, work)?;
        out.put_at("timeout", entry.key_place, time);
    }
    const KNOWN: [&str; 18] = [
        "tool",
        "name",
        "description",
        "input",
        "inputs",
        "params",
        "with",
        "input_from",
        "condition",
        "when",
        "if",
        "error_policy",
        "on_error",
        "output_var",
        "output_key",
        "output",
        "timeout_ms",
        "timeout",
    ];
    step.know(&KNOWN, work);
    Ok(out.tree())
}

/// Whether the pipeline goes on after this step has failed.
fn policy(step: Section<'_>) -> Result<bool, Wrong> {
    let Some(Entry { key, value, .. }) = step.any(&["error_policy", "on_error"]) else {
        return Ok(false);
    };
    let word = super::section::text_of(value, key)?;
    match &*word.value {
        "continue" => Ok(true),
        "fail_fast" | "fail" | "stop" => Ok(false),
        _ => {
            let known = ["fail_fast", "continue"];
            let nearest = nearest(&word.value, known).map(str::to_owned);
            let known = known.map(str::to_owned).to_vec();
            let problem =
                Problem::UnknownWord { key: key.clone(), word: word.value, nearest, known };
            Err(Wrong::new(word.place, problem))
        }
    }
}

/// A value of any shape with templates in its texts. Every name may be one that callers give.
fn templates(tree: &Tree) -> Tree {
    let place = tree.place;
    match &tree.node {
        Node::Text(text) => {
            let mut out = String::new();
            for piece in placeholder::pieces(text, ARGUMENT) {
                match piece {
                    Piece::Name(path) => {
                        placeholder::keep_dollars(&mut out, 1);
                        out.push_str(&format!("{{{{{}}}}}", placeholder::reading(path)));
                    }
                    Piece::Text(text) => out.push_str(&literal(text)),
                    Piece::Variable(name) => out.push_str(&format!("$${{{name}}}")),
                }
            }
            build::text(place, out)
        }
        Node::List(items) => build::list(place, items.iter().map(templates).collect()),
        Node::Map(entries) => {
            let mut out = Mapping::new(place);
            for entry in entries {
                out.put_at(&entry.key, entry.key_place, templates(&entry.value));
            }
            out.tree()
        }
        Node::Bool(..) | Node::Null | Node::Number(..) => tree.clone(),
    }
}

/// What callers give to a pipeline whose file names no parameters.
fn variables(place: Place) -> Param {
    let mut schema = params::typed(place, "object");
    let what = "Values by the names that the steps have for them.";
    schema.put("description", build::text(place, what));
    let name = Placed::new(place, "variables".to_owned());
    Param { name, schema, is_required: false }
}
