//! `cargo xtask soak`: a gateway with twenty upstreams, clients that check each answer, and a hand
//! that kills, edits and reads slowly meanwhile. Every call is answered, and nothing is left or
//! grows. `test` runs the short form; people give it minutes. It never builds in release form.

pub(crate) mod asking;
mod blows;
mod callers;
pub(crate) mod chance;
mod gate;
mod ledger;
mod limits;
mod report;
mod stage;
mod upstreams;

use std::env;
use std::fs;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::command::{self, cargo};
use crate::failure::Failure;
use asking::{Client, Era};
use gate::{Gate, Taken};
use ledger::{Count, Ledger};
use report::Report;
use stage::Stage;
use upstreams::Programs;

/// What the person wants.
#[derive(Debug, PartialEq, Eq)]
struct Wishes {
    seconds: u64,
    seed: Option<u64>,
    json: bool,
}

/// Runs it, prints what was found, and fails if anything was wrong.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let wishes = parse(arguments)?;
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seed = wishes.seed.unwrap_or_else(|| u64::from(clock.subsec_nanos()));
    eprintln!("soak: repeat it with --seed {seed}");
    let programs = built()?;
    let folder = folder()?;
    let upstreams = upstreams::all(&programs, &folder)?;
    let all = vec![true; upstreams.len()];
    let edits = vec![0; upstreams.len()];
    let (path, text) = (gate::file(&folder), upstreams::file(&upstreams, &all, &edits));
    fs::write(&path, text).map_err(|source| Failure::file(path.display(), source))?;
    let stage = Stage::new(Gate::start(&programs.haft, &folder)?, upstreams);
    let ledger = Ledger::default();
    let looks = go(&stage, &ledger, seed, Duration::from_secs(wishes.seconds));
    let said = stage.gate.said();
    stage.end().stop().into_iter().for_each(|wrong| ledger.wrong(wrong));
    let report = Report { seed, seconds: wishes.seconds, ledger: &ledger, looks: &looks };
    if wishes.json {
        println!("{:#}", report.json());
    } else {
        println!("{}", report.table());
    }
    if ledger.of(Count::Wrong) == 0 {
        // Of one that failed the files are worth reading.
        return fs::remove_dir_all(&folder)
            .map_err(|source| Failure::file(folder.display(), source));
    }
    said.iter().for_each(|line| eprintln!("the gateway said: {line}"));
    ledger.findings().iter().for_each(|finding| eprintln!("{finding}"));
    Err(Failure::Soaked { findings: ledger.of(Count::Wrong), seed })
}

/// Lets everybody act, and looks twice at what the gateway takes: when it is warm, and at last.
fn go(stage: &Stage, ledger: &Ledger, seed: u64, time: Duration) -> Vec<Taken> {
    thread::scope(|threads| {
        for who in 0..limits::CLIENTS {
            let who = u64::try_from(who).expect("they are few");
            threads.spawn(move || callers::call_on(stage, ledger, seed, who));
        }
        for who in 0..limits::SLOW_READERS {
            let who = u64::try_from(who).expect("they are few");
            threads.spawn(move || blows::read_slowly(stage, ledger, seed, who));
        }
        threads.spawn(move || blows::kill(stage, ledger, seed));
        threads.spawn(move || blows::edit(stage, ledger, seed));
        let mut looks = Vec::new();
        watch(ledger, "warms up", limits::WARM_UP);
        looks.extend(look(stage, ledger, None));
        stage.go_on();
        watch(ledger, "soaks", time);
        let first = looks.first().copied();
        looks.extend(look(stage, ledger, first));
        report::failed_reads(ledger).into_iter().for_each(|wrong| ledger.wrong(wrong));
        stage.finish();
        looks
    })
}

/// Time passes; on a terminal one sees how.
fn watch(ledger: &Ledger, what: &str, time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {
        pause(Duration::from_millis(500).min(time));
        if std::io::stderr().is_terminal() {
            let left = time.saturating_sub(began.elapsed()).as_secs();
            let [right, kills, edits, wrong] =
                [Count::Right, Count::Kills, Count::Edits, Count::Wrong].map(|of| ledger.of(of));
            eprint!(
                "\r{what}, {left:>4} s: {right} right, {kills} kills, {edits} edits, {wrong} wrong "
            );
        }
    }
    if std::io::stderr().is_terminal() {
        eprintln!();
    }
}

