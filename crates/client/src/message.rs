//! What this client writes and what it hears: requests with the members that an era adds, and
//! incoming envelopes sorted by what has to be done about them. Used by both wires. No I/O.

use crate::answerer::Declined;
use crate::changes::{Change, Interest};
use crate::error::{ClientError, RpcError};
use crate::passing::Inquirer;
use crate::questions::Asked;
use haft_proto::encode;
use haft_proto::envelope::{
    CLIENT_CAPABILITIES, CLIENT_INFO, Envelope, Kind, LOG_LEVEL, PROTOCOL_VERSION,
};
use haft_proto::json::JsonStr;
use haft_proto::method::Method;
use haft_proto::version::{Era, Revision};
use http::{HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::value::RawValue;

/// What a server says while a request is being answered.
#[derive(Clone, Debug)]
pub enum Notice {
    /// A line of its log.
    Log {
        /// How severe: "debug" to "emergency".
        level: String,
        /// Which part of the server says it.
        logger: Option<String>,
        /// What it says; any JSON.
        data: Box<RawValue>,
    },
    /// How far it has come.
    Progress {
        /// Rises with each notice.
        progress: f64,
        /// What it rises to, if that is known.
        total: Option<f64>,
        /// One line for a person.
        message: Option<String>,
    },
    /// It asked something that was refused: whoever made the request does not offer it.
    Unasked {
        /// What was asked.
        method: Method,
    },
    /// The call has become a task.
    Task,
    /// How the task is that a call has become.
    Status {
        /// One line for a person.
        message: String,
    },
}

/// Whoever wants to hear notices while waiting.
pub type Listener<'a> = &'a mut (dyn FnMut(Notice) + Send);

/// A request on its way.
#[derive(Debug)]
pub(crate) struct Ask {
    /// Its id, as JSON text.
    pub(crate) id: String,
    /// What is asked.
    pub(crate) method: Method,
    /// The whole `params`, as JSON text.
    pub(crate) params: String,
    /// In which revision; before the handshake, the one that is proposed.
    pub(crate) revision: Revision,
    /// What `Mcp-Name` repeats.
    pub(crate) target: Option<String>,
    /// `Mcp-Param-*` headers.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// Where a legacy server's questions go that belong to it, if it is passed on.
    pub(crate) inquirer: Option<Inquirer>,
}

impl Ask {
    /// The message, on one line.
    pub(crate) fn message(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.params.len() + 128);
        encode::call(&mut out, Some(&self.id), self.method.name(), Some(&self.params));
        one_line(&mut out);
        out
    }

    /// Whether the server may be told that nobody waits any more: not while hands are shaken.
    pub(crate) fn is_cancellable(&self) -> bool {
        !matches!(self.method, Method::Discover | Method::Initialize)
    }

    /// The error that goes with a reply to this request.
    pub(crate) fn refused(&self, reply: ReplyError, status: Option<u16>) -> ClientError {
        let method = self.method.name();
        match reply {
            ReplyError::Rpc(error) => ClientError::Refused { method, error, status },
            ReplyError::TooLarge(limit) => ClientError::MessageTooLarge { limit },
            ReplyError::Unreadable(reason) => ClientError::NotJsonRpc { method, reason },
        }
    }
}

/// A notification, on one line.
pub(crate) fn notification(method: Method, params: Option<&str>) -> Vec<u8> {
    let mut out = Vec::new();
    encode::call(&mut out, None, method.name(), params);
    one_line(&mut out);
    out
}

/// The notification that nobody waits for a request any more.
pub(crate) fn cancelled(id: &str) -> Vec<u8> {
    let params = format!(r#"{{"requestId":{id},"reason":"nobody waits for the answer"}}"#);
    notification(Method::Cancelled, Some(&params))
}

/// `params` from members that are JSON text, their keys too but for the quotes, and the `_meta`
/// that the era wants.
pub(crate) fn params(members: &[(&str, &str)], meta: &Meta<'_>) -> String {
    let bytes: usize = members.iter().map(|(key, value)| key.len() + value.len() + 4).sum();
    let mut out = String::with_capacity(bytes + meta.bytes());
    out.push('{');
    for (key, value) in members {
        member(&mut out, key, value);
    }
    meta.write(&mut out);
    out.push('}');
    out
}

/// What goes into `params._meta`.
pub(crate) struct Meta<'a> {
    /// In which revision the request is.
    pub(crate) revision: Revision,
    /// `{"name":…,"version":…}` of this client.
    pub(crate) client_info: &'a str,
    /// What this client can do, as a JSON object.
    pub(crate) capabilities: &'a str,
    /// The least severe log message that is wanted; the legacy era has a request for this.
    pub(crate) log_level: Option<&'a str>,
    /// The token of progress notifications, as JSON text.
    pub(crate) progress_token: Option<&'a str>,
    /// What others want to be told.
    pub(crate) more: &'a [(&'a str, &'a str)],
}

