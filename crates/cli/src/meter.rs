//! What moves on stderr while a person waits: a spinner after the first second, a bar while a tool
//! reports progress, and plain lines where stderr is no terminal. It never writes to stdout.

use crate::print::{DIM, Printer, one_line};
use haft_client::Notice;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a person waits without being shown that something happens.
const PATIENCE: Duration = Duration::from_secs(1);
/// How many lines wait for the end of a conversation with a person; further ones are dropped.
const HELD_LINES_MAX: usize = 64;
const FRAME: Duration = Duration::from_millis(100);
/// The steps of a bar; progress is a fraction.
const STEPS: u64 = 1000;
const BAR: &str = "{bar:30.cyan} {percent:>3} % {msg}";
const SPINNER: &str = "{spinner:.cyan} {msg}";

/// Waits, and shows a spinner with `what` if that takes long.
pub(crate) async fn wait<T>(printer: Printer, what: &str, work: impl Future<Output = T>) -> T {
    Meter::new(printer).wait(what, work).await
}

/// Shows what a server says while its answer is waited for.
#[derive(Debug)]
pub(crate) struct Meter {
    printer: Printer,
    bar: Mutex<Option<ProgressBar>>,
    /// How many conversations with a person there are at the moment.
    pauses: AtomicUsize,
    /// Lines that wait for the end of a conversation.
    held: Mutex<Vec<String>>,
}

/// While it lives nothing moves on stderr, because a person is asked something there.
#[derive(Debug)]
pub(crate) struct Pause<'a>(&'a Meter);

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        if self.0.pauses.fetch_sub(1, Ordering::Relaxed) > 1 {
            return;
        }
        let mut held = self.0.held.lock().unwrap_or_else(PoisonError::into_inner);
        for line in held.drain(..) {
            self.0.printer.note(format_args!("{DIM}{line}{DIM:#}"));
        }
    }
}

impl Meter {
    pub(crate) fn new(printer: Printer) -> Self {
        Self { printer, bar: Mutex::default(), pauses: AtomicUsize::new(0), held: Mutex::default() }
    }

    /// Takes the bar away; it comes back with the next progress.
    pub(crate) fn pause(&self) -> Pause<'_> {
        self.pauses.fetch_add(1, Ordering::Relaxed);
        if let Some(bar) = self.bar().take() {
            bar.finish_and_clear();
        }
        Pause(self)
    }

    /// Waits; shows a spinner with `what` if that takes long and nothing else is shown.
    pub(crate) async fn wait<T>(&self, what: &str, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        if !self.printer.can_animate() {
            return work.await;
        }
        let done = tokio::select! {
            done = &mut work => done,
            () = tokio::time::sleep(PATIENCE) => {
                if !self.is_paused() {
                    self.bar().get_or_insert_with(|| spinner(what));
                }
                work.await
            }
        };
        if let Some(bar) = self.bar().take() {
            bar.finish_and_clear();
        }
        done
    }

    /// Shows one notice.
    pub(crate) fn show(&self, notice: &Notice) {
        match notice {
            Notice::Log { level, logger, data } => {
                let text = serde_json::from_str::<String>(data.get());
                let text = text.unwrap_or_else(|_| data.get().to_owned());
                let logger = logger.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
                self.aside(&one_line(&format!("{level}{logger}: {text}")));
            }
            Notice::Progress { progress, total, message } => {
                let message = one_line(message.as_deref().unwrap_or_default());
                if self.is_paused() {
                    // It would be written into somebody's answer.
                } else if self.printer.can_animate() {
                    self.advance(*progress, *total, message);
                } else {
                    self.aside(&progress_line(*progress, *total, &message));
                }
            }
            Notice::Status { message } => self.aside(&one_line(message)),
            // The command answers all that is asked, or offers nothing.
            Notice::Task | Notice::Unasked { .. } => {}
        }
    }

    /// Shows that a share of the work is done.
    pub(crate) fn fill(&self, share: f64, message: String) {
        if self.printer.can_animate() {
            self.advance(share, Some(1.0), message);
        }
    }

    fn advance(&self, progress: f64, total: Option<f64>, message: String) {
        let mut bar = self.bar();
        let bar = bar.get_or_insert_with(|| spinner(""));
        let Some(total) = total.filter(|total| *total > 0.0) else {
            bar.set_message(progress_line(progress, None, &message));
            return;
        };
        if bar.length() != Some(STEPS) {
            bar.set_style(style(BAR));
            bar.set_length(STEPS);
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to what a bar can show"
        )]
        bar.set_position(((progress / total).clamp(0.0, 1.0) * STEPS as f64) as u64);
        bar.set_message(message);
    }

    /// A line beside the bar, or after a conversation.
    fn aside(&self, line: &str) {
        if self.is_paused() {
            let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            if held.len() < HELD_LINES_MAX {
                held.push(line.to_owned());
            }
            return;
        }
        let print = || self.printer.note(format_args!("{DIM}{line}{DIM:#}"));
        match &*self.bar() {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    fn is_paused(&self) -> bool {
        self.pauses.load(Ordering::Relaxed) > 0
    }

    fn bar(&self) -> MutexGuard<'_, Option<ProgressBar>> {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is left of a bar when its call is given up.
impl Drop for Meter {
    fn drop(&mut self) {
        if let Some(bar) = self.bar().take() {
            bar.finish_and_clear();
        }
    }
}

fn progress_line(progress: f64, total: Option<f64>, message: &str) -> String {
    let total = total.map(|total| format!("/{total}")).unwrap_or_default();
    let colon = if message.is_empty() { "" } else { ": " };
    format!("progress {progress}{total}{colon}{message}")
}

fn spinner(what: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    bar.set_style(style(SPINNER));
    bar.set_message(what.to_owned());
    bar.enable_steady_tick(FRAME);
    bar
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_a_line_where_nothing_can_move() {
        assert_eq!(progress_line(3.0, Some(10.0), "reading"), "progress 3/10: reading");
        assert_eq!(progress_line(0.5, None, ""), "progress 0.5");
    }

    #[test]
    fn what_is_said_during_a_conversation_waits_within_a_bound() {
        let meter = Meter::new(Printer::new(true, false));
        let pause = meter.pause();
        for _ in 0..2 * HELD_LINES_MAX {
            meter.show(&Notice::Status { message: "half".to_owned() });
        }
        assert_eq!(meter.held.lock().expect("no panics").len(), HELD_LINES_MAX);
        drop(pause);
        assert_eq!(meter.held.lock().expect("no panics").len(), 0);
    }

    #[test]
    fn every_template_is_valid() {
        for template in [BAR, SPINNER] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }
}
