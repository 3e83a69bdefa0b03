//! `cargo xtask tidy`: style as a test. `test` and people call it; it reads files and the crate
//! graph, and never changes anything.

mod exceptions;
mod lexer;
mod modules;
mod names;
mod revisions;
mod rules;
mod source;
mod tokens;

use std::process::Command;

use crate::bench::pages;
use crate::command;
use crate::dependencies;
use crate::failure::Failure;
use exceptions::EXCEPTIONS;
use rules::Finding;
use source::Source;

/// Checks the sources and the crate graph, the second even when the first has findings.
pub(crate) fn run(_: &[String]) -> Result<(), Failure> {
    let sources = sources();
    let graph = dependencies::check();
    sources.and(graph)
}

/// Checks every file that git knows or would add, and that pages tell what was measured.
pub(crate) fn sources() -> Result<(), Failure> {
    let files = read_all()?;
    let mut findings: Vec<Finding> = files.iter().flat_map(rules::check).collect();
    findings.extend(modules::check(&files));
    let mut findings = exceptions::apply(findings, EXCEPTIONS);
    findings.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    for finding in &findings {
        println!("{finding}");
    }
    if findings.is_empty() {
        println!("{} files are tidy", files.len());
        return pages::check();
    }
    Err(Failure::Untidy { findings: findings.len() })
}

/// Reads every text file. One that is listed but gone was deleted a moment ago; one that is not
/// UTF-8 is not text.
fn read_all() -> Result<Vec<Source>, Failure> {
    // The owner of the checkout in CI may be somebody else; listing its files is safe anyway.
    let listed = command::output(
        Command::new("git")
            .args(["-c", "safe.directory=*", "-c", "core.quotePath=false", "ls-files", "-z"])
            .args(["--cached", "--others", "--exclude-standard"]),
    )?;
    let mut paths: Vec<&str> = listed.split('\0').filter(|path| !path.is_empty()).collect();
    paths.sort_unstable();
    paths.dedup();
    let mut sources = Vec::new();
    for path in paths {
        match std::fs::read(path).map(String::from_utf8) {
            Ok(Ok(text)) => sources.push(Source::new(path, text)),
            Ok(Err(_)) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(Failure::file(path, source)),
        }
    }
    Ok(sources)
}
