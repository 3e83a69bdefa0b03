//! The way to one server through a proxy, for whoever makes connections of its own where there is
//! none. It sends what it is given, and follows nothing.

use crate::client::{Pool, pool, said};
use crate::dial::Connector;
use crate::error::FetchError;
use crate::proxies::Proxies;
use crate::reach::Reach;
use bytes::Bytes;
use http::header::PROXY_AUTHORIZATION;
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;

/// See above.
#[derive(Clone, Debug)]
pub struct Proxied {
    pool: Pool,
    proxies: Proxies,
}

impl Proxied {
    /// The way to an address; `None` if it is reached without a proxy. Nothing is sent yet.
    #[must_use]
    pub fn to(url: &Uri, proxies: &Proxies) -> Option<Self> {
        proxies.of(url)?;
        let connector = Connector::new(Reach::Anywhere, proxies.clone());
        Some(Self { pool: pool(connector), proxies: proxies.clone() })
    }

    /// Sends a request, and waits for the head of its answer.
    ///
    /// # Errors
    /// [`FetchError`]; an answer of any status is none.
    pub async fn send(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, FetchError> {
        let url = request.uri().clone();
        if let Some(password) = self.proxies.password(&url) {
            request.headers_mut().insert(PROXY_AUTHORIZATION, password);
        }
        let host = url.host().unwrap_or_default();
        self.pool.request(request).await.map_err(|error| said(host, &error))
    }
}