impl Meta<'_> {
    /// About how long it is, and never less.
    fn bytes(&self) -> usize {
        const KEYS: usize = 256;
        let texts = [Some(self.client_info), Some(self.capabilities), self.progress_token];
        let texts: usize = texts.into_iter().flatten().map(str::len).sum();
        let more: usize = self.more.iter().map(|(key, value)| key.len() + value.len() + 4).sum();
        KEYS + texts + more + self.log_level.map_or(0, |level| 2 + level.len())
    }

    /// Appends the member, if it has any.
    fn write(&self, out: &mut String) {
        let is_modern = self.revision.era() == Era::Modern;
        if !is_modern && self.progress_token.is_none() && self.more.is_empty() {
            return;
        }
        member(out, "_meta", "{");
        if is_modern {
            member(out, PROTOCOL_VERSION, "\"");
            out.push_str(self.revision.as_str());
            out.push('"');
            member(out, CLIENT_INFO, self.client_info);
            member(out, CLIENT_CAPABILITIES, self.capabilities);
            if let Some(level) = self.log_level {
                member(out, LOG_LEVEL, &quoted(level));
            }
        }
        if let Some(token) = self.progress_token {
            member(out, "progressToken", token);
        }
        for (key, value) in self.more {
            member(out, key, value);
        }
        out.push('}');
    }
}

/// JSON text of a string.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    encode::string(&mut out, text);
    String::from_utf8(out).expect("encoders write UTF-8")
}

/// What an incoming message asks us to do.
#[derive(Debug)]
pub(crate) enum Heard {
    /// Tell whoever listens what they will hear of; with the id of their request, as JSON text.
    Acknowledged(Option<String>, Interest),
    /// Answer it: the server asks something.
    Asked(Asked),
    /// Tell whoever listens for changes; with the id of their request, as JSON text.
    Changed(Option<String>, Change),
    /// Tell whoever listens; progress belongs to the request with this token.
    Notice(Option<String>, Notice),
    /// Nothing.
    Nothing,
    /// Do not answer this request of the server any more; its id is JSON text.
    TakenBack(String),
    /// A visit to an address is over; it is called so.
    VisitEnded(String),
    /// Hand it to whoever waits for this id; an error may have none.
    Reply(Option<String>, Result<Box<RawValue>, ReplyError>),
}

/// A reply that is no result.
#[derive(Debug)]
pub(crate) enum ReplyError {
    /// A JSON-RPC error.
    Rpc(RpcError),
    /// Longer than this many bytes.
    TooLarge(usize),
    /// Not a reply that can be understood.
    Unreadable(String),
}

/// Sorts a message.
pub(crate) fn hear(message: &Envelope<'_>) -> Heard {
    let id = message.id.map(|id| id.raw().to_owned());
    match message.kind {
        Kind::Request => Heard::Asked(Asked {
            id: id.unwrap_or_default(),
            method: message.method.map(|name| name.decode().into_owned()).unwrap_or_default(),
            params: message.params.raw.and_then(|raw| RawValue::from_string(raw.to_owned()).ok()),
        }),
        Kind::Notification => notice(message).unwrap_or(Heard::Nothing),
        Kind::Response => Heard::Reply(id, read(message.result.unwrap_or_default())),
        Kind::Error => {
            let error = match serde_json::from_str(message.error.unwrap_or_default()) {
                Ok(error) => ReplyError::Rpc(error),
                Err(_) => ReplyError::Unreadable("`error` needs an integer `code`".to_owned()),
            };
            Heard::Reply(id, Err(error))
        }
    }
}

fn read(raw: &str) -> Result<Box<RawValue>, ReplyError> {
    RawValue::from_string(raw.to_owned())
        .map_err(|error| ReplyError::Unreadable(format!("`result` is not JSON: {error}")))
}

/// What a server asks by that method; nothing if there is no such question.
pub(crate) fn is_asked_in(method: &str) -> Option<Method> {
    let asked = [Method::Elicit, Method::CreateMessage, Method::RootsList];
    Method::find(method).filter(|method| asked.contains(method))
}

/// The answer to a request of the server; the id and the result are JSON text.
pub(crate) fn answered(id: &str, result: &str) -> Vec<u8> {
    let mut out = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into_bytes();
    one_line(&mut out);
    out
}

