//! Numbers, tags and lengths of the Protocol Buffers encoding, from a slice and into a buffer.
//! It knows no message.
//!
//! <https://protobuf.dev/programming-guides/encoding/>

use crate::error::Malformed;

/// Numbers of variable length.
pub(crate) const VARINT: u8 = 0;
/// Eight bytes.
const FIXED64: u8 = 1;
/// A length, and as many bytes.
pub(crate) const DELIMITED: u8 = 2;
/// Four bytes.
const FIXED32: u8 = 5;
/// The largest number of a field.
const FIELD_MAX: u64 = (1 << 29) - 1;

/// What is left of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rest<'a>(pub(crate) &'a [u8]);

impl<'a> Rest<'a> {
    /// The next field's tag, which may be none that a field can have; `None` at the end.
    #[inline]
    pub(crate) fn tag(&mut self) -> Result<Option<u64>, Malformed> {
        let (tag, rest) = match *self.0 {
            [] => return Ok(None),
            [byte @ ..0x80, ref rest @ ..] => (byte.into(), rest),
            _ => any_varint(self.0)?,
        };
        self.0 = rest;
        Ok(Some(tag))
    }

    /// A number.
    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, Malformed> {
        let (value, rest) = match short_varint(self.0) {
            Some(read) => read,
            None => any_varint(self.0)?,
        };
        self.0 = rest;
        Ok(value)
    }

    /// What a length comes before.
    #[inline]
    pub(crate) fn delimited(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.varint()?;
        self.take(length)
    }

    #[inline]
    fn take(&mut self, length: u64) -> Result<&'a [u8], Malformed> {
        let length = usize::try_from(length).map_err(|_| Malformed::CutShort)?;
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Malformed::CutShort)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Passes over a field that nobody here knows.
    pub(crate) fn skip(&mut self, wire: u8) -> Result<(), Malformed> {
        match wire {
            VARINT => self.varint().map(drop),
            FIXED64 => self.take(8).map(drop),
            DELIMITED => self.delimited().map(drop),
            FIXED32 => self.take(4).map(drop),
            // Groups are of a time before haft, and no writer of proto3 makes them.
            _ => Err(Malformed::NoField),
        }
    }
}

/// A tag's number and type.
pub(crate) fn parts(tag: u64) -> Result<(u32, u8), Malformed> {
    match tag >> 3 {
        number @ 1..=FIELD_MAX => Ok((number as u32, (tag & 7) as u8)),
        _ => Err(Malformed::NoField),
    }
}

/// A number below 2^28, as nearly all are, and what is behind it.
#[inline]
fn short_varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (mut value, mut rest) = (0, bytes);
    for group in 0..4 {
        let (&byte, after) = rest.split_first()?;
        value |= u64::from(byte & 0x7f) << (7 * group);
        if byte < 0x80 {
            return Some((value, after));
        }
        rest = after;
    }
    None
}

/// A number, and what is behind it.
#[cold]
fn any_varint(bytes: &[u8]) -> Result<(u64, &[u8]), Malformed> {
    let (value, length) = varint(bytes)?.ok_or(Malformed::CutShort)?;
    Ok((value, &bytes[length..]))
}

/// A number at the beginning of these bytes, and how many bytes it has; `None` if they end before
/// it does.
pub(crate) fn varint(bytes: &[u8]) -> Result<Option<(u64, usize)>, Malformed> {
    let mut value = 0_u64;
    for (index, &byte) in bytes.iter().take(10).enumerate() {
        // Of the tenth byte one bit is left.
        if index == 9 && byte > 1 {
            return Err(Malformed::NumberTooLong);
        }
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            return Ok(Some((value, index + 1)));
        }
    }
    Ok(None)
}

/// How many bytes a number takes.
#[inline]
pub(crate) const fn varint_length(value: u64) -> usize {
    // A byte for each seven bits, and one for 0: bits / 7, rounded up, as far as there are bits.
    let bits = 64 - (value | 1).leading_zeros();
    ((bits * 9 + 64) / 64) as usize
}

/// Appends a number behind its tag.
#[inline]
pub(crate) fn push_varint(tag: u8, value: u64, out: &mut Vec<u8>) {
    // As one word, of which the first bytes are kept.
    let (tag, group) = (u64::from(tag), |index: u32| (value >> (7 * index) & 0x7f) << (8 * index));
    let (groups, length) = match value {
        ..0x80 => (value, 1),
        0x80..0x4000 => (group(0) | group(1) | 0x80, 2),
        0x4000..0x20_0000 => (group(0) | group(1) | group(2) | 0x8080, 3),
        0x20_0000..0x1000_0000 => (group(0) | group(1) | group(2) | group(3) | 0x80_8080, 4),
        _ => return push_long_varint(tag as u8, value, out),
    };
    let end = out.len() + 1 + length;
    out.extend_from_slice(&(tag | groups << 8).to_le_bytes());
    out.truncate(end);
}

#[cold]
fn push_long_varint(tag: u8, value: u64, out: &mut Vec<u8>) {
    out.push(tag);
    push_bare_varint(value, out);
}

/// Appends a number that has no tag: one of a list.
pub(crate) fn push_bare_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_as_many_bytes_as_they_are_said_to() {
        for shift in 0..64 {
            for value in [1_u64 << shift, (1_u64 << shift) - 1, u64::MAX >> shift] {
                let mut out = Vec::new();
                push_varint(7, value, &mut out);
                assert_eq!(out.remove(0), 7);
                assert_eq!(out.len(), varint_length(value), "{value}");
                assert_eq!(varint(&out), Ok(Some((value, out.len()))));
                assert_eq!(varint(&out[..out.len() - 1]), Ok(None));
            }
        }
    }

    #[test]
    fn a_number_of_more_than_64_bits_is_none() {
        assert_eq!(varint(&[0xff; 10]), Err(Malformed::NumberTooLong));
        assert_eq!(varint(&[0xff; 9]), Ok(None));
    }
}
