//! `cargo xtask counts`: instructions of single messages, by callgrind, against those of
//! `benchmarks/instructions.txt`. Unlike times they are the same on a busy machine. `test` calls it
//! too; it never judges counts of another compiler, and writes the file only with `--update`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::process::{Command, Stdio};

use crate::command;
use crate::failure::Failure;

const BASELINE: &str = "benchmarks/instructions.txt";
/// What `benchmarks/src/bin/counted.rs` knows.
const SCENARIOS: [&str; 6] =
    ["envelope", "error", "legacy_call", "modern_call", "refused_call", "list"];
/// How often each scenario runs, first and then. The difference leaves out the start.
const TIMES: [u64; 2] = [500, 1500];
/// How much more a message may take than it did, in thousandths.
const GROWTH_MAX: u64 = 30;
/// Copies without what some processors have and others have not: `rep movsb`, of which callgrind
/// counts each byte, and wide registers. What a C library does not know of these it ignores.
const PLAIN_COPIES: &str =
    "glibc.cpu.hwcaps=-AVX2,-AVX512F,-AVX512VL,-ERMS,-FSRM,-AVX_Fast_Unaligned_Load,-Prefer_ERMS";

/// Instructions for each message, and what they were counted with.
#[derive(Debug, PartialEq, Eq)]
struct Counts {
    /// The compiler, the processor and the C library.
    compiler: String,
    scenarios: BTreeMap<String, u64>,
}

/// What came of a comparison.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing takes more than it may.
    Within,
    /// The counts are of another compiler than the baseline, with why that is so.
    NotJudged(String),
}

/// Counts and judges, or writes a new baseline.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    match arguments {
        [] => {
            if let Verdict::NotJudged(why) = judge_all()? {
                println!("not judged: {why}");
            }
            Ok(())
        }
        [only] if only == "--update" => {
            let counts = count()?;
            fs::write(BASELINE, counts.to_text())
                .map_err(|source| Failure::file(BASELINE, source))?;
            print!("{BASELINE} is now:\n{}", counts.to_text());
            Ok(())
        }
        _ => Err(Failure::BadArguments("`counts` takes `--update` or nothing".to_owned())),
    }
}

/// Counts, tells, and compares with the baseline.
pub(crate) fn judge_all() -> Result<Verdict, Failure> {
    let text = fs::read_to_string(BASELINE).map_err(|source| Failure::file(BASELINE, source))?;
    let before = Counts::parse(&text)?;
    let now = count()?;
    print!("{}", table(&before, &now));
    judge(&before, &now)
}

fn judge(before: &Counts, now: &Counts) -> Result<Verdict, Failure> {
    if before.compiler != now.compiler {
        return Ok(Verdict::NotJudged(format!(
            "{BASELINE} is of {}, and this is {}; `cargo xtask counts --update` writes it anew",
            before.compiler, now.compiler
        )));
    }
    for (scenario, now) in &now.scenarios {
        let Some(before) = before.scenarios.get(scenario) else {
            return Err(unusable(&format!(
                "it has no `{scenario}`, run `cargo xtask counts --update`"
            )));
        };
        if now * 1000 > before * (1000 + GROWTH_MAX) {
            let (scenario, before, now) = (scenario.clone(), *before, *now);
            return Err(Failure::MoreInstructions { scenario, before, now });
        }
    }
    Ok(Verdict::Within)
}

fn table(before: &Counts, now: &Counts) -> String {
    let lines = now.scenarios.iter().map(|(scenario, now)| {
        let change = before.scenarios.get(scenario).map_or_else(String::new, |before| {
            format!("{:+.2}%", (*now as f64 / *before as f64 - 1.0) * 100.0)
        });
        format!("{scenario:<14} {now:>8} {change:>8}\n")
    });
    format!("{:<14} {:>8} {:>8}\n{}", "scenario", "now", "change", lines.collect::<String>())
}

/// Builds the scenarios and runs each.
fn count() -> Result<Counts, Failure> {
    let binary = build()?;
    let mut scenarios = BTreeMap::new();
    for scenario in SCENARIOS {
        let [few, many] = TIMES;
        let few_took = instructions(&binary, scenario, few)?;
        let many_took = instructions(&binary, scenario, many)?;
        let each = many_took.saturating_sub(few_took) / (many - few);
        if each == 0 {
            let said = format!("`{scenario}` takes no instructions, so `counted` does nothing");
            return Err(Failure::MachineLacks(said));
        }
        scenarios.insert(scenario.to_owned(), each);
    }
    Ok(Counts { compiler: compiler()?, scenarios })
}

/// The path of the binary, as cargo tells it.
fn build() -> Result<String, Failure> {
    let mut cargo = command::cargo();
    cargo.args(["build", "--release", "--package", "haft-benchmarks", "--bin", "counted"]);
    let told = command::output(cargo.arg("--message-format=json-render-diagnostics"))?;
    let executable = |line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        message.get("executable")?.as_str().map(str::to_owned)
    };
    told.lines()
        .find_map(executable)
        .ok_or_else(|| Failure::MachineLacks("cargo tells of no binary, update Rust".to_owned()))
}

