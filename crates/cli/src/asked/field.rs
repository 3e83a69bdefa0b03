//! What a person typed for one field of a form becomes its value; and what the field is, in words.
//! Used by `dialog`. No I/O.

use crate::print::one_line;
use crate::table::cut;
use haft_client::{Choice, Field, FieldKind};
use serde_json::{Number, Value};
use std::fmt::Write as _;

/// How many choices are shown; the others can be typed all the same.
const CHOICES_SHOWN_MAX: usize = 40;
const LABEL_COLUMNS: usize = 100;

/// The value that a line means.
///
/// # Errors
/// The second half of a sentence: `must be a number`.
pub(crate) fn read(field: &Field, line: &str) -> Result<Value, String> {
    let line = line.trim();
    let value = match &field.kind {
        FieldKind::Boolean => match &*line.to_lowercase() {
            "y" | "yes" | "true" => Value::Bool(true),
            "n" | "no" | "false" => Value::Bool(false),
            _ => return Err("must be y or n".to_owned()),
        },
        FieldKind::Choice(options) => Value::String(choose(options, line)?),
        FieldKind::Choices { options, .. } => {
            let words = line.split(',').map(str::trim).filter(|word| !word.is_empty());
            let mut chosen = Vec::new();
            for word in words {
                let value = Value::String(choose(options, word)?);
                if !chosen.contains(&value) {
                    chosen.push(value);
                }
            }
            Value::Array(chosen)
        }
        FieldKind::Number { is_integer, .. } => {
            let number: Number =
                serde_json::from_str(line).map_err(|_| "must be a number".to_owned())?;
            // 3.0 is a whole number.
            match number.as_f64().filter(|float| *is_integer && float.fract() == 0.0) {
                #[expect(clippy::cast_possible_truncation, reason = "it is whole and small")]
                Some(float) if number.is_f64() && float.abs() < 1e15 => Value::from(float as i64),
                _ => Value::Number(number),
            }
        }
        FieldKind::Text { .. } if line == EMPTY => Value::String(String::new()),
        FieldKind::Text { .. } => Value::String(line.to_owned()),
    };
    field.check(&value).map(|()| value)
}

/// What stands for an empty text, because an empty line means something else.
const EMPTY: &str = "\"\"";

fn choose(options: &[Choice], word: &str) -> Result<String, String> {
    // What is shown counts first; a value may look like the number of another choice.
    let by_title = options.iter().find(|option| option.title == word);
    let by_number = || {
        let number: usize = word.parse().ok()?;
        options.get(number.checked_sub(1)?)
    };
    let by_beginning = || {
        let begins = |option: &&Choice| {
            !word.is_empty() && option.title.to_lowercase().starts_with(&word.to_lowercase())
        };
        let mut found = options.iter().filter(begins);
        found.next().filter(|_| found.next().is_none())
    };
    let by_value = || options.iter().find(|option| option.value == word);
    let found = by_title.or_else(by_number).or_else(by_value).or_else(by_beginning);
    found.map(|option| option.value.clone()).ok_or_else(|| match options.len() {
        1 => "must be 1".to_owned(),
        count => format!("must be one of the choices, 1 to {count}"),
    })
}

/// The lines above the prompt: what the field is called, what it means, what there is to choose.
pub(crate) fn heading(field: &Field) -> Vec<String> {
    let mut first = label(field);
    let what = what(field);
    let must = if field.is_required { ", required" } else { "" };
    _ = write!(first, " ({what}{must})");
    if let Some(description) = &field.description {
        _ = write!(first, ": {}", one_line(description));
    }
    let mut lines = vec![cut(&first, 4 * LABEL_COLUMNS)];
    if let FieldKind::Choice(options) | FieldKind::Choices { options, .. } = &field.kind {
        for (number, option) in options.iter().take(CHOICES_SHOWN_MAX).enumerate() {
            let title = cut(&one_line(&option.title), LABEL_COLUMNS);
            lines.push(format!("{:>4}  {title}", number + 1));
        }
        if let Some(more @ 1..) = options.len().checked_sub(CHOICES_SHOWN_MAX) {
            lines.push(format!("      and {more} more"));
        }
    }
    lines
}

/// What people call the field.
pub(crate) fn label(field: &Field) -> String {
    cut(&one_line(field.label()), LABEL_COLUMNS)
}

/// A value as a person would read it.
pub(crate) fn shown(field: &Field, value: &Value) -> String {
    let title = |options: &[Choice], value: &Value| {
        let option = options.iter().find(|option| *value == option.value);
        option.map(|option| option.title.clone()).unwrap_or_default()
    };
    let text = match (&field.kind, value) {
        (FieldKind::Boolean, Value::Bool(is_on)) => if *is_on { "y" } else { "n" }.to_owned(),
        (FieldKind::Choice(options), value) => title(options, value),
        (FieldKind::Choices { options, .. }, Value::Array(values)) => {
            let titles = values.iter().map(|value| title(options, value));
            titles.collect::<Vec<_>>().join(", ")
        }
        (_, Value::String(text)) if text.is_empty() => EMPTY.to_owned(),
        (_, Value::String(text)) => text.clone(),
        (_, value) => value.to_string(),
    };
    cut(&one_line(&text), LABEL_COLUMNS)
}

