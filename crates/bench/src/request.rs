//! Requests in bytes, written once: later only the digits of the id change. Made when a connection
//! begins; every request of the run is a copy of one of these.

use crate::plan::Ask;
use haft_proto::encode;
use haft_proto::envelope::{CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION};
use haft_proto::method::Method;
use haft_proto::mirror::{self, METHOD_HEADER, NAME_HEADER, VERSION_HEADER};
use haft_proto::version::{Era, Revision};
use http::{HeaderName, HeaderValue, Uri};
use std::fmt::Write;
use std::sync::Arc;

/// Ids have as many digits as this from the first to the last, so that all requests of a kind, and
/// their answers, are of one length.
pub(crate) const ID_DIGITS: usize = 10;
/// The first of them.
pub(crate) const FIRST_ID: u64 = 1_000_000_000;

/// The digits of an id.
pub(crate) fn digits(mut id: u64) -> [u8; ID_DIGITS] {
    let mut digits = [b'0'; ID_DIGITS];
    for digit in digits.iter_mut().rev() {
        *digit += (id % 10) as u8;
        id /= 10;
    }
    digits
}

/// A message with the place of its id.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    bytes: Arc<[u8]>,
    id_at: usize,
}

impl Message {
    /// A request, as it is asked for the whole run.
    pub(crate) fn of(ask: &Ask, revision: Revision) -> Self {
        Self::new(ask.method, &ask.params, revision)
    }

    /// The request that begins a connection of the legacy era.
    pub(crate) fn initialize(revision: Revision) -> Self {
        let members = [
            ("protocolVersion".to_owned(), format!("\"{}\"", revision.as_str())),
            ("capabilities".to_owned(), "{}".to_owned()),
            ("clientInfo".to_owned(), client_info()),
        ];
        Self::new(Method::Initialize, &members, revision)
    }

    fn new(method: Method, members: &[(String, String)], revision: Revision) -> Self {
        let mut params = String::from("{");
        for (key, value) in members {
            let comma = if params.len() > 1 { "," } else { "" };
            let _ = write!(params, "{comma}\"{key}\":{value}");
        }
        if revision.era() == Era::Modern {
            let comma = if params.len() > 1 { "," } else { "" };
            let (date, info) = (revision.as_str(), client_info());
            let _ = write!(
                params,
                "{comma}\"_meta\":{{\"{PROTOCOL_VERSION}\":\"{date}\",\"{CLIENT_INFO}\":{info},\
                 \"{CLIENT_CAPABILITIES}\":{{}}}}"
            );
        }
        params.push('}');
        let mut bytes = Vec::new();
        let id = FIRST_ID.to_string();
        encode::call(&mut bytes, Some(&id), method.name(), Some(&params));
        // Of what people type, line ends are legal JSON, and would end the message on stdio.
        bytes.retain(|byte| !matches!(byte, b'\n' | b'\r'));
        let id_at = bytes
            .windows(ID_DIGITS)
            .position(|window| window == id.as_bytes())
            .expect("the id stands before all that a user wrote");
        Self { bytes: bytes.into(), id_at }
    }

    /// How long it is.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The message with this id.
    pub(crate) fn write(&self, id: u64, out: &mut Vec<u8>) {
        let at = out.len() + self.id_at;
        out.extend_from_slice(&self.bytes);
        out[at..at + ID_DIGITS].copy_from_slice(&digits(id));
    }
}

fn client_info() -> String {
    format!(r#"{{"name":"haft-bench","version":"{}"}}"#, env!("CARGO_PKG_VERSION"))
}

/// The headers that a request carries besides those of its wire.
pub(crate) fn headers(
    ask: &Ask,
    revision: Revision,
    session: Option<&HeaderValue>,
    own: &[(HeaderName, HeaderValue)],
) -> Vec<(HeaderName, HeaderValue)> {
    let mut headers = own.to_vec();
    headers.extend(ask.headers.iter().cloned());
    let mut add = |name: &'static str, value: Result<HeaderValue, _>| {
        if let Ok(value) = value {
            headers.push((HeaderName::from_static(name), value));
        }
    };
    if ask.method != Method::Initialize {
        add(VERSION_HEADER, HeaderValue::from_str(revision.as_str()));
    }
    if revision.has_mirrored_headers() {
        add(METHOD_HEADER, HeaderValue::from_str(ask.method.name()));
        if let Some(name) = &ask.name {
            add(NAME_HEADER, HeaderValue::from_str(&mirror::encode(name)));
        }
    }
    if let Some(session) = session {
        add(SESSION_HEADER, Ok(session.clone()));
    }
    headers
}

/// The header that names a legacy session.
pub(crate) const SESSION_HEADER: &str = "mcp-session-id";

/// The head of a request in HTTP/1.1, with the length of a body.
pub(crate) fn head(
    verb: &str,
    uri: &Uri,
    headers: &[(HeaderName, HeaderValue)],
    body_bytes: usize,
) -> Arc<[u8]> {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let host = uri.authority().map_or("", |authority| authority.as_str());
    // Who puts a password into a URL means a header; it is not ours to invent.
    let host = host.rsplit('@').next().unwrap_or(host);
    let mut head = format!(
        "{verb} {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nuser-agent: haft-bench\r\n\
         content-length: {body_bytes}\r\n"
    )
    .into_bytes();
    for (name, value) in headers {
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    head.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_id_differs_between_requests() {
        let message = Message::of(&Ask::call("add", r#"{"a": 1}"#), Revision::LATEST);
        let (mut first, mut second) = (Vec::new(), Vec::new());
        message.write(FIRST_ID, &mut first);
        message.write(FIRST_ID + 987_654_321, &mut second);
        let first = String::from_utf8(first).expect("it is JSON");
        let second = String::from_utf8(second).expect("it is JSON");
        assert_eq!(first.replace("1000000000", "1987654321"), second);
        assert!(serde_json::from_str::<serde_json::Value>(&first).is_ok(), "{first}");
    }

    #[test]
    fn a_line_end_in_arguments_does_not_end_the_message() {
        let message = Message::of(&Ask::call("add", "{\n\"a\": 1\r\n}"), Revision::LATEST_LEGACY);
        let mut out = Vec::new();
        message.write(FIRST_ID, &mut out);
        assert!(!out.contains(&b'\n') && !out.contains(&b'\r'));
    }

    #[test]
    fn a_password_in_a_url_does_not_become_the_host() {
        let uri: Uri = "http://me:secret@localhost:1/mcp".parse().expect("a URI");
        let head = String::from_utf8(head("POST", &uri, &[], 0).to_vec()).expect("text");
        assert!(head.contains("host: localhost:1\r\n") && !head.contains("secret"), "{head}");
    }
}
