//! `cargo xtask field`: real agents and a real gateway, each in a network namespace of its own, and
//! a wire between them that is cut. `walk` goes through what happens to links, `calls` counts what
//! becomes of calls, `agents` has many of them. `test` runs short forms; nothing is made outside.

mod agent;
mod agents;
mod asking;
mod calls;
pub(crate) mod ground;
pub(crate) mod hub;
mod limits;
pub(crate) mod told;
mod walk;
pub(crate) mod wire;

use std::env;
use std::fs;
use std::path::PathBuf;

use crate::command::{self, cargo};
use crate::failure::Failure;

/// What the person wants.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wishes {
    part: Part,
    is_long: bool,
    is_short: bool,
    is_release: bool,
    seed: u64,
    calls: u64,
    agents: usize,
}

/// Which part of the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Walk,
    Calls,
    Agents,
}

/// Programs that were built, and a folder for files.
struct Tools {
    haft: PathBuf,
    field: PathBuf,
    folder: PathBuf,
}

/// Goes there; what is printed is what was seen.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    if let [first, rest @ ..] = arguments
        && first == ground::INSIDE
    {
        return inside(&parse(rest)?);
    }
    let wishes = parse(arguments)?;
    if let Some(why) = ground::missing() {
        return Err(Failure::MachineLacks(why));
    }
    build(&wishes)?;
    ground::enter(&["field"], arguments)
}

/// Short forms of all, one after the other.
pub(crate) fn run_short() -> Result<(), Failure> {
    for words in [
        &["walk", "--short"][..],
        &["calls", "--calls", "5000", "--seed", "1"],
        &["agents", "--agents", "50"],
    ] {
        run(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// In the namespace of the gateway.
fn inside(wishes: &Wishes) -> Result<(), Failure> {
    let tools = tools(wishes)?;
    let went = match wishes.part {
        Part::Walk => walk::run(&tools, wishes),
        Part::Calls => calls::run(&tools, wishes),
        Part::Agents => agents::run(&tools, wishes),
    };
    if went.is_ok() {
        // Of one that failed the files are worth reading.
        return fs::remove_dir_all(&tools.folder)
            .map_err(|source| Failure::file(tools.folder.display(), source));
    }
    went
}

/// What `test` has built already is not built again.
fn build(wishes: &Wishes) -> Result<(), Failure> {
    let mut cargo = cargo();
    cargo.args(["build", "--bins", "-p", "haft-cli", "-p", "haft-field"]);
    if wishes.is_release {
        cargo.arg("--release");
    }
    command::run(&mut cargo)
}

fn tools(wishes: &Wishes) -> Result<Tools, Failure> {
    let us = env::current_exe().map_err(|source| Failure::file("xtask itself", source))?;
    let target = us.ancestors().nth(2).expect("cargo builds into target/PROFILE");
    let profile = if wishes.is_release { "release" } else { "debug" };
    // Its own number is that of nobody else's namespace: the outer one's is told.
    let outer = env::var(ground::OUTER).unwrap_or_default();
    let folder = target.join("field").join(outer);
    fs::create_dir_all(&folder).map_err(|source| Failure::file(folder.display(), source))?;
    let built = |name: &str| target.join(profile).join(name);
    Ok(Tools { haft: built("haft"), field: built("field"), folder })
}

fn parse(arguments: &[String]) -> Result<Wishes, Failure> {
    let mut wishes = Wishes {
        part: Part::Walk,
        is_long: false,
        is_short: false,
        is_release: false,
        seed: 1,
        calls: 100_000,
        agents: 1000,
    };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|word| word.parse::<u64>().ok());
        let mut is_understood = true;
        match word.as_str() {
            "walk" => wishes.part = Part::Walk,
            "calls" => wishes.part = Part::Calls,
            "agents" => wishes.part = Part::Agents,
            "--long" => wishes.is_long = true,
            "--short" => wishes.is_short = true,
            "--release" => wishes.is_release = true,
            "--seed" => match number() {
                Some(seed) => wishes.seed = seed,
                None => is_understood = false,
            },
            "--calls" => match number() {
                Some(calls @ 1..) => wishes.calls = calls,
                _ => is_understood = false,
            },
            "--agents" => match number().and_then(|agents| usize::try_from(agents).ok()) {
                Some(agents @ 1..=limits::AGENTS_MAX) => wishes.agents = agents,
                _ => is_understood = false,
            },
            _ => is_understood = false,
        }
        if !is_understood {
            let said = format!(
                "`field` does not take `{word}`: walk [--short|--long], calls [--calls N] [--seed \
                 N], agents [--agents N], and --release"
            );
            return Err(Failure::BadArguments(said));
        }
    }
    Ok(wishes)
}

#[cfg(test)]
mod tests {
    use super::{Part, Wishes, parse};

    fn parsed(text: &str) -> Option<Wishes> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        parse(&words).ok()
    }

    #[test]
    fn a_part_and_its_size_can_be_given_and_need_not() {
        let plain = parsed("").expect("words");
        assert_eq!((plain.part, plain.calls, plain.agents), (Part::Walk, 100_000, 1000));
        let calls = parsed("calls --calls 5000 --seed 7 --release").expect("words");
        assert_eq!((calls.part, calls.calls, calls.seed), (Part::Calls, 5000, 7));
        assert!(calls.is_release && parsed("--long").is_some_and(|wishes| wishes.is_long));
        for wrong in ["--calls", "--calls 0", "--seed x", "5", "--agents 100000"] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }
}
