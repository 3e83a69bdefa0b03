//! The JSON-RPC frame around a message, read in one pass whatever the order of its keys. Everything
//! is borrowed from the message's bytes; nothing is decoded that the next decision does not need.
//! Which revision allows what is decided later, in `admit`.

use crate::error::Malformed;
use crate::json::{Cursor, JsonStr};
use crate::limits::Limits;
use crate::salvage;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An answer that failed.
    Error,
    /// A method without an id: never answered.
    Notification,
    /// A method with an id.
    Request,
    /// An answer that succeeded.
    Response,
}

/// The id of a request, as raw JSON: a string with its quotes, or an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Id<'a>(&'a str);

impl<'a> Id<'a> {
    /// The JSON text, to be copied into the answer as it is.
    #[must_use]
    pub const fn raw(self) -> &'a str {
        self.0
    }

    /// The id that `raw` is, if it is JSON text of a string or an integer within the limit. `raw`
    /// must have come from a [`Cursor`].
    ///
    /// # Errors
    /// [`Malformed::WrongType`] or [`Malformed::IdTooLong`].
    pub fn from_raw(raw: &'a str, limit: usize) -> Result<Self, Malformed> {
        let is_integer = raw.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit());
        if !is_integer && !raw.starts_with('"') {
            return Err(Malformed::WrongType { name: "id", expected: "a string or an integer" });
        }
        if raw.len() > limit {
            return Err(Malformed::IdTooLong { limit });
        }
        Ok(Self(raw))
    }
}

/// One message. All slices are raw JSON text of the message; those of `params` and `meta` are there
/// whatever the method is, and have not been checked for their type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope<'a> {
    /// What it is.
    pub kind: Kind,
    /// Its id; an error may have none.
    pub id: Option<Id<'a>>,
    /// The method of a request or notification.
    pub method: Option<JsonStr<'a>>,
    /// The parameters.
    pub params: Params<'a>,
    /// The result of a response.
    pub result: Option<&'a str>,
    /// The error of an error.
    pub error: Option<&'a str>,
}

/// The members of `params` that haft looks at, as raw JSON text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Params<'a> {
    /// All of it.
    pub raw: Option<&'a str>,
    /// `name` of a tool or prompt.
    pub name: Option<&'a str>,
    /// `uri` of a resource.
    pub uri: Option<&'a str>,
    /// `taskId` of a task.
    pub task_id: Option<&'a str>,
    /// `arguments` of a tool or prompt.
    pub arguments: Option<&'a str>,
    /// `cursor` of a list.
    pub cursor: Option<&'a str>,
    /// `requestId` of a cancellation.
    pub request_id: Option<&'a str>,
    /// `protocolVersion` of `initialize`.
    pub protocol_version: Option<&'a str>,
    /// `progressToken` of a progress notification.
    pub progress_token: Option<&'a str>,
    /// `inputResponses` of a call that is made again with what it asked for.
    pub input_responses: Option<&'a str>,
    /// `requestState` of a call that is made again.
    pub request_state: Option<&'a str>,
    /// The members of `_meta`.
    pub meta: Meta<'a>,
}

/// The members of `params._meta` that MCP defines, as raw JSON text. The first four have the prefix
/// `io.modelcontextprotocol/` (2026-07-28, "General fields").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meta<'a> {
    /// All of it.
    pub raw: Option<&'a str>,
    /// `protocolVersion`.
    pub protocol_version: Option<&'a str>,
    /// `clientCapabilities`.
    pub client_capabilities: Option<&'a str>,
    /// `clientInfo`.
    pub client_info: Option<&'a str>,
    /// `logLevel`.
    pub log_level: Option<&'a str>,
    /// `progressToken`, without a prefix.
    pub progress_token: Option<&'a str>,
    /// There are others, which MCP does not define.
    pub has_more: bool,
}

/// What one line or body holds.
#[expect(
    clippy::large_enum_variant,
    reason = "it stays on the stack; a box would be an allocation"
)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming<'a> {
    /// One message.
    One(Envelope<'a>),
    /// An array of messages, each readable or not.
    Batch(Vec<Result<Envelope<'a>, Rejected<'a>>>),
}

/// A message that cannot be an envelope, with its id if that could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected<'a> {
    /// The id to answer to.
    pub id: Option<Id<'a>>,
    /// Why.
    pub reason: Malformed,
}

