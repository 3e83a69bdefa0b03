//! The wire between the two namespaces, as the program `field wire` carries it: which addresses its
//! ends have, and when it is cut. What passes is never looked at.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use super::ground::{Far, ip};
use crate::failure::Failure;

/// Where the gateway is.
pub(crate) const NEAR: &str = "10.77.0.1";
/// Where the agent is, at first and later.
pub(crate) const FAR: [&str; 2] = ["10.77.0.2", "10.77.0.3"];

/// Where both are.
const NET: &str = "10.77.0.0/24";

/// What a packet meets on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) delay_ms: u64,
    pub(crate) loss_per_mille: u64,
    pub(crate) seed: u64,
}

/// See above; it is there until it is dropped.
pub(crate) struct Wire {
    child: Child,
    talk: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
}

impl Wire {
    /// Lays it from our namespace to the other.
    pub(crate) fn lay(field: &Path, far: &Far, way: Way) -> Result<Self, Failure> {
        let numbers = [way.delay_ms, way.loss_per_mille, way.seed].map(|it| it.to_string());
        let mut command = Command::new(field);
        command.arg("wire").args(numbers).stdin(Stdio::piped()).stdout(Stdio::piped());
        let unusable = |source| Failure::file(field.display(), source);
        let mut child = command.spawn().map_err(unusable)?;
        let talk = (
            child.stdin.take().expect("it is piped"),
            BufReader::new(child.stdout.take().expect("it is piped")),
        );
        let wire = Self { child, talk: Mutex::new(talk) };
        if wire.hear().is_empty() {
            let said = "the wire could not be laid, see above".to_owned();
            return Err(Failure::MachineLacks(said));
        }
        far.take("far")?;
        ip(&["addr", "add", &format!("{NEAR}/24"), "dev", "near"])?;
        ip(&["link", "set", "near", "up"])?;
        far.ip(&["addr", "add", &format!("{}/24", FAR[0]), "dev", "far"])?;
        far.ip(&["link", "set", "far", "up"])?;
        Ok(wire)
    }

    /// How the congestion of connections over TCP that begin from now on is controlled, at both
    /// ends. The setting of a whole namespace may not name all that a route may.
    pub(crate) fn control(&self, far: &Far, congestion: &str) -> Result<(), Failure> {
        let route = |device, address| {
            ["route", "replace", NET, "dev", device, "src", address, "congctl", congestion]
        };
        ip(&route("near", NEAR))?;
        far.ip(&route("far", FAR[0]))
    }

    /// From now on nothing passes.
    pub(super) fn cut(&self) {
        self.order("cut");
    }

    pub(super) fn heal(&self) {
        self.order("heal");
    }

    /// Waits until it is done; what the wire says to it.
    fn order(&self, order: &str) -> String {
        {
            let mut talk = self.talk.lock().unwrap_or_else(PoisonError::into_inner);
            // That it may be gone shows in what is seen over it.
            let _ = writeln!(talk.0, "{order}");
        }
        self.hear()
    }

    /// How many packets passed and were lost, in words.
    pub(crate) fn count(&self) -> String {
        self.order("count").trim().trim_start_matches("count: ").to_owned()
    }

    fn hear(&self) -> String {
        let mut said = String::new();
        let _ = self.talk.lock().unwrap_or_else(PoisonError::into_inner).1.read_line(&mut said);
        said
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        // Both fail only if it is gone already, which is all that is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
