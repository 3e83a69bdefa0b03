//! References of a document to other files: what they lead to becomes a part of the document, under
//! `x-files`, so that all else follows references within one value. Called by `source`, which
//! reads; this decides what is read, and how much.

use crate::openapi::document;
use crate::openapi::limits::{DOCUMENT_BYTES_MAX, FILES_DEPTH_MAX, FILES_MAX};
use crate::written::upstream::References;
use haft_fetch::Url;
use serde_json::{Map, Value};
use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};

/// Where other files are kept in the document.
const FILES: &str = "x-files";

/// Where a document or a part of it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// All links followed.
    File(PathBuf),
    Web(Url),
}

/// What may be read, and how.
pub(crate) struct Reading<'a> {
    pub(crate) allowed: References,
    /// The directory that files are in or below; of a document from the web there is none.
    pub(crate) directory: Option<PathBuf>,
    /// The bytes at a place, or why there are none.
    pub(crate) read: &'a dyn Fn(&Origin) -> Result<Vec<u8>, String>,
}

/// Why references lead nowhere, by what they say.
pub(crate) type Unread = HashMap<String, String>;

/// A file that is to become a part of the document.
struct Waiting {
    origin: Origin,
    /// Its key under `x-files`.
    key: String,
    depth: usize,
}

/// Files on their way into a document.
struct Bundle<'a> {
    reading: &'a Reading<'a>,
    /// The pointer at which each file is, or why there is none.
    known: HashMap<Origin, Result<String, String>>,
    waiting: VecDeque<Waiting>,
    files: usize,
    bytes: usize,
    unread: Unread,
}

/// Takes all files into a document that it refers to. What it may not read, or cannot, stays a
/// reference.
pub(crate) fn bundle(root: &mut Value, origin: Option<Origin>, reading: &Reading<'_>) -> Unread {
    let mut bundle = Bundle {
        reading,
        known: HashMap::new(),
        waiting: VecDeque::new(),
        files: 0,
        bytes: 0,
        unread: Unread::new(),
    };
    if let Some(origin) = origin.clone() {
        bundle.known.insert(origin, Ok(String::new()));
    }
    bundle.rewrite(root, origin.as_ref(), "", 0);
    let mut files = Map::new();
    while let Some(Waiting { origin, key, depth }) = bundle.waiting.pop_front() {
        match bundle.file(&origin) {
            Ok(mut value) => {
                let pointer = format!("/{FILES}/{key}");
                bundle.rewrite(&mut value, Some(&origin), &pointer, depth);
                files.insert(key, value);
            }
            Err(reason) => {
                // Told by the place where it would be.
                bundle.unread.insert(format!("#/{FILES}/{key}"), reason);
            }
        }
    }
    if !files.is_empty()
        && let Value::Object(members) = root
    {
        members.insert(FILES.to_owned(), Value::Object(files));
    }
    bundle.unread
}

/// Why a reference into another file leads nowhere, if it does because of the file.
pub(crate) fn reason<'u>(unread: &'u Unread, reference: &str) -> Option<&'u str> {
    let of_file = || {
        let rest = reference.strip_prefix("#/x-files/")?;
        let key = rest.split('/').next()?;
        unread.get(&format!("#/{FILES}/{key}"))
    };
    unread.get(reference).or_else(of_file).map(String::as_str)
}

