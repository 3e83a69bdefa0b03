//! The side of a stream of QUIC on which the client speaks, as `h3` asks for it. Frames that claim
//! too much are refused (`frames`), those that must be whole to be read are handed over whole, and
//! one that ends before its end is an error. Knows no HTTP.

use super::frames::Frames;
use super::quic::{id_of, lost_by, number};
use crate::bounds::Share;
use bytes::{Bytes, BytesMut};
use h3::error::Code;
use h3::quic::{self, StreamErrorIncoming, StreamId};
use quinn::{Chunk, ReadError, RecvStream};
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use tokio::task::coop;
use tokio_util::sync::ReusableBoxFuture;

/// See the head of this file.
pub(super) struct Receiving {
    /// Not there while it is read.
    stream: Option<Stopped>,
    reading: ReusableBoxFuture<'static, (Stopped, Result<Option<Chunk>, ReadError>)>,
    id: StreamId,
    frames: Frames,
    /// What has come of a frame that must be whole: `h3` keeps each piece as it came, and adds them
    /// all up for each that comes next.
    gathered: BytesMut,
    /// Those bytes, among all of the listener.
    held: Share,
    come: Arc<Come>,
    /// What cannot go on without it.
    connection: Option<quinn::Connection>,
}

/// How much of a body has come, for whoever cannot tell its end from a frame without a byte.
#[derive(Debug, Default)]
pub(super) struct Come {
    bytes: AtomicU64,
    is_all: AtomicBool,
}

impl Come {
    /// Whether so many bytes are the whole body.
    pub(super) fn is_whole_of(&self, bytes: u64) -> bool {
        self.is_all.load(Ordering::Relaxed) && self.bytes.load(Ordering::Relaxed) == bytes
    }
}

/// A stream whose client hears that the rest is not wanted when this is dropped; quinn would say
/// so with a code that is none of HTTP/3.
struct Stopped(RecvStream);

impl Drop for Stopped {
    fn drop(&mut self) {
        // One that has come to its end, or was stopped before, needs none.
        _ = self.0.stop(number(Code::H3_NO_ERROR.value()));
    }
}

/// Why a stream is not read on.
#[derive(Debug)]
enum Refused {
    /// It ends within a frame (RFC 9114, 7.1).
    Cut,
    /// Too much is held of headers that are not whole.
    NoRoom,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cut => "the stream ends within a frame",
            Self::NoRoom => "too many requests have begun and are not whole",
        })
    }
}

impl Error for Refused {}

impl Receiving {
    pub(super) fn new(stream: RecvStream, frames: Frames, held: Share) -> Self {
        let id = id_of(stream.id());
        // Replaced before it is awaited.
        let reading = ReusableBoxFuture::new(std::future::pending());
        let (stream, gathered, come) = (Some(Stopped(stream)), BytesMut::new(), Arc::default());
        Self { stream, reading, id, frames, gathered, held, come, connection: None }
    }

    /// The same of a stream without which that connection cannot go on.
    pub(super) fn needed_by(mut self, connection: quinn::Connection) -> Self {
        self.connection = Some(connection);
        self
    }

    /// What has come of its body.
    pub(super) fn come(&self) -> Arc<Come> {
        Arc::clone(&self.come)
    }

    /// Reads no more, or lets go of all of the connection.
    fn refuse(
        &mut self,
        code: Code,
        why: impl Error + Send + Sync + 'static,
    ) -> StreamErrorIncoming {
        let number = number(code.value());
        match (&self.connection, &mut self.stream) {
            (Some(connection), _) => connection.close(number, why.to_string().as_bytes()),
            (None, Some(stream)) => _ = stream.0.stop(number),
            (None, None) => {}
        }
        StreamErrorIncoming::Unknown(Box::new(why))
    }

    /// The next bytes that may be read, if they can be now.
    fn pass(&mut self, bytes: Bytes) -> Result<Option<Bytes>, StreamErrorIncoming> {
        self.frames.pass(&bytes).map_err(|error| self.refuse(Code::H3_EXCESSIVE_LOAD, error))?;
        self.come.bytes.store(self.frames.body_bytes(), Ordering::Relaxed);
        if self.frames.must_be_whole() {
            if !self.held.take_whole(bytes.len()) {
                return Err(self.refuse(Code::H3_EXCESSIVE_LOAD, Refused::NoRoom));
            }
            self.gathered.extend_from_slice(&bytes);
            return Ok(None);
        }
        if self.gathered.is_empty() {
            return Ok(Some(bytes));
        }
        self.held.give(self.held.taken());
        self.gathered.extend_from_slice(&bytes);
        Ok(Some(std::mem::take(&mut self.gathered).freeze()))
    }
}

async fn read(mut stream: Stopped) -> (Stopped, Result<Option<Chunk>, ReadError>) {
    let chunk = stream.0.read_chunk(usize::MAX, true).await;
    (stream, chunk)
}

impl quic::RecvStream for Receiving {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        loop {
            // However much there is, others have their turn.
            let turn = ready!(coop::poll_proceed(cx));
            if let Some(stream) = self.stream.take() {
                self.reading.set(read(stream));
            }
            let (stream, chunk) = ready!(self.reading.poll(cx));
            turn.made_progress();
            self.stream = Some(stream);
            let chunk = chunk.map_err(|error| match error {
                ReadError::Reset(code) => {
                    StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() }
                }
                ReadError::ConnectionLost(error) => lost_by(error),
                error => StreamErrorIncoming::Unknown(Box::new(error)),
            })?;
            let Some(Chunk { bytes, .. }) = chunk else {
                if !self.frames.is_whole() {
                    return Poll::Ready(Err(self.refuse(Code::H3_FRAME_ERROR, Refused::Cut)));
                }
                self.come.is_all.store(true, Ordering::Relaxed);
                return Poll::Ready(Ok(None));
            };
            if let Some(bytes) = self.pass(bytes)? {
                return Poll::Ready(Ok(Some(bytes)));
            }
        }
    }

    /// One that is read now is stopped when it is dropped, which is soon.
    fn stop_sending(&mut self, code: u64) {
        if let Some(stream) = &mut self.stream {
            _ = stream.0.stop(number(code));
        }
    }

    fn recv_id(&self) -> StreamId {
        self.id
    }
}
