//! The log of the servers behind the one that is served: lines that a thread of its own writes to
//! stderr, so that nobody who does not read them holds up an answer. What does not fit is left out
//! and counted. Told by `behind`.

use crate::print::Printer;
use haft_gateway::limits::LOG_LINES_MAX;
use haft_gateway::{Change, Event, News};
use serde_json::{Value, json};
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
    Upstream { line: Option<String>, is_good: bool, event: Value },
    Stderr { upstream: String, line: String },
}

impl Line {
    fn of(event: &Event<'_>) -> Self {
        let mut told = json!({"name": event.upstream});
        if let Some(instance) = event.instance {
            told["instance"] = json!(instance);
        }
        let (state, reason) = match &event.change {
            Change::Back { after } => {
                told["after_s"] = json!(after.as_secs_f64());
                ("ready", None)
            }
            Change::Ready => ("ready", None),
            Change::Down { reason } => ("down", Some(reason)),
            Change::Restarts { reason } => ("connecting", Some(reason)),
            Change::Unedited { reason } => ("unedited", Some(reason)),
        };
        told["state"] = json!(state);
        told["reason"] = json!(reason);
        let is_good = matches!(event.change, Change::Back { .. });
        // People are told of what goes wrong, and of its end.
        let line = (event.change != Change::Ready).then(|| event.to_string());
        Self::Upstream { line, is_good, event: json!({ "upstream": told }) }
    }
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
            News::Upstream(event) => Line::of(&event),
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
            Line::Upstream { event, .. } if printer.is_json() => printer.event(&event),
            Line::Upstream { line: None, .. } => {}
            Line::Upstream { line: Some(line), is_good: true, .. } => printer.remark(&line),
            Line::Upstream { line: Some(line), .. } => printer.warn(&line),
            Line::Stderr { upstream, line } => printer.said(&upstream, &line),
        }
        let lost = lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            printer.warn(&format!("{lost} lines of the log are left out: they were not read"));
        }
    }
}
