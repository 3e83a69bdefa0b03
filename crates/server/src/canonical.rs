//! JSON in a form of its own, the same for the same value however a client orders or spaces it.
//! Compared by `rounds` and `around`; never sent.

use haft_proto::encode;
use haft_proto::error::Malformed;
use haft_proto::json::{Cursor, DEPTH_MAX, Kind};

/// Appends the form of a JSON text; a text that cannot be read, as it is.
pub(crate) fn append(out: &mut Vec<u8>, json: &str) {
    let start = out.len();
    if value(out, &mut Cursor::new(json, DEPTH_MAX)).is_err() {
        out.truncate(start);
        out.extend_from_slice(json.as_bytes());
    }
}

/// Appends a value in a form of its own: without white space, strings without choice of escapes,
/// the members of an object in the order of their keys. Nothing gets lost: numbers stay as they are
/// written, however long, and a key that is there twice stays twice, as who reads the arguments may
/// take either.
fn value(out: &mut Vec<u8>, cursor: &mut Cursor<'_>) -> Result<(), Malformed> {
    let mut is_first = true;
    match cursor.kind()? {
        Kind::Object => {
            cursor.enter_object()?;
            out.push(b'{');
            let (start, mut members) = (out.len(), Vec::new());
            while let Some(key) = cursor.next_key(&mut is_first)? {
                let (key, begin) = (key.decode(), out.len() - start);
                encode::string(out, &key);
                out.push(b':');
                value(out, cursor)?;
                out.push(b',');
                members.push((key, begin..out.len() - start));
            }
            if !members.is_sorted_by_key(|(key, _)| key) {
                // A stable sort: of one key, the first stays the first.
                members.sort_by(|(one, _), (other, _)| one.cmp(other));
                let written = out.split_off(start);
                members.into_iter().for_each(|(_, at)| out.extend_from_slice(&written[at]));
            }
            out.push(b'}');
        }
        Kind::Array => {
            cursor.enter_array()?;
            out.push(b'[');
            while cursor.next_item(&mut is_first)? {
                value(out, cursor)?;
                out.push(b',');
            }
            out.push(b']');
        }
        Kind::String => encode::string(out, &cursor.string()?.decode()),
        Kind::Bool | Kind::Null | Kind::Number => out.extend_from_slice(cursor.value()?.as_bytes()),
    }
    Ok(())
}
