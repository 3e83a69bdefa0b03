//! Tells Rust code from comments and literals, byte by byte. `source` calls it; it never parses
//! further than that, and on broken code it gives an answer rather than an error.

/// What a byte of a Rust file belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// A token.
    Code,
    /// `//`, `/* */` and their doc forms, with the marks.
    Comment,
    /// The inside and the quotes of a string, byte string or character.
    Literal,
}

/// The class of every byte of `text`.
pub(super) fn classify(text: &str) -> Vec<Class> {
    let mut lexer = Lexer { bytes: text.as_bytes(), classes: Vec::with_capacity(text.len()) };
    while let Some(byte) = lexer.peek(0) {
        match byte {
            b'/' if lexer.peek(1) == Some(b'/') => lexer.line_comment(),
            b'/' if lexer.peek(1) == Some(b'*') => lexer.block_comment(),
            b'"' => lexer.string(),
            b'\'' => lexer.quote(),
            _ if is_word(byte) => lexer.word(),
            _ => lexer.take(1, Class::Code),
        }
    }
    lexer.classes
}

/// Whether the byte can be part of an identifier or a number.
pub(super) const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Walks the bytes; `classes.len()` is the position.
struct Lexer<'a> {
    bytes: &'a [u8],
    classes: Vec<Class>,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.classes.len() + ahead).copied()
    }

    /// Gives the next `count` bytes a class, and stops at the end of the text.
    fn take(&mut self, count: usize, class: Class) {
        let end = (self.classes.len() + count).min(self.bytes.len());
        self.classes.resize(end, class);
    }

    fn line_comment(&mut self) {
        while self.peek(0).is_some_and(|byte| byte != b'\n') {
            self.take(1, Class::Comment);
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0_usize;
        while self.peek(0).is_some() {
            match (self.peek(0), self.peek(1)) {
                (Some(b'/'), Some(b'*')) => {
                    depth += 1;
                    self.take(2, Class::Comment);
                }
                (Some(b'*'), Some(b'/')) => {
                    depth -= 1;
                    self.take(2, Class::Comment);
                    if depth == 0 {
                        return;
                    }
                }
                _ => self.take(1, Class::Comment),
            }
        }
    }

    fn string(&mut self) {
        self.take(1, Class::Literal);
        while let Some(byte) = self.peek(0) {
            self.take(if byte == b'\\' { 2 } else { 1 }, Class::Literal);
            if byte == b'"' {
                return;
            }
        }
    }

    /// A raw string ends at a quote with as many hashes as it began with; nothing escapes.
    fn raw_string(&mut self, hashes: usize) {
        self.take(hashes + 1, Class::Literal);
        while let Some(byte) = self.peek(0) {
            self.take(1, Class::Literal);
            if byte == b'"' && (0..hashes).all(|ahead| self.peek(ahead) == Some(b'#')) {
                self.take(hashes, Class::Literal);
                return;
            }
        }
    }

    /// A quote begins a character or a lifetime; only a character has its end so near.
    fn quote(&mut self) {
        let rest = self.bytes.get(self.classes.len() + 1..).unwrap_or_default();
        let width = rest.first().map_or(1, |byte| match byte {
            0xF0.. => 4,
            0xE0.. => 3,
            0xC0.. => 2,
            _ => 1,
        });
        if rest.first() == Some(&b'\\') {
            let body = rest.iter().skip(2).position(|&byte| byte == b'\'').unwrap_or_default();
            self.take(body + 4, Class::Literal);
        } else if rest.get(width) == Some(&b'\'') {
            self.take(width + 2, Class::Literal);
        } else {
            self.take(1, Class::Code);
        }
    }

    /// An identifier, unless it is the prefix of a string.
    fn word(&mut self) {
        let length = (0..).take_while(|&ahead| self.peek(ahead).is_some_and(is_word)).count();
        let start = self.classes.len();
        let word = self.bytes.get(start..start + length).unwrap_or_default();
        let hashes = (0..).take_while(|ahead| self.peek(length + ahead) == Some(b'#')).count();
        let is_raw = matches!(word, b"r" | b"br" | b"cr");
        self.take(length, Class::Code);
        if is_raw && self.peek(hashes) == Some(b'"') {
            self.raw_string(hashes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Class, classify};

    /// The text with everything but code replaced by `_`.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let shown: String = text
            .bytes()
            .zip(classify(text))
            .map(|(byte, class)| if class == Class::Code { char::from(byte) } else { '_' })
            .collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn comments_are_not_code() {
        check("a // b\nc", "a ____\nc");
        check("a /* b /* c */ d */ e", "a _________________ e");
        check("a / b", "a / b");
    }

    #[test]
    fn literals_are_not_code() {
        check(r#"f("a{\"b")"#, "f(_______)");
        check(r##"f(r#"a"b{"#)"##, "f(r________)");
        check("f(b\"a\", 'x', '\\'', '{', '\u{e9}')", "f(b___, ___, ____, ___, ____)");
        check("'\\u{7d}' }", "________ }");
    }

    #[test]
    fn lifetimes_and_raw_identifiers_are_code() {
        check("fn f<'a>(r#type: &'a str)", "fn f<'a>(r#type: &'a str)");
        check("impl<'a> T<'a, 'b'>", "impl<'a> T<'a, ___>");
    }

    #[test]
    fn an_unfinished_literal_or_comment_reaches_the_end() {
        check("a \"b", "a __");
        check("a /* b", "a ____");
        check("a r#\"b\"", "a r____");
        check("'\\", "__");
    }

    #[test]
    fn every_byte_has_a_class() {
        for text in ["", "é", "'é'", "\"\\", "r##\"", "/**/ 'a"] {
            assert_eq!(classify(text).len(), text.len(), "{text}");
        }
    }
}
