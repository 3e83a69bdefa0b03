//! What another server has: its arguments are for that server to check, and what it answers is
//! passed on as it came. Used by `calls`, `reads` and `suggest`; speaks with no server itself.

use crate::calls::{ToolEnding, refuse};
use crate::context::Context;
use crate::core::Core;
use crate::driver::{Ending, Job, Written};
use crate::face::Face;
use crate::layers::mistaken;
use crate::middleware::{Outcome, Request};
use crate::onlookers::Onlookers;
use crate::reading::Answering;
use crate::reads::{begin_context, request, through, timed_out};
use crate::registry::Snapshot;
use bytes::Bytes;
use bytestring::ByteString;
use haft_proto::encode;
use haft_proto::envelope::Id;
use haft_proto::error::{Mistake, Refusal};
use haft_proto::json::{Cursor, DEPTH_MAX, member};
use haft_proto::long::Said;
use haft_proto::method::Method;
use haft_proto::service::{self, Ask, BrokenOff, Reply, Rest, Turn};
use haft_proto::spec::tool_result::ToolResult;
use haft_proto::version::Revision;
use haft_stages::{Stage, mark};
use serde_json::value::RawValue;
use std::fmt::Display;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{self, Poll, ready};
use std::time::Duration;

/// What another server answered with.
pub enum Relayed {
    /// The JSON text of its result.
    Whole(ByteString),
    /// A long result, which is passed on while it comes.
    Long(LongResult),
}

/// A result of which more is still to come.
pub struct LongResult {
    /// How it begins: JSON text from its `{` on, up to some place behind its first name.
    pub begun: Bytes,
    /// How it goes on.
    pub rest: Box<dyn Pieces>,
}

/// The pieces of a result, as they come, without its last `}`. Dropping them gives the rest up.
pub trait Pieces: Send {
    /// Which members of the result have come so far, in its beginning or since.
    fn said(&self) -> Said;

    /// The next; `None` after the last.
    ///
    /// # Errors
    /// What to tell a client, if nothing was sent to it yet. Nothing comes after that.
    fn poll_piece(&mut self, cx: &mut task::Context<'_>) -> Poll<Option<Result<Bytes, Refusal>>>;
}

impl Relayed {
    /// All of it, for whoever stands around a tool, or cannot send it in pieces.
    ///
    /// # Errors
    /// It broke off.
    pub async fn whole(self) -> Result<ByteString, Refusal> {
        let LongResult { begun, mut rest } = match self {
            Self::Whole(text) => return Ok(text),
            Self::Long(long) => long,
        };
        let mut all = Vec::from(begun);
        while let Some(piece) = poll_fn(|cx| rest.poll_piece(cx)).await {
            all.extend_from_slice(&piece?);
        }
        all.push(END_OF_OBJECT);
        ByteString::try_from(all).map_err(|_| unreadable(&"not UTF-8"))
    }
}

/// What a result ends with.
const END_OF_OBJECT: u8 = b'}';

/// A result for whoever looks into it.
pub(crate) fn read(text: &str) -> Result<ToolResult, Refusal> {
    ToolResult::read(text).map_err(|error| unreadable(&error))
}

fn unreadable(error: &dyn Display) -> Refusal {
    let message = format!("Internal error: another server's answer is no result: {error}");
    Refusal::new(Mistake::Internal, message)
}

/// Appends a result, or how it begins.
fn write(
    out: &mut Vec<u8>,
    relayed: Relayed,
    (face, revision, method): (&Face, Revision, Method),
) -> Option<Box<dyn Pieces>> {
    match relayed {
        Relayed::Whole(result) => {
            encode::relay::result(out, (revision, method), face.fields(revision), &result);
            None
        }
        Relayed::Long(LongResult { begun, rest }) => {
            encode::relay::long_result(out, &begun);
            let fields = Arc::clone(face.fields(revision));
            Some(Box::new(Whole { rest, fields, revision, method, is_over: false }))
        }
    }
}

/// The pieces of a result up to its end, with what this server says beside.
struct Whole {
    rest: Box<dyn Pieces>,
    fields: Arc<[u8]>,
    revision: Revision,
    method: Method,
    is_over: bool,
}

impl Pieces for Whole {
    fn said(&self) -> Said {
        self.rest.said()
    }

