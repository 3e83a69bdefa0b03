//! Looks where the processor is, many times for each second that it works, and draws what was seen.

use crate::exit::{Exit, Failure};
use pprof::{ProfilerGuard, ProfilerGuardBuilder};

/// How often it looks, for each second of processor time. No whole part of what timers do, so that
/// it does not look at the same moment each time.
const LOOKS_PER_SECOND: i32 = 997;

/// A profile of this whole process, of which there can be one at a time.
pub(crate) struct Profile(ProfilerGuard<'static>);

impl Profile {
    /// # Errors
    /// There is one already, or this haft follows its heap.
    pub(crate) fn begin() -> Result<Self, Failure> {
        // Both unwind the stack, one of them in a signal and so in the middle of the other.
        if cfg!(feature = "heap-profile") {
            let message = "--profile: this haft was built with the feature `heap-profile` as well";
            let failure = Failure::new(Exit::Usage, message);
            return Err(failure.hint("cargo build --release -p haft-cli --features profile has it"));
        }
        // The libraries of C are no place to unwind from inside a signal.
        let builder = ProfilerGuardBuilder::default()
            .frequency(LOOKS_PER_SECOND)
            .blocklist(&["libc", "libgcc", "pthread", "vdso"]);
        builder.build().map(Self).map_err(|error| failed(&error))
    }

    /// Ends it and draws a flame graph: an SVG that needs nothing but a browser.
    ///
    /// # Errors
    /// It cannot be drawn; nothing was seen, say, because there was nothing to do.
    pub(crate) fn end(self) -> Result<String, Failure> {
        let report = self.0.report().build().map_err(|error| failed(&error))?;
        if report.data.is_empty() {
            let message = "--profile: the processor had nothing to do, so there is nothing to draw";
            return Err(Failure::new(Exit::Other, message));
        }
        let mut svg = Vec::new();
        report.flamegraph(&mut svg).map_err(|error| failed(&error))?;
        Ok(String::from_utf8_lossy(&svg).into_owned())
    }
}

fn failed(error: &pprof::Error) -> Failure {
    Failure::new(Exit::Other, format!("--profile: {error}"))
}
