//! What the fields of a message are: numbers, texts, bytes and lists, read where they lie. Used by
//! `message`, which says which message has which.

use crate::error::Malformed;
use crate::limits::{ACKED_MAX, PEERS_MAX};
use crate::wire::{DELIMITED, Rest, VARINT, push_bare_varint, push_varint, varint, varint_length};

/// A type that a field can have.
pub(crate) trait Field<'a>: Default {
    /// How it is written.
    const WIRE: u8;

    /// Reads it; `at` is the message and the number of the field, for errors. A later one replaces
    /// the one before, or is added to a list.
    fn read(&mut self, rest: &mut Rest<'a>, at: (&'static str, u32)) -> Result<(), Malformed>;

    /// How many bytes `write` appends.
    fn length(&self, number: u32) -> usize;

    /// Appends it with its tag; nothing, if it is as it is when it is not written.
    fn write(&self, number: u32, out: &mut Vec<u8>);
}

/// Fields below 16 have tags of one byte, and there are no others.
pub(crate) const fn tag(number: u32, wire: u8) -> u8 {
    debug_assert!(number < 16, "tags of one byte");
    (number as u8) << 3 | wire
}

macro_rules! numbers {
    ($($type:ty: $read:expr;)*) => {$(
        impl Field<'_> for $type {
            const WIRE: u8 = VARINT;

            #[inline]
            fn read(
                &mut self,
                rest: &mut Rest<'_>,
                (message, field): (&'static str, u32),
            ) -> Result<(), Malformed> {
                let read: fn(u64) -> Option<Self> = $read;
                *self = read(rest.varint()?).ok_or(Malformed::NumberTooLarge { message, field })?;
                Ok(())
            }

            fn length(&self, _: u32) -> usize {
                match u64::from(*self) {
                    0 => 0,
                    value => 1 + varint_length(value),
                }
            }

            #[inline]
            fn write(&self, number: u32, out: &mut Vec<u8>) {
                if u64::from(*self) != 0 {
                    push_varint(tag(number, VARINT), u64::from(*self), out);
                }
            }
        }
    )*};
}

numbers! {
    u64: Some;
    u32: |value| value.try_into().ok();
    // As the specification of the encoding has it.
    bool: |value| Some(value != 0);
    Kind: |value| Some(Kind::of(value));
}

/// What a [`StreamResponse`](crate::StreamResponse) is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A part of the answer, which goes on.
    #[default]
    Part,
    /// Its last part.
    End,
    /// A notification that belongs to the call.
    Notice,
    /// The call was not begun and will not be: it may be made elsewhere.
    NotBegun,
    /// It was begun; what came of it is not known.
    Lost,
    /// It was begun, and ended as it was asked to.
    Cancelled,
    /// Its time was over.
    TooLate,
    /// Of a later version: this has the number.
    Other(u32),
}

impl Kind {
    const ALL: [Self; 7] = [
        Self::Part,
        Self::End,
        Self::Notice,
        Self::NotBegun,
        Self::Lost,
        Self::Cancelled,
        Self::TooLate,
    ];

    fn of(value: u64) -> Self {
        let known = usize::try_from(value).ok().and_then(|index| Self::ALL.get(index));
        // Numbers of enumerations have 32 bits, and longer ones are cut.
        known.copied().unwrap_or(Self::Other(value as u32))
    }

    /// Whether nothing of the call comes after it.
    #[must_use]
    pub fn is_last(self) -> bool {
        !matches!(self, Self::Part | Self::Notice | Self::Other(_))
    }
}

impl From<Kind> for u64 {
    fn from(kind: Kind) -> Self {
        let index = Kind::ALL.iter().position(|known| *known == kind);
        match (index, kind) {
            (Some(index), _) => index as Self,
            (None, Kind::Other(value)) => Self::from(value),
            (None, _) => unreachable!("all but others are in the table"),
        }
    }
}

impl<'a> Field<'a> for &'a [u8] {
    const WIRE: u8 = DELIMITED;

    fn read(&mut self, rest: &mut Rest<'a>, _: (&'static str, u32)) -> Result<(), Malformed> {
        *self = rest.delimited()?;
        Ok(())
    }

    fn length(&self, _: u32) -> usize {
        match self.len() {
            0 => 0,
            length => 1 + varint_length(length as u64) + length,
        }
    }

    fn write(&self, number: u32, out: &mut Vec<u8>) {
        if !self.is_empty() {
            push_delimited(number, self, out);
        }
    }
}

