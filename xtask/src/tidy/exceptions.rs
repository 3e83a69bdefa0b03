//! The files that may break a rule, each with its reason. `tidy` applies the list; an exception
//! that nothing needs any more is itself a finding, so the list can only shrink or be argued for.

use super::rules::{Finding, Rule};

/// One rule that one file may break.
pub(super) struct Exception {
    pub(super) rule: Rule,
    /// The file, from the root of the repository.
    pub(super) path: &'static str,
    /// Why the rule is wrong here.
    pub(super) reason: &'static str,
}

/// All exceptions, by path.
pub(super) const EXCEPTIONS: &[Exception] = &[Exception {
    rule: Rule::ColumnLimit,
    path: "crates/proto/src/method.rs",
    reason: "the table of methods reads across",
}];

/// The findings that no exception excuses, and one for each exception that excuses nothing or that
/// gives no reason.
pub(super) fn apply(findings: Vec<Finding>, exceptions: &[Exception]) -> Vec<Finding> {
    let stale: Vec<Finding> = exceptions
        .iter()
        .filter(|exception| !findings.iter().any(|finding| excuses(exception, finding)))
        .map(|exception| Finding::stale_exception(exception.path, exception.rule))
        .collect();
    let unexplained = exceptions.iter().filter(|exception| exception.reason.is_empty());
    let mut left: Vec<Finding> = findings
        .into_iter()
        .filter(|finding| !exceptions.iter().any(|exception| excuses(exception, finding)))
        .collect();
    left.extend(stale);
    left.extend(unexplained.map(|exception| Finding::unexplained_exception(exception.path)));
    left
}

fn excuses(exception: &Exception, finding: &Finding) -> bool {
    exception.rule == finding.rule && exception.path == finding.path
}

#[cfg(test)]
mod tests {
    use super::{Exception, apply};
    use crate::tidy::rules::{Finding, Rule};

    const LONG: Exception =
        Exception { rule: Rule::FileLength, path: "crates/a/src/table.rs", reason: "one table" };

    fn finding(rule: Rule, path: &str) -> Finding {
        Finding { rule, path: path.to_owned(), line: 1, message: "is wrong".to_owned() }
    }

    #[test]
    fn an_exception_excuses_its_rule_in_its_file_only() {
        let findings = vec![
            finding(Rule::FileLength, "crates/a/src/table.rs"),
            finding(Rule::ColumnLimit, "crates/a/src/table.rs"),
            finding(Rule::FileLength, "crates/a/src/other.rs"),
        ];
        let left = apply(findings, &[LONG]);
        let left: Vec<_> = left.iter().map(|found| (found.rule, found.path.as_str())).collect();
        assert_eq!(
            left,
            [
                (Rule::ColumnLimit, "crates/a/src/table.rs"),
                (Rule::FileLength, "crates/a/src/other.rs")
            ]
        );
    }

    #[test]
    fn a_stale_exception_is_a_finding() {
        let left = apply(Vec::new(), &[LONG]);
        assert!(matches!(left.as_slice(), [found] if found.rule == Rule::StaleException));
    }

    #[test]
    fn an_exception_without_a_reason_is_a_finding() {
        let silent = Exception { reason: "", ..LONG };
        let left = apply(vec![finding(Rule::FileLength, LONG.path)], &[silent]);
        assert_eq!(left.len(), 1);
    }
}
