//! Fields that results share: which kind of result it is, who answers, how long it may be kept.

use super::object::Object;
use super::{integer, string};
use crate::envelope::SERVER_INFO;
use crate::json::{Cursor, DEPTH_MAX, member};
use crate::spec::Meta;
use crate::spec::icon::Icon;
use crate::spec::implementation::Implementation;
use crate::version::Revision;
use std::borrow::Cow;

/// How long and by whom a modern list or resource may be kept (2026-07-28, "Caching").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caching {
    /// For how many milliseconds it is fresh.
    pub ttl_ms: u64,
    /// Whether one user's copy may serve another.
    pub is_public: bool,
}

impl Default for Caching {
    fn default() -> Self {
        Self { ttl_ms: 60_000, is_public: true }
    }
}

/// The members that every complete result of a revision ends with, to be kept and appended after
/// the others: `,"resultType":…,"_meta":{…}`, or nothing.
pub fn result_fields(out: &mut Vec<u8>, revision: Revision, server: &Implementation) {
    if !revision.has_result_type() {
        return;
    }
    out.extend_from_slice(br#","resultType":"complete","_meta":{"#);
    string(out, SERVER_INFO);
    out.push(b':');
    implementation(out, revision, server);
    out.push(b'}');
}

/// Appends what [`result_fields`] wrote, with more members of `_meta` where the revision has them.
/// What is written already counts: a client may read either of two members with one key.
pub(super) fn end_result(
    out: &mut Vec<u8>,
    revision: Revision,
    fields: &[u8],
    meta: Option<&Meta>,
) {
    let members = meta.map(|meta| match fields {
        [] => Cow::Borrowed(meta.get()),
        _ => without(SERVER_INFO, meta.get()),
    });
    let members = members
        .as_deref()
        .and_then(|meta| meta.trim().strip_prefix('{')?.strip_suffix('}'))
        .filter(|members| !members.trim().is_empty());
    match (members, fields) {
        (None, fields) => out.extend_from_slice(fields),
        // What was written before ends with `_meta`, and that with a brace.
        (Some(members), [open @ .., b'}']) => {
            out.extend_from_slice(open);
            out.push(b',');
            super::raw(out, members);
            out.push(b'}');
        }
        (Some(members), _) if revision.has_structured_output() => {
            out.extend_from_slice(br#","_meta":{"#);
            super::raw(out, members);
            out.push(b'}');
        }
        (Some(_), _) => {}
    }
    out.push(b'}');
}

/// The same object without the members of that key.
fn without<'a>(key: &str, object: &'a str) -> Cow<'a, str> {
    if member(object, key).is_none() {
        return Cow::Borrowed(object);
    }
    let mut kept = Vec::with_capacity(object.len());
    let mut others = Object::open(&mut kept);
    let mut cursor = Cursor::new(object, DEPTH_MAX);
    let (mut is_first, mut entered) = (true, cursor.enter_object());
    while let (Ok(()), Ok(Some(name))) = (&entered, cursor.next_key(&mut is_first)) {
        entered = cursor.value().map(|value| {
            if name.decode() != key {
                others.raw(name.raw(), value);
            }
        });
    }
    others.close();
    Cow::Owned(String::from_utf8(kept).expect("it was cut from text"))
}

pub(super) fn cache_fields(out: &mut Vec<u8>, revision: Revision, caching: Caching) {
    if !revision.has_result_type() {
        return;
    }
    out.extend_from_slice(br#","ttlMs":"#);
    integer(out, i64::try_from(caching.ttl_ms).unwrap_or(i64::MAX));
    let scope: &[u8] = if caching.is_public {
        br#","cacheScope":"public""#
    } else {
        br#","cacheScope":"private""#
    };
    out.extend_from_slice(scope);
}

pub(super) fn implementation(out: &mut Vec<u8>, revision: Revision, server: &Implementation) {
    let mut object = Object::open(out);
    object.text("name", &server.name);
    object.text("version", &server.version);
    if revision.has_structured_output() {
        object.some_text("title", server.title.as_ref());
    }
    if revision.has_icons() {
        object.some_text("description", server.description.as_ref());
        object.some_text("websiteUrl", server.website_url.as_ref());
    }
    icons(&mut object, revision, &server.icons);
    object.close();
}

pub(super) fn icons(object: &mut Object<'_>, revision: Revision, icons: &[Icon]) {
    if icons.is_empty() || !revision.has_icons() {
        return;
    }
    object.array("icons", icons, |out, icon| {
        let mut object = Object::open(out);
        object.text("src", &icon.src);
        object.some_text("mimeType", icon.mime_type.as_ref());
        object.some_texts("sizes", &icon.sizes);
        if let Some(theme) = icon.theme {
            object.text("theme", theme.as_str());
        }
        object.close();
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::value::RawValue;

    fn ended(revision: Revision, meta: &str) -> String {
        let server = Implementation { name: "s".to_owned(), ..Implementation::default() };
        let (mut fields, mut out) = (Vec::new(), b"{\"content\":[]".to_vec());
        result_fields(&mut fields, revision, &server);
        let meta = RawValue::from_string(meta.to_owned()).expect("JSON");
        end_result(&mut out, revision, &fields, Some(&meta));
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn a_result_says_once_who_answers() {
        let mine = r#"{"a":1,"io.modelcontextprotocol/serverInfo":{"name":"evil"},
            "io.modelcontextprotocol\u002fserverInfo":2,"\"b":[1]}"#;
        let ended_with = ended(Revision::LATEST, mine);
        assert_eq!(ended_with.matches("serverInfo").count(), 1, "{ended_with}");
        assert!(ended_with.ends_with(r#""version":""},"a":1,"\"b":[1]}}"#), "{ended_with}");
        let only = ended(Revision::LATEST, r#"{"io.modelcontextprotocol/serverInfo":1}"#);
        assert!(only.ends_with(r#"{"name":"s","version":""}}}"#), "{only}");
        let other = ended(Revision::LATEST, r#" {"a" : 1} "#);
        assert!(other.ends_with(r#""version":""},"a" : 1}}"#), "{other}");
        // Where the key means nothing, it is the tool's.
        let legacy = ended(Revision::V2025_06_18, r#"{"io.modelcontextprotocol/serverInfo":1}"#);
        assert!(legacy.ends_with(r#""_meta":{"io.modelcontextprotocol/serverInfo":1}}"#));
    }
}
