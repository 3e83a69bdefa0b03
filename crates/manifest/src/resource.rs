//! One resource, from as typed to as read: which keys go together, what its address stands for, and
//! what is in it when it is asked for. Called by `meant` for each resource in turn, and by `offer`.

use crate::amount;
use crate::below::{self, Directory};
use crate::fault::Wrong;
use crate::feed::Engine;
use crate::feed::family::{self, Fed};
use crate::feed::run::Unfed;
use crate::fill::Surroundings;
use crate::limits::{RESOURCE_BYTES, RESOURCE_BYTES_MAX};
use crate::media_type;
use crate::offer::Ways;
use crate::place::Placed;
use crate::problem::Problem;
use crate::reading::{self, Readings, Unread};
use crate::shown;
use crate::template::Compiler;
use crate::tool::{fixed_text, typed};
use crate::tree::Tree;
use crate::walk::Walked;
use crate::written;
use haft_proto::encode::fields::Caching;
use haft_proto::error::{Mistake, Refusal};
use haft_proto::spec::Meta;
use haft_proto::spec::content::{Annotations, ResourceContents};
use haft_proto::spec::icon::Icon;
use haft_server::Variables;
use std::fmt::Write as _;
use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A resource, checked.
#[derive(Clone, Debug)]
pub(crate) struct Resource {
    pub(crate) uri: Placed<String>,
    /// The address as it was typed.
    pub(crate) typed_uri: String,
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<Placed<String>>,
    /// The kind of data, if it is known before anything is read.
    pub(crate) mime_type: Option<String>,
    pub(crate) annotations: Annotations,
    pub(crate) icons: Vec<Icon>,
    pub(crate) meta: Option<Meta>,
    pub(crate) caching: Option<Caching>,
    pub(crate) source: Source,
}

/// Where its content comes from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// The files below a directory.
    Directory(Below),
    /// A program or a server.
    Feed(Fed),
    /// A file.
    File(Stored),
    /// The text itself.
    Text(Arc<str>),
}

impl Source {
    /// What stands in the manifest itself.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Directory(_) | Self::Feed(_) | Self::File(_) => None,
        }
    }

    /// Whoever is subscribed to it is told when it changes: it is in files, which tell, or is read
    /// again and again.
    pub(crate) fn is_told(&self) -> bool {
        match self {
            Self::Directory(_) | Self::File(_) => true,
            Self::Feed(fed) => fed.watch.is_some(),
            Self::Text(_) => false,
        }
    }
}

/// A file.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) path: Placed<PathBuf>,
    /// In bytes.
    pub(crate) limit: usize,
}

/// The files below a directory.
#[derive(Clone, Debug)]
pub(crate) struct Below {
    pub(crate) directory: Directory,
    pub(crate) place: crate::place::Place,
    /// In bytes, of a file.
    pub(crate) limit: usize,
    /// The address up to its variable.
    pub(crate) prefix: String,
    pub(crate) variable: String,
    /// The variable is `{+name}`, and its slashes stay.
    pub(crate) has_slashes: bool,
    /// Those that are listed, as they were when they were looked at last.
    pub(crate) listed: Option<Arc<Mutex<Walked>>>,
}

/// Checks a resource. `tree` is the same resource in the file.
pub(crate) fn check(
    mut written: written::resource::Resource,
    tree: &Tree,
    surroundings: &Surroundings<'_>,
    compiler: &mut Compiler<'_>,
) -> Result<Resource, Wrong> {
    check_keys(&written, tree)?;
    let filled = surroundings.fill(&written.uri)?;
    let uri = Placed::new(written.uri.place, filled.value);
    let caching = shown::caching(written.caching.as_ref(), surroundings)?;
    let kind = shown::mime_type(written.mime_type.as_ref(), surroundings)?;
    let (source, guessed) =
        match family::check(&mut written, &uri, &filled.shown, surroundings, compiler)? {
            Some(fed) => {
                // A server says itself what it answers.
                let guessed = match fed.feed.engine {
                    Engine::Command(_) => media_type::of_name(&uri.value),
                    Engine::Http(_) => None,
                };
                (Source::Feed(fed), guessed)
            }
            None => source(&written, &uri, &filled.shown, surroundings)?,
        };
    let name = match &written.name {
        Some(name) => shown::name(name, surroundings)?.value,
        None => last_word(&uri.value).to_owned(),
    };
    Ok(Resource {
        name,
        title: shown::text(written.title.as_ref(), surroundings)?.map(|title| title.value),
        description: shown::text(written.description.as_ref(), surroundings)?,
        mime_type: kind.or_else(|| guessed.map(str::to_owned)),
        annotations: shown::annotations(written.annotations.as_ref(), surroundings)?,
        icons: shown::icons(&written.icons, surroundings)?,
        meta: shown::meta(tree, surroundings)?,
        caching,
        source,
        typed_uri: written.uri.value,
        uri,
    })
}

