//! One file as the rules see it: its text, and for Rust its code and its comments apart. `tidy`
//! makes them; a source never reads a file itself.

use super::lexer::{Class, classify};
use super::tokens::{test_items, tokens};

/// A text file of the repository.
pub(super) struct Source {
    /// From the root, with `/`.
    pub(super) path: String,
    /// As it is on disk.
    pub(super) text: String,
    /// The text with comments and literals blanked; empty unless the file is Rust.
    pub(super) code: String,
    /// The text with all but comments blanked; empty unless the file is Rust.
    pub(super) comments: String,
    /// Byte ranges of items that exist in tests only, ends included.
    test_items: Vec<(usize, usize)>,
}

impl Source {
    pub(super) fn new(path: &str, text: String) -> Self {
        let classes = if path.ends_with(".rs") { classify(&text) } else { Vec::new() };
        let code = only(&text, &classes, Class::Code);
        let comments = only(&text, &classes, Class::Comment);
        let test_items = test_items(&tokens(&code));
        Self { path: path.to_owned(), text, code, comments, test_items }
    }

    pub(super) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Input of a test rather than a part of the project: its shape is its content.
    pub(super) fn is_fixture(&self) -> bool {
        self.path.split('/').any(|part| matches!(part, "fixtures" | "golden" | "seeds"))
    }

    /// Whether the byte belongs to a test: by the file's place, or by the item around it.
    pub(super) fn is_test(&self, at: usize) -> bool {
        self.is_test_file() || self.test_items.iter().any(|&(from, to)| from <= at && at <= to)
    }

    fn is_test_file(&self) -> bool {
        self.path.split('/').any(|part| matches!(part, "tests" | "tests.rs"))
    }

    /// The number of the line that holds the byte, counted from 1.
    pub(super) fn line_of(&self, at: usize) -> usize {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        1 + before.iter().filter(|&&byte| byte == b'\n').count()
    }
}

/// The text with every byte of another class turned into a space; lines and offsets stay.
fn only(text: &str, classes: &[Class], wanted: Class) -> String {
    let bytes = text.bytes().zip(classes);
    let kept =
        bytes.map(|(byte, &class)| if class == wanted || byte == b'\n' { byte } else { b' ' });
    String::from_utf8_lossy(&kept.collect::<Vec<u8>>()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::Source;

    fn rust(path: &str, text: &str) -> Source {
        Source::new(path, text.to_owned())
    }

    #[test]
    fn offsets_are_the_same_in_text_code_and_comments() {
        let source = rust("a.rs", "//! é\nlet a = \"é\"; // b\n");
        assert_eq!(source.text.len(), source.code.len());
        assert_eq!(source.text.len(), source.comments.len());
        assert_eq!(source.code.trim(), "let a =     ;");
        assert!(source.comments.starts_with("//! é\n") && source.comments.ends_with("// b\n"));
    }

    #[test]
    fn test_code_is_known_by_item_and_by_place() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests { fn b() {} }\n";
        let at = |name: &str| text.find(name).unwrap();
        let source = rust("crates/x/src/lib.rs", text);
        assert!(!source.is_test(at("fn a")) && source.is_test(at("fn b")));
        assert!(rust("crates/x/tests/it/a.rs", text).is_test(at("fn a")));
        assert!(rust("crates/x/src/wire/tests.rs", text).is_test(at("fn a")));
        assert!(!rust("crates/x/src/contests.rs", text).is_test(at("fn a")));
    }

    #[test]
    fn lines_count_from_one() {
        let source = rust("a.rs", "a\nb\n");
        assert_eq!((source.line_of(0), source.line_of(2)), (1, 2));
    }
}
