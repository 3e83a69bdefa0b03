//! JSON Schemas, compiled once and checked on every call. Common schemas are checked straight on
//! the message's text by `direct`; any other by the `jsonschema` crate, on a parsed value. Neither
//! reads a file or the network, and neither lets a schema or a value take as long as it likes.

mod bounds;
mod budget;
pub mod derived;
mod direct;
mod explain;
mod fits;
mod fused;
mod general;
mod kind_set;
mod limits;
mod metered;
mod nesting;
mod ordered;
mod outline;
mod outliner;
mod parsed;
mod pattern;
mod place;
mod prepared;
mod reach;
pub mod repair;
mod sketch;
mod sound;
mod view;
pub(crate) mod wording;

use budget::with_budget;
use haft_proto::json::Cursor;
use jsonschema::Draft;
pub(crate) use limits::PATTERNS_MAX;
use limits::SCHEMA_BYTES_MAX;
use outline::Outline;
pub use prepared::Prepared;
use repair::Repaired;
use serde::de::DeserializeOwned;
use serde_json::Value;
pub use sound::is_sound;
use std::fmt;
use std::sync::OnceLock;
use wording::one_line;

/// A compiled schema.
pub struct Schema(Checker);

/// The outlines are what repairs and explanations go by; no check that succeeds looks at them.
enum Checker {
    /// The outline is made when it is first needed.
    Direct(Box<(direct::Node, OnceLock<Outline>)>),
    General(Box<(general::General, Outline)>),
    /// It cannot be compiled: why.
    Nothing(BadSchema),
}

/// Why a text is not a usable schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadSchema {
    /// One line, without the name of the tool.
    pub reason: String,
}

impl fmt::Display for BadSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for BadSchema {}

/// One way in which a value does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Where, like `filter.tags[2]`; empty for the whole value.
    pub path: String,
    /// What was expected and what came.
    pub problem: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.problem)
        } else {
            write!(f, "`{}` {}", self.path, self.problem)
        }
    }
}

impl Schema {
    /// Compiles a schema. The dialect is 2020-12 unless `$schema` says otherwise.
    ///
    /// # Errors
    /// [`BadSchema`] if it is not JSON, not a schema, of an unknown dialect, refers outside, or is
    /// longer, deeper or more entangled than can be checked in bounded time on a thread's stack.
    ///
    /// ```
    /// let schema = haft_server::schema::Schema::compile(r#"{"type":"object","properties":
    ///     {"city":{"type":"string","minLength":1}},"required":["city"]}"#)?;
    /// assert!(schema.check(r#"{"city":"Bern"}"#).is_ok());
    /// let wrong = schema.check(r#"{"city":3}"#).unwrap_err();
    /// assert_eq!(wrong[0].to_string(), "`city` must be a string, not 3");
    /// # Ok::<(), haft_server::schema::BadSchema>(())
    /// ```
    pub fn compile(text: &str) -> Result<Self, BadSchema> {
        if text.len() > SCHEMA_BYTES_MAX {
            let reason = format!("the schema is longer than {SCHEMA_BYTES_MAX} bytes");
            return Err(BadSchema { reason });
        }
        let value = parsed::parse(text).map_err(|error| {
            let error = error.to_string();
            let is_deep = error.starts_with("recursion limit");
            let reason = if is_deep { "nested too deep" } else { "not JSON" };
            BadSchema { reason: format!("the schema is {reason}: {error}") }
        })?;
        if !value.is_object() {
            return Err(BadSchema { reason: "the schema must be an object".to_owned() });
        }
        let dialect = match value.get("$schema") {
            Some(uri) => dialect_named(uri)?,
            None => Draft::Draft202012,
        };
        // Older dialects have keywords of the same name that mean something else.
        let is_current = dialect == Draft::Draft202012;
        let direct = is_current.then(|| direct::Node::compile(&value)).flatten();
        if let Some(node) = direct {
            return Ok(Self(Checker::Direct(Box::new((node, OnceLock::new())))));
        }
        // The outline goes first: it refuses what the compiler of the general check cannot bear.
        let outline = outliner::outline(&value, dialect)?;
        // What is not handled directly may also be no schema at all; the general check knows.
        let general = general::General::compile(&value, dialect, &outline)?;
        Ok(Self(Checker::General(Box::new((general, outline)))))
    }

    /// What a text becomes that is no schema, and that nobody looked at in time.
    pub(crate) fn that_refuses(bad: BadSchema) -> Self {
        Self(Checker::Nothing(bad))
    }

