//! `cargo xtask fuzz`: libFuzzer on the stable toolchain, in the layout of cargo-fuzz so that
//! `cargo +nightly fuzz run TARGET` works on the same files. `test` calls it in CI; it never
//! changes the committed seeds.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::command;
use crate::failure::Failure;
use crate::machine;

const SECONDS_DEFAULT: u32 = 60;
/// A single input that takes longer is a finding: peers could send it.
const INPUT_SECONDS_MAX: u32 = 10;
/// The same for memory, in MiB.
const MEMORY_MIB_MAX: u32 = 2048;

/// What makes rustc emit the coverage that libFuzzer follows. cargo-fuzz passes nearly the same;
/// its sanitizer alone needs nightly, and it guards unsafe code, of which haft has none.
const INSTRUMENTATION: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    // Folded branches are invisible to coverage.
    "-Cllvm-args=-simplifycfg-branch-fold-threshold=0",
    // Short comparisons stay calls, so that libFuzzer's `memcmp` learns the words that we expect.
    "-Cllvm-args=-max-loads-per-memcmp=0",
    "-Ccodegen-units=1",
    "-Cdebug-assertions",
    "-Cforce-frame-pointers",
    "--cfg=fuzzing",
];

/// What the person asked for.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    seconds: u32,
    /// Where the search begins; anywhere without one.
    seed: Option<u32>,
    target: Option<String>,
    input: Option<String>,
}

/// Fuzzes every target, or one, or runs one input again.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let plan = parse(arguments)?;
    machine::provide_compiler()?;
    let targets = targets(Path::new("fuzz/fuzz_targets"))?;
    let chosen: Vec<&String> = targets
        .iter()
        .filter(|name| plan.target.as_ref().is_none_or(|wanted| wanted == *name))
        .collect();
    if chosen.is_empty() {
        let known = targets.join(", ");
        return Err(Failure::BadArguments(format!("no such target, there are: {known}")));
    }
    let host = host()?;
    build(&chosen, &host)?;
    if let (Some(input), [target]) = (&plan.input, chosen.as_slice()) {
        return command::run(Command::new(binary(target, &host)).arg(input));
    }
    // One crash does not keep the other targets from their turn.
    let outcomes: Vec<_> = chosen.iter().map(|target| search(target, &host, &plan)).collect();
    outcomes.into_iter().collect()
}

fn parse(arguments: &[String]) -> Result<Plan, Failure> {
    let mut rest: VecDeque<&String> = arguments.iter().collect();
    let mut plan = Plan { seconds: SECONDS_DEFAULT, seed: None, target: None, input: None };
    while let Some(argument) = rest.pop_front() {
        if argument == "--seconds" {
            plan.seconds = number(argument, rest.pop_front())?;
        } else if argument == "--seed" {
            plan.seed = Some(number(argument, rest.pop_front())?);
        } else if argument.starts_with('-') || plan.input.is_some() {
            return Err(Failure::BadArguments(format!("`fuzz` does not know `{argument}`")));
        } else if plan.target.is_none() {
            plan.target = Some(argument.clone());
        } else {
            plan.input = Some(argument.clone());
        }
    }
    Ok(plan)
}

fn number(option: &str, value: Option<&String>) -> Result<u32, Failure> {
    let read = value.and_then(|value| value.parse().ok());
    read.ok_or_else(|| Failure::BadArguments(format!("`{option}` takes a whole number")))
}

/// The names of the targets: each is a file.
fn targets(folder: &Path) -> Result<Vec<String>, Failure> {
    let mut names: Vec<String> = files(folder)?
        .iter()
        .filter_map(|name| name.strip_suffix(".rs").map(str::to_owned))
        .collect();
    names.sort();
    Ok(names)
}

/// The triple of this machine. Named explicitly, it keeps the instrumentation out of build scripts.
fn host() -> Result<String, Failure> {
    let version = command::output(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| Failure::MachineLacks("`rustc -vV` names no host, reinstall Rust".into()))
}

fn build(targets: &[&String], host: &str) -> Result<(), Failure> {
    let mut cargo = command::cargo();
    cargo
        .env("RUSTFLAGS", INSTRUMENTATION.join(" "))
        .args(["build", "--release", "--manifest-path", "fuzz/Cargo.toml"])
        .args(["--target-dir", "fuzz/target", "--target", host]);
    for target in targets {
        cargo.args(["--bin", target]);
    }
    command::run(&mut cargo)
}

