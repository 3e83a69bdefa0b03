//! The HTTP headers of a request, for handlers that want them. Their values never appear in debug
//! output: some are secrets.

use haft_proto::mirror;
use std::fmt;

/// Headers, by their names in lower case.
#[derive(Clone, Default)]
pub struct Headers(Vec<(Box<str>, Box<[u8]>)>);

impl Headers {
    pub(crate) fn copy(headers: &dyn mirror::Headers) -> Self {
        let mut copied = Self::default();
        headers.each(&mut |name, value| copied.0.push((name.into(), value.into())));
        copied
    }

    /// The first value of a header, whatever the case of its name; `None` if it is not there or no
    /// UTF-8.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.and_then(|(_, value)| std::str::from_utf8(value).ok())
    }

    /// All headers, with names in lower case.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}
