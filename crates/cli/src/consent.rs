//! Asks the person at the terminal for consent when a server wants an access token: shows the
//! address of its authorization server, and receives the redirect on a port of this machine. Given
//! to the client by `reach`. It never opens an address.

use crate::meter::Meter;
use crate::print::{DIM, Printer, STRONG, one_line};
use crate::side_door::is_asked_here;
use haft_client::{Answering, Authorizer, Declined, Journey, Reception};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, REFERRER_POLICY};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::future::ready;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Where redirects lead.
const PATH: &str = "/callback";
/// A browser asks for its icon, too.
const CONNECTIONS_MAX: usize = 8;
/// How long who connects may take to ask.
const ASKING_TIME_MAX: Duration = Duration::from_secs(2);
/// How long a connection may last, and the last page may take to arrive.
const CONNECTION_TIME_MAX: Duration = Duration::from_secs(5);

/// The person at the terminal.
#[derive(Debug)]
pub(crate) struct Consent {
    printer: Printer,
    meter: Arc<Meter>,
    /// The port that the authorization server knows, if it is to be a certain one.
    port: Option<u16>,
}

impl Consent {
    pub(crate) fn new(printer: Printer, meter: Arc<Meter>, port: Option<u16>) -> Self {
        Self { printer, meter, port }
    }

    async fn bind(&self, wanted: Option<&str>) -> Result<TcpListener, Declined> {
        let at = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        if let Some(port) = self.port {
            return at(port).await.map_err(|error| {
                Declined::by_user(format!("port {port} cannot be used: {error}"))
            });
        }
        if let Some(port) = wanted.and_then(port_of)
            && let Ok(listener) = at(port).await
        {
            return Ok(listener);
        }
        at(0).await.map_err(|error| Declined::by_user(format!("no port can be used: {error}")))
    }
}

/// The port of a redirect address of ours.
fn port_of(redirect_uri: &str) -> Option<u16> {
    redirect_uri.strip_prefix("http://127.0.0.1:")?.strip_suffix(PATH)?.parse().ok()
}

impl Authorizer for Consent {
    fn open<'a>(
        &'a self,
        wanted: Option<&'a str>,
    ) -> Answering<'a, Result<Box<dyn Reception>, Declined>> {
        Box::pin(async move {
            let listener = self.bind(wanted).await?;
            let at = listener.local_addr();
            let at = at.map_err(|error| Declined::by_user(error.to_string()))?;
            let landing = Landing {
                redirect_uri: format!("http://{at}{PATH}"),
                listener,
                printer: self.printer,
                meter: Arc::clone(&self.meter),
            };
            Ok(Box::new(landing) as Box<dyn Reception>)
        })
    }
}

/// A port on which the redirect is waited for.
#[derive(Debug)]
struct Landing {
    redirect_uri: String,
    listener: TcpListener,
    printer: Printer,
    meter: Arc<Meter>,
}

impl Reception for Landing {
    fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    fn receive(self: Box<Self>, journey: Journey) -> Answering<'static, Result<String, Declined>> {
        Box::pin(async move {
            let _pause = self.meter.pause();
            introduce(self.printer, &journey);
            listen(&self.listener, &self.redirect_uri, journey).await
        })
    }
}

fn introduce(printer: Printer, journey: &Journey) {
    let Journey { url, issuer, resource, scopes, .. } = journey;
    let (issuer, resource) = (one_line(issuer), one_line(resource));
    let what = match scopes.join(" ") {
        scopes if scopes.is_empty() => String::new(),
        scopes => format!(", with {}", one_line(&scopes)),
    };
    printer.note(format_args!("{resource} wants to know who you are{what}."));
    printer.note(format_args!("Visit this address of {STRONG}{issuer}{STRONG:#} on this machine:"));
    printer.note(format_args!("\n{}\n", one_line(url)));
    printer.note(format_args!("{DIM}haft does not open it, and waits. Ctrl-C gives up.{DIM:#}"));
}

/// Waits for the redirect that is the end of a journey; all others are turned away.
async fn listen(
    listener: &TcpListener,
    redirect_uri: &str,
    journey: Journey,
) -> Result<String, Declined> {
    let (sender, mut arrived) = mpsc::channel(1);
    let (journey, uri): (Arc<Journey>, Arc<str>) = (Arc::new(journey), redirect_uri.into());
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    let redirect = loop {
        let accepted = async {
            let place = Arc::clone(&places).acquire_owned().await;
            listener.accept().await.map(|(stream, _)| (stream, place))
        };
        let (stream, place) = tokio::select! {
            Some(redirect) = arrived.recv() => break redirect,
            accepted = accepted => match accepted {
                Ok(accepted) => accepted,
                Err(error) => return Err(Declined::by_user(error.to_string())),
            },
        };
        while connections.try_join_next().is_some() {}
        let (journey, uri, sender) = (Arc::clone(&journey), Arc::clone(&uri), sender.clone());
        connections.spawn(async move {
            let _place = place;
            let service = service_fn(move |request: Request<Incoming>| {
                let redirect = redirect(&request, &uri).filter(|found| journey.is_end(found));
                let is_end = redirect.is_some_and(|redirect| sender.try_send(redirect).is_ok());
                ready(Ok::<_, Infallible>(page(is_end)))
            });
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(ASKING_TIME_MAX).keep_alive(false);
            let serving = http.serve_connection(TokioIo::new(stream), service);
            // Whoever goes away in the middle is no trouble of ours.
            _ = timeout(CONNECTION_TIME_MAX, serving).await;
        });
    };
    // The browser should see the page.
    let all = async { while connections.join_next().await.is_some() {} };
    _ = timeout(ASKING_TIME_MAX, all).await;
    Ok(redirect)
}

/// The address that a browser was sent to, if it is ours.
fn redirect<B>(request: &Request<B>, redirect_uri: &str) -> Option<String> {
    let is_ours =
        request.method() == Method::GET && request.uri().path() == PATH && is_asked_here(request);
    let query = request.uri().query().filter(|_| is_ours)?;
    Some(format!("{redirect_uri}?{query}"))
}

fn page(is_end: bool) -> Response<Full<Bytes>> {
    let (status, text) = match is_end {
        true => (StatusCode::OK, "haft goes on in the terminal. You can close this page.\n"),
        false => (StatusCode::NOT_FOUND, "Nobody waits for this here.\n"),
    };
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_found_in_addresses_of_ours_alone() {
        assert_eq!(port_of("http://127.0.0.1:4711/callback"), Some(4711));
        for other in ["https://a/callback", "http://127.0.0.1:x/callback", "http://127.0.0.1:1/x"] {
            assert_eq!(port_of(other), None, "{other}");
        }
    }

    #[test]
    fn only_a_browser_of_this_machine_is_heard() {
        let check = |method: &str, uri: &str, host: &str| {
            let request = Request::builder().method(method).uri(uri).header("host", host);
            redirect(&request.body(()).expect("a request"), "http://127.0.0.1:1/callback")
        };
        let found = check("GET", "/callback?code=a&state=b", "127.0.0.1:1");
        assert_eq!(found.as_deref(), Some("http://127.0.0.1:1/callback?code=a&state=b"));
        assert!(check("GET", "/callback?state=b", "localhost:1").is_some());
        assert!(check("GET", "/callback?state=b", "evil.example").is_none());
        assert!(check("POST", "/callback?state=b", "127.0.0.1:1").is_none());
        assert!(check("GET", "/favicon.ico?state=b", "127.0.0.1:1").is_none());
        assert!(check("GET", "/callback", "127.0.0.1:1").is_none());
    }
}
