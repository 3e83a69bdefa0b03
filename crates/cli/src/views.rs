//! The views of a file that is served: which server is whose, and at which paths they are, now and
//! after edits. Called by `serve`; the manifest makes the servers.

use crate::exit::Failure;
use crate::print::Printer;
use haft_manifest::Live;
use haft_proto::service::Service;
use haft_server::{Server, nearest};
use haft_transport::http::{Beside, Besides, Listener};
use std::sync::Arc;
use tokio::sync::watch;

/// The server of a view.
///
/// # Errors
/// A failure if the file has no such view.
pub(crate) fn server_of(live: &Live, name: &str) -> Result<Arc<Server>, Failure> {
    let views = live.views();
    let names = || views.iter().map(|(view, _)| view.name.as_str());
    if let Some((_, server)) = views.iter().find(|(view, _)| view.name == name) {
        return Ok(Arc::clone(server));
    }
    let failure = Failure::usage(format!("the file has no view {name:?}"));
    Err(match (nearest(name, names()), names().collect::<Vec<_>>()) {
        (Some(meant), _) => failure.hint(format!("did you mean {meant}?")),
        (None, names) if names.is_empty() => failure.hint("its key `views` has some"),
        (None, names) => failure.hint(format!("it has {}", names.join(", "))),
    })
}

/// What stands around the server of a view.
pub(crate) type Around = Box<dyn Fn(Arc<dyn Service>) -> Arc<dyn Service> + Send>;

/// Who answers at other paths, now and after every edit.
pub(crate) fn follow(live: &Arc<Live>, around: Around) -> Besides {
    let mut swaps = live.swaps();
    let mut standing = Standing { around, known: Vec::new() };
    let (sender, besides) = watch::channel(standing.beside(live));
    let live = Arc::clone(live);
    tokio::spawn(async move {
        while swaps.changed().await.is_ok() {
            if sender.send(standing.beside(&live)).is_err() {
                return;
            }
        }
    });
    besides
}

/// The servers of views, and what stands around each: the same as long as the server is.
struct Standing {
    around: Around,
    known: Vec<(Arc<Server>, Arc<dyn Service>)>,
}

impl Standing {
    fn beside(&mut self, live: &Live) -> Vec<Beside> {
        let before = std::mem::take(&mut self.known);
        let mut besides = Vec::new();
        for (view, server) in live.views() {
            let known = before.iter().find(|(one, _)| Arc::ptr_eq(one, &server));
            let service = known.map(|(_, service)| Arc::clone(service));
            let service = service.unwrap_or_else(|| (self.around)(Arc::clone(&server) as _));
            besides.push(Beside { path: view.path, service: Arc::clone(&service) });
            self.known.push((server, service));
        }
        besides
    }
}

/// Says where they are.
pub(crate) fn tell(live: &Live, listener: &Listener, printer: Printer) {
    for (view, _) in live.views() {
        let url = listener.url_of(&view.path);
        printer.listening("serving", Some(&view.name), &url);
    }
}
