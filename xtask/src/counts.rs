//! `cargo xtask counts`: instructions of single messages, by callgrind, against those of
//! `benchmarks/instructions.txt`. Unlike times they are the same on a busy machine. `test` calls it
//! too; it never judges counts of another compiler, and writes the file only with `--update`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::process::Command;

use crate::callgrind;
use crate::command;
use crate::failure::Failure;

const BASELINE: &str = "benchmarks/instructions.txt";
/// What `benchmarks/src/bin/counted.rs` knows.
const SCENARIOS: [&str; 6] =
    ["envelope", "error", "legacy_call", "modern_call", "refused_call", "list"];
/// How much more a message may take than it did, and how much less untold, in thousandths.
const CHANGE_MAX: u64 = 30;
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
    let verdict = judge(&before, &now)?;
    for fallen in fallen(&before, &now) {
        println!("{fallen}");
    }
    Ok(verdict)
}

/// What to say of what takes less by as much as would be red if it were more: until the file says
/// so, a part of it can be lost again unseen.
fn fallen(before: &Counts, now: &Counts) -> Vec<String> {
    if before.compiler != now.compiler {
        return Vec::new();
    }
    let has_fallen = |scenario: &String, now: u64| {
        let before = *before.scenarios.get(scenario)?;
        (now * 1000 < before * (1000 - CHANGE_MAX)).then(|| {
            format!(
                "`{scenario}` takes {now} instructions a message, {before} before: run \
                 `cargo xtask counts --update`, so that it stays so"
            )
        })
    };
    now.scenarios.iter().filter_map(|(scenario, now)| has_fallen(scenario, *now)).collect()
}

fn judge(before: &Counts, now: &Counts) -> Result<Verdict, Failure> {
    if before.compiler != now.compiler {
        return Ok(Verdict::NotJudged(format!(
            "no count of instructions was judged, as another compiler or C library makes others: \
             {BASELINE} is of {}, and this is {}; `cargo xtask counts --update` writes it anew, \
             of a commit that is known to be good",
            before.compiler, now.compiler
        )));
    }
    for (scenario, now) in &now.scenarios {
        let Some(before) = before.scenarios.get(scenario) else {
            return Err(unusable(&format!(
                "it has no `{scenario}`, run `cargo xtask counts --update`"
            )));
        };
        if now * 1000 > before * (1000 + CHANGE_MAX) {
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
    let mut cargo = command::cargo();
    cargo.args(["build", "--release", "--package", "haft-benchmarks", "--bin", "counted"]);
    let binary = command::built(&mut cargo, "counted")?;
    let mut scenarios = BTreeMap::new();
    for scenario in SCENARIOS {
        scenarios.insert(scenario.to_owned(), callgrind::each(&binary, scenario)?);
    }
    Ok(Counts { compiler: compiler()?, scenarios })
}

/// The compiler, the processor that it compiles for and what it was told besides, the C library,
/// whose copies count as well, and who counted.
fn compiler() -> Result<String, Failure> {
    let version = command::output(Command::new("rustc").arg("--version"))?;
    let library = command::output(Command::new("getconf").arg("GNU_LIBC_VERSION"));
    let library = library.unwrap_or_else(|_| "another C library".to_owned());
    let flags = ["CARGO_ENCODED_RUSTFLAGS", "RUSTFLAGS"].map(|name| std::env::var(name).ok());
    Ok(key(&version, &library, &callgrind::version()?, flags))
}

/// One line of all that counts depend on. Where cargo is told flags twice, it takes the first.
fn key(rustc: &str, library: &str, valgrind: &str, flags: [Option<String>; 2]) -> String {
    let [encoded, plain] = flags;
    let flags = encoded.map(|flags| flags.replace('\u{1f}', " ")).or(plain).unwrap_or_default();
    let flags = if flags.trim().is_empty() { "no flags".to_owned() } else { flags };
    let flags = flags.split_whitespace().collect::<Vec<_>>().join(" ");
    let (rustc, library) = (rustc.trim(), library.trim());
    format!("{rustc} on {} with {library}, {flags}, by {valgrind}", std::env::consts::ARCH)
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
    use super::{Counts, Failure, Verdict, fallen, judge, table};

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
        assert!(why.starts_with("no count of instructions was judged"), "{why}");
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
    fn a_fall_is_told_as_a_growth_is() {
        let before = counts("rustc 1", 2000);
        let told = |list: u64| fallen(&before, &counts("rustc 1", list));
        assert!(told(1940).is_empty() && told(2500).is_empty());
        let [said] = &told(1939)[..] else { panic!("one has fallen") };
        assert!(said.contains("`list`") && said.contains("counts --update"), "{said}");
        assert!(fallen(&before, &counts("rustc 2", 100)).is_empty(), "of another compiler");
    }

    #[test]
    fn counts_of_other_flags_or_another_valgrind_are_of_another_compiler() {
        let some = |flags: &str| Some(flags.to_owned());
        let key = |valgrind, flags| super::key("rustc 1\n", "glibc 2\n", valgrind, flags);
        let plain = key("valgrind-3.19.0", [None, None]);
        assert_eq!(plain, key("valgrind-3.19.0", [None, some(" ")]));
        let native = key("valgrind-3.19.0", [None, some("-C  target-cpu=native")]);
        assert!(native.contains("-C target-cpu=native") && native != plain, "{native}");
        assert_eq!(native, key("valgrind-3.19.0", [some("-C\u{1f}target-cpu=native"), None]));
        assert_ne!(plain, key("valgrind-3.20.0", [None, None]));
        assert_eq!(plain.lines().count(), 1, "it is the first line of the file");
    }
}
