//! The log of the servers behind the one that is served: lines that a thread of its own writes to
//! stderr, so that nobody who does not read them holds up an answer. What does not fit is left out
//! and counted. Told by `behind`.

use crate::print::Printer;
use haft_gateway::News;
use haft_gateway::limits::LOG_LINES_MAX;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// See above.
pub(crate) struct Log {
    lines: SyncSender<Line>,
    lost: Arc<AtomicU64>,
}

enum Line {
    Odd(String),
    Recovered(String),
    Stderr { upstream: String, line: String },
}

impl Log {
    /// Ends with this, once all that waits is written.
    pub(crate) fn new(printer: Printer) -> Self {
        let (lines, written) = sync_channel(LOG_LINES_MAX);
        let lost = Arc::<AtomicU64>::default();
        let counted = Arc::clone(&lost);
        thread::spawn(move || write(&written, &counted, printer));
        Self { lines, lost }
    }

    /// Writes it soon, or never.
    pub(crate) fn tell(&self, news: News<'_>) {
        let line = match news {
            News::Odd(line) => Line::Odd(line.to_owned()),
            News::Recovered(line) => Line::Recovered(line.to_owned()),
            News::Stderr { upstream, line } => {
                Line::Stderr { upstream: upstream.to_owned(), line: line.to_owned() }
            }
        };
        if self.lines.try_send(line).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn write(lines: &Receiver<Line>, lost: &AtomicU64, printer: Printer) {
    for line in lines {
        match line {
            Line::Odd(line) => printer.warn(&line),
            Line::Recovered(line) => printer.remark(&line),
            Line::Stderr { upstream, line } => printer.said(&upstream, &line),
        }
        let lost = lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            printer.warn(&format!("{lost} lines of the log are left out: they were not read"));
        }
    }
}
