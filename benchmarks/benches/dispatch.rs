//! A call of a typed tool from the bytes of the message to the bytes of its answer, in both eras;
//! and how a name becomes a tool: as the registry looks it up, beside other ways. What pforge takes
//! for the same call is told by `benchmarks/pforge-dispatch`.
//! `cargo xtask bench dispatch` sets all of them beside each other, in turns; `cargo bench -p
//! haft-benchmarks --bench dispatch` times ours. What they allocate is counted by the test
//! `allocations`, as a counter would be in the way of times.

use divan::{Bencher, black_box};
use haft_benchmarks::cases::{self, Turns};
use haft_benchmarks::{LEGACY_CALL, MODERN_CALL, answer};
use haft_proto::limits::Limits;
use haft_server::Server;
use phf_generator::HashState;
use rustc_hash::FxHashMap;
use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;

const CALLS: [(&str, &str); 2] =
    [("haft_legacy_message", LEGACY_CALL), ("haft_modern_message", MODERN_CALL)];
const WAYS: [&str; 4] = ["fx", "std", "phf", "sorted"];
const SIZES: [usize; 4] = [2, 16, 130, 1000];
const ANSWER_BYTES: usize = 1 << 16;

/// The tool of the messages.
#[haft::tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() -> Result<(), Box<dyn Error>> {
    if !cases::asked(prepared)? {
        divan::main();
    }
    Ok(())
}

/// A case is one of `CALLS`, or WAY/SIZE.
fn prepared(case: &str) -> Turns {
    if let Some((way, size)) = case.split_once('/') {
        let table = Table::new(way, size.parse().expect("a number"));
        let mut turn = 0;
        return Box::new(move |times| {
            for _ in 0..times {
                turn = (turn + 1) % table.names.len();
                black_box(table.find(black_box(&table.names[turn])));
            }
        });
    }
    let (server, limits, call) = (server(), Limits::default(), call(case));
    let mut out = Vec::with_capacity(ANSWER_BYTES);
    assert!(answer(&server, &limits, call, &mut out));
    assert!(haft_benchmarks::is_sum(&out), "{}", String::from_utf8_lossy(&out));
    Box::new(move |times| {
        for _ in 0..times {
            out.clear();
            assert!(answer(&server, &limits, black_box(call), &mut out));
        }
    })
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
