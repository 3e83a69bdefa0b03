//! The names that mean nothing: a drawer takes whatever nobody wanted to place. `rules` calls it;
//! it never judges names of functions or types.

use super::rules::{Finding, Rule};
use super::source::Source;
use super::tokens::tokens;

const DRAWERS: &[&str] =
    &["common", "helper", "helpers", "misc", "shared", "types", "util", "utils"];

/// Finds drawers among the file's folders, in its own name, and among the modules in it.
pub(super) fn check(source: &Source) -> Vec<Finding> {
    let mut findings: Vec<Finding> = source
        .path
        .split('/')
        .filter(|part| is_drawer(part.split('.').next().unwrap_or_default()))
        .map(|part| finding(source, 1, part))
        .collect();
    for pair in tokens(&source.code).windows(3) {
        let [keyword, name, after] = pair else { continue };
        if keyword.text == "mod" && matches!(after.text, "{" | ";") && is_drawer(name.text) {
            findings.push(finding(source, source.line_of(name.at), name.text));
        }
    }
    findings
}

fn is_drawer(name: &str) -> bool {
    DRAWERS.contains(&name)
}

fn finding(source: &Source, line: usize, name: &str) -> Finding {
    let message = format!("`{name}` names a drawer, name the one thing that is in it");
    Finding { rule: Rule::DrawerName, path: source.path.clone(), line, message }
}

#[cfg(test)]
mod tests {
    use super::{Source, check};

    #[track_caller]
    fn check_lines(path: &str, text: &str, expected: &[usize]) {
        let found: Vec<usize> =
            check(&Source::new(path, text.to_owned())).iter().map(|found| found.line).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn files_folders_and_modules_are_judged() {
        check_lines("crates/a/src/util.rs", "", &[1]);
        check_lines("crates/a/tests/common/mod.rs", "", &[1]);
        check_lines("crates/a/src/lib.rs", "\nmod misc;\nmod types { }", &[2, 3]);
    }

    #[test]
    fn a_word_inside_a_name_is_no_drawer() {
        check_lines("crates/a/src/utility_bill.rs", "mod shared_state; // mod util;", &[]);
    }
}