    fn poll_piece(&mut self, cx: &mut task::Context<'_>) -> Poll<Option<Result<Bytes, Refusal>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let piece = ready!(self.rest.poll_piece(cx));
        self.is_over = !matches!(piece, Some(Ok(_)));
        Poll::Ready(Some(piece.unwrap_or_else(|| {
            let (asked, mut end) = ((self.revision, self.method), Vec::new());
            encode::relay::end_of_long_result(&mut end, asked, &self.fields, self.said());
            Ok(end.into())
        })))
    }
}

/// Appends all pieces, for who cannot send them one by one.
pub(crate) async fn gather(mut pieces: Box<dyn Pieces>, out: &mut Vec<u8>) -> Result<(), Refusal> {
    while let Some(piece) = poll_fn(|cx| pieces.poll_piece(cx)).await {
        out.extend_from_slice(&encode::relay::piece(piece?));
    }
    Ok(())
}

/// How an answer goes on whose result is passed on in pieces.
pub(crate) struct LongReply {
    /// Raw JSON.
    id: Box<str>,
    /// `None` after the last.
    pieces: Option<Box<dyn Pieces>>,
}

impl LongReply {
    pub(crate) fn rest(id: Id<'_>, pieces: Box<dyn Pieces>) -> Box<dyn Rest> {
        Box::new(Self { id: id.raw().into(), pieces: Some(pieces) })
    }
}

impl Rest for LongReply {
    fn poll_next(&mut self, cx: &mut task::Context<'_>) -> Poll<Option<Result<Bytes, BrokenOff>>> {
        let Some(pieces) = &mut self.pieces else { return Poll::Ready(None) };
        Poll::Ready(match ready!(pieces.poll_piece(cx)) {
            Some(Ok(piece)) => Some(Ok(encode::relay::piece(piece))),
            Some(Err(refusal)) => {
                self.pieces = None;
                let mut message = Vec::new();
                let id = Id::from_raw(&self.id, usize::MAX).ok();
                encode::error(&mut message, id, &refusal);
                let outcome = service::Outcome::Refused(refusal.mistake);
                Some(Err(Box::new(Reply::new(message, outcome))))
            }
            None => {
                self.pieces = None;
                Some(Ok(Bytes::from_static(&[encode::END_OF_RESULT])))
            }
        })
    }
}

/// How calls end that another server answers.
pub(crate) struct RelayEnding(pub(crate) ToolEnding);

impl Ending for RelayEnding {
    type Made = Result<Relayed, Refusal>;

    fn face(&self) -> &Face {
        self.0.face()
    }

    fn define(&self, out: &mut Vec<u8>) {
        self.0.define(out);
    }

    fn write(&self, made: Self::Made, out: &mut Vec<u8>) -> Written {
        Ok(write(out, made?, (self.face(), self.0.revision, Method::ToolsCall)))
    }

    fn has_failed(made: &Self::Made) -> bool {
        match made {
            Ok(Relayed::Whole(result)) => member(result, "isError") == Some("true"),
            Ok(Relayed::Long(_)) => false,
            Err(_) => true,
        }
    }

    fn too_long(&self, limit: Duration, out: &mut Vec<u8>) -> Result<(), Refusal> {
        self.0.too_long(limit, out)
    }

