//! The variables that hosts fill into the texts of their files, each in its own spelling. Used to
//! start a server as its host would, and to say what it needs. What is filled in is not read again.

use crate::entry::{Entry, How};
use std::fmt;
use std::ops::Range;
use std::path::Path;

/// Which spellings a host understands; all others are text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Syntax {
    /// `${VAR}` and `${VAR:-otherwise}`.
    pub(crate) braces: bool,
    /// `$VAR`.
    pub(crate) bare: bool,
    /// `${env:VAR}`.
    pub(crate) env: bool,
    /// `{env:VAR}` and `{file:PATH}`.
    pub(crate) curly: bool,
    /// `${input:id}`.
    pub(crate) inputs: bool,
    /// `${workspaceFolder}`, `${userHome}`, `${pathSeparator}`.
    pub(crate) folders: bool,
}

impl Syntax {
    pub(crate) const NONE: Self = Self {
        braces: false,
        bare: false,
        env: false,
        curly: false,
        inputs: false,
        folders: false,
    };
    /// For a file of which it is not known who reads it. A bare `$` is too often just that.
    pub(crate) const ANY: Self =
        Self { braces: true, bare: false, env: true, curly: true, inputs: true, folders: true };
}

/// What a text needs before it can be used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// What a file holds.
    File(String),
    /// What its editor asks a person for.
    Input(String),
    /// A variable of the environment.
    Variable(String),
}

impl fmt::Display for Need {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(formatter, "the file {path}"),
            Self::Input(id) => write!(formatter, "the input `{id}`, which its editor asks for"),
            Self::Variable(name) => write!(formatter, "the variable {name}"),
        }
    }
}

/// Where values come from.
pub struct Values<'a> {
    /// A variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The home directory.
    pub home: &'a Path,
    /// The directory of the project.
    pub folder: &'a Path,
}

impl fmt::Debug for Values<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Values");
        shown.field("home", &self.home).field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// A piece of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    Text(&'a str),
    Variable(&'a str, Option<&'a str>),
    Input(&'a str),
    File(&'a str),
    Folder(&'a str),
}

/// What the texts of a server need, each once; what has a value of its own, like
/// `${workspaceFolder}`, is not among it.
pub(crate) fn needs(entry: &Entry, syntax: Syntax) -> Vec<Need> {
    let mut needs = Vec::new();
    for text in entry.texts() {
        for (_, piece) in pieces(text, syntax) {
            needs.extend(match piece {
                Piece::Variable(name, None) => Some(Need::Variable(name.to_owned())),
                Piece::Input(id) => Some(Need::Input(id.to_owned())),
                Piece::File(path) => Some(Need::File(path.to_owned())),
                Piece::Text(_) | Piece::Variable(_, Some(_)) | Piece::Folder(_) => None,
            });
        }
    }
    needs.sort();
    needs.dedup();
    needs
}

/// The same server with all variables filled in, or what is missing for it.
pub(crate) fn filled(
    entry: &Entry,
    syntax: Syntax,
    values: &Values<'_>,
) -> Result<Entry, Vec<Need>> {
    let mut missing = Vec::new();
    let mut fill = |text: &String| fill_text(text, syntax, values, &mut missing);
    let how = match &entry.how {
        How::Command { program, args, env, dir } => How::Command {
            program: fill(program),
            args: args.iter().map(&mut fill).collect(),
            env: env.iter().map(|(name, value)| (name.clone(), fill(value))).collect(),
            dir: dir.as_ref().map(&mut fill),
        },
        How::Url { url, headers, transport } => How::Url {
            url: fill(url),
            headers: headers.iter().map(|(name, value)| (name.clone(), fill(value))).collect(),
            transport: *transport,
        },
    };
    missing.sort();
    missing.dedup();
    if missing.is_empty() { Ok(Entry { how, ..entry.clone() }) } else { Err(missing) }
}

fn fill_text(text: &str, syntax: Syntax, values: &Values<'_>, missing: &mut Vec<Need>) -> String {
    let mut filled = String::with_capacity(text.len());
    for (_, piece) in pieces(text, syntax) {
        match piece {
            Piece::Text(text) => filled.push_str(text),
            Piece::Variable(name, otherwise) => match (values.variable)(name) {
                Some(value) => filled.push_str(&value),
                None => match otherwise {
                    Some(otherwise) => filled.push_str(otherwise),
                    None => missing.push(Need::Variable(name.to_owned())),
                },
            },
            Piece::Input(id) => missing.push(Need::Input(id.to_owned())),
            Piece::File(path) => match crate::reading::text(&values.folder.join(path)) {
                Ok(content) => filled.push_str(content.trim_end()),
                Err(_) => missing.push(Need::File(path.to_owned())),
            },
            Piece::Folder(name) => filled.push_str(&folder(name, values)),
        }
    }
    filled
}

pub(crate) fn folder(name: &str, values: &Values<'_>) -> String {
    match name {
        "userHome" => values.home.to_string_lossy().into_owned(),
        "workspaceFolderBasename" => {
            let name = values.folder.file_name().unwrap_or_default();
            name.to_string_lossy().into_owned()
        }
        "pathSeparator" | "/" => std::path::MAIN_SEPARATOR_STR.to_owned(),
        _ => values.folder.to_string_lossy().into_owned(),
    }
}

const FOLDERS: [&str; 5] =
    ["workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator", "/"];

/// The pieces of a text, each with the bytes that it is typed as.
pub(crate) fn pieces(text: &str, syntax: Syntax) -> Vec<(Range<usize>, Piece<'_>)> {
    let mut pieces = Vec::new();
    let (mut done, mut from, mut brace) = (0, 0, None);
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(['$', '{'])) {
        let start = from + at;
        // The next brace that closes is the same for many that open.
        let next = || text[start..].find('}').map_or(text.len(), |at| start + at);
        let end = *brace.insert(brace.filter(|known| *known >= start).unwrap_or_else(next));
        match piece(&text[start..], text.get(start..end + 1), syntax) {
            Some((piece, length)) => {
                pieces.push((done..start, Piece::Text(&text[done..start])));
                pieces.push((start..start + length, piece));
                done = start + length;
                from = done;
            }
            None => from = start + 1,
        }
    }
    pieces.push((done..text.len(), Piece::Text(&text[done..])));
    pieces.retain(|(_, piece)| *piece != Piece::Text(""));
    pieces
}

/// The variable that a text begins with, and how many bytes it takes. `closed` is the text up to
/// the first brace that closes, if one does.
fn piece<'t>(text: &'t str, closed: Option<&'t str>, syntax: Syntax) -> Option<(Piece<'t>, usize)> {
    if text.starts_with("${") {
        let inner = closed?.strip_prefix("${")?.strip_suffix('}')?;
        return Some((braced(inner, syntax)?, inner.len() + 3));
    }
    if text.starts_with('{') && syntax.curly {
        let inner = closed?.strip_prefix('{')?.strip_suffix('}')?;
        let piece = match named(inner)? {
            ("env", name) if is_name(name) => Piece::Variable(name, None),
            ("file", path) if !path.is_empty() => Piece::File(path),
            _ => return None,
        };
        return Some((piece, inner.len() + 2));
    }
    let inner = text.strip_prefix('$').filter(|_| syntax.bare)?;
    let end = inner.find(|c: char| c != '_' && !c.is_ascii_alphanumeric()).unwrap_or(inner.len());
    let name = &inner[..end];
    is_name(name).then_some((Piece::Variable(name, None), end + 1))
}

