//! Templates: compiled once when the manifest is read, rendered on every call. A template reads
//! arguments and nothing else; what it makes has a bound, and so has its work.

mod elsewhere;
mod origin;
mod straight;
pub(crate) mod value;
mod words;

use crate::align::narrow;
use crate::arguments::Arguments;
use crate::fault::Wrong;
use crate::fill::{Content, Piece, Surroundings};
use crate::filters;
use crate::limits::{RENDER_FUEL, RENDERED_BYTES_MAX};
use crate::place::Placed;
use crate::problem::Problem;
use crate::tags::{self, Tag};
use crate::template::origin::Origin;
use crate::template::straight::Straight;
use crate::template::words::{is_function, is_plain};
use haft_fetch::escape;
use haft_server::nearest;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::ValueKind;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior, Value};
use std::fmt;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;

/// The templates of a manifest while they are being compiled.
pub(crate) struct Compiler<'a> {
    surroundings: &'a Surroundings<'a>,
    environment: Environment<'static>,
    compiled: usize,
    filled: usize,
}

/// What a template's variables may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'a> {
    /// The names of the arguments.
    pub(crate) names: &'a [String],
    /// There may be others.
    pub(crate) is_open: bool,
    /// What to do about an unknown one where there are none at all.
    pub(crate) none: &'static str,
}

impl Known<'_> {
    fn has(self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }
}

/// A compiled template.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    /// As it was typed.
    pub(crate) typed: Placed<String>,
    /// The arguments that it reads.
    pub(crate) variables: Vec<String>,
    body: Body,
}

#[derive(Clone, Debug)]
enum Body {
    /// The name of a template of the environment, and what does the same for most arguments.
    Compiled(String, Option<Straight>),
    Fixed(String),
    /// Just `{{ name }}`, which needs no engine.
    Variable(String),
}

/// How values are written into a template's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Escape {
    /// As they are.
    None,
    /// As parts of the path of an address, which must not be empty; what was filled in, and what
    /// the filter `safe` lets pass, as it is.
    Path,
    /// As parts of its query.
    Query,
}

impl Escape {
    const ALL: [Self; 3] = [Self::None, Self::Path, Self::Query];

    /// How the names of such templates begin.
    const fn prefix(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Path => "path-",
            Self::Query => "query-",
        }
    }

    fn of_name(name: &str) -> AutoEscape {
        let is_of = |escape: &Self| *escape != Self::None && name.starts_with(escape.prefix());
        let found = Self::ALL.into_iter().find(is_of);
        found.map_or(AutoEscape::None, |escape| AutoEscape::Custom(escape.prefix().into()))
    }
}

/// How the variables begin that stand for what was filled in.
pub(crate) const FILLED: &str = "__filled_";

impl<'a> Compiler<'a> {
    pub(crate) fn new(surroundings: &'a Surroundings<'a>) -> Self {
        Self { surroundings, environment: engine(), compiled: 0, filled: 0 }
    }

    /// Compiles a template and checks that every name in it is known.
    pub(crate) fn compile(
        &mut self,
        typed: Placed<String>,
        known: Known<'_>,
    ) -> Result<Template, Wrong> {
        self.compile_for(Escape::None, typed, known)
    }

    /// The same for a text in which values are escaped.
    pub(crate) fn compile_for(
        &mut self,
        escape: Escape,
        typed: Placed<String>,
        known: Known<'_>,
    ) -> Result<Template, Wrong> {
        let (source, origin) = self.source(&typed)?;
        self.compile_source(escape, typed, (source, origin), known)
    }

