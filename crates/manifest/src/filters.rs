//! Filters of templates whose results a caller could make as large as it likes, with a bound. The
//! engine's own build them whole before anybody can count. Installed by `template`.

use crate::limits::RENDERED_BYTES_MAX;
use minijinja::value::{Kwargs, Value};
use minijinja::{Environment, Error, ErrorKind};

/// Puts bounded filters in the place of unbounded ones, and takes away those that no tool needs.
pub(crate) fn bound(environment: &mut Environment<'_>) {
    for unbounded in ["batch", "format", "indent", "slice"] {
        environment.remove_filter(unbounded);
    }
    environment.add_filter("join", join);
    environment.add_filter("replace", replace);
    environment.add_filter("tojson", to_json);
}

fn replace(text: &str, from: &str, to: &str) -> Result<String, Error> {
    let count = text.matches(from).count();
    bounded(count.saturating_mul(to.len()).saturating_add(text.len()))?;
    Ok(text.replace(from, to))
}

fn join(items: &Value, between: Option<&str>) -> Result<String, Error> {
    let mut joined = String::new();
    for (index, item) in items.try_iter()?.enumerate() {
        if index > 0 {
            joined.push_str(between.unwrap_or_default());
        }
        joined.push_str(&item.to_string());
        bounded(joined.len())?;
    }
    Ok(joined)
}

fn to_json(value: &Value, options: Kwargs) -> Result<String, Error> {
    // An indentation multiplies.
    options.assert_all_used()?;
    serde_json::to_string(value)
        .map_err(|error| Error::new(ErrorKind::InvalidOperation, error.to_string()))
}

fn bounded(length: usize) -> Result<(), Error> {
    if length <= RENDERED_BYTES_MAX {
        return Ok(());
    }
    let reason = format!("it makes more than {RENDERED_BYTES_MAX} bytes; send less");
    Err(Error::new(ErrorKind::InvalidOperation, reason))
}
