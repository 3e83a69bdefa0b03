//! The endpoints that have a part of a file that is served: a server for each, which has something
//! else when the file is edited or upstreams change. Called by `live`; listens nowhere.

use super::{Guests, Live, Reading, lock};
use crate::fault::Fault;
use crate::load::Manifest;
use crate::offer::{self, Means};
use crate::view::View;
use haft_server::{BuildError, Interest, Server};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

/// A view, and the server of it.
#[derive(Clone)]
pub(super) struct Shown {
    view: View,
    server: Arc<Server>,
}

/// The servers of all views of a file, without anything of upstreams.
pub(super) fn begin(
    manifest: &Manifest,
    means: &Means,
    reading: Reading,
) -> Result<Vec<Shown>, Fault> {
    let meant = &manifest.meant;
    let server = |view: &View| {
        let built = reading.settle(offer::builder(meant, means, Some(view)), meant).build();
        built.map_err(|error| manifest.refused(&error))
    };
    let shown = |view: &View| Ok(Shown { view: view.clone(), server: Arc::new(server(view)?) });
    meant.views.iter().map(shown).collect()
}

impl Live {
    /// The views of the file, each with the server of it: that of one view is the same as long as
    /// the file has a view of its name.
    #[must_use]
    pub fn views(&self) -> Vec<(View, Arc<Server>)> {
        let shown = lock(&self.now).views.clone();
        shown.into_iter().map(|Shown { view, server }| (view, server)).collect()
    }

    /// What the views of a manifest have now. Servers that were there become it; in order, with
    /// `swapping` held.
    pub(super) fn show(
        &self,
        manifest: &Manifest,
        means: &Means,
        guests: &Guests,
    ) -> Result<Vec<Shown>, BuildError> {
        let before = lock(&self.now).views.clone();
        let mut shown = Vec::with_capacity(manifest.meant.views.len());
        for view in &manifest.meant.views {
            let builder = guests.join(manifest, means, Some(view));
            let known = before.iter().find(|shown| shown.view.name == view.name);
            let server = match known {
                Some(known) => {
                    known.server.replace(builder)?;
                    Arc::clone(&known.server)
                }
                None => Arc::new(self.reading.settle(builder, &manifest.meant).build()?),
            };
            shown.push(Shown { view: view.clone(), server });
        }
        Ok(shown)
    }

    /// Serves other resources everywhere.
    pub(super) fn replace_resources(
        &self,
        manifest: &Manifest,
        guests: &Guests,
    ) -> Result<(), BuildError> {
        let (resources, templates) = guests.join_readable(manifest, &self.means, None);
        self.server.replace_resources(resources, templates)?;
        for (view, server) in self.views() {
            let (resources, templates) = guests.join_readable(manifest, &self.means, Some(&view));
            server.replace_resources(resources, templates)?;
        }
        Ok(())
    }

    /// Tells whoever watches it that a resource has changed, where it is there.
    pub fn resource_updated(&self, uri: &str) {
        self.server.resource_updated(uri);
        for (_, server) in self.views() {
            if server.has_resource(uri) {
                server.resource_updated(uri);
            }
        }
    }

    /// What clients listen for now, of the server and all views of it.
    #[must_use]
    pub fn interest(&self) -> Interest {
        let mut interest = self.server.interest();
        for (_, server) in self.views() {
            let Interest { resources, resource_lists } = server.interest();
            interest.resource_lists |= resource_lists;
            for (uri, since) in resources {
                let known = interest.resources.entry(uri).or_insert(since);
                *known = since.min(*known);
            }
        }
        interest
    }

    /// Waits until that may have changed since this was last waited for, unless there are other
    /// views. For one waiter.
    pub fn interest_changed(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut changed = vec![Box::pin(self.server.interest_changed())];
        changed.extend(self.views().iter().map(|(_, server)| Box::pin(server.interest_changed())));
        poll_fn(move |cx| {
            let is_one = changed.iter_mut().any(|one| one.as_mut().poll(cx).is_ready());
            if is_one { Poll::Ready(()) } else { Poll::Pending }
        })
    }
}
