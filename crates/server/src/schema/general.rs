//! The check of schemas that `direct` does not know, by the `jsonschema` crate on a parsed value:
//! its verdict, within our bounds. What is wrong then is said by `explain`, because that crate's
//! own list of errors may take as much time and memory as a peer likes.

use super::budget::{Spent, with_budget};
use super::limits::KEY_STEPS_MAX;
use super::metered::{Metered, Probe};
use super::outline::Outline;
use super::outliner::Nowhere;
use super::parsed::parse;
use super::pattern::{PatternKeyword, linear, patient};
use super::wording::one_line;
use super::{BadSchema, Violation, explain};
use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, Validator};
use serde_json::Value;

/// A compiled schema of any keywords.
pub(super) struct General {
    validator: Validator<Metered>,
}

impl General {
    pub(super) fn compile(
        schema: &Value,
        dialect: Draft,
        outline: &Outline,
    ) -> Result<Self, BadSchema> {
        let mut options = jsonschema::options_for::<Metered>()
            .with_draft(dialect)
            .should_validate_formats(false)
            .with_retriever(Nowhere);
        let (has_patient_values, has_patient_keys) = outline.patient_patterns();
        if has_patient_values {
            options = options.with_keyword("pattern", PatternKeyword::make);
        }
        options = if has_patient_keys {
            options.with_pattern_options(patient(KEY_STEPS_MAX))
        } else {
            options.with_pattern_options(linear())
        };
        let validator = options.build(schema).map_err(|error| {
            let place = error.instance_path().as_str();
            let reason = match (place, error.kind()) {
                ("", _) => error.to_string(),
                (place, ValidationErrorKind::AnyOf { .. }) if place.ends_with("/type") => {
                    format!("{} is no type of JSON Schema, at {place:?}", error.instance())
                }
                (place, _) => format!("{error}, at {place:?}"),
            };
            BadSchema { reason: one_line(&reason) }
        })?;
        Ok(Self { validator })
    }

    pub(super) fn check(&self, outline: &Outline, text: &str) -> Result<(), Vec<Violation>> {
        let value = parse(text).map_err(|error| whole(&format!("is not usable JSON: {error}")))?;
        match self.is_valid(&value, text.len()) {
            Ok(true) => Ok(()),
            Ok(false) => Err(explain::explain(outline, &value, text.len())),
            Err(Spent) => Err(whole("takes too long to compare with its schema; send less")),
        }
    }

    /// The verdict alone.
    pub(super) fn fits(&self, text: &str) -> bool {
        parse(text).is_ok_and(|value| self.is_valid(&value, text.len()).unwrap_or(false))
    }

    fn is_valid(&self, value: &Value, bytes: usize) -> Result<bool, Spent> {
        with_budget(bytes, || self.validator.is_valid(Probe(value)))
    }
}

/// A violation of the whole value.
pub(super) fn whole(problem: &str) -> Vec<Violation> {
    vec![Violation { path: String::new(), problem: problem.to_owned() }]
}
