//! `${env:NAME}`, `${env:NAME:-default}` and `${file:PATH}` become what they stand for. Called by
//! `meant` for every text; what was filled in is never shown in a message.

use crate::align::narrow;
use crate::command::environ::is_usual;
use crate::fault::Wrong;
use crate::limits::FILLED_BYTES_MAX;
use crate::place::{Place, Placed};
use crate::problem::{Problem, too_large_to_fill};
use crate::seen::Seen;
use crate::tree::{Node, Tree};
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What a manifest is read in: its own text and directory, and the environment.
pub(crate) struct Surroundings<'a> {
    /// The text of the manifest.
    pub(crate) text: &'a str,
    /// Its directory, absolute.
    pub(crate) directory: &'a Path,
    /// The value of an environment variable.
    pub(crate) variable: &'a dyn Fn(&str) -> Option<String>,
    /// What was read meanwhile.
    pub(crate) seen: &'a Seen,
}

/// A text with everything filled in.
#[derive(Clone, Debug)]
pub(crate) struct Filled {
    pub(crate) value: String,
    /// How it may be shown: in quotes, as it was typed.
    pub(crate) shown: String,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The bytes of the text that it is typed as.
    pub(crate) typed: Range<usize>,
    /// What it is.
    pub(crate) content: Content,
}

/// What a part of a text is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// What was typed, or `${` for `$${`.
    Text(String),
    /// What was filled in.
    Filled(String),
}

impl Surroundings<'_> {
    /// The same for the text of another file.
    pub(crate) fn of<'t>(&'t self, text: &'t str) -> Surroundings<'t> {
        Surroundings { text, ..*self }
    }

    /// The text with everything filled in.
    pub(crate) fn fill(&self, text: &Placed<String>) -> Result<Filled, Wrong> {
        let shown = format!("{:?}", text.value);
        let pieces = self.pieces(text)?;
        let content = |piece: Piece| match piece.content {
            Content::Text(content) | Content::Filled(content) => content,
        };
        Ok(Filled { value: pieces.into_iter().map(content).collect(), shown })
    }

    /// The parts of a text, in order.
    pub(crate) fn pieces(&self, text: &Placed<String>) -> Result<Vec<Piece>, Wrong> {
        let typed = &*text.value;
        let mut pieces = Vec::new();
        let mut push = |typed: Range<usize>, content: Content| {
            if !typed.is_empty() {
                pieces.push(Piece { typed, content });
            }
        };
        let as_typed = |range: Range<usize>| Content::Text(typed[range].to_owned());
        let (mut done, mut from) = (0, 0);
        while let Some(at) = typed[from..].find("${").map(|at| from + at) {
            let after = at + 2;
            if at > done && typed[..at].ends_with('$') {
                push(done..at - 1, as_typed(done..at - 1));
                push(at - 1..after, Content::Text("${".to_owned()));
                (done, from) = (after, after);
                continue;
            }
            let Some(end) = typed[after..].find('}').map(|end| after + end) else { break };
            let whole = at..end + 1;
            let place = || narrow(self.text, text.place, typed, whole.clone());
            from = after;
            if let Some(content) = self.stand_in(&typed[after..end], &place)? {
                push(done..at, as_typed(done..at));
                (done, from) = (whole.end, whole.end);
                push(whole, Content::Filled(content));
            }
        }
        push(done..typed.len(), as_typed(done..typed.len()));
        Ok(pieces)
    }

    /// Refuses what would be filled in elsewhere: a schema is passed on as it is.
    pub(crate) fn refuse(&self, key: &str, tree: &Tree) -> Result<(), Wrong> {
        match &tree.node {
            Node::List(items) => items.iter().try_for_each(|item| self.refuse(key, item)),
            Node::Map(entries) => {
                entries.iter().try_for_each(|entry| self.refuse(key, &entry.value))
            }
            Node::Text(typed) => {
                let Some(whole) = substitution(typed) else { return Ok(()) };
                let source = &typed[whole.clone()];
                let reason = format!("{source} is not filled in here; write the value itself");
                let place = narrow(self.text, tree.place, typed, whole);
                Err(Wrong::new(place, Problem::BadSchema { key: key.to_owned(), reason }))
            }
            Node::Bool(..) | Node::Null | Node::Number(..) => Ok(()),
        }
    }

    /// What `${inner}` stands for, if it is a substitution at all: shells have `${…}` too.
    fn stand_in(&self, inner: &str, place: &dyn Fn() -> Place) -> Result<Option<String>, Wrong> {
        if let Some(inner) = inner.strip_prefix("env:") {
            // As in a shell, an empty variable has the default, too.
            let (name, default) = match inner.split_once(":-") {
                Some((name, default)) => (name, Some(default)),
                None => (inner, None),
            };
            self.seen.variable(name);
            let value = (self.variable)(name);
            if let Some(default) = default.filter(|_| value.as_ref().is_none_or(String::is_empty)) {
                return Ok(Some(default.to_owned()));
            }
            let missing = || Problem::MissingVariable { name: name.to_owned() };
            return match value {
                Some(value) => {
                    self.seen.filled(&value);
                    // What every program has is nobody's secret.
                    if !is_usual(name.as_ref()) {
                        self.seen.secret(&value);
                    }
                    Ok(Some(value))
                }
                None => Err(Wrong::new(place(), missing())),
            };
        }
        if let Some(path) = inner.strip_prefix("file:") {
            let content = self.read(path).map_err(|reason| {
                let path = path.to_owned();
                Wrong::new(place(), Problem::UnreadableFill { path, reason })
            })?;
            self.seen.secret(&content);
            return Ok(Some(content));
        }
        match misspelled(inner) {
            Some((word, nearest)) => {
                let word = word.to_owned();
                Err(Wrong::new(place(), Problem::UnknownSubstitution { word, nearest }))
            }
            None => Ok(None),
        }
    }

    /// A file's text without the line end at its end.
    pub(crate) fn read(&self, path: &str) -> Result<String, String> {
        let path: PathBuf = self.directory.join(path);
        self.seen.file(&path);
        let said = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
            std::io::ErrorKind::PermissionDenied => "it may not be read".to_owned(),
            _ => error.to_string(),
        };
        // Reading a pipe could wait for ever.
        if !std::fs::metadata(&path).map_err(said)?.is_file() {
            return Err("it is not a file".to_owned());
        }
        let file = std::fs::File::open(&path).map_err(said)?;
        let mut bytes = Vec::new();
        file.take(FILLED_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(said)?;
        if bytes.len() as u64 > FILLED_BYTES_MAX {
            return Err(too_large_to_fill());
        }
        let mut text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
        let kept = text
            .strip_suffix('\n')
            .map_or(text.len(), |text| text.strip_suffix('\r').map_or(text.len(), str::len));
        text.truncate(kept);
        self.seen.filled(&text);
        Ok(text)
    }
}

