//! A small HTTP listener for whoever runs the server, beside the one for its clients: for `metrics`
//! and `admin`, which say what is answered. At an address of this machine it answers to this
//! machine's names alone, and to no page of elsewhere.

use crate::doors::Door;
use haft_proto::authority;
use http::header::{HOST, ORIGIN};
use http::{Request, Response, StatusCode, Version};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;
use tokio::time::timeout;

/// Who runs a server asks now and then; this is for several of them. So many requests are answered
/// at once, and one more is told to come again.
const ANSWERS_MAX: usize = 16;
/// As many connections may not have asked yet; the one that has not for longest makes room for the
/// next.
const SILENT_MAX: usize = 16;
/// How long who connects may take to ask.
const ASKING_TIME_MAX: Duration = Duration::from_secs(2);
/// How long a connection may last.
const CONNECTION_TIME_MAX: Duration = Duration::from_secs(30);

/// Answers, for ever.
pub(crate) async fn listen<F>(
    door: Door,
    answer: impl Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
) where
    F: Future<Output = Response<Full<Bytes>>> + Send + 'static,
{
    let is_loopback = door.is_loopback();
    let places = Arc::new(Semaphore::new(ANSWERS_MAX));
    let mut silent: VecDeque<(Arc<AtomicBool>, AbortHandle)> = VecDeque::new();
    loop {
        let Ok(stream) = door.accept().await else {
            // Out of descriptors, most likely; some come back.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        silent
            .retain(|(has_asked, task)| !has_asked.load(Ordering::Relaxed) && !task.is_finished());
        if silent.len() == SILENT_MAX
            && let Some((_, oldest)) = silent.pop_front()
        {
            oldest.abort();
        }
        let has_asked = Arc::<AtomicBool>::default();
        let (asks, places, answer) = (Arc::clone(&has_asked), Arc::clone(&places), answer.clone());
        let task = tokio::spawn(async move {
            let answer = service_fn(move |request| {
                asks.store(true, Ordering::Relaxed);
                let answering = match (
                    turned_away(&request, is_loopback),
                    places.clone().try_acquire_owned(),
                ) {
                    (Some((status, why)), _) => Err(text(status, why)),
                    (None, Err(_)) => {
                        let why = "others are being answered; ask again\n";
                        Err(text(StatusCode::SERVICE_UNAVAILABLE, why))
                    }
                    (None, Ok(place)) => Ok((answer(request), place)),
                };
                async move {
                    Ok::<_, Infallible>(match answering {
                        Ok((answering, _place)) => answering.await,
                        Err(turned_away) => turned_away,
                    })
                }
            });
            let mut http = http1::Builder::new();
            // Nobody stays who does not ask, or has been answered.
            http.timer(TokioTimer::new()).header_read_timeout(ASKING_TIME_MAX).keep_alive(false);
            let serving = http.serve_connection(TokioIo::new(stream), answer);
            // Whoever goes away in the middle is no trouble of ours.
            _ = timeout(CONNECTION_TIME_MAX, serving).await;
        });
        silent.push_back((has_asked, task.abort_handle()));
    }
}

/// A line for whoever asked.
pub(crate) fn text(status: StatusCode, line: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(line));
    *response.status_mut() = status;
    response
}

/// Why a request is not answered, if it is not.
fn turned_away<B>(request: &Request<B>, is_loopback: bool) -> Option<(StatusCode, &'static str)> {
    // RFC 9112, section 3.2.
    if request.version() == Version::HTTP_11 && request.headers().get_all(HOST).iter().count() != 1
    {
        return Some((StatusCode::BAD_REQUEST, "HTTP/1.1 asks for one `Host` header\n"));
    }
    if is_loopback && !is_asked_here(request) {
        return Some((StatusCode::FORBIDDEN, "only this machine's own names are answered\n"));
    }
    is_of_a_page(request)
        .then_some((StatusCode::FORBIDDEN, "pages of elsewhere are not answered\n"))
}

/// Whether a request names this machine as its host, or none. A page of elsewhere whose name leads
/// here (DNS rebinding) names its own.
pub(crate) fn is_asked_here<B>(request: &Request<B>) -> bool {
    let is_ours = |host: &str| {
        let Some(name) = authority::host(host) else { return false };
        name.eq_ignore_ascii_case("localhost")
            || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    };
    request.headers().get_all(HOST).iter().all(|host| host.to_str().is_ok_and(is_ours))
        && request.uri().authority().is_none_or(|authority| is_ours(authority.as_str()))
}

/// Whether a page asks that did not come from here: a browser says so where it matters.
fn is_of_a_page<B>(request: &Request<B>) -> bool {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    let is_elsewhere = |origin: &str| {
        let authority = origin.split_once("://").map(|(_, authority)| authority);
        authority.is_none() || authority != host
    };
    let origins = request.headers().get_all(ORIGIN);
    origins.iter().any(|origin| origin.to_str().map_or(true, is_elsewhere))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_answered_and_pages_of_elsewhere_are_not() {
        for (host, origin, is_answered) in [
            ("127.0.0.1:7301", None, true),
            ("localhost", None, true),
            ("[::1]:7301", None, true),
            ("evil.example", None, false),
            ("localhost@evil.example", None, false),
            ("evil.example@localhost", None, false),
            ("127.0.0.1.evil.example", None, false),
            ("127.0.0.1:7301", Some("http://127.0.0.1:7301"), true),
            ("127.0.0.1:7301", Some("http://127.0.0.1:80"), false),
            ("127.0.0.1:7301", Some("https://evil.example"), false),
            ("127.0.0.1:7301", Some("null"), false),
        ] {
            let request = Request::builder().uri("/").header(HOST, host);
            let request = match origin {
                Some(origin) => request.header(ORIGIN, origin),
                None => request,
            };
            let request = request.body(()).expect("a request");
            let turned_away = turned_away(&request, true);
            assert_eq!(turned_away.is_none(), is_answered, "{host} {origin:?}");
        }
        // RFC 9112, section 3.2: one and no more, but for HTTP/1.0.
        for (version, hosts, status) in [
            (Version::HTTP_11, 0, Some(StatusCode::BAD_REQUEST)),
            (Version::HTTP_11, 1, None),
            (Version::HTTP_11, 2, Some(StatusCode::BAD_REQUEST)),
            (Version::HTTP_10, 0, None),
        ] {
            let mut request = Request::builder().version(version);
            for _ in 0..hosts {
                request = request.header(HOST, "localhost");
            }
            let request = request.body(()).expect("a request");
            let told = turned_away(&request, true).map(|(status, _)| status);
            assert_eq!(told, status, "{version:?} {hosts}");
        }
    }
}