/// Reads one line or body.
///
/// # Errors
/// [`Rejected`] with the reason, and the id where one can be read, also of what is no JSON.
///
/// ```
/// use haft_proto::{envelope::{self, Incoming, Kind}, limits::Limits};
/// let bytes = br#"{"params":{"name":"add"},"method":"tools/call","id":7,"jsonrpc":"2.0"}"#;
/// let Ok(Incoming::One(message)) = envelope::read(bytes, &Limits::default()) else { panic!() };
/// assert_eq!(message.kind, Kind::Request);
/// assert_eq!(message.id.map(|id| id.raw()), Some("7"));
/// assert_eq!(message.params.name, Some("\"add\""));
/// ```
pub fn read<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Incoming<'a>, Rejected<'a>> {
    if bytes.len() > limits.message_bytes {
        let reason = Malformed::MessageTooLong { limit: limits.message_bytes };
        return Err(Rejected { id: None, reason });
    }
    let unreadable = |reason| Rejected { id: salvage::id(bytes, limits.id_bytes), reason };
    // Some editors and runtimes of Windows begin each text with one (RFC 8259, section 8.1).
    let text = text_of(bytes).map_err(unreadable)?;
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let mut cursor = Cursor::new(text, limits.depth);
    match cursor.peek_token() {
        None => Err(unreadable(Malformed::Empty)),
        Some(b'[') => read_batch(&mut cursor, limits).map_err(unreadable).map(Incoming::Batch),
        Some(_) => {
            let mut parts = Parts::new();
            parts.read(&mut cursor, limits).map_err(unreadable)?;
            cursor.end().map_err(unreadable)?;
            match parts.finish() {
                Ok(()) => Ok(Incoming::One(parts.message)),
                Err(reason) => Err(Rejected { id: parts.message.id, reason }),
            }
        }
    }
}

/// The same for what a peer says that others have put together: half of a surrogate pair stands for
/// U+FFFD, which is written into `room` with the rest of the message. Costs nothing where there is
/// none.
///
/// # Errors
/// As [`read`].
#[inline]
pub fn read_with_halves<'a>(
    bytes: &'a [u8],
    room: &'a mut Vec<u8>,
    limits: &Limits,
) -> Result<Incoming<'a>, Rejected<'a>> {
    match read(bytes, limits) {
        Err(rejected) if matches!(rejected.reason, Malformed::NotJson { .. }) => {
            match salvage::with_whole_pairs(bytes) {
                Some(mended) => {
                    *room = mended;
                    read(room, limits)
                }
                None => Err(rejected),
            }
        }
        Ok(message) => Ok(message),
        Err(rejected) => Err(rejected),
    }
}

/// The bytes as text. Only what is no text is looked at again, to say where.
fn text_of(bytes: &[u8]) -> Result<&str, Malformed> {
    simdutf8::basic::from_utf8(bytes).or_else(|_| {
        std::str::from_utf8(bytes).map_err(|error| Malformed::NotUtf8 { at: error.valid_up_to() })
    })
}

/// What may stand before a text, and is no part of it.
const BYTE_ORDER_MARK: char = '\u{feff}';

type ReadMessage<'a> = Result<Envelope<'a>, Rejected<'a>>;

fn read_batch<'a>(
    cursor: &mut Cursor<'a>,
    limits: &Limits,
) -> Result<Vec<ReadMessage<'a>>, Malformed> {
    let mut messages = Vec::new();
    cursor.enter_array()?;
    let mut is_first = true;
    while cursor.next_item(&mut is_first)? {
        if messages.len() == limits.batch_messages {
            return Err(Malformed::BatchTooLong { limit: limits.batch_messages });
        }
        let mut parts = Parts::new();
        parts.read(cursor, limits)?;
        messages.push(match parts.finish() {
            Ok(()) => Ok(parts.message),
            Err(reason) => Err(Rejected { id: parts.message.id, reason }),
        });
    }
    cursor.end()?;
    if messages.is_empty() { Err(Malformed::EmptyBatch) } else { Ok(messages) }
}

