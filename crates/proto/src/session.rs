//! What `initialize` agreed on, for as long as a legacy conversation lasts (Lifecycle). Made by the
//! wires, read by services; modern requests have none.

use crate::spec::client::ClientCapabilities;
use crate::spec::level::Level;
use crate::version::Revision;
use std::any::Any;
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

/// One legacy conversation.
pub struct Session {
    revision: Revision,
    capabilities: ClientCapabilities,
    /// The least severe log message that is wanted, as an index of [`Level::ALL`].
    level: AtomicU8,
    kept: OnceLock<Box<dyn Any + Send + Sync>>,
}

/// No log message is severe enough.
const SILENT: u8 = u8::MAX;

impl Session {
    /// A conversation in that revision with such a client.
    #[must_use]
    pub fn new(revision: Revision, capabilities: ClientCapabilities) -> Self {
        Self { revision, capabilities, level: AtomicU8::new(SILENT), kept: OnceLock::new() }
    }

    /// The revision that both sides speak.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// What the client can do.
    #[must_use]
    pub fn capabilities(&self) -> ClientCapabilities {
        self.capabilities
    }

    /// The least severe log message that the client wants; none before it has asked for some.
    #[must_use]
    pub fn level(&self) -> Option<Level> {
        Level::ALL.get(usize::from(self.level.load(Ordering::Relaxed))).copied()
    }

    /// The client asks for log messages (`logging/setLevel`).
    pub fn set_level(&self, level: Level) {
        self.level.store(level as u8, Ordering::Relaxed);
    }

    /// What the service keeps with this conversation, made when it is first needed and dropped with
    /// the conversation. `None` if another type is kept already.
    pub fn keep<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Option<&T> {
        self.kept.get_or_init(|| Box::new(make())).downcast_ref()
    }

    /// What the service keeps with this conversation, if it keeps something.
    #[must_use]
    pub fn kept<T: Any>(&self) -> Option<&T> {
        self.kept.get()?.downcast_ref()
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("revision", &self.revision)
            .field("capabilities", &self.capabilities)
            .field("level", &self.level())
            .finish_non_exhaustive()
    }
}