fn binary(target: &str, host: &str) -> String {
    format!("fuzz/target/{host}/release/{target}")
}

/// Lets libFuzzer look for crashes for as long as planned.
fn search(target: &str, host: &str, plan: &Plan) -> Result<(), Failure> {
    let seconds = plan.seconds;
    let corpus = format!("fuzz/corpus/{target}");
    let artifacts = format!("fuzz/artifacts/{target}/");
    sow(Path::new(&format!("fuzz/seeds/{target}")), Path::new(&corpus))?;
    fs::create_dir_all(&artifacts).map_err(|source| Failure::file(&artifacts, source))?;
    let mut fuzzer = Command::new(binary(target, host));
    fuzzer
        .arg(&corpus)
        .arg(format!("-artifact_prefix={artifacts}"))
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-timeout={INPUT_SECONDS_MAX}"))
        .arg(format!("-rss_limit_mb={MEMORY_MIB_MAX}"))
        .args(plan.seed.map(|seed| format!("-seed={seed}")))
        .stderr(Stdio::piped());
    println!("{target}: looking for crashes for {seconds} s");
    let line = command::line(&fuzzer);
    let failed = |source| Failure::CommandMissing { line: line.clone(), source };
    let mut child = fuzzer.spawn().map_err(failed)?;
    let story = child.stderr.take().map(|stderr| listen(BufReader::new(stderr)));
    let status = child.wait().map_err(failed)?;
    let story = story.unwrap_or_default();
    if status.success() {
        println!("{target}: no crash; {}", story.progress);
        return Ok(());
    }
    let Some(input) = story.artifact else {
        return Err(Failure::CommandFailed { line, code: status.code() });
    };
    let failure = Failure::InputCrashes { target: target.to_owned(), input };
    println!("{failure}");
    Err(failure)
}

/// Copies the seeds that the corpus does not have.
fn sow(seeds: &Path, corpus: &Path) -> Result<(), Failure> {
    fs::create_dir_all(corpus).map_err(|source| Failure::file(corpus.display(), source))?;
    if !seeds.is_dir() {
        return Ok(());
    }
    for name in files(seeds)? {
        let (from, to) = (seeds.join(&name), corpus.join(&name));
        if !to.exists() {
            fs::copy(&from, &to).map_err(|source| Failure::file(from.display(), source))?;
        }
    }
    Ok(())
}

/// The names of the files in a folder.
fn files(folder: &Path) -> Result<Vec<String>, Failure> {
    let failed = |source| Failure::file(folder.display(), source);
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_type().map_err(failed)?.is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    Ok(names)
}

/// What libFuzzer told.
#[derive(Debug, Default)]
struct Story {
    /// Its last line of figures.
    progress: String,
    /// The input that crashed.
    artifact: Option<String>,
}

/// Shows what libFuzzer says about a crash, and keeps its thousand lines of progress back.
fn listen(mut from: impl BufRead) -> Story {
    let mut story = Story::default();
    let mut line = Vec::new();
    while matches!(from.read_until(b'\n', &mut line), Ok(1..)) {
        let said = String::from_utf8_lossy(&line).trim_end().to_owned();
        line.clear();
        if said.strip_prefix('#').is_some_and(|rest| rest.starts_with(|c: char| c.is_numeric())) {
            story.progress = said.replace('\t', " ");
        } else if !is_noise(&said) {
            if let Some((_, path)) = said.split_once("Test unit written to ") {
                story.artifact = Some(path.trim_start_matches("./").to_owned());
            }
            // The closed pipe of whoever reads us is no reason to stop listening.
            let _ = io::Write::write_all(&mut io::stderr(), format!("{said}\n").as_bytes());
        }
    }
    story
}

/// What libFuzzer says on every run: its settings, sanitizers that it does without, and a
/// dictionary that it offers.
fn is_noise(said: &str) -> bool {
    let begins = ["INFO:", "WARNING: Failed to find function", "NEW_FUNC", "######", "Done "];
    said.is_empty()
        || said.contains("\" # Uses: ")
        || begins.iter().any(|begin| said.trim_start().starts_with(begin))
}

#[cfg(test)]
mod tests;
