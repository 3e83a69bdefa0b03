//! What a reader of results wants to know of a run: when, of which commit, by which compiler, on
//! what kind of machine. `results` keeps it once for all cases of the run; it names no machine.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::place::Place;
use super::server::HAFT;
use crate::command;
use crate::failure::Failure;

/// The owner of the checkout in CI may be somebody else.
const ANYBODYS: [&str; 2] = ["-c", "safe.directory=*"];
const DESCRIBE: [&str; 2] = ["describe", "--always"];
/// What differs from the commit, but for what a run of `bench` itself writes.
const CHANGED: [&str; 8] = [
    "status",
    "--porcelain",
    "-uno",
    "--",
    ".",
    ":(exclude)benchmarks/results",
    ":(exclude)README.md",
    ":(exclude)benchmarks/README.md",
];

/// What is known of a run that begins now.
pub(super) fn facts(place: Place) -> Result<Value, Failure> {
    let mut facts = json!({
        "at": said(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"])),
        "commit": commit(),
        "haft": HAFT.version()?,
        "rustc": said(Command::new("rustc").arg("--version")),
    });
    if let (Some(facts), Value::Object(machine)) = (facts.as_object_mut(), place.described()) {
        facts.extend(machine);
    }
    Ok(facts)
}

/// Which commit this is, with `-dirty` behind it where something else is. What was measured before
/// is nothing else.
pub(crate) fn commit() -> Option<String> {
    commit_in(Path::new("."))
}

fn commit_in(folder: &Path) -> Option<String> {
    let git =
        |words: &[&str]| said(Command::new("git").args(ANYBODYS).args(words).current_dir(folder));
    let commit = git(&DESCRIBE)?;
    let is_clean = git(&CHANGED)?.is_empty();
    Some(if is_clean { commit } else { commit + "-dirty" })
}

/// What a program says in one line, if it is there.
fn said(program: &mut Command) -> Option<String> {
    command::output(program).ok().map(|line| line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::commit_in;
    use crate::command;
    use std::fs;
    use std::process::Command;

    #[test]
    fn only_what_is_measured_makes_a_commit_dirty() {
        let folder = std::env::temp_dir().join(format!("haft-facts-{}", std::process::id()));
        fs::create_dir_all(folder.join("benchmarks/results")).expect("a folder of ours");
        let write = |path: &str, text: &str| fs::write(folder.join(path), text).expect("a file");
        let git = |words: &[&str]| {
            let name = ["-c", "user.name=x", "-c", "user.email=x@example.com"];
            let mut git = Command::new("git");
            command::output(git.args(name).args(words).current_dir(&folder)).expect("git")
        };
        let files =
            ["README.md", "benchmarks/README.md", "benchmarks/results/codec.json", "main.rs"];
        files.iter().for_each(|path| write(path, "old"));
        git(&["init", "--quiet"]);
        git(&["add", "."]);
        git(&["commit", "--quiet", "--message", "one"]);
        let clean = commit_in(&folder).expect("a commit");
        files[..3].iter().for_each(|path| write(path, "new"));
        let written = commit_in(&folder);
        write("main.rs", "new");
        let changed = commit_in(&folder);
        fs::remove_dir_all(&folder).expect("a folder of ours");
        assert!(!clean.ends_with("-dirty"), "{clean}");
        assert_eq!((written, changed), (Some(clean.clone()), Some(clean + "-dirty")));
    }
}
