//! `cargo xtask test`: everything that a machine can check, cheap steps first. `.ci/run` and people
//! call it; it runs every step even after one failed, because one run should tell everything.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::command::{self, cargo};
use crate::failure::Failure;
use crate::{
    bench, conformance, counts, deny, dependencies, field, fuzz, loom, machine, retold, soak, tidy,
};

/// How long each fuzz target runs here, and where its search begins: always at the same place, so
/// that what is red can be made red again. `cargo xtask fuzz` begins anywhere.
const FUZZ: [&str; 4] = ["--seconds", "30", "--seed", "1"];
/// Packages that are no members of the workspace.
const APART: [&str; 6] = [
    "benchmarks/peers/pforge",
    "benchmarks/peers/rmcp",
    "benchmarks/peers/tower-mcp",
    "benchmarks/pforge-dispatch",
    "crates/cli/tests/clients/rust",
    "fuzz",
];
/// Features of haft-cli, each with the tests that only a haft with that one alone has.
/// `tokio-console` is not built here: it would build everything anew.
const INSIDE: [(&str, &str); 2] =
    [("profile", "inside::profiles"), ("heap-profile", "inside::heaps")];
const WASM: &str = "wasm32-unknown-unknown";

/// How a step went.
enum Verdict {
    Passed,
    Failed(Failure),
    /// Not run, and what would make it run.
    Skipped(String),
}

/// A step: its name in the report, and its code.
struct Step {
    name: &'static str,
    run: fn(&Wishes) -> Verdict,
}

/// What the person asked for.
struct Wishes {
    fuzz: bool,
}

/// In the order of their cost.
const STEPS: &[Step] = &[
    Step { name: "machine", run: |_| machine::provide_all().into() },
    Step { name: "tidy", run: |_| tidy::sources().into() },
    Step { name: "format", run: |_| format().into() },
    Step { name: "clippy", run: |_| clippy().into() },
    Step { name: "dependencies", run: |_| dependencies::check().into() },
    Step { name: "deny", run: |_| deny() },
    Step { name: "tests", run: |_| tests().into() },
    Step { name: "loom", run: |_| loom::run(&[]).into() },
    Step { name: "inside", run: |_| inside().into() },
    Step { name: "conformance", run: |_| conformance::run(&[]).into() },
    Step { name: "soak", run: |_| soak() },
    Step { name: "field", run: |_| field() },
    Step { name: "docs", run: |_| docs().into() },
    Step { name: "wasm", run: |_| wasm() },
    Step { name: "fuzz", run: fuzz },
    Step { name: "benches", run: |_| bench::run_once().into() },
    Step { name: "counts", run: |_| counts() },
];

/// Runs the steps. The last line on stdout is `N passed, M failed`.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let wishes = parse(arguments)?;
    let mut report = Vec::new();
    for step in STEPS {
        println!("\n== {}", step.name);
        let began = Instant::now();
        let verdict = (step.run)(&wishes);
        let line = describe(step.name, &verdict, began.elapsed());
        println!("== {line}");
        let is_hopeless = step.name == "machine" && matches!(verdict, Verdict::Failed(_));
        report.push((line, verdict));
        if is_hopeless {
            break;
        }
    }
    for (_, verdict) in &report {
        if let Verdict::Failed(failure) = verdict {
            print!("\n{}", failure.retold().unwrap_or_default());
        }
    }
    println!();
    for (line, _) in &report {
        println!("{line}");
    }
    let failed = report.iter().filter(|(_, verdict)| matches!(verdict, Verdict::Failed(_))).count();
    let passed = report.iter().filter(|(_, verdict)| matches!(verdict, Verdict::Passed)).count();
    println!("\n{passed} passed, {failed} failed");
    if failed == 0 { Ok(()) } else { Err(Failure::StepsFailed) }
}

impl From<Result<(), Failure>> for Verdict {
    fn from(result: Result<(), Failure>) -> Self {
        result.map_or_else(Self::Failed, |()| Self::Passed)
    }
}

fn parse(arguments: &[String]) -> Result<Wishes, Failure> {
    match arguments {
        [] => Ok(Wishes { fuzz: command::in_ci() }),
        [only] if only == "--fuzz" => Ok(Wishes { fuzz: true }),
        _ => Err(Failure::BadArguments("`test` takes `--fuzz` or nothing".to_owned())),
    }
}

fn describe(name: &str, verdict: &Verdict, took: Duration) -> String {
    let seconds = took.as_secs_f64();
    match verdict {
        Verdict::Passed => format!("{name}: passed in {seconds:.1} s"),
        Verdict::Failed(failure) => format!("{name}: FAILED in {seconds:.1} s: {failure}"),
        Verdict::Skipped(reason) => format!("{name}: skipped: {reason}"),
    }
}

fn format() -> Result<(), Failure> {
    command::run(cargo().args(["fmt", "--all", "--check"]))?;
    for apart in APART {
        let manifest = format!("{apart}/Cargo.toml");
        command::run(cargo().args(["fmt", "--manifest-path", &manifest, "--check"]))?;
    }
    Ok(())
}

