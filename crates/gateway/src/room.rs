//! How many processes of upstreams there may be together: who starts one takes a place, which is
//! free again when the process has ended. Asked by `keeper` and `own`, held by `nursery`; starts
//! nothing itself.

use haft_manifest::Live;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::watch;

/// See above.
pub(crate) struct Room {
    places: watch::Sender<Places>,
    /// Whose file says how many there may be.
    live: Arc<Live>,
}

#[derive(Default)]
struct Places {
    taken: usize,
    /// Who waits, in this order.
    waiting: VecDeque<u64>,
    /// Whoever waits next.
    next: u64,
}

/// A place, until this is dropped.
pub(crate) struct Place(Arc<Room>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.places.send_modify(|places| places.taken -= 1);
    }
}

/// What a process is begun for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum For {
    Itself,
    /// To take over from another, which serves until then. For one of these at a time there is a
    /// place more.
    Another,
}

/// Whose turn comes.
struct Turn<'a>(&'a Room, u64);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.places.send_modify(|places| places.waiting.retain(|turn| *turn != self.1));
    }
}

impl Room {
    pub(crate) fn new(live: Arc<Live>) -> Self {
        Self { places: watch::Sender::default(), live }
    }

    /// The file may say something else now. Those that are there stay, if they are more.
    pub(crate) fn follow_file(&self) {
        self.places.send_modify(|_| {});
    }

    /// A place.
    ///
    /// # Errors
    /// There is none, for this reason.
    pub(crate) fn take(self: &Arc<Self>, sake: For) -> Result<Place, String> {
        let max = self.live.manifest().processes();
        let full = || format!("{max} processes of upstreams run, as many as `processes` allows");
        self.take_in_turn(sake, None).ok_or_else(full)
    }

    /// A place, once there is one: whoever has waited longest has the first.
    pub(crate) async fn wait(self: &Arc<Self>, sake: For) -> Place {
        let mut places = self.places.subscribe();
        let turn = (sake == For::Itself).then(|| self.queue());
        loop {
            places.mark_unchanged();
            if let Some(place) = self.take_in_turn(sake, turn.as_ref()) {
                return place;
            }
            // It cannot end before this.
            _ = places.changed().await;
        }
    }

    fn take_in_turn(self: &Arc<Self>, sake: For, turn: Option<&Turn<'_>>) -> Option<Place> {
        let max = self.live.manifest().processes();
        let is_taken = self.places.send_if_modified(|places| {
            let first = places.waiting.front();
            let is_free = match sake {
                For::Itself => {
                    let is_next = first.is_none_or(|first| turn.is_some_and(|one| one.1 == *first));
                    is_next && places.taken < max
                }
                For::Another => places.taken <= max,
            };
            places.taken += usize::from(is_free);
            is_free
        });
        is_taken.then(|| Place(Arc::clone(self)))
    }

    fn queue(&self) -> Turn<'_> {
        let mut number = 0;
        self.places.send_modify(|places| {
            number = places.next;
            places.next += 1;
            places.waiting.push_back(number);
        });
        Turn(self, number)
    }
}
