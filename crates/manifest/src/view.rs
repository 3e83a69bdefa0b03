//! Other endpoints of a server, each with a part of what it has: from as typed to as meant. Called
//! by `meant`; what there is of upstreams is known to nobody yet.

pub(crate) mod mistake;

use crate::fault::{Wrong, line_of};
use crate::fill::Surroundings;
use crate::limits::UPSTREAM_NAME_MAX;
use crate::meant::{Listen, path, search};
use crate::place::{Place, Placed};
use crate::problem::Problem;
use crate::rules::{Selection, What, filled_list};
use crate::view::mistake::ViewMistake;
use crate::written::view::{self as written, Choice, Views};
use haft_server::nearest;

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
}

/// The paths beside that of an endpoint that serves clients of 2024-11-05 as well.
const OLD_PATHS: [&str; 2] = ["/sse", "/messages"];

impl View {
    /// Whether it has anything of an upstream.
    pub(crate) fn has_of(&self, upstream: &str) -> bool {
        let is_one = |known: &Vec<String>| known.iter().any(|known| known == upstream);
        self.upstreams.as_ref().is_none_or(is_one)
    }

    /// Whether it has a thing: one of an upstream, or of the file itself.
    pub(crate) fn has(&self, upstream: Option<&str>, what: What, name: &str) -> bool {
        upstream.is_none_or(|upstream| self.has_of(upstream)) && self.selection.has(what, name)
    }

    /// What is out of families of resources, if anything is.
    pub(crate) fn exceptions(&self) -> Option<impl Fn(&str) -> bool + Send + Sync + 'static> {
        let selection = self.selection.clone();
        let has_some = selection.excludes_any(What::Resource);
        has_some.then_some(move |uri: &str| selection.excludes(What::Resource, uri))
    }
}

/// Checks `views`. `upstreams` are the names of all upstreams.
pub(crate) fn check(
    Views(written): Views,
    upstreams: &[String],
    listeners: &[Listen],
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
        let view = view(name.value, written, upstreams, surroundings)?;
        let is_taken = |listen: &Listen| {
            listen.path == view.path || listen.sse && OLD_PATHS.contains(&&*view.path)
        };
        if listeners.iter().any(is_taken) {
            return Err(bad(place, ViewMistake::TakenPath { path: view.path }));
        }
        if let Some((_, first)) = views.iter().find(|(first, _)| first.path == view.path) {
            let (path, first_line) = (view.path, line_of(surroundings.text, *first));
            return Err(bad(place, ViewMistake::SamePath { path, first_line }));
        }
        views.push((view, place));
    }
    // They are compared themselves.
    _ = surroundings.seen.print(None);
    Ok(views.into_iter().map(|(view, _)| view).collect())
}

pub(crate) fn bad(place: Place, mistake: ViewMistake) -> Wrong {
    Wrong::new(place, Problem::View(mistake))
}

fn view(
    name: String,
    written: written::View,
    known: &[String],
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
        let mut names = Vec::new();
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
    let search = written.search.map(|written| search(&written)).transpose()?.flatten();
    Ok(View { name, path, title, description, instructions, search, upstreams, selection })
}
