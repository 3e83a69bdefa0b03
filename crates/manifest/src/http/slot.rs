//! Where a value of a request comes from, and how it is written at its place: in the query, a form
//! or a header. Made by `check` from templates, or by code from a description of an API; filled by
//! `request` for each call.

use crate::arguments::Arguments;
use crate::http::others::Others;
use crate::limits::PAIRS_BYTES_MAX;
use crate::template::{Template, plain};
use haft_fetch::escape;
use minijinja::Environment;
use serde_json::Value;

/// Where a value comes from.
#[derive(Clone, Debug)]
pub(crate) enum Slot {
    /// An argument; absent, it leaves nothing behind. In a query or form, what RFC 3986 reserves
    /// may stand as it is.
    Argument { name: String, style: Style, keeps_reserved: bool },
    /// A template in which values are escaped already, of a query in an address.
    Escaped(Template),
    /// Every argument that has no other place, by its own name.
    Others(Others),
    /// A text, as it is to be sent.
    Fixed(String),
    /// A template.
    Template(Template),
}

/// How lists and objects are written; everything else is written as it is. The names of OpenAPI's
/// styles stand beside those that have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// `a,b` and `k=v,l=w` (`simple`, exploded).
    Assigned,
    /// `a,b` and `k,v` (`form` and `simple`, not exploded).
    Comma,
    /// `name[k]=v` (`deepObject`), and `name[k][0]=v` for what is deeper.
    Deep,
    /// A list as `name=a&name=b`, an object as `k=v` for each member (`form`, exploded).
    Form,
    /// As JSON.
    Json,
    /// `a|b` (`pipeDelimited`).
    Pipe,
    /// A list as `name=a&name=b`, an object as JSON.
    Repeat,
    /// `a b` (`spaceDelimited`).
    Space,
    /// `a`, a tab and `b`.
    Tab,
}

/// What a call fills slots with.
#[derive(Clone, Copy)]
pub(crate) struct Filling<'a> {
    pub(crate) templates: &'a Environment<'static>,
    pub(crate) arguments: &'a Arguments,
}

/// `name=value` pairs, escaped, as in a query.
#[derive(Debug, Default)]
pub(crate) struct Pairs(pub(crate) String);

impl Slot {
    /// A template, or the argument that it is.
    pub(crate) fn new(template: Template) -> Self {
        match template.variable() {
            Some(name) => Self::argument(name, Style::Repeat),
            None => Self::Template(template),
        }
    }

    /// An argument, all of it escaped.
    pub(crate) fn argument(name: &str, style: Style) -> Self {
        Self::Argument { name: name.to_owned(), style, keeps_reserved: false }
    }

    /// One text, if there is any.
    pub(crate) fn text(&self, filling: Filling<'_>) -> Result<Option<String>, String> {
        match self {
            Self::Argument { name, style, .. } => {
                Ok(filling.argument(name).map(|value| joined(value, *style)))
            }
            Self::Fixed(text) => Ok(Some(text.clone())),
            Self::Others(_) => Ok(None),
            Self::Escaped(template) | Self::Template(template) => filling.render(template),
        }
    }

    /// Every text of it: one for each item of a list that stands alone.
    pub(crate) fn texts(&self, filling: Filling<'_>) -> Result<Vec<String>, String> {
        if let Self::Argument { name, style: Style::Repeat | Style::Form, .. } = self
            && let Some(Value::Array(items)) = filling.arguments.values.get(name)
        {
            return Ok(items.iter().map(plain).collect());
        }
        Ok(self.text(filling)?.into_iter().collect())
    }

    /// The pairs of a name, which is escaped.
    pub(crate) fn pairs(
        &self,
        name: &str,
        filling: Filling<'_>,
        out: &mut Pairs,
    ) -> Result<(), String> {
        match self {
            Self::Argument { name: argument, style, keeps_reserved } => {
                if let Some(value) = filling.argument(argument) {
                    let escape = if *keeps_reserved { escape::but_reserved } else { escape::text };
                    out.styled(name, value, *style, escape)?;
                }
            }
            Self::Fixed(value) => out.push(name, value)?,
            Self::Others(others) => {
                for (name, value) in others.of(filling).filter(|(_, value)| !value.is_null()) {
                    out.styled(&escape::text(name), value, Style::Repeat, escape::text)?;
                }
            }
            Self::Escaped(template) => {
                if let Some(value) = filling.render(template)? {
                    out.push(name, &value)?;
                }
            }
            Self::Template(template) => {
                if let Some(value) = filling.render(template)? {
                    out.push(name, &escape::text(&value))?;
                }
            }
        }
        Ok(())
    }

    /// The templates in it, for those who judge files.
    pub(crate) fn template(&self) -> Option<&Template> {
        match self {
            Self::Escaped(template) | Self::Template(template) => Some(template),
            Self::Argument { .. } | Self::Fixed(_) | Self::Others(_) => None,
        }
    }

    /// The arguments that it reads.
    pub(crate) fn reads(&self, argument: &str) -> bool {
        match self {
            Self::Argument { name, .. } => name == argument,
            Self::Escaped(template) | Self::Template(template) => {
                template.variables.iter().any(|name| name == argument)
            }
            Self::Fixed(_) | Self::Others(_) => false,
        }
    }
}

impl<'a> Filling<'a> {
    /// An argument; null is as good as none.
    pub(crate) fn argument(self, name: &str) -> Option<&'a Value> {
        self.arguments.values.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn render(self, template: &Template) -> Result<Option<String>, String> {
        template
            .render_if_any(self.templates, self.arguments)
            .map_err(|error| format!("A template of the request cannot be filled: {error}"))
    }
}

