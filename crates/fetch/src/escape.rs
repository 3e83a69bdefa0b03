//! Text becomes part of an address: everything but letters, digits and `-._~` in percent escapes
//! (RFC 3986, 2.3). Used for path segments, queries and forms, so that no value can end its place.

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// Appends `text` with everything escaped that could mean something.
pub fn push(out: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(byte as char);
        } else {
            out.push('%');
            out.push(HEX[usize::from(byte >> 4)] as char);
            out.push(HEX[usize::from(byte & 15)] as char);
        }
    }
}

/// `text` with everything escaped that could mean something.
///
/// ```
/// assert_eq!(haft_fetch::escape::text("a/b?c=d&e é"), "a%2Fb%3Fc%3Dd%26e%20%C3%A9");
/// ```
#[must_use]
pub fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push(&mut out, text);
    out
}
