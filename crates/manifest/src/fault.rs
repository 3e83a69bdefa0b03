//! A problem with its place: the one error of this crate, and how it is drawn for people. The
//! command line prints it; nothing here prints.

use crate::place::Place;
use crate::problem::Problem;
use anstyle::{AnsiColor, Style};
use std::fmt;
use std::path::{Path, PathBuf};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What is wrong with a manifest, and where.
///
/// Displayed, it is a line that says what is wrong, the line of the file with a mark under the
/// spot, and a line that says what to do:
///
/// ```text
/// haft.yaml:7:1: `toolz` is no known key of a manifest
///   |
/// 7 | toolz:
///   | ^^^^^
///   = help: did you mean `tools`?
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    path: PathBuf,
    spot: Option<Box<Spot>>,
    problem: Box<Problem>,
}

/// A place, as people count.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Spot {
    line: usize,
    column: usize,
    /// In characters, on this line.
    width: usize,
    text: String,
}

/// A problem whose file is not known yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) place: Place,
    pub(crate) problem: Box<Problem>,
    /// The file that the place is in, if that is not the manifest.
    other: Option<Box<Other>>,
}

/// A file that the manifest names.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Other {
    /// From the manifest's directory.
    path: PathBuf,
    text: String,
}

impl Wrong {
    pub(crate) fn new(place: Place, problem: Problem) -> Self {
        Self { place, problem: Box::new(problem), other: None }
    }

    /// The same in another file than the manifest, whose path is relative to the manifest's
    /// directory.
    pub(crate) fn in_file(self, path: &Path, text: &str) -> Self {
        let other = Other { path: path.to_owned(), text: text.to_owned() };
        Self { other: Some(Box::new(other)), ..self }
    }
}

impl Fault {
    /// A fault of the file as a whole.
    pub(crate) fn of_file(path: &Path, problem: Problem) -> Self {
        Self { path: path.to_owned(), spot: None, problem: Box::new(problem) }
    }

    /// A fault in the file's text, or in that of a file that it names.
    pub(crate) fn in_text(path: &Path, text: &str, wrong: Wrong) -> Self {
        let (path, text) = match &wrong.other {
            Some(other) => (path.with_file_name(&other.path), &*other.text),
            None => (path.to_owned(), text),
        };
        let spot = Some(Box::new(Spot::find(text, wrong.place)));
        Self { path, spot, problem: wrong.problem }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The line, from 1; `None` if the fault is the file's as a whole.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.spot.as_ref().map(|spot| spot.line)
    }

    /// The column, from 1 and in characters.
    #[must_use]
    pub fn column(&self) -> Option<usize> {
        self.spot.as_ref().map(|spot| spot.column)
    }

    /// Which mistake it is.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// One line: the place and what is wrong.
    #[must_use]
    pub fn message(&self) -> String {
        let path = self.path.display();
        let said = self.problem.message();
        match self.spot.as_deref() {
            Some(Spot { line, column, .. }) => format!("{path}:{line}:{column}: {said}"),
            None => format!("{path}: {said}"),
        }
    }

