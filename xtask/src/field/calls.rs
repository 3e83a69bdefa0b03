//! `cargo xtask field calls`: what becomes of many calls while the wire is cut now and then, by a
//! seed. Each writes down at the agent that it ran, and each caller what it was told; then the two
//! are compared. A call that ran twice, or was told of twice, is what must not be.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::agent::{Agent, NAME, ONCE};
use super::asking::{Caller, Told};
use super::ground::Far;
use super::hub::Hub;
use super::wire::{NEAR, Way, Wire};
use super::{Tools, Wishes, limits};
use crate::failure::Failure;
use crate::soak::chance::Chance;
use crate::soak::{pause, pause_a_bit};

/// What a caller was told of each call that has no answer.
#[derive(Default)]
struct Ledger {
    answered: AtomicU64,
    /// By what was called, and why.
    unanswered: Mutex<HashMap<String, String>>,
    wrong: Mutex<Vec<String>>,
}

/// What became of all of them.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    asked: u64,
    ran_once: u64,
    ran_twice: u64,
    answered_once: u64,
    never_begun: u64,
    lost: u64,
    answered_twice: u64,
}

/// The words of a call that was not begun; of all others nobody knows.
const NOT_BEGUN: &str = "the request did not get there";

pub(super) fn run(tools: &Tools, wishes: &Wishes) -> Result<(), Failure> {
    let far = Far::new()?;
    let wire = Wire::lay(&tools.field, &far, Way { delay_ms: 0, loss_per_mille: 0, seed: 1 })?;
    let upstreams = json!({ NAME: { "agent": NAME } });
    let hub = Hub::start(&tools.haft, &tools.folder, &upstreams, NEAR, &[])?;
    let mut agent = Agent::new(tools)?;
    agent.start(&far, &hub, &["--join", &hub.token(NAME)?])?;
    let caller = Caller::new(hub.address())?;
    let began = Instant::now();
    while !caller.tools().map_err(Failure::Disproved)?.iter().any(|tool| tool == ONCE) {
        if began.elapsed() > limits::START {
            return Err(Failure::Disproved("the agent does not come".to_owned()));
        }
        pause_a_bit();
    }
    let (ledger, began) = (Ledger::default(), Instant::now());
    let cuts = call_all(&hub, &wire, wishes, &ledger)?;
    let took = began.elapsed();
    let wrong = ledger.wrong.into_inner().unwrap_or_else(PoisonError::into_inner);
    let unanswered = ledger.unanswered.into_inner().unwrap_or_else(PoisonError::into_inner);
    let answered = ledger.answered.into_inner();
    let (counts, why) = judge(wishes.calls, answered, &wrong, &unanswered, &agent.ran());
    println!("{}", counts.table());
    let links = hub.said("has ended");
    println!("seed {}: {cuts} cuts in {:.1} s", wishes.seed, took.as_secs_f64());
    println!("{links} links ended, {} over TCP; {}", agent.said("over TCP,"), wire.count());
    reasons(&unanswered).iter().for_each(|line| println!("{line}"));
    match wrong.into_iter().chain(why).next() {
        None => Ok(()),
        Some(why) => {
            hub.log().iter().for_each(|line| eprintln!("the gateway said: {line}"));
            agent.log().iter().for_each(|line| eprintln!("the agent said: {line}"));
            Err(Failure::Disproved(why))
        }
    }
}

/// Makes all calls while the wire is cut; how often it was.
fn call_all(hub: &Hub, wire: &Wire, wishes: &Wishes, ledger: &Ledger) -> Result<u64, Failure> {
    let (next, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|threads| {
        let cutter = threads.spawn(|| cut(wire, wishes, &is_over));
        let callers: Vec<_> = (0..limits::CALLERS)
            .map(|who| {
                let (next, chance) = (&next, Chance::new(wishes.seed, who));
                threads.spawn(move || call_on(hub, wishes.calls, next, chance, ledger))
            })
            .collect();
        let all: Vec<_> = callers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::SeqCst);
        let panicked = |_| Failure::Disproved("a caller panicked".to_owned());
        let cuts = cutter.join().map_err(panicked)?;
        for one in all {
            one.map_err(panicked)??;
        }
        Ok(cuts)
    })
}

/// Cuts the wire and heals it, until the end.
fn cut(wire: &Wire, wishes: &Wishes, is_over: &AtomicBool) -> u64 {
    let (mut chance, mut cuts) = (Chance::new(wishes.seed, limits::CALLERS), 0);
    while !is_over.load(Ordering::SeqCst) {
        pause(Duration::from_millis(chance.below(limits::WHOLE_MS)));
        let is_long = cuts % limits::LONG_EVERY == limits::LONG_FIRST;
        let time = if is_long { limits::LONG_CUT_MS } else { chance.below(limits::CUT_MS) };
        let began = Instant::now();
        wire.cut();
        while began.elapsed() < Duration::from_millis(time) && !is_over.load(Ordering::SeqCst) {
            pause_a_bit();
        }
        wire.heal();
        cuts += 1;
    }
    cuts
}

