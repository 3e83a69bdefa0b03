//! Whether the other end of a link is there, where the wire does not look after that itself: over
//! TCP something is said now and then, and a long silence is the end.

use crate::limits::{HEARTBEAT, SILENCE_MAX};
use crate::link::Link;
use crate::wire::Broken;
use std::future::pending;
use std::io;
use tokio::time::{Instant, Interval, interval};

/// See above.
pub(crate) struct Pulse {
    beats: Option<Interval>,
    felt: Instant,
}

impl Pulse {
    pub(crate) fn of(link: &Link) -> Self {
        let beats = link.is_over_tcp().then(|| interval(HEARTBEAT));
        Self { beats, felt: Instant::now() }
    }

    /// Something came.
    pub(crate) fn felt(&mut self) {
        self.felt = Instant::now();
    }

    /// Waits until something must be said.
    ///
    /// # Errors
    /// Nothing has come for too long.
    pub(crate) async fn beat(&mut self) -> Result<(), Broken> {
        let Some(beats) = &mut self.beats else { return pending().await };
        beats.tick().await;
        match self.felt.elapsed() > SILENCE_MAX {
            true => Err(Broken::Stream(io::ErrorKind::TimedOut.into())),
            false => Ok(()),
        }
    }
}
