//! Somebody who asks for a long result and reads it slowly, again and again, until nobody wants it
//! any more. What it reads is thrown away.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::json;

use super::cases::{SLOW_BYTES, SLOW_PAUSE_MS};
use crate::soak::asking::{Client, Era};
use crate::soak::pause;

/// See above; it goes on until this is dropped.
pub(super) struct Reader {
    is_over: Arc<AtomicBool>,
    read: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    /// Begins to read the result of that tool.
    pub(super) fn begin(address: &'static str, tool: &'static str) -> Result<Self, String> {
        let client = Client::begin(address, Era::Modern)?;
        let (is_over, read) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let (over, count) = (Arc::clone(&is_over), Arc::clone(&read));
        let thread = thread::spawn(move || {
            let request = client.call_request(1, tool, &json!({}));
            while !over.load(Ordering::SeqCst) {
                // What goes wrong shows in how much was read.
                let Ok(mut stream) = TcpStream::connect(address) else { return };
                if stream.write_all(request.as_bytes()).is_err() {
                    return;
                }
                let mut buffer = vec![0; SLOW_BYTES];
                while let Ok(length @ 1..) = stream.read(&mut buffer) {
                    count.fetch_add(length as u64, Ordering::Relaxed);
                    if over.load(Ordering::SeqCst) {
                        return;
                    }
                    pause(Duration::from_millis(SLOW_PAUSE_MS));
                }
            }
        });
        Ok(Self { is_over, read, thread: Some(thread) })
    }

    /// Ends it; how many bytes it has read.
    pub(super) fn end(mut self) -> u64 {
        self.stop();
        self.read.load(Ordering::Relaxed)
    }

    fn stop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            // That it panicked shows in how much was read.
            let _ = thread.join();
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.stop();
    }
}