fn braced(inner: &str, syntax: Syntax) -> Option<Piece<'_>> {
    if syntax.folders && (FOLDERS.contains(&inner) || inner.starts_with("workspaceFolder:")) {
        return Some(Piece::Folder(inner));
    }
    match named(inner) {
        Some(("env", name)) if syntax.env && is_name(name) => Some(Piece::Variable(name, None)),
        Some(("input", id)) if syntax.inputs && !id.is_empty() => Some(Piece::Input(id)),
        Some((name, otherwise)) if syntax.braces && is_name(name) => {
            Some(Piece::Variable(name, Some(otherwise.strip_prefix('-')?)))
        }
        // A name is looked at up to where it ends, which is soon: what is within may be long.
        None if syntax.braces && is_name(inner) => Some(Piece::Variable(inner, None)),
        _ => None,
    }
}

/// What stands before and behind the colon that a word ends with.
fn named(inner: &str) -> Option<(&str, &str)> {
    let end = inner.find(|c: char| c != '_' && !c.is_ascii_alphanumeric())?;
    Some((&inner[..end], inner[end..].strip_prefix(':')?))
}

fn is_name(name: &str) -> bool {
    let is_word = |character: char| character == '_' || character.is_ascii_alphanumeric();
    !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Syntax = Syntax { bare: true, ..Syntax::ANY };

    fn check(text: &str, syntax: Syntax, expected: Result<&str, &str>) {
        let variable = |name: &str| (name == "A").then(|| "a${B}".to_owned());
        let (home, folder) = (Path::new("/home/ada"), Path::new("/no/such/desk"));
        let values = Values { variable: &variable, home, folder };
        let mut missing = Vec::new();
        let filled = fill_text(text, syntax, &values, &mut missing);
        match expected {
            Ok(expected) => assert_eq!((&*filled, missing), (expected, vec![]), "{text}"),
            Err(need) => assert_eq!(missing[0].to_string(), need, "{text}"),
        }
    }

    #[test]
    fn every_spelling_is_filled_in_once() {
        check("x ${A} y", ALL, Ok("x a${B} y"));
        check("$A$A-", ALL, Ok("a${B}a${B}-"));
        check("${env:A}{env:A}", ALL, Ok("a${B}a${B}"));
        check("${C:-d}${A:-d}", ALL, Ok("da${B}"));
        check("${workspaceFolder}/x", ALL, Ok("/no/such/desk/x"));
        check("${userHome}${/}${workspaceFolderBasename}", ALL, Ok("/home/ada/desk"));
        for plain in
            ["$", "$1", "{}", "${", "${}", "{env:", "${A", "{x:y}", "${a b}", "$ {A}", "é$"]
        {
            check(plain, ALL, Ok(plain));
        }
    }

    /// Each brace is looked for once; with a look for each that opens, these take minutes.
    #[test]
    fn braces_that_open_again_and_again_are_text() {
        let begun = std::time::Instant::now();
        for text in ["${", "{env:", "${A:"] {
            let many = text.repeat(2_000_000 / text.len());
            check(&many, Syntax::ANY, Ok(&many));
            let closed = format!("{many}:}}");
            check(&closed, Syntax::ANY, Ok(&closed));
        }
        assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
    }

    #[test]
    fn what_is_missing_is_named() {
        check("${C}", ALL, Err("the variable C"));
        check("${input:token}", ALL, Err("the input `token`, which its editor asks for"));
        check("{file:./x}", ALL, Err("the file ./x"));
    }

    #[test]
    fn what_a_host_does_not_know_is_text() {
        for text in ["${A}", "$A", "${env:A}", "{env:A}", "${input:a}", "${workspaceFolder}"] {
            check(text, Syntax::NONE, Ok(text));
        }
        check("$A ${env:A}", Syntax { braces: true, ..Syntax::NONE }, Ok("$A ${env:A}"));
    }
}