impl Pairs {
    /// Adds one. It fails instead of growing beyond its bound: what a caller writes once may be the
    /// name of many.
    pub(crate) fn push(&mut self, name: &str, value: &str) -> Result<(), String> {
        if self.0.len() + name.len() + value.len() + 2 > PAIRS_BYTES_MAX {
            return Err(format!(
                "These arguments make a query or form of more than {PAIRS_BYTES_MAX} bytes."
            ));
        }
        if !self.0.is_empty() {
            self.0.push('&');
        }
        self.0.push_str(name);
        self.0.push('=');
        self.0.push_str(value);
        Ok(())
    }

    fn styled(
        &mut self,
        name: &str,
        value: &Value,
        style: Style,
        escape: fn(&str) -> String,
    ) -> Result<(), String> {
        match (style, value) {
            (Style::Form | Style::Repeat, Value::Array(items)) => {
                items.iter().try_for_each(|item| self.push(name, &escape(&plain(item))))
            }
            (Style::Form, Value::Object(members)) => {
                members.iter().try_for_each(|(name, value)| {
                    self.push(&escape::text(name), &escape(&plain(value)))
                })
            }
            (Style::Deep, Value::Object(_) | Value::Array(_)) => {
                self.deep(&mut name.to_owned(), value, escape)
            }
            // The separator is no part of a value, so it alone may stand as it is.
            (Style::Comma, Value::Array(_) | Value::Object(_)) => {
                let parts: Vec<_> = parts(value).iter().map(|part| escape(part)).collect();
                self.push(name, &parts.join(","))
            }
            _ => self.push(name, &escape(&joined(value, style))),
        }
    }

    /// As deep as JSON that was read. The name grows and shrinks in place, so only what is pushed
    /// costs its length.
    fn deep(
        &mut self,
        name: &mut String,
        value: &Value,
        escape: fn(&str) -> String,
    ) -> Result<(), String> {
        let before = name.len();
        let mut below = |key: &str, value: &Value| {
            name.push_str("%5B");
            escape::push(name, key);
            name.push_str("%5D");
            let pushed = self.deep(name, value, escape);
            name.truncate(before);
            pushed
        };
        match value {
            Value::Object(members) => {
                members.iter().try_for_each(|(member, value)| below(member, value))
            }
            Value::Array(items) => {
                let mut items = items.iter().enumerate();
                items.try_for_each(|(index, value)| below(&index.to_string(), value))
            }
            value => self.push(name, &escape(&plain(value))),
        }
    }
}

/// A value as one text.
fn joined(value: &Value, style: Style) -> String {
    let separator = match style {
        Style::Assigned => {
            if let Value::Object(members) = value {
                let assigned =
                    |(name, value): (&String, &Value)| format!("{name}={}", plain(value));
                return members.iter().map(assigned).collect::<Vec<_>>().join(",");
            }
            ","
        }
        Style::Json | Style::Deep | Style::Repeat | Style::Form => {
            return plain_or_list(value, style);
        }
        Style::Comma => ",",
        Style::Pipe => "|",
        Style::Space => " ",
        Style::Tab => "\t",
    };
    match value {
        Value::Array(_) | Value::Object(_) => parts(value).join(separator),
        value => plain(value),
    }
}

fn plain_or_list(value: &Value, style: Style) -> String {
    match (style, value) {
        (Style::Json, value) => value.to_string(),
        // In a header, a list is its items with commas between them.
        (_, Value::Array(_)) => parts(value).join(", "),
        (_, value) => plain(value),
    }
}

fn parts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(members) => {
            members.iter().flat_map(|(name, value)| [name.clone(), plain(value)]).collect()
        }
        value => vec![plain(value)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_is_written_in_each_style() {
        for (style, value, expected) in [
            (Style::Repeat, json!(["a&b", 1]), "n=a%26b&n=1"),
            (Style::Repeat, json!({"k": 1}), "n=%7B%22k%22%3A1%7D"),
            (Style::Repeat, json!("x y=z"), "n=x%20y%3Dz"),
            (Style::Form, json!({"k": "v&", "l": true}), "k=v%26&l=true"),
            (Style::Form, json!([]), ""),
            (Style::Comma, json!(["a,b", "c"]), "n=a%2Cb,c"),
            (Style::Comma, json!({"k": "v"}), "n=k,v"),
            (Style::Deep, json!({"k": "v", "l&": 2}), "n%5Bk%5D=v&n%5Bl%26%5D=2"),
            (
                Style::Deep,
                json!({"a": {"b": [1, {"c": 2}]}}),
                "n%5Ba%5D%5Bb%5D%5B0%5D=1&n%5Ba%5D%5Bb%5D%5B1%5D%5Bc%5D=2",
            ),
            (Style::Assigned, json!({"k": "v", "l": 1}), "n=k%3Dv%2Cl%3D1"),
            (Style::Pipe, json!(["a", "b"]), "n=a%7Cb"),
            (Style::Space, json!(["a", "b"]), "n=a%20b"),
            (Style::Json, json!("a"), "n=%22a%22"),
            (Style::Comma, json!(2.5), "n=2.5"),
        ] {
            let mut pairs = Pairs::default();
            pairs.styled("n", &value, style, escape::text).expect("it is short");
            assert_eq!(pairs.0, expected, "{style:?} {value}");
        }
    }
}