/// What has been read of a message so far. The first mistake is kept, and reading goes on so that
/// the id is found wherever it stands.
struct Parts<'a> {
    version: Option<&'a str>,
    id: Option<&'a str>,
    /// Whether there is a method that is no string.
    has_odd_method: bool,
    mistake: Option<Malformed>,
    /// What it becomes; its kind is known at the end.
    message: Envelope<'a>,
}

impl<'a> Parts<'a> {
    fn new() -> Self {
        let message = Envelope {
            kind: Kind::Error,
            id: None,
            method: None,
            params: Params::default(),
            result: None,
            error: None,
        };
        Self { version: None, id: None, has_odd_method: false, mistake: None, message }
    }

    /// The error is one of grammar, after which nothing else can be read; one of meaning is kept.
    fn read(&mut self, cursor: &mut Cursor<'a>, limits: &Limits) -> Result<(), Malformed> {
        if cursor.peek_token() != Some(b'{') {
            cursor.value()?;
            self.reject(Malformed::WrongType { name: "message", expected: "an object" });
            return Ok(());
        }
        cursor.enter_object()?;
        let (mut is_first, mut room) = (true, String::new());
        while let Some(key) = cursor.next_name(&mut is_first, &mut room)? {
            match key {
                "params" => {
                    self.read_params(cursor)?;
                    continue;
                }
                "method" => {
                    self.read_method(cursor)?;
                    continue;
                }
                _ => {}
            }
            let value = cursor.value()?;
            let (slot, name) = match key {
                "jsonrpc" => (&mut self.version, "jsonrpc"),
                "id" => (&mut self.id, "id"),
                "result" => (&mut self.message.result, "result"),
                "error" => (&mut self.message.error, "error"),
                _ => continue,
            };
            put(slot, &mut self.mistake, name, value);
            if name == "id" {
                match Id::from_raw(value, limits.id_bytes) {
                    Ok(id) => self.message.id = Some(id),
                    // An error about an unreadable request has no id, or `null` for one.
                    Err(_) if value == "null" => {}
                    Err(mistake) => self.reject(mistake),
                }
            }
        }
        Ok(())
    }

    fn read_method(&mut self, cursor: &mut Cursor<'a>) -> Result<(), Malformed> {
        let is_first = !self.has_odd_method && self.message.method.is_none();
        if cursor.peek_token() == Some(b'"') {
            self.message.method = Some(cursor.string()?);
        } else {
            cursor.value()?;
            self.has_odd_method = true;
        }
        if !is_first {
            self.reject(Malformed::DuplicateMember { name: "method" });
        }
        Ok(())
    }

    fn read_params(&mut self, cursor: &mut Cursor<'a>) -> Result<(), Malformed> {
        if cursor.peek_token() != Some(b'{') {
            if !is_blank(cursor.value()?) {
                self.reject(Malformed::WrongType { name: "params", expected: "an object" });
            }
            return Ok(());
        }
        let start = cursor.position();
        cursor.enter_object()?;
        let (mut is_first, mut room) = (true, String::new());
        while let Some(key) = cursor.next_name(&mut is_first, &mut room)? {
            if key == "_meta" {
                self.read_meta(cursor)?;
                continue;
            }
            let value = cursor.value()?;
            let params = &mut self.message.params;
            let (slot, name) = match key {
                "name" => (&mut params.name, "params.name"),
                "uri" => (&mut params.uri, "params.uri"),
                "taskId" => (&mut params.task_id, "params.taskId"),
                "arguments" => (&mut params.arguments, "params.arguments"),
                "cursor" => (&mut params.cursor, "params.cursor"),
                "requestId" => (&mut params.request_id, "params.requestId"),
                "protocolVersion" => (&mut params.protocol_version, "params.protocolVersion"),
                "progressToken" => (&mut params.progress_token, "params.progressToken"),
                "inputResponses" => (&mut params.input_responses, "params.inputResponses"),
                "requestState" => (&mut params.request_state, "params.requestState"),
                _ => continue,
            };
            if value != EMPTY || !matches!(key, "arguments" | "inputResponses") {
                put_member(slot, &mut self.mistake, name, value);
            }
        }
        let all = cursor.since(start);
        put(&mut self.message.params.raw, &mut self.mistake, "params", all);
        Ok(())
    }

