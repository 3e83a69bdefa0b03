//! What another server has written, as this one tells it: passed on as it came, but for what must
//! be another here. Nothing of it is read that need not be.

use super::object::Object;
use super::{raw, string};
use crate::json::{Cursor, DEPTH_MAX, member};
use crate::long::Said;
use crate::method::Method;
use crate::spec::question::Passed;
use crate::version::Revision;
use bytes::Bytes;
use memchr::memchr2;

/// Appends the definition of a tool or prompt under another name. `definition` is JSON text of an
/// object; one without a name gets none.
///
/// ```
/// use haft_proto::encode::relay;
/// let mut out = Vec::new();
/// relay::renamed(&mut out, r#"{"name":"search", "x-mine":[1.50]}"#, "github_search");
/// assert_eq!(out, br#"{"name":"github_search", "x-mine":[1.50]}"#);
/// ```
pub fn renamed(out: &mut Vec<u8>, definition: &str, name: &str) {
    let Some(before) = member(definition, "name") else { return raw(out, definition) };
    let start = before.as_ptr().addr() - definition.as_ptr().addr();
    raw(out, &definition[..start]);
    string(out, name);
    raw(out, &definition[start + before.len()..]);
}

/// Appends a definition as it came.
pub fn definition(out: &mut Vec<u8>, definition: &str) {
    raw(out, definition);
}

/// Appends a result. What this revision wants every result to say is added where the other server
/// did not say it; `fields` is what [`result_fields`](super::fields::result_fields) wrote for this
/// revision. Who answered stays said as the other server said it.
/// A `method` whose results say how long they may be kept is answered with one that may not.
pub fn result(
    out: &mut Vec<u8>,
    (revision, method): (Revision, Method),
    fields: &[u8],
    result: &str,
) {
    if !revision.has_result_type() || says(result, "resultType") {
        return raw(out, result);
    }
    let inside = result.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let inside = inside.unwrap_or_default().trim();
    out.reserve(result.len() + fields.len() + UNCACHED.len() + 2);
    let is_read = method == Method::ResourcesRead;
    let (meta, ttl_ms) = (says(result, "_meta"), is_read && says(result, "ttlMs"));
    out.push(b'{');
    missing(out, method, fields, Said { meta, ttl_ms, result_type: false });
    if !inside.is_empty() {
        out.push(b',');
        raw(out, inside);
    }
    out.push(b'}');
}

/// What this revision wants a result to say that does not say it.
fn missing(out: &mut Vec<u8>, method: Method, fields: &[u8], said: Said) {
    // Of two members with one key a client may read either.
    out.extend_from_slice(match said.meta {
        true => COMPLETE,
        false => fields.strip_prefix(b",").unwrap_or(fields),
    });
    if method == Method::ResourcesRead && !said.ttl_ms {
        out.extend_from_slice(UNCACHED);
    }
}

/// Appends how a long result begins, of which more is still to come; `begun` is what there is of
/// it, from its `{` on.
pub fn long_result(out: &mut Vec<u8>, begun: &[u8]) {
    on_one_line(out, begun);
}

/// Appends how a long result ends that has these members, with its last `}`: what [`result`] adds
/// to a short one is added here.
pub fn end_of_long_result(
    out: &mut Vec<u8>,
    (revision, method): (Revision, Method),
    fields: &[u8],
    said: Said,
) {
    if revision.has_result_type() && !said.result_type {
        out.push(b',');
        missing(out, method, fields, said);
    }
    out.push(b'}');
}

/// A piece of a long result, without line breaks: in JSON they are white space, and to whoever
/// frames messages by lines or events they would be the end of one.
#[must_use]
pub fn piece(piece: Bytes) -> Bytes {
    if memchr2(b'\n', b'\r', &piece).is_none() {
        return piece;
    }
    let mut out = Vec::with_capacity(piece.len());
    on_one_line(&mut out, &piece);
    out.into()
}

