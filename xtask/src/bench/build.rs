//! Makes servers of their sources, each with its own package manager and lock file, in release
//! form. `comparing` asks for those that it measures; nothing is written outside `target/` and the
//! package managers' own caches.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::server::{Kit, Server};
use crate::command;
use crate::failure::Failure;
use crate::machine;

/// Makes `haft bench` and all of these servers.
pub(super) fn build(servers: &[&Server]) -> Result<(), Failure> {
    let mut ours = plain_cargo();
    ours.args(["build", "--release", "-p", "haft-cli"]);
    let mut packages: Vec<&str> = servers.iter().filter_map(|server| ours_of(server)).collect();
    packages.sort_unstable();
    packages.dedup();
    for package in packages {
        ours.args(["-p", package]);
    }
    command::run(&mut ours)?;
    if servers.iter().any(|server| !matches!(server.kit, Kit::Ours(_) | Kit::Cargo)) {
        machine::provide_foreign()?;
    }
    for server in servers {
        let sources = Path::new("benchmarks/peers").join(server.name);
        let into = Path::new("target/peers").join(server.name);
        match server.kit {
            Kit::Ours(_) => {}
            Kit::Cargo => cargo(&sources)?,
            Kit::Go => go(&sources, &into)?,
            Kit::Npm => npm(&sources, &into)?,
            Kit::Pip => pip(&sources, &into)?,
        }
    }
    Ok(())
}

fn ours_of(server: &Server) -> Option<&'static str> {
    match server.kit {
        Kit::Ours(package) => Some(package),
        _ => None,
    }
}

/// What a person or this run of cargo was told about builds, which reaches neither ours nor theirs.
const TOLD: [&str; 6] = [
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_ENCODED_RUSTFLAGS",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTFLAGS",
];

/// Cargo that builds what is measured, into the folder of which it is started: whatever else is
/// configured, no older program is there in its place.
pub(crate) fn plain_cargo() -> Command {
    let mut cargo = command::cargo();
    for told in TOLD {
        cargo.env_remove(told);
    }
    cargo.env("CARGO_TARGET_DIR", "target");
    cargo
}

fn cargo(sources: &Path) -> Result<(), Failure> {
    let mut cargo = plain_cargo();
    cargo.args(["build", "--release", "--locked", "--target-dir", "target/peers/rust"]);
    cargo.arg("--manifest-path").arg(sources.join("Cargo.toml"));
    command::run(&mut cargo)
}

/// `auto` lets an older Go fetch the one that a package asks for.
fn go(sources: &Path, into: &Path) -> Result<(), Failure> {
    let into = absolute(into)?;
    let mut go = Command::new("go");
    go.args(["build", "-buildvcs=false", "-mod=readonly", "-o"]).arg(into.join("haft-peer"));
    go.arg(".").env("GOTOOLCHAIN", "auto").env_remove("GOFLAGS").current_dir(sources);
    command::run(&mut go)
}

fn npm(sources: &Path, into: &Path) -> Result<(), Failure> {
    const FILES: [&str; 3] = [".npmrc", "package.json", "package-lock.json"];
    once(sources, into, &FILES, || {
        let quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
        command::run(Command::new("npm").arg("ci").args(quiet).current_dir(into))
    })?;
    // Where Node looks for the packages.
    copy(sources, into, "server.mjs")
}

fn pip(sources: &Path, into: &Path) -> Result<(), Failure> {
    const FILES: [&str; 2] = ["requirements.txt", "requirements.lock"];
    once(sources, into, &FILES, || {
        command::run(
            Command::new("python3").args(["-m", "venv", "--clear", "venv"]).current_dir(into),
        )?;
        let mut python = Command::new(absolute(into)?.join("venv/bin/python"));
        python.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        python.args(["--requirement", FILES[0], "--constraint", FILES[1]]);
        command::run(python.current_dir(into))
    })
}

/// Installs unless it did so before, with the same manifests into the same folder: what is
/// installed may know its own path.
fn once(
    sources: &Path,
    into: &Path,
    files: &[&str],
    install: impl Fn() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut wanted = format!("{}\n", absolute(into)?.display());
    for name in files {
        let path = sources.join(name);
        wanted += &fs::read_to_string(&path).map_err(|e| Failure::file(path.display(), e))?;
    }
    let stamp = into.join("stamp");
    if fs::read_to_string(&stamp).ok().as_ref() == Some(&wanted) {
        return Ok(());
    }
    for name in files {
        copy(sources, into, name)?;
    }
    install()?;
    fs::write(&stamp, wanted).map_err(|error| Failure::file(stamp.display(), error))
}

fn copy(sources: &Path, into: &Path, name: &str) -> Result<(), Failure> {
    fs::create_dir_all(into).map_err(|error| Failure::file(into.display(), error))?;
    let (from, to) = (sources.join(name), into.join(name));
    let copied = fs::copy(&from, &to);
    copied.map(drop).map_err(|error| Failure::file(from.display(), error))
}

fn absolute(path: &Path) -> Result<std::path::PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| Failure::file(path.display(), error))
}

#[cfg(test)]
mod tests {
    use super::plain_cargo;

    #[test]
    fn what_is_built_is_where_it_is_started_from() {
        let cargo = plain_cargo();
        let told = |name: &str| cargo.get_envs().find(|(known, _)| *known == name);
        let (_, folder) = told("CARGO_TARGET_DIR").expect("it is set");
        assert_eq!(
            folder.map(|folder| folder.to_string_lossy().into_owned()),
            Some("target".into())
        );
        for removed in ["CARGO_BUILD_TARGET", "CARGO_BUILD_TARGET_DIR", "RUSTFLAGS"] {
            assert!(told(removed).is_some_and(|(_, value)| value.is_none()), "{removed}");
        }
    }
}