    fn read_meta(&mut self, cursor: &mut Cursor<'a>) -> Result<(), Malformed> {
        if cursor.peek_token() != Some(b'{') {
            if !is_blank(cursor.value()?) {
                self.reject(Malformed::WrongType { name: "params._meta", expected: "an object" });
            }
            return Ok(());
        }
        let start = cursor.position();
        cursor.enter_object()?;
        let meta = &mut self.message.params.meta;
        let (mut is_first, mut room) = (true, String::new());
        while let Some(key) = cursor.next_name(&mut is_first, &mut room)? {
            let value = cursor.value()?;
            let (slot, name) = match key {
                "progressToken" => (&mut meta.progress_token, "progressToken"),
                PROTOCOL_VERSION => (&mut meta.protocol_version, PROTOCOL_VERSION),
                CLIENT_CAPABILITIES => (&mut meta.client_capabilities, CLIENT_CAPABILITIES),
                CLIENT_INFO => (&mut meta.client_info, CLIENT_INFO),
                LOG_LEVEL => (&mut meta.log_level, LOG_LEVEL),
                _ => {
                    meta.has_more = true;
                    continue;
                }
            };
            put_member(slot, &mut self.mistake, name, value);
        }
        put(&mut meta.raw, &mut self.mistake, "params._meta", cursor.since(start));
        Ok(())
    }

    #[cold]
    fn reject(&mut self, mistake: Malformed) {
        self.mistake.get_or_insert(mistake);
    }

    /// What kind of message it is; an error if it is none.
    fn finish(&mut self) -> Result<(), Malformed> {
        match (self.kind(), self.mistake) {
            (Ok(kind), None) => {
                self.message.kind = kind;
                Ok(())
            }
            (Err(reason), None) | (_, Some(reason)) => Err(reason),
        }
    }

    fn kind(&mut self) -> Result<Kind, Malformed> {
        if self.version != Some("\"2.0\"") {
            return Err(Malformed::NoVersion);
        }
        if self.has_odd_method {
            return Err(Malformed::WrongType { name: "method", expected: "a string" });
        }
        let message = &mut self.message;
        // As JSON-RPC 1.0 has it, the one of the two that an answer has not is `null`.
        match (message.result, message.error) {
            (Some(_), Some(NULL)) => message.error = None,
            (Some(NULL), Some(_)) => message.result = None,
            _ => {}
        }
        let message = &self.message;
        match (message.method, message.result, message.error) {
            (Some(_), None, None) if self.id.is_none() => Ok(Kind::Notification),
            (Some(_), None, None) if message.id.is_some() => Ok(Kind::Request),
            (None, Some(_), None) if message.id.is_some() => Ok(Kind::Response),
            (Some(_), None, None) | (None, Some(_), None) => {
                Err(Malformed::WrongType { name: "id", expected: "a string or an integer" })
            }
            (Some(_), _, _) => Err(Malformed::CallAndAnswer),
            (None, Some(_), Some(_)) => Err(Malformed::ResultAndError),
            (None, None, Some(_)) => Ok(Kind::Error),
            (None, None, None) => Err(Malformed::NoMethod),
        }
    }
}

/// What stands for a member that is not there.
const NULL: &str = "null";

/// What some write for a member of another type that is not there.
const EMPTY: &str = "\"\"";

fn is_blank(value: &str) -> bool {
    value == NULL || value == EMPTY
}

/// Keeps the value of a member that may be left out, unless it is `null`, which says just that.
#[inline]
fn put_member<'a>(
    slot: &mut Option<&'a str>,
    mistake: &mut Option<Malformed>,
    name: &'static str,
    value: &'a str,
) {
    if value != NULL {
        put(slot, mistake, name, value);
    }
}

/// Keeps the value, and that it was there twice.
#[inline]
fn put<'a>(
    slot: &mut Option<&'a str>,
    mistake: &mut Option<Malformed>,
    name: &'static str,
    value: &'a str,
) {
    if slot.replace(value).is_some() {
        mistake.get_or_insert(Malformed::DuplicateMember { name });
    }
}

/// `_meta` key: the revision that a modern request speaks.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// `_meta` key: what the client of a modern request can do.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// `_meta` key: name and version of the client.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// `_meta` key: the least severe log message that a modern request wants.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// `_meta` key: the id of the request whose stream a message belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// `_meta` key: name and version of the server, on every modern result.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
