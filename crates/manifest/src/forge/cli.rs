//! `type: cli` becomes `command`. Called by `tool`.

use super::around;
use super::build::{self, Mapping};
use super::params::{self, Param};
use super::placeholder::{ARGUMENT, REQUEST, Slots, VALUE, literal, reading};
use super::section::{Section, Work, text_of};
use super::tool::{Given, Made};
use crate::fault::Wrong;
use crate::place::{Place, Placed};
use crate::written::tool::Foreign;

/// Of what the file does not say: nothing is wrong with how it is written.
const NOWHERE: Place = Place { start: 0, end: 0 };

pub(super) fn translate(
    section: Section<'_>,
    mut tool: Mapping,
    work: &mut Work<'_>,
) -> Result<Option<Made>, Wrong> {
    let program = section.need("command")?;
    if Slots::names_any(&program.value, ARGUMENT) {
        let why = "left out: whoever calls would choose the program; name it in `command`";
        work.note(section, program.place, why);
        return Ok(None);
    }
    let mut given = Given::new(section, work)?;
    let place = section.tree.place;
    let mut command = Vec::new();
    if let Some(cwd) = section.text("cwd")? {
        let is_chosen = given.slots.names_argument(&cwd.value, REQUEST);
        if is_chosen || Slots::names_any(&cwd.value, REQUEST) {
            let why = "left out: whoever calls would choose the directory that the program runs \
                       in, and what it finds there; name it in `cwd`, or pass it in `args`";
            work.note(section, cwd.place, why);
            return Ok(None);
        }
        tool.put("cwd", build::text(cwd.place, given.slots.template(&cwd, VALUE)));
    }
    command.push(build::text(program.place, literal(&program.value)));
    for argument in section.list("args")? {
        let argument = text_of(argument, "args")?;
        let template = given.slots.template(&argument, ARGUMENT);
        command.push(build::text(argument.place, template));
    }
    env(section, &mut given, &mut tool)?;
    let mut more = Vec::new();
    if given.is_open() || given.slots.found.iter().any(|found| found.value == "args") {
        if given.is_open() {
            let what = "whoever calls may add any arguments; say `params: {}` if not";
            work.note(section, program.place, what);
            command.push(build::text(NOWHERE, "{{args}}"));
        }
        more.push(args(place));
    }
    // Parameters that no text names stand at the end, in their order.
    for param in given.params.iter().flatten() {
        if !given.slots.used.contains(&param.name.value) {
            let is_there = param.is_required || param.schema.has("default");
            let place = if is_there { param.name.place } else { NOWHERE };
            command.push(build::text(place, format!("{{{{{}}}}}", reading(&param.name.value))));
        }
    }
    tool.put("command", build::list(program.place, command));
    tool.put("output", build::text(place, "report"));
    if section.truth("stream")? == Some(true) {
        let place = section.entry("stream").map_or(place, |entry| entry.key_place);
        work.note(
            section,
            place,
            "`stream` changes nothing: the answer comes when the program ends",
        );
    }
    around::of_tool(section, false, &mut tool, work)?;
    let waiting = around::bulkhead(section, &mut tool, work)?;
    let input = given.input(section, place, more, work);
    tool.put("input", input);
    section.know_of_tool(&["args", "command", "cwd", "env", "stream"], work);
    Ok(Some(Made { tool, foreign: Foreign { waiting, ..Foreign::default() }, calls: Vec::new() }))
}

fn env(section: Section<'_>, given: &mut Given, tool: &mut Mapping) -> Result<(), Wrong> {
    let tree = section.get("env");
    let mut env = Mapping::new(tree.map_or(NOWHERE, |tree| tree.place));
    if let Some(tree) = tree {
        section.within(tree, "env")?;
        for entry in tree.entries().unwrap_or_default() {
            let value = text_of(&entry.value, &entry.key)?;
            let template = given.slots.template(&value, VALUE);
            env.put_at(&entry.key, entry.key_place, build::text(value.place, template));
        }
    }
    // Programs of pforge read variables that its files have no way to name.
    env.put("inherit", build::text(NOWHERE, "all"));
    tool.put("env", env.tree());
    Ok(())
}

/// What callers may add to a program whose file names no parameters.
fn args(place: Place) -> Param {
    let mut schema = params::typed(place, "array");
    schema.put("items", params::typed(place, "string").tree());
    schema.put("description", build::text(place, "Further arguments of the program."));
    Param { name: Placed::new(place, "args".to_owned()), schema, is_required: false }
}
