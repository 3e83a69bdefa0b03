//! Documents from the web that were read before, so that who saves a file does not ask for them
//! each time, and can go on when nobody answers. Kept by `live`, used by `source`; asks nobody.

use haft_fetch::{Reach, Url};
use std::sync::Arc;
use std::time::Instant;

/// A document, as it came.
#[derive(Clone)]
pub(crate) struct Known {
    /// As it was asked for.
    pub(crate) url: Url,
    pub(crate) reach: Reach,
    pub(crate) bytes: Arc<Vec<u8>>,
    /// Where it was found.
    pub(crate) found: Url,
    pub(crate) asked: Instant,
    is_used: bool,
}

/// See above.
#[derive(Clone, Default)]
pub(crate) struct Documents(Vec<Known>);

impl Documents {
    /// The document at this address, for those who may reach so far.
    pub(crate) fn of(&mut self, url: &Url, reach: &Reach) -> Option<Known> {
        let known = self.0.iter_mut().find(|known| known.url == *url && known.reach == *reach)?;
        known.is_used = true;
        Some(known.clone())
    }

    /// Keeps one that was asked for just now, whether it came or not.
    pub(crate) fn keep(&mut self, url: &Url, reach: &Reach, (bytes, found): (Arc<Vec<u8>>, Url)) {
        self.0.retain(|known| known.url != *url || known.reach != *reach);
        let (url, reach, asked) = (url.clone(), reach.clone(), Instant::now());
        self.0.push(Known { url, reach, bytes, found, asked, is_used: true });
    }

    /// Keeps those alone that were used since.
    pub(crate) fn forget_unused(&mut self) {
        self.0.retain_mut(|known| std::mem::take(&mut known.is_used));
    }
}
