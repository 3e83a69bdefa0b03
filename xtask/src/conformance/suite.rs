//! The suite itself: installed once from the lock file in `conformance/`, with the Node that it
//! needs, and run. It never writes outside `target/conformance`.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::checks::{self, Scenario};
use super::{Run, Selection};
use crate::command;
use crate::failure::Failure;

/// What npm reads. Any change installs everything again.
const MANIFESTS: [&str; 2] = ["package.json", "package-lock.json"];
const PACKAGE: &str = "node_modules/@modelcontextprotocol/conformance";

/// The suite on this machine.
pub(super) struct Suite {
    folder: PathBuf,
    /// Held as long as we write there.
    _lock: File,
}

impl Suite {
    /// Installs the suite if it is not there as it should be.
    pub(super) fn installed() -> Result<Self, Failure> {
        let folder = folder()?;
        let unusable = |source| Failure::file(folder.display(), source);
        fs::create_dir_all(&folder).map_err(unusable)?;
        let lock = File::create(folder.join("lock")).map_err(unusable)?;
        lock.lock().map_err(unusable)?;
        let suite = Self { folder, _lock: lock };
        let wanted = manifests()?;
        let stamp = suite.folder.join("stamp");
        if fs::read_to_string(&stamp).ok().as_ref() != Some(&wanted) {
            suite.install()?;
            fs::write(&stamp, wanted).map_err(|source| Failure::file(stamp.display(), source))?;
        }
        Ok(suite)
    }

    /// Where results, and what else a run needs, are written.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Exactly what the lock file says, with its checksums.
    fn install(&self) -> Result<(), Failure> {
        for name in MANIFESTS {
            let from = Path::new("conformance").join(name);
            fs::copy(&from, self.folder.join(name))
                .map_err(|source| Failure::file(from.display(), source))?;
        }
        let quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
        command::run(Command::new("npm").arg("ci").args(quiet).current_dir(&self.folder))
    }

    /// The scenarios that a revision requires, in the suite's own words.
    pub(super) fn required(&self, run: Run) -> Result<Vec<String>, Failure> {
        let (leg, revision) = (run.leg.as_str(), run.revision);
        let path = self.folder.join(PACKAGE).join(format!("requirements/{revision}.yaml"));
        let text =
            fs::read_to_string(&path).map_err(|source| Failure::file(path.display(), source))?;
        let required = items(&text, leg);
        if required.is_empty() {
            let path = path.display();
            return Err(Failure::SuiteBroken(format!("{path} requires nothing of a {leg}")));
        }
        Ok(required)
    }

    /// Runs scenarios with a server at a URL, or with a client that is started by a command. That
    /// some fail is no failure here.
    pub(super) fn run(
        &self,
        tested: &str,
        run: Run,
        scenario: Option<&str>,
    ) -> Result<Vec<Scenario>, Failure> {
        let results = self.folder.join(run.folder());
        match fs::remove_dir_all(&results) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Failure::file(results.display(), error));
            }
            _ => {}
        }
        let log_path = results.with_extension("log");
        let unusable = |source| Failure::file(log_path.display(), source);
        let log = File::create(&log_path).map_err(unusable)?;
        let mut command = command::limited(self.folder.join("node_modules/.bin/node").into());
        command.arg(self.folder.join(PACKAGE).join("dist/index.js"));
        command.args([run.leg.as_str(), run.leg.option(), tested]);
        command.args(selection(run, scenario));
        command.arg("--output-dir").arg(&results);
        // Node would ask a proxy for the loopback address.
        command.env("NO_PROXY", "127.0.0.1").env("no_proxy", "127.0.0.1");
        command.stdout(log.try_clone().map_err(unusable)?).stderr(log);
        println!("{}: its log is {}", run.name(), log_path.display());
        match command::run(&mut command) {
            // What failed is in the results.
            Ok(()) | Err(Failure::CommandFailed { code: Some(1), .. }) => {}
            Err(failure) => return Err(failure),
        }
        let scenarios = if results.exists() { checks::read(&results, run)? } else { vec![] };
        if scenarios.is_empty() {
            let log = log_path.display();
            return Err(Failure::SuiteBroken(format!("the suite ran nothing, {log} says why")));
        }
        Ok(scenarios)
    }
}

fn selection(run: Run, scenario: Option<&str>) -> Vec<&str> {
    match (run.selection, scenario) {
        // Scenarios of extensions belong to no revision, says the suite, unless it is told to.
        (_, Some(scenario)) => {
            vec!["--scenario", scenario, "--spec-version", run.revision, "--force"]
        }
        // All but extensions. These are tasks, which legacy servers do not have, and which the
        // suite would wait for.
        (Selection::Required { .. }, None)
            if run.leg.behind().is_some_and(|behind| behind.starts_with("legacy")) =>
        {
            vec!["--suite", "all", "--spec-version", run.revision]
        }
        (Selection::Active, None) => vec!["--suite", "active", "--spec-version", run.revision],
        (Selection::Required { .. }, None) => vec!["--requirements", run.revision],
    }
}

fn manifests() -> Result<String, Failure> {
    let mut all = String::new();
    for name in MANIFESTS {
        let path = Path::new("conformance").join(name);
        all +=
            &fs::read_to_string(&path).map_err(|source| Failure::file(path.display(), source))?;
    }
    Ok(all)
}

/// In the target folder, wherever that is: we stand in a folder of it.
fn folder() -> Result<PathBuf, Failure> {
    let us = env::current_exe().map_err(|source| Failure::file("xtask itself", source))?;
    let target = us.parent().and_then(Path::parent).expect("cargo builds into target/PROFILE");
    Ok(target.join("conformance"))
}

/// The items of a list. The file is the suite's own, and as plain as this.
fn items(text: &str, list: &str) -> Vec<String> {
    let after = text.lines().skip_while(|line| line.strip_suffix(':') != Some(list)).skip(1);
    let items = after.map_while(|line| line.strip_prefix("  - "));
    items.map(|item| item.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::leg::Leg;
    use super::{Run, Selection, items, selection};

    #[test]
    fn what_is_required_is_read_from_the_suite() {
        let text = "# server:\n\nserver:\n  - ping\n  - tools-list\n\nclient:\n  - initialize\n";
        assert_eq!(items(text, "server"), ["ping", "tools-list"]);
        assert_eq!(items(text, "client"), ["initialize"]);
        assert_eq!(items("client:\n  - initialize\n", "server"), [""; 0]);
    }

    #[test]
    fn one_scenario_is_run_at_its_revision() {
        let selected = Selection::Required { count: 30, beside: &[], unmet: &[] };
        let run = Run { leg: Leg::Server, revision: "2025-11-25", selection: selected };
        assert_eq!(selection(run, None), ["--requirements", "2025-11-25"]);
        let alone = ["--scenario", "ping", "--spec-version", "2025-11-25", "--force"];
        assert_eq!(selection(run, Some("ping")), alone);
    }
}