/// Everybody is quiet, all upstreams are there and answer; what does the gateway take?
fn look(stage: &Stage, ledger: &Ledger, first: Option<Taken>) -> Option<Taken> {
    stage.hush();
    let there = stage.there();
    for at in (0..stage.upstreams.len()).filter(|at| !there.contains(at)) {
        if let Err(why) = stage.edit(at, true) {
            ledger.wrong(why);
        }
    }
    let until = Instant::now() + limits::SETTLE;
    match Client::begin(&stage.gate.address, Era::Modern) {
        Ok(client) => {
            for at in 0..stage.upstreams.len() {
                if !callers::answers(stage, &client, at, until) {
                    ledger.wrong(format!("{} does not answer", stage.upstreams[at].name));
                }
            }
        }
        Err(why) => ledger.wrong(why),
    }
    let until = Instant::now() + limits::SETTLE;
    loop {
        pause(Duration::from_millis(500));
        let taken = match stage.gate.taken() {
            Ok(taken) => taken,
            Err(why) => {
                ledger.wrong(why);
                return None;
            }
        };
        let grown = first.map_or_else(Vec::new, |first| report::grown(&first, &taken));
        let children = stage.children();
        if taken.processes == children && grown.is_empty() {
            return Some(taken);
        }
        if Instant::now() > until {
            grown.into_iter().for_each(|wrong| ledger.wrong(wrong));
            if taken.processes != children {
                let all = stage.gate.children();
                ledger.wrong(format!("{} children, not {children}: {all:?}", taken.processes));
            }
            return Some(taken);
        }
    }
}

/// What `test` has built already is not built again.
fn built() -> Result<Programs, Failure> {
    let packages = ["-p", "haft-cli", "-p", "haft-testkit"];
    command::run(cargo().args(["build", "--bins"]).args(packages))?;
    let us = env::current_exe().map_err(|source| Failure::file("xtask itself", source))?;
    let beside = |name: &str| us.with_file_name(format!("{name}{}", env::consts::EXE_SUFFIX));
    Ok(Programs { haft: beside("haft"), faulty: beside("faulty") })
}

/// An empty folder of its own, in the target folder.
fn folder() -> Result<PathBuf, Failure> {
    let us = env::current_exe().map_err(|source| Failure::file("xtask itself", source))?;
    let target = us.ancestors().nth(2).expect("cargo builds into target/PROFILE");
    let folder = target.join("soak").join(std::process::id().to_string());
    fs::create_dir_all(&folder).map_err(|source| Failure::file(folder.display(), source))?;
    Ok(folder)
}

pub(crate) fn pause_a_bit() {
    pause(Duration::from_millis(10));
}

#[expect(clippy::disallowed_methods, reason = "a thread of a soak has nothing else to do")]
pub(crate) fn pause(time: Duration) {
    thread::sleep(time);
}

fn parse(arguments: &[String]) -> Result<Wishes, Failure> {
    let mut wishes = Wishes { seconds: limits::SECONDS, seed: None, json: false };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|word| word.parse::<u64>().ok());
        let is_understood = match word.as_str() {
            "--json" => {
                wishes.json = true;
                true
            }
            "--seed" => {
                wishes.seed = number();
                wishes.seed.is_some()
            }
            "--minutes" => {
                let minutes = number().filter(|minutes| *minutes > 0);
                wishes.seconds = minutes.unwrap_or_default().saturating_mul(60);
                minutes.is_some()
            }
            _ => false,
        };
        if !is_understood {
            let said = format!("`soak` does not take `{word}`: --minutes N, --seed N, --json");
            return Err(Failure::BadArguments(said));
        }
    }
    Ok(wishes)
}

#[cfg(test)]
mod tests {
    use super::{Wishes, limits, parse};

    fn parsed(text: &str) -> Option<Wishes> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        parse(&words).ok()
    }

    #[test]
    fn minutes_and_a_seed_can_be_given_and_need_not() {
        let short = Wishes { seconds: limits::SECONDS, seed: None, json: false };
        assert_eq!(parsed(""), Some(short));
        let long = Wishes { seconds: 300, seed: Some(7), json: true };
        assert_eq!(parsed("--minutes 5 --seed 7 --json"), Some(long));
        for wrong in ["--minutes", "--minutes 0", "--seed x", "5"] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }
}
