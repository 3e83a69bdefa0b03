//! Who serves, from which file, and what it bounds. Asked by `admin`; whoever reads it sees
//! neither the file's texts nor its secrets.

use haft_manifest::Live;
use haft_proto::limits::Limits;
use serde_json::{Value, json};
use std::time::Duration;

/// The server, and the limits that who runs it meets first.
pub(super) fn server(live: &Live) -> Value {
    let (server, manifest) = (live.server(), live.manifest());
    let path = std::path::absolute(manifest.path());
    json!({
        "name": server.name(),
        "software": concat!("haft ", env!("CARGO_PKG_VERSION")),
        "process": std::process::id(),
        "file": path.ok().as_deref().unwrap_or_else(|| manifest.path()),
        "limits": limits(server.limits(), manifest.processes()),
    })
}

fn limits(limits: &Limits, processes: usize) -> Value {
    let seconds = |time: Duration| json!(time.as_secs_f64());
    json!({
        "sessions": limits.sessions,
        "sessionIdleSeconds": seconds(limits.session_idle),
        "connections": limits.connections,
        "requestsInFlight": limits.requests_in_flight,
        "requestTimeSeconds": seconds(limits.request_timeout),
        "messageBytes": limits.message_bytes,
        "outputBytes": limits.output_bytes,
        "resourceBytes": limits.resource_bytes,
        "subscriptions": limits.subscriptions,
        "tasks": limits.tasks,
        "tasksRunning": limits.tasks_running,
        "upstreamProcesses": processes,
    })
}
