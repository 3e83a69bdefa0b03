//! Makes connections: resolves a name, checks every address that it has, and dials one that was
//! checked, directly or through a proxy. Called by the pool in `client`; the only file that opens a
//! socket.

use crate::address::is_private_name;
use crate::error::FetchError;
use crate::limits::{ADDRESSES_MAX, ATTEMPT_HEAD_START, CONNECT_TIME_MAX, LOCAL_LOOKUP_TIME_MAX};
use crate::proxies::Proxies;
use crate::reach::Reach;
use crate::tls;
use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tower_service::Service;

type Connecting<T> = Pin<Box<dyn Future<Output = Result<T, FetchError>> + Send>>;

/// Makes connections that a [`Reach`] allows, with TLS where the address asks for it.
#[derive(Clone, Debug)]
pub(crate) struct Connector {
    dial: Arc<Dial>,
    /// How many connections were asked for.
    count: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct Dial {
    reach: Reach,
    proxies: Proxies,
}

impl Connector {
    pub(crate) fn new(reach: Reach, proxies: Proxies) -> Self {
        Self { dial: Arc::new(Dial { reach, proxies }), count: Arc::default() }
    }

    /// How many connections were asked for so far.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<Stream>;
    type Error = FetchError;
    type Future = Connecting<Self::Response>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), FetchError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, url: Uri) -> Self::Future {
        self.count.fetch_add(1, Ordering::Relaxed);
        let dial = Arc::clone(&self.dial);
        Box::pin(async move {
            let host = host_of(&url).to_owned();
            let connection = timeout(CONNECT_TIME_MAX, dial.secured(url)).await;
            connection.unwrap_or(Err(FetchError::SlowConnection { host, within: CONNECT_TIME_MAX }))
        })
    }
}

impl Dial {
    async fn secured(self: Arc<Self>, url: Uri) -> Result<MaybeHttpsStream<Stream>, FetchError> {
        let stream = self.stream(&url).await?;
        if url.scheme_str() != Some("https") {
            return Ok(MaybeHttpsStream::Http(stream));
        }
        let host = host_of(&url).to_owned();
        // Reading the trusted certificates is work for another thread.
        let config = tokio::task::spawn_blocking(tls::config).await;
        let config = config.unwrap_or(Err(FetchError::NoTrustedRoots))?;
        let secured = HttpsConnector::from((Given(Some(stream)), config)).call(url).await;
        secured.map_err(|error| FetchError::Tls { host, reason: causes(&*error) })
    }

