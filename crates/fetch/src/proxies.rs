//! Which requests go through a proxy: what `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`
//! say, as curl reads them. Asked by `dial` and `client`.

use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use std::sync::Arc;

/// The proxies of a process.
#[derive(Clone, Debug)]
pub struct Proxies {
    matcher: Arc<Matcher>,
    /// `NO_PROXY` is `*`: everything is reached without.
    is_off: bool,
}

impl Proxies {
    /// Those that the environment names.
    #[must_use]
    pub fn from_env() -> Self {
        let off = ["NO_PROXY", "no_proxy"].iter().find_map(|name| std::env::var(name).ok());
        let is_off = off.is_some_and(|hosts| is_all(&hosts));
        Self { matcher: Arc::new(Matcher::from_env()), is_off }
    }

    /// One for `http:` and one for `https:` addresses, and the hosts and networks, separated by
    /// commas, that are reached without; empty is none.
    #[must_use]
    pub fn new(http: &str, https: &str, no_proxy: &str) -> Self {
        let builder = Matcher::builder().no(no_proxy.to_owned());
        let matcher = builder.http(http.to_owned()).https(https.to_owned()).build();
        Self { matcher: Arc::new(matcher), is_off: is_all(no_proxy) }
    }

    /// The proxy for an address.
    pub(crate) fn of(&self, url: &Uri) -> Option<Intercept> {
        self.matcher.intercept(url).filter(|_| !self.is_off)
    }

    /// What a request that goes through a proxy in plain text tells it.
    pub(crate) fn password(&self, url: &Uri) -> Option<HeaderValue> {
        let is_plain = url.scheme_str() == Some("http");
        self.of(url).filter(|_| is_plain)?.basic_auth().cloned()
    }
}

/// Whether hosts that are reached without a proxy are all that there are, addresses too.
fn is_all(hosts: &str) -> bool {
    hosts.split(',').any(|host| host.trim() == "*")
}
