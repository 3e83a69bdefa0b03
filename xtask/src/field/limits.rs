//! How long everything takes in the field, and how much of it there is. Read by the other files of
//! `field`; nothing is measured here.

use std::time::Duration;

/// How long a program may take until it is there.
pub(super) const START: Duration = Duration::from_secs(30);
/// How long a caller waits when nothing comes: longer than the longest cut.
pub(super) const ANSWER: Duration = Duration::from_secs(400);
/// After what was done, how long it may take until calls work again: longer than the longest pause
/// between two times that an agent dials, of 30 s, and the dialling.
pub(super) const AGAIN: Duration = Duration::from_secs(60);
/// Cuts: one that a link outlives, one that calls outlive, and one that neither does.
pub(super) const SHORT_CUT: Duration = Duration::from_secs(1);
pub(super) const CUT: Duration = Duration::from_secs(30);
pub(super) const LONG_CUT: Duration = Duration::from_secs(300);
/// How far into a longer cut a call begins: after the link has been given up, 15 s after the last
/// that was said over it, which is said every 5 s.
pub(super) const INTO_CUT: Duration = Duration::from_secs(25);
/// How many calls are made to see how long one takes.
pub(super) const SOME_CALLS: u64 = 50;
/// Who makes calls at once.
pub(super) const CALLERS: u64 = 64;
/// How long a caller waits after a call that was not answered.
pub(super) const REFUSED: Duration = Duration::from_millis(200);
/// How long a call runs at most, and how many of a hundred have a long result, of how many letters:
/// it goes in several frames, and over several links.
pub(super) const RUN_MS: u64 = 20;
pub(super) const LONG_PER_CENT: u64 = 5;
pub(super) const LONG_LETTERS: u64 = 100_000;
/// The longest time between two cuts, and the longest usual cut.
pub(super) const WHOLE_MS: u64 = 1_500;
pub(super) const CUT_MS: u64 = 800;
/// Which cuts are long ones: they end the link, which is given up after 15 s.
pub(super) const LONG_EVERY: u64 = 25;
pub(super) const LONG_FIRST: u64 = 2;
pub(super) const LONG_CUT_MS: u64 = 18_000;
/// The most agents: what a gateway takes.
pub(super) const AGENTS_MAX: usize = 4096;
/// How long they may take to come, all of them.
pub(super) const ALL_THERE: Duration = Duration::from_secs(300);
/// Who calls each of them.
pub(super) const AGENT_CALLERS: usize = 8;
/// How many files a process may have open that has a socket for each of them.
pub(super) const FILES: &str = "16384";
