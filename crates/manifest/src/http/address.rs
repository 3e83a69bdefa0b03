//! The address of a request: its fixed part and its templates, checked when the file is read, and
//! put together for each call so that no value leaves its place. Called by `check` and `request`.

use crate::align::narrow;
use crate::fault::Wrong;
use crate::fill::{Content, Surroundings};
use crate::http::mistake::HttpMistake;
use crate::http::path_style::Styled;
use crate::http::slot::{Filling, Slot};
use crate::place::{Place, Placed};
use crate::problem::Problem;
use crate::tags;
use crate::template::{Compiler, Escape, Known, Template, plain};
use haft_fetch::{Url, escape};
use std::ops::Range;

/// An address without its query.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    pub(crate) base: Base,
    /// What stands before the path in the fixed part, without a slash at its end.
    pub(crate) prefix: String,
    pub(crate) path: Path,
    /// Something was filled into the path, and may be a secret.
    pub(crate) is_filled: bool,
}

/// Scheme, host and port.
#[derive(Clone, Debug)]
pub(crate) enum Base {
    /// Chosen by a template; a whole address, maybe, if the template is one.
    Dynamic { template: Template, is_whole: bool },
    /// The same for all calls.
    Fixed(Url),
}

/// A path.
#[derive(Clone, Debug)]
pub(crate) enum Path {
    /// Texts and arguments in turn.
    Pieces(Vec<Piece>),
    /// A template that does more, and escapes values.
    Template(Template),
}

/// A piece of a path.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    /// A value, all of it within one segment. Lists have commas.
    Argument(String),
    /// A value in a style of OpenAPI, with the name that the path has for it.
    Styled { argument: String, name: String, style: Styled },
    /// A text, escaped already.
    Text(String),
}

/// An address in parts, as it was typed.
struct Split {
    /// Scheme, host and port, and what else was filled in with them.
    base: String,
    /// Where path and query begin in the typed text.
    rest: usize,
    /// The base is a template.
    is_dynamic: bool,
}

/// Checks an address. Gives the parameters of its query too.
pub(crate) fn check(
    typed: &Placed<String>,
    allow_dynamic: bool,
    known: Known<'_>,
    surroundings: &Surroundings<'_>,
    compiler: &mut Compiler<'_>,
) -> Result<(Address, Vec<(String, Slot)>), Wrong> {
    let within = |range: Range<usize>| {
        let place = narrow(surroundings.text, typed.place, &typed.value, range.clone());
        Placed::new(place, typed.value[range].to_owned())
    };
    let bad = |place: Place, mistake| Wrong::new(place, Problem::Http(mistake));
    let split = split(typed, surroundings)?;
    let (base, prefix) = if split.is_dynamic {
        let part = within(0..split.rest);
        if !allow_dynamic {
            return Err(bad(part.place, HttpMistake::DynamicHost));
        }
        let is_whole = !tags::with_stand_in(&part.value, "").contains("://");
        (Base::Dynamic { template: compiler.compile(part, known)?, is_whole }, String::new())
    } else {
        let url = Url::parse(&split.base).map_err(|error| {
            bad(typed.place, HttpMistake::BadUrl { reason: error.0.to_owned() })
        })?;
        if url.query().is_some() {
            let reason = "what is filled in for the host has a query".to_owned();
            return Err(bad(typed.place, HttpMistake::BadUrl { reason }));
        }
        let prefix = url.path().trim_end_matches('/').to_owned();
        (Base::Fixed(url), prefix)
    };
    let rest = &typed.value[split.rest..];
    if let Some(at) = tags::find_outside(rest, &['#']) {
        let reason = "it has a fragment, `#…`, which no server sees".to_owned();
        let place = within(split.rest + at..typed.value.len()).place;
        return Err(bad(place, HttpMistake::BadUrl { reason }));
    }
    let end = tags::find_outside(rest, &['?']).unwrap_or(rest.len());
    let path = within(split.rest..split.rest + end);
    let skeleton = skeleton(&path, surroundings)?;
    if let Err(reason) = check_skeleton(&skeleton) {
        return Err(bad(path.place, HttpMistake::BadUrl { reason }));
    }
    let mut query = Vec::new();
    if end < rest.len() {
        let from = split.rest + end + 1;
        for range in tags::split_outside(&typed.value[from..], '&') {
            let pair = within(from + range.start..from + range.end);
            query.extend(parameter(&pair, known, surroundings, compiler)?);
        }
    }
    let is_filled = surroundings.pieces(&path)?.iter().any(is_filled);
    let path = self::path(path, is_filled, known, (surroundings, compiler))?;
    Ok((Address { base, prefix, path, is_filled }, query))
}

