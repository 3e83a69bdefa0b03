//! A server with workers and a queue behind a wire, in a time of its own. `mod.rs` sends it calls
//! through whatever limits them; it limits nothing and knows no real clock.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::{Duration, Instant};

/// What decides whether a call may begin.
pub(super) trait Limiter {
    fn try_begin(&mut self) -> bool;
    fn ended(&mut self, now: Instant, took: Duration);
    fn limit(&self) -> usize;
}

/// How long the work of a call takes; all have a mean of about 10 ms.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    Constant,
    Exponential,
    /// One of 20 takes 20 times as long.
    Bimodal,
}

/// What happens; seconds throughout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) work: Work,
    pub(super) workers: usize,
    /// Calls offered, as a part of what all workers can do.
    pub(super) load: f64,
    pub(super) lasts: f64,
    /// From when until when half of the workers are gone.
    pub(super) halved: Option<(f64, f64)>,
    /// From when on each call takes so much longer on its way.
    pub(super) detour: Option<(f64, f64)>,
    /// The part of calls that take 200 ms more.
    pub(super) lossy: f64,
    pub(super) seed: u64,
}

/// What came of it, from `from` on.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// When each call was done, how long it waited for a worker, and the limit then.
    pub(super) done: Vec<(f64, f64, usize)>,
}

const WAY: f64 = 0.005;
pub(super) const WORK: f64 = 0.010;

#[derive(Clone, Copy, Debug)]
enum What {
    Offered,
    AtServer,
    Done,
    Workers(usize),
}

/// When, which of those, what, when the call began, and how long it waited; in nanoseconds.
type Event = Reverse<(u64, u64, usize)>;

struct Wire {
    plan: Plan,
    events: BinaryHeap<Event>,
    told: Vec<(What, f64, f64)>,
    queue: VecDeque<(f64, f64)>,
    busy: usize,
    workers: usize,
    random: u64,
}

/// Runs it.
pub(super) fn run(plan: Plan, limiter: &mut dyn Limiter) -> Seen {
    let origin = Instant::now();
    let (mut seen, mut wire) = (Seen::default(), Wire::of(plan));
    while let Some(Reverse((nanos, _, index))) = wire.events.pop() {
        let (at, (what, began, waited)) = (nanos as f64 / 1e9, wire.told[index]);
        if at > plan.lasts {
            break;
        }
        match what {
            What::Offered => {
                if limiter.try_begin() {
                    let way = wire.way(at);
                    wire.tell(at + way, What::AtServer, at, 0.0);
                }
                let gap = wire.exponential() * WORK / (plan.load * plan.workers as f64);
                wire.tell(at + gap, What::Offered, 0.0, 0.0);
            }
            What::AtServer => wire.queue.push_back((began, at)),
            What::Workers(count) => wire.workers = count,
            What::Done => {
                wire.busy -= 1;
                let now = origin + Duration::from_nanos(nanos);
                limiter.ended(now, Duration::from_secs_f64(at - began));
                seen.done.push((at, waited, limiter.limit()));
            }
        }
        wire.serve(at);
    }
    seen
}

impl Wire {
    fn of(plan: Plan) -> Self {
        let mut wire = Self {
            plan,
            events: BinaryHeap::new(),
            told: Vec::new(),
            queue: VecDeque::new(),
            busy: 0,
            workers: plan.workers,
            random: plan.seed,
        };
        wire.tell(0.0, What::Offered, 0.0, 0.0);
        if let Some((from, until)) = plan.halved {
            wire.tell(from, What::Workers(plan.workers / 2), 0.0, 0.0);
            wire.tell(until, What::Workers(plan.workers), 0.0, 0.0);
        }
        wire
    }

    fn tell(&mut self, at: f64, what: What, began: f64, waited: f64) {
        let index = self.told.len();
        self.told.push((what, began, waited));
        self.events.push(Reverse(((at * 1e9) as u64, index as u64, index)));
    }

    fn serve(&mut self, at: f64) {
        while self.busy < self.workers {
            let Some((began, arrived)) = self.queue.pop_front() else { return };
            self.busy += 1;
            let work = self.work();
            self.tell(at + work, What::Done, began, at - arrived);
        }
    }

    fn way(&mut self, at: f64) -> f64 {
        let detour = self.plan.detour.filter(|(from, _)| at >= *from).map_or(0.0, |it| it.1);
        let lost = if self.uniform() < self.plan.lossy { 0.2 } else { 0.0 };
        WAY + detour + lost
    }

    fn work(&mut self) -> f64 {
        match self.plan.work {
            Work::Constant => WORK,
            Work::Exponential => WORK * self.exponential(),
            Work::Bimodal => {
                let is_long = self.uniform() < 0.05;
                WORK / 1.95 * if is_long { 20.0 } else { 1.0 }
            }
        }
    }

    fn exponential(&mut self) -> f64 {
        -(1.0 - self.uniform()).ln()
    }

    /// From 0 until 1: xorshift of 64 bits.
    fn uniform(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as f64 / (1_u64 << 53) as f64
    }
}

impl Seen {
    /// Calls a second within that time, as a part of what so many workers can do.
    pub(super) fn busy(&self, from: f64, until: f64, workers: usize) -> f64 {
        let count = self.within(from, until).count();
        count as f64 * WORK / ((until - from) * workers as f64)
    }

    /// How long one in a hundred, or in two, waited at least, in milliseconds.
    pub(super) fn waited_ms(&self, from: f64, until: f64, part: f64) -> f64 {
        let mut waits: Vec<f64> = self.within(from, until).map(|it| it.1 * 1e3).collect();
        waits.sort_by(f64::total_cmp);
        waits.get((waits.len() as f64 * part) as usize).copied().unwrap_or_default()
    }

    fn within(&self, from: f64, until: f64) -> impl Iterator<Item = &(f64, f64, usize)> {
        self.done.iter().filter(move |it| it.0 >= from && it.0 < until)
    }
}
