//! What clients cannot do, each with the reason, which is never haft's. `walk` holds it against
//! what they do, `page` prints it. An entry that nothing needs any more fails `walk`.

use super::client::{Client, Era};
use super::process::Wire;

/// A step that a client does not take, or takes in vain.
pub(super) struct Unable {
    pub(super) client: Client,
    pub(super) eras: &'static [Era],
    pub(super) wires: &'static [Wire],
    pub(super) step: &'static str,
    /// What it lacks, in its own words where it says so itself.
    pub(super) reason: &'static str,
}

const BOTH_ERAS: &[Era] = &[Era::Modern, Era::Legacy];

const fn inspector(step: &'static str, reason: &'static str) -> Unable {
    Unable { client: Client::Inspector, eras: BOTH_ERAS, wires: &Wire::ALL, step, reason }
}

/// What the modern era does not have anyway.
const fn legacy_inspector(step: &'static str, reason: &'static str) -> Unable {
    Unable { eras: &[Era::Legacy], ..inspector(step, reason) }
}

/// All of them.
pub(super) const UNABLE: &[Unable] = &[
    inspector("complete", "it has no method that completes"),
    inspector("progress", "it asks for no progress"),
    inspector("log", "it shows no log messages"),
    inspector("elicit", "it does not offer to be asked"),
    inspector("sample", "it offers no model"),
    inspector("resource_updated", "it has no method that subscribes"),
    inspector("list_changed", "it ends before anything changes"),
    inspector("cancel", "it has no way to cancel"),
    legacy_inspector("ping", "it has no method that pings"),
];

/// Why this client, told this, cannot take this step.
pub(super) fn reason(client: Client, era: Era, wire: Wire, step: &str) -> Option<&'static str> {
    let applies = |entry: &&Unable| {
        entry.client == client
            && entry.eras.contains(&era)
            && entry.wires.contains(&wire)
            && entry.step == step
    };
    UNABLE.iter().find(applies).map(|entry| entry.reason)
}