    fn compile_source(
        &mut self,
        escape: Escape,
        typed: Placed<String>,
        (source, origin): (String, Origin),
        known: Known<'_>,
    ) -> Result<Template, Wrong> {
        if !tags::has_any(&source) {
            return Ok(Template { typed, variables: Vec::new(), body: Body::Fixed(source) });
        }
        let point = |part: Range<usize>| origin.place(self.surroundings.text, &typed, part);
        let variable = tags::only_variable(&source).filter(|name| is_plain(name));
        if let Some(name) = variable.filter(|_| escape != Escape::Path) {
            let (name, variables) = (name.to_owned(), vec![name.to_owned()]);
            self.check_names(&typed, &source, &origin, (&variables, known))?;
            return Ok(Template { typed, variables, body: Body::Variable(name) });
        }
        let name = format!("{}{}", escape.prefix(), self.compiled);
        self.compiled += 1;
        let bad = |reason: String, part: Range<usize>| {
            Wrong::new(point(part), Problem::BadTemplate { reason })
        };
        if let Err(error) = self.environment.add_template_owned(name.clone(), source.clone()) {
            let part = error.range().unwrap_or(0..source.len());
            return Err(bad(describe(&error), part));
        }
        for (kind, word, part) in tags::names(&source) {
            if !self.has(kind, word) {
                return Err(bad(format!("there is no {} `{word}`", kind.noun()), part));
            }
        }
        let names = self.names(&name);
        self.check_names(&typed, &source, &origin, (&names, known))?;
        let variables: Vec<_> = names.into_iter().filter(|name| !is_function(name)).collect();
        // What is escaped is the engine's business.
        let straight = Straight::new(&source).filter(|_| escape == Escape::None);
        Ok(Template { typed, variables, body: Body::Compiled(name, straight) })
    }

    /// Checks that every name is one of an argument.
    fn check_names(
        &self,
        typed: &Placed<String>,
        source: &str,
        origin: &Origin,
        (names, known): (&[String], Known<'_>),
    ) -> Result<(), Wrong> {
        let point = |name: &str| {
            let part = tags::find_variable(source, name).unwrap_or(0..source.len());
            origin.place(self.surroundings.text, typed, part)
        };
        if let Some(function) = names.iter().find(|name| is_function(name) && known.has(name)) {
            let reason = format!("`{function}` is a function here; give the argument another name");
            return Err(Wrong::new(point(function), Problem::BadTemplate { reason }));
        }
        let mut variables = names.iter().filter(|name| !is_function(name));
        let is_unknown = |name: &&String| !known.is_open && !known.has(name);
        let Some(unknown) = variables.find(is_unknown) else { return Ok(()) };
        let names = known.names;
        let problem = Problem::UnknownArgument {
            name: unknown.to_owned(),
            nearest: nearest(unknown, names.iter().map(String::as_str)).map(str::to_owned),
            known: names.to_vec(),
            none: known.none,
        };
        Err(Wrong::new(point(unknown), problem))
    }

    /// All templates, to be rendered from now on.
    pub(crate) fn finish(mut self) -> Arc<Environment<'static>> {
        self.environment.set_debug(false);
        Arc::new(self.environment)
    }

    /// What is compiled: the text, with a variable in place of each thing that was filled in, so
    /// that nothing in there is taken for a template.
    fn source(&mut self, typed: &Placed<String>) -> Result<(String, Origin), Wrong> {
        let pieces = self.surroundings.pieces(typed)?;
        let has_tags = pieces.iter().any(|piece| match &piece.content {
            Content::Text(text) => tags::has_any(text),
            Content::Filled(_) => false,
        });
        let mut source = String::new();
        let mut origin = Vec::new();
        for Piece { typed: range, content } in pieces {
            origin.push((source.len(), range.start));
            match content {
                Content::Text(text) => source.push_str(&text),
                Content::Filled(text) if !has_tags && !tags::has_any(&text) => {
                    source.push_str(&text);
                }
                Content::Filled(text) => {
                    if tags::is_inside(&source) {
                        let shown = typed.value[range.clone()].to_owned();
                        let place =
                            narrow(self.surroundings.text, typed.place, &typed.value, range);
                        return Err(Wrong::new(place, Problem::FilledInsideTag { source: shown }));
                    }
                    let name = format!("{FILLED}{}", self.filled);
                    self.filled += 1;
                    source.push_str(&format!("{{{{ {name} }}}}"));
                    self.environment.add_global(name, Value::from_safe_string(text));
                }
            }
        }
        Ok((source, Origin::Typed(origin)))
    }

