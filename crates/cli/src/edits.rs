//! What becomes of edits of a file that is served: they are followed, or read when SIGHUP says so,
//! and told of on stderr. Called by `serve` and `dev`; the manifest does the work.

use crate::exit::Failure;
use crate::print::Printer;
use crate::secure::Certificate;
use haft_manifest::{Difference, Edit, Edits, Fault, Listen, Live, Manifest};
use haft_transport::stop::{Orders, Stop};
use rustix::termios::isatty;
use serde_json::{Value, json};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

/// The most edits that wait to be told; of more, some are not.
const UNTOLD_MAX: usize = 16;

/// Where the server listens, and what the command line has said instead.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    instead: Option<SocketAddr>,
    in_force: Vec<Listen>,
}

impl Places {
    /// The addresses of the file's `listen`; another address takes the place of all, with the path
    /// and the lists of the first.
    pub(crate) fn new(manifest: &Manifest, instead: Option<SocketAddr>) -> Self {
        Self { instead, in_force: listeners(manifest, instead) }
    }

    /// Nowhere: it serves on stdin and stdout.
    pub(crate) fn none() -> Self {
        Self { instead: None, in_force: Vec::new() }
    }

    /// All of them.
    pub(crate) fn in_force(&self) -> &[Listen] {
        &self.in_force
    }

    /// Whether the file says something else by now.
    fn differ(&self, manifest: &Manifest) -> bool {
        !self.in_force.is_empty() && self.in_force != listeners(manifest, self.instead)
    }
}

fn listeners(manifest: &Manifest, instead: Option<SocketAddr>) -> Vec<Listen> {
    let Some(address) = instead else { return manifest.listeners().to_vec() };
    let first = manifest.listeners().iter().take(1).cloned();
    first.map(|listen| Listen { address, ..listen }).collect()
}

/// Tells of edits, on threads that may block: whoever does not read stderr holds up nothing else.
#[derive(Clone)]
pub(crate) struct Teller(mpsc::Sender<Result<Edit, Fault>>);

impl Teller {
    pub(crate) fn new(live: &Arc<Live>, places: Places, printer: Printer) -> Self {
        let (send, mut untold) = mpsc::channel::<Result<Edit, Fault>>(UNTOLD_MAX);
        let live = Arc::clone(live);
        tokio::spawn(async move {
            let places = Arc::new(places);
            while let Some(read) = untold.recv().await {
                let (live, places) = (Arc::clone(&live), Arc::clone(&places));
                let told = spawn_blocking(move || tell(&live.manifest(), &read, &places, printer));
                _ = told.await;
            }
        });
        Self(send)
    }

    fn tell(&self, read: Result<Edit, Fault>) {
        // There is nobody to tell that it was not told.
        _ = self.0.try_send(read);
    }
}

/// Follows every edit, for ever.
pub(crate) async fn follow(live: Arc<Live>, teller: Teller) {
    let mut edits = Edits::new(live);
    loop {
        teller.tell(edits.next().await);
    }
}

/// SIGHUP and orders to stop, from when this is made: none that comes after ends the process at
/// once.
pub(crate) struct Hangups {
    hangup: Signal,
    orders: Orders,
    had_terminal: bool,
    certificate: Option<(Certificate, Printer)>,
}

impl Hangups {
    /// # Errors
    /// Signal handlers cannot be installed.
    pub(crate) fn new() -> io::Result<Self> {
        let (hangup, orders) = (signal(SignalKind::hangup())?, Orders::new()?);
        let had_terminal = isatty(io::stdin());
        Ok(Self { hangup, orders, had_terminal, certificate: None })
    }

    /// Reads the files of a certificate again as well.
    pub(crate) fn renewing(self, certificate: Option<Certificate>, printer: Printer) -> Self {
        Self { certificate: certificate.map(|certificate| (certificate, printer)), ..self }
    }

    /// Waits for the order to stop, and reads the file again whenever SIGHUP comes. But whoever was
    /// started in a terminal ends with it.
    pub(crate) async fn take_orders(mut self, live: Arc<Live>, teller: Teller) -> Stop {
        let lost = async {
            while self.hangup.recv().await.is_some() {
                if self.had_terminal && !isatty(io::stdin()) {
                    return;
                }
                if let Some((certificate, printer)) = &self.certificate {
                    certificate.read_again(*printer).await;
                }
                teller.tell(live.read_again().await);
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            stop = self.orders.next() => stop,
            () = lost => Stop::Gracefully,
        }
    }

    /// Waits for the order to stop, of which SIGHUP is one.
    pub(crate) async fn end(mut self) -> Stop {
        tokio::select! {
            stop = self.orders.next() => stop,
            _ = self.hangup.recv() => Stop::Gracefully,
        }
    }
}

fn tell(manifest: &Manifest, read: &Result<Edit, Fault>, places: &Places, printer: Printer) {
    let (time, path) = (clock(), manifest.path().display());
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
            printer.note(format_args!("{time} {path} cannot be used; what was served still is"));
            printer.failure(&Failure::from(fault.clone()));
            return;
        }
    };
    let listens_elsewhere = places.differ(manifest);
    if printer.is_json() {
        let mut told = in_json(&time, edit);
        told["restart_needed"] = json!(listens_elsewhere || edit.state);
        return printer.event(&json!({ "edit": told }));
    }
    let millis = edit.took.as_secs_f64() * 1000.0;
    printer.note(format_args!("{time} {path} was read again in {millis:.1} ms: {}", what(edit)));
    if listens_elsewhere {
        printer.warn("`listen` has changed; haft listens there once it is started again");
    }
    if edit.state {
        printer.warn("`state` has changed; haft keeps state there once it is started again");
    }
}

/// What is different, in a line.
fn what(edit: &Edit) -> String {
    let kinds = [
        ("tools", &edit.tools),
        ("resources", &edit.resources),
        ("prompts", &edit.prompts),
        ("upstreams", &edit.upstreams),
        ("views", &edit.views),
    ];
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
    let mut told = told_edit(edit);
    told["time"] = json!(time);
    told
}

/// What is different, for programs.
pub(crate) fn told_edit(edit: &Edit) -> Value {
    let of = |difference: &Difference| {
        json!({"added": difference.added, "changed": difference.changed,
            "removed": difference.removed, "order": difference.order})
    };
    json!({
        "took_ms": edit.took.as_secs_f64() * 1000.0,
        "server": edit.server,
        "tools": of(&edit.tools),
        "resources": of(&edit.resources),
        "prompts": of(&edit.prompts),
        "upstreams": of(&edit.upstreams),
        "views": of(&edit.views),
    })
}

/// The time of day, in UTC.
fn clock() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (hours, minutes, seconds) = (now / 3600 % 24, now / 60 % 60, now % 60);
    format!("{hours:02}:{minutes:02}:{seconds:02}Z")
}
