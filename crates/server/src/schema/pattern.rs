//! Regular expressions, bounded in size and time. Most run in time linear in the text, whatever the
//! text is; those that look around or refer back may step back, and share a budget for that in each
//! check. Compiled with the outline of a schema; called by the checks.

use super::BadSchema;
use super::budget::{give_up, has_steps, spend_patient, spend_quick};
use super::limits::{
    PATIENT_STEPS_MAX, PATTERN_BYTES_MAX, PATTERN_CACHE_BYTES_MAX, QUICK_STEPS_MAX,
};
use super::metered::{Metered, Probe};
use super::wording::shorten;
use jsonschema::error::ValidationErrorKind;
use jsonschema::paths::Location;
use jsonschema::{FancyRegex, Keyword, PatternOptions, ValidationError, Validator};
use serde_json::{Map, Value, json};

/// A compiled expression of ECMA-262, as `pattern` has it.
pub(super) struct Pattern {
    text: Box<str>,
    engine: Engine,
}

enum Engine {
    Linear(Validator),
    Patient {
        /// Gives up soon, which hardly any text makes it do.
        quick: Validator,
        slow: Validator,
    },
}

impl Pattern {
    /// # Errors
    /// [`BadSchema`] if it is no expression, or too large.
    pub(super) fn compile(text: &str) -> Result<Self, BadSchema> {
        let schema = json!({ "pattern": text });
        if let Ok(linear) = jsonschema::options().with_pattern_options(linear()).build(&schema) {
            return Ok(Self { text: text.into(), engine: Engine::Linear(linear) });
        }
        let stepping = |steps| {
            jsonschema::options().with_pattern_options(patient(steps)).build(&schema).map_err(
                |_| {
                    let text = shorten(text);
                    let reason = format!(
                        "{text:?} is no regular expression, or compiles to more than \
                                      {PATTERN_BYTES_MAX} bytes"
                    );
                    BadSchema { reason }
                },
            )
        };
        let (quick, slow) = (stepping(QUICK_STEPS_MAX)?, stepping(PATIENT_STEPS_MAX)?);
        Ok(Self { text: text.into(), engine: Engine::Patient { quick, slow } })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether time is linear in the text.
    pub(super) fn is_linear(&self) -> bool {
        matches!(self.engine, Engine::Linear(_))
    }

    /// Whether it is found in a text; `None` if that takes too long to say.
    pub(super) fn is_match(&self, text: &str) -> Option<bool> {
        self.is_match_value(&Value::String(text.to_owned()))
    }

    /// The same for a text that is a value already. Other values match.
    pub(super) fn is_match_value(&self, value: &Value) -> Option<bool> {
        match &self.engine {
            Engine::Linear(validator) => Some(validator.is_valid(value)),
            Engine::Patient { quick, slow } => {
                let bytes = value.as_str().map_or(0, str::len) + 1;
                let mut verdict = None;
                if has_steps() && spend_quick(bytes) {
                    verdict = try_match(quick, value);
                }
                if verdict.is_none() && has_steps() && spend_patient(bytes) {
                    verdict = try_match(slow, value);
                }
                if verdict.is_none() {
                    give_up();
                }
                verdict
            }
        }
    }
}

fn try_match(validator: &Validator, value: &Value) -> Option<bool> {
    match validator.validate(value) {
        Ok(()) => Some(true),
        Err(error) => matches!(error.kind(), ValidationErrorKind::Pattern { .. }).then_some(false),
    }
}

/// How expressions run that never step back.
pub(super) fn linear() -> PatternOptions<jsonschema::Regex> {
    PatternOptions::regex().size_limit(PATTERN_BYTES_MAX).dfa_size_limit(PATTERN_CACHE_BYTES_MAX)
}

/// How the others run.
pub(super) fn patient(steps: usize) -> PatternOptions<FancyRegex> {
    PatternOptions::fancy_regex()
        .backtrack_limit(steps)
        .size_limit(PATTERN_BYTES_MAX)
        .dfa_size_limit(PATTERN_CACHE_BYTES_MAX)
}

/// The keyword `pattern` of a schema that has an expression that steps back.
pub(super) struct PatternKeyword(Pattern);

impl PatternKeyword {
    /// As `jsonschema::ValidationOptions::with_keyword` wants it.
    pub(super) fn make<'a>(
        _: &'a Map<String, Value>,
        text: &'a Value,
        _: Location,
    ) -> Result<Box<dyn for<'i> Keyword<'i, Metered>>, ValidationError<'a>> {
        let pattern = Pattern::compile(text.as_str().unwrap_or_default());
        let pattern = pattern.map_err(|error| ValidationError::custom(error.reason))?;
        Ok(Box::new(Self(pattern)))
    }
}

impl<'i> Keyword<'i, Metered> for PatternKeyword {
    fn validate(&self, value: Probe<'i>) -> Result<(), ValidationError<'i>> {
        if self.is_valid(value) {
            return Ok(());
        }
        Err(ValidationError::custom(format!("must match {:?}", self.0.text())))
    }

    fn is_valid(&self, value: Probe<'i>) -> bool {
        self.0.is_match_value(value.0).unwrap_or(false)
    }
}
