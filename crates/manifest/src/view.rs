//! Other endpoints of a server, each with a part of what it has: from as typed to as meant. Called
//! by `meant`; what there is of upstreams is known to nobody yet.

pub(crate) mod mistake;

use crate::fault::{Wrong, line_of};
use crate::fill::Surroundings;
use crate::limits::UPSTREAM_NAME_MAX;
use crate::meant::{Listen, duplicate, path, search};
use crate::place::{Place, Placed};
use crate::problem::Problem;
use crate::rules::{self, Selection, ToolRules, What, filled_list};
use crate::tool::Tool;
use crate::tree::Tree;
use crate::view::mistake::ViewMistake;
use crate::written::rules as typed;
use crate::written::view::{self as written, Choice, Views};
use haft_server::{CALL, FIND, nearest};

/// An endpoint with a part of what the server has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Its name in the file, and in what it says of itself: 1 to 31 letters, digits, `-` and `_`.
    pub name: String,
    /// The path of its endpoint; no other endpoint of the file has the same.
    pub path: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) instructions: Option<String>,
    /// From how many tools on they are found, and not listed.
    pub(crate) search: Option<usize>,
    /// Of which upstreams it has something; of all, if the file does not say it.
    upstreams: Option<Vec<String>>,
    selection: Selection,
    tools: ToolRules,
}

/// The paths beside that of an endpoint that serves clients of 2024-11-05 as well.
const OLD_PATHS: [&str; 2] = ["/sse", "/messages"];

impl View {
    /// Whether it has anything of an upstream.
    #[must_use]
    pub fn has_of(&self, upstream: &str) -> bool {
        let is_one = |known: &Vec<String>| known.iter().any(|known| known == upstream);
        self.upstreams.as_ref().is_none_or(is_one)
    }

    /// Whether it has a thing: one of an upstream, or of the file itself.
    #[must_use]
    pub fn has(&self, upstream: Option<&str>, what: What, name: &str) -> bool {
        upstream.is_none_or(|upstream| self.has_of(upstream)) && self.selection.has(what, name)
    }

    /// Which things it has, by their names here.
    #[must_use]
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// What is other of its tools, by the names that they have elsewhere.
    #[must_use]
    pub fn tools(&self) -> &ToolRules {
        &self.tools
    }

    /// What addresses of families of resources are to it, if it takes any out.
    pub(crate) fn addresses(
        &self,
    ) -> Option<impl Fn(&str) -> Option<String> + Send + Sync + 'static> {
        let selection = self.selection.clone();
        let has_some = selection.excludes_any(What::Resource);
        has_some.then_some(move |uri: &str| selection.address(uri))
    }
}

/// What else is in the file.
pub(crate) struct Beside<'a> {
    /// The names of all upstreams.
    pub(crate) upstreams: &'a [String],
    pub(crate) listeners: &'a [Listen],
    /// The tools that are not of servers that speak MCP.
    pub(crate) tools: &'a [Tool],
}

/// Checks `views`, which are `tree` in the file.
pub(crate) fn check(
    Views(written): Views,
    tree: Option<&Tree>,
    beside: &Beside<'_>,
    surroundings: &Surroundings<'_>,
) -> Result<Vec<View>, Wrong> {
    let mut views: Vec<(View, Place)> = Vec::new();
    for (name, Placed { value: written, .. }) in written {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        let is_name = (1..=UPSTREAM_NAME_MAX).contains(&name.value.len());
        if !is_name || !name.value.bytes().all(is_plain) {
            return Err(bad(name.place, ViewMistake::BadName { name: name.value }));
        }
        let place = written.path.as_ref().map_or(name.place, |path| path.place);
        let tree = tree.and_then(|tree| tree.get(&name.value));
        let tree = tree.expect("what is typed comes from this tree");
        let view = view(name.value, (written, tree), beside, surroundings)?;
        let is_taken = |listen: &Listen| {
            is_same_path(&listen.path, &view.path)
                || listen.sse && OLD_PATHS.iter().any(|old| is_same_path(old, &view.path))
        };
        if beside.listeners.iter().any(is_taken) {
            return Err(bad(place, ViewMistake::TakenPath { path: view.path }));
        }
        if let Some((_, first)) =
            views.iter().find(|(first, _)| is_same_path(&first.path, &view.path))
        {
            let (path, first_line) = (view.path, line_of(surroundings.text, *first));
            return Err(bad(place, ViewMistake::SamePath { path, first_line }));
        }
        views.push((view, place));
    }
    // They are compared themselves.
    _ = surroundings.seen.print(None);
    Ok(views.into_iter().map(|(view, _)| view).collect())
}

