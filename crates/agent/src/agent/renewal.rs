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
        let (path, before) = (&shared.settings.identity, shared.identity());
        if let Ok(identity) = wish.granted(&issued(joined), path, before.token()) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::sample::Sample;
    use crate::limits::CERTIFICATE_LIFE;
    use crate::trust::Identity;
    use futures_util::FutureExt;
    use tempfile::TempDir;

    #[tokio::test]
    async fn of_the_links_of_an_agent_one_asks_and_its_certificate_is_that_of_all() {
        let directory = TempDir::new().expect("a directory");
        let (now, late) = (SystemTime::now(), CERTIFICATE_LIFE * 3 / 4);
        let Sample { agent, authority, certificate } = Sample::joined(&directory, now - late);
        let shared = &agent.shared;
        let before = shared.identity().renewal();
        let (mut one, mut other) = (Renewal::new(shared), Renewal::new(shared));
        let request = one.due(shared).await;
        assert!(other.due(shared).now_or_never().is_none(), "one has asked");
        let issued = authority.renew(&[certificate], &request, now).expect("it holds");
        let joined = Joined {
            certificate: &issued.certificate,
            authority: &issued.authority,
            expires: issued.expires,
        };
        // Nobody has asked for it over this one.
        other.granted(shared, &joined);
        assert_eq!(shared.identity().renewal(), before);
        one.granted(shared, &joined);
        assert!(shared.identity().renewal() > before + late / 2);
        let kept = Identity::load(&shared.settings.identity, now).expect("it is kept");
        assert_eq!(kept.renewal(), shared.identity().renewal());
        for renewal in [&mut one, &mut other] {
            assert!(renewal.due(shared).now_or_never().is_none(), "it has what it needs");
        }
    }
}
