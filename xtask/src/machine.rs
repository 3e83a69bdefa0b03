//! What the machine needs beyond a Rust toolchain, and how it gets it. `test` and `fuzz` ask; it
//! never installs anything unless it is root on a system that has apt.

use std::process::Command;

use crate::command;
use crate::failure::Failure;

/// A Debian package, how to see that it is there, and who needs it.
struct Need {
    package: &'static str,
    probe: &'static [&'static str],
    user: &'static str,
}

const FOREIGN: &str = "the foreign programs";
/// Whether one of the browsers is there that the tests know.
#[cfg(target_os = "linux")]
const BROWSER: &str = concat!(
    "while read -r it; do \"$it\" --version </dev/null && exit; done <<'END'\n",
    include_str!("../../crates/cli/tests/it/foreign/browsers.txt"),
    "END\nexit 1"
);
const NEEDS: &[Need] = &[
    Need { package: "g++", probe: &["c++", "--version"], user: "linking, and libFuzzer" },
    Need { package: "git", probe: &["git", "--version"], user: "tidy lists files with it" },
    #[cfg(target_os = "linux")]
    Need {
        package: "chromium",
        probe: &["sh", "-c", BROWSER],
        user: "opening the page of a bench",
    },
    Need { package: "golang-go", probe: &["go", "version"], user: FOREIGN },
    Need {
        package: "nodejs",
        probe: &["node", "--version"],
        user: "the foreign programs, and the conformance suite",
    },
    Need {
        package: "npm",
        probe: &["npm", "--version"],
        user: "the foreign programs, and the conformance suite",
    },
    Need { package: "procps", probe: &["ps", "--version"], user: "tests that look at processes" },
    Need {
        package: "python3-venv",
        probe: &["python3", "-c", "import ensurepip, venv"],
        user: FOREIGN,
    },
    Need { package: "sqlite3", probe: &["sqlite3", "--version"], user: "the book's recipes" },
    #[cfg(target_os = "linux")]
    Need { package: "valgrind", probe: &["valgrind", "--version"], user: "counting instructions" },
];

/// What a gateway is measured beside.
const PROXIES: &[Need] = &[
    Need { package: "nginx-light", probe: &["nginx", "-v"], user: "measuring a gateway beside it" },
    Need { package: "haproxy", probe: &["haproxy", "-v"], user: "measuring a gateway beside it" },
];

/// Makes sure that everything is there that `test` needs.
pub(crate) fn provide_all() -> Result<(), Failure> {
    provide(NEEDS)?;
    components()
}

/// Makes sure that C++ can be compiled.
pub(crate) fn provide_compiler() -> Result<(), Failure> {
    provide(NEEDS.get(..1).unwrap_or_default())
}

/// Makes sure that what others wrote in Go, JavaScript and Python can be built.
pub(crate) fn provide_foreign() -> Result<(), Failure> {
    let foreign = |need: &&Need| need.user.starts_with(FOREIGN);
    NEEDS.iter().filter(foreign).try_for_each(|need| provide(std::slice::from_ref(need)))
}

/// Makes sure that the proxy of this program can be started.
pub(crate) fn provide_proxy(program: &str) -> Result<(), Failure> {
    let of_it = |need: &&Need| need.probe.first() == Some(&program);
    PROXIES.iter().filter(of_it).try_for_each(|need| provide(std::slice::from_ref(need)))
}

fn provide(needs: &[Need]) -> Result<(), Failure> {
    let missing: Vec<&Need> = needs.iter().filter(|need| !is_there(need)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !command::works("apt-get", &["--version"]) || !is_root() {
        return Err(Failure::MachineLacks(advice(&missing)));
    }
    command::run(apt_get().arg("update"))?;
    let packages = missing.iter().map(|need| need.package);
    command::run(apt_get().args(["install", "-y", "--no-install-recommends"]).args(packages))?;
    match missing.iter().find(|need| !is_there(need)) {
        Some(need) => Err(Failure::MachineLacks(format!(
            "{} is installed, yet `{}` still fails, repair it by hand",
            need.package,
            need.probe.join(" ")
        ))),
        None => Ok(()),
    }
}

fn is_there(need: &Need) -> bool {
    need.probe.split_first().is_some_and(|(program, rest)| command::works(program, rest))
}

fn is_root() -> bool {
    command::output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

/// The one sentence that says what to type.
fn advice(missing: &[&Need]) -> String {
    let packages: Vec<&str> = missing.iter().map(|need| need.package).collect();
    let reasons: Vec<String> =
        missing.iter().map(|need| format!("{}: {}", need.package, need.user)).collect();
    format!(
        "run `sudo apt-get update && sudo apt-get install -y {}`, or your system's equivalent ({})",
        packages.join(" "),
        reasons.join("; ")
    )
}

/// rustfmt and clippy come with rustup's default profile, but not with its minimal one.
fn components() -> Result<(), Failure> {
    for (tool, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        let mut cargo = command::cargo();
        if command::output(cargo.args([tool, "--version"])).is_err() {
            return Err(Failure::MachineLacks(format!("run `rustup component add {component}`")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{NEEDS, PROXIES, advice};

    #[test]
    fn advice_is_one_sentence_that_can_be_pasted() {
        let said = advice(&[&NEEDS[0], &NEEDS[1]]);
        assert!(said.contains("`sudo apt-get update && sudo apt-get install -y g++ git`"));
        assert!(said.contains("git: tidy lists files with it"));
        assert_eq!(said.lines().count(), 1);
    }

    #[test]
    fn each_proxy_that_is_missing_is_told_by_its_package() {
        for need in PROXIES {
            let said = advice(&[need]);
            assert!(said.contains(&format!("install -y {}`", need.package)), "{said}");
            assert!(need.probe[0] == need.package.trim_end_matches("-light"), "{}", need.probe[0]);
        }
    }

    #[test]
    fn the_compiler_is_the_first_need() {
        assert_eq!(NEEDS[0].package, "g++");
    }
}
