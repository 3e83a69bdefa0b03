//! What single messages and checks are set beside, and how far haft means to get: the table of
//! Reach for `codec`, `dispatch`, `frames` and `schemas`. The other modules go through it; nothing
//! is run here.

use serde_json::{Map, Value};

use super::program::{Program, Turn};
use super::server::version_in;
use super::wishes::Wishes;
use crate::failure::Failure;

/// Which table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Codec,
    Dispatch,
    Frames,
    Schemas,
}

/// One of ours and one of theirs.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) scenario: &'static str,
    pub(super) against: &'static str,
    pub(super) theirs: Turn,
    pub(super) ours: Turn,
    /// How many times as fast haft is to be.
    pub(super) aim: Option<f64>,
    /// What theirs is made of: where its version stands, and its name there.
    made_of: &'static [(&'static str, &'static str)],
}

/// The messages of `benches/codec.rs`, and what people call them.
const MESSAGES: [(&str, &str); 5] = [
    ("legacy_request", "a request, `tools/call` of 2025-11-25"),
    ("modern_request", "a request, `tools/call` of 2026-07-28"),
    ("notification", "a notification"),
    ("response", "a response"),
    ("error", "an error"),
];
const LOCK: &str = "Cargo.lock";
/// Its other readers: what they are, how far haft means to be ahead, and the package.
const READERS: [(&str, &str, Option<f64>, &str); 5] = [
    ("dom_twice", "serde_json, a DOM twice", Some(5.0), "serde_json"),
    ("dom_once", "serde_json, a DOM once", None, "serde_json"),
    ("serde_once", "serde_json, one pass into a struct", Some(1.5), "serde_json"),
    ("sonic", "sonic-rs, one pass into a struct", None, "sonic-rs"),
    ("simd", "simd-json, a borrowed DOM", None, "simd-json"),
];

/// The calls of `benches/dispatch.rs`, and what they are.
const CALLS: [(&str, &str, &str); 2] = [
    ("legacy", "haft_legacy_message", "message bytes in → bytes out, typed `add`, 2025-11-25"),
    ("modern", "haft_modern_message", "message bytes in → bytes out, typed `add`, 2026-07-28"),
];
const PFORGE: (&str, &str) = ("benchmarks/pforge-dispatch/Cargo.toml", "pforge-runtime =");
const PMCP: (&str, &str) = ("benchmarks/pforge-dispatch/Cargo.toml", "pmcp =");

/// What is done with the messages of `benches/frames.rs`.
const FRAMES: [(&str, &str); 8] = [
    ("read_request_200", "a request with 200 bytes of JSON, read"),
    ("write_request_200", "a request with 200 bytes of JSON, written"),
    ("read_request_4k", "a request with 4 KiB of JSON, read"),
    ("write_request_4k", "a request with 4 KiB of JSON, written"),
    ("read_response", "a response with 1 KiB of JSON, read"),
    ("write_response", "a response with 1 KiB of JSON, written"),
    ("read_credit", "credit, read"),
    ("write_credit", "credit, written"),
];
/// Its other codecs, as `READERS`. Without a package it is a layout of fixed places.
const CODECS: [(&str, &str, Option<f64>, &str); 5] = [
    ("prost", "prost, messages and buffers of their own", Some(2.0), "prost"),
    ("prost_warm", "prost, the message and buffer of before", None, "prost"),
    ("msgpack", "MessagePack, borrowed, the buffer of before", None, "rmp-serde"),
    ("json", "JSON, raw values, the buffer of before", None, "serde_json"),
    ("raw", "fixed places, the buffer of before", None, ""),
];

/// Other ways to find a name.
const WAYS: [(&str, &str); 3] =
    [("std", "std's map, SipHash"), ("phf", "a perfect hash"), ("sorted", "a sorted list")];

const CHECK: &str = "arguments of eight properties";

impl Table {
    pub(super) const ALL: [Self; 4] = [Self::Codec, Self::Dispatch, Self::Frames, Self::Schemas];

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.name() == name)
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Codec => "codec",
            Self::Dispatch => "dispatch",
            Self::Frames => "frames",
            Self::Schemas => "schemas",
        }
    }

    /// The test that counts what its cases allocate.
    pub(super) const fn allocations(self) -> Option<&'static str> {
        match self {
            Self::Codec => Some("readings"),
            Self::Frames => Some("frame_codecs"),
            Self::Dispatch | Self::Schemas => None,
        }
    }

    /// All pairs, those of a scenario side by side.
    pub(super) fn pairs(self) -> Vec<Pair> {
        match self {
            Self::Codec => codec(),
            Self::Dispatch => dispatch(),
            Self::Frames => frames(),
            Self::Schemas => schemas(),
        }
    }

    /// What people call a scenario and what it is set beside.
    pub(super) fn titles(self, scenario: &str, against: &str) -> Option<(String, String)> {
        let first = |all: &[(&'static str, &'static str)], name: &str| {
            all.iter().find(|known| known.0 == name).map(|known| known.1.to_owned())
        };
        match self {
            Self::Codec => {
                let reader = READERS.iter().find(|known| known.0 == against)?;
                Some((first(&MESSAGES, scenario)?, reader.1.to_owned()))
            }
            Self::Dispatch if scenario == "look-up" => {
                Some(("one name of 130, FxHash".to_owned(), first(&WAYS, against)?))
            }
            Self::Dispatch => {
                let call = CALLS.iter().find(|known| known.0 == scenario)?;
                let what = match (against, scenario) {
                    ("registry", _) => "its registry alone: argument bytes in → result bytes out",
                    (_, "legacy") => "the same message through pforge and pmcp",
                    // They do not read the modern one.
                    _ => "the message of 2025-11-25 through pforge and pmcp",
                };
                Some((call.2.to_owned(), what.to_owned()))
            }
            Self::Frames => {
                let codec = CODECS.iter().find(|known| known.0 == against)?;
                Some((first(&FRAMES, scenario)?, codec.1.to_owned()))
            }
            Self::Schemas => {
                let what = match against {
                    "value" => "on a `Value` that is there",
                    _ => "on the text, parsed first",
                };
                Some((CHECK.to_owned(), format!("jsonschema, {what}")))
            }
        }
    }
}

