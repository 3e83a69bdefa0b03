//! Bytes become answers of HTTP/1.1: head, length or chunks, and where each ends. Fed by the loop
//! that has the socket; it does no I/O. What an answer means is read elsewhere.

use crate::limits::{ANSWER_BYTES_MAX, HEAD_BYTES_MAX, HEADERS_MAX};
use crate::wrong::{Wrong, excerpt};
use http::HeaderValue;

/// One whole answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer<'a> {
    /// Its status.
    pub(crate) status: u16,
    /// Its body, chunks put together.
    pub(crate) body: &'a [u8],
    /// Whether the body is a stream of events.
    pub(crate) is_events: bool,
    /// Whether the server takes no further request on this connection.
    pub(crate) is_last: bool,
    /// The session that it names.
    pub(crate) session: Option<HeaderValue>,
}

/// What has been read and not yet been taken.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// The head of the answer whose body is being read.
    head: Option<Head>,
    /// Chunks, put together.
    body: Vec<u8>,
    /// Where in the buffer the next chunk begins, from `start`.
    chunk_at: usize,
}

#[derive(Clone, Debug)]
struct Head {
    bytes: usize,
    status: u16,
    length: Length,
    is_events: bool,
    is_last: bool,
    session: Option<HeaderValue>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Known(usize),
    Chunks,
    /// Until the server closes.
    Rest,
}

/// How much room is made for each read.
const READ_BYTES: usize = 64 * 1024;
/// How much room is made at once for a body that is only announced.
const CLAIM_BYTES_MAX: usize = 4 * 1024 * 1024;

impl Answers {
    /// Room to read into; then call [`Answers::filled`].
    pub(crate) fn room(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        if self.buffer.len() < self.end + READ_BYTES {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            // All of a long body at once, rather than piece by piece.
            let expected = match &self.head {
                Some(Head { bytes, length: Length::Known(length), .. }) => bytes + length,
                _ => 0,
            };
            // What a head merely claims takes no memory yet.
            let wanted = expected.clamp(self.end, self.end + CLAIM_BYTES_MAX) + READ_BYTES;
            if self.buffer.len() < wanted {
                self.buffer.resize(wanted, 0);
            }
        }
        &mut self.buffer[self.end..]
    }

    /// So many bytes of the room were filled.
    pub(crate) fn filled(&mut self, count: usize) {
        self.end += count;
    }

    /// The next whole answer; `None` if more must be read. `is_over` says that nothing will come.
    ///
    /// # Errors
    /// [`Wrong::NoAnswer`] for what is not HTTP, or is longer than an answer may be.
    pub(crate) fn next(&mut self, is_over: bool) -> Result<Option<Answer<'_>>, Wrong> {
        while self.head.is_none() {
            let Some(head) = self.read_head()? else { return Ok(None) };
            if matches!(head.status, 100..200) {
                // It only says that the answer will come.
                self.start += head.bytes;
                continue;
            }
            self.head = Some(head);
            self.body.clear();
            self.chunk_at = self.head.as_ref().map_or(0, |head| head.bytes);
        }
        let Some(head) = &self.head else { return Ok(None) };
        let (bytes, length) = (head.bytes, head.length);
        let there = self.end - self.start;
        let taken = match length {
            Length::Known(length) if there >= bytes + length => bytes + length,
            Length::Rest if is_over => there,
            Length::Chunks if self.read_chunks()? => self.chunk_at,
            _ if there + self.body.len() > ANSWER_BYTES_MAX => return Err(too_long()),
            _ => return Ok(None),
        };
        let Some(Head { status, is_events, is_last, session, .. }) = self.head.take() else {
            return Ok(None);
        };
        let from = self.start;
        self.start += taken;
        let body = match length {
            Length::Chunks => &*self.body,
            _ => &self.buffer[from + bytes..from + taken],
        };
        Ok(Some(Answer { status, body, is_events, is_last, session }))
    }

    fn read_head(&self) -> Result<Option<Head>, Wrong> {
        let unread = &self.buffer[self.start..self.end];
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut response = httparse::Response::new(&mut headers);
        let parsed = response.parse(unread);
        let no_http =
            |why: &dyn std::fmt::Display| Wrong::NoAnswer(format!("{why}: {}", excerpt(unread)));
        let bytes = match parsed.map_err(|error| no_http(&error))? {
            httparse::Status::Complete(bytes) => bytes,
            httparse::Status::Partial if unread.len() > HEAD_BYTES_MAX => return Err(too_long()),
            httparse::Status::Partial => return Ok(None),
        };
        let mut head = Head {
            bytes,
            status: response.code.unwrap_or_default(),
            length: Length::Rest,
            is_events: false,
            is_last: response.version == Some(0),
            session: None,
        };
        for header in response.headers {
            head.take(header.name, header.value).map_err(|why| no_http(&why))?;
        }
        if matches!(head.status, 204 | 304) {
            head.length = Length::Known(0);
        }
        Ok(Some(head))
    }

    /// Puts together what is there; true after the last chunk.
    fn read_chunks(&mut self) -> Result<bool, Wrong> {
        loop {
            let unread = &self.buffer[self.start + self.chunk_at..self.end];
            let size = httparse::parse_chunk_size(unread);
            let size = size.map_err(|_| Wrong::NoAnswer("a chunk without a size".to_owned()))?;
            let httparse::Status::Complete((line, size)) = size else { return Ok(false) };
            let size = usize::try_from(size).unwrap_or(usize::MAX);
            if size == 0 {
                // Trailers are not looked at, but for their end.
                let trailers = &unread[line..];
                let ends = trailers.starts_with(b"\r\n").then_some(2);
                let found = ends.or_else(|| {
                    trailers.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
                });
                let Some(end) = found else { return Ok(false) };
                self.chunk_at += line + end;
                return Ok(true);
            }
            if size.saturating_add(self.body.len()) > ANSWER_BYTES_MAX {
                return Err(too_long());
            }
            let Some(chunk) = unread.get(line..line + size) else { return Ok(false) };
            match unread.get(line + size..line + size + 2) {
                None => return Ok(false),
                Some(b"\r\n") => self.body.extend_from_slice(chunk),
                Some(_) => return Err(Wrong::NoAnswer("a chunk without an end".to_owned())),
            }
            self.chunk_at += line + size + 2;
        }
    }
}

