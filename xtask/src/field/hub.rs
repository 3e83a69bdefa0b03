//! The gateway of the field: a file, a directory of who may join, and the process between them,
//! which can be killed and started again at the same places. It judges nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::limits;
use super::told::Told;
use crate::command;
use crate::failure::Failure;

/// Where callers ask it.
const HTTP: &str = "127.0.0.1:8080";
/// Where agents come to.
const PORT: u16 = 7443;

/// See above.
pub(crate) struct Hub {
    before: Vec<String>,
    haft: PathBuf,
    file: PathBuf,
    state: PathBuf,
    agents: String,
    running: Option<Told>,
}

impl Hub {
    /// Starts that of a file of these upstreams, to which agents come at that address. Some words
    /// may come before its own.
    pub(crate) fn start(
        haft: &Path,
        folder: &Path,
        upstreams: &Value,
        host: &str,
        before: &[String],
    ) -> Result<Self, Failure> {
        let file = folder.join("hub.json");
        let text = serde_json::json!({ "server": { "name": "hub" }, "upstreams": upstreams });
        let written = fs::write(&file, text.to_string());
        written.map_err(|source| Failure::file(file.display(), source))?;
        let (haft, state) = (haft.to_owned(), folder.join("gateway"));
        let before = before.to_owned();
        let mut hub =
            Self { before, haft, file, state, agents: format!("{host}:{PORT}"), running: None };
        hub.start_again()?;
        Ok(hub)
    }

    /// Starts it, where it was if it was there before.
    pub(super) fn start_again(&mut self) -> Result<(), Failure> {
        let mut command = Command::new("prlimit");
        command.arg(format!("--nofile={0}:{0}", limits::FILES)).args(&self.before);
        command.arg(&self.haft).arg("serve").arg(&self.file).args(["--http", HTTP, "--verbose"]);
        command.args(["--agents", &self.agents, "--state"]).arg(&self.state);
        let running = Told::start(&mut command)?;
        running.says(" at http://", limits::START)?;
        self.running = Some(running);
        Ok(())
    }

    /// Kills it, as the system does that has no memory left.
    pub(super) fn kill(&mut self) {
        self.running = None;
    }

    /// Where callers ask it.
    pub(crate) const fn address(&self) -> &'static str {
        HTTP
    }

    /// Where agents come to.
    pub(crate) fn agents(&self) -> &str {
        &self.agents
    }

    pub(super) fn state(&self) -> &Path {
        &self.state
    }

    /// A token for an agent.
    pub(crate) fn token(&self, name: &str) -> Result<String, Failure> {
        let mut invite = Command::new(&self.haft);
        invite.args(["invite", name, "--json", "--state"]).arg(&self.state);
        let said: Value = serde_json::from_str(&command::output(&mut invite)?).unwrap_or_default();
        let token = said["token"].as_str().map(str::to_owned);
        token.ok_or_else(|| Failure::Disproved(format!("no token for {name}: {said}")))
    }

    /// How many lines of its log have these words.
    pub(super) fn said(&self, words: &str) -> usize {
        self.running.as_ref().map_or(0, |running| running.count(words))
    }

    /// All of its log since it was started.
    pub(super) fn log(&self) -> Vec<String> {
        self.running.as_ref().map_or_else(Vec::new, Told::all)
    }

    /// The memory that it has now, in bytes.
    pub(super) fn resident_bytes(&self) -> u64 {
        let process = self.running.as_ref().map_or(0, Told::process);
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kib.unwrap_or_default() * 1024
    }
}
