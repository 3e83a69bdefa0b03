//! `{{name}}`, `{name}` and `${NAME}` in the texts of a pforge file become what they are in
//! haft.yaml; whatever else has braces stays what it is. Called for every text that is a template;
//! knows no engine.

use crate::alias;
use crate::place::{Place, Placed};

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece<'t> {
    /// `{{name}}` or `{{name.part}}`, or the same between single braces.
    Name(&'t str),
    Text(&'t str),
    /// `${NAME}`
    Variable(&'t str),
}

/// The arguments of a tool, while its texts are read.
#[derive(Debug, Default)]
pub(super) struct Slots {
    /// Those that the file declares.
    pub(super) declared: Vec<String>,
    /// Those that a text names all the same, and where.
    pub(super) found: Vec<Placed<String>>,
    /// Those of both kinds that some text names.
    pub(super) used: Vec<String>,
}

/// What a text may hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holds {
    /// `{name}`
    pub(super) single: bool,
    /// `${NAME}`
    pub(super) variables: bool,
}

/// What a program gets: braces and dollars are often its own.
pub(super) const ARGUMENT: Holds = Holds { single: false, variables: false };
/// What nobody but this file reads.
pub(super) const VALUE: Holds = Holds { single: false, variables: true };
/// Addresses, and what goes with them.
pub(super) const REQUEST: Holds = Holds { single: true, variables: true };

impl Slots {
    /// The text as a template of haft.yaml.
    pub(super) fn template(&mut self, text: &Placed<String>, holds: Holds) -> String {
        let mut template = String::new();
        for piece in pieces(&text.value, holds) {
            match piece {
                Piece::Text(text) => template.push_str(&literal(text)),
                Piece::Variable(name) => template.push_str(&format!("${{env:{name}}}")),
                Piece::Name(path) => match self.name(path, text.place) {
                    Named::Argument => {
                        keep_dollars(&mut template, 1);
                        template.push_str(&format!("{{{{{}}}}}", reading(path)));
                    }
                    Named::Variable => {
                        keep_dollars(&mut template, 0);
                        template.push_str(&format!("${{env:{path}}}"));
                    }
                    Named::Nothing => template.push_str(&literal(&format!("{{{{{path}}}}}"))),
                },
            }
        }
        template
    }

    fn name(&mut self, path: &str, place: Place) -> Named {
        let root = path.split('.').next().unwrap_or_default();
        if !self.is_declared(path) {
            if is_capital(path) {
                return Named::Variable;
            }
            // The templates of other programs look like this.
            if root != path {
                return Named::Nothing;
            }
            if !self.found.iter().any(|found| found.value == root) {
                self.found.push(Placed::new(place, root.to_owned()));
            }
        }
        if !self.used.iter().any(|name| name == root) {
            self.used.push(root.to_owned());
        }
        Named::Argument
    }

    fn is_declared(&self, path: &str) -> bool {
        self.declared.iter().any(|name| Some(name.as_str()) == path.split('.').next())
    }

    /// Whether a path is read from what callers give.
    pub(super) fn is_argument(&self, path: &str) -> bool {
        self.is_declared(path) || (!is_capital(path) && !path.contains('.'))
    }

    /// Whether a text names what callers give.
    pub(super) fn names_argument(&self, text: &str, holds: Holds) -> bool {
        let is_one = |piece: &Piece<'_>| matches!(piece, Piece::Name(it) if self.is_argument(it));
        pieces(text, holds).iter().any(is_one)
    }

    /// Whether a text names an argument, whatever the file declares.
    pub(super) fn names_any(text: &str, holds: Holds) -> bool {
        let is_argument = |piece: &Piece<'_>| matches!(piece, Piece::Name(it) if !is_capital(it));
        pieces(text, holds).iter().any(is_argument)
    }
}

enum Named {
    Argument,
    Nothing,
    Variable,
}

/// `API_TOKEN`, which no argument is called.
fn is_capital(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    name.len() > 1 && name.bytes().all(is_part)
}

/// Dollars at the end of a template, so that a tag or a variable behind them takes none of them
/// for its own: `$${` writes `${`. Up to `harmless` of them are none.
pub(super) fn keep_dollars(template: &mut String, harmless: usize) {
    let dollars = template.split_off(template.trim_end_matches('$').len());
    match dollars.len() > harmless {
        true => template.push_str(&format!("{{{{ '{dollars}' }}}}")),
        false => template.push_str(&dollars),
    }
}

/// A text of a pforge file that is no template, so that nothing in it is taken for one.
pub(super) fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let tag = ["{{", "{%", "{#"].into_iter().find(|tag| rest.starts_with(tag));
        let length = match tag {
            Some(tag) => {
                keep_dollars(&mut out, 1);
                out.push_str(&format!("{{{{ '{tag}' }}}}"));
                2
            }
            None if rest.starts_with("${") && !rest[2..].starts_with(['{', '%', '#']) => {
                out.push_str("$${");
                2
            }
            None => {
                out.push(first);
                first.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    out
}

/// A text of a pforge file that is no template at all: only variables are filled in.
pub(super) fn filled(text: &str) -> String {
    let holds = Holds { single: false, variables: true };
    let pieces = pieces(text, holds).into_iter();
    let mut out = String::new();
    for piece in pieces {
        let shown = match piece {
            Piece::Variable(name) => format!("${{env:{name}}}"),
            Piece::Name(name) if is_capital(name) && !out.ends_with('$') => {
                format!("${{env:{name}}}")
            }
            Piece::Name(name) => format!("{{{{{name}}}}}"),
            Piece::Text(text) => text.replace("${", "$${"),
        };
        out.push_str(&shown);
    }
    out
}

/// The parts of a text, in order.
pub(super) fn pieces(text: &str, holds: Holds) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut done, mut from) = (0, 0);
    while let Some(at) = text[from..].find(['{', '$']).map(|at| from + at) {
        let rest = &text[at..];
        if holds.variables && rest.starts_with("$${") && !rest.starts_with("$${{") {
            // Two dollars write one, as in haft.yaml.
            if at > done {
                pieces.push(Piece::Text(&text[done..at]));
            }
            (done, from) = (at + 1, at + 3);
            continue;
        }
        let double = between(rest, "{{", "}}").filter(|(path, _)| is_path(path));
        let variable = between(rest, "${", "}").filter(|(name, _)| is_name(name));
        let single = between(rest, "{", "}").filter(|(name, _)| is_given_name(name));
        let found = match rest.as_bytes() {
            [b'{', b'{', ..] => double.map(|(path, length)| (Piece::Name(path), length)),
            [b'{', ..] if holds.single => single.map(|(name, length)| (Piece::Name(name), length)),
            [b'$', b'{', ..] if holds.variables => {
                variable.map(|(name, length)| (Piece::Variable(name), length))
            }
            _ => None,
        };
        match found {
            Some((piece, length)) => {
                if at > done {
                    pieces.push(Piece::Text(&text[done..at]));
                }
                pieces.push(piece);
                (done, from) = (at + length, at + length);
            }
            // A dollar before a placeholder is a price.
            None if rest.starts_with("${{") => from = at + 1,
            // What opens twice does not open once inside of that; nor does a shell's variable.
            None if rest.starts_with("{{") || rest.starts_with("${") => from = at + 2,
            None => from = at + 1,
        }
    }
    if done < text.len() {
        pieces.push(Piece::Text(&text[done..]));
    }
    pieces
}

