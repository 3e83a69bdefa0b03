//! The form that a server asks somebody to fill in: its fields, read from a flat JSON Schema, and
//! whether values fit them. Read by `inquiry`; whoever answers draws it. No I/O.

use crate::formats::Format;
use crate::limits::{CHOICES_MAX, FIELDS_MAX};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// A form (Elicitation, "Form Mode").
#[derive(Clone, Debug)]
pub struct Form {
    /// Why it is needed, in the server's words.
    pub message: String,
    /// What is asked, in the server's order.
    pub fields: Vec<Field>,
    /// The whole schema of the answer.
    pub schema: Value,
    /// The question's parameters, as they came.
    pub raw: Box<RawValue>,
}

/// One thing that a form asks.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The name that programs use.
    pub name: String,
    /// The name that people read.
    pub title: Option<String>,
    /// What it means.
    pub description: Option<String>,
    /// Whether it must be answered.
    pub is_required: bool,
    /// What kind of value it has.
    pub kind: FieldKind,
    /// What the server proposes; it fits.
    pub default: Option<Value>,
}

/// What kind of value a field has.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldKind {
    /// True or false.
    Boolean,
    /// One of these, a string.
    Choice(Vec<Choice>),
    /// Some of these, a list of strings.
    Choices {
        /// What there is to choose from.
        options: Vec<Choice>,
        /// At least so many.
        min: usize,
        /// At most so many.
        max: usize,
    },
    /// A number.
    Number {
        /// Whether it must be whole.
        is_integer: bool,
        /// The least.
        min: Option<f64>,
        /// The greatest.
        max: Option<f64>,
    },
    /// Text.
    Text {
        /// At least so many characters.
        min: usize,
        /// At most so many characters.
        max: usize,
        /// What it must look like.
        format: Option<Format>,
    },
}

/// One possible value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The value.
    pub value: String,
    /// What people read; the value itself if the server gives nothing else.
    pub title: String,
}

impl Form {
    /// Reads the parameters of a question.
    ///
    /// # Errors
    /// One line on what a form cannot have.
    pub(crate) fn read(message: String, schema: Value, raw: Box<RawValue>) -> Result<Self, String> {
        let none = Map::new();
        let properties = match schema.get("properties") {
            Some(Value::Object(properties)) => properties,
            None if schema.get("type").is_some_and(|kind| kind == "object") => &none,
            _ => return Err("`requestedSchema` must describe an object".to_owned()),
        };
        if properties.len() > FIELDS_MAX {
            return Err(format!("a form has at most {FIELDS_MAX} fields"));
        }
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|names| names.iter().any(|other| other == name));
        let fields = properties
            .iter()
            .map(|(name, property)| Field::read(name, property, is_required(name)))
            .collect::<Result<_, _>>()?;
        Ok(Self { message, fields, schema, raw })
    }

    /// What the server proposes.
    #[must_use]
    pub fn defaults(&self) -> Map<String, Value> {
        let proposed = self.fields.iter();
        proposed.filter_map(|field| Some((field.name.clone(), field.default.clone()?))).collect()
    }

    /// Whether values are an answer that the server may get.
    ///
    /// # Errors
    /// One line on the first that does not fit or is missing.
    pub fn check(&self, values: &Map<String, Value>) -> Result<(), String> {
        for field in &self.fields {
            match values.get(&field.name) {
                Some(value) => {
                    field.check(value).map_err(|why| format!("`{}` {why}", field.name))?;
                }
                None if field.is_required => return Err(format!("`{}` is missing", field.name)),
                None => {}
            }
        }
        let is_asked = |name: &&String| self.fields.iter().any(|field| field.name == **name);
        match values.keys().find(|name| !is_asked(name)) {
            Some(name) => Err(format!("`{name}` was not asked for")),
            None => Ok(()),
        }
    }
}

impl Field {
    fn read(name: &str, property: &Value, is_required: bool) -> Result<Self, String> {
        let text = |key: &str| property.get(key).and_then(Value::as_str).map(str::to_owned);
        let kind =
            FieldKind::read(property).map_err(|why| format!("the field `{name:.80}` {why}"))?;
        let mut field = Self {
            name: name.to_owned(),
            title: text("title"),
            description: text("description"),
            is_required,
            kind,
            default: None,
        };
        // What the server itself would not accept is no proposal.
        field.default = property.get("default").filter(|value| field.check(value).is_ok()).cloned();
        Ok(field)
    }

    /// What people call it.
    #[must_use]
    pub fn label(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }

    /// Whether a value fits.
    ///
    /// # Errors
    /// The second half of a sentence: `must be true or false`.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        match (&self.kind, value) {
            (FieldKind::Boolean, Value::Bool(_)) => Ok(()),
            (FieldKind::Boolean, _) => Err("must be true or false".to_owned()),
            (FieldKind::Choice(options), value) => check_choice(options, value),
            (FieldKind::Choices { options, min, max }, Value::Array(values)) => {
                if values.len() < *min {
                    return Err(format!("needs at least {min} of the choices"));
                }
                if values.len() > *max {
                    return Err(format!("takes at most {max} of the choices"));
                }
                values.iter().try_for_each(|value| check_choice(options, value))
            }
            (FieldKind::Choices { .. }, _) => Err("must be a list".to_owned()),
            (FieldKind::Number { is_integer, min, max }, value) => {
                check_number(value, *is_integer, *min, *max)
            }
            (FieldKind::Text { min, max, format }, Value::String(text)) => {
                check_text(text, *min, *max, *format)
            }
            (FieldKind::Text { .. }, _) => Err("must be text".to_owned()),
        }
    }
}

impl FieldKind {
    fn read(property: &Value) -> Result<Self, String> {
        if let Some(options) = options(property)? {
            return Ok(Self::Choice(options));
        }
        let number = |key: &str| property.get(key).and_then(Value::as_f64);
        let count = |key: &str| {
            let count = property.get(key).and_then(Value::as_u64);
            count.map(|count| usize::try_from(count).unwrap_or(usize::MAX))
        };
        let kind = property.get("type").and_then(Value::as_str);
        match kind {
            Some("string") => Ok(Self::Text {
                min: count("minLength").unwrap_or(0),
                max: count("maxLength").unwrap_or(usize::MAX),
                format: property.get("format").and_then(Value::as_str).and_then(Format::find),
            }),
            Some("boolean") => Ok(Self::Boolean),
            Some(kind @ ("integer" | "number")) => Ok(Self::Number {
                is_integer: kind == "integer",
                min: number("minimum"),
                max: number("maximum"),
            }),
            Some("array") => match property.get("items").map(options) {
                Some(options) => Ok(Self::Choices {
                    options: options?.ok_or("lists anything but choices")?,
                    min: count("minItems").unwrap_or(0),
                    max: count("maxItems").unwrap_or(usize::MAX),
                }),
                None => Err("lists anything but choices".to_owned()),
            },
            Some(other) => Err(format!("has the type {other:.80?}, which no form has")),
            None => Err("has no type".to_owned()),
        }
    }
}

/// The choices of a schema in any of the ways to write them: `enum`, with `enumNames` or without,
/// `oneOf`, and `anyOf` within a list.
fn options(schema: &Value) -> Result<Option<Vec<Choice>>, String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let options: Option<Vec<Choice>> = if let Some(values) = schema.get("enum") {
        let titles = schema.get("enumNames");
        let title = |index: usize| titles.and_then(|titles| text(titles.get(index)?));
        values.as_array().and_then(|values| {
            let choice = |(index, value)| {
                let value = text(value)?;
                Some(Choice { title: title(index).unwrap_or_else(|| value.clone()), value })
            };
            values.iter().enumerate().map(choice).collect()
        })
    } else if let Some(branches) = schema.get("oneOf").or_else(|| schema.get("anyOf")) {
        branches.as_array().and_then(|branches| {
            let choice = |branch: &Value| {
                let value = text(branch.get("const")?)?;
                let title = branch.get("title").and_then(text);
                Some(Choice { title: title.unwrap_or_else(|| value.clone()), value })
            };
            branches.iter().map(choice).collect()
        })
    } else {
        return Ok(None);
    };
    match options {
        Some(options) if options.is_empty() => Err("has nothing to choose from".to_owned()),
        Some(options) if options.len() > CHOICES_MAX => {
            Err(format!("has more than {CHOICES_MAX} choices"))
        }
        Some(options) => Ok(Some(options)),
        None => Err("has choices that are not texts".to_owned()),
    }
}

fn check_choice(options: &[Choice], value: &Value) -> Result<(), String> {
    let is_known = options.iter().any(|option| *value == option.value);
    if is_known { Ok(()) } else { Err("must be one of the choices".to_owned()) }
}

fn check_number(
    value: &Value,
    is_integer: bool,
    min: Option<f64>,
    max: Option<f64>,
) -> Result<(), String> {
    let Some(number) = value.as_f64() else { return Err("must be a number".to_owned()) };
    if is_integer && number.fract() != 0.0 {
        return Err("must be a whole number".to_owned());
    }
    if let Some(min) = min.filter(|min| number < *min) {
        return Err(format!("must be {min} or more"));
    }
    match max.filter(|max| number > *max) {
        Some(max) => Err(format!("must be {max} or less")),
        None => Ok(()),
    }
}

