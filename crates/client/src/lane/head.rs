//! The head of an answer in HTTP/1.1: its status, what its body is, and where that ends (RFC 9112,
//! "Message Body Length"). Read from bytes by `connection`; it does no I/O.

use super::Fault;
use crate::limits::{HEAD_BYTES_MAX, HEADERS_MAX};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use std::time::Duration;

/// What is told of an answer before its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) status: StatusCode,
    /// Whether the body is one JSON text, by its type.
    pub(crate) is_json: bool,
    /// Whether the body is compressed, or encoded in another way.
    pub(crate) is_coded: bool,
    pub(super) bytes: usize,
    pub(super) length: Length,
    /// The server takes no further request on this connection.
    pub(super) is_last: bool,
    /// How long the server keeps the connection when nothing is asked.
    pub(super) idle_max: Option<Duration>,
}

/// Where a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    Known(u64),
    Chunks,
    /// Where the server closes.
    Rest,
}

impl Head {
    /// Reads it; `None` if more bytes are needed.
    pub(super) fn read(unread: &[u8]) -> Result<Option<Self>, Fault> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut response = httparse::Response::new(&mut headers);
        let bytes = match response.parse(unread).map_err(|_| Fault::NotHttp)? {
            httparse::Status::Complete(bytes) => bytes,
            httparse::Status::Partial if unread.len() > HEAD_BYTES_MAX => {
                return Err(Fault::NotHttp);
            }
            httparse::Status::Partial => return Ok(None),
        };
        let status = StatusCode::from_u16(response.code.unwrap_or_default());
        let mut head = Self {
            status: status.map_err(|_| Fault::NotHttp)?,
            is_json: false,
            is_coded: false,
            bytes,
            length: Length::Rest,
            is_last: response.version == Some(0),
            idle_max: None,
        };
        for header in response.headers.iter() {
            head.take(header.name, header.value)?;
        }
        if head.is_interim() || matches!(head.status.as_u16(), 204 | 304) {
            head.length = Length::Known(0);
        }
        Ok(Some(head))
    }

    /// Whether the answer itself is still to come.
    pub(super) fn is_interim(&self) -> bool {
        self.status.is_informational()
    }

    fn take(&mut self, name: &str, value: &[u8]) -> Result<(), Fault> {
        // Most headers have a name of another length than any of these.
        match name.len() {
            10 if is(name, "connection") => self.is_last |= has(value, "close"),
            10 if is(name, "keep-alive") => self.idle_max = timeout(value).or(self.idle_max),
            12 if is(name, "content-type") => self.is_json = is_json(value),
            14 if is(name, "content-length") => {
                let length = number(value).ok_or(Fault::NotHttp)?;
                match self.length {
                    Length::Known(other) if other != length => return Err(Fault::NotHttp),
                    Length::Chunks => self.is_last = true,
                    _ => self.length = Length::Known(length),
                }
            }
            16 if is(name, "content-encoding") => {
                self.is_coded |= !value.trim_ascii().eq_ignore_ascii_case(b"identity");
            }
            17 if is(name, "transfer-encoding") => {
                // Beside a length, one of the two is somebody's mistake.
                self.is_last |= self.length != Length::Rest;
                if !value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                    return Err(Fault::NotHttp);
                }
                self.length = Length::Chunks;
            }
            _ => {}
        }
        Ok(())
    }
}

/// All headers of a head that has been read before.
pub(super) fn headers(head: &[u8]) -> HeaderMap {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut headers);
    let mut all = HeaderMap::new();
    if response.parse(head).is_ok() {
        for header in response.headers.iter() {
            let name = HeaderName::from_bytes(header.name.as_bytes());
            if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(header.value)) {
                all.append(name, value);
            }
        }
    }
    all
}

fn is(name: &str, known: &str) -> bool {
    name.eq_ignore_ascii_case(known)
}

