//! What the compiler says of mistakes. The words that are ours are the same in every release; those
//! of the compiler are compared where they were written down.

use std::process::Command;

/// Whose words `fixtures/bounds` holds. `TRYBUILD=overwrite` writes those of another release.
const RUSTC: &str = "rustc 1.95.";

#[test]
fn a_mistake_is_told_where_it_is_and_what_to_write() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/fixtures/mistakes/*.rs");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output().expect("there is a compiler");
    if version.stdout.starts_with(RUSTC.as_bytes()) {
        cases.compile_fail("tests/fixtures/bounds/*.rs");
    }
}
