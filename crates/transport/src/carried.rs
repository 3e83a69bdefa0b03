//! Requests of the modern era whose bytes somebody else carries, over what has neither headers nor
//! sessions: each is asked on its own, and what comes of it is taken in pieces. It moves no bytes.

use crate::asking::{Along, ask_stateless};
use crate::feeds::{end_feed, poll_feed};
use crate::outlet::{Queue, Reader, Sink};
use bytes::Bytes;
use haft_proto::admit;
use haft_proto::encode;
use haft_proto::envelope::{self, Id, Incoming, Kind};
use haft_proto::error::{Mistake, Refusal};
use haft_proto::limits::Limits;
use haft_proto::service::{Feed, Principal, Reply, Rest, Service, Turn};
use std::cell::OnceCell;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// What comes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A whole notification that belongs to it.
    Notice(Bytes),
    /// A part of the answer, which goes on.
    Part(Bytes),
    /// The rest of the answer.
    End(Bytes),
}

/// A request on its way. Dropping it cancels it.
///
/// ```
/// # use haft_proto::service::{Ask, Outcome, Principal, Service, Turn};
/// use haft_transport::carried::{Carried, Piece};
/// # struct Empty;
/// # impl Service for Empty {
/// #     fn ask(&self, ask: Ask<'_>, out: &mut Vec<u8>) -> Turn {
/// #         haft_proto::encode::result(out, ask.id, |out| out.extend_from_slice(b"{}"));
/// #         Turn::Done(Outcome::Result)
/// #     }
/// # }
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let request = br#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{
///     "io.modelcontextprotocol/protocolVersion":"2026-07-28",
///     "io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"},
///     "io.modelcontextprotocol/clientCapabilities":{}}}}"#;
/// let limits = haft_proto::limits::Limits::default();
/// let mut carried = Carried::begin(&Empty, request, &Principal::Anonymous, &limits);
/// let piece = carried.next().await;
/// assert!(matches!(piece, Some(Piece::End(answer)) if answer.starts_with(b"{\"jsonrpc\"")));
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Carried {
    state: State,
    said: Reader,
}

/// How far it is.
enum State {
    /// The answer is to come.
    Later(Along),
    /// Of the answer this is there, and then that.
    Begun(Vec<u8>, After),
    /// The answer is a stream of notifications.
    Feed(Box<dyn Feed>),
    Over,
}

/// What follows on the beginning of an answer.
enum After {
    Nothing,
    List(Arc<str>),
    Rest(Box<dyn Rest>),
}