fn codec() -> Vec<Pair> {
    let turn = |case| Turn { program: Program::Bench("codec"), case };
    let of = |(scenario, _): (&'static str, &'static str)| {
        READERS.map(|(against, _, aim, package)| Pair {
            scenario,
            against,
            theirs: turn(format!("{against}/{scenario}")),
            ours: turn(format!("ours/{scenario}")),
            aim,
            made_of: match package {
                "sonic-rs" => &[(LOCK, "name = \"sonic-rs\"")],
                "simd-json" => &[(LOCK, "name = \"simd-json\"")],
                _ => &[(LOCK, "name = \"serde_json\"")],
            },
        })
    };
    MESSAGES.into_iter().flat_map(of).collect()
}

fn dispatch() -> Vec<Pair> {
    let ours = |case: &str| Turn { program: Program::Bench("dispatch"), case: case.to_owned() };
    let theirs = |case: &str| Turn { program: Program::Pforge, case: case.to_owned() };
    let call = |(scenario, case, _): (&'static str, &'static str, &'static str)| {
        let pair = |against, of: &str, aim, made_of| Pair {
            scenario,
            against,
            theirs: theirs(of),
            ours: ours(case),
            aim: Some(aim),
            made_of,
        };
        [
            pair("registry", "registry_alone", 1.0, &[PFORGE]),
            pair("pmcp", "pmcp_message", 30.0, &[PFORGE, PMCP]),
        ]
    };
    let way = |(against, _): (&'static str, &'static str)| Pair {
        scenario: "look-up",
        against,
        theirs: ours(&format!("{against}/130")),
        ours: ours("fx/130"),
        aim: None,
        made_of: &[],
    };
    CALLS.into_iter().flat_map(call).chain(WAYS.into_iter().map(way)).collect()
}

fn frames() -> Vec<Pair> {
    let turn = |case| Turn { program: Program::Bench("frames"), case };
    let of = |(scenario, _): (&'static str, &'static str)| {
        CODECS.map(|(against, _, aim, package)| Pair {
            scenario,
            against,
            theirs: turn(format!("{against}/{scenario}")),
            ours: turn(format!("ours/{scenario}")),
            aim,
            made_of: match package {
                "prost" => &[(LOCK, "name = \"prost\"")],
                "rmp-serde" => &[(LOCK, "name = \"rmp-serde\"")],
                "serde_json" => &[(LOCK, "name = \"serde_json\"")],
                _ => &[],
            },
        })
    };
    FRAMES.into_iter().flat_map(of).collect()
}

fn schemas() -> Vec<Pair> {
    let turn = |case: &str| Turn { program: Program::Bench("schemas"), case: case.to_owned() };
    let pair = |against, case, aim| Pair {
        scenario: "check",
        against,
        theirs: turn(case),
        ours: turn("ours_of_text"),
        aim,
        made_of: &[(LOCK, "name = \"jsonschema\"")],
    };
    vec![pair("value", "jsonschema_of_value", Some(5.0)), pair("text", "jsonschema_of_text", None)]
}

impl Pair {
    pub(super) fn wanted(&self, wishes: &Wishes) -> bool {
        wishes.want(self.scenario, self.against)
    }

    /// The versions of what theirs is made of, by package.
    pub(super) fn versions(&self) -> Result<Value, Failure> {
        let mut versions = Map::new();
        for (path, package) in self.made_of {
            let name = package.trim_start_matches("name = ").trim_matches(['"', ' ', '=']);
            versions.insert(name.to_owned(), version_in(path, package)?.into());
        }
        Ok(versions.into())
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn every_pair_has_a_name_and_words_of_its_own() {
        for table in Table::ALL {
            assert_eq!(Table::named(table.name()), Some(table));
            let mut names: Vec<_> =
                table.pairs().iter().map(|pair| (pair.scenario, pair.against)).collect();
            for (scenario, against) in &names {
                assert!(table.titles(scenario, against).is_some(), "{scenario} {against}");
            }
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count, "a case would take another's place");
        }
        assert_eq!(Table::Codec.titles("error", "nobody"), None);
        let theirs = Table::Dispatch.titles("modern", "pmcp").expect("a pair").1;
        assert!(theirs.contains("2025-11-25"), "it is asked another message: {theirs}");
    }
}
