//! Who has a session at a listener, for whoever runs it: asked while the listener serves. It counts
//! and tells; it ends nobody's session.

use super::endpoint::Endpoint;
use haft_proto::version::Revision;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

/// The sessions of one listener. Cheap to clone.
#[derive(Clone, Default)]
pub struct Roll(Arc<OnceLock<Weak<Endpoint>>>);

/// A session of a client of the legacy era; clients of the modern era have none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attendee {
    /// The path of the endpoint that the session is of.
    pub path: String,
    /// What the client calls itself, at most 64 characters.
    pub client: String,
    /// The revision that is spoken.
    pub revision: Revision,
    /// How long it has been there.
    pub age: Duration,
    /// How long nothing has been asked; nothing while something is being answered, or a stream is
    /// open.
    pub idle: Option<Duration>,
}

impl Roll {
    /// How many sessions there are, those of endpoints at other paths included, and as many of the
    /// newest as are wanted, the newest first.
    #[must_use]
    pub fn call(&self, most: usize) -> (usize, Vec<Attendee>) {
        let Some(endpoint) = self.0.get().and_then(Weak::upgrade) else {
            return Default::default();
        };
        let (mut count, mut all) = (0, Vec::new());
        for one in endpoint.others.all().into_iter().chain([endpoint]) {
            let (there, newest) = one.sessions.told(most, &one.path);
            count += there;
            all.extend(newest);
        }
        all.sort_by_key(|one| one.age);
        all.truncate(most);
        (count, all)
    }

    pub(super) fn is_of(&self, endpoint: &Arc<Endpoint>) {
        // A listener serves once.
        _ = self.0.set(Arc::downgrade(endpoint));
    }
}
