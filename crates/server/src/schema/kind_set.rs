//! Sets of JSON types, as the keyword `type` names them. Read by every check of schemas; knows
//! nothing of the rest of a schema.

use haft_proto::json::Kind;
use serde_json::Value;

/// A set of JSON types. A number without a fraction is an `integer` and also a `number`, so a set
/// that has `number` has `integer` too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kinds(u8);

const NAMES: [(&str, &str); 7] = [
    ("array", "an array"),
    ("boolean", "true or false"),
    ("integer", "an integer"),
    ("null", "null"),
    ("number", "a number"),
    ("object", "an object"),
    ("string", "a string"),
];
const INTEGER: u8 = 1 << 2;
const NUMBER: u8 = 1 << 4;

impl Kinds {
    pub(super) const NONE: Self = Self(0);
    pub(super) const ALL: Self = Self(0x7F);

    /// The value of a `type` keyword, or `None` if it is none.
    pub(super) fn compile(value: &Value) -> Option<Self> {
        let names = match value {
            Value::String(_) => std::slice::from_ref(value),
            Value::Array(names) => names,
            _ => return None,
        };
        let mut set = 0;
        for name in names {
            set |= Self::named(name.as_str()?)?.0;
        }
        Some(Self(set))
    }

    /// The type of that name, if there is one.
    pub(super) fn named(name: &str) -> Option<Self> {
        let bit = 1 << NAMES.iter().position(|(known, _)| *known == name)?;
        Some(Self(if bit == NUMBER { NUMBER | INTEGER } else { bit }))
    }

    /// The types that a value has.
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Array(_) => Self(1),
            Value::Bool(_) => Self(1 << 1),
            Value::Null => Self(1 << 3),
            Value::Number(number) => Self::of_number(&number.to_string()),
            Value::Object(_) => Self(1 << 5),
            Value::String(_) => Self(1 << 6),
        }
    }

    fn of_number(raw: &str) -> Self {
        Self(if is_integer(raw) { INTEGER } else { NUMBER })
    }

    /// Whether a value of that kind is in the set; `raw`, its text, is looked at for numbers only.
    #[inline]
    pub(super) fn has(self, kind: Kind, raw: &str) -> bool {
        const NUMBERS: u8 = NUMBER | INTEGER;
        let bits = match kind {
            Kind::Number if self.0 & NUMBERS == NUMBERS => NUMBERS,
            Kind::Array => 1,
            Kind::Bool => 1 << 1,
            Kind::Null => 1 << 3,
            Kind::Number => Self::of_number(raw).0,
            Kind::Object => 1 << 5,
            Kind::String => 1 << 6,
        };
        self.0 & bits != 0
    }

    /// Whether integers are in the set.
    #[inline]
    pub(super) fn has_integers(self) -> bool {
        self.0 & INTEGER != 0
    }

    pub(super) fn has_value(self, value: &Value) -> bool {
        self.0 & Self::of(value).0 != 0
    }

    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// In words, like `an integer or null`.
    pub(super) fn describe(self) -> String {
        let has_number = self.0 & NUMBER != 0;
        let words: Vec<_> = NAMES
            .iter()
            .enumerate()
            .filter(|(index, _)| self.0 & 1 << index != 0)
            .filter(|(index, _)| !(has_number && 1 << index == INTEGER))
            .map(|(_, (_, words))| *words)
            .collect();
        words.join(" or ")
    }
}

/// `5`, `5.0` and `5e0` are integers.
fn is_integer(raw: &str) -> bool {
    let is_plain = !raw.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
    is_plain || raw.parse::<f64>().is_ok_and(|number| number.fract() == 0.0)
}
