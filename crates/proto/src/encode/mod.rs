//! Messages become bytes. The only place that knows which fields an era adds. Everything is
//! appended to the caller's buffer; nothing is built in between.

pub mod content;
pub mod fields;
pub mod hello;
pub mod list;
pub mod notice;
mod object;
pub mod prompt;
pub mod question;
pub mod relay;
pub mod resource;
pub mod task;
mod text;
pub mod tools;

pub use text::string;

use crate::envelope::Id;
use crate::error::Refusal;
use memchr::memchr2;

/// Appends the answer to a request: `result` is JSON text, or whatever the closure appends.
///
/// ```
/// use haft_proto::{encode, envelope::Id};
/// let mut out = Vec::new();
/// let id = Id::from_raw("\"a\"", 16)?;
/// encode::result(&mut out, id, |out| out.extend_from_slice(b"{}"));
/// assert_eq!(out, br#"{"jsonrpc":"2.0","id":"a","result":{}}"#);
/// # Ok::<(), haft_proto::error::Malformed>(())
/// ```
pub fn result(out: &mut Vec<u8>, id: Id<'_>, result: impl FnOnce(&mut Vec<u8>)) {
    begin_result(out, id);
    result(out);
    out.push(END_OF_RESULT);
}

/// Appends what stands before the result.
pub fn begin_result(out: &mut Vec<u8>, id: Id<'_>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id.raw().as_bytes());
    out.extend_from_slice(br#","result":"#);
}

/// What stands behind a result.
pub const END_OF_RESULT: u8 = b'}';

/// Appends an error. An id that could not be read is left out: `null` is not an id of MCP.
pub fn error(out: &mut Vec<u8>, id: Option<Id<'_>>, refusal: &Refusal) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","#);
    if let Some(id) = id {
        out.extend_from_slice(br#""id":"#);
        out.extend_from_slice(id.raw().as_bytes());
        out.push(b',');
    }
    out.extend_from_slice(br#""error":"#);
    error_object(out, refusal);
    out.push(b'}');
}

/// Appends the object that says what went wrong.
pub fn error_object(out: &mut Vec<u8>, refusal: &Refusal) {
    out.extend_from_slice(br#"{"code":"#);
    integer(out, i64::from(refusal.mistake.code()));
    out.extend_from_slice(br#","message":"#);
    string(out, &refusal.message);
    if let Some(data) = &refusal.data {
        out.extend_from_slice(br#","data":"#);
        // It may be another server's, and on several lines.
        raw(out, data);
    }
    out.push(b'}');
}

/// Appends a request or, without an id, a notification. `params` is JSON text.
pub fn call(out: &mut Vec<u8>, id: Option<&str>, method: &str, params: Option<&str>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","#);
    if let Some(id) = id {
        out.extend_from_slice(br#""id":"#);
        out.extend_from_slice(id.as_bytes());
        out.push(b',');
    }
    out.extend_from_slice(br#""method":"#);
    string(out, method);
    if let Some(params) = params {
        out.extend_from_slice(br#","params":"#);
        out.extend_from_slice(params.as_bytes());
    }
    out.push(b'}');
}

/// Appends JSON text on one line, as both wires frame by lines. A line break in JSON text stands
/// between tokens and means nothing; inside a string it would be escaped.
fn raw(out: &mut Vec<u8>, json: &str) {
    if memchr2(b'\n', b'\r', json.as_bytes()).is_some() {
        out.extend(json.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')));
    } else {
        out.extend_from_slice(json.as_bytes());
    }
}

fn integer(out: &mut Vec<u8>, value: i64) {
    serde_json::to_writer(out, &value).expect("an integer is written to memory");
}

fn number(out: &mut Vec<u8>, value: f64) {
    serde_json::to_writer(out, &value).expect("a number is written to memory");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Mistake;

    #[test]
    fn an_error_is_one_line_whatever_its_data_is() {
        let data = "[\n{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\r\n]".to_owned();
        let refusal = Refusal::new(Mistake::Own { code: 1 }, "a\nb").with_data(data);
        let mut out = Vec::new();
        error(&mut out, None, &refusal);
        let told = String::from_utf8(out).expect("text");
        assert!(!told.contains(['\n', '\r']), "{told}");
        assert!(told.ends_with(r#""data":[{"jsonrpc":"2.0","id":7,"result":{}}]}}"#), "{told}");
    }
}
