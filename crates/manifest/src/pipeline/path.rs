//! What an expression of a template is, as far as it is plain: a value, a part of one, and a filter
//! that always makes the same kind. Anything cleverer may be anything.

use crate::pipeline::shape::{Kinds, Part, Shape};

/// A plain expression: where it begins, and how it goes on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Path<'e> {
    /// The value.
    pub(crate) root: &'e str,
    /// The parts of it.
    parts: Vec<Step<'e>>,
    /// The last filter, if there is any.
    pub(crate) filter: Option<&'e str>,
}

#[derive(Debug, PartialEq, Eq)]
enum Step<'e> {
    Item,
    Member(&'e str),
}

impl<'e> Path<'e> {
    /// Reads an expression, if it is plain.
    pub(crate) fn read(expression: &'e str) -> Option<Self> {
        let (root, mut rest) = name(expression.trim())?;
        let (mut parts, mut filter) = (Vec::new(), None);
        loop {
            rest = rest.trim_start();
            if rest.is_empty() {
                return Some(Self { root, parts, filter });
            }
            if let Some(after) = rest.strip_prefix('|') {
                let (found, after) = name(after.trim_start())?;
                (filter, rest) = (Some(found), arguments(after)?);
            } else if let Some(after) = rest.strip_prefix('.').filter(|_| filter.is_none()) {
                let (part, after) = name(after.trim_start())?;
                parts.push(Step::Member(part));
                rest = after;
            } else {
                let after = rest.strip_prefix('[').filter(|_| filter.is_none())?;
                let (index, after) = after.split_once(']')?;
                index.trim().parse::<i64>().ok()?;
                parts.push(Step::Item);
                rest = after;
            }
        }
    }

    /// What it is, if its value is this.
    pub(crate) fn shape(&self, root: &Shape) -> Shape {
        if let Some(filter) = self.filter {
            return Shape::Kinds(kinds_made_by(filter));
        }
        let mut shape = root.clone();
        for step in &self.parts {
            shape = match step {
                Step::Item => shape.item(),
                Step::Member(name) => match shape.part(name) {
                    Part::Known(part) => part,
                    Part::Missing(_) => return Shape::ANY,
                },
            };
        }
        shape
    }
}

fn name(text: &str) -> Option<(&str, &str)> {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let end = text.find(|character| !is_part(character)).unwrap_or(text.len());
    let is_name = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    is_name.then(|| text.split_at(end))
}

/// What comes after the arguments of a filter, if it has some without texts or parentheses.
fn arguments(rest: &str) -> Option<&str> {
    let rest = rest.trim_start();
    let Some(inner) = rest.strip_prefix('(') else { return Some(rest) };
    let end = inner.find(['(', ')', '"', '\''])?;
    inner[end..].strip_prefix(')').or_else(|| quoted(inner))
}

/// The same with one text in quotes.
fn quoted(inner: &str) -> Option<&str> {
    let quote = inner.trim_start().chars().next().filter(|first| "\"'".contains(*first))?;
    let (text, rest) = inner.trim_start()[1..].split_once(quote)?;
    rest.trim_start().strip_prefix(')').filter(|_| !text.contains('\\'))
}

fn kinds_made_by(filter: &str) -> Kinds {
    match filter {
        "bool" => Kinds::BOOLEAN,
        "capitalize" | "escape" | "join" | "lower" | "replace" | "string" | "title" | "tojson"
        | "trim" | "upper" => Kinds::TEXT,
        "count" | "int" | "length" => Kinds::INTEGER,
        "float" => Kinds::NUMBER,
        "dictsort" | "groupby" | "items" | "lines" | "list" | "map" | "reject" | "rejectattr"
        | "select" | "selectattr" | "sort" | "split" | "unique" | "zip" => Kinds::LIST,
        _ => Kinds::ANY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(expression: &str, expected: Option<Kinds>) {
        let root = Shape::of_schema(json!({
            "type": "object",
            "properties": {
                "days": { "type": "array", "items": { "$ref": "#/$defs/day" } },
                "n": { "type": ["integer", "null"] },
            },
            "$defs": { "day": { "type": "object", "properties": { "rain": { "const": true } } } }
        }));
        let found = Path::read(expression).map(|path| path.shape(&root).kinds());
        assert_eq!(found, expected, "{expression}");
    }

    #[test]
    fn plain_expressions_are_followed() {
        check("w", Some(Kinds::MAPPING));
        check("w.n", Some(Kinds::INTEGER.or(Kinds::NOTHING)));
        check(" w . days [ 0 ] . rain ", Some(Kinds::BOOLEAN));
        check("w.days | length", Some(Kinds::INTEGER));
        check("w.days | join(', ') | upper", Some(Kinds::TEXT));
        check("w.n | default(3)", Some(Kinds::ANY));
        check("w.unknown", Some(Kinds::ANY));
    }

    #[test]
    fn others_may_be_anything() {
        for expression in
            ["w + 1", "not w", "'w'", "w.n > 3", "w | int + 1", "w[x]", "w | f('a' ~ 'b')", "3", ""]
        {
            check(expression, None);
        }
    }

    #[test]
    fn kinds_are_told_in_words() {
        assert_eq!(Kinds::NUMBER.or(Kinds::NOTHING).describe(), "a number or nothing");
        assert_eq!(Kinds::INTEGER.describe(), "a whole number");
    }
}
