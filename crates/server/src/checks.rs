//! What the arguments and results of a tool are checked by. Made when a tool is registered, of
//! schemas that are known then to be some; compiled when a call first needs them.

use crate::builder::BuildError;
use crate::param_headers::ParamHeaders;
use crate::schema::{BadSchema, Prepared, Schema, compile_unless_sound};
use crate::text::Text;
use crate::tool::Source;
use haft_proto::json::{Cursor, DEPTH_MAX, JsonStr, member};
use std::sync::{Arc, OnceLock};

/// See above.
pub(crate) struct Checks {
    /// What clients of the latest revision are told of the tool: its schemas stand in it.
    pub(crate) told: Text,
    input: Check,
    output: Option<Box<Check>>,
    pub(crate) param_headers: ParamHeaders,
    /// What another server tells of the schemas, by which they are known again at a glance.
    far: Option<Box<Far>>,
}

/// The schemas of a tool of another server.
#[derive(Clone)]
struct Far {
    input: Arc<str>,
    output: Option<Arc<str>>,
}

impl Far {
    /// In a box, as most tools are of no other server.
    fn of(input: &Source, output: Option<&Source>) -> Option<Box<Self>> {
        let (input, output) = match (input, output) {
            (Source::Told(input), None) => (input, None),
            (Source::Told(input), Some(Source::Told(output))) => (input, Some(Arc::clone(output))),
            _ => return None,
        };
        Some(Box::new(Self { input: Arc::clone(input), output }))
    }

    fn is_same(&self, other: &Self) -> bool {
        let is_one = |one: &Option<Arc<str>>, other: &Option<Arc<str>>| match (one, other) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        };
        Arc::ptr_eq(&self.input, &other.input) && is_one(&self.output, &other.output)
    }
}

/// Where a compiled schema is.
#[derive(Clone)]
enum Check {
    /// With whoever gave it.
    Elsewhere(Prepared),
    Here(OnceLock<Arc<Schema>>),
}

const INPUT: &str = "inputSchema";
const OUTPUT: &str = "outputSchema";

impl Checks {
    /// # Errors
    /// [`BuildError::BadSchema`].
    pub(crate) fn new(
        name: &str,
        told: Text,
        input: Source,
        output: Option<Source>,
    ) -> Result<Self, BuildError> {
        let bad = |part: &'static str| {
            move |reason: String| BuildError::BadSchema { tool: name.to_owned(), part, reason }
        };
        let far = Far::of(&input, output.as_ref());
        let is_object = |kind: JsonStr<'_>| kind.decode() == "object";
        let kind = member(input.text(), "type").and_then(JsonStr::from_raw);
        let (is_of_objects, param_headers) =
            (kind.is_some_and(is_object), ParamHeaders::of_text(input.text()));
        let input = Check::new(input).map_err(|error| bad("input")(error.reason))?;
        if !is_of_objects {
            return Err(bad("input")("its `type` must be \"object\"".to_owned()));
        }
        let param_headers = param_headers.map_err(bad("input"))?;
        let output = output.map(Check::new).transpose();
        let output = output.map_err(|error| bad("output")(error.reason))?.map(Box::new);
        Ok(Self { told, input, output, param_headers, far })
    }

    /// The schema of arguments, as clients are told it.
    pub(crate) fn input_text(&self) -> &str {
        member(self.told.get(), INPUT).unwrap_or("{}")
    }

    /// The same for a tool of which this is told, if its schemas are the same: compiling is most of
    /// the work, and most tools of a file that changes stay as they are.
    pub(crate) fn again(
        &self,
        told: &Text,
        input: &Source,
        output: Option<&Source>,
    ) -> Option<Self> {
        if let Some(known) = self.again_at_a_glance(told, input, output) {
            return Some(known);
        }
        // Else what is told has something else in it than these, or is no JSON at all.
        let is_json = |source: &Source| well_formed(source.text()).is_ok();
        let are_json = is_json(input) && output.is_none_or(is_json);
        let is_same = |key| member(self.told.get(), key) == member(told.get(), key);
        let far = Far::of(input, output);
        (are_json && is_same(INPUT) && is_same(OUTPUT)).then(|| self.telling(told, far))
    }

    /// The same if the schemas are those of another server that these were made of.
    pub(crate) fn again_at_a_glance(
        &self,
        told: &Text,
        input: &Source,
        output: Option<&Source>,
    ) -> Option<Self> {
        let (known, far) = (self.far.as_ref()?, Far::of(input, output)?);
        known.is_same(&far).then(|| self.telling(told, Some(far)))
    }

    fn telling(&self, told: &Text, far: Option<Box<Far>>) -> Self {
        Self {
            told: told.clone(),
            input: self.input.clone(),
            output: self.output.clone(),
            param_headers: self.param_headers.clone(),
            far,
        }
    }

    /// These without what is told, for who tells it anew.
    pub(crate) fn untold(self) -> Self {
        Self { told: Text::new(b""), ..self }
    }

    /// What arguments are checked by.
    pub(crate) fn input(&self) -> &Schema {
        self.input.schema(&self.told, INPUT)
    }

    /// What results are checked by.
    pub(crate) fn output(&self) -> Option<&Schema> {
        self.output.as_ref().map(|output| output.schema(&self.told, OUTPUT))
    }
}

impl Check {
    fn new(source: Source) -> Result<Self, BadSchema> {
        let here = |text: &str| {
            let compiled = compile_unless_sound(text)?.map(Arc::new);
            Ok(Self::Here(compiled.map_or_else(OnceLock::new, OnceLock::from)))
        };
        match source {
            Source::Text(text) => here(&text),
            Source::Told(text) => here(&text),
            Source::Derived(schema) if !schema.is_shared() => here(schema.text()),
            Source::Derived(schema) => schema.verify().map(|()| Self::Elsewhere(schema)),
            Source::Known(schema) => {
                if !schema.is_verified() {
                    well_formed(schema.text())?;
                }
                Ok(Self::Elsewhere(schema))
            }
        }
    }

    fn schema(&self, told: &Text, key: &str) -> &Schema {
        match self {
            Self::Elsewhere(schema) => schema.schema(),
            Self::Here(compiled) => compiled.get_or_init(|| {
                let text = member(told.get(), key).unwrap_or("null");
                Arc::new(Schema::compile(text).unwrap_or_else(Schema::that_refuses))
            }),
        }
    }
}

/// A list with something else in it would be no JSON, and one that nests deeper could not be read.
fn well_formed(text: &str) -> Result<(), BadSchema> {
    let mut cursor = Cursor::new(text, DEPTH_MAX - 1);
    let read = cursor.value().map(|_| ()).and_then(|()| cursor.end());
    read.map_err(|error| BadSchema { reason: format!("the schema is not JSON: {error}") })
}
