//! Frames: one message after another on a stream, each with its number and its length before it.

use crate::error::Malformed;
use crate::message::Frame;
use crate::wire::{DELIMITED, Rest, push_varint, varint, varint_length};

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
    let Some((tag, tag_length)) = varint(bytes)? else {
        return Ok(Read::More { needed: bytes.len() + 1 });
    };
    let (number, wire) = Rest(&bytes[..tag_length]).tag()?.ok_or(Malformed::NoField)?;
    if wire != DELIMITED {
        // Numbers on their own may come in a later version; there is none that is long.
        let mut rest = Rest(&bytes[tag_length..]);
        return match rest.skip(wire) {
            Ok(()) => Ok(Read::Unknown { length: bytes.len() - rest.0.len() }),
            Err(Malformed::CutShort) => Ok(Read::More { needed: bytes.len() + 1 }),
            Err(error) => Err(error),
        };
    }
    debug_assert_eq!(tag >> 3, u64::from(number));
    let Some((claimed, length_length)) = varint(&bytes[tag_length..])? else {
        return Ok(Read::More { needed: bytes.len() + 1 });
    };
    let claim = usize::try_from(claimed).ok().filter(|length| *length <= most);
    let body_length = claim.ok_or(Malformed::FrameTooLong { bytes: claimed, most })?;
    let head = tag_length + length_length;
    let length = head + body_length;
    let Some(body) = bytes.get(head..length) else { return Ok(Read::More { needed: length }) };
    Ok(match Frame::of(number, body)? {
        Some(frame) => Read::Frame { frame, length },
        None => Read::Unknown { length },
    })
}

/// Appends a frame.
pub fn write(frame: &Frame<'_>, out: &mut Vec<u8>) {
    let body = frame.length();
    out.reserve(1 + varint_length(body as u64) + body);
    out.push((frame.number() as u8) << 3 | DELIMITED);
    push_varint(out, body as u64);
    frame.write(out);
}
