//! Pages of lists. What an entry looks like is its own encoder's business.

use super::fields::{Caching, cache_fields, end_result, result_fields};
use super::object::array;
use super::string;
use crate::spec::Meta;
use crate::spec::implementation::Implementation;
use crate::version::Revision;

/// What every page of a server is written with.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    /// Who answers.
    pub server: &'a Implementation,
    /// How long it may be kept.
    pub caching: Caching,
    /// More of its `_meta`.
    pub meta: Option<&'a Meta>,
}

/// Appends one page: the entries under their key, and where to go on.
pub fn page<T>(
    out: &mut Vec<u8>,
    revision: Revision,
    around: Around<'_>,
    (key, entries): (&str, &[T]),
    next_cursor: Option<&str>,
    mut entry: impl FnMut(&mut Vec<u8>, Revision, &T),
) {
    out.push(b'{');
    string(out, key);
    out.push(b':');
    array(out, entries, |out, one| entry(out, revision, one));
    if let Some(cursor) = next_cursor {
        out.extend_from_slice(br#","nextCursor":"#);
        string(out, cursor);
    }
    cache_fields(out, revision, around.caching);
    let mut fields = Vec::new();
    result_fields(&mut fields, revision, around.server);
    end_result(out, revision, &fields, around.meta);
}