    fn has(&self, kind: Tag, word: &str) -> bool {
        let question = match kind {
            Tag::Filter => "word is filter",
            Tag::Test => "word is test",
        };
        let answer = self.environment.compile_expression(question);
        answer
            .and_then(|question| question.eval(minijinja::context! { word }))
            .is_ok_and(|answer| answer.is_true())
    }

    /// The names that a template reads, in alphabetical order.
    fn names(&self, name: &str) -> Vec<String> {
        let Ok(template) = self.environment.get_template(name) else { return Vec::new() };
        let is_typed = |name: &String| !name.starts_with(FILLED);
        let mut names: Vec<_> =
            template.undeclared_variables(false).into_iter().filter(is_typed).collect();
        names.sort_unstable();
        names
    }
}

/// The engine, as all templates want it.
fn engine() -> Environment<'static> {
    let mut environment = Environment::new();
    // It would show everything that was filled in.
    environment.remove_global("debug");
    filters::bound(&mut environment);
    environment.set_auto_escape_callback(Escape::of_name);
    environment.set_undefined_behavior(UndefinedBehavior::Chainable);
    environment.set_formatter(write_value);
    environment.set_fuel(Some(RENDER_FUEL));
    let mut syntax = SyntaxConfig::builder();
    syntax.trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true);
    environment.set_syntax(syntax.build().expect("the delimiters are the usual ones"));
    // Only so do errors know their place.
    environment.set_debug(true);
    environment
}

/// Why a template could not be rendered.
#[derive(Debug)]
pub(crate) enum RenderError {
    /// It made more than it may.
    TooLong,
    /// It worked longer than it may.
    TooMuchWork,
    /// The engine's words.
    Other(String),
}

impl fmt::Display for RenderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "it makes more than {RENDERED_BYTES_MAX} bytes; send less"),
            Self::TooMuchWork => f.write_str("it takes too many steps; send less"),
            Self::Other(reason) => f.write_str(reason),
        }
    }
}

impl Template {
    /// The text for these arguments; absent ones are empty.
    pub(crate) fn render(
        &self,
        environment: &Environment<'_>,
        arguments: &Arguments,
    ) -> Result<String, RenderError> {
        let name = match &self.body {
            Body::Fixed(text) => return Ok(text.clone()),
            Body::Variable(name) => {
                let text = match arguments.values.get(name) {
                    Some(value) => plain(value),
                    // Within a pipeline, values stand in the context alone.
                    None => {
                        let mut text = String::new();
                        let value = arguments.context().get_attr(name);
                        let value = value.map_err(|error| RenderError::new(&error))?;
                        let written = write_plain(&mut text, &value);
                        written.map_err(|error| RenderError::new(&error))?;
                        text
                    }
                };
                let is_short = text.len() <= RENDERED_BYTES_MAX;
                return if is_short { Ok(text) } else { Err(RenderError::TooLong) };
            }
            Body::Compiled(name, straight) => {
                let filled = straight.as_ref().and_then(|parts| parts.fill(&arguments.values));
                match filled {
                    Some(text) => return Ok(text),
                    None => name,
                }
            }
        };
        let mut out = Bounded(Vec::new());
        environment
            .get_template(name)
            .and_then(|template| {
                template.render_captured_to(arguments.context().clone(), &mut out).map(|_| ())
            })
            .map_err(|error| RenderError::new(&error))?;
        String::from_utf8(out.0).map_err(|error| RenderError::Other(error.to_string()))
    }

