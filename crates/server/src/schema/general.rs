//! The check of schemas that `direct` does not know, by the `jsonschema` crate on a parsed value:
//! its verdict, within our bounds. What is wrong then is said by `explain`, because that crate's
//! own list of errors may take as much time and memory as a peer likes.

use super::limits::{CHECK_COST_MAX, QUICK_STEPS_MAX};
use super::outline::Outline;
use super::outliner::Nowhere;
use super::pattern::{PatternKeyword, Undecided, linear, patient, with_budget};
use super::wording::one_line;
use super::{BadSchema, Violation, explain};
use jsonschema::{Draft, Validator};
use serde_json::Value;

/// A compiled schema of any keywords.
pub(super) struct General {
    validator: Validator,
}

impl General {
    pub(super) fn compile(
        schema: &Value,
        dialect: Draft,
        outline: &Outline,
    ) -> Result<Self, BadSchema> {
        let mut options = jsonschema::options()
            .with_draft(dialect)
            .should_validate_formats(false)
            .with_retriever(Nowhere);
        let (has_patient_values, has_patient_keys) = outline.patient_patterns();
        if has_patient_values {
            options = options.with_keyword("pattern", PatternKeyword::make);
        }
        options = if has_patient_keys {
            options.with_pattern_options(patient(QUICK_STEPS_MAX))
        } else {
            options.with_pattern_options(linear())
        };
        let validator = options.build(schema).map_err(|error| {
            let place = error.instance_path().as_str();
            let reason = match place {
                "" => error.to_string(),
                place => format!("{error}, at {place:?}"),
            };
            BadSchema { reason: one_line(&reason) }
        })?;
        Ok(Self { validator })
    }

    pub(super) fn check(&self, outline: &Outline, text: &str) -> Result<(), Vec<Violation>> {
        let value = self.parse(outline, text)?;
        match self.is_valid(&value) {
            Ok(true) => Ok(()),
            Ok(false) => Err(explain::explain(outline, &value, text.len())),
            Err(Undecided) => Err(whole("takes too long to compare with a `pattern`; shorten it")),
        }
    }

    /// The verdict alone.
    pub(super) fn fits(&self, outline: &Outline, text: &str) -> bool {
        self.parse(outline, text).is_ok_and(|value| self.is_valid(&value).unwrap_or(false))
    }

    fn parse(&self, outline: &Outline, text: &str) -> Result<Value, Vec<Violation>> {
        // Every byte may be a value, and be compared with everything.
        if outline.weight.saturating_mul(text.len() as u64) > CHECK_COST_MAX {
            return Err(whole("is too long for a schema of so many alternatives; send less"));
        }
        serde_json::from_str(text).map_err(|error| whole(&format!("is not usable JSON: {error}")))
    }

    fn is_valid(&self, value: &Value) -> Result<bool, Undecided> {
        with_budget(|| self.validator.is_valid(value))
    }
}

/// A violation of the whole value.
fn whole(problem: &str) -> Vec<Violation> {
    vec![Violation { path: String::new(), problem: problem.to_owned() }]
}
