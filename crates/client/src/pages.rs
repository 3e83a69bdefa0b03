//! Lists that come in pages: all of them, one after the other, until the server names no next one.
//! Used by `client`, `resources` and `prompts`, which read the entries.

use crate::error::ClientError;
use crate::limits::{LIST_BYTES_MAX, PAGES_MAX};
use crate::message::quoted;
use crate::wire::{Question, Wire, nobody};
use haft_proto::method::Method;
use haft_proto::version::Revision;
use serde_json::value::RawValue;
use std::collections::HashMap;

/// All entries of a list, from all pages.
#[derive(Clone, Debug)]
pub struct Listing<T> {
    /// The entries, in the server's order.
    pub entries: Vec<T>,
    /// On how many pages they came.
    pub pages: usize,
    /// How many bytes of JSON all results were.
    pub bytes: usize,
}

impl<T> Default for Listing<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), pages: 0, bytes: 0 }
    }
}

/// One page.
#[derive(Debug)]
pub(crate) struct Page<T> {
    pub(crate) entries: Vec<T>,
    pub(crate) next_cursor: Option<String>,
}

/// Asks for all pages; `read` reads one.
///
/// # Errors
/// [`ClientError::ListWithoutEnd`] if they do not end, and what asking and reading return.
pub(crate) async fn all<T>(
    wire: &Wire,
    method: Method,
    revision: Revision,
    mut read: impl FnMut(&RawValue) -> Result<Page<T>, ClientError>,
) -> Result<Listing<T>, ClientError> {
    let mut list = Listing::default();
    let mut cursor: Option<String> = None;
    loop {
        let quoted = cursor.as_deref().map(quoted);
        let members: Vec<_> = quoted.iter().map(|cursor| ("cursor", &**cursor)).collect();
        let raw = wire.ask(Question::new(method, revision, &members), &mut nobody).await?;
        let page = read(&raw)?;
        list.pages += 1;
        list.bytes += raw.get().len();
        list.entries.extend(page.entries);
        let is_stuck = page.next_cursor.is_some() && page.next_cursor == cursor;
        if is_stuck || list.pages == PAGES_MAX || list.bytes > LIST_BYTES_MAX {
            return Err(ClientError::ListWithoutEnd { pages: list.pages });
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(list);
        }
    }
}

/// Reads a page whose entries are `member`, each by `entry`.
pub(crate) fn read_page<T>(
    raw: &RawValue,
    method: Method,
    member: &str,
    mut entry: impl FnMut(Box<RawValue>) -> Result<T, serde_json::Error>,
) -> Result<Page<T>, ClientError> {
    let malformed = |error: serde_json::Error| malformed(method, &error.to_string());
    let members: HashMap<String, Box<RawValue>> =
        serde_json::from_str(raw.get()).map_err(malformed)?;
    let Some(entries) = members.get(member) else {
        return Err(self::malformed(method, &format!("`{member}` is missing")));
    };
    let entries: Vec<Box<RawValue>> = serde_json::from_str(entries.get()).map_err(malformed)?;
    let next_cursor = members.get("nextCursor").map(|cursor| serde_json::from_str(cursor.get()));
    Ok(Page {
        entries: entries
            .into_iter()
            .map(&mut entry)
            .collect::<Result<_, _>>()
            .map_err(malformed)?,
        next_cursor: next_cursor.transpose().map_err(malformed)?.flatten(),
    })
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
}
