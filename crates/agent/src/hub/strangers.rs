//! Those who have come and have not been let in yet: so many at once, and so few of one network
//! that whoever is nobody's agent does not keep the agents of others out.

use crate::limits::{STRANGERS_ALIKE_MAX, STRANGERS_MAX};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// See above.
#[derive(Clone, Debug)]
pub(super) struct Strangers {
    room: Arc<Semaphore>,
    of: Arc<Mutex<HashMap<Network, usize>>>,
}

/// An address, or of one of version 6 as much as its owner has all of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Network(IpAddr);

/// One of them, for as long as it is there and has not been let in.
#[derive(Debug)]
pub(super) struct Stranger {
    strangers: Strangers,
    network: Network,
    _place: OwnedSemaphorePermit,
}

impl Strangers {
    pub(super) fn new() -> Self {
        Self { room: Arc::new(Semaphore::new(STRANGERS_MAX)), of: Arc::default() }
    }

    /// Waits until there is room for another.
    pub(super) async fn place(&self) -> OwnedSemaphorePermit {
        Arc::clone(&self.room).acquire_owned().await.expect("it is never closed")
    }

    /// How many there are.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        STRANGERS_MAX - self.room.available_permits()
    }

    /// One comes from there, and takes that place; nothing, if too many from there have one.
    pub(super) fn comes(&self, from: IpAddr, place: OwnedSemaphorePermit) -> Option<Stranger> {
        let network = Network::of(from);
        let mut of = self.of.lock().unwrap_or_else(PoisonError::into_inner);
        let count = of.entry(network).or_default();
        if *count == STRANGERS_ALIKE_MAX {
            return None;
        }
        *count += 1;
        Some(Stranger { strangers: self.clone(), network, _place: place })
    }
}

impl Network {
    fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                Self(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into())
            }
            address @ IpAddr::V4(_) => Self(address),
        }
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let mut of = self.strangers.of.lock().unwrap_or_else(PoisonError::into_inner);
        let count = of.get_mut(&self.network).expect("it was counted");
        *count -= 1;
        if *count == 0 {
            of.remove(&self.network);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[tokio::test]
    async fn those_of_one_network_leave_room_for_those_of_others() {
        let strangers = Strangers::new();
        let flood = IpAddr::from([192, 0, 2, 1]);
        let mut inside = Vec::new();
        for _ in 0..STRANGERS_ALIKE_MAX {
            inside.push(strangers.comes(flood, strangers.place().await).expect("there is room"));
        }
        assert!(strangers.comes(flood, strangers.place().await).is_none());
        let mapped = Ipv4Addr::new(192, 0, 2, 1).to_ipv6_mapped();
        assert!(strangers.comes(mapped.into(), strangers.place().await).is_none());
        let other = strangers.comes([192, 0, 2, 2].into(), strangers.place().await);
        assert_eq!(strangers.count(), STRANGERS_ALIKE_MAX + 1);
        drop((inside.pop(), other));
        assert!(strangers.comes(flood, strangers.place().await).is_some());
        inside.clear();
        assert_eq!(strangers.count(), 0);
        assert!(strangers.of.lock().expect("no panics").is_empty(), "nothing is kept of them");
    }

    #[test]
    fn whoever_has_a_network_of_version_6_is_one_however_it_is_called() {
        let network = |text: &str| Network::of(text.parse().expect("an address"));
        assert_eq!(network("2001:db8:0:1::1"), network("2001:db8:0:1:ffff::2"));
        assert_ne!(network("2001:db8:0:1::1"), network("2001:db8:0:2::1"));
    }

    #[tokio::test]
    async fn when_all_places_are_taken_the_next_waits() {
        let strangers = Strangers::new();
        let mut inside = Vec::new();
        for number in 0..STRANGERS_MAX {
            let from = Ipv4Addr::from(u32::try_from(number).expect("few"));
            let one = strangers.comes(from.into(), strangers.place().await);
            inside.push(one.expect("each is of another network"));
        }
        let next = strangers.clone();
        let next = tokio::spawn(async move { next.place().await });
        tokio::task::yield_now().await;
        assert!(!next.is_finished());
        inside.pop();
        drop(next.await.expect("there is room now"));
    }
}
