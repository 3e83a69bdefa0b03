//! Connections of an upstream that belong to one session each: made with its first call, ended when
//! the session is over or has asked nothing for long. Lists, and clients without a session, share
//! another. Asked by `upstream`; kept by `keeper`, as any connection.

use crate::gateway::lock;
use crate::keeper::{Seat, keep};
use crate::limits::OWN_LOOK;
use crate::room::For;
use crate::seats::Seats;
use crate::upstream::Upstream;
use haft_proto::session::Session;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

/// See above.
#[derive(Default)]
pub(crate) struct Owned {
    /// By the address of the session, which nobody else has while it is held weakly.
    all: Mutex<HashMap<usize, Arc<Seats>>>,
    keeping: Mutex<JoinSet<()>>,
}

impl Owned {
    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        lock(&self.all).len()
    }

    /// That of a session.
    ///
    /// # Errors
    /// Why there may be no more.
    pub(crate) fn of(
        &self,
        upstream: &Arc<Upstream>,
        session: &Arc<Session>,
    ) -> Result<Arc<Seats>, String> {
        let address = Arc::as_ptr(session).addr();
        let mut all = lock(&self.all);
        if let Some(seats) = all.get(&address).filter(|seats| !seats.is_stopping()) {
            return Ok(Arc::clone(seats));
        }
        let most = upstream.settings.sessions_max;
        if all.len() >= most {
            return Err(format!("{most} sessions have a process of their own, and no more may"));
        }
        let is_near = !upstream.is_far();
        let place = is_near.then(|| upstream.room.take(For::Itself)).transpose()?;
        let seats = Arc::new(Seats::new(1));
        let (upstream, kept) = (Arc::clone(upstream), Arc::clone(&seats));
        let session = Arc::downgrade(session);
        let mut keeping = lock(&self.keeping);
        while keeping.try_join_next().is_some() {}
        keeping.spawn(async move {
            let seat =
                Seat { upstream: Arc::clone(&upstream), seats: Arc::clone(&kept), number: 0 };
            let ending = async {
                tokio::select! {
                    () = over(&session, &kept, upstream.settings.sessions_idle) => {}
                    () = upstream.seats.stopped() => {}
                }
                kept.stop();
            };
            // How it does is told to its callers; what it has is known of the shared one.
            tokio::join!(Box::pin(keep(seat, place, |_| {})), ending);
            let mut all = lock(&upstream.own.all);
            // A call may have come since, and begun another.
            if all.get(&address).is_some_and(|seats| Arc::ptr_eq(seats, &kept)) {
                all.remove(&address);
            }
            drop(session);
        });
        all.insert(address, Arc::clone(&seats));
        Ok(seats)
    }

    /// Waits until all have ended; they do when those that are shared are to stop.
    pub(crate) async fn ended(&self) {
        let mut keeping = std::mem::take(&mut *lock(&self.keeping));
        while keeping.join_next().await.is_some() {}
    }
}

/// Waits until a session is over, or has asked nothing for long.
async fn over(session: &Weak<Session>, seats: &Seats, idle_max: Duration) {
    let mut before = (seats.taken_at_rest(), Instant::now());
    while session.strong_count() > 0 {
        sleep(OWN_LOOK).await;
        let now = seats.taken_at_rest();
        if now.is_none() || now != before.0 {
            before = (now, Instant::now());
        } else if before.1.elapsed() >= idle_max {
            return;
        }
    }
}
