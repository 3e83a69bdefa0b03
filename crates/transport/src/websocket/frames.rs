//! The frames of one connection: what the peer sends becomes messages, read from the socket into
//! the buffer that they are taken from; what is said to it is framed where it is written. Knows no
//! JSON, and waits for nothing.

use super::passing::Passing;
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

/// The longest message whose buffer is kept for the next.
const KEPT_BYTES: usize = 4 * READ_BYTES;

/// See the head of this file.
pub(super) struct Frames {
    context: WebSocketContext,
    config: WebSocketConfig,
    /// What has been read.
    passing: Passing,
    /// What counts of that which is of no message yet, among all of the listener.
    held: Share,
    /// The longest message since the context was made, whose buffer it keeps.
    longest: usize,
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
            config,
            passing: Passing::default(),
            held: bodies.share(),
            longest: 0,
        }
    }

    /// Whether a message has begun that is not at its end.
    pub(super) fn has_unfinished(&self) -> bool {
        self.passing.unfinished() > 0
    }

    /// The next message of those that have been read, if one is whole.
    pub(super) fn next_read(&mut self, out: &mut Vec<u8>) -> Result<Option<Heard>, Deaf> {
        let mut io = Io { stream: &mut tokio::io::empty(), cx: None, out, read: None };
        let heard = self.context.read(&mut io);
        self.heard(heard, false)
    }

    /// The next message, after at most one read.
    pub(super) fn poll<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
        out: &mut Vec<u8>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Heard, Deaf>> {
        let mut io = Io { stream, cx: Some(cx), out, read: Some(&mut self.passing) };
        let heard = self.context.read(&mut io);
        // It is taken with the first bytes that come.
        let has_read = io.read.is_none();
        match self.heard(heard, has_read).transpose() {
            Some(heard) => Poll::Ready(heard),
            None => Poll::Pending,
        }
    }

    fn heard(
        &mut self,
        heard: Result<Message, Error>,
        has_read: bool,
    ) -> Result<Option<Heard>, Deaf> {
        let heard = match heard {
            Ok(Message::Text(text)) => Heard::Message(text),
            Ok(Message::Binary(_)) => Heard::Binary,
            Ok(Message::Close(_)) => Heard::Closed,
            Ok(_) => return Ok(Some(Heard::Control)),
            Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                let counted = self.held.taken() + READ_BYTES;
                let more = self.passing.unfinished().saturating_sub(counted);
                if more > 0 && !self.held.take_whole(more) {
                    return Err(Deaf::NoRoom);
                }
                self.let_go();
                return Ok(has_read.then_some(Heard::Some));
            }
            Err(error) => return Err(Deaf::Error(error)),
        };
        if let Heard::Message(message) = &heard {
            self.longest = self.longest.max(message.len());
        }
        self.held.give(self.held.taken());
        Ok(Some(heard))
    }

    /// Gives up the buffer of a long message, which the context would keep for another: whoever is
    /// silent holds no more than whoever never said a word. All that was read has been taken.
    fn let_go(&mut self) {
        if self.longest > KEPT_BYTES && self.passing.is_between_messages() {
            self.context = WebSocketContext::new(Role::Server, Some(self.config));
            self.longest = 0;
        }
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
    /// Who sees what is read, until anything was.
    read: Option<&'a mut Passing>,
}

impl<S: AsyncRead + Unpin> Read for Io<'_, '_, S> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let Some(cx) = self.cx.take() else { return Err(io::ErrorKind::WouldBlock.into()) };
        let mut room = ReadBuf::new(room);
        match Pin::new(&mut *self.stream).poll_read(cx, &mut room) {
            Poll::Ready(read) => {
                read?;
                if let Some(passing) = self.read.take() {
                    passing.pass(room.filled());
                }
                Ok(room.filled().len())
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
    use std::task::Waker;

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

    /// A text with a mask of zeros.
    fn text(length: usize) -> Vec<u8> {
        let mut frame = vec![TEXT, 0xff];
        frame.extend((length as u64).to_be_bytes());
        frame.extend([0; 4]);
        frame.resize(frame.len() + length, b' ');
        frame
    }

    /// The lengths of the messages in those bytes, as whoever is served takes them.
    fn heard(frames: &mut Frames, mut bytes: &[u8]) -> Vec<usize> {
        let (mut lengths, mut out) = (Vec::new(), Vec::new());
        let mut cx = Context::from_waker(Waker::noop());
        while !bytes.is_empty() {
            let polled = frames.poll(&mut bytes, &mut out, &mut cx);
            let mut next = match polled {
                Poll::Ready(Ok(heard)) => Some(heard),
                Poll::Ready(Err(_)) => panic!("all is well"),
                Poll::Pending => None,
            };
            while let Some(heard) = next {
                if let Heard::Message(message) = heard {
                    lengths.push(message.len());
                }
                next = frames.next_read(&mut out).unwrap_or_else(|_| panic!("all is well"));
            }
        }
        lengths
    }

    #[test]
    fn a_long_message_leaves_no_long_buffer_behind_and_nothing_is_lost_by_that() {
        let mut frames = Frames::new(&Limits::default(), &Bound::new(1 << 30));
        let long = KEPT_BYTES + 1;
        assert_eq!(heard(&mut frames, &text(long)), [long]);
        assert_eq!(frames.longest, 0, "its buffer is given up");
        // Not while a part of the next has been read.
        let (mut two, next) = (text(long), text(10));
        two.extend_from_slice(&next[..7]);
        assert_eq!(heard(&mut frames, &two), [long]);
        assert!(frames.longest == long && frames.has_unfinished());
        assert_eq!(heard(&mut frames, &next[7..]), [10]);
        assert!(frames.longest == 0 && !frames.has_unfinished());
        assert_eq!(heard(&mut frames, &text(10)), [10]);
    }
}
