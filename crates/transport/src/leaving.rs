//! The trips of requests whose answers are in the buffer and not written yet: each ends when the
//! last of its bytes has been. Empty unless requests are timed.

use haft_stages::Trip;
use std::collections::VecDeque;

/// Trips by where their answers end, counted from the first byte that was ever written.
#[derive(Debug, Default)]
pub(crate) struct Leaving {
    trips: VecDeque<(u64, Trip)>,
    /// How many bytes have been taken out of the buffer.
    gone: u64,
}

impl Leaving {
    /// The answer to a request ends where the buffer does now.
    pub(crate) fn put(&mut self, trip: Trip, buffered: usize) {
        if trip.is_timed() {
            self.trips.push_back((self.gone + buffered as u64, trip));
        }
    }

    /// So much of the buffer has been written.
    pub(crate) fn written(&mut self, sent: usize) {
        while let Some((end, trip)) = self.trips.front()
            && *end <= self.gone + sent as u64
        {
            trip.end();
            self.trips.pop_front();
        }
    }

    /// So much is taken out of the buffer.
    pub(crate) fn removed(&mut self, count: usize) {
        self.gone += count as u64;
    }
}