/// The answer to a request of the server that gets none.
pub(crate) fn declined(id: &str, why: &Declined) -> Vec<u8> {
    let Declined { code, message } = why;
    let message = quoted(message);
    let error = format!(r#"{{"code":{code},"message":{message}}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#).into_bytes()
}

fn notice(message: &Envelope<'_>) -> Option<Heard> {
    let raw = message.params.raw.unwrap_or("{}");
    let method = Method::find(&message.method?.decode())?;
    match method {
        Method::Cancelled => Some(Heard::TakenBack(message.params.request_id?.to_owned())),
        Method::ElicitationComplete => {
            let Ended { elicitation_id } = serde_json::from_str(raw).ok()?;
            Some(Heard::VisitEnded(elicitation_id))
        }
        Method::Progress => {
            let token = message.params.progress_token?.to_owned();
            let Progress { progress, total, message } = serde_json::from_str(raw).ok()?;
            Some(Heard::Notice(Some(token), Notice::Progress { progress, total, message }))
        }
        Method::LogMessage => {
            let Log { level, logger, data } = serde_json::from_str(raw).ok()?;
            Some(Heard::Notice(None, Notice::Log { level, logger, data }))
        }
        Method::ListenAcknowledged => {
            let Acknowledged { notifications } = serde_json::from_str(raw).ok()?;
            Some(Heard::Acknowledged(subscription(message), notifications))
        }
        Method::PromptsChanged => Some(Heard::Changed(subscription(message), Change::Prompts)),
        Method::ResourcesChanged => Some(Heard::Changed(subscription(message), Change::Resources)),
        Method::ToolsChanged => Some(Heard::Changed(subscription(message), Change::Tools)),
        Method::ResourceUpdated => {
            let uri = JsonStr::from_raw(message.params.uri?)?.decode().into_owned();
            Some(Heard::Changed(subscription(message), Change::Resource(uri)))
        }
        _ => None,
    }
}

#[derive(Deserialize)]
struct Acknowledged {
    notifications: Interest,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Ended {
    elicitation_id: String,
}

#[derive(Deserialize)]
struct Log {
    level: String,
    logger: Option<String>,
    data: Box<RawValue>,
}

#[derive(Deserialize)]
struct Progress {
    progress: f64,
    total: Option<f64>,
    message: Option<String>,
}

/// The id of the request that asked for this notification, as JSON text.
fn subscription(message: &Envelope<'_>) -> Option<String> {
    #[derive(Deserialize)]
    struct Meta {
        #[serde(rename = "io.modelcontextprotocol/subscriptionId")]
        subscription: Option<Box<RawValue>>,
    }
    let Meta { subscription } = serde_json::from_str(message.params.meta.raw?).ok()?;
    subscription.map(|id| id.get().to_owned())
}

fn member(out: &mut String, key: &str, value: &str) {
    if !out.ends_with('{') {
        out.push(',');
    }
    out.push('"');
    out.push_str(key);
    out.push_str("\":");
    out.push_str(value);
}

/// Arguments may have been typed on several lines. In JSON a raw line end is only ever white space.
fn one_line(message: &mut [u8]) {
    for byte in message.iter_mut().filter(|byte| matches!(**byte, b'\n' | b'\r')) {
        *byte = b' ';
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_proto::envelope::{self, Incoming};
    use haft_proto::limits::Limits;

    fn heard(text: &str) -> Heard {
        let read = envelope::read(text.as_bytes(), &Limits::default());
        let Ok(Incoming::One(message)) = read else { panic!("{text}: {read:?}") };
        hear(&message)
    }

    fn meta(revision: Revision) -> Meta<'static> {
        Meta {
            revision,
            client_info: "{}",
            capabilities: r#"{"roots":{}}"#,
            log_level: Some("info"),
            progress_token: Some("3"),
            more: &[],
        }
    }

    #[test]
    fn a_modern_request_describes_itself_and_a_legacy_one_does_not() {
        let name = [("name", r#""add""#)];
        assert_eq!(
            params(&name, &meta(Revision::LATEST_LEGACY)),
            r#"{"name":"add","_meta":{"progressToken":3}}"#
        );
        let modern = params(&[], &meta(Revision::LATEST));
        let modern: serde_json::Value = serde_json::from_str(&modern).expect("JSON");
        assert_eq!(modern["_meta"][PROTOCOL_VERSION], "2026-07-28");
        assert_eq!(modern["_meta"][CLIENT_CAPABILITIES]["roots"], serde_json::json!({}));
        assert_eq!(modern["_meta"][LOG_LEVEL], "info");
        let bare = Meta { progress_token: None, ..meta(Revision::LATEST_LEGACY) };
        assert_eq!(params(&[], &bare), "{}");
        let traced = Meta { more: &[("traceparent", "\"00-1\"")], ..bare };
        assert_eq!(params(&[], &traced), r#"{"_meta":{"traceparent":"00-1"}}"#);
        let bare = Meta { more: &[], ..traced };
        // A key that somebody else has written stays as it is.
        assert_eq!(params(&[(r"n\u0061me", "1")], &bare), r#"{"n\u0061me":1}"#);
    }

    #[test]
    fn a_request_is_one_line_even_if_its_arguments_were_not() {
        let ask = Ask {
            id: "1".to_owned(),
            method: Method::ToolsCall,
            params: "{\"arguments\":{\n\"a\": \"x\\n\"\r\n}}".to_owned(),
            revision: Revision::LATEST,
            target: None,
            headers: Vec::new(),
            inquirer: None,
        };
        let message = String::from_utf8(ask.message()).expect("UTF-8");
        assert!(!message.contains(['\n', '\r']), "{message}");
        assert!(message.contains(r#""a": "x\n""#), "{message}");
    }

    #[test]
    fn a_request_of_the_server_keeps_its_id_and_parameters() {
        let text = r#"{"jsonrpc":"2.0","id":"p","method":"roots\/list","params":{"a":1.50}}"#;
        let Heard::Asked(asked) = heard(text) else { panic!("a request") };
        let params = asked.params.expect("parameters");
        let found = (&*asked.id, &*asked.method, params.get());
        assert_eq!(found, (r#""p""#, "roots/list", r#"{"a":1.50}"#));
        assert_eq!(answered(&asked.id, "{\n}"), br#"{"jsonrpc":"2.0","id":"p","result":{ }}"#);
        let why = Declined { code: -1, message: "\"no\"\n".to_owned() };
        let expected = br#"{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"\"no\"\n"}}"#;
        assert_eq!(declined("7", &why), expected);
    }

    #[test]
    fn what_a_server_takes_back_or_ends_is_named() {
        let note = |method: &str, params: &str| {
            heard(&format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#))
        };
        let taken = note("notifications/cancelled", r#"{"requestId":"p"}"#);
        assert!(matches!(taken, Heard::TakenBack(id) if id == "\"p\""));
        let ended = note("notifications/elicitation/complete", r#"{"elicitationId":"e"}"#);
        assert!(matches!(ended, Heard::VisitEnded(id) if id == "e"));
        assert!(matches!(note("notifications/elicitation/complete", "{}"), Heard::Nothing));
    }

    #[test]
    fn a_change_knows_whose_it_is() {
        let note = |method: &str, params: &str| {
            heard(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/{method}"{params}}}"#))
        };
        let of = |id: &str| {
            let meta = format!(r#""_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}"#);
            format!(
                r#","params":{{{meta},"uri":"x:\/1","notifications":{{"toolsListChanged":true}}}}"#
            )
        };
        let Heard::Changed(None, Change::Tools) = note("tools/list_changed", "") else { panic!() };
        let changed = note("resources/updated", &of("\"a\""));
        let Heard::Changed(Some(id), Change::Resource(uri)) = changed else { panic!() };
        assert_eq!((&*id, &*uri), ("\"a\"", "x:/1"));
        let acknowledged = note("subscriptions/acknowledged", &of("7"));
        let Heard::Acknowledged(Some(id), interest) = acknowledged else { panic!() };
        assert_eq!((&*id, interest.tools, interest.prompts), ("7", true, false));
        assert!(matches!(note("resources/updated", r#","params":{"uri":7}"#), Heard::Nothing));
    }

    #[test]
    fn a_notification_that_makes_no_sense_is_ignored() {
        for params in ["{}", r#"{"progressToken":1}"#, r#"{"progressToken":1,"progress":"x"}"#] {
            let text = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#
            );
            assert!(matches!(heard(&text), Heard::Nothing), "{text}");
        }
        let text = r#"{"jsonrpc":"2.0","method":"notifications/of/tomorrow"}"#;
        assert!(matches!(heard(text), Heard::Nothing));
    }

    #[test]
    fn an_error_without_a_code_is_unreadable() {
        let text = r#"{"jsonrpc":"2.0","id":1,"error":"no"}"#;
        assert!(matches!(heard(text), Heard::Reply(Some(_), Err(ReplyError::Unreadable(_)))));
        let text = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"bad"}}"#;
        let Heard::Reply(_, Err(ReplyError::Rpc(error))) = heard(text) else { panic!("an error") };
        assert_eq!(error.to_string(), "bad (-32602)");
    }
}