impl Head {
    fn take(&mut self, name: &str, value: &[u8]) -> Result<(), &'static str> {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        let has = |word: &str| {
            let text = String::from_utf8_lossy(value);
            text.split([',', ';']).any(|part| part.trim().eq_ignore_ascii_case(word))
        };
        if is("content-length") {
            let length = std::str::from_utf8(value).ok().and_then(|text| text.trim().parse().ok());
            let length = length.ok_or("a content-length that is no number")?;
            if length > ANSWER_BYTES_MAX {
                return Err("an answer longer than a bench reads");
            }
            if self.length != Length::Chunks {
                self.length = Length::Known(length);
            }
        } else if is("transfer-encoding") {
            self.length = Length::Chunks;
        } else if is("content-type") {
            self.is_events = has("text/event-stream");
        } else if is("connection") {
            self.is_last |= has("close");
        } else if is(crate::request::SESSION_HEADER) {
            self.session = HeaderValue::from_bytes(value).ok();
        }
        Ok(())
    }
}

fn too_long() -> Wrong {
    Wrong::NoAnswer(format!("it is longer than {ANSWER_BYTES_MAX} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the pieces are, the answers are the same.
    fn check(bytes: &str, expected: &[(u16, &str, bool)]) {
        for piece in [1, 2, 7, bytes.len()] {
            let mut answers = Answers::default();
            let mut found = Vec::new();
            for part in bytes.as_bytes().chunks(piece) {
                answers.room()[..part.len()].copy_from_slice(part);
                answers.filled(part.len());
                while let Some(answer) = answers.next(false).expect("it is HTTP") {
                    let body = String::from_utf8_lossy(answer.body).into_owned();
                    found.push((answer.status, body, answer.is_events));
                }
            }
            let found: Vec<_> =
                found.iter().map(|(status, body, events)| (*status, &**body, *events)).collect();
            assert_eq!(found, expected, "in pieces of {piece}");
            assert!(answers.start == answers.end && answers.head.is_none(), "in pieces of {piece}");
        }
    }

    #[test]
    fn answers_come_in_any_pieces() {
        check(
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}\
             HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n",
            &[(200, "{}", false), (404, "", false)],
        );
        check(
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\
             content-type: text/event-stream\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n",
            &[(200, "abc0123456789", true)],
        );
        check(
            "HTTP/1.1 103 Early\r\nx: 1\r\n\r\nHTTP/1.1 100 Go\r\n\r\n\
             HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx-a: 1\r\n\r\n",
            &[(200, "", false)],
        );
    }

    #[test]
    fn what_is_no_http_is_said_and_not_waited_for() {
        for bytes in [
            "SSH-2.0-OpenSSH\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 999999999999\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc\r\n",
        ] {
            let mut answers = Answers::default();
            answers.room()[..bytes.len()].copy_from_slice(bytes.as_bytes());
            answers.filled(bytes.len());
            assert!(matches!(answers.next(false), Err(Wrong::NoAnswer(_))), "{bytes:?}");
        }
    }

    #[test]
    fn a_body_without_a_length_ends_with_the_connection() {
        let bytes = b"HTTP/1.0 200 OK\r\n\r\nabc";
        let mut answers = Answers::default();
        answers.room()[..bytes.len()].copy_from_slice(bytes);
        answers.filled(bytes.len());
        assert_eq!(answers.next(false), Ok(None));
        let answer = answers.next(true).expect("it is HTTP").expect("it is whole");
        assert_eq!((answer.body, answer.is_last), (&b"abc"[..], true));
    }
}
