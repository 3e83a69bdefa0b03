//! Who is there while links are measured: a gateway, an agent and a server beside it on one
//! machine, and both once more at the other end of a wire. All of them have the same tools; nothing
//! is asked of them here, but for whether they are there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use super::super::place::Place;
use super::super::running::Running;
use super::super::server;
use super::cases::{DELAY_MS, LONG_BYTES, LOSS_PER_MILLE, SEED};
use crate::failure::Failure;
use crate::field::ground::Far;
use crate::field::hub::Hub;
use crate::field::told::Told;
use crate::field::wire::{FAR, NEAR, Way, Wire};

/// Where their files are made.
const FOLDER: &str = "target/peers/links";
pub(super) const HAFT: &str = "target/release/haft";
const FIELD: &str = "target/release/field";
/// Where the far server listens.
const FAR_PORT: u16 = 7302;
/// How long each may take until it is there.
const START_MAX: Duration = Duration::from_secs(30);

/// See above.
pub(super) struct Stage {
    hub: Hub,
    // Who is at the ends of the wire goes before it does.
    _running: Running,
    _told: [Told; 3],
    pub(super) wire: Wire,
    far: Far,
}

impl Stage {
    /// Starts all of them. The gateway has a processor for itself, as far as there are two.
    pub(super) fn set(place: Place) -> Result<Self, Failure> {
        let folder = Path::new(FOLDER);
        // Those of an earlier run are another gateway's.
        _ = fs::remove_dir_all(folder);
        let unusable = |source| Failure::file(FOLDER, source);
        fs::create_dir_all(folder).map_err(unusable)?;
        let folder = fs::canonicalize(folder).map_err(unusable)?;
        let haft = fs::canonicalize(HAFT).map_err(|source| Failure::file(HAFT, source))?;
        let site = site(&folder)?;
        let far = Far::new()?;
        let way = Way { delay_ms: DELAY_MS, loss_per_mille: LOSS_PER_MILLE, seed: SEED };
        let wire = Wire::lay(Path::new(FIELD), &far, way)?;
        let near = |port: u16| {
            let words = [HAFT, "serve", &site, "--http", &port.to_string()].map(str::to_owned);
            [place.load(), words.to_vec()].concat()
        };
        let running = Running::start(near, None)?;
        let upstreams = json!({
            "http": { "url": running.url() },
            "plant": { "agent": "plant" },
            "yard": { "agent": "yard" },
        });
        let hub = Hub::start(&haft, &folder, &upstreams, "0.0.0.0", &place.server())?;
        let mut beside = server::command(&[place.load(), vec![HAFT.to_owned()]].concat());
        let plant = agent(&mut beside, &folder, &site, &hub, ("plant", "127.0.0.1"))?;
        let yard = agent(&mut far.command(&haft), &folder, &site, &hub, ("yard", NEAR))?;
        let mut there = far.command(&haft);
        let served = Told::start(there.args(["serve", &site, "--http", &address()]))?;
        served.says(" at http://", START_MAX)?;
        Ok(Self { hub, _running: running, _told: [plant, yard, served], wire, far })
    }

    /// Where the gateway is asked.
    pub(super) fn gateway(&self) -> String {
        format!("http://{}/mcp", self.address())
    }

    pub(super) const fn address(&self) -> &'static str {
        self.hub.address()
    }

    /// How the congestion of connections over TCP that begin from now on is controlled.
    pub(super) fn control(&self, congestion: &str) -> Result<(), String> {
        let both = self.wire.control(&self.far, congestion);
        both.map_err(|failure| failure.to_string())
    }

    /// Where the server at the other end of the wire is asked.
    pub(super) fn far() -> String {
        format!("http://{}/mcp", address())
    }
}

fn address() -> String {
    format!("{}:{FAR_PORT}", FAR[0])
}

/// Starts an agent, and waits until it has a link.
fn agent(
    command: &mut Command,
    folder: &Path,
    site: &str,
    hub: &Hub,
    (name, host): (&str, &str),
) -> Result<Told, Failure> {
    let identity: PathBuf = folder.join(format!("{name}.pem"));
    let port = hub.agents().rsplit(':').next().unwrap_or_default();
    command.args(["agent", site, "--gateway", &format!("{host}:{port}"), "--identity"]);
    command.arg(identity).args(["--join", &hub.token(name)?]);
    let told = Told::start(command)?;
    told.says("linked to", START_MAX)?;
    Ok(told)
}

/// The file of tools that all have.
fn site(folder: &Path) -> Result<String, Failure> {
    let path = folder.join("site.json");
    let safe = json!({ "readOnly": true, "idempotent": true, "openWorld": false });
    let text = json!({
        "server": { "name": "site", "version": "1.0.0" },
        "tools": [
            { "name": "echo", "description": "Gives a text back.", "annotations": safe,
              "input": { "text": "string" }, "text": "{{ text }}" },
            { "name": "long", "description": "Says much.", "annotations": safe,
              "text": "x".repeat(LONG_BYTES) },
        ],
    });
    fs::write(&path, text.to_string()).map_err(|source| Failure::file(path.display(), source))?;
    Ok(path.to_string_lossy().into_owned())
}
