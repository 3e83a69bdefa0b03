//! `cargo xtask pgo`: a `haft` that was optimised by a profile of its own work. People call it, who
//! build for themselves; nothing that is released or tested comes of it, and it never installs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::bench::build::plain_cargo;
use crate::bench::running::Running;
use crate::bench::{self, facts};
use crate::command;
use crate::failure::Failure;

const FOLDER: &str = "target/pgo";
/// Where the result is.
const BINARY: &str = "target/pgo/haft";
/// What it is compared with: the same source, compiler and flags without a profile.
const PLAIN: &str = "target/pgo/haft-plain";
/// What is served: a text that comes back, and tools enough for a list.
const SERVED: &str = include_str!("pgo/haft.yaml");
const SERVED_AS: &str = "haft.yaml";

/// What is asked: a word that people know it by, what `haft bench` is told of it, and how often it
/// is asked to train.
struct Work {
    name: &'static str,
    words: &'static [&'static str],
    requests: u32,
}

const WORKS: [Work; 3] = [
    Work { name: "echo", words: &["echo", "text=hello"], requests: 20_000 },
    Work { name: "tools/list", words: &[], requests: 5_000 },
    Work { name: "echo of 64 KiB", words: &["echo", "--payload", "text=64KiB"], requests: 3_000 },
];
const ERAS: [&str; 2] = ["legacy", "modern"];
/// How many requests wait at once, over HTTP and over stdio.
const AT_ONCE: [&str; 2] = ["1", "32"];

/// Builds, or compares if it is asked to, and builds before that unless this very source was built
/// by this compiler with these flags.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let is_compared = match arguments {
        [] => false,
        [only] if only == "--compare" => true,
        _ => return Err(Failure::BadArguments("`pgo` takes `--compare` or nothing".to_owned())),
    };
    let folder = std::path::absolute(FOLDER).map_err(|source| Failure::file(FOLDER, source))?;
    let compiler = compiler()?;
    let stamp = folder.join("stamp");
    let now = stamped(facts::commit().as_deref(), &compiler, &flags());
    let built = fs::read_to_string(&stamp).ok();
    if !is_compared || now.is_none() || built != now {
        make(&folder, &host(&compiler)?)?;
        let now = now.unwrap_or_default();
        fs::write(&stamp, now).map_err(|source| Failure::file(stamp.display(), source))?;
    }
    if is_compared { compare(&folder.join(SERVED_AS), &host(&compiler)?) } else { Ok(()) }
}

/// What a build is of. Nothing where that is not known: who has changed something may have changed
/// more.
fn stamped(commit: Option<&str>, compiler: &str, flags: &str) -> Option<String> {
    let commit = commit.filter(|commit| !commit.is_empty() && !commit.ends_with("-dirty"))?;
    Some(format!("{commit}\n{compiler}\nRUSTFLAGS={flags}\n"))
}

/// What rustc says of itself.
fn compiler() -> Result<String, Failure> {
    command::output(Command::new("rustc").arg("-vV"))
}

/// What whoever calls has told rustc; every build here has it.
fn flags() -> String {
    std::env::var("RUSTFLAGS").unwrap_or_default()
}

fn make(folder: &Path, host: &str) -> Result<(), Failure> {
    let profdata = profdata(host)?;
    let (raw, merged) = (folder.join("raw"), folder.join("haft.profdata"));
    let unusable = |source| Failure::file(FOLDER, source);
    // Profiles of an earlier build are of other code.
    if raw.exists() {
        fs::remove_dir_all(&raw).map_err(unusable)?;
    }
    fs::create_dir_all(&raw).map_err(unusable)?;
    let served = folder.join(SERVED_AS);
    fs::write(&served, SERVED).map_err(unusable)?;

    println!("== a build that counts what it does");
    let counting = build("counting", &format!("-Cprofile-generate={}", raw.display()), host)?;
    println!("== its work");
    train(&counting, &served, &raw)?;
    command::run(Command::new(profdata).arg("merge").arg("-o").arg(&merged).arg(&raw))?;
    println!("== a build by that profile");
    let optimised = build("optimised", &format!("-Cprofile-use={}", merged.display()), host)?;
    fs::copy(&optimised, BINARY).map_err(unusable)?;
    println!("{BINARY} has {}", size(BINARY)?);
    Ok(())
}

/// The triple that rustc builds for here. A build that names it keeps its flags from build scripts
/// and macros, which are no part of the work.
fn host(compiler: &str) -> Result<String, Failure> {
    let host = compiler.lines().find_map(|line| line.strip_prefix("host: "));
    let missing = || Failure::MachineLacks("rustc tells of no host, update Rust".to_owned());
    host.map(str::to_owned).ok_or_else(missing)
}

/// What merges profiles: that of this very compiler, whose format it is.
fn profdata(host: &str) -> Result<PathBuf, Failure> {
    let root = command::output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let path = Path::new(root.trim()).join("lib/rustlib").join(host).join("bin/llvm-profdata");
    if path.is_file() {
        return Ok(path);
    }
    let said = "there is no llvm-profdata, run `rustup component add llvm-tools`";
    Err(Failure::MachineLacks(said.to_owned()))
}

/// Makes `haft` with the flags of whoever calls and one more, or none, and returns its path.
fn build(name: &str, flag: &str, host: &str) -> Result<String, Failure> {
    let mut cargo = plain_cargo();
    cargo.env("RUSTFLAGS", format!("{} {flag}", flags()).trim());
    cargo.args(["build", "--release", "-p", "haft-cli", "--bin", "haft", "--target", host]);
    command::built(cargo.arg("--target-dir").arg(Path::new(FOLDER).join(name)), "haft")
}

