//! Sends requests: over pooled connections, with who asks, through proxies, and again where
//! redirects lead. Made by `clients`; reading the body is `answer`'s business.

use crate::answer::Answer;
use crate::auth::Auth;
use crate::coding::ACCEPTED_CODINGS;
use crate::dial::{Connector, causes};
use crate::error::FetchError;
use crate::limits::{
    HEAD_BYTES_MAX, IDLE_CONNECTIONS_MAX, IDLE_TIME_MAX, POOL_CONNECTIONS_MAX, REDIRECTS_MAX,
};
use crate::proxies::Proxies;
use crate::reach::Reach;
use crate::redirect;
use crate::request::Request;
use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_LENGTH};
use http::header::{PROXY_AUTHORIZATION, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::error::Error;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

type Pool = legacy::Client<Connector, Full<Bytes>>;

/// Connections to all servers within a [`Reach`]. Cheap to clone; nothing is set up before the
/// first request.
#[derive(Clone, Debug)]
pub struct Client(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    reach: Reach,
    proxies: Arc<OnceLock<Proxies>>,
    pool: Mutex<Option<(Pool, Connector)>>,
}

impl Client {
    pub(crate) fn new(reach: Reach, proxies: Arc<OnceLock<Proxies>>) -> Self {
        Self(Arc::new(Inner { reach, proxies, pool: Mutex::default() }))
    }

    /// Whether somebody holds it beside the list that it is in.
    pub(crate) fn is_held(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// How far it reaches.
    #[must_use]
    pub fn reach(&self) -> &Reach {
        &self.0.reach
    }

    /// Sends a request and waits for the head of its answer, for as long as the caller does:
    /// dropping the future takes the request back. A 401 to a token is asked again once, with a
    /// fresh one, unless a redirect led to it or the token was fetched just now.
    ///
    /// # Errors
    /// [`FetchError`]; an answer of any status is none.
    pub async fn send(&self, request: &Request, auth: &Auth) -> Result<Answer, FetchError> {
        match auth {
            Auth::None | Auth::Header(..) => self.send_plain(request, auth).await,
            Auth::Token(source) => {
                let token = source.token().await?;
                let (answer, is_redirected) = self.follow(request, Some(&token)).await?;
                // What answered with a redirect may have done its work already.
                if answer.status != StatusCode::UNAUTHORIZED || is_redirected {
                    return Ok(answer);
                }
                let Some(token) = source.another(&token).await? else { return Ok(answer) };
                drop(answer);
                self.follow(request, Some(&token)).await.map(|(answer, _)| answer)
            }
        }
    }

    /// The same without tokens, for those who fetch them.
    pub(crate) async fn send_plain(
        &self,
        request: &Request,
        auth: &Auth,
    ) -> Result<Answer, FetchError> {
        let mut request = request.clone();
        if let Auth::Header(name, value) = auth {
            request.headers.insert(name, value.clone());
        }
        self.follow(&request, None).await.map(|(answer, _)| answer)
    }

    /// The last answer, and whether redirects led to it.
    async fn follow(
        &self,
        request: &Request,
        token: Option<&HeaderValue>,
    ) -> Result<(Answer, bool), FetchError> {
        let mut made;
        let mut request = request;
        if let Some(token) = token {
            made = request.clone();
            made.headers.insert(AUTHORIZATION, token.clone());
            request = &made;
        }
        let max = request.redirects.min(REDIRECTS_MAX);
        for done in 0..=max {
            let response = self.once(request).await?;
            let (parts, body) = response.into_parts();
            let next = match max {
                0 => None,
                _ => redirect::next(request, parts.status, &parts.headers)?,
            };
            let Some(next) = next else {
                let (url, status) = (request.url.clone(), parts.status);
                return Ok((Answer { status, headers: parts.headers, url, body }, done > 0));
            };
            if done == max {
                break;
            }
            made = next;
            request = &made;
        }
        let host = request.url.host().to_owned();
        Err(FetchError::TooManyRedirects { host, max })
    }

    async fn once(&self, request: &Request) -> Result<Response<Incoming>, FetchError> {
        let (url, host) = (request.url.uri(), request.url.host());
        // A pooled connection is not dialled again, but an address is known without asking.
        if let Some(address) = request.url.address()
            && !self.0.reach.allows(host, address)
        {
            return Err(FetchError::PrivateAddress { host: host.to_owned(), address });
        }
        let proxies = self.0.proxies.get_or_init(Proxies::from_env);
        let mut sent = http::Request::new(Full::new(request.body.clone()));
        *sent.method_mut() = request.method.clone();
        *sent.uri_mut() = url.clone();
        *sent.headers_mut() = headers(&request.headers);
        // HTTP/1.1 leaves it out for an empty body, and servers then answer 411 (RFC 9110, 8.6).
        if request.body.is_empty() && expects_content(&request.method) {
            sent.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
        }
        if let Some(password) = proxies.password(url) {
            sent.headers_mut().insert(PROXY_AUTHORIZATION, password);
        }
        let pool = self.0.pool(proxies);
        // A connection that was kept may have been closed by its server just now. What only reads
        // is asked once more (RFC 9110, 9.2.2).
        let again = [Method::GET, Method::HEAD].contains(&request.method).then(|| sent.clone());
        let answer = match (pool.request(sent).await, again) {
            (Err(error), Some(again)) if is_cut_off(&error) => pool.request(again).await,
            (answer, _) => answer,
        };
        answer.map_err(|error| said(host, &error))
    }
}

impl Inner {
    /// The pool, or another one if that has made so many connections that all servers together
    /// could have too many of them kept. What is under way in the old one comes to its end.
    fn pool(&self, proxies: &Proxies) -> Pool {
        let mut current = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((pool, connector)) = &*current
            && connector.count() < POOL_CONNECTIONS_MAX
        {
            return pool.clone();
        }
        let connector = Connector::new(self.reach.clone(), proxies.clone());
        let pool = pool(connector.clone());
        // What it holds is closed once the lock is open again.
        let gone = current.replace((pool.clone(), connector));
        drop(current);
        drop(gone);
        pool
    }
}

fn pool(connector: Connector) -> Pool {
    legacy::Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_TIME_MAX)
        .pool_max_idle_per_host(IDLE_CONNECTIONS_MAX)
        .http1_max_buf_size(HEAD_BYTES_MAX)
        .http2_max_header_list_size(u32::try_from(HEAD_BYTES_MAX).unwrap_or(u32::MAX))
        .http2_adaptive_window(true)
        .build(connector)
}

/// The headers of the caller, and what every request has.
fn headers(own: &HeaderMap) -> HeaderMap {
    let agent = HeaderValue::from_static(concat!("haft/", env!("CARGO_PKG_VERSION")));
    let mut headers = own.clone();
    headers.entry(USER_AGENT).or_insert(agent);
    headers.entry(ACCEPT).or_insert(HeaderValue::from_static("*/*"));
    // What comes in another one cannot be read here, whatever the caller says.
    headers.insert(ACCEPT_ENCODING, ACCEPTED_CODINGS);
    headers
}

/// Whether a request of this method is about what it carries.
fn expects_content(method: &Method) -> bool {
    [Method::PATCH, Method::POST, Method::PUT].contains(method)
}

/// Whether the server closed the connection without a word.
fn is_cut_off(error: &legacy::Error) -> bool {
    let cause = error.source().and_then(|source| source.downcast_ref::<hyper::Error>());
    cause.is_some_and(hyper::Error::is_incomplete_message)
}

fn said(host: &str, error: &legacy::Error) -> FetchError {
    let own = error.source().and_then(|source| source.downcast_ref::<FetchError>());
    match own {
        Some(own) => own.clone(),
        None if error.is_connect() => {
            FetchError::Unreachable { host: host.to_owned(), reason: causes(error) }
        }
        None => FetchError::Broken { host: host.to_owned(), reason: causes(error) },
    }
}
