//! The agent of the field: beside its tools, in the other namespace. One of its tools writes down
//! each call; what is written there is read here, and nothing is judged.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::Tools;
use super::ground::Far;
use super::hub::Hub;
use super::told::Told;
use crate::failure::Failure;

/// What it is called, and its tools at the gateway.
pub(super) const NAME: &str = "plant";
pub(super) const ECHO: &str = "plant_echo";
pub(super) const ONCE: &str = "plant_ledger_once";

/// See above.
pub(super) struct Agent {
    haft: PathBuf,
    file: PathBuf,
    folder: PathBuf,
    running: Option<Told>,
}

impl Agent {
    /// Writes what it has. It is not started.
    pub(super) fn new(tools: &Tools) -> Result<Self, Failure> {
        let (file, ledger) = (tools.folder.join("site.json"), ledger(&tools.folder));
        let text = json!({
            "server": { "name": "site" },
            "tools": [{
                "name": "echo", "description": "Gives it back.", "input": { "text": "string" },
                "text": "{{ text }}", "annotations": { "readOnly": true },
            }],
            "upstreams": { "ledger": { "command": [tools.field, "ledger", ledger] } },
        });
        let written = fs::write(&file, text.to_string());
        written.map_err(|source| Failure::file(file.display(), source))?;
        let (haft, folder) = (tools.haft.clone(), tools.folder.clone());
        Ok(Self { haft, file, folder, running: None })
    }

    /// Starts it; the first time it brings a token.
    pub(super) fn start(&mut self, far: &Far, hub: &Hub, token: &[&str]) -> Result<(), Failure> {
        let mut command = far.command(&self.haft);
        command.arg("agent").arg(&self.file).args(["--gateway", hub.agents(), "--identity"]);
        command.arg(self.folder.join("plant.pem")).args(token);
        self.running = Some(Told::start(&mut command)?);
        Ok(())
    }

    /// Kills it, as a machine does that loses its power.
    pub(super) fn kill(&mut self) {
        self.running = None;
    }

    /// How many lines of its log have these words.
    pub(super) fn said(&self, words: &str) -> usize {
        self.running.as_ref().map_or(0, |running| running.count(words))
    }

    pub(super) fn log(&self) -> Vec<String> {
        self.running.as_ref().map_or_else(Vec::new, Told::all)
    }

    /// How often each text was written down.
    pub(super) fn ran(&self) -> HashMap<String, u64> {
        let text = fs::read_to_string(ledger(&self.folder)).unwrap_or_default();
        let mut ran = HashMap::new();
        text.lines().for_each(|line| *ran.entry(line.to_owned()).or_default() += 1);
        ran
    }
}

fn ledger(folder: &Path) -> PathBuf {
    folder.join("ledger")
}
