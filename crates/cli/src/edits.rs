//! What becomes of edits of a file that is served: they are followed, or read when SIGHUP says so,
//! and told of on stderr. Called by `serve` and `dev`; the manifest does the work.

use crate::exit::Failure;
use crate::print::Printer;
use haft_manifest::{Difference, Edit, Edits, Fault, Live, Reading};
use haft_transport::stop::{self, Stop};
use rustix::termios::isatty;
use serde_json::{Value, json};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::spawn_blocking;

/// Follows every edit, for ever.
pub(crate) async fn follow(live: Arc<Live>, printer: Printer) {
    let mut edits = Edits::new(Arc::clone(&live));
    loop {
        let read = edits.next().await;
        tell(live.manifest().path(), &read, printer);
    }
}

/// Reads the file again whenever SIGHUP comes, for ever.
pub(crate) async fn take_orders(live: Arc<Live>, printer: Printer) {
    let Ok(mut orders) = signal(SignalKind::hangup()) else { return };
    while orders.recv().await.is_some() {
        let reading = Arc::clone(&live);
        if let Ok(read) = spawn_blocking(move || reading.reload()).await {
            tell(live.manifest().path(), &read, printer);
        }
    }
}

/// Waits for the order to stop. SIGHUP is one as well, unless it means the file; but whoever was
/// started in a terminal ends with it.
pub(crate) async fn ended(reading: Reading) -> io::Result<Stop> {
    if reading == Reading::Edits {
        return stop::signalled().await;
    }
    let had_terminal = isatty(io::stdin());
    let mut hangup = signal(SignalKind::hangup())?;
    let lost = async {
        while hangup.recv().await.is_some() {
            if had_terminal && !isatty(io::stdin()) {
                return;
            }
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        stop = stop::ordered() => stop,
        () = lost => Ok(Stop::Gracefully),
    }
}

fn tell(path: &Path, read: &Result<Edit, Fault>, printer: Printer) {
    let (time, path) = (clock(), path.display());
    let edit = match read {
        Ok(edit) => edit,
        Err(fault) if printer.is_json() => {
            let mut told = json!({"time": time, "message": fault.message()});
            if let Some(help) = fault.help() {
                told["hint"] = json!(help);
            }
            return printer.event(&json!({ "fault": told }));
        }
        Err(fault) => {
            printer.always(format_args!("{time} {path} cannot be used; what was served still is"));
            printer.failure(&Failure::from(fault.clone()));
            return;
        }
    };
    if printer.is_json() {
        return printer.event(&json!({ "edit": in_json(&time, edit) }));
    }
    let millis = edit.took.as_secs_f64() * 1000.0;
    printer.always(format_args!("{time} {path} was read again in {millis:.1} ms: {}", what(edit)));
    if edit.listeners {
        printer.warn("`listen` has changed; haft listens there once it is started again");
    }
    if edit.state {
        printer.warn("`state` has changed; haft keeps state there once it is started again");
    }
}

/// What is different, in a line.
fn what(edit: &Edit) -> String {
    let kinds =
        [("tools", &edit.tools), ("resources", &edit.resources), ("prompts", &edit.prompts)];
    let differing = kinds.into_iter().filter(|(_, difference)| !difference.is_empty());
    let mut parts: Vec<_> =
        differing.map(|(kind, difference)| format!("{kind} {difference}")).collect();
    if edit.server {
        parts.insert(0, "another `server`".to_owned());
    }
    match parts.as_slice() {
        [] => "nothing else is served".to_owned(),
        parts => parts.join(" · "),
    }
}

fn in_json(time: &str, edit: &Edit) -> Value {
    let of = |difference: &Difference| {
        json!({"added": difference.added, "changed": difference.changed,
            "removed": difference.removed, "order": difference.order})
    };
    json!({
        "time": time,
        "took_ms": edit.took.as_secs_f64() * 1000.0,
        "server": edit.server,
        "tools": of(&edit.tools),
        "resources": of(&edit.resources),
        "prompts": of(&edit.prompts),
        "restart_needed": edit.listeners || edit.state,
    })
}

/// The time of day, in UTC.
fn clock() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (hours, minutes, seconds) = (now / 3600 % 24, now / 60 % 60, now % 60);
    format!("{hours:02}:{minutes:02}:{seconds:02}Z")
}
