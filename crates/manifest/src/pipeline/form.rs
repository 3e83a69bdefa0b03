//! A value of the file with templates in any depth, and what it becomes in a call. Compiled when
//! the file is read; knows neither tools nor steps.

use crate::fault::Wrong;
use crate::place::{Place, Placed};
use crate::template::value::Expression;
use crate::template::{Compiler, Known, RenderError};
use crate::tree::{Node, Tree};
use minijinja::value::Serde;
use minijinja::{Environment, Value};
use serde_json::Value as Json;

/// A value with templates in it.
#[derive(Clone, Debug)]
pub(crate) enum Form {
    /// It is always the same.
    Fixed(Placed<Json>, Value),
    List(Place, Vec<Self>),
    Map(Place, Vec<(String, Self)>),
    /// A text, or what an expression is.
    Template(Box<Expression>),
}

impl Form {
    pub(crate) fn new(
        tree: &Tree,
        known: Known<'_>,
        compiler: &mut Compiler<'_>,
    ) -> Result<Self, Wrong> {
        let form = match &tree.node {
            Node::Text(text) => {
                let typed = Placed::new(tree.place, text.clone());
                let expression = compiler.compile_expression(typed, known)?;
                match expression.template.fixed() {
                    // What was filled in is not compared, for it would be shown.
                    Some(fixed) if fixed == text => {
                        Self::fixed(tree.place, Json::from(text.as_str()))
                    }
                    _ => Self::Template(Box::new(expression)),
                }
            }
            Node::List(items) => {
                let form = |item| Self::new(item, known, compiler);
                Self::List(tree.place, items.iter().map(form).collect::<Result<_, _>>()?)
            }
            Node::Map(entries) => {
                let mut members = Vec::new();
                for entry in entries {
                    let form = Self::new(&entry.value, known, compiler)?;
                    members.push((entry.key.clone(), form));
                }
                Self::Map(tree.place, members)
            }
            Node::Bool(..) | Node::Null | Node::Number(..) => {
                Self::fixed(tree.place, tree.to_json())
            }
        };
        Ok(form.folded())
    }

    fn fixed(place: Place, json: Json) -> Self {
        let value = Value::from(Serde(&json));
        Self::Fixed(Placed::new(place, json), value)
    }

    /// What has no template in it is made once.
    fn folded(self) -> Self {
        match &self {
            Self::List(place, items) => {
                let all: Option<Vec<Json>> =
                    items.iter().map(|item| item.json().cloned()).collect();
                all.map_or_else(|| self.clone(), |all| Self::fixed(*place, Json::Array(all)))
            }
            Self::Map(place, members) => {
                let member =
                    |(key, form): &(String, Self)| Some((key.clone(), form.json()?.clone()));
                let all: Option<_> = members.iter().map(member).collect();
                all.map_or_else(|| self.clone(), |all| Self::fixed(*place, Json::Object(all)))
            }
            Self::Fixed(..) | Self::Template(_) => self,
        }
    }

    /// The value, if it is always the same.
    pub(crate) fn json(&self) -> Option<&Json> {
        match self {
            Self::Fixed(json, _) => Some(&json.value),
            _ => None,
        }
    }

    pub(crate) fn place(&self) -> Place {
        match self {
            Self::Fixed(json, _) => json.place,
            Self::List(place, _) | Self::Map(place, _) => *place,
            Self::Template(expression) => expression.template.typed.place,
        }
    }

    /// Each expression or text in it.
    pub(crate) fn expressions<'f>(&'f self, each: &mut dyn FnMut(&'f Expression)) {
        match self {
            Self::Fixed(..) => {}
            Self::List(_, items) => items.iter().for_each(|item| item.expressions(each)),
            Self::Map(_, members) => members.iter().for_each(|(_, form)| form.expressions(each)),
            Self::Template(expression) => each(expression),
        }
    }

    /// The value for what the context holds. A member of a mapping that is absent is left out.
    pub(crate) fn value(
        &self,
        environment: &Environment<'_>,
        context: &Value,
    ) -> Result<Value, RenderError> {
        Ok(match self {
            Self::Fixed(_, value) => value.clone(),
            Self::List(_, items) => {
                let value = |item: &Self| item.value(environment, context);
                items.iter().map(value).collect::<Result<Vec<_>, _>>()?.into()
            }
            Self::Map(_, members) => {
                let mut values = Vec::with_capacity(members.len());
                for (key, form) in members {
                    let value = form.value(environment, context)?;
                    if !value.is_undefined() {
                        values.push((key.clone(), value));
                    }
                }
                Value::from_pairs(values)
            }
            Self::Template(expression) => expression.value(environment, context)?,
        })
    }
}
