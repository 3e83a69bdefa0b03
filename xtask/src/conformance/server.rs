//! The server under test, alone or behind a gateway: started, and ended with whoever started it.

use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use super::leg::{Behind, Wire};
use crate::failure::Failure;

const CONFORMANCE: &str = "haft-conformance";

/// `haft-conformance` on a free port, or what is in front of it, until it is dropped.
pub(super) struct Server {
    /// Where it said that it listens.
    pub(super) url: String,
    child: Child,
    /// Whom it asks, if that is a server of its own.
    behind: Option<Box<Self>>,
}

impl Server {
    /// Starts what was built, and waits for it to listen.
    pub(super) fn start() -> Result<Self, Failure> {
        Self::started(CONFORMANCE, &["--http", "127.0.0.1:0"])
    }

    /// Starts a gateway with nothing of its own, and the server behind it. Its file is in `folder`.
    pub(super) fn start_gateway(behind: Behind, folder: &Path) -> Result<Self, Failure> {
        let (upstream, server) = match behind.wire {
            Wire::Http => {
                let server = Self::start()?;
                (format!("url: {:?}", server.url), Some(Box::new(server)))
            }
            Wire::Pipes => (format!("command: [{:?}, --stdio]", path(CONFORMANCE)?), None),
        };
        // Names are those that the suite knows: nothing is put before them.
        let text = format!(
            "server: {{ name: gateway, version: 1.0.0 }}\nupstreams:\n  conformance: \
             {{ {upstream}, era: {}, prefix: \"\" }}\n",
            behind.era
        );
        let file = folder.join(format!("gateway-{}-{}.yaml", behind.era, behind.wire.as_str()));
        fs::write(&file, text).map_err(|source| Failure::file(file.display(), source))?;
        let file = file.to_string_lossy();
        let mut gateway = Self::started("haft", &["serve", &file, "--http", "127.0.0.1:0"])?;
        gateway.behind = server;
        Ok(gateway)
    }

    fn started(name: &'static str, arguments: &[&str]) -> Result<Self, Failure> {
        let path = path(name)?;
        let unusable = |source| Failure::file(path.display(), source);
        let mut command = Command::new(&path);
        // One of its tools panics on purpose; two lines about it are enough.
        command.args(arguments).env("RUST_BACKTRACE", "0");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(unusable)?;
        let mut said = BufReader::new(child.stderr.take().expect("stderr is piped"));
        // The guard is there before anything can fail.
        let mut server = Self { url: String::new(), child, behind: None };
        let mut line = String::new();
        said.read_line(&mut line).map_err(unusable)?;
        let Some((_, url)) = line.trim_end().rsplit_once(" at ") else {
            return Err(Failure::SuiteBroken(format!("the server does not serve: {line}")));
        };
        url.clone_into(&mut server.url);
        // Whatever it says later is worth seeing; and a server that cannot log would stand still.
        thread::spawn(move || {
            for line in said.lines().map_while(Result::ok) {
                eprintln!("{name}: {line}");
            }
        });
        Ok(server)
    }

    /// A server that ended while it was tested has failed, whatever the checks say.
    pub(super) fn must_run(&mut self) -> Result<(), Failure> {
        match self.child.try_wait() {
            Ok(None) => self.behind.as_mut().map_or(Ok(()), |behind| behind.must_run()),
            Ok(Some(status)) => {
                Err(Failure::SuiteBroken(format!("the server ended while it was tested: {status}")))
            }
            Err(source) => Err(Failure::file("the server's process", source)),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only if it is gone already, which is all that is wanted. What a gateway started
        // ends when its pipes do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Cargo puts it beside us, wherever that is.
fn path(name: &str) -> Result<PathBuf, Failure> {
    let us = env::current_exe().map_err(|source| Failure::file("xtask itself", source))?;
    Ok(us.with_file_name(format!("{name}{}", env::consts::EXE_SUFFIX)))
}
