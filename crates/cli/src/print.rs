//! Everything that a person or a program sees: text, JSON, notes and failures. All verbs print
//! through it, and nothing else does. Colour is left out where stdout or stderr is no terminal or
//! NO_COLOR is set; what servers say cannot move the cursor of a terminal.

use crate::exit::{Exit, Failure};
use crate::table::Table;
use anstream::adapter::strip_str;
use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::io::{self, IsTerminal, Write};

/// Names of things.
pub(crate) const NAME: Style = AnsiColor::Cyan.on_default();
/// What may be overlooked.
pub(crate) const DIM: Style = Style::new().dimmed();
/// Headings.
pub(crate) const STRONG: Style = Style::new().bold();
/// What went well.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// What went wrong.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
const ODD: Style = AnsiColor::Yellow.on_default().bold();

/// Where a command's output goes and in which form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Printer {
    is_json: bool,
    is_verbose: bool,
    has_terminal_in: bool,
    has_terminal_out: bool,
    has_terminal_err: bool,
}

impl Printer {
    /// For this process's stdout and stderr.
    pub(crate) fn new(is_json: bool, is_verbose: bool) -> Self {
        Self {
            is_json,
            is_verbose,
            has_terminal_in: io::stdin().is_terminal(),
            has_terminal_out: io::stdout().is_terminal(),
            has_terminal_err: io::stderr().is_terminal(),
        }
    }

    /// Whether the output is one JSON document.
    pub(crate) fn is_json(self) -> bool {
        self.is_json
    }

    /// Whether more than usual should be said.
    pub(crate) fn is_verbose(self) -> bool {
        self.is_verbose
    }

    /// Whether a bar that moves can be drawn on stderr.
    pub(crate) fn can_animate(self) -> bool {
        self.has_terminal_err && !self.is_json
    }

    /// Whether there is a person to ask, on stderr and stdin.
    pub(crate) fn can_ask(self) -> bool {
        self.has_terminal_in && self.has_terminal_err && !self.is_json
    }

    /// The columns of the terminal that stdout is; `None` if it is none and lines may be long.
    pub(crate) fn width(self) -> Option<usize> {
        if !self.has_terminal_out {
            return None;
        }
        let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
        Some(usize::from(size.ws_col)).filter(|&columns| columns > 0)
    }

    /// Prints the JSON document, which is JSON text: as it is into a pipe or file.
    pub(crate) fn document(self, json: &str) -> Result<(), Failure> {
        let json = if self.has_terminal_out { escaped(json) } else { Cow::Borrowed(json) };
        written(&[&json, "\n"])
    }

    /// Prints what somebody else wrote: as it is into a pipe or file, without control characters
    /// on a terminal. Ends with a line end.
    pub(crate) fn text(self, text: &str) -> Result<(), Failure> {
        let text = if self.has_terminal_out { without_controls(text) } else { Cow::Borrowed(text) };
        let end = if text.ends_with('\n') { "" } else { "\n" };
        written(&[&text, end])
    }

    /// Writes bytes as they are; false, and nothing, if stdout is a terminal.
    pub(crate) fn bytes(self, content: &[u8]) -> Result<bool, Failure> {
        if self.has_terminal_out {
            return Ok(false);
        }
        let mut out = io::stdout().lock();
        out.write_all(content)?;
        out.flush()?;
        Ok(true)
    }

    /// Prints a line of our own; styles in it are removed where they do not belong.
    pub(crate) fn line(self, line: fmt::Arguments<'_>) -> Result<(), Failure> {
        self.out(format_args!("{line}\n"))
    }

    /// Prints a table, cut to the width of the terminal.
    pub(crate) fn table(self, table: &Table) -> Result<(), Failure> {
        self.out(format_args!("{}", table.render(self.width())))
    }

    /// Says something beside the output, on stderr; not with `--json`.
    pub(crate) fn note(self, line: fmt::Arguments<'_>) {
        if !self.is_json {
            self.err(format_args!("{line}\n"));
        }
    }

    /// Says something on stderr that programs wait for too; with `--json` as one JSON line.
    pub(crate) fn always(self, line: fmt::Arguments<'_>) {
        if self.is_json {
            let line = line.to_string();
            let line = strip_str(line.strip_prefix("haft: ").unwrap_or(&line)).to_string();
            return self.err_json(&json!({"note": {"message": line}}));
        }
        self.err(format_args!("{line}\n"));
    }

    /// Says where something listens; with `--json` as one JSON line, of this `kind`.
    pub(crate) fn listening(self, kind: &str, name: Option<&str>, at: &str) {
        match (self.is_json, name) {
            (true, Some(name)) => self.err_json(&json!({kind: {"name": name, "url": at}})),
            (true, None) => self.err_json(&json!({kind: {"url": at}})),
            (false, Some(name)) => {
                self.err(format_args!("haft: {kind} {NAME}{}{NAME:#} at {at}\n", one_line(name)));
            }
            (false, None) => self.err(format_args!("haft: {kind} at {at}\n")),
        }
    }

    /// Says one line beside the output, on stderr; with `--json` as one JSON line.
    pub(crate) fn remark(self, line: &str) {
        let line = one_line(line);
        if self.is_json {
            self.err_json(&json!({"note": {"message": line}}));
        } else {
            self.err(format_args!("{line}\n"));
        }
    }

    /// Tells programs of something that happened, as a JSON line on stderr.
    pub(crate) fn event(self, what: &Value) {
        self.err_json(what);
    }

    /// Asks a person for a line, on stderr; the cursor stays behind it.
    pub(crate) fn prompt(self, prompt: fmt::Arguments<'_>) {
        self.err(prompt);
    }