fn clippy() -> Result<(), Failure> {
    command::run(cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    for (feature, _) in INSIDE {
        let mut inside = cargo();
        inside.args(["clippy", "-p", "haft-cli", "--all-targets", "--features", feature]);
        command::run(inside.args(["--", "-D", "warnings"]))?;
    }
    Ok(())
}

fn deny() -> Verdict {
    if deny::is_installed() {
        deny::run(&[]).into()
    } else {
        Verdict::Skipped(deny::INSTALL.into())
    }
}

/// Unit tests, integration tests, foreign clients and the examples in the docs.
fn tests() -> Result<(), Failure> {
    retold::run(cargo().args(["test", "--workspace", "--no-fail-fast"]))
}

/// What looks inside a running haft, each way in a haft of its own. Where their dependencies were
/// never built that is a minute of two processors each, and half of it where only haft changed.
fn inside() -> Result<(), Failure> {
    for (feature, tests) in INSIDE {
        let mut test = cargo();
        test.args(["test", "-p", "haft-cli", "--features", feature, "--test", "it", tests]);
        retold::run(&mut test)?;
    }
    Ok(())
}

/// The binary and the library are both called `haft` and share a page; the library's is kept.
fn docs() -> Result<(), Failure> {
    for scope in [&["--package", "haft-cli", "--bin", "haft"][..], &["--workspace"]] {
        let mut doc = cargo();
        doc.env("RUSTDOCFLAGS", "-D warnings").arg("doc").args(scope);
        command::run(doc.args(["--no-deps", "--document-private-items"]))?;
    }
    Ok(())
}

/// A protocol that builds where there is no system cannot call one by accident.
fn wasm() -> Verdict {
    let mut rustc = Command::new("rustc");
    let folder = command::output(rustc.args(["--print", "target-libdir", "--target", WASM]));
    match folder {
        Ok(folder) if Path::new(folder.trim()).is_dir() => {
            command::run(cargo().args(["build", "-p", "haft-proto", "--target", WASM])).into()
        }
        _ => Verdict::Skipped(format!("run `rustup target add {WASM}` to build haft-proto for it")),
    }
}

fn fuzz(wishes: &Wishes) -> Verdict {
    if !wishes.fuzz {
        return Verdict::Skipped("only with `--fuzz` or when CI=true".to_owned());
    }
    fuzz::run(&FUZZ.map(str::to_owned)).into()
}

/// It looks at processes where only Linux shows them.
fn soak() -> Verdict {
    if !cfg!(target_os = "linux") {
        return Verdict::Skipped("only on Linux".to_owned());
    }
    soak::run(&[]).into()
}

/// It makes network namespaces, which only root may, and only on Linux.
fn field() -> Verdict {
    field::ground::missing().map_or_else(|| field::run_short().into(), Verdict::Skipped)
}

/// Valgrind is not to be had on every system.
fn counts() -> Verdict {
    if !cfg!(target_os = "linux") {
        return Verdict::Skipped("only on Linux".to_owned());
    }
    match counts::judge_all() {
        Ok(counts::Verdict::Within) => Verdict::Passed,
        Ok(counts::Verdict::NotJudged(why)) => Verdict::Skipped(why),
        Err(failure) => Verdict::Failed(failure),
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Failure, INSIDE, STEPS, Verdict, describe, parse};

    #[test]
    fn every_verdict_is_one_line_that_names_the_step() {
        let took = Duration::from_millis(1_250);
        let failure = Failure::Untidy { findings: 3 };
        for (verdict, expected) in [
            (Verdict::Passed, "docs: passed in 1.2 s"),
            (Verdict::Skipped("why".to_owned()), "docs: skipped: why"),
            (Verdict::Failed(failure), "docs: FAILED in 1.2 s: 3 findings, see them above"),
        ] {
            let line = describe("docs", &verdict, took);
            assert!(line.starts_with(expected) && line.lines().count() == 1, "{line}");
        }
    }

    #[test]
    fn the_machine_is_the_first_step_because_the_others_need_it() {
        assert_eq!(STEPS[0].name, "machine");
    }

    /// Cargo is content with a name that no test has.
    #[test]
    fn the_tests_of_each_feature_are_there() {
        let source = include_str!("../../crates/cli/tests/it/inside.rs");
        for (feature, tests) in INSIDE {
            let module = tests.strip_prefix("inside::").expect("they are in that file");
            let begin = source.find(&format!("\nmod {module} {{\n")).expect("it is there");
            let (before, after) = source.split_at(begin);
            let condition = before.lines().last().expect("it has one");
            assert!(condition.contains(&format!("feature = \"{feature}\"")), "{condition}");
            assert!(after.contains("    #[test]\n"), "{module} has tests");
        }
    }

    #[test]
    fn an_unknown_wish_is_refused() {
        assert!(parse(&["--fuzzy".to_owned()]).is_err());
        assert!(parse(&["--fuzz".to_owned()]).is_ok_and(|wishes| wishes.fuzz));
    }
}
