//! The tools of a pforge file: which kind each is, what all kinds have in common, and which of them
//! can be served. Called by the module.

use super::build::{self, Mapping};
use super::params::{self, Param};
use super::placeholder::Slots;
use super::section::{Section, Work};
use super::{calls, cli, compiled, http, passed, pipeline};
use crate::around::Around;
use crate::cost::Part;
use crate::decode::decode;
use crate::fault::{Wrong, line_of};
use crate::place::{Place, Placed};
use crate::problem::Problem;
use crate::template::Compiler;
use crate::tree::Tree;
use crate::written;
use crate::written::tool::Foreign;
use haft_server::nearest;

/// A tool of haft.
pub(super) struct Made {
    pub(super) tool: Mapping,
    pub(super) foreign: Foreign,
    /// The tools that it calls.
    pub(super) calls: Vec<Placed<String>>,
}

impl Made {
    fn foreign(&self) -> Foreign {
        Foreign { has_aliases: true, ..self.foreign }
    }
}

/// A tool of the file, and what has become of it.
pub(super) struct One<'t> {
    pub(super) section: Section<'t>,
    pub(super) name: Placed<String>,
    /// `None` is left out.
    pub(super) made: Option<Made>,
}

const TYPES: [&str; 5] = ["cli", "http", "pipeline", "native", "bridge"];

/// Makes `tools`, and tells what they do beside it.
pub(super) fn translate(
    file: Section<'_>,
    out: &mut Mapping,
    work: &mut Work<'_>,
) -> Result<Vec<Foreign>, Wrong> {
    let items = file.list("tools")?;
    let mut names: Vec<Placed<String>> = Vec::new();
    for item in items {
        let name = Section::new(item, Part::Tool, "", "tools")?;
        let Some(name) = name.text("name")? else {
            let (owner, key) = ("a tool".to_owned(), "name".to_owned());
            return Err(Wrong::new(item.place, Problem::MissingKey { owner, key }));
        };
        if let Some(first) = names.iter().find(|first| first.value == name.value) {
            let first_line = line_of(work.surroundings.text, first.place);
            let problem = Problem::DuplicateName { kind: "tool", name: name.value, first_line };
            return Err(Wrong::new(name.place, problem));
        }
        names.push(name);
    }
    let defaults = match out.get("defaults") {
        Some(tree) => Around::of_all(&decode(tree)?, work.surroundings)?,
        None => Around::default(),
    };
    let mut tools = Vec::new();
    for (item, name) in items.iter().zip(&names) {
        let section = Section { tree: item, part: Part::Tool, name: &name.value };
        let made = tool(section, name.place, work).unwrap_or_else(|wrong| {
            work.leave_out(section, &wrong);
            None
        });
        tools.push(One { section, name: name.clone(), made });
    }
    passed::fit(&mut tools, work);
    for One { section, made, .. } in &mut tools {
        if let Some(Err(wrong)) = made.as_ref().map(|made| check(made, &defaults, work)) {
            work.leave_out(*section, &wrong);
            *made = None;
        }
    }
    calls::leave_out(&mut tools, work);
    let (mut list, mut foreign) = (Vec::new(), Vec::new());
    for made in tools.into_iter().filter_map(|one| one.made) {
        foreign.push(made.foreign());
        list.push(made.tool.tree());
    }
    if let Some(entry) = file.entry("tools") {
        out.put_at("tools", entry.key_place, build::list(entry.value.place, list));
    }
    Ok(foreign)
}

fn tool(section: Section<'_>, place: Place, work: &mut Work<'_>) -> Result<Option<Made>, Wrong> {
    let kind = section.need("type")?;
    let mut tool = Mapping::new(section.tree.place);
    tool.put("name", build::text(place, section.name));
    if let Some(text) = section.text("description")? {
        tool.put("description", build::text(text.place, text.value.replace("${", "$${")));
    }
    let reason = match &*kind.value {
        "cli" => return cli::translate(section, tool, work),
        "http" => return http::translate(section, tool, work),
        "pipeline" => return pipeline::translate(section, tool, work).map(Some),
        "native" => compiled::of_tool(section)?,
        "bridge" => compiled::of_bridge(section)?,
        _ => {
            let nearest = nearest(&kind.value, TYPES.iter().copied()).map(str::to_owned);
            let known = TYPES.map(str::to_owned).to_vec();
            let (key, word) = ("type".to_owned(), kind.value);
            return Err(Wrong::new(kind.place, Problem::UnknownWord { key, word, nearest, known }));
        }
    };
    work.note(section, place, reason);
    Ok(None)
}

/// Whether haft takes a tool as it has been made.
fn check(made: &Made, defaults: &Around, work: &Work<'_>) -> Result<(), Wrong> {
    let tree = made.tool.clone().tree();
    let tool = written::tool::Tool { foreign: made.foreign(), ..decode(&tree)? };
    let mut compiler = Compiler::new(work.surroundings);
    crate::tool::check(tool, &tree, defaults, work.surroundings, &mut compiler).map(drop)
}

/// What callers give to a tool.
pub(super) struct Given {
    /// `None` is what the file says nothing of.
    pub(super) params: Option<Vec<Param>>,
    pub(super) slots: Slots,
}

impl Given {
    pub(super) fn new(section: Section<'_>, work: &mut Work<'_>) -> Result<Self, Wrong> {
        let params = params::params(section, "params", work)?;
        let names = params.iter().flatten().map(|param| param.name.value.clone());
        let slots = Slots { declared: names.collect(), ..Slots::default() };
        Ok(Self { params, slots })
    }

    /// Whether the file says nothing of what callers give, neither in `params` nor in a text.
    pub(super) fn is_open(&self) -> bool {
        self.params.is_none() && self.slots.found.is_empty()
    }

    /// The `input`: what is declared, and what texts name all the same.
    pub(super) fn input(
        self,
        section: Section<'_>,
        place: Place,
        more: Vec<Param>,
        work: &mut Work<'_>,
    ) -> Tree {
        let mut params = self.params.unwrap_or_default();
        let mut told = Vec::new();
        for found in self.slots.found {
            if more.iter().any(|param| param.name.value == found.value) {
                continue;
            }
            told.push(format!("`{}`", found.value));
            let names = params.iter().map(|param| param.name.value.as_str());
            if let Some(near) = nearest(&found.value, names) {
                let message =
                    format!("`{}` is not in `params`; did you mean `{near}`?", found.value);
                work.note(section, found.place, message);
                told.pop();
            }
            let schema = params::typed(found.place, "string");
            params.push(Param { name: found, schema, is_required: true });
        }
        if !told.is_empty() {
            let message = match &*told {
                [one] => format!("{one} is not in `params`: callers must give it, as a text"),
                all => {
                    let names = all.join(", ");
                    format!("{names} are not in `params`: callers must give them, as texts")
                }
            };
            work.note(section, place, message);
        }
        params.extend(more);
        params::input(place, params)
    }
}
