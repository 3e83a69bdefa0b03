//! Frames over one stream, in and out, whatever the stream is of. Each frame that came is shared
//! with whoever keeps a part of it; nothing is copied but off the stream and onto it.

use crate::credit::Miscounted;
use crate::frames;
use bytes::{Bytes, BytesMut};
use haft_link::{Frame, Malformed, Read, read, write};
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// How much room there is for what comes next.
const READ_BYTES: usize = 4096;

/// Why no more frames can be had, or sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    /// The stream, or all of the link.
    #[error("{0}")]
    Stream(#[from] io::Error),
    /// What came is no frame.
    #[error("{0}")]
    Malformed(#[from] Malformed),
    /// It ended within a frame.
    #[error("a stream that ends within a frame")]
    CutShort,
    /// More came than may before it is known who says it.
    #[error("more than may be said before a handshake has ended")]
    TooMuch,
    /// It has counted what there is not.
    #[error("{}", crate::ending::Ending::Credit)]
    Miscounted,
}

impl From<Miscounted> for Broken {
    fn from(_: Miscounted) -> Self {
        Self::Miscounted
    }
}

/// The frames that come.
pub(crate) struct Incoming<R> {
    stream: R,
    buffer: BytesMut,
    /// The longest of them.
    most: usize,
    /// How many bytes may come in all.
    left: usize,
}

/// A frame that came, whole and of a kind that is known.
#[derive(Clone, Debug)]
pub(crate) struct Came(Bytes);

impl Came {
    /// What it says.
    pub(crate) fn frame(&self) -> Frame<'_> {
        match read(&self.0, self.0.len()) {
            Ok(Read::Frame { frame, .. }) => frame,
            _ => unreachable!("it was read before"),
        }
    }

    /// A part of it, without a copy.
    pub(crate) fn share(&self, part: &[u8]) -> Bytes {
        match part.is_empty() {
            true => Bytes::new(),
            false => self.0.slice_ref(part),
        }
    }
}

impl<R: AsyncRead + Unpin> Incoming<R> {
    pub(crate) fn new(stream: R, most: usize) -> Self {
        Self { stream, buffer: BytesMut::new(), most, left: usize::MAX }
    }

    /// The same with its stream as another type, and frames of so many bytes.
    pub(crate) fn over<S>(self, stream: impl FnOnce(R) -> S, most: usize) -> Incoming<S> {
        Incoming { stream: stream(self.stream), buffer: self.buffer, most, left: self.left }
    }

    /// From now on no frame is longer than so many bytes, and there may be any number of them.
    pub(crate) fn at_most(&mut self, most: usize) {
        (self.most, self.left) = (most, usize::MAX);
    }

    /// From now on so many bytes may come in all, be they of frames that nobody knows.
    pub(crate) fn in_all(&mut self, most: usize) {
        self.left = most;
    }

    /// Whether what comes begins as a frame of that number.
    pub(crate) async fn begins_with(&mut self, number: u8) -> Result<bool, Broken> {
        if self.buffer.is_empty() && self.stream.read_buf(&mut self.buffer).await? == 0 {
            return Ok(false);
        }
        Ok(self.buffer[0] >> 3 == number)
    }

    /// The next frame; `None` at the end. What nobody here knows is passed over. May be dropped
    /// between, and nothing is lost.
    pub(crate) async fn next(&mut self) -> Result<Option<Came>, Broken> {
        loop {
            let needed = match read(&self.buffer, self.most)? {
                Read::Frame { frame, length } => {
                    frames::came(&frame);
                    return Ok(Some(Came(self.buffer.split_to(length).freeze())));
                }
                Read::Unknown { length } => {
                    drop(self.buffer.split_to(length));
                    continue;
                }
                Read::More { needed } => needed,
            };
            self.buffer.reserve((needed - self.buffer.len()).max(READ_BYTES));
            let count = self.stream.read_buf(&mut self.buffer).await?;
            if count == 0 {
                return match self.buffer.is_empty() {
                    true => Ok(None),
                    false => Err(Broken::CutShort),
                };
            }
            self.left = self.left.checked_sub(count).ok_or(Broken::TooMuch)?;
        }
    }
}

/// The way for frames that go.
pub(crate) struct Outgoing<W> {
    stream: W,
    buffer: Vec<u8>,
}

impl<W: AsyncWrite + Unpin> Outgoing<W> {
    pub(crate) fn new(stream: W) -> Self {
        Self { stream, buffer: Vec::new() }
    }

    /// Puts one beside those that wait to be sent.
    pub(crate) fn put<'a>(&mut self, frame: impl Into<Frame<'a>>) {
        let frame = frame.into();
        frames::goes(&frame);
        write(&frame, &mut self.buffer);
    }

    /// Puts frames there that were written before.
    pub(crate) fn put_written(&mut self, written: &[u8]) {
        frames::go(written);
        self.buffer.extend_from_slice(written);
    }

    /// How many bytes wait.
    pub(crate) fn waiting(&self) -> usize {
        self.buffer.len()
    }

    /// Sends what waits.
    pub(crate) async fn flush(&mut self) -> Result<(), Broken> {
        self.stream.write_all(&self.buffer).await?;
        self.buffer.clear();
        Ok(())
    }

    /// The same with one more.
    pub(crate) async fn send<'a>(&mut self, frame: impl Into<Frame<'a>>) -> Result<(), Broken> {
        self.put(frame);
        self.flush().await
    }

    pub(crate) fn stream(&mut self) -> &mut W {
        &mut self.stream
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_link::{Ping, Pong};
    use tokio::io::duplex;

    #[tokio::test]
    async fn frames_come_whole_however_they_are_cut() {
        let (near, far) = duplex(3);
        let sender = tokio::spawn(async move {
            let mut out = Outgoing::new(near);
            for nonce in 0..100 {
                out.put(Ping { nonce: nonce << 20 });
                out.put(Pong { nonce });
            }
            out.flush().await
        });
        let mut frames = Incoming::new(far, 64);
        for nonce in 0..100 {
            let ping = frames.next().await.expect("no mistake").expect("a frame");
            assert_eq!(ping.frame(), Frame::Ping(Ping { nonce: nonce << 20 }));
            let pong = frames.next().await.expect("no mistake").expect("a frame");
            assert_eq!(pong.frame(), Frame::Pong(Pong { nonce }));
        }
        assert!(frames.next().await.expect("no mistake").is_none());
        sender.await.expect("no panic").expect("it is sent");
    }

    #[tokio::test]
    async fn a_stream_that_ends_within_a_frame_is_cut_short() {
        let mut frames = Incoming::new(&[0x52, 2, 8][..], 64);
        assert!(matches!(frames.next().await, Err(Broken::CutShort)));
    }
}
