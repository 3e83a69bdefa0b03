//! Runs the built binary to its end and keeps what it left: stdout, stderr and its exit code. Used
//! by the tests of `list`, `call` and `inspect`.

use serde_json::Value;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a run left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// The JSON document on stdout.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Checks that all went well, and returns what was printed.
    pub(crate) fn printed(&self) -> &str {
        assert_eq!((self.code, &*self.stderr), (Some(0), ""), "{self:?}");
        &self.stdout
    }
}

/// Runs `haft` with nothing on its stdin.
pub(crate) fn haft<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Ran {
    haft_with_stdin(args, "")
}

/// Runs `haft` with this on its stdin.
pub(crate) fn haft_with_stdin<S: AsRef<OsStr>>(
    args: impl IntoIterator<Item = S>,
    stdin: &str,
) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary is built");
    let mut pipe = child.stdin.take().expect("stdin is piped");
    // It may have ended without reading.
    _ = pipe.write_all(stdin.as_bytes());
    drop(pipe);
    let output = child.wait_with_output().expect("the child is ours");
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The first example.
pub(crate) fn quickstart() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/quickstart/haft.yaml")
}
