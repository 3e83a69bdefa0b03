//! Which of sixteen bytes cannot stand in a string as they are. The scan of plain strings calls it;
//! it knows no grammar.

use wide::u8x16;

/// How many bytes are looked at together.
pub(super) const BLOCK: usize = 16;

/// A bit for each byte that needs attention inside a string, the lowest for the first: a quote, a
/// backslash or a control character.
#[inline]
pub(super) fn attention(block: &[u8; BLOCK]) -> u32 {
    let bytes = u8x16::new(*block);
    let quote = bytes.simd_eq(u8x16::splat(b'"'));
    let backslash = bytes.simd_eq(u8x16::splat(b'\\'));
    let control = bytes.min(u8x16::splat(0x1f)).simd_eq(bytes);
    (quote | backslash | control).to_bitmask()
}
