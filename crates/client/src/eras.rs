//! Which servers spoke the legacy era, so that the next connection to one of them begins with its
//! handshake, and none waits for the silence of one that does not know another question. Believed
//! for a while, and forgotten when it does not hold. Asked by `connect`; kept by whoever connects.

use crate::connect::Target;
use crate::limits::{ERA_TIME_MAX, ERAS_MAX};
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::time::Instant;

/// See above: shared by all clones of it. An address counts without its query and headers; a
/// command with its arguments, directory and variables.
#[derive(Clone, Default)]
pub struct Eras(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// By what stands for each server.
    known: Mutex<HashMap<u64, Found>>,
    /// Addresses and arguments may be secrets.
    hasher: RandomState,
}

#[derive(Clone, Copy)]
struct Found {
    era: Known,
    since: Instant,
    /// It has died of that since.
    is_doubted: bool,
}

/// How a server is begun with that does not speak the modern era.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// With a handshake.
    Legacy,
    /// With a stream of events, over which hands are shaken.
    OldSse,
}

impl Eras {
    /// How it was begun with not long ago.
    pub(crate) fn of(&self, target: &Target) -> Option<Known> {
        let known = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.get(&self.key(target))?;
        (found.since.elapsed() < ERA_TIME_MAX).then_some(found.era)
    }

    /// It has died as it was begun with so. Twice in a row is no accident.
    pub(crate) fn doubt(&self, target: &Target) {
        let key = self.key(target);
        let mut known = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get_mut(&key)
            && std::mem::replace(&mut found.is_doubted, true)
        {
            known.remove(&key);
        }
    }

    /// It has been found out; nothing, if it is modern. What is known already becomes no younger.
    pub(crate) fn found(&self, target: &Target, era: Option<Known>) {
        let key = self.key(target);
        let mut known = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(era) = era else {
            known.remove(&key);
            return;
        };
        known.retain(|_, found| found.since.elapsed() < ERA_TIME_MAX);
        if known.len() >= ERAS_MAX && !known.contains_key(&key) {
            known.clear();
        }
        let since = known.get(&key).map_or_else(Instant::now, |found| found.since);
        known.insert(key, Found { era, since, is_doubted: false });
    }

    fn key(&self, target: &Target) -> u64 {
        match target {
            Target::Url(url) => self.0.hasher.hash_one(url.split(['?', '#']).next()),
            Target::Command(launch) => self.0.hasher.hash_one(launch.identity()),
        }
    }
}

impl fmt::Debug for Eras {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Eras").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Launch;
    use std::time::Duration;
    use tokio::time::advance;

    fn at(path: &str) -> Target {
        Target::Url(format!("http://127.0.0.1:1/{path}"))
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_found_out_is_believed_for_a_while() {
        let eras = Eras::default();
        eras.found(&at("a?key=1"), Some(Known::Legacy));
        assert_eq!(eras.clone().of(&at("a?key=2")), Some(Known::Legacy));
        assert_eq!(eras.of(&at("b")), None);
        advance(ERA_TIME_MAX - Duration::from_secs(1)).await;
        // What was not found out anew is no news.
        eras.found(&at("a"), Some(Known::Legacy));
        advance(Duration::from_secs(1)).await;
        assert_eq!(eras.of(&at("a")), None);
        eras.found(&at("a"), Some(Known::OldSse));
        assert_eq!(eras.of(&at("a")), Some(Known::OldSse));
        eras.found(&at("a"), None);
        assert_eq!(eras.of(&at("a")), None);
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_is_kept_than_the_most() {
        let eras = Eras::default();
        for number in 0..ERAS_MAX + 1 {
            eras.found(&at(&number.to_string()), Some(Known::Legacy));
        }
        let known = eras.0.known.lock().expect("no panics").len();
        assert!((1..=ERAS_MAX).contains(&known), "{known}");
        assert_eq!(eras.of(&at(&ERAS_MAX.to_string())), Some(Known::Legacy));
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_is_known_has_its_place_among_the_most() {
        let eras = Eras::default();
        for number in (0..ERAS_MAX).chain([0]) {
            eras.found(&at(&number.to_string()), Some(Known::Legacy));
        }
        assert_eq!(eras.of(&at("1")), Some(Known::Legacy));
    }

    #[test]
    fn a_command_is_another_one_elsewhere_and_with_other_variables() {
        let eras = Eras::default();
        let launch = || Launch::new("server", ["-v"]);
        let known = |launch: Launch| eras.of(&Target::Command(launch));
        let there = launch().directory("/there").variables([("MODE", "old")]);
        eras.found(&Target::Command(there.clone()), Some(Known::Legacy));
        assert_eq!(known(there), Some(Known::Legacy));
        assert_eq!(known(launch()), None);
        assert_eq!(known(launch().directory("/there").variables([("MODE", "new")])), None);
        assert_eq!(known(launch().directory("/here").variables([("MODE", "old")])), None);
    }
}
