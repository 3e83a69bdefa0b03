//! What a pace does to a server behind a wire, in simulated time and from seeds, beside what else
//! it could be. `cargo test -p haft-link --test it pace:: -- --nocapture` prints the table.

mod others;
mod wire;

use std::time::{Duration, Instant};

use haft_link::limits::{PACE_MAX, PACE_MIN, PACE_START};
use haft_link::{Outcome, Pace};
use others::{Gradient, Nothing, Ratio};
use wire::{Limiter, Plan, Seen, Work, run};

impl Limiter for Pace {
    fn try_begin(&mut self) -> bool {
        Self::try_begin(self)
    }

    fn ended(&mut self, now: Instant, took: Duration) {
        Self::ended(self, now, took, Outcome::Answered);
    }

    fn limit(&self) -> usize {
        Self::limit(self)
    }
}

const WORKERS: usize = 20;
const ALL: [Work; 3] = [Work::Constant, Work::Exponential, Work::Bimodal];
const PLAN: Plan = Plan {
    work: Work::Exponential,
    workers: WORKERS,
    load: 2.0,
    lasts: 30.0,
    halved: None,
    detour: None,
    lossy: 0.0,
    seed: 0x5eed_0001,
};

fn paced(plan: Plan) -> Seen {
    run(plan, &mut Pace::new(PACE_MAX))
}

#[test]
fn at_twice_what_a_server_can_do_it_is_busy_and_calls_hardly_wait() {
    for (work, seed) in ALL.into_iter().flat_map(|work| [1, 2, 3].map(|seed| (work, seed))) {
        for lossy in [0.0, 0.01] {
            let plan = Plan { work, lossy, seed, lasts: 20.0, ..PLAN };
            let seen = paced(plan);
            let (busy, waited) = (seen.busy(2.0, 20.0, WORKERS), seen.waited_ms(2.0, 20.0, 0.99));
            assert!(busy >= 0.9, "{plan:?}: {busy}");
            // A call takes 15 ms without a queue.
            assert!(waited <= 45.0, "{plan:?}: {waited} ms");
        }
    }
}

#[test]
fn when_half_of_a_server_goes_and_comes_back_it_is_followed_within_three_seconds() {
    for (work, seed) in ALL.into_iter().flat_map(|work| [1, 2, 3].map(|seed| (work, seed))) {
        let plan = Plan { work, seed, halved: Some((8.0, 16.0)), lasts: 24.0, ..PLAN };
        let seen = paced(plan);
        for (from, until, workers) in [(11.0, 16.0, WORKERS / 2), (19.0, 24.0, WORKERS)] {
            let (busy, waited) =
                (seen.busy(from, until, workers), seen.waited_ms(from, until, 0.99));
            assert!(busy >= 0.9, "{plan:?} from {from} s: {busy}");
            assert!(waited <= 60.0, "{plan:?} from {from} s: {waited} ms");
        }
    }
}

#[test]
fn who_asks_for_less_than_there_is_gets_all_of_it() {
    for (load, seed) in [0.1, 0.5, 0.7].into_iter().flat_map(|load| [1, 2].map(|it| (load, it))) {
        let plan = Plan { load, seed, lasts: 20.0, ..PLAN };
        let (seen, all) = (paced(plan), run(plan, &mut Nothing));
        let busy = [&seen, &all].map(|it| it.busy(2.0, 20.0, WORKERS));
        assert!(busy[0] >= busy[1] * 0.98, "{plan:?}: {busy:?}");
    }
}

#[test]
fn a_longer_route_is_not_taken_for_a_queue_for_ever() {
    for (work, seed) in ALL.into_iter().flat_map(|work| [1, 2, 3].map(|seed| (work, seed))) {
        let plan = Plan { work, seed, detour: Some((8.0, 0.04)), lasts: 24.0, ..PLAN };
        let seen = paced(plan);
        // Looked up every 5 seconds; and then there is some way to grow.
        let (busy, waited) = (seen.busy(15.0, 24.0, WORKERS), seen.waited_ms(15.0, 24.0, 0.99));
        assert!(busy >= 0.9, "{plan:?}: {busy}");
        // A call takes 55 ms without a queue.
        assert!(waited <= 110.0, "{plan:?}: {waited} ms");
    }
}

