//! Agents that have the same: each call goes to the one that has the fewest, of those that are
//! there.

use super::member::{Member, Presence};
use haft_client::{Carrier, Carrying, Hear, Parcel, Uncarried};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use tokio::sync::watch;

/// See above. It has one at least.
#[derive(Clone, Debug)]
pub struct Group(Arc<[Arc<Member>]>);

/// When agents of a group come, from when this was made on.
#[derive(Debug)]
pub struct Arrivals(Vec<watch::Receiver<Presence>>);

impl Group {
    /// Those; nothing, if there are none.
    #[must_use]
    pub fn new(members: Vec<Arc<Member>>) -> Option<Self> {
        (!members.is_empty()).then(|| Self(members.into()))
    }

    /// When one of them comes from now on.
    #[must_use]
    pub fn arrivals(&self) -> Arrivals {
        let seen = |member: &Arc<Member>| {
            let mut presence = member.presence();
            presence.mark_unchanged();
            presence
        };
        Arrivals(self.0.iter().map(seen).collect())
    }

    /// In which order they are asked.
    fn in_turn(&self) -> Vec<&Arc<Member>> {
        let mut all: Vec<_> = self.0.iter().collect();
        all.sort_by_cached_key(|member| {
            let away = match *member.presence().borrow() {
                Presence::Here { .. } => 0,
                Presence::Away { .. } => 1,
                Presence::Absent => 2,
            };
            (away, member.load())
        });
        all
    }
}

fn is_here(member: &Member) -> bool {
    matches!(*member.presence().borrow(), Presence::Here { .. })
}

impl Carrier for Group {
    fn carry<'a>(&'a self, parcel: Parcel, hear: Hear<'a>) -> Carrying<'a> {
        Box::pin(async move {
            let mut all = self.in_turn().into_iter();
            let mut member = all.next().expect("it has one at least");
            // What one has not begun another may; who is not there is not waited for then.
            for other in all.filter(|other| is_here(other)) {
                match member.carry(parcel.clone(), hear).await {
                    Err(Uncarried::NotBegun(_)) => member = other,
                    carried => return carried,
                }
            }
            member.carry(parcel, hear).await
        })
    }

    fn gone<'a>(&'a self) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        let all = self.0.iter().map(|member| {
            let mut presence = member.presence();
            let session = presence.borrow_and_update().session();
            (presence, session)
        });
        let all: Vec<_> = all.collect();
        Box::pin(async move {
            for (mut presence, session) in all {
                _ = presence.wait_for(|now| session.is_none() || now.session() != session).await;
            }
        })
    }
}

impl Arrivals {
    /// Waits until one has come.
    pub async fn next(&mut self) {
        loop {
            let mut changes: Vec<_> =
                self.0.iter_mut().map(|presence| Box::pin(presence.changed())).collect();
            let changed = poll_fn(|cx| {
                let mut changes = changes.iter_mut();
                match changes.position(|change| change.as_mut().poll(cx).is_ready()) {
                    Some(index) => Poll::Ready(index),
                    None => Poll::Pending,
                }
            });
            let index = changed.await;
            drop(changes);
            if matches!(*self.0[index].borrow(), Presence::Here { .. }) {
                return;
            }
        }
    }
}
