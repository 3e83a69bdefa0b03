//! A new certificate before the old one ends: asked for over a link, with a new key, and kept in
//! the place of the old one.

use super::Shared;
use super::join::issued;
use crate::limits::RENEWAL_RETRY;
use crate::trust::Wish;
use haft_link::Joined;
use std::time::SystemTime;
use tokio::time::{Instant, sleep_until};

/// See above.
pub(super) struct Renewal {
    due: Instant,
    /// What was asked for, and has not come.
    wish: Option<Wish>,
}

impl Renewal {
    pub(super) fn new(shared: &Shared) -> Self {
        Self { due: due(shared), wish: None }
    }

    /// Waits until one is due; what is to be asked for. Asked again if nothing comes of it.
    pub(super) async fn due(&mut self, shared: &Shared) -> Vec<u8> {
        loop {
            sleep_until(self.due).await;
            // It may have come over another link.
            self.due = due(shared);
            if self.due > Instant::now() {
                continue;
            }
            self.due = Instant::now() + RENEWAL_RETRY;
            if !shared.may_renew() {
                continue;
            }
            if let Ok(wish) = Wish::new() {
                let request = wish.request.clone();
                self.wish = Some(wish);
                return request;
            }
        }
    }

    /// It has come. One that cannot be kept is asked for again.
    pub(super) fn granted(&mut self, shared: &Shared, joined: &Joined<'_>) {
        let Some(wish) = self.wish.take() else { return };
        if let Ok(identity) = wish.granted(&issued(joined), &shared.settings.identity) {
            shared.renewed(identity);
            // At once it would be only by a clock that is ahead.
            self.due = due(shared).max(Instant::now() + RENEWAL_RETRY);
        }
    }
}

fn due(shared: &Shared) -> Instant {
    let left = shared.identity().renewal().duration_since(SystemTime::now());
    Instant::now() + left.unwrap_or_default()
}
