//! Frames: one message after another on a stream, each with its number and its length before it.

use crate::error::Malformed;
use crate::field::tag;
use crate::message::Frame;
use crate::wire::{DELIMITED, Rest, parts, push_varint, varint_length};

/// What the beginning of some bytes is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read<'m> {
    /// A message.
    Frame {
        /// It lies in those bytes.
        frame: Frame<'m>,
        /// How many bytes it takes with its head.
        length: usize,
    },
    /// Something of a later version, of as many bytes.
    Unknown {
        /// How many to pass over; all of them are there.
        length: usize,
    },
    /// The beginning of a frame, of which more is to come.
    More {
        /// How many bytes there must be before it is worth while to look again.
        needed: usize,
    },
}

/// Reads the frame at the beginning of these bytes, which is no longer than `most` without its
/// head. A longer one is refused as soon as its length is there.
///
/// ```
/// use haft_link::{Frame, Ping, Read, read, write};
/// let mut bytes = Vec::new();
/// write(&Ping { nonce: 7 }.into(), &mut bytes);
/// assert_eq!(bytes, b"\x52\x02\x08\x07");
/// let expected = Frame::Ping(Ping { nonce: 7 });
/// assert_eq!(read(&bytes, 1024), Ok(Read::Frame { frame: expected, length: 4 }));
/// assert_eq!(read(&bytes[..3], 1024), Ok(Read::More { needed: 4 }));
/// ```
///
/// # Errors
/// [`Malformed`]: the stream says nothing any more that can be trusted.
pub fn read(bytes: &[u8], most: usize) -> Result<Read<'_>, Malformed> {
    let mut rest = Rest(bytes);
    let Some(tag) = more(rest.tag())?.flatten() else {
        return Ok(Read::More { needed: bytes.len() + 1 });
    };
    let (number, wire) = parts(tag)?;
    if wire != DELIMITED {
        // Numbers on their own may come in a later version; there is none that is long.
        return Ok(match more(rest.skip(wire))? {
            Some(()) => Read::Unknown { length: bytes.len() - rest.0.len() },
            None => Read::More { needed: bytes.len() + 1 },
        });
    }
    let Some(bytes_claimed) = more(rest.varint())? else {
        return Ok(Read::More { needed: bytes.len() + 1 });
    };
    let claim = usize::try_from(bytes_claimed).ok().filter(|length| *length <= most);
    let body = claim.ok_or(Malformed::FrameTooLong { bytes: bytes_claimed, most })?;
    let length = bytes.len() - rest.0.len() + body;
    match rest.0.get(..body) {
        Some(body) => Frame::read(number, body, length),
        None => Ok(Read::More { needed: length }),
    }
}

/// What is cut short may come yet.
#[inline]
fn more<T>(read: Result<T, Malformed>) -> Result<Option<T>, Malformed> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(Malformed::CutShort) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Appends a frame.
pub fn write(frame: &Frame<'_>, out: &mut Vec<u8>) {
    frame.write(out);
}

/// Makes room for a frame of so many bytes, and appends what comes before them.
#[inline]
pub(crate) fn head(number: u32, body: usize, out: &mut Vec<u8>) {
    // A number is put there as a word that is longer than it is.
    out.reserve(size_of::<u64>() + 1 + varint_length(body as u64) + body);
    push_varint(tag(number, DELIMITED), body as u64, out);
}