impl<'a> Field<'a> for &'a str {
    const WIRE: u8 = DELIMITED;

    fn read(&mut self, rest: &mut Rest<'a>, at: (&'static str, u32)) -> Result<(), Malformed> {
        *self = text(rest.delimited()?, at)?;
        Ok(())
    }

    fn length(&self, number: u32) -> usize {
        self.as_bytes().length(number)
    }

    fn write(&self, number: u32, out: &mut Vec<u8>) {
        self.as_bytes().write(number, out);
    }
}

/// Addresses of other gateways: said once a link, so that they may be gathered.
impl<'a> Field<'a> for Vec<&'a str> {
    const WIRE: u8 = DELIMITED;

    fn read(&mut self, rest: &mut Rest<'a>, at: (&'static str, u32)) -> Result<(), Malformed> {
        if self.len() == PEERS_MAX {
            return Err(Malformed::TooMany { message: at.0, field: at.1, most: PEERS_MAX });
        }
        self.push(text(rest.delimited()?, at)?);
        Ok(())
    }

    fn length(&self, _: u32) -> usize {
        self.iter().map(|text| 1 + varint_length(text.len() as u64) + text.len()).sum()
    }

    fn write(&self, number: u32, out: &mut Vec<u8>) {
        for text in self {
            push_delimited(number, text.as_bytes(), out);
        }
    }
}

/// Numbers of calls, as they lie in a frame or in memory.
#[derive(Clone, Copy, Debug)]
pub struct StreamIds<'a>(Ids<'a>);

#[derive(Clone, Copy, Debug)]
enum Ids<'a> {
    Here(&'a [u64]),
    /// Each was looked at.
    Packed(&'a [u8]),
}

impl Default for StreamIds<'_> {
    fn default() -> Self {
        Self(Ids::Here(&[]))
    }
}

impl<'a> From<&'a [u64]> for StreamIds<'a> {
    fn from(ids: &'a [u64]) -> Self {
        Self(Ids::Here(ids))
    }
}

impl PartialEq for StreamIds<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for StreamIds<'_> {}

impl<'a> StreamIds<'a> {
    /// Each, in the order in which they were written.
    pub fn iter(self) -> impl Iterator<Item = u64> + 'a {
        let (here, packed) = match self.0 {
            Ids::Here(ids) => (ids, &[][..]),
            Ids::Packed(bytes) => (&[][..], bytes),
        };
        let mut rest = Rest(packed);
        let unpacked = std::iter::from_fn(move || rest.varint().ok());
        here.iter().copied().chain(unpacked)
    }

    fn bytes(self) -> usize {
        self.iter().map(varint_length).sum()
    }
}

impl<'a> Field<'a> for StreamIds<'a> {
    const WIRE: u8 = DELIMITED;

    fn read(&mut self, rest: &mut Rest<'a>, at: (&'static str, u32)) -> Result<(), Malformed> {
        let packed = rest.delimited()?;
        let (mut left, mut count) = (packed, 0);
        while !left.is_empty() {
            let (_, length) = varint(left)?.ok_or(Malformed::CutShort)?;
            left = &left[length..];
            count += 1;
        }
        if count > ACKED_MAX {
            return Err(Malformed::TooMany { message: at.0, field: at.1, most: ACKED_MAX });
        }
        *self = Self(Ids::Packed(packed));
        Ok(())
    }

    fn length(&self, _: u32) -> usize {
        match self.bytes() {
            0 => 0,
            bytes => 1 + varint_length(bytes as u64) + bytes,
        }
    }

    fn write(&self, number: u32, out: &mut Vec<u8>) {
        let bytes = self.bytes();
        if bytes > 0 {
            push_varint(tag(number, DELIMITED), bytes as u64, out);
            self.iter().for_each(|id| push_bare_varint(id, out));
        }
    }
}

fn text<'a>(bytes: &'a [u8], (message, field): (&'static str, u32)) -> Result<&'a str, Malformed> {
    std::str::from_utf8(bytes).map_err(|_| Malformed::NotUtf8 { message, field })
}

fn push_delimited(number: u32, bytes: &[u8], out: &mut Vec<u8>) {
    push_varint(tag(number, DELIMITED), bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}
