//! Values in a path, in the styles of OpenAPI (3.1, "Style Values"): `simple`, `label`, `matrix`,
//! exploded or not. Called by `address`; what stands between values is written as it is, and all
//! else is escaped.

use crate::template::plain;
use haft_fetch::escape;
use serde_json::Value;

/// A style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Styled {
    pub(crate) style: PathStyle,
    pub(crate) explode: bool,
}

/// What stands before and between values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathStyle {
    /// `.a.b`
    Label,
    /// `;name=a,b`
    Matrix,
    /// `a/b`, with slashes as they are
    Segments,
    /// `a,b`
    Simple,
}

impl Styled {
    /// Appends a value.
    pub(crate) fn push(self, path: &mut String, name: &str, value: &Value) {
        let name = escape::text(name);
        let one = |value: &Value| escape::text(&plain(value));
        let assigned =
            |(key, value): (&String, &Value)| format!("{}={}", escape::text(key), one(value));
        let paired =
            |(key, value): (&String, &Value)| format!("{},{}", escape::text(key), one(value));
        let is_empty = match value {
            Value::Array(items) => items.is_empty(),
            Value::Object(members) => members.is_empty(),
            value => plain(value).is_empty(),
        };
        if is_empty {
            return;
        }
        let (parts, is_named): (Vec<String>, bool) = match (value, self.explode) {
            (Value::Array(items), _) => (items.iter().map(one).collect(), true),
            (Value::Object(members), true) => (members.iter().map(assigned).collect(), false),
            (Value::Object(members), false) => (members.iter().map(paired).collect(), true),
            (value, _) => (vec![one(value)], true),
        };
        match self.style {
            PathStyle::Segments => {
                let text = plain(value);
                let segments: Vec<_> = text.split('/').map(escape::text).collect();
                path.push_str(&segments.join("/"));
            }
            PathStyle::Simple => path.push_str(&parts.join(",")),
            PathStyle::Label => {
                path.push('.');
                path.push_str(&parts.join(if self.explode { "." } else { "," }));
            }
            PathStyle::Matrix if self.explode => {
                for part in parts {
                    path.push(';');
                    if is_named {
                        path.push_str(&name);
                        path.push('=');
                    }
                    path.push_str(&part);
                }
            }
            PathStyle::Matrix => {
                path.push_str(&format!(";{name}={}", parts.join(",")));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_is_written_as_the_specification_shows() {
        let (one, list) = (json!("blue"), json!(["blue", "black", "brown"]));
        let object = json!({"R": 100, "G": 200, "B": 150});
        for (style, explode, value, expected) in [
            (PathStyle::Simple, false, &one, "blue"),
            (PathStyle::Simple, false, &list, "blue,black,brown"),
            (PathStyle::Simple, false, &object, "R,100,G,200,B,150"),
            (PathStyle::Simple, true, &object, "R=100,G=200,B=150"),
            (PathStyle::Label, false, &one, ".blue"),
            (PathStyle::Label, false, &list, ".blue,black,brown"),
            (PathStyle::Label, true, &list, ".blue.black.brown"),
            (PathStyle::Label, false, &object, ".R,100,G,200,B,150"),
            (PathStyle::Label, true, &object, ".R=100.G=200.B=150"),
            (PathStyle::Matrix, false, &one, ";color=blue"),
            (PathStyle::Matrix, false, &list, ";color=blue,black,brown"),
            (PathStyle::Matrix, true, &list, ";color=blue;color=black;color=brown"),
            (PathStyle::Matrix, false, &object, ";color=R,100,G,200,B,150"),
            (PathStyle::Matrix, true, &object, ";R=100;G=200;B=150"),
            (PathStyle::Simple, false, &json!("a/b;c,d"), "a%2Fb%3Bc%2Cd"),
            (PathStyle::Simple, false, &json!([]), ""),
            (PathStyle::Segments, false, &json!("a/b c?"), "a/b%20c%3F"),
        ] {
            let mut path = String::new();
            Styled { style, explode }.push(&mut path, "color", value);
            assert_eq!(path, expected, "{style:?} {explode}");
        }
    }
}
