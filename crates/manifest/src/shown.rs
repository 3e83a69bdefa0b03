//! What clients are shown beside a name, checked: pictures, `_meta`, kinds of data, how long to
//! keep an answer. Called by `meant`, `tool`, `resource` and `prompt`.

use crate::amount;
use crate::fault::Wrong;
use crate::fill::Surroundings;
use crate::limits::TTL_MAX;
use crate::media_type;
use crate::place::Placed;
use crate::problem::Problem;
use crate::tool::{out_of_range, typed};
use crate::tree::{Node, Tree};
use crate::written::resource::{Annotations, Role};
use crate::written::shown::{self as written, Scope, Theme};
use haft_proto::encode::fields::Caching;
use haft_proto::spec;
use haft_proto::spec::Meta;
use haft_proto::spec::icon::Icon;
use serde_json::Value;
use serde_json::value::RawValue;

/// A text with everything filled in.
pub(crate) fn text(
    text: Option<&Placed<String>>,
    surroundings: &Surroundings<'_>,
) -> Result<Option<Placed<String>>, Wrong> {
    let filled = |text: &Placed<String>| {
        surroundings.fill(text).map(|filled| Placed::new(text.place, filled.value))
    };
    text.map(filled).transpose()
}

/// A name, which must say something.
pub(crate) fn name(
    text: &Placed<String>,
    surroundings: &Surroundings<'_>,
) -> Result<Placed<String>, Wrong> {
    let filled = surroundings.fill(text)?.value;
    if filled.trim().is_empty() {
        return Err(Wrong::new(text.place, Problem::NoValue { key: "name".to_owned() }));
    }
    Ok(Placed::new(text.place, filled))
}

pub(crate) fn icons(
    written: &[written::Icon],
    surroundings: &Surroundings<'_>,
) -> Result<Vec<Icon>, Wrong> {
    written.iter().map(|icon| self::icon(icon, surroundings)).collect()
}

fn icon(written: &written::Icon, surroundings: &Surroundings<'_>) -> Result<Icon, Wrong> {
    let src = surroundings.fill(&written.src)?;
    if !["https:", "http:", "data:"].iter().any(|scheme| src.value.starts_with(scheme)) {
        return Err(Wrong::new(written.src.place, Problem::BadIcon { shown: src.shown }));
    }
    let mut sizes = Vec::new();
    for size in &written.sizes {
        let filled = surroundings.fill(size)?;
        if !is_size(&filled.value) {
            return Err(Wrong::new(size.place, Problem::BadIconSize { shown: filled.shown }));
        }
        sizes.push(filled.value);
    }
    let theme = written.theme.map(|theme| match theme {
        Theme::Dark => spec::icon::Theme::Dark,
        Theme::Light => spec::icon::Theme::Light,
    });
    let mime_type = mime_type(written.mime_type.as_ref(), surroundings)?;
    Ok(Icon { src: src.value, mime_type, sizes, theme })
}

/// `any`, or a width and a height.
fn is_size(text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text == "any"
        || text.split_once('x').is_some_and(|(width, height)| is_number(width) && is_number(height))
}

pub(crate) fn mime_type(
    written: Option<&Placed<String>>,
    surroundings: &Surroundings<'_>,
) -> Result<Option<String>, Wrong> {
    let Some(written) = written else { return Ok(None) };
    let filled = surroundings.fill(written)?;
    if !media_type::is_one(&filled.value) {
        return Err(Wrong::new(written.place, Problem::BadMimeType { shown: filled.shown }));
    }
    Ok(Some(filled.value))
}

/// The `meta` of a mapping, with its texts filled in.
pub(crate) fn meta(owner: &Tree, surroundings: &Surroundings<'_>) -> Result<Option<Meta>, Wrong> {
    let Some(tree) = owner.get("meta") else { return Ok(None) };
    if !matches!(tree.node, Node::Map(_)) {
        return Err(tree.wrong_type("meta", "a mapping"));
    }
    let text = filled(tree, surroundings)?.to_string();
    Ok(Some(RawValue::from_string(text).expect("it was a JSON value")))
}

