//! What of a server is served, by names and patterns, and what is other of its tools here: from as
//! typed to as meant. Called by `upstream` and `view`; which tools there are, nobody knows yet.

use crate::address::{canonical, loose, readings};
use crate::around::Surrounding;
use crate::fault::Wrong;
use crate::fill::Surroundings;
use crate::limits::UPSTREAM_TOOL_NAME_MAX;
use crate::pattern::Pattern;
use crate::place::{Place, Placed};
use crate::problem::Problem;
use crate::shown;
use crate::tags;
use crate::tree::{Node, Tree};
use crate::upstream::mistake::UpstreamMistake;
use crate::written::rules::{self as written, Filter, Texts};
use haft_proto::spec::tool::is_valid_name;
use std::fmt;

/// A kind of things that servers have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A tool, by its name.
    Tool,
    /// A resource, by its address, or a family of them, by its template.
    Resource,
    /// A prompt, by its name.
    Prompt,
}

impl What {
    /// All of them, in the order of the protocol's lists.
    pub const ALL: [Self; 3] = [Self::Tool, Self::Resource, Self::Prompt];

    /// What many of them are called, which is also their key.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Tool => "tools",
            Self::Resource => "resources",
            Self::Prompt => "prompts",
        }
    }
}

/// Things that are chosen, by their names. Without a word of a kind, all of that kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    include: Choice,
    exclude: Choice,
    /// Addresses that are taken out, as whoever is least exact reads them.
    excluded: Vec<Pattern>,
}

/// In the order of [`What::ALL`].
type Choice = [Option<Vec<Pattern>>; 3];

impl Selection {
    /// Checks what is typed: what is in, and what is out, of each kind.
    pub(crate) fn check(
        include: [Option<Texts>; 3],
        exclude: [Option<Texts>; 3],
        surroundings: &Surroundings<'_>,
    ) -> Result<Self, Wrong> {
        let (include, exclude) = (choice(include, surroundings)?, choice(exclude, surroundings)?);
        let excluded = exclude[What::Resource as usize].iter().flatten();
        let excluded = excluded.map(|pattern| Pattern::new(loose(pattern.as_str()))).collect();
        Ok(Self { include, exclude, excluded })
    }

    /// Whether it has a thing of that name or address.
    #[must_use]
    pub fn has(&self, what: What, name: &str) -> bool {
        let is_included = |patterns: &Vec<Pattern>| patterns.iter().any(|one| one.fits(name));
        self.include[what as usize].as_ref().is_none_or(is_included) && !self.excludes(what, name)
    }

    /// Whether a thing of that name or address is taken out.
    #[must_use]
    pub fn excludes(&self, what: What, name: &str) -> bool {
        let is_named = self.exclude[what as usize].iter().flatten().any(|one| one.fits(name));
        is_named || what == What::Resource && self.excludes_address(name)
    }

    fn excludes_address(&self, uri: &str) -> bool {
        let fits = |reading: String| self.excluded.iter().any(|pattern| pattern.fits(&reading));
        !self.excluded.is_empty() && readings(uri).any(fits)
    }

    /// The address to ask for where one is of a family that this takes something out of; nothing,
    /// if it is taken out, or may be by whoever reads it.
    #[must_use]
    pub fn address(&self, uri: &str) -> Option<String> {
        let canonical = canonical(uri)?;
        let is_out = |uri: &str| self.excludes(What::Resource, uri);
        (!is_out(uri) && !is_out(&canonical)).then_some(canonical)
    }

    /// Whether anything of that kind is.
    #[must_use]
    pub fn excludes_any(&self, what: What) -> bool {
        self.exclude[what as usize].is_some()
    }

    /// Its patterns: under which key each stands, what it is about, and itself.
    pub fn patterns(&self) -> impl Iterator<Item = (&'static str, What, &Pattern)> {
        let keys = [("include", &self.include), ("exclude", &self.exclude)];
        keys.into_iter().flat_map(|(key, choice)| {
            What::ALL.into_iter().zip(choice).flat_map(move |(what, patterns)| {
                patterns.iter().flatten().map(move |pattern| (key, what, pattern))
            })
        })
    }
}

/// What of an upstream is served, and what is other of its tools here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// What is served, by its names there.
    pub selection: Selection,
    /// What is other of its tools, by their names there.
    pub tools: ToolRules,
    /// What the file's `defaults` put around all of its tools, but for their time limit.
    pub around: Option<Surrounding>,
    /// How long the names of its tools are at most as clients are told them, which are those that
    /// all clients take; with nothing, they are told as they are.
    pub name_bytes_max: Option<usize>,
    /// How many of its tools are served at most.
    pub tools_max: usize,
    /// Arguments that a tool does not have are left out; `None` before it is known what the file
    /// says.
    pub leaves_out_extra: Option<bool>,
}

