//! TOML: read, and edited by whole lines at places that its parser gives. A server is a table of
//! its own at the end of the file. Called by `format`, which proves each edit.

use super::splice::Splice;
use super::{Slot, line_end};
use crate::mistake::Mistake;
use serde_json::{Map, Number, Value};
use std::ops::Range;
use toml_edit::{Document, Item, Key, Table, TableLike, Value as Toml};

/// What a text says; dates become text.
pub(super) fn read(text: &str) -> Result<Value, Mistake> {
    Ok(table(parse(text)?.as_table()))
}

/// The changes that put a server in.
pub(super) fn with(text: &str, slot: Slot<'_>, server: &Value) -> Result<Vec<Splice>, Mistake> {
    let document = parse(text)?;
    let newline = line_end(text);
    let rendered = render(slot, server)?.replace('\n', newline);
    if let Some(item) = find(&document, slot) {
        // In the place of the old table, if it is all in one piece.
        return match &*regions(text, item, slot)? {
            [region] => Ok(vec![Splice { range: region.clone(), with: rendered }]),
            _ => Err(slot.unsure()),
        };
    }
    let line = if text.is_empty() || text.ends_with('\n') { "" } else { newline };
    let gap = if text.is_empty() { "" } else { newline };
    Ok(vec![Splice::insert(text.len(), format!("{line}{gap}{rendered}"))])
}

/// The changes that take a server out, with an empty line before it.
pub(super) fn without(text: &str, slot: Slot<'_>) -> Result<Vec<Splice>, Mistake> {
    let document = parse(text)?;
    let item = find(&document, slot).ok_or_else(|| slot.unsure())?;
    let regions = regions(text, item, slot)?;
    let with_gap = |region: Range<usize>| {
        let before = &text[..region.start];
        let gap = ["\r\n", "\n"].into_iter().find(|end| {
            before.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('\n'))
        });
        Splice::delete(region.start - gap.map_or(0, str::len)..region.end)
    };
    Ok(regions.into_iter().map(with_gap).collect())
}

fn parse(text: &str) -> Result<Document<&str>, Mistake> {
    Document::parse(text).map_err(|error| Mistake::unreadable("TOML", error.message()))
}

fn find<'d>(document: &'d Document<&str>, slot: Slot<'_>) -> Option<&'d Item> {
    slot.keys.iter().try_fold(document.as_item(), |item, key| item.get(key))?.get(slot.name)
}

/// The lines that a server takes, in one or more pieces.
fn regions(text: &str, item: &Item, slot: Slot<'_>) -> Result<Vec<Range<usize>>, Mistake> {
    let mut regions = Vec::new();
    let Item::Table(found) = item else { return Err(slot.unsure()) };
    collect(text, found, &mut regions).ok_or_else(|| slot.unsure())?;
    if regions.is_empty() { Err(slot.unsure()) } else { Ok(regions) }
}

fn collect(text: &str, table: &Table, regions: &mut Vec<Range<usize>>) -> Option<()> {
    if table.is_dotted() {
        return None;
    }
    if !table.is_implicit() {
        let start = line_of(text, table.span()?.start).start;
        let header = line_of(text, table.span()?.start).end;
        regions.push(start..end_of_values(text, table, header)?);
    }
    for (_, item) in table.iter() {
        match item {
            Item::Table(inner) if !inner.is_dotted() => collect(text, inner, regions)?,
            Item::ArrayOfTables(_) => return None,
            _ => {}
        }
    }
    Some(())
}

/// Where the line of a table's last value ends, at least `end`.
fn end_of_values(text: &str, table: &Table, end: usize) -> Option<usize> {
    let mut end = end;
    for (_, item) in table.iter() {
        match item {
            Item::Value(value) => end = end.max(line_of(text, value.span()?.end).end),
            Item::Table(inner) if inner.is_dotted() => end = end_of_values(text, inner, end)?,
            _ => {}
        }
    }
    Some(end)
}

/// The whole line of a place, with its end.
fn line_of(text: &str, at: usize) -> Range<usize> {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end + 1);
    start..end
}

fn render(slot: Slot<'_>, server: &Value) -> Result<String, Mistake> {
    let key = |name: &str| Key::new(name).to_string();
    let path: Vec<String> = slot.keys.iter().copied().chain([slot.name]).map(key).collect();
    let mut text = format!("[{}]\n", path.join("."));
    for (name, value) in server.as_object().into_iter().flatten() {
        let value = inline(value).ok_or_else(|| slot.unsure())?;
        text.push_str(&format!("{} = {value}\n", key(name)));
    }
    Ok(text)
}

/// A value on one line; `None` if TOML has no such value.
fn inline(value: &Value) -> Option<Toml> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(value) => Toml::from(*value),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => Toml::from(whole),
            None => Toml::from(number.as_f64()?),
        },
        Value::String(text) => Toml::from(text.as_str()),
        Value::Array(items) => {
            let items: Option<toml_edit::Array> = items.iter().map(inline).collect();
            Toml::Array(items?)
        }
        Value::Object(fields) => {
            let mut table = toml_edit::InlineTable::new();
            for (name, value) in fields {
                table.insert(name.as_str(), inline(value)?);
            }
            Toml::InlineTable(table)
        }
    })
}

fn table(table: &dyn TableLike) -> Value {
    let fields: Map<String, Value> =
        table.iter().map(|(name, item)| (name.to_owned(), item_value(item))).collect();
    Value::Object(fields)
}

fn item_value(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(found) => value(found),
        Item::Table(found) => table(found),
        Item::ArrayOfTables(tables) => tables.iter().map(|found| table(found)).collect(),
    }
}

fn value(found: &Toml) -> Value {
    match found {
        Toml::String(text) => Value::String(text.value().clone()),
        Toml::Integer(number) => Value::from(*number.value()),
        Toml::Float(number) => Number::from_f64(*number.value()).map_or(Value::Null, Value::Number),
        Toml::Boolean(value) => Value::Bool(*value.value()),
        Toml::Datetime(date) => Value::String(date.value().to_string()),
        Toml::Array(items) => items.iter().map(value).collect(),
        Toml::InlineTable(found) => table(found),
    }
}