fn begun(pace: &mut Pace) -> usize {
    (0..=PACE_MAX).take_while(|_| pace.try_begin()).count()
}

fn ended(pace: &mut Pace, now: Instant, took: u64, outcome: Outcome) {
    (0..pace.in_flight()).for_each(|_| pace.ended(now, Duration::from_millis(took), outcome));
}

#[test]
fn no_limit_is_above_the_agents_slots_nor_above_the_most_there_is() {
    for (slots, expected) in [(40, 40), (PACE_MAX, PACE_MAX), (usize::MAX, PACE_MAX), (0, PACE_MIN)]
    {
        let (mut pace, now) = (Pace::new(slots), Instant::now());
        assert_eq!(pace.limit(), PACE_START.min(expected));
        for _ in 0..400 {
            let count = begun(&mut pace);
            assert_eq!(count, pace.limit(), "room for as many as the limit says");
            ended(&mut pace, now, 10, Outcome::Answered);
        }
        assert_eq!(pace.limit(), expected, "{slots}");
    }
}

#[test]
fn calls_that_come_too_late_bring_it_down_to_the_least_and_no_further() {
    let (mut pace, now) = (Pace::new(PACE_MAX), Instant::now());
    for _ in 0..400 {
        assert!(begun(&mut pace) >= PACE_MIN);
        ended(&mut pace, now, 10, Outcome::TooLate);
    }
    assert_eq!(pace.limit(), PACE_MIN);
}

#[test]
fn a_call_that_was_cancelled_says_nothing_of_time_and_leaves_its_place() {
    let (mut pace, now) = (Pace::new(PACE_MAX), Instant::now());
    for took in 0..400 {
        assert_eq!(begun(&mut pace), PACE_START);
        ended(&mut pace, now, took, Outcome::Untold);
        assert_eq!(pace.in_flight(), 0);
    }
    pace.ended(now, Duration::ZERO, Outcome::Untold);
    assert_eq!((pace.in_flight(), pace.limit()), (0, PACE_START), "one that never began");
}

#[test]
fn the_others_waste_a_server_or_fill_its_queue() {
    let plans = [
        ("half", Plan { load: 0.5, ..PLAN }),
        ("full", Plan { load: 1.0, ..PLAN }),
        ("double, constant", Plan { work: Work::Constant, ..PLAN }),
        ("double, exponential", PLAN),
        ("double, bimodal", Plan { work: Work::Bimodal, ..PLAN }),
        ("double, 1% lost", Plan { lossy: 0.01, ..PLAN }),
        ("double, +40 ms at 10 s", Plan { detour: Some((10.0, 0.04)), ..PLAN }),
    ];
    println!("| load | limit by | of capacity | P50 ms waited | P99 ms | limit at the end |");
    println!("| --- | --- | ---: | ---: | ---: | ---: |");
    for (name, plan) in plans {
        let limiters: [(&str, Box<dyn Limiter>); 4] = [
            ("nothing", Box::new(Nothing)),
            ("ratio", Box::new(Ratio::new())),
            ("two averages", Box::new(Gradient::new())),
            ("Pace", Box::new(Pace::new(PACE_MAX))),
        ];
        for (of, mut limiter) in limiters {
            let seen = run(plan, &mut *limiter);
            let (from, until) = (20.0, plan.lasts);
            let (busy, last) = (seen.busy(from, until, WORKERS), seen.waited_ms(from, until, 0.99));
            println!(
                "| {name} | {of} | {:.2} | {:.1} | {:.1} | {} |",
                busy,
                seen.waited_ms(from, until, 0.5),
                last,
                if limiter.limit() == usize::MAX { 0 } else { limiter.limit() },
            );
            if name == "double, exponential" {
                match of {
                    "ratio" => assert!(busy < 0.5, "it is as good"),
                    "Pace" => assert!(busy > 0.9 && last < 45.0, "it is worse"),
                    _ => assert!(last > 450.0, "it is as good"),
                }
            }
        }
    }
}
