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
    pub(super) async fn due(&mut self) -> Vec<u8> {
        loop {
            sleep_until(self.due).await;
            self.due = Instant::now() + RENEWAL_RETRY;
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
            self.due = due(shared);
        }
    }
}

fn due(shared: &Shared) -> Instant {
    let left = shared.identity().renewal().duration_since(SystemTime::now());
    Instant::now() + left.unwrap_or_default()
}
