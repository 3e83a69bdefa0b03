//! A stream of bytes becomes lines, each at most as long as a limit. Used by every wire with
//! newline framing (stdio; "Custom Transports" recommends it for other byte streams). It owns its
//! buffer, so a line that arrives in pieces cannot be lost.

/// What [`Lines::next_line`] found.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// A line, without its end (`\n` or `\r\n`).
    Complete(&'a [u8]),
    /// A line went over the limit. It is said once; the rest of that line is thrown away.
    TooLong,
    /// No whole line is there; read more.
    NeedMore,
}

/// A buffer of unread bytes.
#[derive(Debug)]
pub struct Lines {
    buffer: Vec<u8>,
    /// Where unread bytes begin.
    start: usize,
    /// Where unread bytes end; behind it is room.
    end: usize,
    /// Up to here no newline was found.
    searched: usize,
    line_bytes_max: usize,
    is_discarding: bool,
    /// Where the last line that was too long began.
    long_start: usize,
    /// How much of it was thrown away.
    discarded: usize,
}

/// How much room is made for each read.
const READ_BYTES: usize = 64 * 1024;

impl Lines {
    /// An empty buffer for lines of at most `line_bytes_max`, their end not counted.
    #[must_use]
    pub fn new(line_bytes_max: usize) -> Self {
        Self {
            buffer: Vec::new(),
            start: 0,
            end: 0,
            searched: 0,
            line_bytes_max,
            is_discarding: false,
            long_start: 0,
            discarded: 0,
        }
    }

    /// Room to read into; then call [`Lines::filled`]. Only after [`Line::NeedMore`].
    pub fn room(&mut self) -> &mut [u8] {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.searched -= self.start;
            self.start = 0;
        }
        // A burst of long lines should not keep its memory for ever.
        if self.end == 0 && self.buffer.len() > 4 * READ_BYTES {
            self.buffer = Vec::new();
        }
        if self.buffer.len() < self.end + READ_BYTES {
            let grown = (self.end + READ_BYTES).max(self.buffer.len() * 2);
            self.buffer.resize(grown.min(self.line_bytes_max + 2 + READ_BYTES), 0);
        }
        &mut self.buffer[self.end..]
    }

    /// The first `count` bytes of [`Lines::room`] have been read.
    pub fn filled(&mut self, count: usize) {
        self.end = (self.end + count).min(self.buffer.len());
    }

    /// The next line, if there is one.
    pub fn next_line(&mut self) -> Line<'_> {
        loop {
            let unread = &self.buffer[self.searched..self.end];
            let Some(length) = unread.iter().position(|&byte| byte == b'\n') else {
                return self.without_newline();
            };
            let (line_start, newline) = (self.start, self.searched + length);
            self.start = newline + 1;
            self.searched = self.start;
            if std::mem::take(&mut self.is_discarding) {
                continue;
            }
            let line = &self.buffer[line_start..newline];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.len() > self.line_bytes_max {
                self.long_start = line_start;
                return Line::TooLong;
            }
            return Line::Complete(line);
        }
    }

    /// The beginning of a line, as long as the limit, just after [`Line::TooLong`].
    #[must_use]
    pub fn long_line(&self) -> &[u8] {
        let end = self.long_start.saturating_add(self.line_bytes_max).min(self.end);
        self.buffer.get(self.long_start..end).unwrap_or_default()
    }

    /// How many bytes of a line that is too long, and has not ended yet, were thrown away.
    #[must_use]
    pub fn discarded(&self) -> usize {
        if self.is_discarding { self.discarded } else { 0 }
    }

    /// What is left after the last newline, once the stream has ended.
    pub fn rest(&mut self) -> Option<&[u8]> {
        let rest = &self.buffer[self.start..self.end];
        self.start = self.end;
        self.searched = self.end;
        (!rest.is_empty() && !self.is_discarding).then_some(rest)
    }

    fn without_newline(&mut self) -> Line<'_> {
        self.searched = self.end;
        let is_over = self.end - self.start > self.line_bytes_max + 1;
        let line_start = self.start;
        if self.is_discarding || is_over {
            self.discarded += self.end - self.start;
            self.start = self.end;
        }
        if is_over && !self.is_discarding {
            self.is_discarding = true;
            self.long_start = line_start;
            self.discarded = self.end - line_start;
            return Line::TooLong;
        }
        Line::NeedMore
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds `pieces` one read at a time and returns what came out, `!` for a line too long.
    fn lines_of(limit: usize, pieces: &[&str]) -> Vec<String> {
        let mut lines = Lines::new(limit);
        let mut found = Vec::new();
        for piece in pieces {
            lines.room()[..piece.len()].copy_from_slice(piece.as_bytes());
            lines.filled(piece.len());
            loop {
                match lines.next_line() {
                    Line::Complete(line) => found.push(String::from_utf8_lossy(line).into_owned()),
                    Line::TooLong => found.push("!".to_owned()),
                    Line::NeedMore => break,
                }
            }
        }
        found.extend(lines.rest().map(|rest| format!("{}$", String::from_utf8_lossy(rest))));
        found
    }

    #[test]
    fn the_beginning_of_a_line_that_is_too_long_can_be_read() {
        let mut lines = Lines::new(3);
        for (piece, expected, discarded) in
            [("a\nbcdefgh", "bcd", 7), ("ij", "", 9), ("\nklmno\n", "klm", 0)]
        {
            lines.room()[..piece.len()].copy_from_slice(piece.as_bytes());
            lines.filled(piece.len());
            let mut found = String::new();
            loop {
                match lines.next_line() {
                    Line::Complete(line) => assert_eq!(line, b"a"),
                    Line::TooLong => {
                        found = String::from_utf8_lossy(lines.long_line()).into_owned();
                    }
                    Line::NeedMore => break,
                }
            }
            assert_eq!((&*found, lines.discarded()), (expected, discarded), "{piece:?}");
        }
    }

    #[test]
    fn lines_are_whole_however_they_arrive() {
        assert_eq!(lines_of(9, &["a\nb\r\n\nc"]), ["a", "b", "", "c$"]);
        assert_eq!(lines_of(9, &["a", "b", "\n", "cd\ne", "f\n"]), ["ab", "cd", "ef"]);
    }

    #[test]
    fn a_line_over_the_limit_is_reported_once_and_the_next_is_read() {
        assert_eq!(lines_of(3, &["abc\nabcd\nx\n"]), ["abc", "!", "x"]);
        assert_eq!(lines_of(3, &["abcde", "fgh", "ij\nx\n"]), ["!", "x"]);
        assert_eq!(lines_of(3, &["abcde", "fgh"]), ["!"]);
    }

    #[test]
    fn a_line_without_end_takes_bounded_memory() {
        let mut lines = Lines::new(1000);
        for _ in 0..1000 {
            let room = lines.room();
            room.fill(b'x');
            let count = room.len();
            lines.filled(count);
            while lines.next_line() != Line::NeedMore {}
            assert!(lines.buffer.len() <= 1002 + 3 * READ_BYTES, "{}", lines.buffer.len());
        }
    }
}
