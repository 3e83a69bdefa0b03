//! A body of JSON: a value of the file whose texts are templates, written for each call without a
//! value in between. Made by `check`, or by code from a description of an API.

use crate::fault::Wrong;
use crate::http::others::Others;
use crate::http::slot::Filling;
use crate::place::Placed;
use crate::template::{Compiler, Known, Template};
use crate::written::shape::Shape;
use serde_json::Value;

/// A JSON value with places for arguments.
#[derive(Clone, Debug)]
pub(crate) enum Json {
    /// An argument as it is; absent, it leaves nothing behind.
    Argument(String),
    /// JSON text.
    Fixed(String),
    List(Vec<Self>),
    /// Keys as JSON texts, and values.
    Map(Vec<(String, Self)>),
    /// The same, and members that it does not name.
    Open(Vec<(String, Self)>, Others),
    /// A template that makes a text.
    Template(Template),
}

impl Json {
    /// Checks a value of the file.
    pub(crate) fn check(
        shape: &Placed<Shape>,
        known: Known<'_>,
        compiler: &mut Compiler<'_>,
    ) -> Result<Self, Wrong> {
        Ok(match &shape.value {
            Shape::Bool(value) => Self::Fixed(value.to_string()),
            Shape::List(items) => {
                let items = items.iter().map(|item| Self::check(item, known, compiler));
                Self::List(items.collect::<Result<_, _>>()?)
            }
            Shape::Map(entries) => {
                let entry = |(key, value): &(Placed<String>, Placed<Shape>)| {
                    Ok((Self::key(&key.value), Self::check(value, known, compiler)?))
                };
                Self::Map(entries.iter().map(entry).collect::<Result<_, Wrong>>()?)
            }
            Shape::Null => Self::Fixed("null".to_owned()),
            Shape::Number(number) => Self::Fixed(number.to_string()),
            Shape::Text(text) => {
                let template = compiler.compile(Placed::new(shape.place, text.clone()), known)?;
                match (template.variable(), template.fixed()) {
                    (Some(name), _) => Self::Argument(name.to_owned()),
                    // What looks like a shell's variable is kept to be warned of.
                    (None, Some(text)) if !text.contains("${") => {
                        Self::Fixed(Value::from(text).to_string())
                    }
                    _ => Self::Template(template),
                }
            }
        })
    }

    /// A key of a [`Json::Map`].
    pub(crate) fn key(name: &str) -> String {
        Value::from(name).to_string()
    }

    /// Writes the value; `false` if there is nothing to write.
    pub(crate) fn write(&self, filling: Filling<'_>, out: &mut Vec<u8>) -> Result<bool, String> {
        match self {
            Self::Argument(name) => {
                let Some(value) = filling.arguments.values.get(name) else { return Ok(false) };
                serde_json::to_writer(&mut *out, value).map_err(|error| error.to_string())?;
            }
            Self::Fixed(json) => out.extend_from_slice(json.as_bytes()),
            Self::List(items) => {
                out.push(b'[');
                let start = out.len();
                for item in items {
                    let before = out.len();
                    if before > start {
                        out.push(b',');
                    }
                    if !item.write(filling, out)? {
                        out.truncate(before);
                    }
                }
                out.push(b']');
            }
            Self::Map(entries) => {
                out.push(b'{');
                members(entries, filling, out)?;
                out.push(b'}');
            }
            Self::Open(entries, others) => {
                out.push(b'{');
                let start = out.len();
                members(entries, filling, out)?;
                for (name, value) in others.of(filling) {
                    if out.len() > start {
                        out.push(b',');
                    }
                    let written = serde_json::to_writer(&mut *out, name).and_then(|()| {
                        out.push(b':');
                        serde_json::to_writer(&mut *out, value)
                    });
                    written.map_err(|error| error.to_string())?;
                }
                out.push(b'}');
            }
            Self::Template(template) => {
                let Some(text) = filling.render(template)? else { return Ok(false) };
                serde_json::to_writer(&mut *out, &text).map_err(|error| error.to_string())?;
            }
        }
        Ok(true)
    }

    /// Calls back with every template in it.
    pub(crate) fn each_template<'j>(&'j self, found: &mut impl FnMut(&'j Template)) {
        match self {
            Self::Argument(_) | Self::Fixed(_) => {}
            Self::List(items) => items.iter().for_each(|item| item.each_template(found)),
            Self::Map(entries) | Self::Open(entries, _) => {
                entries.iter().for_each(|(_, value)| value.each_template(found));
            }
            Self::Template(template) => found(template),
        }
    }

    pub(crate) fn reads(&self, argument: &str) -> bool {
        match self {
            Self::Argument(name) => name == argument,
            Self::Fixed(_) => false,
            Self::List(items) => items.iter().any(|item| item.reads(argument)),
            Self::Map(entries) | Self::Open(entries, _) => {
                entries.iter().any(|(_, value)| value.reads(argument))
            }
            Self::Template(template) => template.variables.iter().any(|name| name == argument),
        }
    }
}

/// The members of an object that are there, with commas between them.
fn members(
    entries: &[(String, Json)],
    filling: Filling<'_>,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let start = out.len();
    for (key, value) in entries {
        let before = out.len();
        if before > start {
            out.push(b',');
        }
        out.extend_from_slice(key.as_bytes());
        out.push(b':');
        if !value.write(filling, out)? {
            out.truncate(before);
        }
    }
    Ok(())
}
