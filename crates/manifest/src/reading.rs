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
