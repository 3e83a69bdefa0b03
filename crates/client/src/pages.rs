//! Lists that come in pages: all of them, one after the other, until the server names no next one.
//! Used by `client`, `resources` and `prompts`, which read the entries.

use crate::error::{ClientError, excerpt};
use crate::limits::PAGES_MAX;
use crate::message::quoted;
use crate::wire::{Question, Wire, nobody};
use haft_proto::json::{JsonStr, member};
use haft_proto::method::Method;
use haft_proto::version::Revision;
use serde_json::value::RawValue;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// All entries of a list, from all pages.
#[derive(Clone, Debug)]
pub struct Listing<T> {
    /// The entries, in the server's order.
    pub entries: Vec<T>,
    /// Those that are left out, as they are not what MCP defines.
    pub dropped: Vec<Dropped>,
    /// How long it stays as it is, as the server says of the page that does so shortest; one of the
    /// legacy era says nothing.
    pub ttl: Option<Duration>,
    /// `_meta` of the first page that has it.
    pub meta: Option<Box<RawValue>>,
    /// On how many pages they came.
    pub pages: usize,
    /// How many bytes of JSON all results were.
    pub bytes: usize,
}

impl<T> Default for Listing<T> {
    fn default() -> Self {
        let (entries, dropped) = (Vec::new(), Vec::new());
        Self { entries, dropped, ttl: None, meta: None, pages: 0, bytes: 0 }
    }
}

/// An entry that is left out of a list; the others are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// Its address or name; if it has none, where it stands on its page, like `entry 3`.
    pub name: String,
    /// What is wrong with it.
    pub reason: String,
}

/// One page.
#[derive(Debug)]
pub(crate) struct Page<T> {
    pub(crate) entries: Vec<T>,
    pub(crate) dropped: Vec<Dropped>,
    pub(crate) ttl: Option<Duration>,
    pub(crate) meta: Option<Box<RawValue>>,
    pub(crate) next_cursor: Option<String>,
}

/// Asks for all pages; `read` reads one.
///
/// # Errors
/// [`ClientError::ListWithoutEnd`] if they do not end, [`ClientError::ListTooLong`], and what
/// asking and reading return.
pub(crate) async fn all<T>(
    (wire, list_bytes): (&Wire, usize),
    method: Method,
    revision: Revision,
    mut read: impl FnMut(&RawValue) -> Result<Page<T>, ClientError>,
) -> Result<Listing<T>, ClientError> {
    let mut list = Listing::default();
    let mut cursor: Option<String> = None;
    let (mut followed, mut before) = (HashSet::new(), None::<Box<RawValue>>);
    loop {
        let quoted = cursor.as_deref().map(quoted);
        let members: Vec<_> = quoted.iter().map(|cursor| ("cursor", &**cursor)).collect();
        let raw = wire.ask(Question::new(method, revision, &members), &mut nobody).await?;
        let page = read(&raw)?;
        list.pages += 1;
        list.bytes += raw.get().len();
        if list.bytes > list_bytes {
            return Err(ClientError::ListTooLong { limit: list_bytes });
        }
        // Who does not heed cursors sends the same page again.
        let is_again = before.is_some_and(|before| before.get() == raw.get());
        before = Some(raw);
        if !is_again {
            list.entries.extend(page.entries);
            list.dropped.extend(page.dropped);
        }
        list.ttl = list.ttl.into_iter().chain(page.ttl).min();
        list.meta = list.meta.or(page.meta);
        let Some(next) = page.next_cursor else { return Ok(list) };
        if let Some(reason) = is_stuck(&next, &followed) {
            let name = format!("page {} and later", list.pages + 1);
            list.dropped.push(Dropped { name, reason });
            return Ok(list);
        }
        if list.pages == PAGES_MAX {
            return Err(ClientError::ListWithoutEnd { pages: list.pages });
        }
        followed.insert(next.clone());
        cursor = Some(next);
    }
}

/// Why a cursor leads nowhere, if it does; what came so far is all that there is.
fn is_stuck(next: &str, followed: &HashSet<String>) -> Option<String> {
    if next.is_empty() {
        return Some("the server's `nextCursor` is empty; it must leave it out".to_owned());
    }
    let is_known = followed.contains(next);
    is_known.then(|| "the server's `nextCursor` leads back to a page that was read".to_owned())
}