/// What is other of tools whose names fit, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolRules(Vec<(Pattern, ToolRule)>);

/// What is other of a tool. Shown for debugging, it has no values, which may be secrets.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ToolRule {
    /// Its whole name here: 1 to 64 letters, digits, `_`, `-` and `.`.
    pub name: Option<String>,
    /// What models are told that it does.
    pub description: Option<String>,
    /// Arguments that every call has, and their values as JSON text.
    pub fixed: Vec<(String, String)>,
    /// Arguments that no call has; none of the fixed ones.
    pub hidden: Vec<String>,
}

impl fmt::Debug for ToolRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fixed: Vec<_> = self.fixed.iter().map(|(name, _)| name).collect();
        f.debug_struct("ToolRule")
            .field("name", &self.name)
            .field("description", &self.description)
            .field("fixed", &fixed)
            .field("hidden", &self.hidden)
            .finish()
    }
}

impl ToolRules {
    /// What is other of a tool: all that fits adds up. A later value of an
    /// argument takes the place of an earlier one, one of the tool itself that of a pattern's, and
    /// any that of hiding it. `None` if nothing fits.
    #[must_use]
    pub fn of(&self, name: &str) -> Option<ToolRule> {
        let fitting = |is_open: bool| {
            let rules = self.0.iter();
            rules.filter(move |(pattern, _)| pattern.is_open() == is_open && pattern.fits(name))
        };
        let mut whole: Option<ToolRule> = None;
        for (_, rule) in fitting(true).chain(fitting(false)) {
            whole.get_or_insert_default().add(rule);
        }
        whole
    }

    /// The rule of a tool that names it.
    #[must_use]
    pub fn naming(&self, name: &str) -> Option<&ToolRule> {
        self.iter().find(|(pattern, _)| pattern.as_str() == name).map(|(_, rule)| rule)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&Pattern, &ToolRule)> {
        self.0.iter().map(|(pattern, rule)| (pattern, rule))
    }
}

impl ToolRule {
    fn add(&mut self, other: &Self) {
        self.name = other.name.clone().or_else(|| self.name.take());
        self.description = other.description.clone().or_else(|| self.description.take());
        for (argument, value) in &other.fixed {
            self.fixed.retain(|(known, _)| known != argument);
            self.fixed.push((argument.clone(), value.clone()));
        }
        self.hidden.extend(other.hidden.iter().cloned());
        self.hidden.retain(|argument| !self.fixed.iter().any(|(fixed, _)| fixed == argument));
    }
}

/// What is typed about an upstream that speaks MCP.
pub(crate) struct Typed {
    pub(crate) include: Option<Filter>,
    pub(crate) exclude: Option<Filter>,
    pub(crate) tools: written::ToolRules,
}

/// Checks it, and returns the names that tools get as well. `tree` is the upstream in the file.
pub(crate) fn check(
    typed: Typed,
    tree: &Tree,
    surroundings: &Surroundings<'_>,
) -> Result<(Rules, Vec<Placed<String>>), Wrong> {
    for key in ["include", "exclude"] {
        no_keys(tree.get(key), &["tags", "paths", "operations", "methods"], "openapi")?;
    }
    let lists = |filter: Option<Filter>| {
        filter.map(|filter| [filter.tools, filter.resources, filter.prompts]).unwrap_or_default()
    };
    let selection = Selection::check(lists(typed.include), lists(typed.exclude), surroundings)?;
    let (tools, names) = tools(typed.tools, tree, surroundings)?;
    Ok((Rules { selection, tools, ..Rules::default() }, names))
}

/// Checks what is other of tools, and returns the names that they get as well. `tree` is what has
/// the rules at `tools`.
pub(crate) fn tools(
    typed: written::ToolRules,
    tree: &Tree,
    surroundings: &Surroundings<'_>,
) -> Result<(ToolRules, Vec<Placed<String>>), Wrong> {
    let (mut tools, mut names) = (Vec::new(), Vec::new());
    for (name, rule) in typed.0 {
        let tree = tree.get("tools").and_then(|tools| tools.get(&name.value));
        let tree = tree.expect("what is typed comes from this tree");
        let pattern = pattern("tools", &name, surroundings)?;
        names.extend(rule.value.name.clone());
        let rule = tool(rule.value, (&name, &pattern), tree, surroundings)?;
        tools.push((pattern, rule));
    }
    Ok((ToolRules(tools), names))
}

/// A document's operations are no tools of a server that speaks MCP.
pub(crate) fn check_described(tree: &Tree) -> Result<(), Wrong> {
    let keys = ["include", "exclude"].into_iter();
    keys.into_iter().try_for_each(|key| {
        no_keys(tree.get(key), &["tools", "resources", "prompts"], "command`, `url` or `agent")
    })
}

