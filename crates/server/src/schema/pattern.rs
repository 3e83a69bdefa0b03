//! Regular expressions, bounded in size and time. Most run in time linear in the text, whatever the
//! text is; those that look around or refer back may step back, and share a budget for that in each
//! check. Compiled with the outline of a schema; called by the checks.

use super::BadSchema;
use super::limits::{
    PATIENT_BYTES_MAX, PATIENT_STEPS_MAX, PATTERN_BYTES_MAX, PATTERN_CACHE_BYTES_MAX,
    QUICK_BYTES_MAX, QUICK_STEPS_MAX,
};
use super::wording::shorten;
use jsonschema::error::ValidationErrorKind;
use jsonschema::paths::Location;
use jsonschema::{FancyRegex, Keyword, PatternOptions, ValidationError, Validator};
use serde_json::{Map, Value, json};
use std::cell::Cell;

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
                if spend(&QUICK_BYTES_LEFT, bytes) {
                    verdict = try_match(quick, value);
                }
                if verdict.is_none() && spend(&PATIENT_BYTES_LEFT, bytes) {
                    verdict = try_match(slow, value);
                }
                if verdict.is_none() {
                    IS_UNDECIDED.set(true);
                }
                verdict
            }
        }
    }
}

/// Runs a check with a budget of its own for expressions that step back.
///
/// # Errors
/// [`Undecided`] if one of them would have taken too long.
pub(super) fn with_budget<T>(check: impl FnOnce() -> T) -> Result<T, Undecided> {
    QUICK_BYTES_LEFT.set(QUICK_BYTES_MAX);
    PATIENT_BYTES_LEFT.set(PATIENT_BYTES_MAX);
    IS_UNDECIDED.set(false);
    let outcome = check();
    if IS_UNDECIDED.get() { Err(Undecided) } else { Ok(outcome) }
}

/// A regular expression took too long.
pub(super) struct Undecided;

// The checker of the `jsonschema` crate gives keywords nothing but the value, so what a check has
// left stands beside it. A check begins and ends on one thread.
thread_local! {
    static QUICK_BYTES_LEFT: Cell<usize> = const { Cell::new(QUICK_BYTES_MAX) };
    static PATIENT_BYTES_LEFT: Cell<usize> = const { Cell::new(PATIENT_BYTES_MAX) };
    static IS_UNDECIDED: Cell<bool> = const { Cell::new(false) };
}

fn spend(left: &'static std::thread::LocalKey<Cell<usize>>, bytes: usize) -> bool {
    match left.get().checked_sub(bytes) {
        Some(rest) => {
            left.set(rest);
            true
        }
        None => false,
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
    ) -> Result<Box<dyn for<'i> Keyword<'i>>, ValidationError<'a>> {
        let pattern = Pattern::compile(text.as_str().unwrap_or_default());
        let pattern = pattern.map_err(|error| ValidationError::custom(error.reason))?;
        Ok(Box::new(Self(pattern)))
    }
}

impl<'i> Keyword<'i> for PatternKeyword {
    fn validate(&self, value: &'i Value) -> Result<(), ValidationError<'i>> {
        if Keyword::is_valid(self, value) {
            return Ok(());
        }
        Err(ValidationError::custom(format!("must match {:?}", self.0.text())))
    }

    fn is_valid(&self, value: &'i Value) -> bool {
        self.0.is_match_value(value).unwrap_or(false)
    }
}