    const KIND: &'static str = ToolEnding::KIND;
}

/// A request for a resource, a prompt or suggestions that another server answers.
#[derive(Clone)]
pub struct Relaying {
    /// What is asked.
    pub method: Method,
    /// The parameters as they came: JSON text of an object.
    pub params: Arc<str>,
    /// The way back to the client.
    pub context: Context,
}

/// The way to another server. Dropping the future takes the request back.
type Relay = Arc<dyn Fn(Relaying) -> Answering<Relayed> + Send + Sync>;

/// What another server has: what that tells of it, and the way there.
#[derive(Clone)]
pub(crate) struct Far {
    pub(crate) told: Box<RawValue>,
    relay: Relay,
    /// How long an answer may take; as long as any request if nothing is said.
    limit: Option<Duration>,
}

impl Far {
    pub(crate) fn new<F>(
        told: Box<RawValue>,
        relay: impl Fn(Relaying) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Relayed, Refusal>> + Send + 'static,
    {
        Self { told, relay: Arc::new(move |asked| Box::pin(relay(asked))), limit: None }
    }

    /// The same with a limit of its own for answers.
    pub(crate) fn within(self, limit: Duration) -> Self {
        Self { limit: Some(limit), ..self }
    }
}

/// Answers a request by another server. `name` is what is asked for.
/// `address` is what is asked for in place of what the client says.
pub(crate) fn relay(
    (core, snapshot): (&Arc<Core>, &Arc<Snapshot>),
    ask: &Ask<'_>,
    (far, name): (&Far, &str),
    address: Option<&str>,
    out: &mut Vec<u8>,
) -> Turn {
    let context = match begin_context((core, snapshot), ask, |_| {}, false) {
        Ok(context) => context,
        Err(refusal) => return refuse(out, ask.id, &refusal),
    };
    mark(Stage::Validate);
    let params = ask.message.params.raw.unwrap_or("{}");
    let params = address.map_or_else(|| params.into(), |uri| readdressed(params, uri).into());
    let asked = Relaying { method: ask.method, params, context: context.clone() };
    let onlookers = || Onlookers::of(&core.middleware, &request(core, ask, name, &context));
    let work: Answering<Relayed> = if core.middleware.is_empty() {
        (far.relay)(asked)
    } else if let Some(onlookers) = onlookers() {
        onlookers.around_relayed((far.relay)(asked))
    } else {
        let relay = Arc::clone(&far.relay);
        let made = |made| match made {
            Outcome::Relayed(text) => Ok(Relayed::Whole(text)),
            Outcome::Refused(refusal) => Err(refusal),
            _ => Err(mistaken(Passed::KIND)),
        };
        let handler = move |_: Request| {
            let relayed = relay(asked.clone());
            async move {
                let whole = async { relayed.await?.whole().await };
                whole.await.map_or_else(Outcome::Refused, Outcome::Relayed)
            }
        };
        through(core, request(core, ask, name, &context), made, handler)
    };
    let ending =
        Passed { face: Arc::clone(&snapshot.face), revision: ask.revision, method: ask.method };
    let timeout = far.limit.unwrap_or(core.limits.request_timeout);
    Job::new(core, ask, ending, work, Some(context), timeout).start(false, out)
}

/// Parameters with another address in place of what they have.
fn readdressed(params: &str, uri: &str) -> String {
    let mut out = b"{\"uri\":".to_vec();
    encode::string(&mut out, uri);
    let mut cursor = Cursor::new(params, DEPTH_MAX);
    let mut is_first = true;
    if cursor.enter_object().is_ok() {
        while let Ok(Some(key)) = cursor.next_key(&mut is_first) {
            let Ok(value) = cursor.value() else { break };
            if key.decode() != "uri" {
                out.extend_from_slice(b",\"");
                out.extend_from_slice(key.raw().as_bytes());
                out.extend_from_slice(b"\":");
                out.extend_from_slice(value.as_bytes());
            }
        }
    }
    out.push(b'}');
    String::from_utf8(out).expect("encoders write UTF-8")
}

/// How such requests end.
struct Passed {
    face: Arc<Face>,
    revision: Revision,
    method: Method,
}

impl Ending for Passed {
    type Made = Result<Relayed, Refusal>;

    fn face(&self) -> &Face {
        &self.face
    }

    fn write(&self, made: Self::Made, out: &mut Vec<u8>) -> Written {
        Ok(write(out, made?, (self.face(), self.revision, self.method)))
    }

    fn has_failed(made: &Self::Made) -> bool {
        made.is_err()
    }

    fn too_long(&self, limit: Duration, _: &mut Vec<u8>) -> Result<(), Refusal> {
        Err(timed_out(Self::KIND, limit))
    }

    const KIND: &'static str = "upstream";
}