/// Keys of a filter that only other upstreams have.
fn no_keys(filter: Option<&Tree>, keys: &[&'static str], other: &'static str) -> Result<(), Wrong> {
    for key in keys {
        if let Some(entry) = filter.and_then(|filter| filter.entry(key)) {
            let (owners, other) = ("upstreams", other.to_owned());
            return Err(Wrong::new(entry.key_place, Problem::KeyBelongsTo { key, owners, other }));
        }
    }
    Ok(())
}

fn choice(written: [Option<Texts>; 3], surroundings: &Surroundings<'_>) -> Result<Choice, Wrong> {
    let mut choice = Choice::default();
    for ((what, written), choice) in What::ALL.into_iter().zip(written).zip(&mut choice) {
        let Some(written) = written else { continue };
        let key = what.key();
        let patterns = filled_list(key, &written)?.iter();
        let patterns = patterns.map(|text| pattern(key, text, surroundings));
        *choice = Some(patterns.collect::<Result<_, _>>()?);
    }
    Ok(choice)
}

/// Nobody knows whether an empty list is all or none.
pub(crate) fn filled_list<'w>(
    key: &'static str,
    written: &'w Texts,
) -> Result<&'w [Placed<String>], Wrong> {
    if written.value.is_empty() {
        let help = "name some, with `*` for any text, or remove the line";
        return Err(Wrong::new(written.place, Problem::EmptyList { key, help }));
    }
    Ok(&written.value)
}

fn pattern(
    key: &str,
    text: &Placed<String>,
    surroundings: &Surroundings<'_>,
) -> Result<Pattern, Wrong> {
    let filled = surroundings.fill(text)?.value;
    match filled.is_empty() {
        true => Err(Wrong::new(text.place, Problem::NoValue { key: key.to_owned() })),
        false => Ok(Pattern::new(filled)),
    }
}

fn bad(place: Place, mistake: UpstreamMistake) -> Wrong {
    Wrong::new(place, Problem::Upstream(mistake))
}

fn tool(
    written: written::ToolRule,
    (typed, pattern): (&Placed<String>, &Pattern),
    tree: &Tree,
    surroundings: &Surroundings<'_>,
) -> Result<ToolRule, Wrong> {
    for key in ["name", "description"] {
        if let Some(entry) = tree.entry(key).filter(|_| pattern.is_open()) {
            let mistake = UpstreamMistake::OfMany { key, pattern: typed.value.clone() };
            return Err(bad(entry.key_place, mistake));
        }
    }
    let name = written.name;
    let is_name = |name: &str| name.len() <= UPSTREAM_TOOL_NAME_MAX && is_valid_name(name);
    if let Some(name) = name.as_ref().filter(|name| !is_name(&name.value)) {
        let mistake = UpstreamMistake::BadToolName { name: name.value.clone() };
        return Err(bad(name.place, mistake));
    }
    let fixed = fixed(tree, surroundings)?;
    let mut hidden = Vec::new();
    if let Some(written) = &written.hidden {
        for argument in filled_list("hidden", written)? {
            let name = &argument.value;
            if name.is_empty() {
                let problem = Problem::NoValue { key: "hidden".to_owned() };
                return Err(Wrong::new(argument.place, problem));
            }
            if fixed.iter().any(|(fixed, _)| fixed == name) {
                let mistake = UpstreamMistake::FixedAndHidden { argument: name.clone() };
                return Err(bad(argument.place, mistake));
            }
            hidden.push(name.clone());
        }
    }
    let description = shown::text(written.description.as_ref(), surroundings)?;
    let (name, description) = (name.map(|name| name.value), description.map(|text| text.value));
    Ok(ToolRule { name, description, fixed, hidden })
}

/// The arguments that have values, as JSON text.
fn fixed(tree: &Tree, surroundings: &Surroundings<'_>) -> Result<Vec<(String, String)>, Wrong> {
    let Some(tree) = tree.get("fixed") else { return Ok(Vec::new()) };
    let Some(entries) = tree.entries() else { return Err(tree.wrong_type("fixed", "a mapping")) };
    let value = |value: &Tree| {
        no_templates(value)?;
        shown::filled(value, surroundings).map(|value| value.to_string())
    };
    entries.iter().map(|entry| Ok((entry.key.clone(), value(&entry.value)?))).collect()
}

fn no_templates(tree: &Tree) -> Result<(), Wrong> {
    match &tree.node {
        Node::List(items) => items.iter().try_for_each(no_templates),
        Node::Map(entries) => entries.iter().try_for_each(|entry| no_templates(&entry.value)),
        Node::Text(text) if tags::has_any(text) => {
            let (key, reason) = ("fixed", "every call has the same value");
            Err(Wrong::new(tree.place, Problem::FixedText { key, reason }))
        }
        _ => Ok(()),
    }
}
