//! Messages that cannot be read: whether one of them was an answer, so that whoever waits is told,
//! or only something that is written beside the messages. Asked where reading has failed.

/// Whether that was to be an answer, though it does not say to what: whoever waits may wait in
/// vain. What is no message at all, or one that nothing waits for, is none.
pub(crate) fn is_answer(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes).trim_ascii_start();
    let has = |name: &[u8]| bytes.windows(name.len()).any(|part| part == name);
    let is_message = bytes.starts_with(b"{") && has(b"\"jsonrpc\"");
    is_message && (has(b"\"result\"") || has(b"\"error\"")) && !has(b"\"method\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_told_from_what_is_written_beside_it() {
        for (text, expected) in [
            (&br#"{"jsonrpc":"2.0","result":{"a":NaN}}"#[..], true),
            (b"\xef\xbb\xbf {\"jsonrpc\":\"2.0\",\"error\":{\"message\":\"caf\xe9\"}}", true),
            (
                br#"{"jsonrpc":"2.0","method":"notifications/message","params":{"result":NaN}}"#,
                false,
            ),
            (br#"{"level":"info","result":NaN}"#, false),
            (b"ping", false),
            (b"INFO \"jsonrpc\" \"result\"", false),
            (b"", false),
        ] {
            assert_eq!(is_answer(text), expected, "{}", String::from_utf8_lossy(text));
        }
    }
}
