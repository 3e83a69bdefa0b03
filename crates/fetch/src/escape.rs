//! Text becomes part of an address: everything but letters, digits and `-._~` in percent escapes
//! (RFC 3986, 2.3). Used for path segments, queries and forms, so that no value can end its place.

/// What RFC 3986 reserves and a query may hold. `&` and `#` would end a value, and brackets stand
/// in no query (3.4).
const RESERVED: &[u8] = b":/?@!$'()*+,;=";

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// `text` as OpenAPI's `allowReserved` has it: with reserved characters and escapes as they are, as
/// far as they cannot end the value.
///
/// ```
/// use haft_fetch::escape::but_reserved;
/// assert_eq!(but_reserved("a/b:c?d e%20f&g=100%"), "a/b:c?d%20e%20f%26g=100%25");
/// ```
#[must_use]
pub fn but_reserved(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let escape = rest.as_bytes().get(1..3).filter(|_| first == '%');
        let length = match escape {
            Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => 3,
            _ => first.len_utf8(),
        };
        match u8::try_from(first) {
            Ok(byte) if length == 3 || RESERVED.contains(&byte) => out.push_str(&rest[..length]),
            _ => push(&mut out, &rest[..length]),
        }
        rest = &rest[length..];
    }
    out
}

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
