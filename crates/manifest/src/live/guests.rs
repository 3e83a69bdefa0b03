//! What comes from elsewhere and is served beside what the file has: tools of upstreams. Set by
//! whoever finds them, kept when the file is read anew.

use super::{Live, lock};
use crate::load::Manifest;
use crate::offer::{self, Means};
use haft_server::{BuildError, ServerBuilder, Tool};
use std::collections::HashSet;
use std::sync::Arc;

/// See above. Of two things with one name the file's is served.
#[derive(Clone, Default)]
pub struct Guests {
    /// Listed behind those of the file, in this order.
    pub tools: Vec<Tool>,
}

impl Guests {
    /// Everything of a file, and these.
    pub(super) fn join(&self, manifest: &Manifest, means: &Means) -> ServerBuilder {
        let own: HashSet<&str> = manifest.tools().map(|(name, _)| name).collect();
        let tools = self.tools.iter().filter(|tool| !own.contains(tool.name())).cloned();
        offer::builder(&manifest.meant, means).tools(tools)
    }
}

impl Live {
    /// Serves these beside what the file has, in place of those before. Clients are told of the
    /// lists that differ; requests in flight finish on what they began with.
    ///
    /// # Errors
    /// [`BuildError`]: two have one name, or a schema is none. Then nothing has changed.
    pub fn set_guests(&self, guests: Guests) -> Result<(), BuildError> {
        let guests = Arc::new(guests);
        let _swapping = lock(&self.swapping);
        let (manifest, means) = {
            let now = lock(&self.now);
            let store = now.store.as_ref().map(|(_, store)| store.clone());
            let standings = Arc::clone(&now.standings);
            (Arc::clone(&now.manifest), Means { store, standings, ..self.means.clone() })
        };
        self.server.replace(guests.join(&manifest, &means))?;
        lock(&self.now).guests = guests;
        Ok(())
    }
}
