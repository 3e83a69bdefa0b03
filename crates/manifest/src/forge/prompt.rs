//! The prompts of a pforge file. Called by the module.

use super::build::{self, Mapping};
use super::handlebars;
use super::params;
use super::section::{Section, Work};
use crate::cost::Part;
use crate::fault::Wrong;
use crate::problem::Problem;
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
        prompts.extend(prompt(section, work)?);
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
    let read = handlebars::read(&template.value);
    if read.is_broken {
        work.note(section, template.place, "left out: a block of its `template` has no end");
        return Ok(None);
    }
    for unknown in &read.unknown {
        work.note(section, template.place, format!("`{unknown}` stays as it is in the text"));
    }
    let mut arguments = Mapping::new(place);
    let mut defaults = Vec::new();
    for param in &declared {
        let schema = param.schema.clone().tree();
        let default = schema.get("default");
        let mut argument = Mapping::new(param.name.place);
        if let Some(description) = schema.get("description") {
            argument.put("description", description.clone());
        }
        let is_required = param.is_required && default.is_none();
        argument.put("required", build::truth(param.name.place, is_required));
        arguments.put_at(&param.name.value, param.name.place, argument.tree());
        defaults.extend(default.map(|default| (param.name.value.clone(), default.to_json())));
    }
    for (name, is_needed) in &read.names {
        if arguments.has(name) {
            continue;
        }
        let mut argument = Mapping::new(template.place);
        argument.put("required", build::truth(template.place, *is_needed));
        arguments.put_at(name, template.place, argument.tree());
    }
    let mut out = Mapping::new(place);
    out.put("name", build::text(name.place, name.value));
    if let Some(text) = section.text("description")? {
        out.put("description", build::text(text.place, text.value.replace("${", "$${")));
    }
    out.put("arguments", arguments.tree());
    let text = with_defaults(&read.template, &defaults);
    out.put("text", build::text(template.place, text));
    Ok(Some(out.tree()))
}

/// Arguments of prompts have no defaults of their own: the template sets them.
fn with_defaults(template: &str, defaults: &[(String, serde_json::Value)]) -> String {
    let set = |(name, value): &(String, serde_json::Value)| {
        format!("{{%- set {name} = {name} | default({value}) -%}}")
    };
    let set: String = defaults.iter().map(set).collect();
    format!("{set}{template}")
}
