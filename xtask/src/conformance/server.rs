//! The server under test: started, and ended with whoever started it.

use std::env;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;

use crate::failure::Failure;

/// `haft-conformance` on a free port, until it is dropped.
pub(super) struct Server {
    /// Where it said that it listens.
    pub(super) url: String,
    child: Child,
}

impl Server {
    /// Starts what was built, and waits for it to listen.
    pub(super) fn start() -> Result<Self, Failure> {
        let path = path()?;
        let unusable = |source| Failure::file(path.display(), source);
        let mut command = Command::new(&path);
        // One of its tools panics on purpose; two lines about it are enough.
        command.args(["--http", "127.0.0.1:0"]).env("RUST_BACKTRACE", "0");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(unusable)?;
        let mut said = BufReader::new(child.stderr.take().expect("stderr is piped"));
        // The guard is there before anything can fail.
        let mut server = Self { url: String::new(), child };
        let mut line = String::new();
        said.read_line(&mut line).map_err(unusable)?;
        let Some((_, url)) = line.trim_end().rsplit_once(" at ") else {
            return Err(Failure::SuiteBroken(format!("the server does not serve: {line}")));
        };
        url.clone_into(&mut server.url);
        // Whatever it says later is worth seeing; and a server that cannot log would stand still.
        thread::spawn(move || {
            for line in said.lines().map_while(Result::ok) {
                eprintln!("haft-conformance: {line}");
            }
        });
        Ok(server)
    }

    /// A server that ended while it was tested has failed, whatever the checks say.
    pub(super) fn must_run(&mut self) -> Result<(), Failure> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => {
                Err(Failure::SuiteBroken(format!("the server ended while it was tested: {status}")))
            }
            Err(source) => Err(Failure::file("the server's process", source)),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only if it is gone already, which is all that is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Cargo puts it beside us, wherever that is.
fn path() -> Result<PathBuf, Failure> {
    let us = env::current_exe().map_err(|source| Failure::file("xtask itself", source))?;
    Ok(us.with_file_name(format!("haft-conformance{}", env::consts::EXE_SUFFIX)))
}
