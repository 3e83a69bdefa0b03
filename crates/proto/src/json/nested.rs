//! Objects and arrays, read over to their end: each token looked at once, without recursion. The
//! cursor calls it; it keeps nothing of what is inside.

use super::Cursor;
use super::plain::{plain_end, plain_key_end, plain_number_end};
use crate::error::Malformed;

impl Cursor<'_> {
    /// Reads the object or array that begins here.
    ///
    /// The place is kept apart from the cursor, in a register, and is the cursor's only while that
    /// one reads a token whose form is not the common one.
    pub(super) fn nested(&mut self) -> Result<(), Malformed> {
        let bytes = self.text.as_bytes();
        let mut open = Brackets { bits: 0, count: 0, room: self.limit - self.depth };
        let mut at = self.at;
        loop {
            match bytes.get(at) {
                Some(bracket @ (b'{' | b'[')) => {
                    open.push(*bracket == b'{').ok_or(Malformed::TooDeep { limit: self.limit })?;
                    at = space_end(bytes, at + 1);
                    if bytes.get(at) != Some(&open.closing()) {
                        if open.is_object() {
                            at = self.key_end(bytes, at)?;
                        }
                        continue;
                    }
                }
                Some(b'"') => at = self.string_end(bytes, at)?,
                Some(b' ' | b'\t' | b'\n' | b'\r') => {
                    at = space_end(bytes, at);
                    continue;
                }
                _ => at = self.word_or_number_end(bytes, at)?,
            }
            if self.after_value(bytes, &mut at, &mut open)? {
                self.at = at;
                return Ok(());
            }
        }
    }

    /// Reads from behind a value to where the next one begins; true if there is none.
    #[inline(always)]
    fn after_value(
        &mut self,
        bytes: &[u8],
        at: &mut usize,
        open: &mut Brackets,
    ) -> Result<bool, Malformed> {
        loop {
            match bytes.get(*at) {
                Some(b',') => {
                    *at += 1;
                    if open.is_object() {
                        *at = self.key_end(bytes, *at)?;
                    }
                    return Ok(false);
                }
                Some(byte) if *byte == open.closing() => {
                    *at += 1;
                    if open.pop() {
                        return Ok(true);
                    }
                }
                Some(b' ' | b'\t' | b'\n' | b'\r') => *at = space_end(bytes, *at),
                _ => {
                    self.at = *at;
                    let is_object = open.is_object();
                    return Err(self.expected(if is_object { "`,` or `}`" } else { "`,` or `]`" }));
                }
            }
        }
    }

    #[inline(always)]
    fn key_end(&mut self, bytes: &[u8], at: usize) -> Result<usize, Malformed> {
        match plain_key_end(bytes, at) {
            Some(end) => Ok(end),
            None => self.end_of(at, |cursor| cursor.key().map(|_| ())),
        }
    }

    /// `at` is that of the quote which opens it.
    #[inline(always)]
    fn string_end(&mut self, bytes: &[u8], at: usize) -> Result<usize, Malformed> {
        let end = plain_end(bytes, at + 1);
        match bytes.get(end) {
            Some(b'"') => Ok(end + 1),
            _ => self.end_of(end, |cursor| cursor.rest_of_escaped().map(|_| ())),
        }
    }

    #[inline(always)]
    fn word_or_number_end(&mut self, bytes: &[u8], at: usize) -> Result<usize, Malformed> {
        match plain_number_end(bytes, at) {
            Some(end) => Ok(end),
            None => self.end_of(at, Self::word_or_any_number),
        }
    }

    /// Where the cursor ends if it reads from here.
    #[inline(never)]
    fn end_of(
        &mut self,
        at: usize,
        read: fn(&mut Self) -> Result<(), Malformed>,
    ) -> Result<usize, Malformed> {
        self.at = at;
        read(self)?;
        Ok(self.at)
    }
}

/// The open brackets.
struct Brackets {
    /// One for each, the innermost lowest: 1 is an object. `DEPTH_MAX` is the width of this number.
    bits: u128,
    count: usize,
    /// How many may be open.
    room: usize,
}

impl Brackets {
    /// `None` if there is no room.
    #[inline(always)]
    fn push(&mut self, is_object: bool) -> Option<()> {
        if self.count == self.room {
            return None;
        }
        self.bits = self.bits << 1 | u128::from(is_object);
        self.count += 1;
        Some(())
    }

    /// True if it was the last.
    #[inline(always)]
    fn pop(&mut self) -> bool {
        self.bits >>= 1;
        self.count -= 1;
        self.count == 0
    }

    #[inline(always)]
    fn is_object(&self) -> bool {
        self.bits & 1 == 1
    }

    #[inline(always)]
    fn closing(&self) -> u8 {
        if self.is_object() { b'}' } else { b']' }
    }
}

#[inline(always)]
fn space_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at;
    while matches!(bytes.get(end), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        end += 1;
    }
    end
}
