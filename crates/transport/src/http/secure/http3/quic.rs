//! quinn as `h3` asks for it, besides what `h3-quinn` has: frames that claim too much are refused
//! (`frames`), a stream can be stopped while it is read, and whoever answers hears that its client
//! has gone. Knows no HTTP.

use super::frames::Frames;
use super::limits::FRAME_BYTES_MAX;
use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf};
use quinn::{Chunk, ConnectionError, ReadError, RecvStream, SendStream, VarInt, WriteError};
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
    gone: Option<Gone>,
    headers_bytes_max: usize,
}

type Opening = Pin<Box<dyn Future<Output = Result<SendStream, ConnectionError>> + Send>>;

/// Comes when the client does not want the answer any more, or has all of it.
pub(super) type Gone = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Quic {
    pub(super) fn new(connection: quinn::Connection, headers_bytes_max: usize) -> Self {
        Self {
            requests: ReusableBoxFuture::new(next_request(connection.clone())),
            one_way: ReusableBoxFuture::new(next_one_way(connection.clone())),
            opening: None,
            gone: None,
            connection,
            headers_bytes_max,
        }
    }

    /// That of the request that was accepted last; each is given away once.
    pub(super) fn take_gone(&mut self) -> Option<Gone> {
        self.gone.take()
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
        let receiving = accepted.map(|stream| Receiving {
            connection: Some(self.connection.clone()),
            ..Receiving::new(stream, frames)
        });
        Poll::Ready(receiving.map_err(lost))
    }

    fn poll_accept_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Request, ConnectionErrorIncoming>> {
        let accepted = ready!(self.requests.poll(cx));
        self.requests.set(next_request(self.connection.clone()));
        let (sending, receiving) = accepted.map_err(lost)?;
        let stopped = sending.stopped();
        self.gone = Some(Box::pin(async move { drop(stopped.await) }));
        let frames = Frames::of_request(self.headers_bytes_max, FRAME_BYTES_MAX);
        Poll::Ready(Ok(Request {
            sending: Sending { stream: sending, writing: None },
            receiving: Receiving::new(receiving, frames),
        }))
    }

    fn opener(&self) -> Self {
        Self::new(self.connection.clone(), self.headers_bytes_max)
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
            Ok(stream) => Ok(Sending { stream, writing: None }),
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

/// The side of a stream on which we speak.
pub(super) struct Sending {
    stream: SendStream,
    writing: Option<WriteBuf<Bytes>>,
}

/// The side of a stream on which the client speaks.
pub(super) struct Receiving {
    /// Not there while it is read.
    stream: Option<RecvStream>,
    reading: ReusableBoxFuture<'static, (RecvStream, Result<Option<Chunk>, ReadError>)>,
    id: StreamId,
    frames: Frames,
    /// What cannot go on without it.
    connection: Option<quinn::Connection>,
}

impl Receiving {
    fn new(stream: RecvStream, frames: Frames) -> Self {
        let id = id_of(stream.id());
        // Replaced before it is awaited.
        let reading = ReusableBoxFuture::new(std::future::pending());
        Self { stream: Some(stream), reading, id, frames, connection: None }
    }
}

async fn read(mut stream: RecvStream) -> (RecvStream, Result<Option<Chunk>, ReadError>) {
    let chunk = stream.read_chunk(usize::MAX, true).await;
    (stream, chunk)
}

impl quic::RecvStream for Receiving {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        if let Some(stream) = self.stream.take() {
            self.reading.set(read(stream));
        }
        let (stream, chunk) = ready!(self.reading.poll(cx));
        let stream = self.stream.insert(stream);
        let chunk = chunk.map_err(|error| match error {
            ReadError::Reset(code) => {
                StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() }
            }
            ReadError::ConnectionLost(error) => lost_by(error),
            error => StreamErrorIncoming::Unknown(Box::new(error)),
        })?;
        let Some(Chunk { bytes, .. }) = chunk else { return Poll::Ready(Ok(None)) };
        if let Err(error) = self.frames.pass(&bytes) {
            let code = number(Code::H3_EXCESSIVE_LOAD.value());
            match &self.connection {
                Some(connection) => connection.close(code, error.to_string().as_bytes()),
                None => _ = stream.stop(code),
            }
            return Poll::Ready(Err(StreamErrorIncoming::Unknown(Box::new(error))));
        }
        Poll::Ready(Ok(Some(bytes)))
    }

    /// One that is read now is stopped when it is dropped, which is soon.
    fn stop_sending(&mut self, code: u64) {
        if let Some(stream) = &mut self.stream {
            _ = stream.stop(number(code));
        }
    }

    fn recv_id(&self) -> StreamId {
        self.id
    }
}

impl quic::SendStream<Bytes> for Sending {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        if let Some(writing) = &mut self.writing {
            while writing.has_remaining() {
                let written = Pin::new(&mut self.stream).poll_write(cx, writing.chunk());
                let written = ready!(written).map_err(|error| match error {
                    WriteError::Stopped(code) => {
                        StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() }
                    }
                    WriteError::ConnectionLost(error) => lost_by(error),
                    error => StreamErrorIncoming::Unknown(Box::new(error)),
                })?;
                writing.advance(written);
            }
        }
        self.writing = None;
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.writing = Some(data.into());
        Ok(())
    }

    fn poll_finish(&mut self, _: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        let finished = self.stream.finish();
        Poll::Ready(finished.map_err(|error| StreamErrorIncoming::Unknown(Box::new(error))))
    }

    fn reset(&mut self, code: u64) {
        // One that has ended needs none.
        _ = self.stream.reset(number(code));
    }

    fn send_id(&self) -> StreamId {
        id_of(self.stream.id())
    }
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

fn lost(error: ConnectionError) -> ConnectionErrorIncoming {
    match error {
        ConnectionError::ApplicationClosed(closed) => {
            ConnectionErrorIncoming::ApplicationClose { error_code: closed.error_code.into_inner() }
        }
        ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        error => ConnectionErrorIncoming::Undefined(Arc::new(error)),
    }
}

fn lost_by(error: ConnectionError) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming { connection_error: lost(error) }
}

fn number(code: u64) -> VarInt {
    VarInt::from_u64(code).unwrap_or(VarInt::MAX)
}

fn id_of(id: quinn::StreamId) -> StreamId {
    u64::from(id).try_into().expect("both have the ids of QUIC")
}
