//! Templates that are values and not only texts: one that is just `{{ expression }}` gives whatever
//! the expression is, with its type. Compiled by `pipeline`; a text gets no different by it.

use super::{Body, Compiler, FILLED, Known, RenderError, Template, describe};
use crate::arguments::Arguments;
use crate::fault::Wrong;
use crate::place::{Place, Placed};
use crate::problem::Problem;
use crate::tags;
use minijinja::{Environment, Value};
use std::io;

/// A template that may keep a type.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    pub(crate) template: Template,
    /// What it reads, with the parts that it names: `weather.days`.
    pub(crate) paths: Vec<String>,
    /// The expression, and the name of the template that gives its value.
    pub(crate) only: Option<(String, String)>,
}

/// The variable that takes the value.
const VALUE: &str = "__value";

impl Compiler<'_> {
    /// Compiles a template that may be just an expression.
    pub(crate) fn compile_expression(
        &mut self,
        typed: Placed<String>,
        known: Known<'_>,
    ) -> Result<Expression, Wrong> {
        let place = typed.place;
        let template = self.compile(typed, known)?;
        let compiled = match &template.body {
            Body::Compiled(name, _) => name,
            Body::Fixed(_) => return Ok(Expression { template, paths: Vec::new(), only: None }),
            Body::Variable(name) => {
                let (paths, expression) = (vec![name.clone()], name.clone());
                let only = Some(self.value_of(place, expression)?);
                return Ok(Expression { template, paths, only });
            }
        };
        let bad = |error: minijinja::Error| {
            Wrong::new(place, Problem::BadTemplate { reason: describe(&error) })
        };
        let compiled = self.environment.get_template(compiled).map_err(bad)?;
        let is_typed = |path: &String| !path.starts_with(FILLED);
        let mut paths: Vec<_> =
            compiled.undeclared_variables(true).into_iter().filter(is_typed).collect();
        paths.sort_unstable();
        let source = compiled.source().to_owned();
        let Some(expression) = tags::only_expression(&source).map(str::to_owned) else {
            return Ok(Expression { template, paths, only: None });
        };
        let only = Some(self.value_of(place, expression)?);
        Ok(Expression { template, paths, only })
    }

    /// An expression, and the name of a template that gives its value.
    fn value_of(&mut self, place: Place, expression: String) -> Result<(String, String), Wrong> {
        let name = self.compiled.to_string();
        self.compiled += 1;
        let source = format!("{{% set {VALUE} = ({expression}) %}}");
        self.environment.add_template_owned(name.clone(), source).map_err(|error| {
            Wrong::new(place, Problem::BadTemplate { reason: describe(&error) })
        })?;
        Ok((expression, name))
    }
}

impl Expression {
    /// The value, or the text.
    pub(crate) fn value(
        &self,
        environment: &Environment<'_>,
        context: &Value,
    ) -> Result<Value, RenderError> {
        let Some((_, name)) = &self.only else {
            let arguments = Arguments::of_context(context.clone());
            return self.template.render(environment, &arguments).map(Value::from);
        };
        let captured = environment
            .get_template(name)
            .and_then(|template| template.render_captured_to(context.clone(), io::sink()))
            .map_err(|error| RenderError::new(&error))?;
        Ok(captured.state().lookup(VALUE).unwrap_or(Value::UNDEFINED))
    }
}