fn check_text(text: &str, min: usize, max: usize, format: Option<Format>) -> Result<(), String> {
    let count = text.chars().count();
    if count < min {
        return Err(format!("needs at least {min} characters"));
    }
    if count > max {
        return Err(format!("takes at most {max} characters"));
    }
    match format.filter(|format| !format.fits(text)) {
        Some(format) => Err(format!("must be {}", format.example())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn form(properties: &Value, required: &Value) -> Result<Form, String> {
        let schema = json!({"type": "object", "properties": properties, "required": required});
        Form::read("m".to_owned(), schema, RawValue::NULL.to_owned())
    }

    fn field(property: &Value) -> Result<Field, String> {
        form(&json!({ "f": property }), &json!([])).map(|mut form| form.fields.remove(0))
    }

    fn check(property: &Value, value: &Value, expected: Result<(), &str>) {
        let field = field(property).expect("a field");
        assert_eq!(field.check(value), expected.map_err(str::to_owned), "{property} {value}");
    }

    #[test]
    fn values_fit_or_are_told_why_not() {
        let text = json!({"type": "string", "minLength": 2, "maxLength": 3});
        check(&text, &json!("äö"), Ok(()));
        check(&text, &json!("a"), Err("needs at least 2 characters"));
        check(&text, &json!("abcd"), Err("takes at most 3 characters"));
        check(&text, &json!(7), Err("must be text"));
        let email = json!({"type": "string", "format": "email"});
        check(&email, &json!("ada"), Err("must be an address like ada@example.com"));
        let count = json!({"type": "integer", "minimum": 1, "maximum": 9});
        check(&count, &json!(9), Ok(()));
        check(&count, &json!(1.5), Err("must be a whole number"));
        check(&count, &json!(0), Err("must be 1 or more"));
        check(&count, &json!(10), Err("must be 9 or less"));
        check(&json!({"type": "boolean"}), &json!("yes"), Err("must be true or false"));
    }

    #[test]
    fn choices_are_read_however_they_are_written() {
        let plain = json!({"type": "string", "enum": ["r", "g"]});
        let named = json!({"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]});
        let titled = json!({"type": "string", "oneOf": [{"const": "r", "title": "Red"},
            {"const": "g", "title": "Green"}]});
        let titles = |property: &Value| match field(property).expect("a field").kind {
            FieldKind::Choice(options) | FieldKind::Choices { options, .. } => {
                options.into_iter().map(|option| option.title).collect::<Vec<_>>()
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(titles(&plain), ["r", "g"]);
        assert_eq!(titles(&named), ["Red", "Green"]);
        assert_eq!(titles(&titled), ["Red", "Green"]);
        let many = json!({"type": "array", "minItems": 1, "maxItems": 1,
            "items": {"anyOf": [{"const": "r", "title": "Red"}, {"const": "g"}]}});
        assert_eq!(titles(&many), ["Red", "g"]);
        check(&many, &json!(["r"]), Ok(()));
        check(&many, &json!([]), Err("needs at least 1 of the choices"));
        check(&many, &json!(["r", "g"]), Err("takes at most 1 of the choices"));
        check(&many, &json!(["x"]), Err("must be one of the choices"));
        check(&plain, &json!("Red"), Err("must be one of the choices"));
    }

    #[test]
    fn a_default_that_does_not_fit_is_no_proposal() {
        let fits = field(&json!({"type": "integer", "default": 3})).expect("a field");
        assert_eq!(fits.default, Some(json!(3)));
        let wrong = field(&json!({"type": "integer", "default": "3"})).expect("a field");
        assert_eq!(wrong.default, None);
    }

    #[test]
    fn what_no_form_has_is_refused() {
        for (property, reason) in [
            (json!({"type": "object"}), "has the type \"object\", which no form has"),
            (json!({"type": "array", "items": {"type": "string"}}), "lists anything but choices"),
            (json!({"type": "array"}), "lists anything but choices"),
            (json!({"enum": []}), "has nothing to choose from"),
            (json!({"enum": [1]}), "has choices that are not texts"),
            (json!({"enum": vec!["x"; CHOICES_MAX + 1]}), "has more than 4096 choices"),
            (json!(7), "has no type"),
        ] {
            let expected = Err(format!("the field `f` {reason}"));
            assert_eq!(field(&property).map(|_| ()), expected, "{property}");
        }
        let many: Map<String, Value> =
            (0..=FIELDS_MAX).map(|n| (n.to_string(), json!({"type": "boolean"}))).collect();
        assert!(form(&Value::Object(many), &json!([])).is_err());
        for schema in [json!(7), json!({"type": "array"}), json!({"properties": 1})] {
            let read = Form::read(String::new(), schema, RawValue::NULL.to_owned());
            assert!(read.is_err());
        }
    }

    #[test]
    fn an_answer_has_what_is_required_and_nothing_else() {
        let form = form(&json!({"a": {"type": "boolean"}}), &json!(["a"])).expect("a form");
        let values = |value: Value| value.as_object().cloned().expect("an object");
        assert_eq!(form.check(&values(json!({"a": true}))), Ok(()));
        assert_eq!(form.check(&values(json!({}))), Err("`a` is missing".to_owned()));
        let more = form.check(&values(json!({"a": true, "b": 1})));
        assert_eq!(more, Err("`b` was not asked for".to_owned()));
    }
}