/// Whether a request to one path is one to the other: a slash at their end makes no difference.
fn is_same_path(one: &str, other: &str) -> bool {
    let bare = |path| str::strip_suffix(path, "/").unwrap_or(path);
    bare(one) == bare(other)
}

pub(crate) fn bad(place: Place, mistake: ViewMistake) -> Wrong {
    Wrong::new(place, Problem::View(mistake))
}

fn view(
    name: String,
    (written, tree): (written::View, &Tree),
    beside: &Beside<'_>,
    surroundings: &Surroundings<'_>,
) -> Result<View, Wrong> {
    let fill = |text: Option<Placed<String>>| {
        text.map(|text| surroundings.fill(&text).map(|filled| filled.value)).transpose()
    };
    let path = match &written.path {
        Some(written) => path(written, surroundings)?,
        None => format!("/{name}/mcp"),
    };
    let mut upstreams = None;
    if let Some(written) = &written.upstreams {
        let (known, mut names) = (beside.upstreams, Vec::new());
        for name in filled_list("upstreams", written)? {
            if !known.contains(&name.value) {
                let nearest = nearest(&name.value, known.iter().map(String::as_str));
                let (name, nearest, place) =
                    (name.value.clone(), nearest.map(str::to_owned), name.place);
                return Err(bad(place, ViewMistake::UnknownUpstream { name, nearest }));
            }
            names.push(name.value.clone());
        }
        upstreams = Some(names);
    }
    let lists = |choice: Option<Choice>| {
        choice.map(|choice| [choice.tools, choice.resources, choice.prompts]).unwrap_or_default()
    };
    let selection = Selection::check(lists(written.include), lists(written.exclude), surroundings)?;
    let (title, description) = (fill(written.title)?, fill(written.description)?);
    let instructions = fill(written.instructions)?;
    let tools = tools(written.tools, tree, beside.tools, surroundings)?;
    let search = written.search.map(|written| search(&written)).transpose()?.flatten();
    Ok(View { name, path, title, description, instructions, search, upstreams, selection, tools })
}

/// What is other of tools there. Those of the file are as the file has them.
fn tools(
    written: typed::ToolRules,
    tree: &Tree,
    own: &[Tool],
    surroundings: &Surroundings<'_>,
) -> Result<ToolRules, Wrong> {
    let is_own = |name: &str| own.iter().find(|tool| tool.name.value == name);
    for (name, _) in &written.0 {
        if is_own(&name.value).is_some() {
            return Err(bad(name.place, ViewMistake::OwnTool { name: name.value.clone() }));
        }
    }
    let (tools, names) = rules::tools(written, tree, surroundings)?;
    for (place, name) in names.iter().enumerate() {
        if [FIND, CALL].contains(&&*name.value) {
            return Err(bad(name.place, ViewMistake::SearchName { name: name.value.clone() }));
        }
        let same = names[..place].iter().find(|first| first.value == name.value);
        if let Some(first) = is_own(&name.value).map(|tool| &tool.name).or(same) {
            return Err(duplicate("tool", first, name, surroundings));
        }
    }
    Ok(tools)
}
