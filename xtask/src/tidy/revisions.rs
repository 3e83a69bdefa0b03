//! Only `version.rs` compares revisions of the protocol; everybody else asks it a question by name.
//! `rules` calls this check, which is textual: it knows how rustfmt spaces an operator, and never
//! resolves a type.

use super::rules::{Finding, Rule};
use super::source::Source;
use super::tokens::tokens;

/// The file that may compare, and the table whose rows name a first and a last revision.
const FREE: &[&str] = &["crates/proto/src/method.rs", "crates/proto/src/version.rs"];

/// Finds variants of `Revision` and comparisons of revisions outside tests.
pub(super) fn check(source: &Source) -> Vec<Finding> {
    if !source.is_rust() || FREE.contains(&source.path.as_str()) {
        return Vec::new();
    }
    let variants = tokens(&source.code).into_iter().filter(|token| is_variant(token.text));
    let named = variants.map(|token| (token.at, format!("`{}` is named", token.text)));
    named
        .chain(comparisons(&source.code))
        .filter(|&(at, _)| !source.is_test(at) && !is_bench(&source.path))
        .map(|(at, what)| Finding {
            rule: Rule::RevisionCompared,
            path: source.path.clone(),
            line: source.line_of(at),
            message: format!("{what} here, add a question to version.rs and ask that"),
        })
        .collect()
}

/// A benchmark picks a revision as a test does.
fn is_bench(path: &str) -> bool {
    path.split('/').any(|part| part == "benches")
}

/// `V2026_07_28` and its like.
fn is_variant(word: &str) -> bool {
    let Some(date) = word.strip_prefix("V20") else { return false };
    let is_shaped = |(index, byte)| match index {
        2 | 5 => byte == b'_',
        _ => u8::is_ascii_digit(&byte),
    };
    date.len() == "26_07_28".len() && date.bytes().enumerate().all(is_shaped)
}

/// The order operators with a revision at one side.
fn comparisons(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for operator in [" < ", " > ", " <= ", " >= "] {
        for (at, _) in code.match_indices(operator) {
            let left = code.get(..at).and_then(|code| code.rsplit(ends_operand).next());
            let right =
                code.get(at + operator.len()..).and_then(|code| code.split(ends_operand).next());
            let mut operands = [left, right].into_iter().flatten();
            if let Some(operand) = operands.find(|operand| is_revision(operand)) {
                found.push((at, format!("`{operand}` is compared by{}", operator.trim_end())));
            }
        }
    }
    found
}

fn ends_operand(c: char) -> bool {
    !(c.is_alphanumeric() || matches!(c, '_' | '.' | ':'))
}

/// `revision`, `call.revision` and `Revision::LATEST`, but not `revisions`.
fn is_revision(operand: &str) -> bool {
    let mut parts = operand.split(['.', ':']).rev().filter(|part| !part.is_empty());
    let last = parts.next();
    last == Some("revision") || parts.next() == Some("Revision")
}

#[cfg(test)]
mod tests {
    use super::{Source, check};

    #[track_caller]
    fn check_count(path: &str, code: &str, expected: usize) {
        let found = check(&Source::new(path, code.to_owned()));
        let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), expected, "{shown:?}");
    }

    #[test]
    fn a_variant_is_named_in_version_and_method_only() {
        check_count("crates/server/src/lists.rs", "let a = Revision::V2025_06_18;", 1);
        check_count("crates/server/src/lists.rs", "match r { V2025_06_18 => 1 }", 1);
        check_count("crates/proto/src/version.rs", "V2025_06_18 < V2026_07_28", 0);
        check_count("crates/proto/src/method.rs", "first: V2025_06_18", 0);
    }

    #[test]
    fn a_comparison_is_refused_at_either_side() {
        for code in [
            "if call.revision >= Revision::LATEST { }",
            "if revision < other { }",
            "if other > revision { }",
            "if other <= Revision::LATEST_LEGACY { }",
        ] {
            check_count("crates/cli/src/call.rs", code, 1);
        }
    }

    #[test]
    fn tests_benches_and_other_things_are_free() {
        check_count("crates/server/tests/it/a.rs", "let a = Revision::V2025_06_18;", 0);
        check_count(
            "crates/server/src/a.rs",
            "#[cfg(test)] mod t { const A: R = V2025_06_18; }",
            0,
        );
        check_count("benchmarks/benches/a.rs", "let a = Revision::V2025_06_18;", 0);
        check_count("crates/cli/src/a.rs", "fn f(revision: Revision) -> Vec<Revision> {}", 0);
        check_count("crates/cli/src/a.rs", "if revisions.len() > 3 { V20 }", 0);
        check_count("crates/cli/src/a.rs", "// V2025_06_18, revision < other", 0);
    }
}
