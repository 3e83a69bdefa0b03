//! Runs `cargo test` in plain view and keeps what its failed tests said, so that the end of a long
//! log tells why. Called by `test`; judges nothing that cargo does not.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::command;
use crate::failure::Failure;

/// The most that is told a second time, in bytes; the first failures go first.
const BYTES_MAX: usize = 32 * 1024;

/// Runs the tests.
pub(crate) fn run(tests: &mut Command) -> Result<(), Failure> {
    let line = command::line(tests);
    let missing = |source| Failure::CommandMissing { line: line.clone(), source };
    let mut child = tests.stdout(Stdio::piped()).spawn().map_err(missing)?;
    let said = child.stdout.take().map(|out| listen(BufReader::new(out), io::stdout()));
    let status = child.wait().map_err(missing)?;
    match command::judge(tests, status) {
        Err(Failure::CommandFailed { line, .. })
            if said.as_ref().is_some_and(|s| !s.is_empty()) =>
        {
            Err(Failure::TestsFailed { line, said: said.unwrap_or_default() })
        }
        judged => judged,
    }
}

/// Shows every line, and returns those between `failures:` and the result that they end in.
fn listen(mut from: impl BufRead, mut to: impl Write) -> String {
    let (mut kept, mut line, mut is_of_failures) = (String::new(), Vec::new(), false);
    while matches!(from.read_until(b'\n', &mut line), Ok(1..)) {
        // The closed pipe of whoever reads us is no reason to stop listening.
        let _ = to.write_all(&line);
        let said = String::from_utf8_lossy(&line);
        is_of_failures |= said.trim_end() == "failures:";
        if is_of_failures && kept.len() + said.len() <= BYTES_MAX {
            kept.push_str(&said);
        }
        is_of_failures &= !said.starts_with("test result: ");
        line.clear();
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::{BYTES_MAX, listen};

    const LOG: &str = "running 2 tests\ntest a ... ok\ntest b ... FAILED\n\nfailures:\n\n\
        ---- b stdout ----\nb broke\n\nfailures:\n    b\n\ntest result: FAILED. 1 passed\n\
        running 1 test\ntest c ... ok\ntest result: ok. 1 passed\n";

    #[test]
    fn what_failed_is_kept_and_everything_is_shown() {
        let mut shown = Vec::new();
        let kept = listen(LOG.as_bytes(), &mut shown);
        assert_eq!(String::from_utf8_lossy(&shown), LOG);
        assert!(kept.starts_with("failures:") && kept.contains("b broke"), "{kept}");
        assert!(kept.trim_end().ends_with("test result: FAILED. 1 passed"), "{kept}");
    }

    #[test]
    fn what_is_kept_has_a_bound() {
        let log = format!("failures:\n{}", "more\n".repeat(BYTES_MAX));
        assert!(listen(log.as_bytes(), Vec::new()).len() <= BYTES_MAX);
    }
}