    /// Warns of something odd, on stderr; with `--json` as one JSON line.
    pub(crate) fn warn(self, line: &str) {
        if self.is_json {
            return self.err_json(&json!({"warning": {"message": one_line(line)}}));
        }
        self.note(format_args!("{ODD}warning{ODD:#}: {}", one_line(line)));
    }

    /// Passes on, on stderr, what a server behind this one says there; with `--json` as one JSON
    /// line.
    pub(crate) fn said(self, who: &str, line: &str) {
        if self.is_json {
            self.err_json(&json!({"said": {"upstream": who, "line": line}}));
        } else {
            self.err(format_args!("{DIM}{}:{DIM:#} {}\n", one_line(who), one_line(line)));
        }
    }

    /// Tells of a failure on stderr, and returns its code.
    pub(crate) fn failure(self, failure: &Failure) -> Exit {
        if failure.exit == Exit::Ok {
            return Exit::Ok;
        }
        if self.is_json {
            let mut error = json!({"code": failure.exit.name(), "message": failure.message});
            if let Some(hint) = &failure.hint {
                error["hint"] = json!(hint);
            }
            self.err_json(&json!({"error": error}));
        } else if let Some(drawing) = &failure.drawing {
            self.err(format_args!("{BAD}error{BAD:#}: {drawing}\n"));
        } else {
            let message = without_controls(failure.message.trim_end());
            self.err(format_args!("{BAD}error{BAD:#}: {message}\n"));
            if let Some(hint) = &failure.hint {
                self.err(format_args!("{DIM}hint{DIM:#}: {}\n", one_line(hint)));
            }
        }
        failure.exit
    }

    fn out(self, what: fmt::Arguments<'_>) -> Result<(), Failure> {
        let mut out = anstream::stdout().lock();
        out.write_fmt(what)?;
        Ok(out.flush()?)
    }

    fn err_json(self, what: &Value) {
        self.err(format_args!("{}\n", escaped(&what.to_string())));
    }

    fn err(self, what: fmt::Arguments<'_>) {
        // If stderr is gone there is nobody to tell.
        _ = anstream::stderr().lock().write_fmt(what);
    }
}

/// Writes to stdout, not through `anstream`: what another's text has of escape sequences, or what
/// looks like one, is not ours to remove.
fn written(parts: &[&str]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    for part in parts {
        out.write_all(part.as_bytes())?;
    }
    Ok(out.flush()?)
}

/// The same JSON without characters that steer a terminal. They are only ever within its texts, as
/// JSON allows them nowhere else.
fn escaped(json: &str) -> Cow<'_, str> {
    let is_harmless = |character: char| is_plain(character) || character.is_ascii_whitespace();
    if json.chars().all(is_harmless) {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len());
    for character in json.chars() {
        if is_harmless(character) {
            text.push(character);
        } else {
            // Writing to a string cannot fail.
            _ = write!(text, "\\u{:04x}", u32::from(character));
        }
    }
    Cow::Owned(text)
}

/// A peer's text on one line, without control characters.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().filter(|&character| is_plain(character)));
    }
    line
}

/// Whether a character neither steers a terminal nor turns the order of those around it, by which a
/// text could look like another.
fn is_plain(character: char) -> bool {
    let marks = '\u{200e}'..='\u{200f}';
    let overrides = '\u{202a}'..='\u{202e}';
    let isolates = '\u{2066}'..='\u{2069}';
    let turns = [marks, overrides, isolates].iter().any(|range| range.contains(&character));
    !character.is_control() && !turns
}

/// A number of bytes for people.
pub(crate) fn bytes(count: usize) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    _ = match count {
        0..1000 => write!(text, "{count} B"),
        1000..10_000 => write!(text, "{}.{} kB", count / 1000, count % 1000 / 100),
        10_000..1_000_000 => write!(text, "{} kB", count / 1000),
        _ => write!(text, "{}.{} MB", count / 1_000_000, count % 1_000_000 / 100_000),
    };
    text
}

/// A peer's text without characters that steer a terminal; lines and tabs stay.
fn without_controls(text: &str) -> Cow<'_, str> {
    let is_harmless = |character: char| is_plain(character) || "\n\t".contains(character);
    if text.chars().all(is_harmless) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter(|&character| is_harmless(character)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_cannot_steer_the_terminal() {
        assert_eq!(without_controls("a\x1b]0;title\x07b\tc\n\u{9b}2J"), "a]0;titleb\tc\n2J");
        assert_eq!(without_controls("a\u{202e}txt.exe\nb"), "atxt.exe\nb");
        assert_eq!(one_line(" a\x1b[2J\n\n b "), "a[2J b");
        assert_eq!(one_line("a\u{202e}txt.exe\u{2066}"), "atxt.exe");
    }

    #[test]
    fn json_that_cannot_steer_the_terminal_means_the_same() {
        let json = "{\n \"a\": \"\u{9b}2J\u{7f}\u{202e}é\"\t}";
        let shown = escaped(json);
        assert_eq!(shown, "{\n \"a\": \"\\u009b2J\\u007f\\u202eé\"\t}");
        let read = |json: &str| serde_json::from_str::<Value>(json).expect("JSON");
        assert_eq!(read(json), read(&shown));
        assert!(matches!(escaped("{\"a\": 1}"), Cow::Borrowed(_)));
    }

    #[test]
    fn bytes_are_short() {
        let shown = [0, 999, 1000, 9999, 12_345, 3_210_000].map(bytes);
        assert_eq!(shown, ["0 B", "999 B", "1.0 kB", "9.9 kB", "12 kB", "3.2 MB"]);
    }
}