    /// One line: what to do, where that is not plain from the message.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        self.problem.help()
    }

    /// The drawing with the colours of a terminal.
    #[must_use]
    pub fn coloured(&self) -> String {
        let mut drawing = String::new();
        self.draw(&mut drawing, &Colours::BRIGHT).expect("a string takes whatever is written");
        drawing
    }

    fn draw(&self, out: &mut dyn fmt::Write, colours: &Colours) -> fmt::Result {
        let Colours { strong, gutter, mark } = colours;
        write!(out, "{strong}{}{strong:#}", self.message())?;
        let margin = match &self.spot {
            Some(spot) => {
                let margin = " ".repeat(spot.line.to_string().len());
                let (shown, before, under) = spot.window();
                write!(out, "\n{gutter}{margin} |{gutter:#}")?;
                write!(out, "\n{gutter}{} |{gutter:#} {shown}", spot.line)?;
                write!(out, "\n{gutter}{margin} |{gutter:#} {before}{mark}{under}{mark:#}")?;
                margin
            }
            None => String::new(),
        };
        match self.help() {
            Some(help) => write!(out, "\n{gutter}{margin} ={gutter:#} help: {help}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.draw(f, &Colours::NONE)
    }
}

impl std::error::Error for Fault {}

struct Colours {
    strong: Style,
    gutter: Style,
    mark: Style,
}

impl Colours {
    const NONE: Self = Self { strong: Style::new(), gutter: Style::new(), mark: Style::new() };
    const BRIGHT: Self = Self {
        strong: Style::new().bold(),
        gutter: AnsiColor::Blue.on_default(),
        mark: AnsiColor::Red.on_default().bold(),
    };
}

/// How many characters of a long line are shown, and how many of them before and after the spot.
const SHOWN: usize = 100;
const SHOWN_BEFORE: usize = 60;
const SHOWN_AFTER: usize = 40;

impl Spot {
    /// Any place is some spot: one that is out of range is the end of the text.
    fn find(text: &str, place: Place) -> Self {
        let start = floor(text, place.start);
        let end = floor(text, place.end).max(start);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let line = text[..start].matches('\n').count() + 1;
        Self {
            line,
            column: text[line_start..start].chars().count() + 1,
            width: text[start..end.min(line_end)].trim_end().chars().count().max(1),
            text: text[line_start..line_end].trim_end().to_owned(),
        }
    }

    /// The part of the line that is shown, the spaces up to the mark, and the mark.
    fn window(&self) -> (String, String, String) {
        let first = (self.column - 1).saturating_sub(SHOWN_BEFORE);
        let shown: Vec<char> = self.text.chars().skip(first).collect();
        let width = self.width.min(SHOWN);
        let kept = SHOWN.max(self.column - 1 - first + width + SHOWN_AFTER);
        let is_cut = shown.len() > kept;
        let shown: Vec<char> = shown.into_iter().take(kept).collect();
        let mark_at = self.column - 1 - first;
        let columns = |characters: &[char]| {
            characters.iter().map(|&character| spelled(character).width()).sum::<usize>()
        };
        let marked = shown.get(mark_at..).unwrap_or_default();
        let marked = marked.get(..width).unwrap_or(marked);
        let ellipsis = if first > 0 { "…" } else { "" };
        let mut line = ellipsis.to_owned();
        line.extend(shown.iter().map(|&character| spelled(character)));
        line.push_str(if is_cut { "…" } else { "" });
        let before = ellipsis.width() + columns(shown.get(..mark_at).unwrap_or(&shown));
        (line, " ".repeat(before), "^".repeat(columns(marked).max(1)))
    }
}

/// A character as it is drawn: nothing in a file can move a terminal's cursor.
fn spelled(character: char) -> String {
    match character {
        '\t' => "    ".to_owned(),
        _ if character.width().is_none() => "\u{fffd}".to_owned(),
        _ => character.to_string(),
    }
}

fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The line of a place, from 1.
pub(crate) fn line_of(text: &str, place: Place) -> usize {
    Spot::find(text, place).line
}

/// The line and column of a place, both from 1.
pub(crate) fn line_and_column(text: &str, place: Place) -> (usize, usize) {
    let spot = Spot::find(text, place);
    (spot.line, spot.column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, at: &str, expected: &[&str]) {
        let start = text.find(at).expect("the text has the spot");
        let wrong = Wrong::new(Place { start, end: start + at.len() }, Problem::SecondDocument);
        let drawn = Fault::in_text(Path::new("f"), text, wrong).to_string();
        let lines: Vec<&str> = drawn.lines().collect();
        assert_eq!(lines[2..4], *expected, "{drawn}");
    }

    #[test]
    fn the_mark_stands_under_the_spot() {
        check("a: b\nc: dd", "dd", &["2 | c: dd", "  |    ^^"]);
        check("a: b", "a: b\n".trim_end(), &["1 | a: b", "  | ^^^^"]);
    }

    #[test]
    fn tabs_and_wide_characters_do_not_shift_the_mark() {
        check("\tx: dd", "dd", &["1 |     x: dd", "  |        ^^"]);
        check("日本: 語", "語", &["1 | 日本: 語", "  |       ^^"]);
    }

    #[test]
    fn control_characters_are_not_drawn() {
        check("a\u{1b}[2J: dd", "dd", &["1 | a\u{fffd}[2J: dd", "  |        ^^"]);
    }

    #[test]
    fn of_a_long_line_only_the_spot_is_shown() {
        let text = format!("{}dd{}", "a".repeat(10_000), "b".repeat(10_000));
        let line = format!("1 | …{}dd{}…", "a".repeat(60), "b".repeat(40));
        let mark = format!("  | {}^^", " ".repeat(61));
        check(&text, "dd", &[&line, &mark]);
    }

    #[test]
    fn a_place_beyond_the_end_is_the_end() {
        let wrong = Wrong::new(Place { start: 99, end: 100 }, Problem::SecondDocument);
        let fault = Fault::in_text(Path::new("f"), "é", wrong);
        assert_eq!((fault.line(), fault.column()), (Some(1), Some(2)));
    }
}