/// A path whose tags only name arguments is put together without the engine.
fn path(
    typed: Placed<String>,
    is_filled: bool,
    known: Known<'_>,
    (surroundings, compiler): (&Surroundings<'_>, &mut Compiler<'_>),
) -> Result<Path, Wrong> {
    let Some(parts) = tags::parts(&typed.value).filter(|_| !is_filled) else {
        return compiler.compile_for(Escape::Path, typed, known).map(Path::Template);
    };
    let mut pieces = Vec::new();
    for part in parts {
        pieces.push(match part {
            tags::Part::Text(text) => Piece::Text(text.to_owned()),
            tags::Part::Name(range, name) => {
                let place = narrow(surroundings.text, typed.place, &typed.value, range.clone());
                compiler.compile(Placed::new(place, typed.value[range].to_owned()), known)?;
                Piece::Argument(name.to_owned())
            }
        });
    }
    Ok(Path::Pieces(pieces))
}

fn is_filled(piece: &crate::fill::Piece) -> bool {
    matches!(piece.content, Content::Filled(_))
}

/// Finds where the host ends.
fn split(typed: &Placed<String>, surroundings: &Surroundings<'_>) -> Result<Split, Wrong> {
    let mut base = String::new();
    let end_of = |text: &str| {
        let from = text.find("://").map(|at| at + 3)?;
        text[from..].find(['/', '?', '#']).map(|at| from + at)
    };
    for piece in surroundings.pieces(typed)? {
        let before = base.len();
        match piece.content {
            Content::Filled(text) => {
                base.push_str(&text);
                if end_of(&base).is_some() {
                    return Ok(Split { base, rest: piece.typed.end, is_dynamic: false });
                }
            }
            Content::Text(text) => {
                let tag = tags::find_first(&text).unwrap_or(text.len());
                base.push_str(&text[..tag]);
                if let Some(end) = end_of(&base) {
                    base.truncate(end);
                    let rest = piece.typed.start + (end - before);
                    return Ok(Split { base, rest, is_dynamic: false });
                }
                if tag < text.len() {
                    // The host ends where the first slash stands after it.
                    let from = typed.value.find("://").map_or(0, |at| at + 3);
                    let after = tags::find_outside(&typed.value[from..], &['/', '?', '#']);
                    let rest = after.map_or(typed.value.len(), |at| from + at);
                    return Ok(Split { base, rest, is_dynamic: true });
                }
            }
        }
    }
    Ok(Split { base, rest: typed.value.len(), is_dynamic: false })
}

/// The path with something harmless in place of each tag.
fn skeleton(path: &Placed<String>, surroundings: &Surroundings<'_>) -> Result<String, Wrong> {
    let text = |piece: crate::fill::Piece| match piece.content {
        Content::Text(text) => tags::with_stand_in(&text, "x"),
        Content::Filled(text) => text,
    };
    Ok(surroundings.pieces(path)?.into_iter().map(text).collect())
}

fn check_skeleton(path: &str) -> Result<(), String> {
    let origin = Url::parse("http://a").expect("it is an address");
    // `{{ url }}{{ rest }}` may well have no slash of its own.
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let url = origin.with_path(&path).map_err(|error| error.0.to_owned())?;
    if has_dots(url.path()) { Err("its path holds `.` or `..`".to_owned()) } else { Ok(()) }
}

/// Whether a server could take a segment for the one above: `..`, however it and what stands
/// around it are escaped. Some servers unescape a path before they look for such segments.
pub(crate) fn has_dots(path: &str) -> bool {
    let path = path.to_ascii_lowercase().replace("%2e", ".").replace("%5c", "/");
    path.replace("%2f", "/").split('/').any(|segment| matches!(segment, "." | ".."))
}

