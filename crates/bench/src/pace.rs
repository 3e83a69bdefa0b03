//! When the next request of an open loop is due, and waking then: to the microsecond, which the
//! runtime's timers of a millisecond are not. What is sent is not known here.

use crate::limits::OVERDUE_MAX;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::io;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::unix::AsyncFd;

/// How long some requests waited, and how many.
pub(crate) type Waited = (Duration, u64);

/// The schedule of one connection.
#[derive(Debug)]
pub(crate) struct Pace {
    due: Instant,
    interval: Duration,
    alarm: AsyncFd<OwnedFd>,
    /// For when the alarm is set.
    set_for: Option<Instant>,
}

impl Pace {
    /// A schedule for one of `connections`, the `number`th, which together ask `rate` times a
    /// second from `start` on.
    ///
    /// # Errors
    /// What the system says; it has no more descriptors, mostly.
    pub(crate) fn new(
        rate: f64,
        connections: usize,
        number: usize,
        start: Instant,
    ) -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let alarm = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        // Not side by side: each begins its share of an interval later.
        let interval = Duration::from_secs_f64(connections as f64 / rate);
        let due = start + interval.mul_f64(number as f64 / connections as f64);
        #[expect(deprecated, reason = "its successor is unsafe; the alarm is owned and stays open")]
        let alarm = AsyncFd::new(alarm)?;
        Ok(Self { due, interval, alarm, set_for: None })
    }

    /// The time that the next request was to be sent at, if that time has come.
    pub(crate) fn take(&mut self, now: Instant) -> Option<Instant> {
        let due = self.due;
        (due <= now).then(|| {
            self.due += self.interval;
            due
        })
    }

    /// How long those requests waited until `end` that were due after `from` and were not taken,
    /// and how many waited about so long: of very many not each is told of.
    pub(crate) fn overdue(&self, from: Instant, end: Instant) -> impl Iterator<Item = Waited> {
        let nanos = self.interval.as_nanos().max(1);
        let many = |time: Duration| u64::try_from(time.as_nanos().div_ceil(nanos));
        // What was due before answers counted is skipped.
        let early = from.saturating_duration_since(self.due);
        let early = self.interval.mul_f64(many(early).unwrap_or(u64::MAX) as f64);
        let late = end.saturating_duration_since(self.due + early);
        let count = many(late).unwrap_or(u64::MAX);
        let together = count.div_ceil(OVERDUE_MAX).max(1);
        let interval = self.interval;
        (0..count.div_ceil(together)).map(move |at| {
            let before = at * together;
            let waited = late.saturating_sub(interval.mul_f64(before as f64));
            (waited, together.min(count - before))
        })
    }

    /// Ready when a request is due.
    pub(crate) fn poll_due(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let now = Instant::now();
        if self.due <= now {
            return Poll::Ready(Ok(()));
        }
        if self.set_for != Some(self.due) {
            let wait = (self.due - now).max(Duration::from_nanos(1));
            let value = Timespec {
                tv_sec: wait.as_secs().try_into().unwrap_or(i64::MAX),
                tv_nsec: wait.subsec_nanos().into(),
            };
            let once = Timespec { tv_sec: 0, tv_nsec: 0 };
            let timer = Itimerspec { it_interval: once, it_value: value };
            timerfd_settime(&self.alarm, TimerfdTimerFlags::empty(), &timer)?;
            self.set_for = Some(self.due);
        }
        loop {
            let mut ready = ready!(self.alarm.poll_read_ready(context))?;
            // An alarm of before may still ring.
            ready.clear_ready();
            if self.due <= Instant::now() {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn requests_are_due_at_their_times_however_late_they_are_taken() {
        let start = Instant::now();
        let mut pace = Pace::new(1000.0, 2, 1, start).expect("a descriptor");
        assert_eq!(pace.take(start), None);
        let late = start + Duration::from_millis(10);
        let taken: Vec<_> = std::iter::from_fn(|| pace.take(late)).collect();
        let at = |micros: u64| start + Duration::from_micros(micros);
        assert_eq!(taken, [at(1000), at(3000), at(5000), at(7000), at(9000)]);
        let end = start + Duration::from_millis(15);
        let left = |from| pace.overdue(from, end).collect::<Vec<_>>();
        let waited = |micros| (Duration::from_micros(micros), 1);
        assert_eq!(left(start), [waited(4000), waited(2000)]);
        assert_eq!(left(at(11_001)), [waited(2000)], "the other one was due too early");
        assert_eq!(left(end), []);
        let late = start + Duration::from_secs(10_000);
        let counts: Vec<u64> = pace.overdue(start, late).map(|(_, count)| count).collect();
        assert!(counts.len() as u64 <= OVERDUE_MAX, "{}", counts.len());
        assert_eq!(counts.iter().sum::<u64>(), 4_999_995);
    }

    #[tokio::test]
    async fn the_alarm_rings_when_a_request_is_due_and_not_before() {
        let start = Instant::now();
        let mut pace = Pace::new(200.0, 1, 0, start + Duration::from_millis(3)).expect("one");
        for _ in 0..3 {
            std::future::poll_fn(|context| pace.poll_due(context)).await.expect("it rings");
            assert!(pace.take(Instant::now()).is_some());
        }
        assert!(start.elapsed() >= Duration::from_millis(13));
    }
}
