//! Strings, numbers and words at a cursor: their grammar in full. The cursor calls it; it decodes
//! nothing.

use super::Cursor;
use super::plain::{digits_end, plain_end, plain_number_end};
use crate::error::Malformed;

impl Cursor<'_> {
    /// Reads from behind the quote that opens a string to behind the one that closes it; true if
    /// there are escapes.
    #[inline]
    pub(super) fn rest_of_string(&mut self) -> Result<bool, Malformed> {
        let bytes = self.text.as_bytes();
        self.at = plain_end(bytes, self.at);
        if bytes.get(self.at) == Some(&b'"') {
            self.at += 1;
            return Ok(false);
        }
        self.rest_of_escaped()
    }

    /// The same from the first byte that is not plain.
    #[inline(never)]
    pub(super) fn rest_of_escaped(&mut self) -> Result<bool, Malformed> {
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(true);
                }
                Some(b'\\') => self.escape()?,
                Some(_) => return Err(self.expected("no control character in a string")),
                None => return Err(self.expected("the end of a string")),
            }
            self.at = plain_end(self.text.as_bytes(), self.at);
        }
    }

    #[inline]
    pub(super) fn word_or_number(&mut self) -> Result<(), Malformed> {
        match plain_number_end(self.text.as_bytes(), self.at) {
            Some(end) => {
                self.at = end;
                Ok(())
            }
            None => self.word_or_any_number(),
        }
    }

    #[inline(never)]
    pub(super) fn word_or_any_number(&mut self) -> Result<(), Malformed> {
        match self.peek() {
            Some(b't') => self.literal("true"),
            Some(b'f') => self.literal("false"),
            Some(b'n') => self.literal("null"),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(self.expected("a value")),
        }
    }

    fn literal(&mut self, word: &'static str) -> Result<(), Malformed> {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return Err(self.expected("`true`, `false` or `null`"));
        }
        self.at += word.len();
        Ok(())
    }

    fn number(&mut self) -> Result<(), Malformed> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Malformed> {
        let start = self.at;
        self.at = digits_end(self.text.as_bytes(), start);
        if self.at == start { Err(self.expected("a digit")) } else { Ok(()) }
    }

    fn escape(&mut self) -> Result<(), Malformed> {
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 1;
                Ok(())
            }
            Some(b'u') => {
                self.at += 1;
                self.unicode_escape()
            }
            _ => Err(self.expected("an escape")),
        }
    }

    /// Four hex digits, and for a leading surrogate its other half as well.
    fn unicode_escape(&mut self) -> Result<(), Malformed> {
        match self.hex4()? {
            0xDC00..=0xDFFF => Err(self.expected("the first half of a surrogate pair")),
            0xD800..=0xDBFF => {
                if !self.text.as_bytes()[self.at..].starts_with(b"\\u") {
                    return Err(self.expected("the second half of a surrogate pair"));
                }
                self.at += 2;
                match self.hex4()? {
                    0xDC00..=0xDFFF => Ok(()),
                    _ => Err(self.expected("the second half of a surrogate pair")),
                }
            }
            _ => Ok(()),
        }
    }

    fn hex4(&mut self) -> Result<u32, Malformed> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else { return Err(self.expected("four hex digits")) };
            code = code << 4 | digit;
            self.at += 1;
        }
        Ok(code)
    }
}
