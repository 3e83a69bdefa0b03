//! What is asked over a link, beside what, and how far haft means to get: the table of `bench
//! links`. The other modules go through it; nothing is run here.

use serde_json::Value;

use super::super::aim::Aim;

/// What is asked.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// Beside what.
    pub(super) against: &'static str,
    pub(super) kind: Kind,
    /// Of the P50 and of the P99.
    pub(super) aims: [Option<Aim>; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A call at a time, through a gateway and an agent on one machine.
    One,
    /// A hundred at once, over a wire that delays and loses; beside a connection over TCP whose
    /// congestion is controlled so.
    Lossy(&'static str),
    /// Ninety-nine at once, beside one whose long result is read slowly.
    Slow,
}

/// How many calls there are at once.
pub(super) const AT_ONCE: usize = 100;
/// How long the wire takes, one way, and how many of a thousand packets it loses, each way.
pub(super) const DELAY_MS: u64 = 20;
pub(super) const LOSS_PER_MILLE: u64 = 10;
/// What is lost is the same each time.
pub(super) const SEED: u64 = 7;
/// How long the result is that is read slowly, and how it is read.
pub(super) const LONG_BYTES: usize = 3_000_000;
pub(super) const SLOW_BYTES: usize = 16 * 1024;
pub(super) const SLOW_PAUSE_MS: u64 = 20;

/// In the order of the table.
pub(super) const CASES: &[Case] = &[
    Case {
        name: "echo-1",
        title: "a call through gateway and agent on one machine, 1 connection",
        against: "http",
        kind: Kind::One,
        aims: [Some(Aim::AtMost(1.3)), Some(Aim::AtMost(1.3))],
    },
    Case {
        name: "lossy-100",
        title: "100 calls at once, 40 ms there and back, 1% of packets lost",
        against: "cubic",
        kind: Kind::Lossy("cubic"),
        aims: [None, Some(Aim::AtMost(0.5))],
    },
    Case {
        name: "lossy-100",
        title: "100 calls at once, 40 ms there and back, 1% of packets lost",
        against: "bbr",
        kind: Kind::Lossy("bbr"),
        aims: [None, Some(Aim::AtMost(0.5))],
    },
    Case {
        name: "slow-reader",
        title: "99 calls at once beside one slow reader of long results",
        against: "none",
        kind: Kind::Slow,
        aims: [Some(Aim::AtMost(1.05)), Some(Aim::AtMost(1.05))],
    },
];

impl Case {
    /// Whether that is what was kept of it.
    pub(super) fn is(&self, kept: &Value) -> bool {
        kept["scenario"] == self.name && kept["against"] == self.against
    }

    /// Beside what, as people are told.
    pub(super) fn beside(&self) -> &'static str {
        match self.kind {
            Kind::One => "the gateway to the same tool over HTTP/1.1",
            Kind::Lossy("bbr") => "the same over one HTTP/2 connection, TCP with BBR",
            Kind::Lossy(_) => "the same over one HTTP/2 connection, TCP with CUBIC",
            Kind::Slow => "no slow reader",
        }
    }

    /// How many times as long as usual a round is: one in a hundred is to be many.
    pub(super) const fn longer(&self) -> f64 {
        if matches!(self.kind, Kind::Lossy(_)) { 8.0 } else { 1.0 }
    }

    /// How many times as many rounds as usual there are: a few per cent are to be seen.
    pub(super) const fn more(&self) -> u32 {
        match self.kind {
            Kind::One => 2,
            Kind::Slow => 6,
            Kind::Lossy(_) => 1,
        }
    }
}