/// A value with its texts filled in.
pub(crate) fn filled(tree: &Tree, surroundings: &Surroundings<'_>) -> Result<Value, Wrong> {
    match &tree.node {
        Node::List(items) => items.iter().map(|item| filled(item, surroundings)).collect(),
        Node::Map(entries) => {
            let mut members = serde_json::Map::new();
            for entry in entries {
                members.insert(entry.key.clone(), filled(&entry.value, surroundings)?);
            }
            Ok(Value::Object(members))
        }
        Node::Text(text) => {
            let text = Placed::new(tree.place, text.clone());
            Ok(Value::String(surroundings.fill(&text)?.value))
        }
        _ => Ok(tree.to_json()),
    }
}

pub(crate) fn caching(
    written: Option<&written::Caching>,
    surroundings: &Surroundings<'_>,
) -> Result<Option<Caching>, Wrong> {
    let Some(written) = written else { return Ok(None) };
    let mut caching = Caching::default();
    if let Some(text) = &written.ttl {
        let filled = surroundings.fill(&typed(text))?;
        let Some(ttl) = amount::duration(&filled.value) else {
            let problem = Problem::BadDuration { key: "ttl", shown: filled.shown };
            return Err(Wrong::new(text.place, problem));
        };
        if ttl > TTL_MAX {
            return Err(out_of_range("ttl", "at most 365 days, which are 8760h", text.place));
        }
        caching.ttl_ms = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
    }
    if let Some(scope) = written.scope {
        caching.is_public = scope == Scope::Public;
    }
    Ok(Some(caching))
}

pub(crate) fn annotations(
    written: Option<&Annotations>,
    surroundings: &Surroundings<'_>,
) -> Result<spec::content::Annotations, Wrong> {
    let Some(written) = written else { return Ok(spec::content::Annotations::default()) };
    if let Some(priority) = &written.priority
        && !(0.0..=1.0).contains(&priority.value)
    {
        return Err(out_of_range("priority", "from 0 to 1", priority.place));
    }
    let mut last_modified = None;
    if let Some(text) = &written.last_modified {
        let filled = surroundings.fill(text)?;
        if !is_time(&filled.value) {
            let problem = Problem::BadTime { key: "last_modified", shown: filled.shown };
            return Err(Wrong::new(text.place, problem));
        }
        last_modified = Some(filled.value);
    }
    Ok(spec::content::Annotations {
        audience: written.audience.iter().copied().map(role).collect(),
        priority: written.priority.as_ref().map(|priority| priority.value),
        last_modified,
    })
}

pub(crate) fn role(written: Role) -> spec::content::Role {
    match written {
        Role::Assistant => spec::content::Role::Assistant,
        Role::User => spec::content::Role::User,
    }
}

/// A date, or a date and a time with its zone (ISO 8601, as RFC 3339 has it).
fn is_time(text: &str) -> bool {
    let fits = |text: &str, pattern: &str| {
        text.len() == pattern.len()
            && text.bytes().zip(pattern.bytes()).all(|(byte, wanted)| match wanted {
                b'0' => byte.is_ascii_digit(),
                mark => byte == mark,
            })
    };
    let Some((date, rest)) = text.split_once('T') else { return fits(text, "0000-00-00") };
    let zone_at = rest.find(['Z', '+', '-']).unwrap_or(rest.len());
    let (time, zone) = rest.split_at(zone_at);
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let is_fraction = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let is_zone = zone == "Z" || fits(zone, "+00:00") || fits(zone, "-00:00");
    fits(date, "0000-00-00") && fits(time, "00:00:00") && is_fraction && is_zone
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_as_rfc_3339_has_it() {
        for text in ["2026-07-28", "2026-07-28T12:00:00Z", "2026-07-28T12:00:00.123+02:00"] {
            assert!(is_time(text), "{text}");
        }
        for text in
            ["", "yesterday", "2026-7-28", "2026-07-28T12:00:00", "2026-07-28T12:00Z", "T", "Z"]
        {
            assert!(!is_time(text), "{text}");
        }
    }

    #[test]
    fn a_size_is_a_width_and_a_height() {
        assert!(["any", "48x48", "1024x768"].into_iter().all(is_size));
        assert!(!["", "48", "48x", "x48", "48X48", "48x48x48", "4-8x4"].into_iter().any(is_size));
    }
}
