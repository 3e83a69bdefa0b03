//! Instructions of a benchmark's cases, by callgrind: what can be compared on a machine that is
//! busy. A benchmark's `main` calls it; it runs the benchmark itself once more, under valgrind.

use std::error::Error;
use std::process::{Command, Stdio};

/// How often a case runs, first and then: the difference leaves out the start.
const TIMES: [u32; 2] = [200, 1200];
/// Copies without `rep movsb`, of which callgrind counts each byte, and without wide registers.
const PLAIN_COPIES: &str =
    "glibc.cpu.hwcaps=-AVX2,-AVX512F,-AVX512VL,-ERMS,-FSRM,-AVX_Fast_Unaligned_Load,-Prefer_ERMS";

/// What the command line asks of a benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// One case, so many times, and nothing else.
    Run(String, u32),
    /// The instructions of all cases: `--instructions`.
    Instructions,
    /// Anything else: times.
    Times,
}

/// Reads the command line.
#[must_use]
pub fn wish() -> Wish {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [word, case, times] if word == "--run" => match times.parse() {
            Ok(times) => Wish::Run(case.clone(), times),
            Err(_) => Wish::Times,
        },
        words if words.iter().any(|word| word == "--instructions") => Wish::Instructions,
        _ => Wish::Times,
    }
}

/// How many instructions one turn of a case takes.
///
/// # Errors
/// What valgrind says, or that it is not there.
pub fn of(case: &str) -> Result<u64, Box<dyn Error>> {
    let [few, many] = TIMES;
    Ok((collected(case, many)?.saturating_sub(collected(case, few)?)) / u64::from(many - few))
}

fn collected(case: &str, times: u32) -> Result<u64, Box<dyn Error>> {
    let mut valgrind = Command::new("valgrind");
    valgrind.env("GLIBC_TUNABLES", PLAIN_COPIES);
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind.arg(std::env::current_exe()?).args(["--run", case, &times.to_string()]);
    let ended = valgrind.stdin(Stdio::null()).output()?;
    let told = String::from_utf8_lossy(&ended.stderr);
    let count = told.split_once("Collected :").and_then(|(_, behind)| {
        behind.split_whitespace().next()?.parse().ok().filter(|_| ended.status.success())
    });
    count.ok_or_else(|| format!("valgrind fails: {told}").into())
}
