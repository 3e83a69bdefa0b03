//! Whether what a step passes on fits the tool that it calls. Called by `link`; what is not known
//! before the call is checked in the call.

use crate::fault::Wrong;
use crate::pipeline::around::Around;
use crate::pipeline::form::Form;
use crate::pipeline::mistake::Mistake;
use crate::pipeline::shape::{Kinds, Part, Shape};
use crate::place::{Place, Placed};
use crate::problem::Problem;
use haft_server::nearest;
use haft_server::schema::Schema;
use serde_json::{Map, Value};

/// Checks the arguments of a call against the input schema of the tool.
pub(crate) fn check(
    tool: &Placed<String>,
    with: &[(Placed<String>, Form)],
    schema: &Value,
    around: &Around<'_>,
) -> Result<(), Wrong> {
    let takes = Shape::of_schema(schema.clone());
    for (name, form) in with {
        let expected = match takes.part(&name.value) {
            Part::Known(expected) => expected,
            Part::Missing(known) => {
                let near = nearest(&name.value, known.iter().map(String::as_str));
                let mistake = Mistake::UnknownArgument {
                    tool: tool.value.clone(),
                    argument: name.value.clone(),
                    nearest: near.map(str::to_owned),
                    known,
                };
                return Err(wrong(name.place, mistake));
            }
        };
        let whole = (tool.value.as_str(), name.value.clone());
        check_form(&whole, form, &expected, around)?;
    }
    check_required(tool, with, schema, around)?;
    check_fixed(tool, with, schema)
}

/// What is the same for all calls is checked as in a call.
fn check_fixed(
    tool: &Placed<String>,
    with: &[(Placed<String>, Form)],
    schema: &Value,
) -> Result<(), Wrong> {
    let mut schema = schema.clone();
    if let Some(members) = schema.as_object_mut() {
        // What is not fixed is not there.
        const OF_ALL: [&str; 5] =
            ["required", "minProperties", "dependentRequired", "dependentSchemas", "if"];
        members.retain(|key, _| !OF_ALL.contains(&key.as_str()));
    }
    let Ok(schema) = Schema::compile(&schema.to_string()) else { return Ok(()) };
    for (name, form) in with {
        let Some(value) = form.json().filter(|value| !value.is_null()) else { continue };
        let alone = Value::Object(Map::from_iter([(name.value.clone(), value.clone())]));
        if let Err(violations) = schema.check(&alone.to_string()) {
            let reason = violations.first().map(ToString::to_string).unwrap_or_default();
            let mistake = Mistake::BadArgument { tool: tool.value.clone(), reason };
            return Err(wrong(form.place(), mistake));
        }
    }
    Ok(())
}

fn check_required(
    tool: &Placed<String>,
    with: &[(Placed<String>, Form)],
    schema: &Value,
    around: &Around<'_>,
) -> Result<(), Wrong> {
    let required = schema.get("required").and_then(Value::as_array);
    for argument in required.into_iter().flatten().filter_map(Value::as_str) {
        let given = with.iter().find(|(name, _)| name.value == argument);
        let tool_name = tool.value.clone();
        let (argument, is_null) =
            (argument.to_owned(), |form: &Form| form.json().is_some_and(Value::is_null));
        match given.filter(|(_, form)| !is_null(form)) {
            None => {
                let known = schema.get("properties").and_then(Value::as_object);
                let known = known.into_iter().flatten().map(|(name, _)| name.clone()).collect();
                let mistake = Mistake::MissingArgument { tool: tool_name, argument, known };
                return Err(wrong(tool.place, mistake));
            }
            Some((_, form)) => {
                if let Some((name, why)) = around.may_be_nothing(form) {
                    let name = name.to_owned();
                    let mistake = Mistake::MayBeNothing { name, why, tool: tool_name, argument };
                    return Err(wrong(form.place(), mistake));
                }
            }
        }
    }
    Ok(())
}

/// Whether a value can be what is expected, and each part of it that the file writes.
fn check_form(
    whole: &(&str, String),
    form: &Form,
    expected: &Shape,
    around: &Around<'_>,
) -> Result<(), Wrong> {
    let (tool, argument) = whole;
    let (wanted, found) = (expected.kinds(), around.shape(form).kinds().without_nothing());
    if !found.is_empty() && !found.has_any(wanted) && form.json().is_none() {
        let mistake = Mistake::Mismatch {
            tool: (*tool).to_owned(),
            argument: argument.clone(),
            wanted: wanted.describe(),
            found: found.describe(),
            help: conversion(found, wanted),
        };
        return Err(wrong(form.place(), mistake));
    }
    match form {
        Form::List(_, items) => {
            let expected = expected.item();
            let whole = (*tool, format!("{argument}[]"));
            items.iter().try_for_each(|item| check_form(&whole, item, &expected, around))
        }
        Form::Map(_, members) => members.iter().try_for_each(|(key, form)| {
            let whole = (*tool, format!("{argument}.{key}"));
            match expected.part(key) {
                Part::Known(expected) => check_form(&whole, form, &expected, around),
                Part::Missing(known) => {
                    let near = nearest(key, known.iter().map(String::as_str));
                    let nearest = near.map(|near| format!("{argument}.{near}"));
                    let (tool, argument) = ((*tool).to_owned(), whole.1);
                    let mistake = Mistake::UnknownArgument { tool, argument, nearest, known };
                    Err(wrong(form.place(), mistake))
                }
            }
        }),
        Form::Fixed(..) | Form::Template(_) => Ok(()),
    }
}

fn conversion(found: Kinds, wanted: Kinds) -> &'static str {
    if found == Kinds::TEXT && wanted.has_any(Kinds::INTEGER) {
        "if the text is a number, say so: {{ … | int }}"
    } else if found == Kinds::TEXT && wanted.has_any(Kinds::NUMBER) {
        "if the text is a number, say so: {{ … | float }}"
    } else if found == Kinds::LIST {
        "call it for `each` item, or pass on one of them: {{ …[0] }}"
    } else if wanted == Kinds::TEXT && found == Kinds::MAPPING {
        "name the part that is meant, or make a text of it: {{ … | tojson }}"
    } else if wanted == Kinds::TEXT {
        "make a text of it: {{ … | string }}"
    } else {
        ""
    }
}

fn wrong(place: Place, mistake: Mistake) -> Wrong {
    Wrong::new(place, Problem::Pipeline(mistake))
}