/// Whether a list of words has this one.
fn has(value: &[u8], word: &str) -> bool {
    let mut words = value.split(|byte| *byte == b',');
    words.any(|one| one.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
}

fn is_json(value: &[u8]) -> bool {
    let kind = value.split(|byte| *byte == b';').next().unwrap_or_default();
    kind.trim_ascii().eq_ignore_ascii_case(b"application/json")
}

/// `timeout=5, max=1000`, in seconds.
fn timeout(value: &[u8]) -> Option<Duration> {
    let mut words = value.split(|byte| *byte == b',');
    let seconds = words.find_map(|word| number(word.trim_ascii().strip_prefix(b"timeout=")?));
    seconds.map(Duration::from_secs)
}

fn number(digits: &[u8]) -> Option<u64> {
    let digits = digits.trim_ascii();
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(rest: &str) -> Result<Option<Head>, Fault> {
        Head::read(format!("HTTP/1.1 200 OK\r\n{rest}\r\n").as_bytes())
    }

    fn length(rest: &str) -> Option<(Length, bool)> {
        read(rest).ok().flatten().map(|head| (head.length, head.is_last))
    }

    #[test]
    fn a_body_ends_where_its_head_says() {
        assert_eq!(length("content-length: 12\r\n"), Some((Length::Known(12), false)));
        assert_eq!(length("Content-Length:12 \r\n"), Some((Length::Known(12), false)));
        assert_eq!(length("Transfer-Encoding: Chunked\r\n"), Some((Length::Chunks, false)));
        assert_eq!(length("connection: x, Close\r\n"), Some((Length::Rest, true)));
        assert_eq!(length(""), Some((Length::Rest, false)));
        for status in ["204 No Content", "304 Not Modified", "103 Early"] {
            let head = Head::read(format!("HTTP/1.1 {status}\r\n\r\n").as_bytes());
            assert_eq!(head.expect("HTTP").expect("a head").length, Length::Known(0), "{status}");
        }
    }

    #[test]
    fn what_may_hide_a_second_answer_is_refused_or_ends_the_connection() {
        let both = "content-length: 3\r\ntransfer-encoding: chunked\r\n";
        assert_eq!(length(both), Some((Length::Chunks, true)));
        let both = "transfer-encoding: chunked\r\ncontent-length: 3\r\n";
        assert_eq!(length(both), Some((Length::Chunks, true)));
        assert_eq!(
            length("content-length: 3\r\ncontent-length: 3\r\n"),
            Some((Length::Known(3), false))
        );
        for wrong in [
            "content-length: 3\r\ncontent-length: 4\r\n",
            "content-length: 3, 3\r\n",
            "content-length: +3\r\n",
            "content-length: -1\r\n",
            "content-length: \r\n",
            "content-length: 18446744073709551616\r\n",
            "transfer-encoding: gzip, chunked\r\n",
            "transfer-encoding: identity\r\n",
        ] {
            assert_eq!(read(wrong), Err(Fault::NotHttp), "{wrong}");
        }
    }

    #[test]
    fn what_is_no_head_is_not_waited_for() {
        assert_eq!(Head::read(b"SSH-2.0-OpenSSH\r\n"), Err(Fault::NotHttp));
        assert_eq!(Head::read(b"HTTP/1.1 200 OK\r\nx: 1"), Ok(None));
        let long = format!("HTTP/1.1 200 OK\r\nx: {}", "a".repeat(HEAD_BYTES_MAX));
        assert_eq!(Head::read(long.as_bytes()), Err(Fault::NotHttp));
        let many = "a: b\r\n".repeat(HEADERS_MAX + 1);
        assert_eq!(read(&many), Err(Fault::NotHttp));
    }

    #[test]
    fn types_and_patience_are_read() {
        let head = |rest| read(rest).expect("HTTP").expect("a head");
        assert!(head("content-type: Application/JSON; charset=utf-8\r\n").is_json);
        assert!(!head("content-type: text/event-stream\r\n").is_json);
        assert!(head("Content-Encoding: gzip\r\n").is_coded);
        assert!(!head("content-encoding: Identity \r\n").is_coded);
        let patience = head("keep-alive: max=100, timeout=5\r\n").idle_max;
        assert_eq!(patience, Some(Duration::from_secs(5)));
        let all = headers(b"HTTP/1.1 200 OK\r\nX-A: 1\r\nx-a: 2\r\n\r\n");
        assert_eq!(all.get_all("x-a").iter().count(), 2);
    }
}
