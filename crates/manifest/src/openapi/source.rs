//! Where a document comes from: a file, or an address that is asked once. Called by `check`, which
//! may stand in a runtime or not; keeps nothing.

use crate::fault::Wrong;
use crate::fill::Surroundings;
use crate::openapi::bad;
use crate::openapi::document::Document;
use crate::openapi::limits::{DOCUMENT_BYTES_MAX, DOCUMENT_TIME_MAX};
use crate::openapi::mistake::OpenApiMistake;
use crate::place::Placed;
use haft_fetch::{Auth, Clients, Reach, Request, Url};
use http::HeaderValue;
use http::header::ACCEPT;
use std::io::Read;
use std::time::Duration;

/// A document, and where it was found if that is an address.
pub(crate) struct Found {
    pub(crate) document: Document,
    pub(crate) url: Option<Url>,
    /// Another server than the one that is named has it, by redirects.
    pub(crate) is_moved: bool,
}

/// Reads the document that a text names.
pub(crate) fn find(
    named: &Placed<String>,
    reach: &Reach,
    surroundings: &Surroundings<'_>,
) -> Result<Found, Wrong> {
    let filled = surroundings.fill(named)?.value;
    let wrong = |mistake| bad(named.place, mistake);
    let (bytes, url, is_moved) = if filled.starts_with("https://") || filled.starts_with("http://")
    {
        let url = Url::parse(&filled)
            .map_err(|error| wrong(OpenApiMistake::NotFetched { reason: error.0.to_owned() }))?;
        let (bytes, last) = fetch(url.clone(), reach).map_err(wrong)?;
        let is_moved = !last.is_same_origin(&url);
        (bytes, Some(last), is_moved)
    } else {
        let unreadable = |error: std::io::Error| {
            wrong(OpenApiMistake::NotReadable { reason: error.to_string() })
        };
        let path = surroundings.directory.join(&filled);
        surroundings.seen.file(&path);
        let file = std::fs::File::open(path).map_err(unreadable)?;
        // One byte more, or the end would be looked for in twice the room.
        let length = file.metadata().map_or(0, |found| found.len()).min(DOCUMENT_BYTES_MAX as u64);
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default() + 1);
        file.take(DOCUMENT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        (bytes, None, false)
    };
    if bytes.len() > DOCUMENT_BYTES_MAX {
        return Err(wrong(OpenApiMistake::TooLarge));
    }
    surroundings.seen.read(&bytes);
    Ok(Found { document: Document::read(&bytes).map_err(wrong)?, url, is_moved })
}

/// On a thread and a runtime of its own: whoever calls may be in one, and must not wait in it.
fn fetch(url: Url, reach: &Reach) -> Result<(Vec<u8>, Url), OpenApiMistake> {
    let failed = |reason: String| OpenApiMistake::NotFetched { reason };
    let asked = async {
        let mut request = Request::get(url);
        let kinds = "application/json, application/yaml, text/yaml, */*;q=0.8";
        request.headers.insert(ACCEPT, HeaderValue::from_static(kinds));
        let answer = Clients::new().of(reach).send(&request, &Auth::None).await;
        let answer = answer.map_err(|error| failed(error.to_string()))?;
        if !answer.status.is_success() {
            let host = answer.url.host();
            return Err(failed(format!("`{host}` answered {}", answer.status)));
        }
        let url = answer.url.clone();
        let bytes = answer.bytes(DOCUMENT_BYTES_MAX).await;
        Ok((bytes.map_err(|error| failed(error.to_string()))?.to_vec(), url))
    };
    std::thread::scope(|scope| {
        let stopped = |_| Err(failed("the reader stopped in the middle".to_owned()));
        scope.spawn(|| within(DOCUMENT_TIME_MAX, asked)).join().unwrap_or_else(stopped)
    })
}

/// Waits for something, and no longer, not even for a look-up of a name that does not come back.
fn within<T>(
    limit: Duration,
    asked: impl Future<Output = Result<T, OpenApiMistake>>,
) -> Result<T, OpenApiMistake> {
    let failed = |reason: String| OpenApiMistake::NotFetched { reason };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| failed(error.to_string()))?;
    let late = |_| Err(failed(format!("not within {} seconds", limit.as_secs())));
    let found =
        runtime.block_on(async { tokio::time::timeout(limit, asked).await.unwrap_or_else(late) });
    runtime.shutdown_background();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hangs_is_not_waited_for() {
        let (end, ended) = std::sync::mpsc::sync_channel::<()>(0);
        let found = within(Duration::from_millis(1), async move {
            // As the look-up of a name does, on a thread that cannot be stopped.
            let hung = tokio::task::spawn_blocking(move || ended.recv().is_ok());
            hung.await.map_err(|_| OpenApiMistake::NotOpenApi)
        });
        let reason = "not within 0 seconds".to_owned();
        assert_eq!(found, Err(OpenApiMistake::NotFetched { reason }));
        drop(end);
    }
}
