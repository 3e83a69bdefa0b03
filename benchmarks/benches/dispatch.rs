//! A call of a typed tool from its bytes to the bytes of its answer, in both eras; and how a name
//! becomes a tool: as the registry looks it up, beside other ways. What pforge takes for the same
//! call is told by `benchmarks/pforge-dispatch`.
//! `cargo bench -p haft-benchmarks --bench dispatch`, with `-- --instructions` for counts of
//! instructions in place of times.

#![expect(clippy::print_stdout, reason = "a benchmark says what it measured")]

use divan::{AllocProfiler, Bencher, black_box};
use haft_benchmarks::instructions::{self, Wish};
use haft_benchmarks::{LEGACY_CALL, MODERN_CALL, answer};
use haft_proto::limits::Limits;
use haft_server::Server;
use phf_generator::HashState;
use rustc_hash::FxHashMap;
use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

const CALLS: [(&str, &str); 2] = [("legacy", LEGACY_CALL), ("modern", MODERN_CALL)];
const WAYS: [&str; 4] = ["fx", "std", "phf", "sorted"];
const SIZES: [usize; 4] = [2, 16, 130, 1000];
const ANSWER_BYTES: usize = 1 << 16;

/// The tool of the messages.
#[haft::tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() -> Result<(), Box<dyn Error>> {
    match instructions::wish() {
        Wish::Run(case, times) => run(&case, times),
        Wish::Instructions => tell_instructions()?,
        Wish::Times => divan::main(),
    }
    Ok(())
}

fn run(case: &str, times: u32) {
    if let Some((way, size)) = case.split_once('/') {
        let table = Table::new(way, size.parse().expect("a number"));
        for turn in 0..times as usize {
            black_box(table.find(black_box(&table.names[turn % table.names.len()])));
        }
        return;
    }
    let (server, limits) = (server(), Limits::default());
    let mut out = Vec::with_capacity(ANSWER_BYTES);
    for _ in 0..times {
        out.clear();
        assert!(answer(&server, &limits, black_box(call(case)), &mut out));
    }
}

fn tell_instructions() -> Result<(), Box<dyn Error>> {
    println!("instructions of one call");
    for (name, _) in CALLS {
        println!("{name:<10} {:>8}", instructions::of(name)?);
    }
    println!("instructions of one look-up");
    println!("{:<10}{}", "names", WAYS.map(|way| format!("{way:>8}")).concat());
    for size in SIZES {
        let mut line = format!("{size:<10}");
        for way in WAYS {
            line += &format!("{:>8}", instructions::of(&format!("{way}/{size}"))?);
        }
        println!("{line}");
    }
    Ok(())
}

fn server() -> Server {
    haft::server("bench", "1.0.0").tool(add::tool()).build().expect("the tool is right")
}

fn call(name: &str) -> &'static [u8] {
    let found = CALLS.iter().find(|known| known.0 == name);
    found.expect("one of them").1.as_bytes()
}

#[divan::bench(args = CALLS.map(|(name, _)| name))]
fn bytes_to_bytes(bencher: Bencher<'_, '_>, name: &str) {
    let (server, limits) = (server(), Limits::default());
    let mut out = Vec::with_capacity(ANSWER_BYTES);
    bencher.bench_local(|| {
        out.clear();
        assert!(answer(&server, &limits, black_box(call(name)), &mut out));
        out.len()
    });
}

#[divan::bench(args = SIZES, consts = [0, 1, 2, 3])]
fn look_up<const WAY: usize>(bencher: Bencher<'_, '_>, size: usize) {
    let (table, mut turn) = (Table::new(WAYS[WAY], size), 0);
    bencher.bench_local(|| {
        turn = (turn + 1) % size;
        table.find(black_box(&table.names[turn]))
    });
}

/// Names, and one way to find one.
struct Table {
    names: Vec<String>,
    way: Way,
}

enum Way {
    /// As the registry has it.
    Fx(FxHashMap<Arc<str>, usize>),
    Std(HashMap<Arc<str>, usize>),
    /// A perfect hash, made when the names are known.
    Phf(HashState, Vec<Arc<str>>),
    Sorted(Vec<(Arc<str>, usize)>),
}

impl Table {
    fn new(way: &str, size: usize) -> Self {
        let verbs = ["get", "list", "create", "delete", "search", "update"];
        let name = |number: usize| format!("{}_thing_{number}", verbs[number % verbs.len()]);
        let names: Vec<String> = (0..size).map(name).collect();
        let numbered = names.iter().enumerate().map(|(index, name)| (name.as_str().into(), index));
        let way = match way {
            "fx" => Way::Fx(numbered.collect()),
            "std" => Way::Std(numbered.collect()),
            "phf" => {
                let state = phf_generator::generate_hash(&names);
                let ordered = state.map.iter().map(|index| names[*index].as_str().into());
                let ordered = ordered.collect();
                Way::Phf(state, ordered)
            }
            "sorted" => {
                let mut all: Vec<_> = numbered.collect();
                all.sort();
                Way::Sorted(all)
            }
            _ => panic!("there is no way `{way}`"),
        };
        let table = Self { names, way };
        for name in &table.names {
            assert!(table.find(name).is_some(), "{name}");
        }
        assert_eq!(table.find("no_such_thing"), None);
        table
    }

    fn find(&self, name: &str) -> Option<usize> {
        match &self.way {
            Way::Fx(map) => map.get(name).copied(),
            Way::Std(map) => map.get(name).copied(),
            Way::Phf(state, names) => {
                let hashes = phf_shared::hash(name, &state.key);
                let index = phf_shared::get_index(&hashes, &state.disps, names.len()) as usize;
                (*names[index] == *name).then(|| state.map[index])
            }
            Way::Sorted(all) => {
                let place = all.binary_search_by(|(known, _)| (**known).cmp(name)).ok()?;
                Some(all[place].1)
            }
        }
    }
}
