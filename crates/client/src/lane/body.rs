//! The body of an answer over a lane: handed over in the pieces in which it comes. With its end the
//! connection goes back to the lane; dropped before, it is closed.

use super::connection::Connection;
use super::head::{Head, Length};
use super::{Fault, Lane};
use crate::limits::{LANE_READ_BYTES, LANE_READ_BYTES_MAX, LEAVING_BYTES_MAX, LEAVING_TIME_MAX};
use bytes::{Buf, Bytes, BytesMut};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;
use tokio::time::timeout;

/// See above.
#[derive(Debug)]
pub(crate) struct Body {
    /// Nobody has it once everything was read.
    connection: Option<Connection>,
    lane: Arc<Lane>,
    rest: Rest,
    /// Whether the connection can be used again afterwards.
    is_last: bool,
    idle_max: Option<Duration>,
}

/// What is still to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    /// So many bytes.
    Known(u64),
    /// So many bytes of a chunk, and then its end.
    Chunk(u64),
    /// The length of a chunk.
    Size,
    /// The lines after the last chunk.
    Trailers,
    /// Whatever comes.
    All,
}

impl Rest {
    /// How much room the next read is worth.
    fn room(self) -> usize {
        match self {
            Self::Known(rest) | Self::Chunk(rest) => {
                let rest = usize::try_from(rest).unwrap_or(usize::MAX);
                rest.clamp(LANE_READ_BYTES, LANE_READ_BYTES_MAX)
            }
            Self::Size | Self::Trailers | Self::All => LANE_READ_BYTES,
        }
    }
}

/// Why a body cannot be had as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    TooLong,
    Faulty(Fault),
}

impl Body {
    pub(super) fn new(connection: Connection, lane: &Arc<Lane>, head: &Head) -> Self {
        let rest = match head.length {
            Length::Known(length) => Rest::Known(length),
            Length::Chunks => Rest::Size,
            Length::Rest => Rest::All,
        };
        let mut body = Self {
            connection: Some(connection),
            lane: Arc::clone(lane),
            rest,
            is_last: head.is_last || rest == Rest::All,
            idle_max: head.idle_max,
        };
        if rest == Rest::Known(0) {
            body.end();
        }
        body
    }

    /// How many bytes are still to come, where that was said.
    pub(crate) fn len(&self) -> Option<u64> {
        match (&self.connection, self.rest) {
            (None, _) => Some(0),
            (Some(_), Rest::Known(rest)) => Some(rest),
            _ => None,
        }
    }

    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// The server closed before the end, or what it sends is no body. Nothing comes after that.
    pub(crate) fn poll_piece(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Fault>>> {
        let piece = ready!(self.poll_step(cx));
        if piece.is_err() {
            self.connection = None;
        }
        Poll::Ready(piece.transpose())
    }

    /// All of it, if it is no longer than `limit`; `begun` is what was taken of it before.
    ///
    /// # Errors
    /// It is longer, or as above.
    pub(crate) async fn whole(mut self, begun: Bytes, limit: usize) -> Result<Bytes, Unread> {
        let limit_bytes = u64::try_from(limit).unwrap_or(u64::MAX);
        if let (Some(connection), Rest::Known(length)) = (&mut self.connection, self.rest) {
            if length > limit_bytes {
                return Err(Unread::TooLong);
            }
            // In one piece, if it comes by and by; what a head merely claims takes no memory yet.
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            poll_fn(|cx| fill(connection, length, cx)).await.map_err(Unread::Faulty)?;
        }
        let next = async |body: &mut Self| {
            poll_fn(|cx| body.poll_piece(cx)).await.transpose().map_err(Unread::Faulty)
        };
        let (mut all, mut last) = (BytesMut::new(), begun);
        loop {
            if all.len() + last.len() > limit {
                return Err(Unread::TooLong);
            }
            match next(&mut self).await? {
                None if all.is_empty() => return Ok(last),
                None => break,
                Some(piece) => all.extend_from_slice(&std::mem::replace(&mut last, piece)),
            }
        }
        all.extend_from_slice(&last);
        Ok(all.freeze())
    }

    /// What matters has come. Where the rest, which mostly is its end, comes soon, the connection
    /// is used again; unless others are left as well, more than may be idle.
    pub(crate) fn leave(self) {
        let lane = Arc::clone(&self.lane);
        let mut leaving = Box::pin(self.drain());
        if leaving.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            return;
        }
        if let Ok(place) = Arc::clone(&lane.leaving).try_acquire_owned() {
            tokio::spawn(async move {
                // In vain, it is closed.
                _ = timeout(LEAVING_TIME_MAX, leaving).await;
                drop(place);
            });
        }
    }

