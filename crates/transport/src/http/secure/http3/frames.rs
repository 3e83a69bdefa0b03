//! How long the frames of a stream say they are (RFC 9114, 7.1), seen while they pass: what reads
//! them next puts each together before it looks at it, unless it is a body's. Keeps no payload.

/// The frames of one stream, as far as they have come.
#[derive(Debug)]
pub(super) struct Frames {
    kind: Kind,
    /// Of the next frame, as much as has come of its type and length, which have eight bytes each
    /// at most.
    head: [u8; 16],
    filled: usize,
    /// How much of the payload of the last one is still to come.
    payload: u64,
    /// Whether the last one is of a body.
    is_body: bool,
    /// How long all of a body are together, as they say.
    body_bytes: u64,
    /// The longest headers.
    headers_bytes_max: usize,
    /// The longest frame of any other type.
    frame_bytes_max: usize,
}

/// What a stream is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// It has frames.
    Framed,
    /// Only the client speaks on it, and has not said yet what for.
    Untold,
    /// It has no frames, or none that are looked at.
    Other,
}

/// A frame claims to be longer than it may be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl std::fmt::Display for TooLong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a frame is longer than it may be")
    }
}

impl std::error::Error for TooLong {}

/// The types of frames that matter here.
const DATA: u64 = 0;
const HEADERS: u64 = 1;

/// The type of the stream on which a connection is spoken about.
const CONTROL: u64 = 0;

impl Frames {
    /// Of a request.
    pub(super) fn of_request(headers_bytes_max: usize, frame_bytes_max: usize) -> Self {
        Self {
            kind: Kind::Framed,
            head: [0; 16],
            filled: 0,
            payload: 0,
            is_body: false,
            body_bytes: 0,
            headers_bytes_max,
            frame_bytes_max,
        }
    }

    /// Whether none has come in part.
    pub(super) fn is_whole(&self) -> bool {
        self.kind != Kind::Framed || (self.filled == 0 && self.payload == 0)
    }

    /// Whether more must come before what reads it can make anything of it.
    pub(super) fn must_be_whole(&self) -> bool {
        self.kind != Kind::Other && (self.filled > 0 || (self.payload > 0 && !self.is_body))
    }

    /// How many bytes the body has that have come, or are announced.
    pub(super) fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// Of a stream on which only the client speaks. Bodies and headers have no place there.
    pub(super) fn of_one_way(frame_bytes_max: usize) -> Self {
        Self { kind: Kind::Untold, ..Self::of_request(frame_bytes_max, frame_bytes_max) }
    }

    /// What has come next.
    ///
    /// # Errors
    /// [`TooLong`].
    pub(super) fn pass(&mut self, mut bytes: &[u8]) -> Result<(), TooLong> {
        while !bytes.is_empty() && self.kind != Kind::Other {
            if self.payload > 0 {
                let passed = usize::try_from(self.payload).unwrap_or(usize::MAX).min(bytes.len());
                self.payload -= passed as u64;
                bytes = &bytes[passed..];
                continue;
            }
            self.head[self.filled] = bytes[0];
            self.filled += 1;
            bytes = &bytes[1..];
            self.read_head()?;
        }
        Ok(())
    }

    fn read_head(&mut self) -> Result<(), TooLong> {
        let head = &self.head[..self.filled];
        let Some((kind, rest)) = number(head) else { return Ok(()) };
        if self.kind == Kind::Untold {
            self.kind = if kind == CONTROL { Kind::Framed } else { Kind::Other };
            self.filled = 0;
            return Ok(());
        }
        let Some((length, _)) = number(rest) else { return Ok(()) };
        let most = match kind {
            DATA => u64::MAX,
            HEADERS => self.headers_bytes_max as u64,
            _ => self.frame_bytes_max as u64,
        };
        if length > most {
            return Err(TooLong);
        }
        self.is_body = kind == DATA;
        if self.is_body {
            self.body_bytes = self.body_bytes.saturating_add(length);
        }
        (self.payload, self.filled) = (length, 0);
        Ok(())
    }
}

/// The number that these bytes begin with (RFC 9000, 16), and what follows; `None` if it is not
/// all there.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let first = *bytes.first()?;
    let (number, rest) = bytes.split_at_checked(1 << (first >> 6))?;
    let value = number[1..]
        .iter()
        .fold(u64::from(first & 0x3f), |value, byte| value << 8 | u64::from(*byte));
    Some((value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether they pass, whole and byte by byte.
    fn check(new: impl Fn() -> Frames, bytes: &[u8], expected: Result<(), TooLong>) {
        assert_eq!(new().pass(bytes), expected, "{bytes:?}");
        let mut frames = new();
        let by_byte = bytes.iter().try_for_each(|byte| frames.pass(&[*byte]));
        assert_eq!(by_byte, expected, "{bytes:?}, byte by byte");
    }

    #[test]
    fn a_frame_that_claims_too_much_is_refused_before_it_comes() {
        let request = || Frames::of_request(8, 2);
        check(request, &[1, 8, 0, 0, 0, 0, 0, 0, 0, 0, 1, 8], Ok(()));
        check(request, &[1, 9], Err(TooLong));
        // Four gibibytes, of headers and of something unknown.
        check(request, &[1, 0xc0, 0, 0, 1, 0, 0, 0, 0], Err(TooLong));
        check(request, &[0x40, 0x21, 3], Err(TooLong));
        check(request, &[0x40, 0x21, 2, 0, 0, 0x21, 3], Err(TooLong));
        // A body may be as long as it likes, and is counted elsewhere; an empty frame ends at once.
        check(request, &[0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 9], Ok(()));
        check(request, &[0, 0, 0, 1, 7, 1, 9], Err(TooLong));
    }

    #[test]
    fn what_must_be_whole_is_told_from_a_body() {
        for (bytes, must, is_whole, body) in [
            (&[][..], false, true, 0),
            (&[0x40], true, false, 0),
            (&[1, 8, 0], true, false, 0),
            (&[1, 1, 0], false, true, 0),
            (&[1, 1, 0, 0], true, false, 0),
            (&[1, 1, 0, 0, 2], false, false, 2),
            (&[1, 1, 0, 0, 2, 7, 7, 0, 0, 0, 1, 7], false, true, 3),
        ] {
            let mut frames = Frames::of_request(8, 2);
            assert_eq!(frames.pass(bytes), Ok(()));
            let found = (frames.must_be_whole(), frames.is_whole(), frames.body_bytes());
            assert_eq!(found, (must, is_whole, body), "{bytes:?}");
        }
    }

    #[test]
    fn of_one_way_streams_the_frames_of_control_count() {
        let one_way = || Frames::of_one_way(4);
        check(one_way, &[0, 4, 2, 6, 1, 4, 5], Err(TooLong));
        check(one_way, &[0, 4, 0x44, 0], Err(TooLong));
        check(one_way, &[0, 1, 5], Err(TooLong));
        check(one_way, &[2, 0x7f, 0xff, 0xff, 4, 0x44, 0], Ok(()));
        check(one_way, &[0xc0], Ok(()));
    }
}
