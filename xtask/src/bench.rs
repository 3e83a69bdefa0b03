//! `cargo xtask bench`: the benchmarks of this repository, and haft beside its peers and the limits
//! of the machine. People and `test` call it; it never judges a number.

mod aim;
mod answers;
pub(crate) mod build;
mod comparing;
pub(crate) mod facts;
mod faults;
mod gateway;
mod links;
mod measure;
mod memory;
pub(crate) mod pages;
mod pairs;
mod place;
mod program;
mod reach;
mod record;
mod results;
pub(crate) mod running;
mod scenario;
mod server;
mod shell;
mod shown;
mod single;
mod single_table;
mod table;
mod wishes;

use std::path::Path;

use crate::command;
use crate::failure::Failure;
use aim::Interval;
use pairs::Table;
use place::Place;
use server::Group;

/// What a server's words begin with, so that it has a processor for itself.
pub(crate) fn on_server_core() -> Vec<String> {
    Place::find().server()
}

/// Words as they can be typed.
pub(crate) fn typed(words: &[String]) -> String {
    shell::line(words)
}

/// How many times as many answers a second the other server of a comparison gives, and how much
/// processor time it takes for one, each with between which that is; `words` are those that this
/// `haft bench` is told.
pub(crate) fn compared(haft: &str, words: &[&str]) -> Result<[String; 2], Failure> {
    let mut all = Place::find().load();
    all.extend([haft, "bench", "--json"].map(str::to_owned));
    all.extend(words.iter().map(|word| (*word).to_owned()));
    let said = measure::json_of(&mut server::command(&all)).map_err(Failure::SuiteBroken)?;
    let kept = measure::compared(&said).map_err(Failure::SuiteBroken)?;
    faults::of(&kept).map_or(Ok(()), |why| Err(Failure::SuiteBroken(why)))?;
    Ok(["per_second", "cpu"].map(|figure| {
        Interval::read(&kept["ratios"][figure]).map_or_else(String::new, shown::interval)
    }))
}

/// Runs every benchmark once, without optimisation: that it runs, and not how fast.
pub(crate) fn run_once() -> Result<(), Failure> {
    command::run(command::cargo().args(["test", "-p", "haft-benchmarks", "--benches"]))
}

/// Measures. A first word that names a table, a benchmark or a test of `benchmarks/` chooses it;
/// everything else goes to the benchmarks themselves, a filter for example.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    match arguments {
        [first, rest @ ..] if first == "peers" => comparing::run(Group::Peer, rest),
        [first, rest @ ..] if first == "limits" => comparing::run(Group::Limit, rest),
        [first, rest @ ..] if first == "runtimes" => comparing::run(Group::Runtime, rest),
        [first, rest @ ..] if first == "table" => pages::run(rest),
        [first, rest @ ..] if first == memory::TABLE => memory::run(rest),
        [first, rest @ ..] if first == gateway::TABLE => gateway::run(rest),
        [first, rest @ ..] if first == links::TABLE => links::run(rest),
        [first, rest @ ..] if Table::named(first).is_some() => {
            Table::named(first).map_or(Ok(()), |table| single::run(table, rest))
        }
        [first, rest @ ..] if is_in(HERE, "benches", first) => {
            let mut cargo = command::cargo();
            cargo.args(["bench", "-p", "haft-benchmarks", "--bench", first, "--"]);
            command::run(cargo.args(rest))
        }
        [first, rest @ ..] if is_in(HERE, "tests", first) => {
            let mut cargo = command::cargo();
            cargo.args(["test", "--release", "-p", "haft-benchmarks", "--test", first, "--"]);
            command::run(cargo.arg("--nocapture").args(rest))
        }
        _ => {
            let mut cargo = command::cargo();
            command::run(cargo.args(["bench", "-p", "haft-benchmarks", "--"]).args(arguments))
        }
    }
}

/// Every chore runs in the root of the repository.
const HERE: &str = ".";

/// Whether `benchmarks/` has a target of this name.
fn is_in(root: &str, folder: &str, name: &str) -> bool {
    let is_name = |letter: char| letter.is_ascii_lowercase() || letter == '_';
    let path = Path::new(root).join("benchmarks").join(folder).join(name).with_extension("rs");
    name.chars().all(is_name) && path.is_file()
}

#[cfg(test)]
mod tests {
    use super::is_in;

    #[test]
    fn a_benchmark_is_known_by_its_file() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        assert!(is_in(root, "benches", "messages") && is_in(root, "tests", "allocations"));
        assert!(!is_in(root, "benches", "allocations") && !is_in(root, "benches", "--list"));
        assert!(!is_in(root, "benches", "../tests/allocations"));
    }
}
