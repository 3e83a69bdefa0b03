//! Sees when a file that is served has been edited, or one that it names, and reads it anew. Called
//! by `haft dev`, which tells of each edit.

use crate::fault::Fault;
use crate::live::lookout::{LOOK, Lookout, names, posts};
use crate::live::{Edit, Live};
use crate::stamp::Stamp;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

/// How long nothing may change before it is read: longer than the ticks of the clock of files, so
/// that no later change looks the same.
const UNCHANGED: Duration = Duration::from_millis(40);
/// How long somebody who writes is waited for.
const UNFINISHED_MAX: Duration = Duration::from_secs(2);

/// The edits of a file, from when it was read first.
pub struct Edits {
    live: Arc<Live>,
    lookout: Lookout,
    /// What was wrong when it was read last.
    fault: Option<Fault>,
}

/// What was seen of all that is read.
struct Looked {
    stamps: Vec<Stamp>,
    /// Something may not be what it was when it was read.
    is_touched: bool,
    /// Somebody is in the middle of writing something.
    is_written: bool,
}

impl Edits {
    /// Watches a file that is served.
    #[must_use]
    pub fn new(live: Arc<Live>) -> Self {
        Self { live, lookout: Lookout::default(), fault: None }
    }

    /// Waits for an edit that is worth telling, which is served by then; or for a fault that was
    /// not told before, and then nothing has changed. What is read is read when it has been the
    /// same for a moment.
    ///
    /// # Errors
    /// The [`Fault`].
    pub async fn next(&mut self) -> Result<Edit, Fault> {
        loop {
            let looked = self.look().await;
            if !looked.is_touched {
                self.lookout.heard(None).await;
                continue;
            }
            self.settle(looked).await;
            match self.live.read_again().await {
                Ok(edit) if edit.is_empty() && self.fault.is_none() => {}
                Ok(edit) => {
                    self.fault = None;
                    return Ok(edit);
                }
                Err(fault) if self.fault.as_ref() == Some(&fault) => {}
                Err(fault) => {
                    self.fault = Some(fault.clone());
                    return Err(fault);
                }
            }
        }
    }

    async fn settle(&mut self, mut looked: Looked) {
        let last = Instant::now() + UNFINISHED_MAX;
        loop {
            sleep(UNCHANGED).await;
            let now = self.look().await;
            let pairs = || looked.stamps.iter().zip(&now.stamps);
            let is_same = looked.stamps.len() == now.stamps.len()
                && pairs().all(|(before, now)| before.looks_like(*now));
            if (is_same && !now.is_written) || Instant::now() >= last {
                return;
            }
            looked = now;
        }
    }

    /// Looks at all that is read, which it watches from then on.
    async fn look(&mut self) -> Looked {
        let (live, mut lookout) = (Arc::clone(&self.live), std::mem::take(&mut self.lookout));
        let looking = spawn_blocking(move || {
            let files = live.files();
            let named: Vec<_> = files.keys().flat_map(|file| names(file)).collect();
            // Watched first and looked at then: nothing falls between.
            lookout.watch(&named.iter().flat_map(|name| posts(name)).collect());
            let stamps: Vec<_> = files.keys().map(|file| Stamp::of(file)).collect();
            let is_touched =
                files.values().zip(&stamps).any(|(before, now)| !before.is_still(*now));
            let is_written = named.iter().any(|name| lookout.is_written(name));
            (lookout, Looked { stamps, is_touched, is_written })
        });
        match looking.await {
            Ok((lookout, looked)) => {
                self.lookout = lookout;
                looked
            }
            // It panicked, and has said so. It watches anew, and not at once.
            Err(_) => {
                sleep(LOOK).await;
                Looked { stamps: Vec::new(), is_touched: true, is_written: false }
            }
        }
    }
}