    /// Reads a little to its end.
    async fn drain(mut self) {
        let mut left = LEAVING_BYTES_MAX;
        while let Some(Ok(piece)) = poll_fn(|cx| self.poll_piece(cx)).await {
            let Some(rest) = left.checked_sub(piece.len()) else { return };
            left = rest;
        }
    }

    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, Fault>> {
        loop {
            let Some(connection) = &mut self.connection else { return Poll::Ready(Ok(None)) };
            let unread = &mut connection.unread;
            match self.rest {
                Rest::Known(rest) | Rest::Chunk(rest) if rest > 0 && !unread.is_empty() => {
                    let there = u64::try_from(unread.len()).unwrap_or(u64::MAX);
                    let taken = usize::try_from(rest.min(there)).unwrap_or(unread.len());
                    let (piece, rest) = (unread.split_to(taken).freeze(), rest.min(there));
                    self.pass(rest);
                    return Poll::Ready(Ok(Some(piece)));
                }
                Rest::All if !unread.is_empty() => {
                    return Poll::Ready(Ok(Some(unread.split().freeze())));
                }
                Rest::Chunk(0) if unread.len() >= 2 => {
                    if !unread.starts_with(b"\r\n") {
                        return Poll::Ready(Err(Fault::NotHttp));
                    }
                    unread.advance(2);
                    self.rest = Rest::Size;
                    continue;
                }
                Rest::Size => match httparse::parse_chunk_size(unread) {
                    Err(_) => return Poll::Ready(Err(Fault::NotHttp)),
                    Ok(httparse::Status::Complete((line, size))) => {
                        unread.advance(line);
                        self.rest = if size == 0 { Rest::Trailers } else { Rest::Chunk(size) };
                        continue;
                    }
                    Ok(httparse::Status::Partial) if unread.len() > LINE_BYTES_MAX => {
                        return Poll::Ready(Err(Fault::NotHttp));
                    }
                    Ok(httparse::Status::Partial) => {}
                },
                Rest::Trailers => match line(unread) {
                    // An empty line is the end.
                    Some(0) => {
                        unread.advance(2);
                        self.end();
                        return Poll::Ready(Ok(None));
                    }
                    Some(length) => {
                        unread.advance(length + 2);
                        continue;
                    }
                    None if unread.len() > LINE_BYTES_MAX => {
                        return Poll::Ready(Err(Fault::NotHttp));
                    }
                    None => {}
                },
                _ => {}
            }
            if let Err(fault) = ready!(connection.poll_fill(self.rest.room(), cx)) {
                if self.rest != Rest::All {
                    return Poll::Ready(Err(fault));
                }
                self.end();
            }
        }
    }

    /// So many bytes were taken.
    fn pass(&mut self, taken: u64) {
        match &mut self.rest {
            Rest::Known(rest) => {
                *rest -= taken;
                if *rest == 0 {
                    self.end();
                }
            }
            Rest::Chunk(rest) => *rest -= taken,
            Rest::Size | Rest::Trailers | Rest::All => {}
        }
    }

    /// Everything was read.
    fn end(&mut self) {
        self.rest = Rest::Known(0);
        // What comes after the end is the answer to nothing.
        let connection = self.connection.take().filter(|one| one.unread.is_empty());
        if let Some(connection) = connection.filter(|_| !self.is_last) {
            self.lane.take_back(connection, self.idle_max);
        }
    }
}

/// The longest line of a chunked body, be it of a length or a trailer.
const LINE_BYTES_MAX: usize = 8 * 1024;

/// Reads until so many bytes are there.
fn fill(
    connection: &mut Connection,
    length: usize,
    cx: &mut Context<'_>,
) -> Poll<Result<(), Fault>> {
    while let Some(missing) = length.checked_sub(connection.unread.len()).filter(|rest| *rest > 0) {
        ready!(connection.poll_fill(missing.min(LANE_READ_BYTES_MAX), cx))?;
    }
    Poll::Ready(Ok(()))
}

/// The length of the first line, if it has an end.
fn line(unread: &[u8]) -> Option<usize> {
    unread.windows(2).position(|two| two == b"\r\n")
}
