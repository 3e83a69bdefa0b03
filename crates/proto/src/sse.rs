//! Server-sent events become messages: a reader for the body of one HTTP response, fed by whoever
//! asked over HTTP. It owns its buffers, takes bytes in any pieces and bounds the size of an event.

use std::collections::VecDeque;
use std::time::Duration;

/// One event with data.
#[derive(Debug, PartialEq, Eq)]
pub struct Event {
    /// Its type; "message" unless the server named another.
    pub kind: String,
    /// Its data, without the last newline.
    pub data: Vec<u8>,
}

/// An event went over the limit.
#[derive(Debug, PartialEq, Eq)]
pub struct EventTooLarge;

/// Reads one stream of events (Streamable HTTP, "Sending Messages to the Server").
///
/// ```
/// let mut reader = haft_proto::sse::Reader::new(1024);
/// reader.feed(b"data: {}\n").expect("it is small");
/// assert_eq!(reader.next(), None);
/// reader.feed(b"\n").expect("it is small");
/// assert_eq!(reader.next().map(|event| event.data), Some(b"{}".to_vec()));
/// ```
#[derive(Debug)]
pub struct Reader {
    event_bytes_max: usize,
    line: Vec<u8>,
    data: Vec<u8>,
    kind: String,
    has_data: bool,
    /// A `\n` that comes now belongs to the `\r` before it.
    after_return: bool,
    is_first_line: bool,
    ready: VecDeque<Event>,
    last_id: Option<String>,
    retry_ms: Option<u64>,
}

/// The longest event id that is kept for coming back.
const ID_BYTES_MAX: usize = 1024;

impl Reader {
    /// A reader of events of at most `event_bytes_max`, all their lines together.
    #[must_use]
    pub fn new(event_bytes_max: usize) -> Self {
        Self {
            event_bytes_max,
            line: Vec::new(),
            data: Vec::new(),
            kind: String::new(),
            has_data: false,
            after_return: false,
            is_first_line: true,
            ready: VecDeque::new(),
            last_id: None,
            retry_ms: None,
        }
    }

    /// Takes the next bytes of the stream; then take the events with [`Reader::next`].
    ///
    /// # Errors
    /// [`EventTooLarge`]; the stream cannot be read any further.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Result<(), EventTooLarge> {
        if std::mem::take(&mut self.after_return) {
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
            let (line, rest) = bytes.split_at(end);
            self.take(line)?;
            self.end_line();
            bytes = if let Some(rest) = rest.strip_prefix(b"\r") {
                self.after_return = rest.is_empty();
                rest.strip_prefix(b"\n").unwrap_or(rest)
            } else {
                rest.strip_prefix(b"\n").unwrap_or(rest)
            };
        }
        self.take(bytes)
    }

    /// The next whole event.
    #[expect(clippy::should_implement_trait, reason = "the stream goes on after `None`")]
    pub fn next(&mut self) -> Option<Event> {
        self.ready.pop_front()
    }

    /// The beginning of the data of an event that is not whole yet, or is too large.
    #[must_use]
    pub fn begun(&self) -> &[u8] {
        if self.has_data {
            return &self.data;
        }
        let data = self.line.strip_prefix(b"data:").unwrap_or_default();
        data.strip_prefix(b" ").unwrap_or(data)
    }

    /// The id to name when coming back for the rest of the stream. An empty one means that the
    /// server takes back the one before.
    #[must_use]
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// How long the server asks to wait before coming back.
    #[must_use]
    pub fn retry(&self) -> Option<Duration> {
        self.retry_ms.map(Duration::from_millis)
    }

    fn take(&mut self, part: &[u8]) -> Result<(), EventTooLarge> {
        let room = self.event_bytes_max.saturating_sub(self.line.len() + self.data.len());
        self.line.extend_from_slice(part.get(..room).unwrap_or(part));
        if part.len() > room { Err(EventTooLarge) } else { Ok(()) }
    }

    fn end_line(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_first_line) && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        if line.is_empty() {
            self.end_event();
        } else {
            self.field(&line);
        }
        // The buffer is kept for the next line.
        line.clear();
        self.line = line;
    }

    fn field(&mut self, line: &[u8]) {
        let colon = line.iter().position(|&byte| byte == b':').unwrap_or(line.len());
        let (name, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            b"event" => self.kind = String::from_utf8_lossy(value).into_owned(),
            b"id" if value.len() <= ID_BYTES_MAX && !value.contains(&0) => {
                self.last_id = Some(String::from_utf8_lossy(value).into_owned());
            }
            b"retry" => {
                let digits = std::str::from_utf8(value).ok();
                self.retry_ms = digits.and_then(|digits| digits.parse().ok()).or(self.retry_ms);
            }
            // A comment, or a field of a later day.
            _ => {}
        }
    }

    fn end_event(&mut self) {
        let kind = std::mem::take(&mut self.kind);
        let data = std::mem::take(&mut self.data);
        if std::mem::take(&mut self.has_data) {
            let kind = if kind.is_empty() { "message".to_owned() } else { kind };
            self.ready.push_back(Event { kind, data });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn events(pieces: &[&[u8]]) -> Vec<(String, String)> {
        let mut reader = Reader::new(64);
        let mut found = Vec::new();
        for piece in pieces {
            reader.feed(piece).expect("a small event");
            while let Some(Event { kind, data }) = reader.next() {
                found.push((kind, String::from_utf8_lossy(&data).into_owned()));
            }
        }
        found
    }

    fn check(stream: &str, expected: &[(&str, &str)]) {
        let found = events(&[stream.as_bytes()]);
        let found: Vec<_> = found.iter().map(|(kind, data)| (&**kind, &**data)).collect();
        assert_eq!(found, expected, "{stream:?}");
    }

    #[test]
    fn every_kind_of_line_end_ends_a_line() {
        for end in ["\n", "\r\n", "\r"] {
            let stream = ["event: x", "data: 1", "data:2", "", "data: 3", "", ""].join(end);
            check(&stream, &[("x", "1\n2"), ("message", "3")]);
        }
    }

    #[test]
    fn comments_unknown_fields_and_events_without_data_are_not_messages() {
        check(": keep-alive\n\nfoo: 1\n\nevent: ping\n\ndata: 1\n\n", &[("message", "1")]);
        check("data\n\n", &[("message", "")]);
        check("\u{feff}data: 1\n\n", &[("message", "1")]);
        check("data: unfinished\n", &[]);
    }

    #[test]
    fn the_last_id_and_the_retry_time_are_kept() {
        let mut reader = Reader::new(64);
        reader.feed(b"id: 7\nretry: 500\ndata:\n\nretry: soon\nid: 8\n\n").expect("small");
        let retry = Some(Duration::from_millis(500));
        assert_eq!((reader.last_id(), reader.retry()), (Some("8"), retry));
    }

    #[test]
    fn an_event_over_the_limit_is_refused_in_one_line_and_in_many() {
        assert_eq!(Reader::new(8).feed(b"data: 12345"), Err(EventTooLarge));
        let mut reader = Reader::new(8);
        let fed: Result<Vec<()>, _> = (0..9).map(|_| reader.feed(b"data:1\n")).collect();
        assert_eq!(fed, Err(EventTooLarge));
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(stream in "[d:a t\r\n1]{0,40}", cut in 0_usize..40) {
            let stream = format!("data:{stream}\n\ndata:z\r\n\r\n");
            let (head, tail) = stream.as_bytes().split_at(cut.min(stream.len()));
            prop_assert_eq!(events(&[head, tail]), events(&[stream.as_bytes()]));
        }
    }
}
