//! Words and marks of Rust code with their places, and the few shapes that the rules look for:
//! functions, test code, modules. `source` and `modules` call it; it never sees comments or
//! literals, which `source` has blanked out.

use super::lexer::is_word;

/// A word, or one byte of punctuation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    /// The offset of its first byte.
    pub(super) at: usize,
}

/// A function that has a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function<'a> {
    pub(super) name: &'a str,
    /// The offset of `fn`.
    pub(super) start: usize,
    /// The offset of the brace that closes the body.
    pub(super) end: usize,
}

/// Splits code into tokens. A raw identifier is one word.
pub(super) fn tokens(code: &str) -> Vec<Token<'_>> {
    let bytes = code.as_bytes();
    let mut found: Vec<Token<'_>> = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let word = |from: usize| {
            bytes.iter().skip(from).position(|&byte| !is_word(byte)).unwrap_or(bytes.len() - from)
        };
        let mut length = if is_word(byte) { word(at) } else { 1 };
        if code.get(at..at + 2) == Some("r#") && bytes.get(at + 2).copied().is_some_and(is_word) {
            length = 2 + word(at + 2);
        }
        if !byte.is_ascii_whitespace()
            && let Some(text) = code.get(at..at + length)
        {
            found.push(Token { text, at });
        }
        at += length;
    }
    found
}

/// Every function with a body, nested ones too.
pub(super) fn functions<'a>(tokens: &[Token<'a>]) -> Vec<Function<'a>> {
    let mut found = Vec::new();
    for (index, pair) in tokens.windows(2).enumerate() {
        let [keyword, name] = pair else { continue };
        if keyword.text != "fn" || !name.text.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            continue;
        }
        if let Some(end) = item_end(tokens.get(index + 2..).unwrap_or_default(), true) {
            found.push(Function { name: name.text, start: keyword.at, end });
        }
    }
    found
}

/// The byte ranges, ends included, of the items marked `#[cfg(test)]` or `#[cfg(all(test, ...))]`.
pub(super) fn test_items(tokens: &[Token<'_>]) -> Vec<(usize, usize)> {
    let opens = |window: &[Token<'_>], words: &[&str]| {
        window.len() >= words.len() && window.iter().zip(words).all(|(a, b)| a.text == *b)
    };
    let mut found = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let rest = tokens.get(index..).unwrap_or_default();
        let is_test = opens(rest, &["#", "[", "cfg", "(", "test", ")", "]"])
            || opens(rest, &["#", "[", "cfg", "(", "all", "(", "test"]);
        if is_test && let Some(end) = item_end(rest, false) {
            found.push((token.at, end));
        }
    }
    found
}

/// The offset where the item ends: its closing brace or its semicolon, whichever the item has.
/// With `body_only`, an item without a body has no end.
fn item_end(tokens: &[Token<'_>], body_only: bool) -> Option<usize> {
    let mut nested = 0_usize;
    let mut braces = 0_usize;
    for token in tokens {
        match token.text {
            "(" | "[" => nested += 1,
            ")" | "]" => nested = nested.saturating_sub(1),
            "{" => braces += 1,
            "}" if braces <= 1 && nested == 0 => return Some(token.at),
            "}" => braces = braces.saturating_sub(1),
            ";" if nested == 0 && braces == 0 => return (!body_only).then_some(token.at),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{functions, test_items, tokens};

    #[track_caller]
    fn check_functions(code: &str, expected: &[(&str, &str)]) {
        let found: Vec<(&str, &str)> = functions(&tokens(code))
            .iter()
            .map(|function| (function.name, &code[function.start..=function.end]))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_function_ends_with_its_own_brace() {
        check_functions("fn a() { if b { c } } d { }", &[("a", "fn a() { if b { c } }")]);
        check_functions("fn a() -> [u8; { 2 }] { b }", &[("a", "fn a() -> [u8; { 2 }] { b }")]);
    }

    #[test]
    fn a_nested_function_counts_for_itself() {
        check_functions(
            "fn a() { fn b() {} }",
            &[("a", "fn a() { fn b() {} }"), ("b", "fn b() {}")],
        );
    }

    #[test]
    fn a_declaration_and_a_pointer_type_have_no_body() {
        check_functions(
            "trait T { fn a(); } struct S { f: fn() } fn b() {}",
            &[("b", "fn b() {}")],
        );
    }

    #[test]
    fn test_items_reach_from_the_attribute_to_the_end_of_the_item() {
        let code = "a #[cfg(test)] mod t { b { } } c #[cfg(test)] use d; e #[cfg(feature)] f {}";
        let found: Vec<&str> =
            test_items(&tokens(code)).iter().map(|&(from, to)| &code[from..=to]).collect();
        assert_eq!(found, ["#[cfg(test)] mod t { b { } }", "#[cfg(test)] use d;"]);
    }

    #[test]
    fn a_raw_identifier_is_one_word() {
        let found: Vec<&str> = tokens("r#mod: u8").iter().map(|token| token.text).collect();
        assert_eq!(found, ["r#mod", ":", "u8"]);
    }
}
