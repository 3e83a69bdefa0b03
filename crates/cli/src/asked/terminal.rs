//! Lines that a person types. One thread reads stdin, only when a line is wanted, because reading
//! blocks; a line that is no longer wanted belongs to the next who wants one. It prints nothing but
//! the end of a line that nobody ended.

use std::io;
use std::sync::mpsc::SyncSender;
use tokio::sync::{Mutex, mpsc};

/// The terminal that stdin is.
#[derive(Debug)]
pub(crate) struct Terminal(Mutex<Option<Lines>>);

#[derive(Debug)]
struct Lines {
    wanted: SyncSender<()>,
    typed: mpsc::Receiver<Option<String>>,
    /// Whether the thread reads a line that nobody has taken.
    is_reading: bool,
}

impl Terminal {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// The next line without its end; nothing after Ctrl-D, or if stdin cannot be read.
    pub(crate) async fn line(&self) -> Option<String> {
        let mut lines = self.0.lock().await;
        let lines = lines.get_or_insert_with(Lines::start);
        if !lines.is_reading {
            // It has room: the thread has taken every wish before it.
            lines.wanted.try_send(()).ok()?;
            lines.is_reading = true;
        }
        let line = lines.typed.recv().await.flatten();
        lines.is_reading = false;
        line
    }
}

impl Lines {
    fn start() -> Self {
        let (wanted, wishes) = std::sync::mpsc::sync_channel(1);
        let (sender, typed) = mpsc::channel(1);
        // It ends with the process, or when nobody can want a line any more.
        std::thread::spawn(
            move || {
                while wishes.recv().is_ok() && sender.blocking_send(read()).is_ok() {}
            },
        );
        Self { wanted, typed, is_reading: false }
    }
}

fn read() -> Option<String> {
    let mut line = String::new();
    match io::stdin().read_line(&mut line) {
        Ok(1..) => Some(line.trim_end_matches(['\n', '\r']).to_owned()),
        Ok(0) | Err(_) => None,
    }
}