fn what(field: &Field) -> String {
    match &field.kind {
        FieldKind::Boolean => "y or n".to_owned(),
        FieldKind::Choice(_) => "one of these".to_owned(),
        FieldKind::Choices { min, max, .. } => match (min, max) {
            (0, &usize::MAX) => "any of these, with commas between".to_owned(),
            (min, &usize::MAX) => format!("{min} or more of these, with commas between"),
            (min, max) if min == max => format!("{min} of these, with commas between"),
            (min, max) => format!("{min} to {max} of these, with commas between"),
        },
        FieldKind::Number { is_integer, min, max } => {
            let kind = if *is_integer { "a whole number" } else { "a number" };
            match (min, max) {
                (None, None) => kind.to_owned(),
                (Some(min), None) => format!("{kind}, {min} or more"),
                (None, Some(max)) => format!("{kind}, {max} or less"),
                (Some(min), Some(max)) => format!("{kind}, {min} to {max}"),
            }
        }
        FieldKind::Text { format: Some(format), .. } => format.example().to_owned(),
        FieldKind::Text { min, max, .. } => match (min, max) {
            (0, &usize::MAX) => "text".to_owned(),
            (min, &usize::MAX) => format!("text, at least {min} characters"),
            (0, max) => format!("text, at most {max} characters"),
            (min, max) => format!("text, {min} to {max} characters"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn field(kind: FieldKind) -> Field {
        Field {
            name: "f".to_owned(),
            title: None,
            description: None,
            is_required: false,
            kind,
            default: None,
        }
    }

    fn options() -> Vec<Choice> {
        let option = |(value, title): (&str, &str)| Choice {
            value: value.to_owned(),
            title: title.to_owned(),
        };
        [("#f00", "Red"), ("#0f0", "Green"), ("2", "Grey")].map(option).to_vec()
    }

    fn check(kind: FieldKind, line: &str, expected: Result<Value, &str>) {
        let found = read(&field(kind.clone()), line);
        assert_eq!(found, expected.map_err(str::to_owned), "{kind:?} {line:?}");
    }

    #[test]
    fn a_line_is_read_as_its_field_wants_it() {
        check(FieldKind::Boolean, " Yes ", Ok(json!(true)));
        check(FieldKind::Boolean, "n", Ok(json!(false)));
        check(FieldKind::Boolean, "maybe", Err("must be y or n"));
        let number = |is_integer| FieldKind::Number { is_integer, min: Some(0.0), max: None };
        check(number(false), "1.50", Ok(json!(1.5)));
        check(number(true), "3.0", Ok(json!(3)));
        check(number(true), "3.5", Err("must be a whole number"));
        check(number(true), "-1", Err("must be 0 or more"));
        check(number(true), "three", Err("must be a number"));
        let text = FieldKind::Text { min: 0, max: 3, format: None };
        check(text.clone(), " a ", Ok(json!("a")));
        check(text.clone(), "\"\"", Ok(json!("")));
        check(text, "abcd", Err("takes at most 3 characters"));
    }

    #[test]
    fn a_choice_is_a_number_a_name_or_its_beginning() {
        let one = FieldKind::Choice(options());
        for line in ["1", "Red", "#f00", "re"] {
            check(one.clone(), line, Ok(json!("#f00")));
        }
        check(one.clone(), "2", Ok(json!("#0f0")));
        for line in ["", "gr", "0", "4", "blue"] {
            check(one.clone(), line, Err("must be one of the choices, 1 to 3"));
        }
        let some = FieldKind::Choices { options: options(), min: 1, max: 2 };
        check(some.clone(), "Green, 1,1", Ok(json!(["#0f0", "#f00"])));
        check(some.clone(), ",", Err("needs at least 1 of the choices"));
        check(some, "1,2,3", Err("takes at most 2 of the choices"));
    }

    #[test]
    fn a_field_is_described_without_what_could_steer_a_terminal() {
        let mut field = field(FieldKind::Choice(options()));
        field.title = Some("\x1b[2JColour\n".to_owned());
        field.description = Some("Which\u{9b}31m one?".to_owned());
        field.is_required = true;
        let expected = "[2JColour (one of these, required): Which31m one?";
        assert_eq!(heading(&field)[..2], [expected.to_owned(), "   1  Red".to_owned()]);
        let many = (0..100).map(|n| Choice { value: n.to_string(), title: n.to_string() });
        field.kind = FieldKind::Choice(many.collect());
        let lines = heading(&field);
        assert_eq!((lines.len(), &*lines[41]), (42, "      and 60 more"));
    }

    #[test]
    fn a_value_is_shown_as_it_would_be_typed() {
        let some = field(FieldKind::Choices { options: options(), min: 0, max: 9 });
        assert_eq!(shown(&some, &json!(["#0f0", "#f00"])), "Green, Red");
        assert_eq!(shown(&field(FieldKind::Boolean), &json!(true)), "y");
        let text = field(FieldKind::Text { min: 0, max: 9, format: None });
        assert_eq!(shown(&text, &json!("")), "\"\"");
    }
}
