//! The common forms of tokens, found fast: strings without escapes, keys without white space,
//! numbers without sign and exponent. What has another form is `None` and is read by the cursor,
//! which alone knows what is wrong with it.

use super::block::{BLOCK, attention};

/// The first place from `at` on whose byte needs attention inside a string: a quote, a backslash or
/// a control character. The end, if there is none; `at` is not beyond it.
#[inline]
pub(crate) fn plain_end(bytes: &[u8], at: usize) -> usize {
    let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk) else {
        return plain_end_near_end(bytes, at);
    };
    // Most strings end here.
    match attention(block) {
        0 => plain_end_in_blocks(bytes, at + BLOCK),
        found => at + found.trailing_zeros() as usize,
    }
}

/// The same for long strings.
#[inline(never)]
fn plain_end_in_blocks(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let found = attention(block);
        if found != 0 {
            return at + found.trailing_zeros() as usize;
        }
        at += BLOCK;
        if at - from == LONG {
            at += plain_stretch(&bytes[at..]);
        }
    }
    plain_end_near_end(bytes, at)
}

/// The same where less than a block is left: the last one is looked at, and what it has before
/// `at` is put out of sight.
#[inline]
fn plain_end_near_end(bytes: &[u8], at: usize) -> usize {
    let Some(block) = bytes.last_chunk() else {
        let needs = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
        return (at..bytes.len()).find(|at| needs(&bytes[*at])).unwrap_or(bytes.len());
    };
    match attention(block) >> (at + BLOCK - bytes.len()) {
        0 => bytes.len(),
        found => at + found.trailing_zeros() as usize,
    }
}

/// From where on a string is long: what follows is searched with all the width that the processor
/// has, which costs more to begin.
const LONG: usize = 256;

/// How much of a long string is searched at once, at most: the second look finds it in the cache.
const STRETCH_MAX: usize = 16 * 1024;

/// A number of bytes at the front that need no attention, perhaps not all. Each stretch is twice
/// as long as the one before, so that a string that ends soon is not searched far beyond its end.
fn plain_stretch(bytes: &[u8]) -> usize {
    let (mut at, mut length) = (0, LONG);
    while at < bytes.len() {
        let stretch = &bytes[at..bytes.len().min(at + length)];
        let end = memchr::memchr2(b'"', b'\\', stretch).unwrap_or(stretch.len());
        if stretch[..end].iter().fold(u8::MAX, |least, byte| least.min(*byte)) < 0x20 {
            break;
        }
        at += end;
        if end < stretch.len() {
            break;
        }
        length = (length * 2).min(STRETCH_MAX);
    }
    at
}

/// The place behind the colon of a key that is written without white space and escapes.
#[inline]
pub(super) fn plain_key_end(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at) != Some(&b'"') {
        return None;
    }
    let end = plain_end(bytes, at + 1);
    (bytes.get(end..)?.first_chunk() == Some(b"\":")).then_some(end + 2)
}

/// Where a number without sign and exponent ends, if what follows leaves no doubt.
#[inline]
pub(super) fn plain_number_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut end = match bytes.get(at)? {
        b'0' => at + 1,
        b'1'..=b'9' => digits_end(bytes, at + 1),
        _ => return None,
    };
    if bytes.get(end) == Some(&b'.') {
        let fraction = end + 1;
        end = digits_end(bytes, fraction);
        if end == fraction {
            return None;
        }
    }
    matches!(bytes.get(end), Some(b',' | b'}' | b']')).then_some(end)
}

#[inline]
pub(super) fn digits_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at;
    while matches!(bytes.get(end), Some(b'0'..=b'9')) {
        end += 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_plain_string_ends_where_a_plain_loop_ends(
            bytes in proptest::collection::vec(any::<u8>(), 0..64),
            at in any::<proptest::sample::Index>(),
        ) {
            let at = at.index(bytes.len() + 1);
            let needs = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
            let slow = bytes[at..].iter().position(needs).map_or(bytes.len(), |found| at + found);
            prop_assert_eq!(plain_end(&bytes, at), slow);
        }

        #[test]
        fn so_it_does_far_into_a_long_one(
            length in 0_usize..80_000, end in proptest::sample::select(&b"\"\\\n\0"[..])
        ) {
            let mut bytes = vec![b'x'; length];
            bytes.push(end);
            bytes.extend([b'"'; 40]);
            prop_assert_eq!(plain_end(&bytes, 0), length);
        }
    }
}
