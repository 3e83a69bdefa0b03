//! The `body` of a request becomes `json`, `form` or `body`, so that what callers give is a value
//! in it and nothing more. Called by `http`.

use super::build::{self, Mapping};
use super::placeholder::{ARGUMENT, Holds, Piece, VALUE, pieces};
use super::section::{Section, Work};
use super::tool::Given;
use crate::fault::Wrong;
use crate::place::{Place, Placed};
use crate::tree::{Entry, Node, Tree};

const BODY: Holds = VALUE;
const FORM: &str = "application/x-www-form-urlencoded";

/// Adds what is sent; `false` if what callers give could become more of it than a value.
pub(super) fn translate(
    section: Section<'_>,
    given: &mut Given,
    http: &mut Mapping,
    work: &mut Work<'_>,
) -> Result<bool, Wrong> {
    let entry = section.any(&["body", "body_template", "json"]);
    let Some(entry) = entry else { return Ok(true) };
    let kind = content_type(http).unwrap_or_default();
    let Node::Text(text) = &entry.value.node else {
        let fields = entry.value.entries().unwrap_or_default();
        let is_flat =
            |entry: &Entry| !matches!(entry.value.node, Node::List(_) | Node::Map(_) | Node::Null);
        let is_form = kind == FORM && !fields.is_empty() && fields.iter().all(is_flat);
        let tree = templates(&entry.value, given, BODY);
        http.put_at(if is_form { "form" } else { "json" }, entry.key_place, tree);
        return Ok(true);
    };
    let place = entry.value.place;
    let names_any = given.slots.names_argument(text, BODY);
    if kind == FORM && names_any {
        return Ok(form(section, (text, place), given, http, work));
    }
    // The values of a template of JSON stand in its texts, and are escaped there.
    let json = serde_json::from_str::<serde_json::Value>(text)
        .or_else(|_| serde_json::from_str(&quoted(text, given)));
    if let Ok(json) = json {
        let tree = build::of_json(place, &json);
        http.put_at("json", entry.key_place, templates(&tree, given, BODY));
        return Ok(true);
    }
    let first = pieces(text, BODY).into_iter().next();
    if matches!(first, Some(Piece::Text(text)) if text.trim_start().starts_with(['{', '[']))
        && names_any
    {
        let why = "left out: this looks like JSON and is none, so that nothing in it could be \
                   escaped; a placeholder stands in a text or where a value stands";
        work.note(section, place, why);
        return Ok(false);
    }
    let is_one = matches!(&*pieces(text.trim(), BODY), [Piece::Name(_)]);
    let is_json = kind.ends_with("json");
    let is_chosen = kind.contains("{{");
    let first = pieces(text, BODY).into_iter().next();
    let begins = matches!(first, Some(Piece::Text(text)) if text.trim_start().starts_with('<'));
    let is_marked = begins || ["xml", "html"].iter().any(|end| kind.ends_with(end));
    let has_marks = is_json || is_chosen || is_marked;
    if names_any && (has_marks || kind.starts_with("multipart/")) && !(is_one && is_json) {
        let why = format!(
            "left out: what callers give could become more of this {} than a value, as nothing in \
             it could be escaped; let a `cli` tool send it",
            if kind.is_empty() || is_chosen { "body".to_owned() } else { format!("`{kind}`") }
        );
        work.note(section, place, why);
        return Ok(false);
    }
    let text = Placed::new(place, text.clone());
    let template = given.slots.template(&text, BODY);
    let key = if is_one { "json" } else { "body" };
    http.put_at(key, entry.key_place, build::text(place, template));
    Ok(true)
}

/// What the headers say that the body is, placeholders included.
fn content_type(http: &Mapping) -> Option<String> {
    let headers = http.get("headers")?.entries()?;
    let header = headers.iter().find(|entry| entry.key.eq_ignore_ascii_case("content-type"))?;
    match &header.value.node {
        Node::Text(text) => {
            let essence = text.split(';').next().unwrap_or_default();
            Some(essence.trim().to_ascii_lowercase())
        }
        _ => None,
    }
}

