//! The frames of one connection: what the peer sends becomes messages, read from the socket into
//! the buffer that they are taken from; what is said to it is framed where it is written. Knows no
//! JSON, and waits for nothing.

use crate::bounds::{Bound, Share};
use crate::talk::Framing;
use bytes::Bytes;
use haft_proto::limits::Limits;
use std::io::{self, Read, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, ReadBuf};
use tungstenite::protocol::{CloseFrame, Role, WebSocketConfig, WebSocketContext};
use tungstenite::{Error, Message, Utf8Bytes};

/// A message is one text frame, not masked, as a server sends it.
pub(super) struct TextFrames;

/// How much is kept before a message for its header: what most have.
const HEADER: usize = 4;

/// A text frame that is the last of its message.
const TEXT: u8 = 0x81;

impl Framing for TextFrames {
    // There may be many more of these than there are pipes.
    const KEPT: usize = 16 * 1024;

    fn begin(out: &mut Vec<u8>) {
        out.extend_from_slice(&[TEXT, 126, 0, 0]);
    }

    /// The length takes as few bytes as it can (RFC 6455, 5.2).
    fn end(out: &mut Vec<u8>, start: usize) {
        let length = out.len() - start - HEADER;
        if let Ok(short) = u8::try_from(length)
            && short < 126
        {
            out[start + 1] = short;
            out.copy_within(start + HEADER.., start + 2);
            out.truncate(out.len() - 2);
        } else if let Ok(long) = u16::try_from(length) {
            out[start + 2..start + HEADER].copy_from_slice(&long.to_be_bytes());
        } else {
            out[start + 1] = 127;
            let length = (length as u64).to_be_bytes();
            out.splice(start + 2..start + HEADER, length);
        }
    }
}

/// What the peer has said.
pub(super) enum Heard {
    Message(Utf8Bytes),
    /// A ping that is answered, or a pong.
    Control,
    Binary,
    /// Some bytes, and no whole frame yet.
    Some,
    Closed,
}

/// Why nothing more is heard.
pub(super) enum Deaf {
    Error(Error),
    /// Too much of unfinished messages is held.
    NoRoom,
}

/// How much is read from the socket at once.
const READ_BYTES: usize = 16 * 1024;

/// See the head of this file.
pub(super) struct Frames {
    context: WebSocketContext,
    /// Bytes that are of no message or ping yet, as far as is known: never more than there are.
    unfinished: usize,
    /// Those of them that count, among all of the listener.
    held: Share,
}

impl Frames {
    pub(super) fn new(limits: &Limits, bodies: &Arc<Bound>) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BYTES)
            .write_buffer_size(0)
            .max_message_size(Some(limits.message_bytes))
            .max_frame_size(Some(limits.message_bytes));
        Self {
            context: WebSocketContext::new(Role::Server, Some(config)),
            unfinished: 0,
            held: bodies.share(),
        }
    }

    /// Whether a message has begun that is not at its end.
    pub(super) fn has_unfinished(&self) -> bool {
        self.unfinished > 0
    }

    /// The next message of those that have been read, if one is whole.
    pub(super) fn next_read(&mut self, out: &mut Vec<u8>) -> Result<Option<Heard>, Deaf> {
        let mut io = Io { stream: &mut tokio::io::empty(), cx: None, out, read: None };
        let heard = self.context.read(&mut io);
        self.heard(heard, None)
    }

    /// The next message, after at most one read.
    pub(super) fn poll<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
        out: &mut Vec<u8>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Heard, Deaf>> {
        let mut io = Io { stream, cx: Some(cx), out, read: None };
        let heard = self.context.read(&mut io);
        let read = io.read;
        match self.heard(heard, read).transpose() {
            Some(heard) => Poll::Ready(heard),
            None => Poll::Pending,
        }
    }

    fn heard(
        &mut self,
        heard: Result<Message, Error>,
        read: Option<usize>,
    ) -> Result<Option<Heard>, Deaf> {
        self.unfinished += read.unwrap_or(0);
        let heard = match heard {
            Ok(Message::Text(text)) => Heard::Message(text),
            Ok(Message::Binary(_)) => Heard::Binary,
            Ok(Message::Close(_)) => Heard::Closed,
            Ok(control) => {
                // Such a frame has a header of two bytes, and a mask.
                self.unfinished = self.unfinished.saturating_sub(control.len() + 6);
                return Ok(Some(Heard::Control));
            }
            Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                let more = self.unfinished.saturating_sub(self.held.taken() + READ_BYTES);
                if more > 0 && !self.held.take_whole(more) {
                    return Err(Deaf::NoRoom);
                }
                return Ok(read.map(|_| Heard::Some));
            }
            Err(error) => return Err(Deaf::Error(error)),
        };
        self.unfinished = 0;
        self.held.give(self.held.taken());
        Ok(Some(heard))
    }

    /// Appends a ping.
    pub(super) fn ping(&mut self, out: &mut Vec<u8>) {
        self.write(out, Message::Ping(Bytes::new()));
    }

    /// Appends the last frame, or the answer to the peer's.
    pub(super) fn close(&mut self, out: &mut Vec<u8>, last: Option<CloseFrame>) {
        match last {
            Some(last) => self.write(out, Message::Close(Some(last))),
            None => {
                let mut io = Io { stream: &mut tokio::io::empty(), cx: None, out, read: None };
                // It says that the connection is over, which is known.
                _ = self.context.flush(&mut io);
            }
        }
    }

    fn write(&mut self, out: &mut Vec<u8>, message: Message) {
        let mut io = Io { stream: &mut tokio::io::empty(), cx: None, out, read: None };
        // A pong that is due comes before. A vector takes all there is; what is over takes nothing
        // more, rightly.
        _ = self.context.flush(&mut io).and_then(|()| self.context.write(&mut io, message));
    }
}

/// Where frames are read from, once, and written to.
struct Io<'a, 'c, S> {
    stream: &'a mut S,
    /// `None` where nothing more may be read.
    cx: Option<&'a mut Context<'c>>,
    out: &'a mut Vec<u8>,
    /// What has been read, if anything was there.
    read: Option<usize>,
}

impl<S: AsyncRead + Unpin> Read for Io<'_, '_, S> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let Some(cx) = self.cx.take() else { return Err(io::ErrorKind::WouldBlock.into()) };
        let mut room = ReadBuf::new(room);
        match Pin::new(&mut *self.stream).poll_read(cx, &mut room) {
            Poll::Ready(read) => {
                read?;
                let count = room.filled().len();
                self.read = Some(count);
                Ok(count)
            }
            Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

impl<S> Write for Io<'_, '_, S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_says_its_length_in_as_few_bytes_as_it_can() {
        for (length, head) in [
            (0, vec![0x81, 0]),
            (125, vec![0x81, 125]),
            (126, vec![0x81, 126, 0, 126]),
            (65_535, vec![0x81, 126, 255, 255]),
            (65_536, vec![0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
        ] {
            let mut out = b"before".to_vec();
            TextFrames::begin(&mut out);
            out.resize(out.len() + length, b'x');
            TextFrames::end(&mut out, 6);
            assert_eq!(&out[..6 + head.len()], [b"before", &head[..]].concat(), "{length}");
            assert!(out[6 + head.len()..].iter().all(|byte| *byte == b'x'));
            assert_eq!(out.len(), 6 + head.len() + length);
        }
    }
}
