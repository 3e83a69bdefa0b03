//! The chores of this repository, as `cargo xtask CHORE`. People and `.ci/run` call it; it never
//! becomes part of what users install, and no other crate depends on it.

#![expect(clippy::print_stdout, reason = "a chore talks to the person who started it")]
#![expect(clippy::print_stderr, reason = "a chore talks to the person who started it")]

mod bench;
mod callgrind;
mod command;
mod conformance;
mod corpus;
mod counts;
mod deny;
mod dependencies;
mod failure;
mod field;
mod fuzz;
mod loom;
mod machine;
mod pgo;
mod retold;
mod soak;
mod test;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

use failure::Failure;

/// A chore: its name, its arguments as shown to people, what it does, and the code.
struct Chore {
    name: &'static str,
    arguments: &'static str,
    purpose: &'static str,
    run: fn(&[String]) -> Result<(), Failure>,
}

const CHORES: &[Chore] = &[
    Chore { name: "test", arguments: "[--fuzz]", purpose: "prove a change", run: test::run },
    Chore { name: "tidy", arguments: "", purpose: "check the style", run: tidy::run },
    Chore {
        name: "fuzz",
        arguments: "[--seconds N] [--seed N] [TARGET [INPUT]]",
        purpose: "look for crashes, or repeat one",
        run: fuzz::run,
    },
    Chore {
        name: "loom",
        arguments: "",
        purpose: "every order of threads in what they share",
        run: loom::run,
    },
    Chore {
        name: "conformance",
        arguments: "[server|gateway|client] [REVISION [SCENARIO]]",
        purpose: "the official suite of MCP",
        run: conformance::run,
    },
    Chore {
        name: "soak",
        arguments: "[--minutes N] [--seed N] [--json]",
        purpose: "a gateway whose upstreams are killed and edited",
        run: soak::run,
    },
    Chore {
        name: "field",
        arguments: "[walk|calls|agents] [ARGS...]",
        purpose: "links that are cut, in network namespaces",
        run: field::run,
    },
    Chore {
        name: "bench",
        arguments: "[TABLE|table|NAME] [ARGS...]",
        purpose: "measure, alone or beside others; `table` writes the pages",
        run: bench::run,
    },
    Chore {
        name: "corpus",
        arguments: "[--documents N]",
        purpose: "documents of real APIs, and what is sent for them",
        run: corpus::run,
    },
    Chore {
        name: "counts",
        arguments: "[--update]",
        purpose: "instructions of single messages",
        run: counts::run,
    },
    Chore {
        name: "pgo",
        arguments: "[--compare]",
        purpose: "a haft optimised by a profile",
        run: pgo::run,
    },
    Chore { name: "deny", arguments: "", purpose: "judge the dependencies", run: deny::run },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match start(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        // The closing line of `test` stands alone and last.
        Err(Failure::StepsFailed) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

fn start(arguments: &[String]) -> Result<(), Failure> {
    let Some((name, rest)) = arguments.split_first() else {
        return Err(Failure::BadArguments(usage()));
    };
    let Some(chore) = CHORES.iter().find(|chore| chore.name == name) else {
        return Err(Failure::BadArguments(format!("there is no chore `{name}`\n{}", usage())));
    };
    std::env::set_current_dir(root()).map_err(|source| Failure::file("the root", source))?;
    (chore.run)(rest)
}

/// The root of the repository. Cargo tells where the manifest is; the path that was compiled in
/// serves those who start the binary by hand.
fn root() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest.parent().map(PathBuf::from).unwrap_or_default()
}

fn usage() -> String {
    let lines: Vec<String> = CHORES
        .iter()
        .map(|chore| {
            let typed = format!("{} {}", chore.name, chore.arguments);
            format!("  cargo xtask {typed:<36} {}", chore.purpose)
        })
        .collect();
    format!("usage:\n{}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::{Failure, start, usage};

    #[test]
    fn an_unknown_chore_is_answered_with_the_list() {
        let Err(Failure::BadArguments(said)) = start(&["tset".to_owned()]) else {
            panic!("`tset` is no chore");
        };
        assert!(said.contains("`tset`") && said.contains("cargo xtask tidy"), "{said}");
    }

    #[test]
    fn usage_has_a_line_for_each_chore() {
        assert_eq!(usage().lines().count(), 1 + super::CHORES.len());
    }
}