/// One `name=value` of an address.
fn parameter(
    pair: &Placed<String>,
    known: Known<'_>,
    surroundings: &Surroundings<'_>,
    compiler: &mut Compiler<'_>,
) -> Result<Option<(String, Slot)>, Wrong> {
    if pair.value.is_empty() {
        return Ok(None);
    }
    let bad = |mistake| Wrong::new(pair.place, Problem::Http(mistake));
    if tags::has_statement(&pair.value) {
        return Err(bad(HttpMistake::BlockInQuery));
    }
    let at = tags::find_outside(&pair.value, &['=']).unwrap_or(pair.value.len());
    let (name, value) = (&pair.value[..at], pair.value.get(at + 1..).unwrap_or_default());
    if tags::has_any(name) {
        let reason = "a template is the name of a parameter".to_owned();
        return Err(bad(HttpMistake::BadUrl { reason }));
    }
    let skeleton = skeleton(&Placed::new(pair.place, pair.value.clone()), surroundings)?;
    check_skeleton(&format!("/?{skeleton}"))
        .map_err(|reason| bad(HttpMistake::BadUrl { reason }))?;
    let (name, value) = (name.to_owned(), Placed::new(pair.place, value.to_owned()));
    let template = compiler.compile_for(Escape::Query, value, known)?;
    let slot = match (Slot::new(template), at) {
        (Slot::Template(template), _) => match template.fixed() {
            Some(fixed) => Slot::Fixed(fixed.to_owned()),
            None => Slot::Escaped(template),
        },
        (slot, _) => slot,
    };
    Ok(Some((name, slot)))
}

/// Whether what follows a tag in a host leaves the choice among the names of one domain: two labels
/// at least, like `.example.com`, whatever the port.
fn is_within_domain(behind: &str) -> bool {
    let digits = behind.trim_end_matches(|last: char| last.is_ascii_digit());
    let host = digits.strip_suffix(':').unwrap_or(behind);
    let host = host.strip_suffix('.').unwrap_or(host);
    let Some((_, domain)) = host.split_once('.') else { return false };
    let is_label = |label: &str| {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        !label.is_empty() && label.bytes().all(is_part)
    };
    let is_number = host.ends_with(|last: char| last.is_ascii_digit());
    domain.contains('.') && domain.split('.').all(is_label) && !is_number
}

impl Address {
    /// Whether a caller can name any host.
    pub(crate) fn is_anyones(&self, surroundings: &Surroundings<'_>) -> Result<bool, Wrong> {
        let Base::Dynamic { template, .. } = &self.base else { return Ok(false) };
        let text = |piece: crate::fill::Piece| match piece.content {
            Content::Text(text) | Content::Filled(text) => text,
        };
        let base: String = surroundings.pieces(&template.typed)?.into_iter().map(text).collect();
        let base = tags::with_stand_in(&base, "\0");
        Ok(!is_within_domain(base.rsplit('\0').next().unwrap_or_default()))
    }

    /// Whether something is filled in behind the host of an address that was typed so.
    fn has_filled_rest(
        &self,
        typed: &Placed<String>,
        surroundings: &Surroundings<'_>,
    ) -> Result<bool, Wrong> {
        let Base::Dynamic { template, .. } = &self.base else { return Ok(self.is_filled) };
        let rest = template.typed.value.len();
        let mut pieces = surroundings.pieces(typed)?.into_iter();
        Ok(pieces.any(|piece| piece.typed.start >= rest && is_filled(&piece)))
    }

    /// Whether this is in the name of the server that is asked.
    pub(crate) fn names(&self, value: &str) -> bool {
        matches!(&self.base, Base::Fixed(url) if url.origin().contains(value))
    }

    /// What is filled in from the environment or a file may be a secret; a host that a caller names
    /// gets none of it.
    pub(crate) fn check_secrets(
        &self,
        typed: &Placed<String>,
        written: &crate::written::http::Http,
        surroundings: &Surroundings<'_>,
    ) -> Result<(), Wrong> {
        if !self.is_anyones(surroundings)? {
            return Ok(());
        }
        let to_anyone =
            |place, what| Wrong::new(place, Problem::Http(HttpMistake::SecretToAnyone { what }));
        if self.has_filled_rest(typed, surroundings)? {
            return Err(to_anyone(typed.place, "the address"));
        }
        for (what, text) in written.texts() {
            if surroundings.pieces(&text)?.iter().any(is_filled) {
                return Err(to_anyone(text.place, what));
            }
        }
        Ok(())
    }

