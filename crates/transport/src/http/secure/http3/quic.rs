//! quinn as `h3` asks for it, besides what `h3-quinn` has: its streams are those of `receiving` and
//! `sending`, whoever answers hears that its client has gone, and requests can be refused from one
//! on. Knows no HTTP.

use super::frames::Frames;
use super::limits::FRAME_BYTES_MAX;
use super::receiving::{Come, Receiving};
use super::sending::Sending;
use crate::bounds::Bound;
use bytes::Bytes;
use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf};
use quinn::{ConnectionError, RecvStream, SendStream, VarInt};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio_util::sync::ReusableBoxFuture;

/// A connection.
pub(super) struct Quic {
    connection: quinn::Connection,
    requests: ReusableBoxFuture<'static, Result<(SendStream, RecvStream), ConnectionError>>,
    one_way: ReusableBoxFuture<'static, Result<RecvStream, ConnectionError>>,
    opening: Option<Opening>,
    /// Of the request that was accepted last.
    next: Option<Next>,
    headers_bytes_max: usize,
    /// What all connections hold of headers that are not whole.
    unfinished: Arc<Bound>,
    /// The first request that would come next.
    from: u64,
    /// Whether that one is refused, and all after it.
    is_refusing: bool,
}

/// What is known of a request besides what it says.
pub(super) struct Next {
    pub(super) gone: Gone,
    pub(super) come: Arc<Come>,
}

type Opening = Pin<Box<dyn Future<Output = Result<SendStream, ConnectionError>> + Send>>;

/// Comes when the client does not want the answer any more, or has all of it.
pub(super) type Gone = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Quic {
    pub(super) fn new(
        connection: quinn::Connection,
        headers_bytes_max: usize,
        unfinished: Arc<Bound>,
    ) -> Self {
        Self {
            requests: ReusableBoxFuture::new(next_request(connection.clone())),
            one_way: ReusableBoxFuture::new(next_one_way(connection.clone())),
            opening: None,
            next: None,
            connection,
            headers_bytes_max,
            unfinished,
            from: 0,
            is_refusing: false,
        }
    }

    /// That of the request that was accepted last; each is given away once.
    pub(super) fn take_next(&mut self) -> Option<Next> {
        self.next.take()
    }

    /// From now on no request is taken that has not been: those are not begun, whatever `h3` would
    /// take, so that their client may make them elsewhere (RFC 9114, 5.2).
    pub(super) fn refuse_rest(&mut self) {
        self.is_refusing = true;
    }
}

impl Quic {
    fn request(&mut self, sending: SendStream, receiving: RecvStream) -> Request {
        let stopped = sending.stopped();
        let frames = Frames::of_request(self.headers_bytes_max, FRAME_BYTES_MAX);
        let receiving = Receiving::new(receiving, frames, self.unfinished.share());
        let gone: Gone = Box::pin(async move { drop(stopped.await) });
        self.next = Some(Next { gone, come: receiving.come() });
        Request { sending: Sending::answer(sending), receiving }
    }
}

async fn next_request(
    connection: quinn::Connection,
) -> Result<(SendStream, RecvStream), ConnectionError> {
    connection.accept_bi().await
}

async fn next_one_way(connection: quinn::Connection) -> Result<RecvStream, ConnectionError> {
    connection.accept_uni().await
}

impl quic::Connection<Bytes> for Quic {
    type RecvStream = Receiving;
    type OpenStreams = Self;

    fn poll_accept_recv(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Receiving, ConnectionErrorIncoming>> {
        let accepted = ready!(self.one_way.poll(cx));
        self.one_way.set(next_one_way(self.connection.clone()));
        let frames = Frames::of_one_way(FRAME_BYTES_MAX);
        let held = self.unfinished.share();
        let receiving = accepted
            .map(|stream| Receiving::new(stream, frames, held).needed_by(self.connection.clone()));
        Poll::Ready(receiving.map_err(lost))
    }

    fn poll_accept_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Request, ConnectionErrorIncoming>> {
        loop {
            let accepted = ready!(self.requests.poll(cx));
            self.requests.set(next_request(self.connection.clone()));
            let (mut sending, mut receiving) = accepted.map_err(lost)?;
            let id = u64::from(sending.id());
            if self.is_refusing && id >= self.from {
                let code = number(Code::H3_REQUEST_REJECTED.value());
                // One that its client has given up needs no refusal.
                _ = (sending.reset(code), receiving.stop(code));
                continue;
            }
            // Each stream for a request has the number of the one before and 4.
            self.from = self.from.max(id + 4);
            return Poll::Ready(Ok(self.request(sending, receiving)));
        }
    }

    fn opener(&self) -> Self {
        Self::new(self.connection.clone(), self.headers_bytes_max, Arc::clone(&self.unfinished))
    }
}

impl quic::OpenStreams<Bytes> for Quic {
    type BidiStream = Request;
    type SendStream = Sending;

    /// A server asks nothing.
    fn poll_open_bidi(
        &mut self,
        _: &mut Context<'_>,
    ) -> Poll<Result<Request, StreamErrorIncoming>> {
        Poll::Ready(Err(StreamErrorIncoming::Unknown(Box::new(Unasked))))
    }

    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Sending, StreamErrorIncoming>> {
        let opening = self.opening.get_or_insert_with(|| {
            let connection = self.connection.clone();
            Box::pin(async move { connection.open_uni().await })
        });
        let opened = ready!(opening.as_mut().poll(cx));
        self.opening = None;
        Poll::Ready(match opened {
            Ok(stream) => Ok(Sending::one_way(stream)),
            Err(error) => Err(lost_by(error)),
        })
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.connection.close(number(code.value()), reason);
    }
}

#[derive(Debug)]
struct Unasked;

impl fmt::Display for Unasked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a server opens no stream for a request")
    }
}

impl std::error::Error for Unasked {}

/// A stream for a request and its answer.
pub(super) struct Request {
    sending: Sending,
    receiving: Receiving,
}

impl quic::RecvStream for Request {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.receiving.poll_data(cx)
    }

    fn stop_sending(&mut self, code: u64) {
        self.receiving.stop_sending(code);
    }

    fn recv_id(&self) -> StreamId {
        self.receiving.recv_id()
    }
}

impl quic::SendStream<Bytes> for Request {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.sending.poll_ready(cx)
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.sending.send_data(data)
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.sending.poll_finish(cx)
    }

    fn reset(&mut self, code: u64) {
        self.sending.reset(code);
    }

    fn send_id(&self) -> StreamId {
        self.sending.send_id()
    }
}

impl quic::BidiStream<Bytes> for Request {
    type SendStream = Sending;
    type RecvStream = Receiving;

    fn split(self) -> (Sending, Receiving) {
        (self.sending, self.receiving)
    }
}

pub(super) fn lost(error: ConnectionError) -> ConnectionErrorIncoming {
    match error {
        ConnectionError::ApplicationClosed(closed) => {
            ConnectionErrorIncoming::ApplicationClose { error_code: closed.error_code.into_inner() }
        }
        ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        error => ConnectionErrorIncoming::Undefined(Arc::new(error)),
    }
}

pub(super) fn lost_by(error: ConnectionError) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming { connection_error: lost(error) }
}

pub(super) fn number(code: u64) -> VarInt {
    VarInt::from_u64(code).unwrap_or(VarInt::MAX)
}

pub(super) fn id_of(id: quinn::StreamId) -> StreamId {
    u64::from(id).try_into().expect("both have the ids of QUIC")
}