/// What a run takes from its first instruction to its last.
fn instructions(binary: &str, scenario: &str, times: u64) -> Result<u64, Failure> {
    let mut valgrind = Command::new("valgrind");
    valgrind.env("GLIBC_TUNABLES", PLAIN_COPIES).args([
        "--tool=callgrind",
        "--callgrind-out-file=/dev/null",
        binary,
        scenario,
        &times.to_string(),
    ]);
    let line = command::line(&valgrind);
    let missing = |source| Failure::CommandMissing { line, source };
    let ended = valgrind.stdin(Stdio::null()).output().map_err(missing)?;
    let told = String::from_utf8_lossy(&ended.stderr);
    if !ended.status.success() {
        print!("{told}");
    }
    command::judge(&valgrind, ended.status)?;
    collected(&told).ok_or_else(|| {
        print!("{told}");
        Failure::MachineLacks("valgrind tells of no instructions, update it".to_owned())
    })
}

/// The number behind `Collected :` in what callgrind tells.
fn collected(told: &str) -> Option<u64> {
    let (_, behind) = told.split_once("Collected :")?;
    behind.split_whitespace().next()?.parse().ok()
}

/// The compiler, the processor that it compiles for, and the C library, whose copies count as well.
fn compiler() -> Result<String, Failure> {
    let version = command::output(Command::new("rustc").arg("--version"))?;
    let library = command::output(Command::new("getconf").arg("GNU_LIBC_VERSION"));
    let library = library.unwrap_or_else(|_| "another C library".to_owned());
    Ok(format!("{} on {} with {}", version.trim(), std::env::consts::ARCH, library.trim()))
}

impl Counts {
    fn to_text(&self) -> String {
        let lines = self.scenarios.iter().map(|(scenario, count)| format!("{scenario} {count}\n"));
        format!("{}\n{}", self.compiler, lines.collect::<String>())
    }

    fn parse(text: &str) -> Result<Self, Failure> {
        let mut lines = text.lines();
        let compiler = lines.next().unwrap_or_default().to_owned();
        let scenario = |line: &str| {
            let read = line.split_once(' ').and_then(|(name, count)| {
                Some((name.to_owned(), count.parse().ok().filter(|count| *count > 0)?))
            });
            read.ok_or_else(|| unusable(&format!("`{line}` is no scenario and its instructions")))
        };
        Ok(Self { compiler, scenarios: lines.map(scenario).collect::<Result<_, _>>()? })
    }
}

fn unusable(why: &str) -> Failure {
    Failure::file(BASELINE, io::Error::new(io::ErrorKind::InvalidData, why))
}

#[cfg(test)]
mod tests {
    use super::{Counts, Failure, Verdict, collected, judge, table};

    fn counts(compiler: &str, list: u64) -> Counts {
        let scenarios = [("envelope".to_owned(), 1000), ("list".to_owned(), list)].into();
        Counts { compiler: compiler.to_owned(), scenarios }
    }

    #[test]
    fn three_per_cent_more_is_within_and_a_little_more_is_not() {
        let before = counts("rustc 1", 2000);
        for few in [1, 1990, 2000, 2060] {
            assert_eq!(judge(&before, &counts("rustc 1", few)).ok(), Some(Verdict::Within));
        }
        let failure = judge(&before, &counts("rustc 1", 2061)).expect_err("more than 3%");
        assert!(matches!(failure, Failure::MoreInstructions { before: 2000, now: 2061, .. }));
        let said = failure.to_string();
        assert!(
            said.contains("`list`") && said.contains("2000") && said.contains("2061"),
            "{said}"
        );
        assert!(said.contains("+3.05%") && said.contains("cargo xtask counts --update"), "{said}");
    }

    #[test]
    fn counts_of_another_compiler_are_told_and_not_judged() {
        let (before, now) = (counts("rustc 1", 2000), counts("rustc 2", 9000));
        let Ok(Verdict::NotJudged(why)) = judge(&before, &now) else { panic!("it judged") };
        assert!(why.contains("rustc 1") && why.contains("rustc 2"), "{why}");
        assert!(table(&before, &now).contains("+350.00%"));
    }

    #[test]
    fn a_scenario_without_a_baseline_is_no_success() {
        let (mut before, now) = (counts("rustc 1", 2000), counts("rustc 1", 2000));
        before.scenarios.remove("list");
        let said = judge(&before, &now).expect_err("nothing to compare with").to_string();
        assert!(said.contains("`list`") && said.contains("--update"), "{said}");
    }

    #[test]
    fn what_is_written_is_read_again() {
        let written = counts("rustc 1.95.0 (59807616e) on x86_64", 2000);
        assert_eq!(Counts::parse(&written.to_text()).ok(), Some(written));
        for broken in ["rustc 1\nlist", "rustc 1\nlist many", "rustc 1\nlist 0", "rustc 1\n\n"] {
            assert!(Counts::parse(broken).is_err(), "{broken:?}");
        }
    }

    #[test]
    fn the_count_is_found_in_what_callgrind_tells() {
        let told = "==7== Events    : Ir\n==7== Collected : 4711\n==7== \n";
        assert_eq!(collected(told), Some(4711));
        assert_eq!(collected("==7== Segmentation fault"), None);
    }
}