/// The first `${env:…}` or `${file:…}` of a text; `$${` and the `\${` of a pattern are none.
fn substitution(typed: &str) -> Option<Range<usize>> {
    let is_one = |at: &usize| {
        let is_escaped = typed[..*at].ends_with(['$', '\\']);
        !is_escaped && ["${env:", "${file:"].iter().any(|word| typed[*at..].starts_with(word))
    };
    let at = typed.match_indices("${").map(|(at, _)| at).find(is_one)?;
    Some(at..at + typed[at..].find('}')? + 1)
}

/// `word:rest` that looks like a substitution and not like a shell's `${name:-default}`.
fn misspelled(inner: &str) -> Option<(&str, &'static str)> {
    let (word, rest) = inner.split_once(':')?;
    let is_word = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    let begins_a_name = |first: char| first.is_ascii_alphabetic() || "_/.~".contains(first);
    let nearest = if word.to_ascii_lowercase().starts_with('f') { "file" } else { "env" };
    (is_word && rest.starts_with(begins_a_name)).then_some((word, nearest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(text: &str) -> Result<String, Problem> {
        let variable = |name: &str| (name == "KEY").then(|| "k{{ x }}".to_owned());
        let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
        let surroundings =
            Surroundings { text, directory, variable: &variable, seen: &Seen::default() };
        let placed = Placed::new(Place { start: 0, end: text.len() }, text.to_owned());
        surroundings.fill(&placed).map(|filled| filled.value).map_err(|wrong| *wrong.problem)
    }

    #[test]
    fn variables_are_filled_in() {
        assert_eq!(fill("a ${env:KEY} b${env:KEY}").as_deref(), Ok("a k{{ x }} bk{{ x }}"));
        assert_eq!(fill("").as_deref(), Ok(""));
    }

    #[test]
    fn a_default_is_for_a_variable_that_is_not_there() {
        for (typed, expected) in [
            ("${env:KEY:-d}", "k{{ x }}"),
            ("${env:GONE:-d}", "d"),
            ("${env:GONE:-}", ""),
            ("${env:GONE:-http://127.0.0.1:80/a-b?c=d}", "http://127.0.0.1:80/a-b?c=d"),
            ("${env:GONE:-a:-b}", "a:-b"),
            ("a${env:GONE:-b}c${env:KEY:-d}", "abck{{ x }}"),
            ("$${env:GONE:-d}", "${env:GONE:-d}"),
        ] {
            assert_eq!(fill(typed).as_deref(), Ok(expected), "{typed}");
        }
        let problem = Problem::MissingVariable { name: "GONE".into() };
        assert_eq!(fill("${env:GONE}"), Err(problem));
    }

    #[test]
    fn two_dollars_write_one() {
        assert_eq!(fill("$${env:KEY} $${ $$$").as_deref(), Ok("${env:KEY} ${ $$$"));
        assert_eq!(fill("${env:KEY}$${env:KEY}").as_deref(), Ok("k{{ x }}${env:KEY}"));
    }

    #[test]
    fn what_a_shell_means_is_left_alone() {
        for text in ["${HOME}", "${x:-y}", "${x:0:2}", "${", "a ${ b", "${env", "$env:KEY"] {
            assert_eq!(fill(text).as_deref(), Ok(text));
        }
    }

    #[test]
    fn a_misspelled_substitution_is_a_fault() {
        let problem = Problem::UnknownSubstitution { word: "evn".into(), nearest: "env" };
        assert_eq!(fill("${evn:KEY}"), Err(problem));
        let problem = Problem::UnknownSubstitution { word: "File".into(), nearest: "file" };
        assert_eq!(fill("${File:./x}"), Err(problem));
    }

    #[test]
    fn files_are_filled_in_without_their_last_line_end() {
        let lines = fill("${file:src/fill.rs}").expect("this file can be read");
        assert!(lines.starts_with("//!") && lines.ends_with('}'));
    }

    #[test]
    fn a_file_that_cannot_be_filled_in_is_a_fault() {
        let refused = |text: &str| match fill(text) {
            Err(Problem::UnreadableFill { reason, .. }) => reason,
            other => panic!("{other:?}"),
        };
        assert_eq!(refused("${file:nowhere}"), "there is no such file");
        assert_eq!(refused("${file:src}"), "it is not a file");
        assert_eq!(refused("${file:/dev/zero}"), "it is not a file");
    }
}
