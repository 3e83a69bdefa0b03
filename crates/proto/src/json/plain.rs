//! The common forms of tokens, found fast: strings without escapes, keys without white space,
//! numbers without sign and exponent. What has another form is `None` and is read by the cursor,
//! which alone knows what is wrong with it.

use super::block::{BLOCK, attention};

/// How many bytes at the front need no attention inside a string: no quote, no backslash, no
/// control character.
#[inline]
pub(crate) fn plain_bytes(bytes: &[u8]) -> usize {
    // Most strings end here.
    if let Some(block) = bytes.first_chunk() {
        let found = attention(block);
        if found != 0 {
            return found.trailing_zeros() as usize;
        }
    }
    plain_bytes_in_blocks(bytes)
}

/// The same for long strings, and for those so near to the end of the text that no block is left.
#[inline(never)]
fn plain_bytes_in_blocks(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    while let Some((block, behind)) = rest.split_first_chunk() {
        let found = attention(block);
        if found != 0 {
            return bytes.len() - rest.len() + found.trailing_zeros() as usize;
        }
        rest = behind;
        if bytes.len() - rest.len() == LONG {
            let skipped = plain_stretch(rest);
            rest = &rest[skipped..];
        }
    }
    // The last bytes as a block that ends in quotes.
    let mut block = [b'"'; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    bytes.len() - rest.len() + attention(&block).trailing_zeros().min(rest.len() as u32) as usize
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
    let (b'"', inner) = bytes.get(at..)?.split_first()? else { return None };
    let length = plain_bytes(inner);
    (inner.get(length..)?.first_chunk() == Some(b"\":")).then_some(at + length + 3)
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
        fn plain_bytes_stop_where_a_plain_loop_stops(
            bytes in proptest::collection::vec(any::<u8>(), 0..64)
        ) {
            let slow = bytes.iter().take_while(|b| !matches!(b, b'"' | b'\\' | 0..0x20)).count();
            prop_assert_eq!(plain_bytes(&bytes), slow);
        }

        #[test]
        fn so_they_do_far_into_a_long_string(
            length in 0_usize..80_000, end in proptest::sample::select(&b"\"\\\n\0"[..])
        ) {
            let mut bytes = vec![b'x'; length];
            bytes.push(end);
            bytes.extend([b'"'; 40]);
            prop_assert_eq!(plain_bytes(&bytes), length);
        }
    }
}
