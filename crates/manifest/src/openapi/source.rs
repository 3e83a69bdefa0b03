//! Where a document comes from: a file, or an address that is asked once. Called by `check`, which
//! may stand in a runtime or not; keeps nothing.

use crate::fault::Wrong;
use crate::fill::Surroundings;
use crate::openapi::bad;
use crate::openapi::document::{self, Document};
use crate::openapi::limits::{DOCUMENT_AGE_MAX, DOCUMENT_BYTES_MAX, DOCUMENT_TIME_MAX};
use crate::openapi::mistake::OpenApiMistake;
use crate::openapi::references::{self, Origin, Reading};
use crate::place::Placed;
use crate::seen::Seen;
use crate::written::upstream::References;
use haft_fetch::{Auth, Clients, Reach, Request, Url};
use http::HeaderValue;
use http::header::ACCEPT;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
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
    allowed: References,
    reach: &Reach,
    surroundings: &Surroundings<'_>,
) -> Result<Found, Wrong> {
    let filled = surroundings.fill(named)?.value;
    let wrong = |mistake| bad(named.place, mistake);
    let (bytes, origin, is_moved) = if filled.starts_with("https://")
        || filled.starts_with("http://")
    {
        let url = Url::parse(&filled)
            .map_err(|error| wrong(OpenApiMistake::NotFetched { reason: error.0.to_owned() }))?;
        let (bytes, last) = known_or_fetched(&url, reach, surroundings.seen).map_err(wrong)?;
        let is_moved = !last.is_same_origin(&url);
        (bytes, Origin::Web(last), is_moved)
    } else {
        let unreadable = |reason: String| wrong(OpenApiMistake::NotReadable { reason });
        let path = surroundings.directory.join(&filled);
        let bytes = file(&path, surroundings.seen).map_err(unreadable)?;
        let path = path.canonicalize().map_err(|error| unreadable(error.to_string()))?;
        (Arc::new(bytes), Origin::File(path), false)
    };
    if bytes.len() > DOCUMENT_BYTES_MAX {
        return Err(wrong(OpenApiMistake::TooLarge));
    }
    surroundings.seen.read(&bytes);
    let root = document::parse(&bytes);
    let mut root = root.map_err(|reason| wrong(OpenApiMistake::NotReadable { reason }))?;
    let directory = match &origin {
        Origin::File(path) => path.parent().map(Path::to_owned),
        Origin::Web(_) => None,
    };
    let read = |origin: &Origin| {
        let bytes = match origin {
            Origin::File(path) => Arc::new(file(path, surroundings.seen)?),
            Origin::Web(url) => {
                let found = known_or_fetched(url, reach, surroundings.seen);
                found.map_err(|mistake| mistake.message())?.0
            }
        };
        surroundings.seen.read(&bytes);
        Ok(bytes.to_vec())
    };
    let reading = Reading { allowed, directory, read: &read };
    let unread = references::bundle(&mut root, Some(origin.clone()), &reading);
    let document = Document::new(root, unread).map_err(wrong)?;
    let url = if let Origin::Web(url) = origin { Some(url) } else { None };
    Ok(Found { document, url, is_moved })
}

/// The bytes of a file, and one more than there may be.
fn file(path: &Path, seen: &Seen) -> Result<Vec<u8>, String> {
    let reason = |error: std::io::Error| error.to_string();
    seen.file(path);
    // A pipe would be waited for, and a device has no end.
    let found = std::fs::metadata(path).map_err(reason)?;
    if !found.is_file() {
        return Err("it is no file".to_owned());
    }
    let file = std::fs::File::open(path).map_err(reason)?;
    // One byte more, or the end would be looked for in twice the room.
    let length = found.len().min(DOCUMENT_BYTES_MAX as u64);
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default() + 1);
    file.take(DOCUMENT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(reason)?;
    Ok(bytes)
}

/// While a file is edited, a document that was asked for a moment ago will do, and an older one if
/// nobody has a newer.
fn known_or_fetched(
    url: &Url,
    reach: &Reach,
    seen: &Seen,
) -> Result<(Arc<Vec<u8>>, Url), OpenApiMistake> {
    if !seen.may_be_old {
        return fetch(url.clone(), reach).map(|(bytes, found)| (Arc::new(bytes), found));
    }
    let known = seen.documents.borrow_mut().of(url, reach);
    if let Some(known) = known.as_ref().filter(|known| known.asked.elapsed() < DOCUMENT_AGE_MAX) {
        return Ok((Arc::clone(&known.bytes), known.found.clone()));
    }
    match (fetch(url.clone(), reach), known) {
        (Ok((bytes, found)), _) => {
            let fetched = (Arc::new(bytes), found);
            seen.documents.borrow_mut().keep(url, reach, fetched.clone());
            Ok(fetched)
        }
        (Err(_), Some(known)) => {
            // For as long as it is new again: who hangs is not waited for at each edit.
            let known = (known.bytes, known.found);
            seen.documents.borrow_mut().keep(url, reach, known.clone());
            Ok(known)
        }
        (Err(mistake), None) => Err(mistake),
    }
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
