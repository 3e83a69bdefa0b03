//! Instructions of one turn of something, by valgrind's callgrind: unlike times, they are the same
//! on a busy machine. `counts` and `bench` call it; it judges nothing.

use std::process::{Command, Stdio};

use crate::command;
use crate::failure::Failure;

/// How often a case runs, first and then. The difference leaves out the start.
const TIMES: [u64; 2] = [500, 1500];
/// Copies without what some processors have and others have not: `rep movsb`, of which callgrind
/// counts each byte, and wide registers. What a C library does not know of these it ignores.
const PLAIN_COPIES: &str =
    "glibc.cpu.hwcaps=-AVX2,-AVX512F,-AVX512VL,-ERMS,-FSRM,-AVX_Fast_Unaligned_Load,-Prefer_ERMS";

/// What one turn of a case takes, in a program that understands `--run CASE TIMES`.
pub(crate) fn each(program: &str, case: &str) -> Result<u64, Failure> {
    let [few, many] = TIMES;
    let few_took = instructions(program, case, few)?;
    let many_took = instructions(program, case, many)?;
    let each = many_took.saturating_sub(few_took) / (many - few);
    if each == 0 {
        let said = format!("`{case}` takes no instructions, so `{program}` does nothing");
        return Err(Failure::MachineLacks(said));
    }
    Ok(each)
}

/// Which valgrind there is.
pub(crate) fn version() -> Result<String, Failure> {
    command::output(Command::new("valgrind").arg("--version")).map(|line| line.trim().to_owned())
}

/// What a run takes from its first instruction to its last.
fn instructions(program: &str, case: &str, times: u64) -> Result<u64, Failure> {
    let mut valgrind = Command::new("valgrind");
    valgrind.env("GLIBC_TUNABLES", PLAIN_COPIES);
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind.args([program, "--run", case, &times.to_string()]);
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

#[cfg(test)]
mod tests {
    use super::collected;

    #[test]
    fn the_count_is_found_in_what_callgrind_tells() {
        let told = "==7== Events    : Ir\n==7== Collected : 4711\n==7== \n";
        assert_eq!(collected(told), Some(4711));
        assert_eq!(collected("==7== Segmentation fault"), None);
    }
}
