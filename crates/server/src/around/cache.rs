//! What was answered a moment ago is answered again, without a call.

use super::{only_reads, size};
use crate::canonical;
use crate::middleware::{Handling, Middleware, Next, Outcome, Request};
use haft_proto::encode;
use haft_proto::spec::tool_result::ToolResult;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Keeps results for a time: of tools that are `readOnly` by their annotations, for the same
/// arguments (however they are ordered or spaced) of the same principal. Failures are not kept, and
/// nothing of tools that change something: to be told again that it was done is not to do it. A
/// tool whose answer depends on more than its arguments and who asks, on HTTP headers say, must not
/// have one.
#[derive(Clone, Debug)]
pub struct Cache {
    ttl: Duration,
    entries_max: usize,
    bytes_max: usize,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    by_key: FxHashMap<Arc<[u8]>, Entry>,
    /// In the order in which they end.
    order: VecDeque<(Instant, Arc<[u8]>)>,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    result: ToolResult,
    until: Instant,
    bytes: usize,
}

impl Cache {
    /// Keeps results for so long: at most 1024, of 16 MiB together.
    #[must_use]
    pub fn new(ttl: Duration) -> Self {
        Self { ttl, entries_max: 1024, bytes_max: 16 * 1024 * 1024, kept: Arc::default() }
    }

    /// The most results that are kept; the oldest give way.
    #[must_use]
    pub fn entries_max(mut self, entries: usize) -> Self {
        self.entries_max = entries;
        self
    }

    /// The most bytes of results and arguments that are kept.
    #[must_use]
    pub fn bytes_max(mut self, bytes: usize) -> Self {
        self.bytes_max = bytes;
        self
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, key: &[u8]) -> Option<ToolResult> {
        let kept = self.kept();
        let entry = kept.by_key.get(key).filter(|entry| entry.until > Instant::now())?;
        Some(entry.result.clone())
    }

    fn keep(&self, key: Vec<u8>, result: &ToolResult) {
        let bytes = key.len() + size(result);
        if bytes > self.bytes_max || self.entries_max == 0 {
            return;
        }
        let (now, key) = (Instant::now(), Arc::<[u8]>::from(key));
        let Some(until) = now.checked_add(self.ttl) else { return };
        let mut kept = self.kept();
        kept.remove(&key);
        while kept.bytes + bytes > self.bytes_max || kept.by_key.len() >= self.entries_max {
            if !kept.remove_oldest() {
                break;
            }
        }
        kept.forget(now);
        kept.bytes += bytes;
        kept.order.push_back((until, Arc::clone(&key)));
        kept.by_key.insert(key, Entry { result: result.clone(), until, bytes });
    }
}

impl Kept {
    fn remove(&mut self, key: &[u8]) {
        if let Some(entry) = self.by_key.remove(key) {
            self.bytes -= entry.bytes;
        }
    }

    /// Removes what was kept first, or a trace of what is gone; false if there is nothing.
    fn remove_oldest(&mut self) -> bool {
        let Some((until, key)) = self.order.pop_front() else { return false };
        // What was kept again since has another end.
        if self.by_key.get(&key).is_some_and(|entry| entry.until == until) {
            self.remove(&key);
        }
        true
    }

    /// Forgets what has ended.
    fn forget(&mut self, now: Instant) {
        while self.order.front().is_some_and(|(until, _)| *until <= now) {
            self.remove_oldest();
        }
    }
}

/// What a result is kept under.
fn key(request: &Request) -> Vec<u8> {
    let mut key = Vec::with_capacity(64 + request.arguments.len());
    let (kind, name) = request.context.principal().key();
    for part in [kind, name, &request.name] {
        encode::string(&mut key, part);
    }
    canonical::append(&mut key, &request.arguments);
    key
}

impl Middleware for Cache {
    fn handle(&self, request: Request, next: Next) -> Handling {
        if !only_reads(&request) {
            return next.run(request);
        }
        let key = key(&request);
        if let Some(result) = self.find(&key) {
            return Box::pin(std::future::ready(Outcome::Tool(result)));
        }
        let (cache, handling) = (self.clone(), next.run(request));
        Box::pin(async move {
            let outcome = handling.await;
            if let Outcome::Tool(result) = &outcome
                && !result.is_error
            {
                cache.keep(key, result);
            }
            outcome
        })
    }
}
