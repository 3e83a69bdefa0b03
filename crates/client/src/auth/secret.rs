//! A text that nobody may see: tokens, codes, verifiers, the secrets of clients. It is shown to
//! nobody by accident; the two files that send or keep it ask for it by name.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A secret text. `Debug` does not show it, and there is no `Display`.
#[derive(Clone, Deserialize, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Keeps a text to itself.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for whoever sends it to where it belongs.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}
