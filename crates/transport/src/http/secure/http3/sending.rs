//! The side of a stream of QUIC on which we speak, as `h3` asks for it. Where nothing is answered
//! the stream is reset, which quinn would end as if that were an answer.

use super::quic::{id_of, lost_by, number};
use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::quic::{self, StreamErrorIncoming, StreamId, WriteBuf};
use quinn::{SendStream, WriteError};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// See the head of this file.
pub(super) struct Sending {
    stream: SendStream,
    writing: Option<WriteBuf<Bytes>>,
    /// Whether an answer is due of which nothing has been said.
    is_due: bool,
}

impl Sending {
    /// Of a stream on which a request comes.
    pub(super) fn answer(stream: SendStream) -> Self {
        Self { stream, writing: None, is_due: true }
    }

    /// Of a stream on which only we speak.
    pub(super) fn one_way(stream: SendStream) -> Self {
        Self { stream, writing: None, is_due: false }
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        if self.is_due {
            // One whose client has gone needs none.
            _ = self.stream.reset(number(Code::H3_REQUEST_INCOMPLETE.value()));
        }
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
        self.is_due = false;
        Ok(())
    }

    fn poll_finish(&mut self, _: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.is_due = false;
        let finished = self.stream.finish();
        Poll::Ready(finished.map_err(|error| StreamErrorIncoming::Unknown(Box::new(error))))
    }

    fn reset(&mut self, code: u64) {
        self.is_due = false;
        // One that has ended needs none.
        _ = self.stream.reset(number(code));
    }

    fn send_id(&self) -> StreamId {
        id_of(self.stream.id())
    }
}
