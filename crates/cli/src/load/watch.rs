//! What moves on stderr while a load goes on, and Ctrl-C, which ends it early with what was
//! measured until then.

use crate::exit::{Exit, Failure};
use crate::meter::Meter;
use crate::print::Printer;
use crate::reach::interruption;
use haft_bench::Progress;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Somebody who watches a load.
pub(crate) struct Watch {
    meter: Meter,
    is_interrupted: Arc<AtomicBool>,
    whole: Duration,
    last: Option<Progress>,
}

/// After so many wrong answers and not one good one, the rest would be no better.
const HOPELESS: u64 = 100;

impl Watch {
    /// Watches a load that takes `whole`, as far as that is known.
    pub(crate) fn new(printer: Printer, whole: Duration) -> Result<Self, Failure> {
        let is_interrupted = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&is_interrupted);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| {
            Failure::new(Exit::Other, format!("cannot wait for signals: {error}"))
        })?;
        // It waits for as long as the process lives.
        std::thread::spawn(move || {
            runtime.block_on(interruption());
            flag.store(true, Ordering::Relaxed);
        });
        Ok(Self { meter: Meter::new(printer), is_interrupted, whole, last: None })
    }

    /// Shows how it goes; false if it is to end.
    pub(crate) fn tell(&mut self, progress: Progress) -> bool {
        let since = self.last.map_or(Duration::ZERO, |last| last.elapsed);
        let before = self.last.map_or(0, |last| last.answers);
        let seconds = progress.elapsed.saturating_sub(since).as_secs_f64();
        let rate = progress.answers.saturating_sub(before) as f64 / seconds.max(1e-9);
        let wrong = match progress.failures {
            0 => String::new(),
            count => format!(", {count} wrong"),
        };
        let share = progress.elapsed.as_secs_f64() / self.whole.as_secs_f64().max(1e-9);
        self.meter.fill(share, format!("{rate:.0} answers/s{wrong}"));
        self.last = Some(progress);
        let is_hopeless = progress.answers == 0 && progress.failures >= HOPELESS;
        !is_hopeless && !self.is_interrupted()
    }

    /// Shows that so many of all are done; false if it is to end.
    pub(crate) fn count(&self, done: u64, all: u64) -> bool {
        self.meter.fill(done as f64 / all.max(1) as f64, format!("{done} of {all}"));
        !self.is_interrupted()
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.is_interrupted.load(Ordering::Relaxed)
    }
}