impl Carried {
    /// Asks a service; `bytes` is one message, of which nothing is known yet.
    #[must_use]
    pub fn begin(
        service: &dyn Service,
        bytes: &[u8],
        principal: &Principal,
        limits: &Limits,
    ) -> Self {
        let refused = |id: Option<Id<'_>>, refusal: &Refusal| {
            let mut out = Vec::new();
            encode::error(&mut out, id, refusal);
            Self { state: State::Begun(out, After::Nothing), said: Reader::new(None) }
        };
        let mut room = Vec::new();
        let message = match envelope::read_with_halves(bytes, &mut room, limits) {
            Ok(Incoming::One(message)) => message,
            Ok(Incoming::Batch(_)) => {
                let why = "Invalid request: no batches are carried; send one message at a time";
                return refused(None, &Refusal::new(Mistake::InvalidRequest, why));
            }
            Err(rejected) => return refused(rejected.id, &rejected.reason.into()),
        };
        let (Kind::Request, Some(id)) = (message.kind, message.id) else {
            let why = "Invalid request: only requests are carried";
            return refused(message.id, &Refusal::new(Mistake::InvalidRequest, why));
        };
        let queue = OnceCell::new();
        let sink = || {
            let queue: &Arc<Queue> = queue.get_or_init(|| Queue::new(limits));
            Arc::clone(queue) as Arc<dyn Sink>
        };
        let mut out = Vec::new();
        let request = (&message, id, admit::modern_request(&message, None));
        let turn = ask_stateless(service, request, (principal, None), &sink, &mut out);
        let state = match turn {
            Turn::Done(_) => State::Begun(out, After::Nothing),
            Turn::Listed(list) => State::Begun(out, After::List(list)),
            Turn::Later(later) => State::Later(Along::new(later)),
            Turn::Stream(feed) => State::Feed(feed),
        };
        Self { state, said: Reader::new(queue.into_inner()) }
    }

    /// What comes next; nothing after [`Piece::End`].
    pub async fn next(&mut self) -> Option<Piece> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// The same, if nothing waits for it.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
        // The work first, so that whatever it said on its way is in the queue when it is done.
        if let State::Later(along) = &mut self.state
            && let Poll::Ready(reply) = Pin::new(along).poll(cx)
        {
            let Reply { message, rest, .. } = reply;
            self.state = State::Begun(message, rest.map_or(After::Nothing, After::Rest));
        }
        if !matches!(self.state, State::Over)
            && let Poll::Ready(notice) = self.said.poll_pop(cx)
        {
            return Poll::Ready(Some(Piece::Notice(notice.into())));
        }
        match std::mem::replace(&mut self.state, State::Over) {
            State::Over => Poll::Ready(None),
            state @ State::Later(_) => {
                self.state = state;
                Poll::Pending
            }
            State::Begun(begun, After::Nothing) => Poll::Ready(Some(Piece::End(begun.into()))),
            State::Begun(mut begun, After::List(list)) => {
                begun.extend_from_slice(list.as_bytes());
                Poll::Ready(Some(Piece::End(begun.into())))
            }
            State::Begun(begun, After::Rest(rest)) => self.poll_rest(begun, rest, cx),
            State::Feed(feed) => self.poll_feed(feed, cx),
        }
    }

    /// The server stops: what is left to be said of a stream of notifications.
    pub fn stop(&mut self) -> Option<Bytes> {
        let State::Feed(mut feed) = std::mem::replace(&mut self.state, State::Over) else {
            return None;
        };
        let mut last = Vec::new();
        end_feed(&mut *feed, &mut last).then(|| last.into())
    }

    fn poll_rest(
        &mut self,
        begun: Vec<u8>,
        mut rest: Box<dyn Rest>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Piece>> {
        if !begun.is_empty() {
            // Once it has begun, nothing else can be said instead.
            match rest.poll_next(cx) {
                Poll::Ready(Some(Err(instead))) => {
                    let Reply { message, rest, .. } = *instead;
                    self.state = State::Begun(message, rest.map_or(After::Nothing, After::Rest));
                    return self.poll_next(cx);
                }
                Poll::Ready(Some(Ok(piece))) => {
                    let mut begun = begun;
                    begun.extend_from_slice(&piece);
                    self.state = State::Begun(Vec::new(), After::Rest(rest));
                    return Poll::Ready(Some(Piece::Part(begun.into())));
                }
                Poll::Ready(None) => return Poll::Ready(Some(Piece::End(begun.into()))),
                Poll::Pending => {
                    self.state = State::Begun(begun, After::Rest(rest));
                    return Poll::Pending;
                }
            }
        }
        match rest.poll_next(cx) {
            Poll::Ready(Some(Ok(piece))) => {
                self.state = State::Begun(begun, After::Rest(rest));
                Poll::Ready(Some(Piece::Part(piece)))
            }
            // Cut short: whoever carries it says so.
            Poll::Ready(Some(Err(_))) => Poll::Ready(None),
            Poll::Ready(None) => Poll::Ready(Some(Piece::End(Bytes::new()))),
            Poll::Pending => {
                self.state = State::Begun(begun, After::Rest(rest));
                Poll::Pending
            }
        }
    }

    fn poll_feed(&mut self, mut feed: Box<dyn Feed>, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
        let mut message = Vec::new();
        match poll_feed(&mut *feed, cx, &mut message) {
            Poll::Ready(true) => {
                self.state = State::Feed(feed);
                Poll::Ready(Some(Piece::Notice(message.into())))
            }
            Poll::Ready(false) => Poll::Ready(Some(Piece::End(Bytes::new()))),
            Poll::Pending => {
                self.state = State::Feed(feed);
                Poll::Pending
            }
        }
    }
}

impl fmt::Debug for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Carried").finish_non_exhaustive()
    }
}