/// Which keys exclude or need each other.
fn check_keys(written: &written::resource::Resource, tree: &Tree) -> Result<(), Wrong> {
    let place_of = |key: &str| tree.entry(key).map(|entry| entry.key_place);
    const SOURCES: [&str; 5] = ["text", "file", "directory", "command", "http"];
    let mut sources = SOURCES.into_iter().filter_map(|key| Some((key, place_of(key)?)));
    let Some((source, _)) = sources.next() else {
        let what = format!("there is nothing to read at `{}`", written.uri.value);
        let help = "give it a `text`, a `file`, a `directory`, a `command` or an `http`";
        return Err(Wrong::new(written.uri.place, Problem::KindMissing { what, help }));
    };
    if let Some((key, place)) = sources.next() {
        return Err(Wrong::new(place, Problem::TwoOfOne { key, other: source }));
    }
    let has = |key| source == key;
    let belongs_to = |key, other: &str| Problem::KeyBelongsTo {
        key,
        owners: "resources",
        other: other.to_owned(),
    };
    for key in ["hidden", "list"] {
        if let Some(place) = place_of(key).filter(|_| !has("directory")) {
            return Err(Wrong::new(place, belongs_to(key, "directory")));
        }
    }
    for key in ["stdin", "env", "cwd", "ok_exit"] {
        if let Some(place) = place_of(key).filter(|_| !has("command")) {
            return Err(Wrong::new(place, belongs_to(key, "command")));
        }
    }
    for key in ["pick", "timeout", "complete", "watch"] {
        if let Some(place) = place_of(key).filter(|_| !has("command") && !has("http")) {
            return Err(Wrong::new(place, belongs_to(key, "command` or `http")));
        }
    }
    match place_of("limit").filter(|_| has("text")) {
        Some(place) => Err(Wrong::new(place, belongs_to("limit", "file` or `directory"))),
        None => Ok(()),
    }
}

/// Where the content comes from, and of what kind it is by its name.
fn source(
    written: &written::resource::Resource,
    uri: &Placed<String>,
    shown: &str,
    surroundings: &Surroundings<'_>,
) -> Result<(Source, Option<&'static str>), Wrong> {
    let bad_uri = || Wrong::new(uri.place, Problem::BadUri { shown: shown.to_owned() });
    let limit = match &written.limit {
        Some(text) => amount::bytes("limit", text, RESOURCE_BYTES_MAX, surroundings)?,
        None => RESOURCE_BYTES,
    };
    let path = |key: &'static str, path: &Placed<String>| -> Result<Placed<PathBuf>, Wrong> {
        let reason = "what a caller may read is said here";
        let path = fixed_text(path, key, reason, surroundings)?;
        if path.value.is_empty() || path.value.contains('\0') {
            return Err(Wrong::new(path.place, Problem::NoValue { key: key.to_owned() }));
        }
        Ok(Placed::new(path.place, surroundings.directory.join(path.value)))
    };
    if let Some(written_directory) = &written.directory {
        let path = path("directory", written_directory)?;
        let bad = || Wrong::new(uri.place, Problem::BadUriTemplate { shown: shown.to_owned() });
        let (prefix, variable, has_slashes) = variable(&uri.value).ok_or_else(bad)?;
        if !is_uri(&format!("{prefix}path")) {
            return Err(bad_uri());
        }
        let with_hidden = written.hidden.unwrap_or_default();
        let directory = Directory { path: path.value, with_hidden };
        let is_listed = written.list.unwrap_or_default();
        let (place, typed) = (path.place, &written_directory.value);
        let listed = is_listed.then(|| directory.list()).transpose().map_err(|error| {
            let (path, reason) = (typed.clone(), error.to_string());
            Wrong::new(place, Problem::UnreadableFill { path, reason })
        })?;
        let listed = listed.map(|listing| Arc::new(Mutex::new(listing)));
        let (prefix, variable) = (prefix.to_owned(), variable.to_owned());
        let below = Below { directory, place, limit, prefix, variable, has_slashes, listed };
        return Ok((Source::Directory(below), None));
    }
    if !is_uri(&uri.value) {
        return Err(bad_uri());
    }
    if let Some(file) = &written.file {
        let path = path("file", file)?;
        let guessed = media_type::of_name(&path.value.to_string_lossy());
        return Ok((Source::File(Stored { path, limit }), guessed));
    }
    let text = written.text.as_ref().expect("a resource without files has a text");
    let text = surroundings.fill(&typed(text))?.value;
    // A block of text in YAML ends with a line end that nobody means.
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let guessed = media_type::of_name(&uri.value).unwrap_or("text/plain");
    Ok((Source::Text(text.into()), Some(guessed)))
}

