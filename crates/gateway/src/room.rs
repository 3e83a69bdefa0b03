//! How many processes of upstreams there may be together: who starts one takes a place, and leaves
//! it once the process has ended. Asked by `keeper` and `own`; starts nothing itself.

use haft_manifest::Live;
use std::sync::Arc;
use tokio::sync::watch;

/// See above.
pub(crate) struct Room {
    taken: watch::Sender<usize>,
    /// Whose file says how many there may be.
    live: Arc<Live>,
}

/// A place, until this is dropped.
pub(crate) struct Place(Arc<Room>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.taken.send_modify(|taken| *taken -= 1);
    }
}

impl Room {
    pub(crate) fn new(live: Arc<Live>) -> Self {
        Self { taken: watch::Sender::new(0), live }
    }

    /// The file may say something else now. Those that are there stay, if they are more.
    pub(crate) fn follow_file(&self) {
        self.taken.send_modify(|_| {});
    }

    /// A place.
    ///
    /// # Errors
    /// There is none, for this reason.
    pub(crate) fn take(self: &Arc<Self>) -> Result<Place, String> {
        let max = self.live.manifest().processes();
        let is_taken = self.taken.send_if_modified(|taken| {
            let is_free = *taken < max;
            *taken += usize::from(is_free);
            is_free
        });
        let full = || format!("{max} processes of upstreams run, as many as `processes` allows");
        if is_taken { Ok(Place(Arc::clone(self))) } else { Err(full()) }
    }

    /// A place, once there is one.
    pub(crate) async fn wait(self: &Arc<Self>) -> Place {
        let mut taken = self.taken.subscribe();
        loop {
            taken.mark_unchanged();
            if let Ok(place) = self.take() {
                return place;
            }
            // It cannot end before this.
            _ = taken.changed().await;
        }
    }
}