    /// Whether values are checked straight on their text.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        matches!(self.0, Checker::Direct(_))
    }

    /// Checks JSON text that is known to be well-formed.
    ///
    /// # Errors
    /// What does not fit: at least one [`Violation`], eight at most.
    pub fn check(&self, text: &str) -> Result<(), Vec<Violation>> {
        match &self.0 {
            Checker::Direct(direct) => direct.0.check(&mut Cursor::new(text, usize::MAX)),
            Checker::General(general) => general.0.check(&general.1, text),
            Checker::Nothing(bad) => {
                Err(general::whole(&format!("cannot be compared with its schema: {bad}")))
            }
        }
    }

    /// Decodes JSON text that is known to be well-formed, if it fits. `None` does not say that it
    /// does not: [`Schema::check`] and the type's own decoding do.
    pub(crate) fn decode<A: DeserializeOwned>(&self, text: &str) -> Option<A> {
        match &self.0 {
            Checker::Direct(direct) => fused::decode(&direct.0, text),
            Checker::General(_) | Checker::Nothing(_) => None,
        }
    }

    /// Mends JSON text that did not pass [`Schema::check`], if nothing else is needed than to take
    /// numbers, booleans, arrays and objects out of quotes where the schema allows no string, and
    /// to leave out optional properties that are `null` where it allows none. The outcome passes
    /// the check; everything outside of the mended spots is as it was, to the byte.
    ///
    /// ```
    /// let schema = haft_server::schema::Schema::compile(r#"{"type":"object","properties":
    ///     {"days":{"type":"integer"},"unit":{"enum":["C","F"]}},"required":["days"]}"#)?;
    /// let mended = schema.repair(r#"{"days": "5", "unit": null}"#).expect("it can be mended");
    /// assert_eq!(mended.text, r#"{"days": 5}"#);
    /// assert_eq!(mended.count, 2);
    /// assert_eq!(mended.repairs[0].to_string(), "`days` was a number in quotes");
    /// assert_eq!(schema.repair(r#"{"days": "five"}"#), None);
    /// # Ok::<(), haft_server::schema::BadSchema>(())
    /// ```
    #[must_use]
    pub fn repair(&self, text: &str) -> Option<Repaired> {
        let outline = match &self.0 {
            Checker::Direct(direct) => direct.1.get_or_init(|| sketch::outline(&direct.0)),
            Checker::General(general) => &general.1,
            Checker::Nothing(_) => return None,
        };
        let mended = with_budget(text.len(), || repair::mend(outline, text)).ok()??;
        self.fits(&mended.text).then_some(mended)
    }

    fn fits(&self, text: &str) -> bool {
        match &self.0 {
            Checker::Direct(direct) => direct.0.check(&mut Cursor::new(text, usize::MAX)).is_ok(),
            Checker::General(general) => general.0.fits(text),
            Checker::Nothing(_) => false,
        }
    }
}

/// A schema that has to be compiled now to know that it is one; `None` if it surely compiles later.
///
/// # Errors
/// Those of [`Schema::compile`].
pub(crate) fn compile_unless_sound(text: &str) -> Result<Option<Schema>, BadSchema> {
    if is_sound(text) { Ok(None) } else { Schema::compile(text).map(Some) }
}

/// Whether a text is a regular expression that `pattern` may have.
pub(crate) fn is_pattern(text: &str) -> bool {
    pattern::Pattern::compile(text).is_ok()
}

/// The dialect that `$schema` names.
fn dialect_named(uri: &Value) -> Result<Draft, BadSchema> {
    let known = [
        ("//json-schema.org/draft/2020-12/schema", Draft::Draft202012),
        ("//json-schema.org/draft/2019-09/schema", Draft::Draft201909),
        ("//json-schema.org/draft-07/schema", Draft::Draft7),
        ("//json-schema.org/draft-06/schema", Draft::Draft6),
        ("//json-schema.org/draft-04/schema", Draft::Draft4),
    ];
    let named = uri.as_str().unwrap_or_default().trim_end_matches('#');
    // The older ones are named with `http`, and people write either.
    let named = named.strip_prefix("https:").or_else(|| named.strip_prefix("http:"));
    let named = named.unwrap_or_default();
    known.into_iter().find(|(uri, _)| *uri == named).map(|(_, draft)| draft).ok_or_else(|| {
        let reason =
            format!("`$schema` {uri} is not a known dialect; use \"https:{}\"", known[0].0);
        BadSchema { reason: one_line(&reason) }
    })
}
