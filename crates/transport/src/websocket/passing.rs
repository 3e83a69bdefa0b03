//! Where frames and messages begin and end among the bytes that come (RFC 6455, 5.2), seen while
//! they pass to what takes them apart. Checks nothing, and keeps no payload.

/// What has come, as far as it has.
#[derive(Debug, Default)]
pub(super) struct Passing {
    /// Of the header of the next frame: two bytes, a length and a mask.
    head: [u8; HEAD_MAX],
    filled: usize,
    /// How much of the payload of the frame is still to come.
    payload: u64,
    /// Bytes of a message that is not at its end.
    message: usize,
    /// Bytes of a ping or pong that is not.
    control: usize,
    /// Whether a message has begun whose last frame has not.
    is_within: bool,
}

/// The longest header.
const HEAD_MAX: usize = 14;
/// In the first byte: nothing of the message comes after this frame.
const LAST: u8 = 0x80;
/// In the first byte: it is a ping, a pong or the end, which may come within a message.
const CONTROL: u8 = 0x08;
/// In the second: a mask is there.
const MASKED: u8 = 0x80;

impl Passing {
    /// What has come next.
    pub(super) fn pass(&mut self, mut bytes: &[u8]) {
        while let [first, rest @ ..] = bytes {
            if self.payload == 0 {
                self.head[self.filled] = *first;
                self.filled += 1;
                bytes = rest;
                if let Some(length) = self.length() {
                    self.payload = length;
                    *self.counted() += self.filled;
                    self.end_if_whole();
                }
                continue;
            }
            let passed = usize::try_from(self.payload).unwrap_or(usize::MAX).min(bytes.len());
            self.payload -= passed as u64;
            *self.counted() += passed;
            bytes = &bytes[passed..];
            self.end_if_whole();
        }
    }

    /// Bytes of messages, pings and pongs that are not at their end.
    pub(super) fn unfinished(&self) -> usize {
        let head = if self.payload == 0 { self.filled } else { 0 };
        self.message + self.control + head
    }

    /// Whether the last message is at its end, and nothing has come of another.
    pub(super) fn is_between_messages(&self) -> bool {
        !self.is_within && self.unfinished() == 0
    }

    fn is_control(&self) -> bool {
        self.head[0] & CONTROL != 0
    }

    fn counted(&mut self) -> &mut usize {
        match self.is_control() {
            true => &mut self.control,
            false => &mut self.message,
        }
    }

    /// How long the payload is, once the header is there.
    fn length(&self) -> Option<u64> {
        let [_, second, rest @ ..] = &self.head[..self.filled] else { return None };
        let (short, mask) = (second & !MASKED, if second & MASKED == 0 { 0 } else { 4 });
        let bytes = match short {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        let length = match bytes {
            0 => u64::from(short),
            _ => rest.get(..bytes)?.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
        };
        (rest.len() == bytes + mask).then_some(length)
    }

    fn end_if_whole(&mut self) {
        if self.payload > 0 {
            return;
        }
        self.filled = 0;
        if self.is_control() {
            self.control = 0;
            return;
        }
        self.is_within = self.head[0] & LAST == 0;
        if !self.is_within {
            self.message = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame with a mask of zeros.
    fn frame(first: u8, length: usize) -> Vec<u8> {
        let mut frame = vec![first];
        match length {
            0..126 => frame.push(MASKED | length as u8),
            126..0x1_0000 => {
                frame.push(MASKED | 126);
                frame.extend((length as u16).to_be_bytes());
            }
            _ => {
                frame.push(MASKED | 127);
                frame.extend((length as u64).to_be_bytes());
            }
        }
        frame.extend(std::iter::repeat_n(0, 4 + length));
        frame
    }

    /// What is unfinished after those, however they are cut.
    #[track_caller]
    fn check(bytes: &[u8], expected: usize, is_between: bool) {
        for piece in [1, 2, 3, 7, bytes.len()] {
            let mut passing = Passing::default();
            bytes.chunks(piece).for_each(|piece| passing.pass(piece));
            assert_eq!(passing.unfinished(), expected, "pieces of {piece}");
            assert_eq!(passing.is_between_messages(), is_between, "pieces of {piece}");
        }
    }

    #[test]
    fn messages_end_where_their_last_frame_does() {
        for length in [0, 1, 125, 126, 300, 0xffff, 0x1_0000] {
            let whole = frame(0x81, length);
            check(&whole, 0, true);
            check(&whole[..whole.len() - 1], whole.len() - 1, false);
            check(&[&whole[..], &whole[..3]].concat(), 3, false);
        }
    }

    #[test]
    fn a_message_in_parts_goes_on_through_pings() {
        let (first, ping, last) = (frame(0x01, 10), frame(0x89, 5), frame(0x80, 0));
        check(&[&first[..], &ping].concat(), 16, false);
        check(&[&first[..], &ping[..4]].concat(), 20, false);
        check(&[&first[..], &ping, &last].concat(), 0, true);
        check(&frame(0x01, 0), 6, false);
        check(&ping, 0, true);
    }
}
