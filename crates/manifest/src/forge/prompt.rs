//! The prompts of a pforge file. Called by the module.

use super::build::{self, Mapping};
use super::handlebars;
use super::params::{self, Param};
use super::section::{Section, Work};
use crate::cost::Part;
use crate::fault::Wrong;
use crate::place::Placed;
use crate::problem::Problem;
use crate::template::{Compiler, Known};
use crate::tree::Tree;

/// Makes `prompts`.
pub(super) fn translate(
    file: Section<'_>,
    out: &mut Mapping,
    work: &mut Work<'_>,
) -> Result<(), Wrong> {
    let mut prompts = Vec::new();
    for item in file.list("prompts")? {
        let nameless = Section::new(item, Part::Prompt, "", "prompts")?;
        let Some(name) = nameless.text("name")? else {
            let (owner, key) = ("a prompt".to_owned(), "name".to_owned());
            return Err(Wrong::new(item.place, Problem::MissingKey { owner, key }));
        };
        let section = Section { name: &name.value, ..nameless };
        match prompt(section, work) {
            Ok(prompt) => prompts.extend(prompt),
            Err(wrong) => work.leave_out(section, &wrong),
        }
    }
    if let Some(entry) = file.entry("prompts") {
        out.put_at("prompts", entry.key_place, build::list(entry.value.place, prompts));
    }
    Ok(())
}

fn prompt(section: Section<'_>, work: &mut Work<'_>) -> Result<Option<Tree>, Wrong> {
    let place = section.tree.place;
    let name = section.need("name")?;
    let declared = params::params(section, "arguments", work)?.unwrap_or_default();
    const KNOWN: [&str; 4] = ["name", "description", "template", "arguments"];
    section.know(&KNOWN, work);
    let Some(template) = section.text("template")? else {
        work.note(section, name.place, "left out: it says nothing; give it a `template`");
        return Ok(None);
    };
    // Arguments of prompts have no defaults of their own: the template has them.
    let default = |param: &Param| {
        let default = param.schema.get("default")?.to_json();
        Some((param.name.value.clone(), default))
    };
    let defaults: Vec<_> = declared.iter().filter_map(default).collect();
    let read = handlebars::read(&template.value, &defaults);
    if read.is_broken {
        work.note(section, template.place, "left out: a block of its `template` has no end");
        return Ok(None);
    }
    for unknown in &read.unknown {
        work.note(section, template.place, format!("`{unknown}` stays as it is in the text"));
    }
    let mut arguments = Mapping::new(place);
    for param in &declared {
        let mut argument = Mapping::new(param.name.place);
        if let Some(description) = param.schema.get("description") {
            argument.put("description", description.clone());
        }
        let is_required = param.is_required && !param.schema.has("default");
        argument.put("required", build::truth(param.name.place, is_required));
        arguments.put_at(&param.name.value, param.name.place, argument.tree());
    }
    for (name, is_needed) in &read.names {
        if arguments.has(name) {
            continue;
        }
        let mut argument = Mapping::new(template.place);
        argument.put("required", build::truth(template.place, *is_needed));
        arguments.put_at(name, template.place, argument.tree());
    }
    let names: Vec<_> = declared.iter().map(|param| param.name.value.clone()).collect();
    let names: Vec<_> = names.into_iter().chain(read.names.into_iter().map(|it| it.0)).collect();
    let known = Known { names: &names, is_open: false, none: "" };
    let text = Placed::new(template.place, read.template.clone());
    if Compiler::new(work.surroundings).compile(text, known).is_err() {
        let why = "left out: its `template` becomes none of haft's; write it as `text` in a \
                   haft.yaml";
        work.note(section, template.place, why);
        return Ok(None);
    }
    let mut out = Mapping::new(place);
    out.put("name", build::text(name.place, name.value));
    if let Some(text) = section.text("description")? {
        out.put("description", build::text(text.place, text.value.replace("${", "$${")));
    }
    out.put("arguments", arguments.tree());
    out.put("text", build::text(template.place, read.template));
    Ok(Some(out.tree()))
}
