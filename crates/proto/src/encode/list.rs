//! Pages of lists. What an entry looks like is its own encoder's business.

use super::fields::{Caching, cache_fields, result_fields};
use super::object::array;
use super::string;
use crate::spec::implementation::Implementation;
use crate::version::Revision;

/// Appends one page: the entries under their key, and where to go on.
pub fn page<T>(
    out: &mut Vec<u8>,
    revision: Revision,
    server: &Implementation,
    caching: Caching,
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
    cache_fields(out, revision, caching);
    result_fields(out, revision, server);
    out.push(b'}');
}
