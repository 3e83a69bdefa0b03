//! The server that clients walk through: what the official conformance suite asks for, and four
//! tools more. `walk` starts it; which one it is, is decided here and nowhere else.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use super::install::run;

/// The command line of another server, to see whose fault a failure is: whatever serves the
/// fixture with `--stdio`, or with `--http ADDRESS`, and then says where.
const OTHER_SERVER: &str = "HAFT_INTEROP_SERVER";

/// The package of this workspace whose binary, of the same name, serves the fixture.
const OWN: &str = "haft-conformance";

/// The command line, to which is to be added how to serve.
pub(crate) fn words() -> Vec<OsString> {
    if let Ok(line) = std::env::var(OTHER_SERVER) {
        let words = shlex::split(&line).expect("quotes are closed");
        return words.into_iter().map(OsString::from).collect();
    }
    vec![built(OWN)]
}

/// Cargo builds the binaries of the package under test only, so another one is built here, into
/// the same folder.
fn built(package: &str) -> OsString {
    static BUILT: OnceLock<Result<(), String>> = OnceLock::new();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("");
    let done = BUILT.get_or_init(|| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--package", package, "--target-dir"]).arg(&target);
        run(cargo.current_dir(env!("CARGO_MANIFEST_DIR")))
    });
    assert_eq!(done, &Ok(()), "the server builds");
    target.join("debug").join(package).into()
}
