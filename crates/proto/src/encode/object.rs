//! Writes the members of one JSON object, with the commas where they belong. Used by the encoders;
//! keys are their own words and need no escape.

use super::{integer, number, raw, string};

/// An object that is being written. [`Object::close`] ends it.
pub(super) struct Object<'o> {
    pub(super) out: &'o mut Vec<u8>,
    is_empty: bool,
}

impl<'o> Object<'o> {
    pub(super) fn open(out: &'o mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, is_empty: true }
    }

    /// Begins a member; its value is whatever is written next.
    pub(super) fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if !self.is_empty {
            self.out.push(b',');
        }
        self.is_empty = false;
        self.out.push(b'"');
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    pub(super) fn text(&mut self, key: &str, value: &str) {
        string(self.key(key), value);
    }

    pub(super) fn some_text(&mut self, key: &str, value: Option<&String>) {
        if let Some(value) = value {
            self.text(key, value);
        }
    }

    pub(super) fn raw(&mut self, key: &str, json: &str) {
        raw(self.key(key), json);
    }

    /// Members as they stand, with the commas between them.
    pub(super) fn members(&mut self, members: &str) {
        if !self.is_empty && !members.is_empty() {
            self.out.push(b',');
        }
        self.is_empty &= members.is_empty();
        raw(self.out, members);
    }

    pub(super) fn integer(&mut self, key: &str, value: u64) {
        integer(self.key(key), i64::try_from(value).unwrap_or(i64::MAX));
    }

    pub(super) fn some_number(&mut self, key: &str, value: Option<f64>) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            number(self.key(key), value);
        }
    }

    pub(super) fn flag(&mut self, key: &str, value: bool) {
        self.key(key).extend_from_slice(if value { b"true" } else { b"false" });
    }

    /// A member that is an array; `write` writes one item.
    pub(super) fn array<T>(
        &mut self,
        key: &str,
        items: impl IntoIterator<Item = T>,
        write: impl FnMut(&mut Vec<u8>, T),
    ) {
        array(self.key(key), items, write);
    }

    /// A member that is an array of strings, left out if there are none.
    pub(super) fn some_texts<S: AsRef<str>>(&mut self, key: &str, texts: &[S]) {
        if !texts.is_empty() {
            self.array(key, texts, |out, text| string(out, text.as_ref()));
        }
    }

    pub(super) fn close(self) {
        self.out.push(b'}');
    }
}

/// Writes an array; `write` writes one item.
pub(super) fn array<T>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut Vec<u8>, T),
) {
    out.push(b'[');
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(out, item);
    }
    out.push(b']');
}