/// Lets the build do all of the work, as a server and as the load, and makes sure that each server
/// has written down what it did.
fn train(haft: &str, served: &Path, raw: &Path) -> Result<(), Failure> {
    let served = served.display().to_string();
    let counted = ["env", &format!("LLVM_PROFILE_FILE={}/%p-%m.profraw", raw.display()), haft]
        .map(str::to_owned);
    for era in ERAS {
        for at_once in AT_ONCE {
            for work in &WORKS {
                println!("{}, {at_once} at once, {era}", work.name);
                let requests = work.requests.to_string();
                let end = ["--era", era, "--warmup", "0s", "--requests", &requests];
                let bench = |target: &[&str], load: &str| {
                    let words = [target, work.words, &end, &[load, at_once]].concat();
                    let mut bench = Command::new("env");
                    bench.args(&counted[1..]).arg("bench").args(words);
                    command::run(bench.stdin(Stdio::null()).stdout(Stdio::null()))
                };
                bench(&[&served], "--in-flight")?;
                let running = Running::start(|port| serve(&counted, &served, port), None)?;
                bench(&[&running.url()], "--connections")?;
                running.stop()?;
            }
        }
    }
    let files = fs::read_dir(raw).map_err(|source| Failure::file(raw.display(), source))?.count();
    // Each turn is a load over stdio, its server, a load over HTTP, and its server.
    let all = ERAS.len() * AT_ONCE.len() * WORKS.len() * 4;
    if files < all {
        let said = format!("of {all} processes only {files} wrote a profile, see {FOLDER}/raw");
        return Err(Failure::SuiteBroken(said));
    }
    Ok(())
}

fn serve(before: &[String], served: &str, port: u16) -> Vec<String> {
    let listen = format!("127.0.0.1:{port}");
    let rest = ["serve", served, "--http", &listen].map(str::to_owned);
    [before, &rest].concat()
}

/// Sets the result beside a plain build, in turns: both serve, and the plain one asks.
fn compare(served: &Path, host: &str) -> Result<(), Failure> {
    println!("== beside a plain build");
    let plain = build("plain", "", host)?;
    fs::copy(&plain, PLAIN).map_err(|source| Failure::file(PLAIN, source))?;
    let served = served.display().to_string();
    let mut table = "| what | by profile is × (95%) | its CPU × (95%) |\n".to_owned();
    table += "| --- | --- | --- |\n";
    for work in &WORKS {
        for at_once in AT_ONCE {
            let of = |binary: &str| {
                let before = [bench::on_server_core(), vec![binary.to_owned()]].concat();
                Running::start(|port| serve(&before, &served, port), None)
            };
            let (plain, ours) = (of(PLAIN)?, of(BINARY)?);
            let (from, to) = (plain.url(), ours.url());
            let mut words = vec![from.as_str()];
            words.extend(work.words);
            words.extend(["--compare", &to, "--connections", at_once, "--duration", "4s"]);
            let [rate, cpu] = bench::compared(PLAIN, &words)?;
            table += &format!("| HTTP, {}, {at_once} at once | {rate} | {cpu} |\n", work.name);
            let both = [PLAIN, BINARY].map(|binary| {
                let words = [binary, "serve", &served, "--stdio"].map(str::to_owned);
                bench::typed(&[bench::on_server_core(), words.to_vec()].concat())
            });
            let mut words = vec!["--command", &both[0]];
            words.extend(work.words);
            words.extend(["--compare-command", &both[1], "--in-flight", at_once]);
            words.extend(["--duration", "4s"]);
            let [rate, cpu] = bench::compared(PLAIN, &words)?;
            table += &format!("| stdio, {}, {at_once} at once | {rate} | {cpu} |\n", work.name);
        }
    }
    println!("\nof the work that it was trained by:\n\n{table}");
    println!("{PLAIN} has {}, {BINARY} {}", size(PLAIN)?, size(BINARY)?);
    Ok(())
}

fn size(path: &str) -> Result<String, Failure> {
    let about = fs::metadata(path).map_err(|source| Failure::file(path, source))?;
    Ok(format!("{:.1} MB", about.len() as f64 / 1e6))
}

#[cfg(test)]
mod tests {
    use super::{profdata, run, stamped};

    #[test]
    fn a_missing_component_is_one_line_that_says_how_to_install_it() {
        let said = profdata("no-such-host").expect_err("nothing is there").to_string();
        assert!(said.contains("`rustup component add llvm-tools`"), "{said}");
        assert_eq!(said.lines().count(), 1);
    }

    #[test]
    fn only_a_build_of_this_very_source_compiler_and_flags_is_compared_as_it_is() {
        let built = stamped(Some("abc"), "rustc 1", "-g");
        assert!(built.is_some() && built == stamped(Some("abc"), "rustc 1", "-g"));
        let others = [("abd", "rustc 1", "-g"), ("abc", "rustc 2", "-g"), ("abc", "rustc 1", "")];
        for (commit, compiler, flags) in others {
            assert_ne!(built, stamped(Some(commit), compiler, flags));
        }
        for unknown in [None, Some(""), Some("abc-dirty")] {
            assert_eq!(stamped(unknown, "rustc 1", ""), None);
        }
    }

    #[test]
    fn what_it_does_not_take_is_refused_before_anything_is_built() {
        assert!(run(&["--copmare".to_owned()]).is_err());
    }
}
