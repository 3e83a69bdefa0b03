//! Why a chore failed, each mistake by name. Chores return it and `main` prints it; of the
//! output that was shown it carries only what failed tests said.

use std::fmt;
use std::io;

/// What went wrong, as one sentence that says what to do.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The person typed something that no chore understands.
    BadArguments(String),
    /// A program ran and said no; its own output is above.
    CommandFailed { line: String, code: Option<i32> },
    /// A program ran longer than it may in CI.
    CommandHung { line: String, minutes: u32 },
    /// A program could not be started at all.
    CommandMissing { line: String, source: io::Error },
    /// A file or folder could not be read or written.
    FileUnusable { path: String, source: io::Error },
    /// Something that haft promises is not so; what was seen instead.
    Disproved(String),
    /// The fuzzer found an input that crashes the target.
    InputCrashes { target: String, input: String },
    /// The machine lacks something; the sentence says how to get it.
    MachineLacks(String),
    /// A message takes more instructions than it may.
    MoreInstructions { scenario: String, before: u64, now: u64 },
    /// The conformance suite is not content; the findings are above.
    NotConformant { findings: usize },
    /// The conformance suite could not be run, or does not write what it used to.
    SuiteBroken(String),
    /// A gateway did not stand a soak; what was wrong is above.
    Soaked { findings: u64, seed: u64 },
    /// Files break rules; the findings are above.
    Untidy { findings: usize },
    /// Tests failed; what they said.
    TestsFailed { line: String, said: String },
    /// Steps of `test` failed; the closing line has said so.
    StepsFailed,
}

impl Failure {
    pub(crate) fn file(path: impl fmt::Display, source: io::Error) -> Self {
        Self::FileUnusable { path: path.to_string(), source }
    }

    /// What the end of a long log should tell once more.
    pub(crate) fn retold(&self) -> Option<&str> {
        match self {
            Self::TestsFailed { said, .. } => Some(said),
            _ => None,
        }
    }

    /// 2 for a mistake in the arguments, 1 for everything else.
    pub(crate) const fn exit_code(&self) -> u8 {
        if matches!(self, Self::BadArguments(_)) { 2 } else { 1 }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadArguments(said)
            | Self::Disproved(said)
            | Self::MachineLacks(said)
            | Self::SuiteBroken(said) => f.write_str(said),
            Self::CommandFailed { line, code: Some(code) } => {
                write!(f, "`{line}` ended with exit code {code}, see its output above")
            }
            Self::CommandFailed { line, code: None } => {
                write!(f, "`{line}` was ended by a signal")
            }
            Self::CommandHung { line, minutes } => {
                write!(f, "`{line}` was ended because it took longer than {minutes} minutes")
            }
            Self::CommandMissing { line, source } => {
                write!(f, "`{line}` could not start ({source}), install it first")
            }
            Self::FileUnusable { path, source } => write!(f, "{path} is not usable: {source}"),
            Self::InputCrashes { target, input } => write!(
                f,
                "{target} crashes on {input}, repeat it with: cargo xtask fuzz {target} {input}"
            ),
            Self::MoreInstructions { scenario, before, now } => write!(
                f,
                "`{scenario}` takes {now} instructions a message, {before} before ({:+.2}%): mend \
                 it, or accept it by `cargo xtask counts --update` and say why in the commit",
                (*now as f64 / *before as f64 - 1.0) * 100.0
            ),
            Self::NotConformant { findings } => {
                write!(f, "{findings} findings, see them above; conformance/README.md says more")
            }
            Self::Soaked { findings, seed } => write!(
                f,
                "{findings} findings, see them above, once more with the same seed: \
                 cargo xtask soak --seed {seed}"
            ),
            Self::Untidy { findings } => {
                write!(f, "{findings} findings, see them above; STYLE.md has the rules")
            }
            Self::TestsFailed { line, .. } => write!(f, "tests of `{line}` failed, see above"),
            Self::StepsFailed => f.write_str("not everything passed, see the steps above"),
        }
    }
}
