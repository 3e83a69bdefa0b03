//! `cargo xtask bench codec`, `… dispatch`, `… frames` and `… schemas`: what single messages and
//! checks take, each of ours in turns with each of others, on one processor. It builds, measures,
//! keeps and prints; the cases themselves are in `benchmarks/benches`.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde_json::{Value, json};

use super::aim::{Interval, median, round};
use super::pairs::{Pair, Table};
use super::place::Place;
use super::program::{Program, Turn, nanoseconds};
use super::results::Results;
use super::wishes::Wishes;
use super::{facts, memory, single_table};
use crate::failure::Failure;
use crate::{callgrind, command};

/// How often each case of a scenario is timed, and for how long at least, in milliseconds.
const ROUNDS: usize = 20;
const MILLISECONDS: u32 = 30;
/// That everything runs, and not how fast.
const QUICK_ROUNDS: usize = 6;
const QUICK_MILLISECONDS: u32 = 2;

/// Nanoseconds of each round, and instructions.
type Taken = BTreeMap<Turn, (Vec<f64>, Option<u64>)>;

/// Measures.
pub(super) fn run(table: Table, arguments: &[String]) -> Result<(), Failure> {
    let wishes = Wishes::parse_untimed(table.name(), arguments)?;
    let pairs: Vec<Pair> = table.pairs().into_iter().filter(|pair| pair.wanted(&wishes)).collect();
    if pairs.is_empty() {
        let names: Vec<String> = table
            .pairs()
            .iter()
            .map(|pair| format!("{} {}", pair.scenario, pair.against))
            .collect();
        let (name, all) = (table.name(), names.join(", "));
        return Err(Failure::BadArguments(format!("`bench {name}` has {all}")));
    }
    let place = Place::find();
    let programs = programs(&pairs)?;
    let allocations =
        table.allocations().map_or_else(|| Ok(BTreeMap::new()), memory::allocations)?;
    let mut kept = Results::open(table.name(), wishes.quick)?;
    kept.begin(facts::facts(place)?);
    let mut scenarios: Vec<&str> = pairs.iter().map(|pair| pair.scenario).collect();
    scenarios.dedup();
    let mut measured = Vec::new();
    for (at, scenario) in scenarios.iter().enumerate() {
        println!("{} of {}: {scenario}", at + 1, scenarios.len());
        let of: Vec<&Pair> = pairs.iter().filter(|pair| pair.scenario == *scenario).collect();
        let taken = taken(&of, &programs, place, wishes.quick)?;
        for pair in of {
            let mut case = case_of(pair, &taken, &allocations)?;
            case["milliseconds"] = times(wishes.quick).1.into();
            kept.put(case.clone());
            measured.push(case);
        }
        kept.write()?;
    }
    println!("\n{}\n{} has all of it", single_table::of(table, &measured), kept.path().display());
    Ok(())
}

/// Where each program is.
fn programs(pairs: &[Pair]) -> Result<BTreeMap<Program, String>, Failure> {
    let mut paths = BTreeMap::new();
    for program in pairs.iter().flat_map(|pair| [&pair.theirs, &pair.ours]).map(|it| it.program) {
        if let Entry::Vacant(place) = paths.entry(program) {
            place.insert(program.build()?);
        }
    }
    Ok(paths)
}

/// How many rounds there are, and how long each case is timed in one.
const fn times(is_quick: bool) -> (usize, u32) {
    if is_quick { (QUICK_ROUNDS, QUICK_MILLISECONDS) } else { (ROUNDS, MILLISECONDS) }
}

/// Times all cases of a scenario in turns; who begins takes turns too.
fn taken(
    pairs: &[&Pair],
    programs: &BTreeMap<Program, String>,
    place: Place,
    is_quick: bool,
) -> Result<Taken, Failure> {
    let mut all: Vec<&Turn> = pairs.iter().flat_map(|pair| [&pair.theirs, &pair.ours]).collect();
    all.sort();
    all.dedup();
    let (rounds, milliseconds) = times(is_quick);
    let mut taken = Taken::new();
    for _ in 0..rounds {
        for turn in &all {
            let path = &programs[&turn.program];
            let nanos = nanoseconds(&place.server(), path, &turn.case, milliseconds)?;
            taken.entry((*turn).clone()).or_default().0.push(nanos);
        }
        all.rotate_left(1);
    }
    if !is_quick && command::works("valgrind", &["--version"]) {
        for (turn, (_, instructions)) in &mut taken {
            // Without a count, the times are what was measured all the same.
            *instructions = match callgrind::each(&programs[&turn.program], &turn.case) {
                Ok(count) => Some(count),
                Err(failure) => {
                    println!("  no instructions of {}: {failure}", turn.case);
                    None
                }
            };
        }
    }
    Ok(taken)
}

/// A case as it is kept.
fn case_of(
    pair: &Pair,
    taken: &Taken,
    allocations: &BTreeMap<String, u64>,
) -> Result<Value, Failure> {
    let side = |turn: &Turn| {
        let (nanos, instructions) = &taken[turn];
        let mut sorted = nanos.clone();
        sorted.sort_by(f64::total_cmp);
        json!({
            "case": turn.case,
            "median_ns": median(&sorted).map(round),
            "ns": nanos.iter().map(|nanos| round(*nanos)).collect::<Vec<_>>(),
            "instructions": instructions,
            "allocations": allocations.get(&turn.case),
            "bytes": allocations.get(&format!("bytes:{}", turn.case)),
        })
    };
    let (theirs, ours) = (&taken[&pair.theirs].0, &taken[&pair.ours].0);
    let faster = Interval::of(theirs.iter().zip(ours).map(|(of, to)| of / to).collect());
    let faster = faster.ok_or_else(|| Failure::SuiteBroken("no round came to its end".into()))?;
    Ok(json!({
        "scenario": pair.scenario,
        "against": pair.against,
        "aim": pair.aim,
        "versions": pair.versions()?,
        "rounds": theirs.len(),
        "theirs": side(&pair.theirs),
        "haft": side(&pair.ours),
        "ratios": { "time": faster.to_json() },
    }))
}
