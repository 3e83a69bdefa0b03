//! What shows that an agent was at its address before: a token that its gateway gave it over the
//! last link (RFC 9000, 8.1.3). Each is good once, so that nobody uses one for ever to have a
//! gateway send to somebody else.

use crate::limits::{ADDRESS_TOKENS_MAX, TICKET_LIFE};
use quinn::{TokenLog, TokenReuseError, ValidationTokenConfig};
use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How many tokens each link brings: the next link uses one up, and may be lost on its way.
const TOKENS: u32 = 2;

/// How a gateway gives them out.
pub(crate) fn tokens() -> ValidationTokenConfig {
    let mut config = ValidationTokenConfig::default();
    config.lifetime(TICKET_LIFE).sent(TOKENS).log(Arc::new(Used::default()));
    config
}

/// Those that were used.
#[derive(Default)]
struct Used(Mutex<Since>);

struct Since {
    numbers: HashSet<u128>,
    /// Of those that were given out before nobody knows any more whether they were used.
    from: SystemTime,
}

impl Default for Since {
    fn default() -> Self {
        Self { numbers: HashSet::new(), from: UNIX_EPOCH }
    }
}

impl fmt::Debug for Used {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Used").finish_non_exhaustive()
    }
}

impl TokenLog for Used {
    fn check_and_insert(
        &self,
        number: u128,
        issued: SystemTime,
        _lifetime: Duration,
    ) -> Result<(), TokenReuseError> {
        let mut since = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if since.numbers.len() >= ADDRESS_TOKENS_MAX {
            // The time of a token is in whole seconds.
            *since = Since { numbers: HashSet::new(), from: SystemTime::now() };
        }
        match issued >= since.from && since.numbers.insert(number) {
            true => Ok(()),
            false => Err(TokenReuseError),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_good_once_and_so_many_are_remembered() {
        let used = Used::default();
        let now = SystemTime::now();
        let is_good = |number, at| used.check_and_insert(number, at, TICKET_LIFE).is_ok();
        for number in 0..ADDRESS_TOKENS_MAX as u128 {
            assert!(is_good(number, now), "{number} is new");
        }
        // The next is the first after all were forgotten, and none from before is good any more.
        assert!(!is_good(7, now) && !is_good(u128::MAX, now));
        let later = now + Duration::from_secs(60);
        assert!(is_good(1 << 100, later) && !is_good(1 << 100, later));
    }
}
