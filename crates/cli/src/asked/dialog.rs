//! The conversation with a person about one question of a server: who asks and why, a prompt for
//! each field, a look at the whole before it is sent; and consent to visit an address. Everything
//! goes to stderr through the printer, and a server's text is harmless before it does.

use crate::asked::field;
use crate::asked::terminal::Terminal;
use crate::print::{DIM, NAME, Printer, STRONG, one_line};
use crate::table::cut;
use haft_client::{Consent, Elicited, Field, FieldKind, Form, Visit};
use serde_json::{Map, Value};

/// One conversation.
pub(crate) struct Dialog<'a> {
    pub(crate) printer: Printer,
    pub(crate) terminal: &'a Terminal,
    /// Who asks.
    pub(crate) who: String,
}

/// A line that means something else than itself.
const DECLINE: &str = "!";
/// How much of a server's message is shown.
const MESSAGE_LINES_MAX: usize = 30;
const LINE_COLUMNS_MAX: usize = 500;

/// Why a form is not filled in.
enum Stop {
    Cancel,
    Decline,
}

/// What is to become of a form that is filled in.
enum Verdict {
    Change,
    Decline,
    Send,
}

impl Dialog<'_> {
    /// Fills in a form, beginning with what is proposed.
    pub(crate) async fn fill(&self, form: &Form, proposed: Map<String, Value>) -> Elicited {
        self.introduce("asks", &form.message);
        match self.fill_until_sent(form, proposed).await {
            Ok(values) => Elicited::Accepted(values),
            Err(Stop::Cancel) => Elicited::Cancelled,
            Err(Stop::Decline) => Elicited::Declined,
        }
    }

    /// Shows an address, and asks whether it may be visited.
    pub(crate) async fn visit(&self, visit: &Visit) -> Consent {
        self.introduce("wants you to visit an address", &visit.message);
        let Visit { url, host, .. } = visit;
        let (before, after) = around(url, host);
        self.say(format_args!("  {before}{STRONG}{host}{STRONG:#}{after}"));
        for warning in warnings(url, host) {
            self.printer.warn(&warning);
        }
        self.say(format_args!("{DIM}  haft does not open it. Ctrl-D cancels.{DIM:#}"));
        let prompt = format!("  Do you visit {host}? [y/n] ");
        match self.choose(&prompt, &[("y", "yes"), ("n", "no")], None).await {
            Some("y") => Consent::Accepted,
            Some(_) => Consent::Declined,
            None => Consent::Cancelled,
        }
    }

    /// Waits until a person is done where they were sent; false if they give up.
    pub(crate) async fn visited(&self) -> bool {
        let prompt = "  Press Enter when you are done there, or Ctrl-D to give up. ";
        self.ask(prompt).await.is_some()
    }

    async fn fill_until_sent(
        &self,
        form: &Form,
        mut values: Map<String, Value>,
    ) -> Result<Map<String, Value>, Stop> {
        if form.fields.is_empty() {
            let answers = [("y", "yes"), ("n", "no")];
            return match self.choose("  Do you agree? [y/n] ", &answers, None).await {
                Some("y") => Ok(Map::new()),
                Some(_) => Err(Stop::Decline),
                None => Err(Stop::Cancel),
            };
        }
        self.say(format_args!(
            "{DIM}  Enter takes what stands in brackets, {DECLINE} declines, Ctrl-D cancels.{DIM:#}"
        ));
        loop {
            for field in &form.fields {
                match self.field(field, values.get(&field.name)).await? {
                    Some(value) => _ = values.insert(field.name.clone(), value),
                    None => _ = values.remove(&field.name),
                }
            }
            match self.review(form, &values).await? {
                Verdict::Send => return Ok(values),
                Verdict::Decline => return Err(Stop::Decline),
                Verdict::Change => {}
            }
        }
    }

    /// Asks for one field until what is typed fits; nothing if it is left out.
    async fn field(&self, field: &Field, proposed: Option<&Value>) -> Result<Option<Value>, Stop> {
        self.say(format_args!(""));
        for line in field::heading(field) {
            self.say(format_args!("  {line}"));
        }
        let brackets = match (proposed, &field.kind) {
            (Some(value), _) => format!("[{}] ", field::shown(field, value)),
            (None, FieldKind::Boolean) => "[y/n] ".to_owned(),
            (None, _) => String::new(),
        };
        loop {
            let line = self.ask(&format!("  {NAME}>{NAME:#} {brackets}")).await;
            let line = line.ok_or(Stop::Cancel)?;
            match line.trim() {
                DECLINE => return Err(Stop::Decline),
                "" if proposed.is_some() => return Ok(proposed.cloned()),
                "" if !field.is_required => return Ok(None),
                "" => self.say(format_args!("  it is required")),
                line => match field::read(field, line) {
                    Ok(value) => return Ok(Some(value)),
                    Err(why) => self.say(format_args!("  it {why}")),
                },
            }
        }
    }

    /// Shows what would be sent, if that is more than the line that was typed last.
    async fn review(&self, form: &Form, values: &Map<String, Value>) -> Result<Verdict, Stop> {
        if form.fields.len() < 2 {
            return Ok(Verdict::Send);
        }
        self.say(format_args!(""));
        for field in &form.fields {
            let value = values.get(&field.name).map(|value| field::shown(field, value));
            let value = value.unwrap_or_else(|| format!("{DIM}left out{DIM:#}"));
            self.say(format_args!("  {}: {value}", field::label(field)));
        }
        let answers = [("y", "yes"), ("n", "no"), ("e", "edit")];
        let prompt = "  Send this? [Y/n, e to edit] ";
        match self.choose(prompt, &answers, Some("y")).await {
            Some("y") => Ok(Verdict::Send),
            Some("e") => Ok(Verdict::Change),
            Some(_) => Ok(Verdict::Decline),
            None => Err(Stop::Cancel),
        }
    }

    fn introduce(&self, does_what: &str, message: &str) {
        let who = &self.who;
        self.say(format_args!("{STRONG}{who}{STRONG:#} {does_what}:"));
        let mut lines = message.trim().lines();
        for line in lines.by_ref().take(MESSAGE_LINES_MAX) {
            self.say(format_args!("  {}", cut(&one_line(line), LINE_COLUMNS_MAX)));
        }
        if lines.next().is_some() {
            self.say(format_args!("{DIM}  and more that is not shown{DIM:#}"));
        }
    }

    /// Asks until one of some letters or words is typed; the letter. Nothing after Ctrl-D.
    async fn choose<'b>(
        &self,
        prompt: &str,
        answers: &[(&'b str, &str)],
        otherwise: Option<&'b str>,
    ) -> Option<&'b str> {
        loop {
            let line = self.ask(prompt).await?;
            let line = line.trim().to_lowercase();
            if line.is_empty() && otherwise.is_some() {
                return otherwise;
            }
            let found = answers.iter().find(|(letter, word)| line == *letter || line == *word);
            if let Some((letter, _)) = found {
                return Some(letter);
            }
        }
    }

    /// Prints a prompt and waits for the line. If nobody waits any more, or Ctrl-D ended the line,
    /// its end is printed, so that what comes next has a line of its own.
    async fn ask(&self, prompt: &str) -> Option<String> {
        self.printer.prompt(format_args!("{prompt}"));
        let mut unended = Unended(Some(self.printer));
        let line = self.terminal.line().await;
        if line.is_some() {
            unended.0 = None;
        }
        line
    }

    fn say(&self, line: std::fmt::Arguments<'_>) {
        self.printer.note(line);
    }
}

