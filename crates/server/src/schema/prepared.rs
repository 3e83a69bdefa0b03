//! A schema on its way to a tool: its text, and what is compiled of it, once for all who have it.
//! Made by whoever checks schemas before there is a tool; read by `tool` and on each call.

use super::{BadSchema, Schema, compile_unless_sound};
use crate::normal::of_own;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A schema that is known to be one. Clones share what is compiled.
#[derive(Clone)]
pub struct Prepared(Arc<Parts>);

struct Parts {
    text: Box<str>,
    schema: OnceLock<Schema>,
    /// Set if it is known that the text compiles.
    is_sound: OnceLock<()>,
}

impl Prepared {
    /// Compiles a schema, or sees that it will compile when a value is first compared with it, as
    /// that of nearly every tool does.
    ///
    /// # Errors
    /// Those of [`Schema::compile`].
    pub fn compile(text: impl Into<String>) -> Result<Self, BadSchema> {
        let prepared = Self::deferred(text);
        prepared.verify()?;
        Ok(prepared)
    }

    /// A schema that is compiled when a value is first compared with it: a document of an API
    /// describes a thousand operations, of which few are ever called. For texts that are known to
    /// compile; one that does not fits nothing.
    ///
    /// ```
    /// use haft_server::schema::Prepared;
    /// use haft_server::{Tool, handler};
    /// #[derive(serde::Deserialize)]
    /// struct City { city: String }
    /// let schema = Prepared::deferred(r#"{"type":"object","required":["city"],
    ///     "properties":{"city":{"type":"string"}}}"#);
    /// let weather = Tool::new("weather", handler::function(|asked: City| asked.city))
    ///     .prepared_input(schema);
    /// # haft_server::Server::builder("sky", "1").tool(weather).build()?;
    /// # Ok::<(), haft_server::BuildError>(())
    /// ```
    #[must_use]
    pub fn deferred(text: impl Into<String>) -> Self {
        let text = of_own(text.into()).into_boxed_str();
        Self(Arc::new(Parts { text, schema: OnceLock::new(), is_sound: OnceLock::new() }))
    }

    /// Compiles the schema now unless it surely compiles later.
    ///
    /// # Errors
    /// Those of [`Schema::compile`].
    pub(crate) fn verify(&self) -> Result<(), BadSchema> {
        let Parts { text, schema, is_sound } = &*self.0;
        if schema.get().is_none() && is_sound.get().is_none() {
            match compile_unless_sound(text)? {
                Some(compiled) => _ = schema.get_or_init(|| compiled),
                None => _ = is_sound.get_or_init(|| ()),
            }
        }
        Ok(())
    }

    /// Whether somebody else has it too.
    pub(crate) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Whether the text has been looked at.
    pub(crate) fn is_verified(&self) -> bool {
        self.0.schema.get().is_some() || self.0.is_sound.get().is_some()
    }

    /// The schema as JSON text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The schema, compiled now if it was not before.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        let compile = || Schema::compile(&self.0.text).unwrap_or_else(Schema::that_refuses);
        self.0.schema.get_or_init(compile)
    }
}

/// What is compiled is not shown.
impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Prepared").field(&self.text()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_compile_fits_nothing_and_says_why() {
        let schema = Prepared::deferred(r#"{"type":"text"}"#);
        let violations = schema.schema().check("{}").expect_err("it is no schema");
        let said = violations[0].to_string();
        assert!(said.starts_with("cannot be compared with its schema: "), "{said}");
        assert_eq!(schema.schema().repair(r#""1""#), None);
        assert!(Prepared::compile(r#"{"type":"text"}"#).is_err());
    }

    #[test]
    fn what_surely_compiles_waits_and_the_rest_does_not() {
        let schema = Prepared::compile(r#"{"type":"object"}"#).expect("it is one");
        assert!(schema.0.schema.get().is_none());
        let schema = Prepared::compile(r#"{"pattern":"a"}"#).expect("it is one");
        assert!(schema.0.schema.get().is_some());
    }

    #[test]
    fn it_is_compiled_once_for_all_clones() {
        let schema = Prepared::deferred("{}");
        let clone = schema.clone();
        assert!(schema.0.schema.get().is_none());
        assert!(std::ptr::eq(schema.schema(), clone.schema()));
    }
}
