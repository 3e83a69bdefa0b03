//! Reading files for resources and prompts: on threads that may block, so many at once and so much
//! of each. Called by `resource` and `prompt` when they are asked; tells nobody a path of this
//! machine.

use crate::limits::READINGS_MAX;
use crate::media_type;
use haft_proto::spec::content::{Body, ResourceContents};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Where files are read, a few at once.
#[derive(Clone, Debug)]
pub(crate) struct Readings(Arc<Semaphore>);

/// Why something that is there cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// The system says so.
    Failed(io::ErrorKind),
    /// The reading has ended before its end: the server stops.
    Stopped,
    /// It has more bytes than this.
    TooLarge(usize),
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(kind) => write!(f, "The file cannot be read: {kind}."),
            Self::Stopped => f.write_str("The file cannot be read: the server is stopping."),
            Self::TooLarge(limit) => {
                write!(f, "The file is larger than {limit} bytes, which is the limit here.")
            }
        }
    }
}

impl Readings {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(READINGS_MAX)))
    }

    /// Does work that blocks. It holds its place until it is done, even if nobody waits for it.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Unread> {
        let place = Arc::clone(&self.0).acquire_owned().await.map_err(|_| Unread::Stopped)?;
        let working = tokio::task::spawn_blocking(move || {
            let made = work();
            drop(place);
            made
        });
        working.await.map_err(|_| Unread::Stopped)
    }
}

/// The bytes of an open file.
pub(crate) fn bytes(file: &File, limit: usize) -> Result<Vec<u8>, Unread> {
    let failed = |error: io::Error| Unread::Failed(error.kind());
    let size = file.metadata().map_err(failed)?.len();
    let size = usize::try_from(size).ok().filter(|size| *size <= limit);
    let mut bytes = Vec::with_capacity(size.ok_or(Unread::TooLarge(limit))?);
    // It may grow meanwhile.
    file.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > limit {
        return Err(Unread::TooLarge(limit));
    }
    Ok(bytes)
}

/// What is in a file: text if it is UTF-8, and of the kind that is known or seems right.
pub(crate) fn contents(bytes: Vec<u8>, kind: Option<&str>) -> ResourceContents {
    let body = match String::from_utf8(bytes) {
        Ok(text) => Body::Text(text),
        Err(error) => Body::Blob(error.into_bytes()),
    };
    let mime_type = Some(kind.unwrap_or_else(|| media_type::of_body(&body)).to_owned());
    ResourceContents { uri: String::new(), mime_type, body, meta: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::sync::mpsc;
    use tokio::task::yield_now;

    #[tokio::test]
    async fn so_many_readings_run_at_once_even_if_nobody_waits_for_them() {
        let readings = Readings::new();
        let (release, held) = mpsc::sync_channel::<()>(1);
        let held = Arc::new(std::sync::Mutex::new(held));
        let mut running = Vec::new();
        for _ in 0..READINGS_MAX {
            let (readings, held) = (readings.clone(), Arc::clone(&held));
            running.push(tokio::spawn(async move {
                let wait = move || held.lock().map(|held| held.recv().is_ok()).unwrap_or_default();
                readings.run(wait).await
            }));
        }
        while readings.0.available_permits() > 0 {
            yield_now().await;
        }
        // Whoever asked has gone; the threads are as busy as before.
        running.drain(..).for_each(|task| task.abort());
        for _ in 0..100 {
            yield_now().await;
        }
        assert_eq!(readings.0.available_permits(), 0);
        let next = readings.run(|| 7);
        tokio::pin!(next);
        tokio::select! {
            biased;
            _ = &mut next => panic!("it has to wait"),
            () = yield_now() => {}
        }
        drop(release);
        assert_eq!(next.await, Ok(7));
    }

    #[tokio::test]
    async fn a_reading_that_panics_gives_its_place_back() {
        let readings = Readings::new();
        let failed: Result<(), Unread> = readings.run(|| panic!("a reading may panic")).await;
        assert_eq!(failed, Err(Unread::Stopped));
        assert_eq!(readings.0.available_permits(), READINGS_MAX);
    }

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        let mut file = tempfile::NamedTempFile::new().expect("there is room");
        file.write_all(b"12345").expect("it is ours");
        let open = || File::open(file.path()).expect("it is ours");
        assert_eq!(bytes(&open(), 5), Ok(b"12345".to_vec()));
        assert_eq!(bytes(&open(), 4), Err(Unread::TooLarge(4)));
        // It says that it is empty, and never ends.
        let endless = File::open("/dev/zero").expect("every machine has it");
        assert_eq!(bytes(&endless, 1000), Err(Unread::TooLarge(1000)));
    }

    #[test]
    fn what_is_not_utf_8_is_bytes() {
        let of = |bytes: &[u8]| contents(bytes.to_vec(), None);
        assert_eq!(of("é".as_bytes()).body, Body::Text("é".to_owned()));
        assert_eq!(of("é".as_bytes()).mime_type.as_deref(), Some("text/plain"));
        assert_eq!(of(&[0xff, 0]).body, Body::Blob(vec![0xff, 0]));
        assert_eq!(of(&[0xff, 0]).mime_type.as_deref(), Some("application/octet-stream"));
        let known = contents(vec![0xff], Some("text/x-latin"));
        assert_eq!(known.mime_type.as_deref(), Some("text/x-latin"));
    }
}