/// A prompt behind which no line has ended.
struct Unended(Option<Printer>);

impl Drop for Unended {
    fn drop(&mut self) {
        if let Some(printer) = self.0 {
            printer.note(format_args!(""));
        }
    }
}

/// What stands before and behind the host of an address.
fn around<'a>(url: &'a str, host: &str) -> (&'a str, &'a str) {
    let authority = url.find("://").map_or(0, |at| at + 3);
    let end = url[authority..].find(['/', '?', '#']).map_or(url.len(), |at| authority + at);
    // A name and a password may look like a host.
    let start = url[authority..end].rfind('@').map_or(authority, |at| authority + at + 1);
    match url[start..end].to_ascii_lowercase().strip_prefix(&host.to_ascii_lowercase()) {
        Some(_) => (&url[..start], &url[start + host.len()..]),
        None => (url, ""),
    }
}

/// What should make a person look twice.
fn warnings(url: &str, host: &str) -> Vec<String> {
    let (before, _) = around(url, host);
    let is_here = ["localhost", "127.0.0.1", "[::1]"].contains(&host);
    let mut warnings = Vec::new();
    if before.contains('@') {
        warnings.push(format!("what stands before the @ is no host; the host is {host}"));
    }
    if host.to_ascii_lowercase().split('.').any(|label| label.starts_with("xn--")) {
        warnings.push("the host has letters of other alphabets, which may look like it".to_owned());
    }
    if url.to_ascii_lowercase().starts_with("http:") && !is_here {
        warnings.push("the address is not encrypted (http)".to_owned());
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_found_where_it_is() {
        assert_eq!(around("https://a.b/x", "a.b"), ("https://", "/x"));
        assert_eq!(around("https://a.b@c.d:1/a.b", "c.d"), ("https://a.b@", ":1/a.b"));
        assert_eq!(around("https://A.b?x@y", "A.b"), ("https://", "?x@y"));
        assert_eq!(around("https://a.b", "c"), ("https://a.b", ""));
    }

    #[test]
    fn odd_addresses_are_warned_of() {
        let count = |url, host| warnings(url, host).len();
        assert_eq!(count("https://example.com/", "example.com"), 0);
        assert_eq!(count("http://localhost:1/", "localhost"), 0);
        assert_eq!(count("http://example.com/", "example.com"), 1);
        assert_eq!(count("https://bank.com@evil.com/", "evil.com"), 1);
        assert_eq!(count("https://www.xn--bnk-6la.com/", "www.xn--bnk-6la.com"), 1);
    }
}
