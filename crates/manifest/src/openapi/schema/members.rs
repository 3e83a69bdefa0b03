//! A mapping of JSON on its way into a draft, member by member. Used by `convert` and `argument`;
//! it knows no keyword.

use crate::openapi::schema::Draft;
use serde_json::Value;

/// A mapping that is being written.
pub(super) struct Members<'o> {
    draft: &'o mut Draft,
    is_first: bool,
}

impl Members<'_> {
    pub(super) fn begin(draft: &mut Draft) -> Members<'_> {
        draft.text.push('{');
        Members { draft, is_first: true }
    }

    pub(super) fn key(&mut self, key: &str) -> &mut Draft {
        if !std::mem::take(&mut self.is_first) {
            self.draft.text.push(',');
        }
        self.draft.text.push_str(&Value::from(key).to_string());
        self.draft.text.push(':');
        self.draft
    }

    pub(super) fn json(&mut self, key: &str, value: &str) {
        self.key(key).text.push_str(value);
    }

    pub(super) fn end(self) {
        self.draft.text.push('}');
    }
}
