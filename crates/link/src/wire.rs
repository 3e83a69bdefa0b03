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
    /// The next field's number and type; `None` at the end.
    #[inline]
    pub(crate) fn tag(&mut self) -> Result<Option<(u32, u8)>, Malformed> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let number = tag >> 3;
        if number == 0 || number > FIELD_MAX {
            return Err(Malformed::NoField);
        }
        Ok(Some((number as u32, (tag & 7) as u8)))
    }

    /// A number.
    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, Malformed> {
        // Most are of one byte, and all that are in their place are shorter than ten.
        if let [first, rest @ ..] = self.0
            && *first < 0x80
        {
            self.0 = rest;
            return Ok(u64::from(*first));
        }
        let mut value = 0_u64;
        for (index, &byte) in self.0.iter().take(9).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                self.0 = &self.0[index + 1..];
                return Ok(value);
            }
        }
        self.long_varint()
    }

    #[cold]
    fn long_varint(&mut self) -> Result<u64, Malformed> {
        match varint(self.0)? {
            Some((value, length)) => {
                self.0 = &self.0[length..];
                Ok(value)
            }
            None => Err(Malformed::CutShort),
        }
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

/// A number at the beginning of these bytes, and how many bytes it has; `None` if they end before
/// it does.
pub(crate) fn varint(bytes: &[u8]) -> Result<Option<(u64, usize)>, Malformed> {
    if let Some(&first) = bytes.first()
        && first < 0x80
    {
        return Ok(Some((u64::from(first), 1)));
    }
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
pub(crate) const fn varint_length(value: u64) -> usize {
    // A byte for each seven bits, and one for 0.
    let bits = 64 - (value | 1).leading_zeros();
    bits.div_ceil(7) as usize
}

/// Appends a number.
pub(crate) fn push_varint(out: &mut Vec<u8>, mut value: u64) {
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
                push_varint(&mut out, value);
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
