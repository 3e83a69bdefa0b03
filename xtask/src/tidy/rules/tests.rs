//! Each rule of the table with a text that breaks it and one that does not. The marks that the
//! rules look for stand in literals here, which the rules for code do not read.

use super::{FILE_LINES_MAX, FUNCTION_LINES_MAX, PRIVATE_WORDS, Rule, check};
use crate::tidy::source::Source;

/// The rules that the text breaks, with the lines.
#[track_caller]
fn check_rules(path: &str, text: &str, expected: &[(Rule, usize)]) {
    let found = check(&Source::new(path, text.to_owned()));
    let pairs: Vec<(Rule, usize)> = found.iter().map(|found| (found.rule, found.line)).collect();
    assert_eq!(pairs, expected, "{found:?}");
}

/// A text for `crates/a/src/lib.rs`, after a header in line 1.
#[track_caller]
fn check_library(text: &str, expected: &[(Rule, usize)]) {
    check_rules("crates/a/src/lib.rs", &format!("//! A.\n{text}"), expected);
}

#[test]
fn a_file_says_first_what_it_is() {
    check_rules("crates/a/src/lib.rs", "fn a() {}\n", &[(Rule::MissingHeader, 1)]);
    check_rules("crates/a/src/lib.rs", "", &[(Rule::MissingHeader, 1)]);
    check_rules("crates/a/tests/fixtures/a.rs", "fn a() {}\n", &[]);
    check_rules("README.md", "# haft\n", &[]);
}

#[test]
fn a_file_has_at_most_500_lines() {
    let fits = "\n".repeat(FILE_LINES_MAX - 1);
    check_library(&fits, &[]);
    check_library(&format!("{fits}\n"), &[(Rule::FileLength, FILE_LINES_MAX + 1)]);
}

#[test]
fn a_function_has_at_most_70_lines_from_its_name_to_its_brace() {
    let body = "    a();\n".repeat(FUNCTION_LINES_MAX - 2);
    check_library(&format!("fn a() {{\n{body}}}\n"), &[]);
    check_library(&format!("fn a() {{\n{body}\n}}\n"), &[(Rule::FunctionLength, 2)]);
    check_library(&format!("mod a {{\n{body}\n}}\n"), &[]);
}

#[test]
fn braces_in_literals_and_comments_do_not_make_a_function_longer() {
    let far = "\n".repeat(FUNCTION_LINES_MAX);
    check_library(&format!("fn a() {{ b(\"{{\", '{{'); /* {{ */ }}\n{far}fn c() {{}}\n"), &[]);
}

#[test]
fn a_line_has_at_most_100_characters_not_bytes() {
    check_library(&format!("// {}\n", "é".repeat(97)), &[]);
    check_library(&format!("// {}\n", "é".repeat(98)), &[(Rule::ColumnLimit, 2)]);
}

#[test]
fn no_line_ends_in_a_space() {
    check_library("fn a() {} \n", &[(Rule::TrailingSpace, 2)]);
    check_rules("a.yaml", "a: 1\t\n", &[(Rule::TrailingSpace, 1)]);
    check_rules("fuzz/seeds/envelope/space", "a \n", &[]);
}

#[test]
fn unfinished_work_is_found_in_code_and_comments() {
    check_library("fn a() { todo!() }\n", &[(Rule::LeftoverMark, 2)]);
    check_library("fn a() { dbg!(1) }\n", &[(Rule::LeftoverMark, 2)]);
    check_library("// FIXME: later\n", &[(Rule::LeftoverMark, 2)]);
    check_library("const A: &str = \"todo!() FIXME XXXXXX\"; // XXXXXX, prefixme\n", &[]);
    check_library("fn a() { my_todo!() }\n", &[]);
}

#[test]
fn tests_do_not_skip_expect_panics_or_sleep() {
    check_library("#[test]\n#[ignore = \"slow\"]\nfn a() {}\n", &[(Rule::TestShortcut, 3)]);
    check_library("#[should_panic]\nfn a() {}\n", &[(Rule::TestShortcut, 2)]);
    check_library("//! ```ignore\n", &[(Rule::TestShortcut, 2)]);
    check_rules("crates/a/tests/it.rs", "//! A.\nsleep(d);\n", &[(Rule::TestShortcut, 2)]);
    check_library("#[cfg(test)]\nmod t { fn a() { sleep(d) } }\n", &[(Rule::TestShortcut, 3)]);
}

#[test]
fn code_that_is_no_test_may_sleep_and_a_command_may_be_called_sleep() {
    check_library("fn a() { sleep(d); }\n", &[]);
    check_rules("crates/a/tests/it.rs", "//! A.\nrun(&[\"sleep\", \"5\"]);\n", &[]);
    check_rules("crates/a/tests/it.rs", "//! A.\nno_sleep(5);\n", &[]);
}

#[test]
fn the_protocol_touches_nothing() {
    let text = "//! A.\nuse std::fs;\nlet now = Instant::now();\nuse std::time::Duration;\n";
    let expected = [(Rule::ProtocolPurity, 3), (Rule::ProtocolPurity, 2)];
    check_rules("crates/proto/src/a.rs", text, &expected);
    check_rules("crates/server/src/a.rs", text, &[]);
}

#[test]
fn private_words_are_found_in_every_file_and_in_no_longer_path() {
    for word in PRIVATE_WORDS {
        check_rules("notes.md", &format!("see {word}"), &[(Rule::PrivateWord, 1)]);
        check_rules("a/fixtures/notes", &format!("\n\"{word}\""), &[(Rule::PrivateWord, 2)]);
    }
    let path = PRIVATE_WORDS[1];
    check_rules("notes.md", &format!("~{path}a $HOME{path}a https://a.example{path}a"), &[]);
}

#[test]
fn names_and_revisions_are_part_of_the_table() {
    check_rules("crates/a/src/util.rs", "//! A.\n", &[(Rule::DrawerName, 1)]);
    check_library("let a = Revision::V2025_06_18;\n", &[(Rule::RevisionCompared, 2)]);
}