/// Reads a page whose entries are `member`, each by `entry`, which says what is wrong with one that
/// has to be left out.
pub(crate) fn read_page<T>(
    raw: &RawValue,
    method: Method,
    member: &str,
    mut entry: impl FnMut(Box<RawValue>) -> Result<T, String>,
) -> Result<Page<T>, ClientError> {
    let malformed = |error: serde_json::Error| malformed(method, &error.to_string());
    let mut members: HashMap<String, Box<RawValue>> =
        serde_json::from_str(raw.get()).map_err(malformed)?;
    let meta = members.remove("_meta").filter(|meta| meta.get() != "null");
    let Some(written) = members.get(member) else {
        return Err(self::malformed(method, &format!("`{member}` is missing")));
    };
    let written: Vec<&RawValue> = serde_json::from_str(written.get()).map_err(malformed)?;
    let next_cursor = members.get("nextCursor").map(|cursor| serde_json::from_str(cursor.get()));
    let next_cursor = next_cursor.transpose().map_err(malformed)?.flatten();
    let (mut entries, mut dropped) = (Vec::with_capacity(written.len()), Vec::new());
    for (place, raw) in written.into_iter().enumerate() {
        match entry(raw.to_owned()) {
            Ok(entry) => entries.push(entry),
            Err(reason) => {
                let reason = excerpt(reason.as_bytes());
                dropped.push(Dropped { name: name_of(raw, place + 1), reason });
            }
        }
    }
    // What is no number of milliseconds is a hint that nobody can take.
    let ttl = members.get("ttlMs").and_then(|ttl| serde_json::from_str(ttl.get()).ok());
    let ttl = ttl.map(Duration::from_millis);
    Ok(Page { entries, dropped, ttl, meta, next_cursor })
}

/// What an entry is called that cannot be read as a whole.
fn name_of(raw: &RawValue, place: usize) -> String {
    let said = ["uri", "uriTemplate", "name"].into_iter();
    let said = said.filter_map(|key| JsonStr::from_raw(member(raw.get(), key)?));
    let mut said = said.map(|name| excerpt(name.decode().as_bytes()));
    said.find(|name| !name.is_empty()).unwrap_or_else(|| format!("entry {place}"))
}

pub(crate) fn malformed(method: Method, reason: &str) -> ClientError {
    ClientError::MalformedResult { method: method.name(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(usize, Option<String>), ClientError> {
        let raw = RawValue::from_string(text.to_owned()).expect("JSON");
        let page = read_page(&raw, Method::PromptsList, "prompts", Ok)?;
        Ok((page.entries.len(), page.next_cursor))
    }

    #[test]
    fn a_page_has_entries_and_maybe_a_cursor() {
        let cursor = |text: &str| read(text).expect("a page");
        assert_eq!(cursor(r#"{"prompts":[1,{}],"nextCursor":""}"#), (2, Some(String::new())));
        assert_eq!(cursor(r#"{"prompts":[],"nextCursor":null,"tools":7}"#), (0, None));
        for wrong in ["{}", r#"{"prompts":{}}"#, r#"{"prompts":[],"nextCursor":7}"#, "[]"] {
            assert!(matches!(read(wrong), Err(ClientError::MalformedResult { .. })), "{wrong}");
        }
    }

    #[test]
    fn how_long_a_page_stays_is_a_hint() {
        for (said, expected) in [("250", Some(250)), ("0", Some(0)), ("-1", None), ("\"x\"", None)]
        {
            let text = format!(r#"{{"prompts":[],"ttlMs":{said}}}"#);
            let raw = RawValue::from_string(text).expect("JSON");
            let page = read_page(&raw, Method::PromptsList, "prompts", Ok).expect("a page");
            assert_eq!(page.ttl, expected.map(Duration::from_millis), "{said}");
        }
    }

    #[test]
    fn an_entry_that_is_none_is_left_out_by_its_name() {
        let text = r#"{"prompts":[{"name":"a"},{"name":"b","bad":1},{"name":7},
            {"uri":"x:\u0031","name":"c"},7,[]]}"#;
        let raw = RawValue::from_string(text.to_owned()).expect("JSON");
        let is_a = |raw: Box<RawValue>| match raw.get() == r#"{"name":"a"}"# {
            true => Ok(()),
            false => Err("it is wrong".to_owned()),
        };
        let page = read_page(&raw, Method::PromptsList, "prompts", is_a).expect("a page");
        assert_eq!(page.entries.len(), 1);
        let names: Vec<&str> = page.dropped.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["b", "entry 3", "x:1", "entry 5", "entry 6"]);
        assert!(page.dropped.iter().all(|one| one.reason == "it is wrong"));
    }
}