/// A text that is a form becomes `form`, in which each field is escaped for itself; `false` if it
/// does not come apart.
fn form(
    section: Section<'_>,
    (text, place): (&str, Place),
    given: &mut Given,
    http: &mut Mapping,
    work: &mut Work<'_>,
) -> bool {
    let fields = text.trim().split('&').filter(|field| !field.is_empty());
    let fields: Option<Vec<_>> = fields.map(field).collect();
    let Some(fields) = fields else {
        let why = "left out: whoever calls could add fields to this form; write it like \
                   `name={{name}}&page=1`";
        work.note(section, place, why);
        return false;
    };
    let mut form = Mapping::new(place);
    for (name, value) in fields {
        let value = given.slots.template(&Placed::new(place, value), BODY);
        form.put(&name, build::text(place, value));
    }
    http.put("form", form.tree());
    true
}

/// A field of a form: its name, and its value as a text of pforge that nothing is escaped in.
fn field(field: &str) -> Option<(String, String)> {
    let (name, value) = field.split_once('=').unwrap_or((field, ""));
    let is_text = |piece: &Piece<'_>| matches!(piece, Piece::Text(_));
    if !pieces(name, BODY).iter().all(is_text) {
        return None;
    }
    let mut plain = String::new();
    for piece in pieces(value, BODY) {
        match piece {
            // What is typed as braces and dollars is not a tag after all.
            Piece::Text(text) => match unescaped(text)? {
                read if read != text && read.contains(['{', '$']) => return None,
                _ if text.contains("${{") => return None,
                read => plain.push_str(&read.replace("${", "$${")),
            },
            Piece::Name(path) => plain.push_str(&format!("{{{{{path}}}}}")),
            Piece::Variable(name) => plain.push_str(&format!("${{{name}}}")),
        }
    }
    Some((unescaped(name)?, plain))
}

/// What a part of a form stands for, if it is text.
fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digit = |at: usize| char::from(*after.get(at)?).to_digit(16);
        let escaped = (*first == b'%').then(|| Some(digit(0)? * 16 + digit(1)?)).flatten();
        match escaped.and_then(|byte| u8::try_from(byte).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(if *first == b'+' { b' ' } else { *first });
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

/// Something like JSON with quotes around each argument that stands where a value stands.
fn quoted(text: &str, given: &Given) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut is_inside, mut is_escaped) = (false, false);
    let mut pieces = pieces(text, ARGUMENT).into_iter().peekable();
    while let Some(piece) = pieces.next() {
        match piece {
            Piece::Text(text) => {
                for letter in text.chars() {
                    is_inside ^= letter == '"' && !is_escaped;
                    is_escaped = is_inside && letter == '\\' && !is_escaped;
                }
                out.push_str(text);
            }
            Piece::Name(path) => {
                let is_key = matches!(
                    pieces.peek(), Some(Piece::Text(text)) if text.trim_start().starts_with(':')
                );
                let is_value = !is_inside && !is_key && given.slots.is_argument(path);
                let mark = if is_value { "\"" } else { "" };
                out.push_str(&format!("{mark}{{{{{path}}}}}{mark}"));
                is_escaped = false;
            }
            Piece::Variable(name) => out.push_str(&format!("${{{name}}}")),
        }
    }
    out
}

/// A value of any shape, with templates in its texts.
fn templates(tree: &Tree, given: &mut Given, holds: Holds) -> Tree {
    let place = tree.place;
    match &tree.node {
        Node::Text(text) => {
            let text = Placed::new(place, text.clone());
            build::text(place, given.slots.template(&text, holds))
        }
        Node::List(items) => {
            build::list(place, items.iter().map(|item| templates(item, given, holds)).collect())
        }
        Node::Map(entries) => {
            let mut out = Mapping::new(place);
            for entry in entries {
                let value = templates(&entry.value, given, holds);
                out.put_at(&entry.key, entry.key_place, value);
            }
            out.tree()
        }
        Node::Bool(..) | Node::Null | Node::Number(..) => tree.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<(&str, &str)>) {
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(field(text), expected, "{text}");
    }

    #[test]
    fn a_field_is_a_name_and_a_value() {
        check("a={{b}}", Some(("a", "{{b}}")));
        check("a+b%5B%5D=x+%26%20{{b}}%", Some(("a b[]", "x & {{b}}%")));
        check("a=${B}{{c}}=", Some(("a", "${B}{{c}}=")));
        check("a=$${B}${B:-c}", Some(("a", "$${B}$${B:-c}")));
        check("a=$${{b}}", Some(("a", "$${{b}}")));
        check("a", Some(("a", "")));
    }

    #[test]
    fn a_field_that_could_be_others_is_none() {
        for text in ["{{a}}", "{{a}}=b", "${A}=b", "a=%7B%7Bb}}", "a=%FF"] {
            check(text, None);
        }
    }
}