impl Bundle<'_> {
    /// Makes every reference one within the document: those of a file by where it is kept.
    fn rewrite(&mut self, value: &mut Value, origin: Option<&Origin>, at: &str, depth: usize) {
        match value {
            Value::Array(items) => {
                items.iter_mut().for_each(|item| self.rewrite(item, origin, at, depth));
            }
            Value::Object(members) => {
                if let Some(Value::String(reference)) = members.get_mut("$ref") {
                    self.refer(reference, origin, at, depth);
                }
                for value in members.values_mut() {
                    self.rewrite(value, origin, at, depth);
                }
            }
            _ => {}
        }
    }

    fn refer(&mut self, reference: &mut String, origin: Option<&Origin>, at: &str, depth: usize) {
        let (file, pointer) = reference.split_once('#').unwrap_or((reference, ""));
        if file.is_empty() {
            if !at.is_empty() {
                *reference = format!("#{at}{pointer}");
            }
            return;
        }
        let found = match self.target(file, origin) {
            Ok(target) => self.place(target, depth),
            Err(reason) => Err(reason),
        };
        match found {
            Ok(place) => *reference = format!("#{place}{pointer}"),
            Err(reason) => _ = self.unread.insert(reference.clone(), reason),
        }
    }

    /// The file that a reference means, if it may be read.
    fn target(&self, file: &str, origin: Option<&Origin>) -> Result<Origin, String> {
        let is_web = self.reading.allowed != References::Below;
        let nowhere = |error: String| format!("leads to a file that cannot be read: {error}");
        let is_address = file.starts_with("http://") || file.starts_with("https://");
        let web = |url: Result<Url, haft_fetch::BadUrl>| match url {
            Ok(url) if is_web => Ok(Origin::Web(url)),
            Ok(_) => Err("leads to the web, where nothing is fetched from; allow it with \
                          `references: web`, or bundle the document into one file"
                .to_owned()),
            Err(error) => Err(nowhere(error.0.to_owned())),
        };
        if is_address {
            return web(Url::parse(file));
        }
        match origin {
            Some(Origin::Web(url)) => web(url.join(file)),
            Some(Origin::File(from)) => {
                let directory = from.parent().unwrap_or_else(|| Path::new("/"));
                let path = directory.join(&*document::token_of(file));
                let found = path.canonicalize();
                let is_within = |path: &Path| {
                    self.reading.directory.as_deref().is_some_and(|within| path.starts_with(within))
                };
                let is_allowed =
                    |path: &Path| self.reading.allowed == References::Anywhere || is_within(path);
                match found {
                    Ok(path) if is_allowed(&path) => Ok(Origin::File(path)),
                    // Whether there is something elsewhere is nobody's business either.
                    _ if !is_allowed(&plainly(&path)) || found.is_ok() => {
                        Err("leads out of the directory of the document, where nothing is read \
                             from; allow it with `references: anywhere`"
                            .to_owned())
                    }
                    Err(error) => Err(nowhere(error.to_string())),
                    Ok(path) => Ok(Origin::File(path)),
                }
            }
            None => Err("leads out of the document".to_owned()),
        }
    }

    /// Where a file is or will be, in the document.
    fn place(&mut self, origin: Origin, depth: usize) -> Result<String, String> {
        if let Some(known) = self.known.get(&origin) {
            return known.clone();
        }
        let found = if depth == FILES_DEPTH_MAX {
            Err(format!("leads through more than {FILES_DEPTH_MAX} files in a row"))
        } else if self.files == FILES_MAX {
            Err(format!("leads to one of more than {FILES_MAX} files"))
        } else {
            self.files += 1;
            let key = format!("{}.{}", self.files, stem(&origin));
            self.waiting.push_back(Waiting {
                origin: origin.clone(),
                key: key.clone(),
                depth: depth + 1,
            });
            Ok(format!("/{FILES}/{key}"))
        };
        self.known.insert(origin, found.clone());
        found
    }

    fn file(&mut self, origin: &Origin) -> Result<Value, String> {
        let unreadable = |reason: String| format!("leads to a file that cannot be read: {reason}");
        let bytes = (self.reading.read)(origin).map_err(unreadable)?;
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > DOCUMENT_BYTES_MAX {
            return Err(format!("leads to files of more than {DOCUMENT_BYTES_MAX} bytes together"));
        }
        document::parse(&bytes).map_err(unreadable)
    }
}

/// A path without `.` and `..`, as far as that is known without looking.
fn plainly(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => _ = plain.pop(),
            part => plain.push(part),
        }
    }
    plain
}

/// What a file is called, without what it ends with: a name for the schema that it may be.
fn stem(origin: &Origin) -> String {
    let name = match origin {
        Origin::File(path) => path.file_stem().map(|stem| stem.to_string_lossy().into_owned()),
        Origin::Web(url) => {
            let last = url.path().rsplit('/').next().unwrap_or_default();
            Some(last.rsplit_once('.').map_or(last, |(stem, _)| stem).to_owned())
        }
    };
    let plain = |character: char| if character.is_ascii_alphanumeric() { character } else { '_' };
    name.unwrap_or_default().chars().take(40).map(plain).collect()
}
