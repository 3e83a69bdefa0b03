//! The namespaces: one for the gateway and whoever calls it, into which this program starts itself
//! once more, and one for the agent. Neither has a name: they are gone when nobody is in them, and
//! all who are in them end with us, however we end. Nothing is asked of the network outside.

use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::command;
use crate::failure::Failure;

/// The first word of the one that is inside.
pub(crate) const INSIDE: &str = "inside";
/// The variable that has the number of the one outside.
pub(super) const OUTER: &str = "HAFT_FIELD_OUTER";

/// What is missing for namespaces to be made, as a sentence that says what to do.
pub(crate) fn missing() -> Option<String> {
    if !cfg!(target_os = "linux") {
        return Some("the field needs the network namespaces of Linux".to_owned());
    }
    if !is_root() {
        return Some("the field makes network namespaces: run it as root".to_owned());
    }
    for program in ["unshare", "setpriv", "nsenter"] {
        if !command::works(program, &["--version"]) {
            return Some(format!("the field needs `{program}`: install util-linux"));
        }
    }
    if !command::works("ip", &["-V"]) {
        return Some("the field needs `ip`: install iproute2".to_owned());
    }
    if !Path::new("/dev/net/tun").exists() {
        return Some("the field needs /dev/net/tun: load the module `tun`".to_owned());
    }
    let may = command::works("unshare", &["--net", "--pid", "--fork", "--mount-proc", "true"]);
    (!may).then(|| "no namespaces may be made here: run it outside of a container".to_owned())
}

fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    line.and_then(|line| line.split_whitespace().nth(1)) == Some("0")
}

/// Starts a chore once more, as [`INSIDE`] namespaces of its own, and waits for it. The kernel ends
/// all processes of a namespace with its first one, and that one with us.
pub(crate) fn enter(chore: &[&str], arguments: &[String]) -> Result<(), Failure> {
    let us = env::current_exe().map_err(|source| Failure::file("xtask itself", source))?;
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "unshare", "--net", "--pid", "--mount-proc"]);
    command.args(["--fork", "--kill-child=KILL", "--"]).arg(us).args(chore).arg(INSIDE);
    command.args(arguments).env(OUTER, std::process::id().to_string());
    let status = command.status().map_err(|source| Failure::file("unshare", source))?;
    // It has said why.
    if status.success() { Ok(()) } else { Err(Failure::StepsFailed) }
}

/// The namespace of the agent: there for as long as a process that waits in it.
pub(crate) struct Far {
    holder: Child,
}

impl Far {
    pub(crate) fn new() -> Result<Self, Failure> {
        ip(&["link", "set", "lo", "up"])?;
        let mut command = Command::new("unshare");
        // It says that it is there, and waits until its input ends.
        command.args(["--net", "sh", "-c", "ip link set lo up && echo there && cat"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let unusable = |source| Failure::file("a namespace", source);
        let mut holder = command.spawn().map_err(unusable)?;
        let stdout = holder.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut String::new()).map_err(unusable)?;
        Ok(Self { holder })
    }

    /// A program in it.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{}/ns/net", self.holder.id())).arg("--").arg(program);
        command
    }

    /// Settings of the network in it.
    pub(super) fn ip(&self, words: &[&str]) -> Result<(), Failure> {
        command::run(self.command(Path::new("ip")).args(words))
    }

    /// Takes a device over.
    pub(super) fn take(&self, device: &str) -> Result<(), Failure> {
        ip(&["link", "set", device, "netns", &self.holder.id().to_string()])
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        // Both fail only if it is gone already, which is all that is wanted.
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// Settings of the network in our own.
pub(super) fn ip(words: &[&str]) -> Result<(), Failure> {
    command::run(Command::new("ip").args(words))
}