    /// The text, or `None` if it is to be left out: a template that only names arguments, when all
    /// of them are absent; one that decides by itself (`{% if %}`, `default`), when it makes
    /// nothing.
    pub(crate) fn render_if_any(
        &self,
        environment: &Environment<'_>,
        arguments: &Arguments,
    ) -> Result<Option<String>, RenderError> {
        if self.variables.is_empty() {
            return self.render(environment, arguments).map(Some);
        }
        if tags::only_names(&self.typed.value) {
            let is_left_out = !self.variables.iter().any(|name| arguments.has(name));
            return if is_left_out {
                Ok(None)
            } else {
                self.render(environment, arguments).map(Some)
            };
        }
        let text = self.render(environment, arguments)?;
        Ok((!text.is_empty()).then_some(text))
    }

    /// What becomes of it in a list of arguments: nothing, one text, or one for each item.
    pub(crate) fn render_into(
        &self,
        environment: &Environment<'_>,
        arguments: &Arguments,
        list: &mut Vec<String>,
    ) -> Result<(), RenderError> {
        if let Body::Variable(variable) = &self.body
            && let Some(serde_json::Value::Array(items)) = arguments.values.get(variable)
        {
            list.extend(items.iter().map(plain));
            return Ok(());
        }
        list.extend(self.render_if_any(environment, arguments)?);
        Ok(())
    }

    /// The argument that its text begins with, if it begins with one.
    pub(crate) fn leading(&self) -> Option<&str> {
        let leading = tags::leading_variable(self.typed.value.trim_start())?;
        self.variables.iter().map(String::as_str).find(|name| *name == leading)
    }

    /// The argument, if it is just `{{ name }}`.
    pub(crate) fn variable(&self) -> Option<&str> {
        match &self.body {
            Body::Variable(name) => Some(name),
            _ => None,
        }
    }

    /// Its text, if that is always the same.
    pub(crate) fn fixed(&self) -> Option<&str> {
        match &self.body {
            Body::Fixed(text) => Some(text),
            _ => None,
        }
    }
}

/// An item of a list as a text: texts as they are, everything else as JSON.
pub(crate) fn plain(item: &serde_json::Value) -> String {
    match item {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Null => String::new(),
        other => other.to_string(),
    }
}

impl RenderError {
    fn new(error: &Error) -> Self {
        match error.kind() {
            ErrorKind::OutOfFuel => Self::TooMuchWork,
            ErrorKind::WriteFailure => Self::TooLong,
            _ => Self::Other(describe(error)),
        }
    }
}

fn describe(error: &Error) -> String {
    match error.detail() {
        Some(detail) => detail.to_owned(),
        None => error.kind().to_string(),
    }
}

/// Texts and numbers as they are, what is absent as nothing, lists and objects as JSON; escaped
/// where the template's text is a part of an address.
fn write_value(
    out: &mut minijinja::Output<'_>,
    state: &mut minijinja::State<'_, '_>,
    value: &Value,
) -> Result<(), Error> {
    let AutoEscape::Custom(prefix) = state.auto_escape() else { return write_plain(out, value) };
    let is_path = prefix == Escape::Path.prefix();
    if is_path && value.is_safe() {
        return write_plain(out, value);
    }
    let text = match value.as_str() {
        Some(text) => escape::text(text),
        None => {
            let mut text = String::new();
            write_plain(&mut text, value)?;
            escape::text(&text)
        }
    };
    if is_path && text.is_empty() {
        return Err(Error::new(ErrorKind::InvalidOperation, "a part of the path is empty"));
    }
    Ok(out.write_str(&text)?)
}

fn write_plain(out: &mut dyn fmt::Write, value: &Value) -> Result<(), Error> {
    match value.kind() {
        ValueKind::Undefined | ValueKind::None => Ok(()),
        // As JSON spells them, and not as Python does.
        ValueKind::Bool => Ok(out.write_str(if value.is_true() { "true" } else { "false" })?),
        ValueKind::Map | ValueKind::Seq | ValueKind::Iterable => {
            let json = serde_json::to_string(value)
                .map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))?;
            Ok(out.write_str(&json)?)
        }
        _ => Ok(write!(out, "{value}")?),
    }
}

/// A buffer that takes so much and no more.
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > RENDERED_BYTES_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