/// Makes calls, each of which is another, until all are made.
fn call_on(
    hub: &Hub,
    calls: u64,
    next: &AtomicU64,
    mut chance: Chance,
    ledger: &Ledger,
) -> Result<(), Failure> {
    let caller = Caller::new(hub.address())?;
    loop {
        let id = next.fetch_add(1, Ordering::Relaxed);
        if id >= calls {
            return Ok(());
        }
        let (text, wait) = (format!("call-{id}"), chance.below(limits::RUN_MS));
        let is_long = chance.below(100) < limits::LONG_PER_CENT;
        let more = if is_long { limits::LONG_LETTERS } else { 0 };
        let arguments = json!({ "text": text, "wait_ms": wait, "more": more });
        match caller.call(id, ONCE, &arguments) {
            Told::Answered(told) => {
                let rest = told.strip_prefix(&text).map(|rest| rest.len() as u64);
                if rest != Some(more) {
                    let start: String = told.chars().take(60).collect();
                    keep(&ledger.wrong, format!("{text} was answered with {start:?}"));
                }
                ledger.answered.fetch_add(1, Ordering::Relaxed);
            }
            Told::Refused(why) => {
                let mut all = ledger.unanswered.lock().unwrap_or_else(PoisonError::into_inner);
                all.insert(text, why);
                drop(all);
                pause(limits::REFUSED);
            }
            Told::Silence(why) => keep(&ledger.wrong, format!("{text} was told nothing: {why}")),
            Told::Twice => keep(&ledger.wrong, format!("{TWICE}: {text}")),
        }
    }
}

/// What is said of a call with two answers.
const TWICE: &str = "answered twice";

fn keep(all: &Mutex<Vec<String>>, what: String) {
    all.lock().unwrap_or_else(PoisonError::into_inner).push(what);
}

/// Compares what callers were told with what ran; what is not right about it.
fn judge(
    asked: u64,
    answered_once: u64,
    wrong: &[String],
    unanswered: &HashMap<String, String>,
    ran: &HashMap<String, u64>,
) -> (Counts, Option<String>) {
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let is_begun = |why: &str| !why.contains(NOT_BEGUN);
    let never_begun = count(unanswered.values().filter(|why| !is_begun(why)).count());
    let counts = Counts {
        asked,
        ran_once: count(ran.values().filter(|times| **times == 1).count()),
        ran_twice: count(ran.values().filter(|times| **times > 1).count()),
        answered_once,
        never_begun,
        lost: count(unanswered.len()) - never_begun,
        answered_twice: count(wrong.iter().filter(|what| what.starts_with(TWICE)).count()),
    };
    let begun = unanswered.iter().find(|(text, why)| !is_begun(why) && ran.contains_key(*text));
    let answered_and_ran =
        counts.ran_once - count(unanswered.keys().filter(|text| ran.contains_key(*text)).count());
    let why = if counts.ran_twice > 0 || counts.answered_twice > 0 {
        Some("a call was made twice, or told of twice".to_owned())
    } else if let Some((text, why)) = begun {
        Some(format!("{text} ran, and was said not to have begun: {why}"))
    } else if counts.answered_once + count(unanswered.len()) != asked {
        Some("a call was neither answered nor said to be lost".to_owned())
    } else if answered_and_ran != counts.answered_once {
        Some(format!("{answered_and_ran} ran of those that were answered"))
    } else {
        None
    };
    (counts, why)
}

/// Why calls were not answered, and how many for each reason. Times differ, and are left out.
fn reasons(unanswered: &HashMap<String, String>) -> Vec<String> {
    let mut reasons = HashMap::<String, u64>::new();
    for why in unanswered.values() {
        let plain = why.chars().filter(|letter| !letter.is_ascii_digit()).collect();
        *reasons.entry(plain).or_default() += 1;
    }
    let mut lines: Vec<_> = reasons.into_iter().map(|(why, n)| format!("{n:>8} × {why}")).collect();
    lines.sort_unstable();
    lines
}

impl Counts {
    fn table(&self) -> String {
        let rows = [
            ("asked", self.asked),
            ("ran once", self.ran_once),
            ("ran twice", self.ran_twice),
            ("answered once", self.answered_once),
            ("answered twice", self.answered_twice),
            ("refused, never begun", self.never_begun),
            ("reported lost", self.lost),
        ];
        rows.map(|(what, count)| format!("{what:<24}  {count:>9}")).join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, NOT_BEGUN, TWICE, judge};
    use std::collections::HashMap;

    fn ran(all: &[(&str, u64)]) -> HashMap<String, u64> {
        all.iter().map(|(text, times)| ((*text).to_owned(), *times)).collect()
    }

    #[test]
    fn what_was_told_is_compared_with_what_ran() {
        let told = |all: &[(&str, &str)]| -> HashMap<String, String> {
            all.iter().map(|(text, why)| ((*text).to_owned(), (*why).to_owned())).collect()
        };
        let lost = told(&[("c", "lost"), ("d", "lost"), ("e", NOT_BEGUN)]);
        let (counts, why) = judge(5, 2, &[], &lost, &ran(&[("a", 1), ("b", 1), ("c", 1)]));
        let expected = Counts {
            asked: 5,
            ran_once: 3,
            ran_twice: 0,
            answered_once: 2,
            never_begun: 1,
            lost: 2,
            answered_twice: 0,
        };
        assert_eq!((counts, why), (expected, None));
        let none = HashMap::new();
        let twice = [format!("{TWICE}: a")];
        for (asked, answered, wrong, unanswered, ran) in [
            (1, 1, &[][..], &none, ran(&[("a", 2)])),
            (1, 0, &twice[..], &none, ran(&[("a", 1)])),
            (1, 0, &[], &told(&[("a", NOT_BEGUN)]), ran(&[("a", 1)])),
            (2, 1, &[], &none, ran(&[("a", 1)])),
            (1, 1, &[], &none, ran(&[])),
        ] {
            let (counts, why) = judge(asked, answered, wrong, unanswered, &ran);
            assert!(why.is_some(), "{counts:?}");
        }
    }
}