/// Whether it can be an address: a scheme, a colon and more, all of them characters that addresses
/// have (RFC 3986).
pub(crate) fn is_uri(text: &str) -> bool {
    let is_of_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let is_allowed = |character: char| {
        !character.is_whitespace() && !character.is_control() && !"{}<>\"\\^`|".contains(character)
    };
    text.split_once(':').is_some_and(|(scheme, rest)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(is_of_scheme)
            && !rest.is_empty()
            && rest.chars().all(is_allowed)
    })
}

/// The parts of `prefix{variable}` and `prefix{+variable}`, and whether it was the latter.
fn variable(template: &str) -> Option<(&str, &str, bool)> {
    let (prefix, expression) = template.strip_suffix('}')?.split_once('{')?;
    let (name, has_slashes) = match expression.strip_prefix('+') {
        Some(name) => (name, true),
        None => (expression, false),
    };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    (!name.is_empty() && name.bytes().all(is_name)).then_some((prefix, name, has_slashes))
}

/// What an address is about, for a name: `style.md` of `docs://guides/style.md`.
fn last_word(uri: &str) -> &str {
    let fixed = uri.split('{').next().unwrap_or(uri);
    fixed.split(['/', ':']).rfind(|word| !word.is_empty()).unwrap_or(uri)
}

/// A file of a directory, as a list has it.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub(crate) uri: String,
    /// Its path from the directory.
    pub(crate) name: String,
    pub(crate) mime_type: Option<String>,
}

impl Resource {
    /// The files that are listed one by one.
    pub(crate) fn listed(&self) -> impl Iterator<Item = Listed> {
        let below = match &self.source {
            Source::Directory(below) => Some(below),
            Source::Feed(_) | Source::File(_) | Source::Text(_) => None,
        };
        below.into_iter().flat_map(|below| {
            let files = below.listing().files.clone();
            files.into_iter().map(|path| Listed {
                uri: below.uri_of(&path),
                mime_type: match &self.mime_type {
                    Some(kind) => Some(kind.clone()),
                    None => media_type::of_name(&path).map(str::to_owned),
                },
                name: path,
            })
        })
    }

    /// How long clients may keep what they read, if that is not as long as they may keep lists.
    pub(crate) fn caching(&self, of_server: Option<Caching>) -> Option<Caching> {
        let is_text = matches!(self.source, Source::Text(_));
        // Who changes a file wants the change to be seen.
        let unkept = Caching { ttl_ms: 0, ..Caching::default() };
        let unsaid = if is_text { None } else { Some(unkept) };
        self.caching.or(of_server).or(unsaid)
    }

    /// The content of what is no directory; nothing if the file is not there. An address without
    /// variables has none.
    pub(crate) async fn read(
        &self,
        variables: Variables,
        ways: &Ways,
    ) -> Result<Option<ResourceContents>, Refusal> {
        let Ways { readings, feeding } = ways;
        let kind = self.mime_type.clone();
        let unread = |unread: Unread| Refusal::new(Mistake::Internal, unread.to_string());
        let contents = match &self.source {
            Source::Directory(_) => None,
            Source::Feed(fed) => {
                let said = fed.feed.contents(variables, kind.as_deref(), feeding).await;
                let contents = said.map_err(|unfed| match unfed {
                    Unfed::NotThere(words) => Refusal::new(Mistake::ResourceNotFound, words),
                    unfed => unfed.refusal("resource"),
                })?;
                // Whoever asked for one of a family knows its address.
                let uri = if fed.variables.is_empty() { &*self.uri.value } else { "" };
                return Ok(Some(ResourceContents { uri: uri.to_owned(), ..contents }));
            }
            Source::File(stored) => stored.read(kind, readings).await.map_err(unread)?,
            Source::Text(text) => Some(ResourceContents::text("", &**text)),
        };
        Ok(contents.map(|contents| ResourceContents {
            uri: self.uri.value.clone(),
            mime_type: contents.mime_type.or_else(|| self.mime_type.clone()),
            ..contents
        }))
    }
}