fn on_one_line(out: &mut Vec<u8>, text: &[u8]) {
    out.extend(text.iter().filter(|byte| !matches!(byte, b'\n' | b'\r')));
}

/// Appends the parameters of a question as they came, but for what is between that server and this
/// one, and what this client's revision does not know.
pub fn question(out: &mut Vec<u8>, revision: Revision, asked: &Passed) {
    let mut object = Object::open(out);
    let mut cursor = Cursor::new(&asked.params, DEPTH_MAX);
    let mut is_first = true;
    if cursor.enter_object().is_ok() {
        while let Ok(Some(key)) = cursor.next_key(&mut is_first) {
            let Ok(value) = cursor.value() else { break };
            let is_told = match &*key.decode() {
                "_meta" | "task" | "elicitationId" => false,
                "mode" => asked.method != Method::Elicit || revision.has_elicitation_modes(),
                _ => true,
            };
            if is_told {
                object.raw(key.raw(), value);
            }
        }
    }
    if revision.has_elicitation_id() && asked.is_visit() {
        object.text("elicitationId", &asked.id);
    }
    object.close();
}

const COMPLETE: &[u8] = br#""resultType":"complete""#;
const UNCACHED: &[u8] = br#","ttlMs":0,"cacheScope":"private""#;

/// Whether an object has such a member of its own.
fn says(object: &str, key: &str) -> bool {
    let mut cursor = Cursor::new(object, DEPTH_MAX);
    let mut is_first = true;
    if cursor.enter_object().is_err() {
        return false;
    }
    while let Ok(Some(found)) = cursor.next_key(&mut is_first) {
        if found.decode() == key {
            return true;
        }
        if cursor.value().is_err() {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::fields::result_fields;
    use crate::long::Passing;
    use crate::spec::implementation::Implementation;

    fn told(revision: Revision, text: &str) -> String {
        told_of(Method::ToolsCall, revision, text)
    }

    fn told_of(method: Method, revision: Revision, text: &str) -> String {
        let server = Implementation { name: "s".to_owned(), ..Implementation::default() };
        let (mut fields, mut out) = (Vec::new(), Vec::new());
        result_fields(&mut fields, revision, &server);
        result(&mut out, (revision, method), &fields, text);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn a_result_passes_as_it_came_where_it_may() {
        let modern = r#"{"resultType":"complete","content":[ ],"_meta":{"a":1.50}}"#;
        for revision in Revision::ALL {
            assert_eq!(told(revision, modern), modern);
        }
        let legacy = r#"{ "content" : [{"type":"hologram"}] }"#;
        assert_eq!(told(Revision::LATEST_LEGACY, legacy), legacy);
        assert_eq!(told(Revision::LATEST_LEGACY, "{\r\n}"), "{}");
    }

    #[test]
    fn a_modern_client_is_told_the_kind_of_every_result() {
        let fields = r#""resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":"#;
        for (text, rest) in [
            ("{}", ""),
            (" { \n } ", ""),
            (r#"{"content":[]}"#, r#","content":[]"#),
            (r#"{"a":{"resultType":1,"_meta":2}}"#, r#","a":{"resultType":1,"_meta":2}"#),
        ] {
            let expected = format!(r#"{{{fields}{{"name":"s","version":""}}}}{rest}}}"#);
            assert_eq!(told(Revision::LATEST, text), expected, "{text}");
        }
        assert_eq!(
            told(Revision::LATEST, r#"{"_meta":{"a":1},"b":2}"#),
            r#"{"resultType":"complete","_meta":{"a":1},"b":2}"#
        );
    }

    #[test]
    fn what_a_legacy_server_has_in_a_resource_may_not_be_kept() {
        let text = r#"{"contents":[],"_meta":{}}"#;
        let read = told_of(Method::ResourcesRead, Revision::LATEST, text);
        let fields = r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private","#;
        assert_eq!(read, format!(r#"{fields}"contents":[],"_meta":{{}}}}"#));
        assert_eq!(told_of(Method::ResourcesRead, Revision::LATEST_LEGACY, text), text);
    }

    #[test]
    fn a_long_result_says_what_a_short_one_says() {
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
        for (revision, method, text) in Revision::ALL.into_iter().flat_map(|revision| {
            [
                r#"{"content":[{"resultType":1,"_meta":2}]}"#,
                r#"{"contents":[],"ttlMs":5,"cacheScope":"public"}"#,
                r#"{"contents":[],"_meta":{"ttlMs":5}}"#,
                r#"{"contents":[],"_meta":{},"resultType":"complete"}"#,
            ]
            .into_iter()
            .flat_map(move |text| {
                [Method::ToolsCall, Method::ResourcesRead].map(|method| (revision, method, text))
            })
        }) {
            let server = Implementation { name: "s".to_owned(), ..Implementation::default() };
            let (mut fields, mut passing) = (Vec::new(), Passing::default());
            result_fields(&mut fields, revision, &server);
            assert_eq!(passing.take(text.as_bytes()), Ok(text.len()));
            let mut out = Vec::new();
            long_result(&mut out, &text.as_bytes()[..text.len() - 1]);
            end_of_long_result(&mut out, (revision, method), &fields, passing.said());
            let long = String::from_utf8(out).expect("text");
            let short = told_of(method, revision, text);
            assert_eq!(value(&long), value(&short), "{text} of {revision:?}: {long}");
        }
    }

    #[test]
    fn a_long_result_comes_on_one_line() {
        assert_eq!(&piece(Bytes::from_static(b"[1]"))[..], b"[1]");
        let forged = Bytes::from_static(b"1}\r\n{\"id\":8}\n");
        assert_eq!(&piece(forged)[..], br#"1}{"id":8}"#);
        let mut out = Vec::new();
        long_result(&mut out, b"{\n  \"content\":\r\n[");
        assert_eq!(out, br#"{  "content":["#);
    }

    #[test]
    fn a_question_is_told_in_the_words_of_the_clients_revision() {
        let params = r#"{"mode":"url","message":"m\n","url":"u","elicitationId":"theirs","x":1.50,
            "_meta":{"progressToken":1},"task":{}}"#;
        let told = |method, revision: Revision, params: &str| {
            let mut out = Vec::new();
            let asked = Passed { method, params: params.into(), id: "ours".to_owned() };
            question(&mut out, revision, &asked);
            String::from_utf8(out).expect("text")
        };
        let visit = r#""mode":"url","message":"m\n","url":"u","x":1.50"#;
        assert_eq!(told(Method::Elicit, Revision::LATEST, params), format!("{{{visit}}}"));
        let with_id = format!(r#"{{{visit},"elicitationId":"ours"}}"#);
        assert_eq!(told(Method::Elicit, Revision::LATEST_LEGACY, params), with_id);
        let before = Revision::parse("2025-06-18").expect("a revision");
        let form = r#"{"mode":"form","message":"m"}"#;
        assert_eq!(told(Method::Elicit, before, form), r#"{"message":"m"}"#);
        assert_eq!(told(Method::CreateMessage, before, form), form);
        assert_eq!(told(Method::RootsList, before, "{}"), "{}");
    }

    #[test]
    fn a_definition_keeps_all_but_its_name() {
        for (before, after) in [
            (r#"{"a":{"name":"x"},"name":"x","z":1}"#, r#"{"a":{"name":"x"},"name":"a\"b","z":1}"#),
            ("{\"n\\u0061me\"\n:\n\"x\"}", r#"{"n\u0061me":"a\"b"}"#),
            (r#"{"title":"x"}"#, r#"{"title":"x"}"#),
        ] {
            let mut out = Vec::new();
            renamed(&mut out, before, "a\"b");
            assert_eq!(String::from_utf8(out).as_deref(), Ok(after));
        }
    }
}