/// What is between two marks, without the white space around it, and the length of it all.
fn between<'t>(rest: &'t str, open: &str, close: &str) -> Option<(&'t str, usize)> {
    let inner = rest.strip_prefix(open)?;
    let end = inner.find(close)?;
    Some((inner[..end].trim(), open.len() + end + close.len()))
}

/// What reads a path in a template of haft.
pub(super) fn reading(path: &str) -> String {
    let mut parts = path.split('.');
    let mut reading = alias::inner(parts.next().unwrap_or_default()).into_owned();
    for part in parts {
        reading.push_str(&match part.contains('-') {
            true => format!("[\"{part}\"]"),
            false => format!(".{part}"),
        });
    }
    reading
}

/// `name` or `name.part`.
pub(super) fn is_path(text: &str) -> bool {
    let mut parts = text.split('.');
    let is_part = |part: &str| !part.is_empty() && part.bytes().all(is_letter_or_dash);
    parts.next().is_some_and(is_given_name) && parts.all(is_part)
}

/// The name of something that callers give or steps make, which may have dashes in it.
pub(super) fn is_given_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && !text.ends_with('-')
        && text.bytes().all(is_letter_or_dash)
}

fn is_letter_or_dash(byte: u8) -> bool {
    is_letter(byte) || byte == b'-'
}

pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.bytes().all(is_letter)
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, holds: Holds, expected: &str) {
        let mut slots = Slots { declared: vec!["a".to_owned()], ..Slots::default() };
        let text = Placed::new(Place::default(), text.to_owned());
        assert_eq!(slots.template(&text, holds), expected, "{}", text.value);
    }

    #[test]
    fn placeholders_become_templates() {
        check("x{{a}}y{{ b }}", ARGUMENT, "x{{a}}y{{b}}");
        check("{{a.b.0}}", ARGUMENT, "{{a.b.0}}");
        check("/u/{a}/{b}", REQUEST, "/u/{{a}}/{{b}}");
        check("--{{dry-run}} {{in.a-b.c}}", VALUE, "--{{odd_dry_2drun}} {{ '{{' }}in.a-b.c}}");
        check("/u/{user-id}/{a-}", REQUEST, "/u/{{odd_user_2did}}/{a-}");
        check("Bearer ${KEY}", REQUEST, "Bearer ${env:KEY}");
        check("Bearer {{API_KEY}}", REQUEST, "Bearer ${env:API_KEY}");
    }

    #[test]
    fn a_dollar_may_stand_before_a_placeholder() {
        for holds in [ARGUMENT, VALUE, REQUEST] {
            check("${{a}} $${{a}}", holds, "${{a}} {{ '$$' }}{{a}}");
            check("${{.x}}", holds, "${{ '{{' }}.x}}");
            check("${{KEY}}", holds, "{{ '$' }}${env:KEY}");
        }
        assert_eq!(filled("${{KEY}} {{KEY}}"), "${{KEY}} ${env:KEY}");
    }

    #[test]
    fn what_others_mean_stays() {
        check("{a} {} ${HOME} $1", ARGUMENT, "{a} {} $${HOME} $1");
        check("{{.Names}}", ARGUMENT, "{{ '{{' }}.Names}}");
        check("{{b.c}}", ARGUMENT, "{{ '{{' }}b.c}}");
        check("{{json .}} {% x {# y", ARGUMENT, "{{ '{{' }}json .}} {{ '{%' }} x {{ '{#' }} y");
        check("${#list}", ARGUMENT, "${{ '{#' }}list}");
        check("a$${A} ${A}", REQUEST, "a$${A} ${env:A}");
        check("$${A}", ARGUMENT, "$$${A}");
        check("${env:A} ${A:-b}", REQUEST, "$${env:A} $${A:-b}");
        check("{\"k\": {\"v\": 1}}", REQUEST, "{\"k\": {\"v\": 1}}");
        check("{{", REQUEST, "{{ '{{' }}");
    }

    #[test]
    fn what_is_named_is_found_once() {
        let mut slots = Slots { declared: vec!["a".to_owned()], ..Slots::default() };
        let text = Placed::new(Place::default(), "{{a}}{{b}}{{b}}{{c.d}}{{KEY}}".to_owned());
        slots.template(&text, ARGUMENT);
        let found: Vec<_> = slots.found.iter().map(|found| found.value.as_str()).collect();
        assert_eq!((found, slots.used.join(" ")), (vec!["b"], "a b".to_owned()));
    }
}