impl Stored {
    async fn read(
        &self,
        kind: Option<String>,
        readings: &Readings,
    ) -> Result<Option<ResourceContents>, Unread> {
        let (path, limit) = (self.path.value.clone(), self.limit);
        let opening = move || below::open_file(&path);
        readings.run(move || contents(opening(), limit, kind.as_deref())).await?
    }

    /// Its bytes; nothing if it is not there.
    pub(crate) async fn bytes(&self, readings: &Readings) -> Result<Option<Vec<u8>>, Unread> {
        let (path, limit) = (self.path.value.clone(), self.limit);
        readings.run(move || bytes(below::open_file(&path), limit)).await?
    }
}

impl Below {
    /// Those that are listed; none if none are.
    pub(crate) fn listing(&self) -> MutexGuard<'_, Walked> {
        static NONE: Mutex<Walked> = Mutex::new(Walked::NONE);
        let listed = self.listed.as_deref().unwrap_or(&NONE);
        listed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Others are listed from now on; returns those that were.
    pub(crate) fn list_as(&self, mut listing: Walked) -> Walked {
        if self.listed.is_some() {
            std::mem::swap(&mut *self.listing(), &mut listing);
        }
        listing
    }

    /// The content of a file by its path; nothing if there is none that may be read.
    pub(crate) async fn read(
        &self,
        path: String,
        kind: Option<String>,
        readings: &Readings,
    ) -> Result<Option<ResourceContents>, Unread> {
        let (directory, limit) = (self.directory.clone(), self.limit);
        let reading = move || {
            let kind = kind.as_deref().or_else(|| media_type::of_name(&path));
            contents(directory.open(&path), limit, kind)
        };
        readings.run(reading).await?
    }

    /// The address of a file.
    pub(crate) fn uri_of(&self, path: &str) -> String {
        let mut uri = self.prefix.clone();
        for byte in path.bytes() {
            let is_plain = byte.is_ascii_alphanumeric()
                || b"-._~".contains(&byte)
                || (byte == b'/' && self.has_slashes);
            if is_plain {
                uri.push(char::from(byte));
            } else {
                // Writing to a string cannot fail.
                _ = write!(uri, "%{byte:02X}");
            }
        }
        uri
    }
}

fn bytes(
    opened: rustix::io::Result<Option<File>>,
    limit: usize,
) -> Result<Option<Vec<u8>>, Unread> {
    let failed = |error: rustix::io::Errno| Unread::Failed(error.kind());
    opened.map_err(failed)?.map(|file| reading::bytes(&file, limit)).transpose()
}

fn contents(
    opened: rustix::io::Result<Option<File>>,
    limit: usize,
    kind: Option<&str>,
) -> Result<Option<ResourceContents>, Unread> {
    Ok(bytes(opened, limit)?.map(|bytes| reading::contents(bytes, kind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_scheme_and_no_odd_characters() {
        for text in ["notes://style", "app:x", "a+b-c.1://x?y=1#z", "docs://ä"] {
            assert!(is_uri(text), "{text}");
        }
        for text in ["", "notes", "://x", "1a://x", "a:", "a b://x", "a://x y", "a://{x}", "é:x"] {
            assert!(!is_uri(text), "{text}");
        }
    }

    #[test]
    fn a_directory_has_its_variable_at_the_end() {
        assert_eq!(variable("docs://{+path}"), Some(("docs://", "path", true)));
        assert_eq!(variable("docs://{path}"), Some(("docs://", "path", false)));
        for text in ["docs://", "d://{}", "d://{+}", "d://{a}/{b}", "d://{a}/b", "d://{?a}", "{a"] {
            assert_eq!(variable(text), None, "{text}");
        }
    }

    #[test]
    fn the_last_word_of_an_address_is_its_name() {
        for (uri, name) in [
            ("docs://guides/style.md", "style.md"),
            ("docs://guides/{+path}", "guides"),
            ("docs://{+path}", "docs"),
            ("app:x/", "x"),
        ] {
            assert_eq!(last_word(uri), name, "{uri}");
        }
    }
}
