//! Messages that nobody asked for, counted: a server that sends more of them than anybody can want
//! is read slower, so that it waits and not we. Used by both wires; it reads nothing itself.

use crate::limits::{UNASKED_MAX, UNASKED_TIME};
use tokio::time::{Instant, sleep_until};

/// Those of the present moment.
#[derive(Debug)]
pub(crate) struct Flood {
    since: Instant,
    count: usize,
}

impl Flood {
    pub(crate) fn new() -> Self {
        Self { since: Instant::now(), count: 0 }
    }

    /// One came.
    pub(crate) fn count(&mut self) {
        self.count += 1;
    }

    /// It was an answer that somebody waited for.
    pub(crate) fn discount(&mut self) {
        // A batch may have several in one line.
        self.count = self.count.saturating_sub(1);
    }

    /// Waits, if there were too many in too short a time.
    pub(crate) async fn ebb(&mut self) {
        if self.count > UNASKED_MAX {
            sleep_until(self.since + UNASKED_TIME).await;
            *self = Self::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_sends_too_much_is_waited_with() {
        let (began, mut flood) = (Instant::now(), Flood::new());
        for _ in 0..UNASKED_MAX {
            flood.count();
        }
        flood.ebb().await;
        assert_eq!(flood.count, UNASKED_MAX);
        flood.count();
        flood.discount();
        flood.ebb().await;
        assert_eq!(flood.count, UNASKED_MAX);
        flood.count();
        flood.ebb().await;
        assert!(began.elapsed() >= UNASKED_TIME);
        assert_eq!(flood.count, 0);
    }
}