    async fn stream(&self, url: &Uri) -> Result<Stream, FetchError> {
        let Some(proxy) = self.proxies.of(url) else {
            let stream = self.direct(host_of(url), port_of(url), &self.reach).await?;
            return Ok(Stream { stream, is_proxied: false });
        };
        self.check_proxied(host_of(url), port_of(url)).await?;
        if proxy.uri().scheme_str() != Some("http") {
            let reason = format!("`{}` is none of HTTP", host_of(proxy.uri()));
            return Err(FetchError::Proxy { reason });
        }
        let (host, port) = (host_of(proxy.uri()), port_of(proxy.uri()));
        // Who runs haft chose the proxy, wherever it is.
        let stream = self.direct(host, port, &Reach::Anywhere).await.map_err(|error| {
            let reason = error.to_string();
            FetchError::Proxy { reason }
        })?;
        if url.scheme_str() == Some("http") {
            return Ok(Stream { stream, is_proxied: true });
        }
        let given = Given(Some(Stream { stream, is_proxied: false }));
        let mut tunnel = Tunnel::new(proxy.uri().clone(), given);
        if let Some(password) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(password.clone());
        }
        let refused = |error: &dyn Error| FetchError::Proxy { reason: causes(error) };
        tunnel.call(url.clone()).await.map_err(|error| refused(&error))
    }

    /// The proxy finds the name, so what it dials is its own affair; what this machine knows of the
    /// name is checked.
    async fn check_proxied(&self, host: &str, port: u16) -> Result<(), FetchError> {
        if let Ok(address) = host.parse() {
            return self.check(host, address, &self.reach);
        }
        if self.reach.names(host) {
            return Ok(());
        }
        if is_private_name(host) {
            return Err(FetchError::PrivateName { host: host.to_owned() });
        }
        // Behind a proxy, most machines find no name of the internet.
        let Ok(Ok(found)) = timeout(LOCAL_LOOKUP_TIME_MAX, addresses(host, port)).await else {
            return Ok(());
        };
        found.iter().try_for_each(|address| self.check(host, address.ip(), &self.reach))
    }

    async fn direct(&self, host: &str, port: u16, reach: &Reach) -> Result<TcpStream, FetchError> {
        let mut allowed = Vec::new();
        let mut refused = None;
        for address in addresses(host, port).await? {
            match self.check(host, address.ip(), reach) {
                Ok(()) => allowed.push(address),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        match (allowed.is_empty(), refused) {
            (true, Some(refused)) => Err(refused),
            _ => first(host, allowed).await,
        }
    }

    fn check(&self, host: &str, address: IpAddr, reach: &Reach) -> Result<(), FetchError> {
        if reach.allows(host, address) {
            return Ok(());
        }
        Err(FetchError::PrivateAddress { host: host.to_owned(), address })
    }
}

/// The addresses of a host, both families in turn.
async fn addresses(host: &str, port: u16) -> Result<Vec<SocketAddr>, FetchError> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![(address, port).into()]);
    }
    let unknown = |error: &io::Error| {
        let reason = error.to_string();
        let reason = reason.rsplit(": ").next().unwrap_or_default().to_owned();
        FetchError::UnknownHost { host: host.to_owned(), reason }
    };
    let found = tokio::net::lookup_host((host, port)).await.map_err(|error| unknown(&error))?;
    let (four, six): (Vec<_>, Vec<_>) = found.partition(SocketAddr::is_ipv4);
    // The resolver's first address is the family that it prefers.
    let (mut six, mut four) = (six.into_iter(), four.into_iter());
    let mut sorted = Vec::new();
    loop {
        let before = sorted.len();
        sorted.extend(six.next());
        sorted.extend(four.next());
        if sorted.len() == before || sorted.len() >= ADDRESSES_MAX {
            return Ok(sorted);
        }
    }
}

/// The first connection that comes about, each next address being tried beside those before it.
async fn first(host: &str, addresses: Vec<SocketAddr>) -> Result<TcpStream, FetchError> {
    let mut attempts = JoinSet::new();
    let mut rest = addresses.into_iter();
    let mut reason = "it has no address".to_owned();
    loop {
        if let Some(address) = rest.next() {
            attempts.spawn(TcpStream::connect(address));
        }
        // The last one has all the time that there is.
        let done = if rest.len() == 0 {
            attempts.join_next().await
        } else {
            match timeout(ATTEMPT_HEAD_START, attempts.join_next()).await {
                Ok(done) => done,
                Err(_) => continue,
            }
        };
        match done {
            Some(Ok(Ok(stream))) => {
                // Latency matters more than the number of packets; without it, it works too.
                _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Some(Ok(Err(error))) => reason = error.to_string(),
            Some(Err(error)) => reason = error.to_string(),
            None => return Err(FetchError::Unreachable { host: host.to_owned(), reason }),
        }
    }
}

/// The host, without the brackets of an IPv6 address.
fn host_of(url: &Uri) -> &str {
    url.host().unwrap_or_default().trim_matches(['[', ']'])
}

fn port_of(url: &Uri) -> u16 {
    let default = if url.scheme_str() == Some("https") { 443 } else { 80 };
    url.port_u16().unwrap_or(default)
}

/// An error and what it comes of.
pub(crate) fn causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        cause = error.source();
    }
    text
}

/// A connection that is there already, as a connector.
struct Given(Option<Stream>);

impl Service<Uri> for Given {
    type Response = Stream;
    type Error = io::Error;
    type Future = std::future::Ready<io::Result<Stream>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        std::future::ready(self.0.take().ok_or_else(|| io::ErrorKind::NotConnected.into()))
    }
}

/// A connection that knows whether it leads to a proxy that reads requests.
#[derive(Debug)]
pub(crate) struct Stream {
    stream: TcpStream,
    is_proxied: bool,
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        Connected::new().proxy(self.is_proxied)
    }
}

impl Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut TokioIo::new(&mut self.stream)).poll_read(cx, buffer)
    }
}

impl Write for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut TokioIo::new(&mut self.stream)).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut TokioIo::new(&mut self.stream)).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut TokioIo::new(&mut self.stream)).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut TokioIo::new(&mut self.stream)).poll_write_vectored(cx, parts)
    }
}