    /// The address for a call, without the query of the tool.
    pub(crate) fn url(&self, filling: Filling<'_>) -> Result<Url, String> {
        let path = self.path.text(filling)?;
        let path = match (self.prefix.is_empty(), path.starts_with('/')) {
            (true, true) => path,
            (_, true) => format!("{}{path}", self.prefix),
            (_, false) if path.is_empty() => format!("{}/", self.prefix),
            (_, false) => format!("{}/{path}", self.prefix),
        };
        let url = match &self.base {
            Base::Fixed(url) => url.with_path(&path),
            Base::Dynamic { template, is_whole } => {
                let base = filling.render(template)?.unwrap_or_default();
                let url = Url::parse(&base).map_err(|error| not_usable(error.0))?;
                let is_host = url.path_and_query() == "/" && !base.contains('?');
                match is_whole {
                    true if self.has_no_path() => Ok(url),
                    _ if is_host && !base.ends_with('/') => url.with_path(&path),
                    _ => return Err(not_usable("its host is none")),
                }
            }
        };
        let url = url.map_err(|error| not_usable(error.0))?;
        if has_dots(url.path()) {
            return Err(not_usable("a part of its path is `.` or `..`"));
        }
        Ok(url)
    }

    /// The templates in it.
    pub(crate) fn templates(&self) -> Vec<&Template> {
        let mut found = Vec::new();
        if let Base::Dynamic { template, .. } = &self.base {
            found.push(template);
        }
        if let Path::Template(template) = &self.path {
            found.push(template);
        }
        found
    }

    pub(crate) fn reads(&self, argument: &str) -> bool {
        let is_in_base = match &self.base {
            Base::Dynamic { template, .. } => {
                template.variables.iter().any(|name| name == argument)
            }
            Base::Fixed(_) => false,
        };
        is_in_base || self.path.reads(argument)
    }

    fn has_no_path(&self) -> bool {
        matches!(&self.path, Path::Pieces(pieces) if pieces.is_empty())
    }
}

fn not_usable(reason: &str) -> String {
    format!("These arguments make no usable address: {reason}.")
}

impl Path {
    fn text(&self, filling: Filling<'_>) -> Result<String, String> {
        match self {
            Self::Template(template) => {
                if let Some(name) = template.variables.iter().find(|name| {
                    let value = filling.arguments.values.get(*name);
                    value.is_some_and(|value| plain(value).is_empty())
                }) {
                    return Err(not_usable(&format!("`{name}` is empty")));
                }
                let path = template
                    .render(filling.templates, filling.arguments)
                    .map_err(|error| not_usable(&error.to_string()))?;
                // `safe` lets a value be several segments, but nothing behind the path.
                match path.find(['?', '#']) {
                    Some(_) => Err(not_usable("its path holds `?` or `#`")),
                    None => Ok(path),
                }
            }
            Self::Pieces(pieces) => {
                let mut path = String::new();
                for piece in pieces {
                    match piece {
                        Piece::Text(text) => path.push_str(text),
                        Piece::Styled { argument, name, style } => {
                            let value = filling.arguments.values.get(argument);
                            let before = path.len();
                            value.into_iter().for_each(|value| style.push(&mut path, name, value));
                            if path.len() == before {
                                return Err(not_usable(&format!(
                                    "`{argument}` is absent or empty"
                                )));
                            }
                        }
                        Piece::Argument(name) => {
                            let value = filling.arguments.values.get(name);
                            let before = path.len();
                            value.into_iter().for_each(|value| push_segment(&mut path, value));
                            if path.len() == before {
                                return Err(not_usable(&format!("`{name}` is absent or empty")));
                            }
                        }
                    }
                }
                Ok(path)
            }
        }
    }

    pub(crate) fn reads(&self, argument: &str) -> bool {
        match self {
            Self::Pieces(pieces) => pieces.iter().any(|piece| piece.reads(argument)),
            Self::Template(template) => template.variables.iter().any(|name| name == argument),
        }
    }
}

impl Piece {
    fn reads(&self, argument: &str) -> bool {
        match self {
            Self::Argument(name) | Self::Styled { argument: name, .. } => name == argument,
            Self::Text(_) => false,
        }
    }
}

/// A value within one segment (OpenAPI's style `simple`).
fn push_segment(path: &mut String, value: &serde_json::Value) {
    let serde_json::Value::Array(items) = value else { return escape::push(path, &plain(value)) };
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            path.push(',');
        }
        escape::push(path, &plain(item));
    }
}
