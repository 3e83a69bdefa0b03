//! A bound address, served until it is told to stop: opens the doors, hands them to `threads`, and
//! sweeps what they share. Reads and writes no connection.

use super::Options;
use super::beside::{Beside, Besides};
use super::connections;
use super::door::Sockets;
use super::endpoint::Endpoint;
use super::guard::check_lists;
use super::roll::Roll;
#[cfg(feature = "tls")]
use super::secure::Tls;
use super::secure::{Http3, Way};
use super::threads::{Crew, Threads};
use crate::stop::Stop;
use haft_proto::limits::Limits;
use haft_proto::service::Service;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;
use tokio::time::interval;

/// A bound address that does not serve yet.
pub struct Listener {
    sockets: Sockets,
    address: SocketAddr,
    #[cfg_attr(not(feature = "tls"), expect(dead_code, reason = "UDP may want another"))]
    is_at_any_port: bool,
    options: Options,
    besides: Option<Besides>,
    roll: Roll,
    /// `None` without a certificate.
    way: Option<Way>,
    /// Where clients are told that HTTP/3 is, if not at its own port.
    http3_port: Option<u16>,
}

impl Listener {
    /// Binds an address; port 0 is any free one.
    ///
    /// # Errors
    /// The address is in use or not ours; a host or origin is listed that no request can have; or
    /// each thread wants a socket ([`Threads::Own`], `is_accepting`), and the system is not Linux.
    pub async fn bind(address: SocketAddr, options: Options) -> io::Result<Self> {
        check_lists(&options)?;
        let is_at_any_port = address.port() == 0;
        let (sockets, address) = open(address, options.threads).await?;
        Ok(Self {
            sockets,
            address,
            is_at_any_port,
            options,
            besides: None,
            roll: Roll::default(),
            way: None,
            http3_port: None,
        })
    }

    /// Speaks HTTPS, and nothing else, with HTTP/3 at the same port (UDP). In a runtime, which is
    /// the one that HTTP/3 is served on. If the port was any free one, and is in use for UDP, it
    /// becomes another.
    ///
    /// # Errors
    /// The port is in use for UDP.
    #[cfg(feature = "tls")]
    pub async fn over_tls(mut self, tls: Tls) -> io::Result<Self> {
        let mut tries = if self.is_at_any_port { PORTS_TRIED } else { 1 };
        loop {
            tries -= 1;
            match Way::at(self.address, tls.clone()) {
                Err(error) if tries > 0 && error.kind() == io::ErrorKind::AddrInUse => {
                    let any = SocketAddr::new(self.address.ip(), 0);
                    (self.sockets, self.address) = open(any, self.options.threads).await?;
                }
                way => {
                    self.way = Some(way?);
                    return Ok(self);
                }
            }
        }
    }

    /// Tells clients that HTTP/3 is at that port, where theirs is another than its own; 0 tells
    /// them to forget what they were told, as where no UDP comes through (RFC 7838, 3).
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn telling_http3_at(mut self, port: u16) -> Self {
        self.http3_port = Some(port);
        self
    }

    /// Where clients find the endpoint.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of(&self.options.path)
    }

    /// Where clients find what is at another path.
    #[must_use]
    pub fn url_of(&self, path: &str) -> String {
        let scheme = if self.way.is_some() { "https" } else { "http" };
        format!("{scheme}://{}{path}", self.address)
    }

    /// Serves these at other paths, as they come and go.
    #[must_use]
    pub fn with(mut self, besides: Besides) -> Self {
        self.besides = Some(besides);
        self
    }

    /// Who has a session, while it serves.
    #[must_use]
    pub fn roll(&self) -> Roll {
        self.roll.clone()
    }

    /// Serves until `stop` comes; requests in flight then have
    /// [`shutdown_grace`](Limits::shutdown_grace) left.
    pub async fn serve(
        self,
        service: Arc<dyn Service>,
        limits: &Limits,
        stop: impl Future<Output = Stop>,
    ) {
        let endpoint = Endpoint::new(service, self.address, &self.options, limits);
        let told = self.http3_port.unwrap_or_else(|| self.address.port());
        let secure = self.way.as_ref().map(|way| way.secure(told));
        let endpoint = Arc::new(endpoint.over(secure));
        self.roll.is_of(&endpoint);
        let mut besides = self.besides;
        if let Some(besides) = &mut besides {
            endpoint.stand_beside(&besides.borrow_and_update());
        }
        let room = Arc::new(Semaphore::new(limits.connections));
        let mut http3 = Http3::start(self.way, &endpoint, &room);
        let mut crew = Crew::start(self.options.threads, &endpoint, self.sockets, room);
        let mut stop = std::pin::pin!(stop);
        let mut sweep = interval(endpoint.sessions.sweep_interval());
        let mut idle = interval(endpoint.buffers.sweep_interval());
        let stop = loop {
            tokio::select! {
                biased;
                stop = &mut stop => break stop,
                _ = sweep.tick() => endpoint.sweep_sessions(),
                _ = idle.tick() => endpoint.buffers.sweep(),
                now = next(&mut besides) => endpoint.stand_beside(&now),
                () = crew.work() => {}
                () = http3.work() => {}
            }
        };
        tokio::join!(crew.end(stop, limits.shutdown_grace), http3.end(stop));
        endpoint.end_sessions();
    }
}

/// How many ports are tried that are free for TCP, until one is for UDP, too.
#[cfg(feature = "tls")]
const PORTS_TRIED: usize = 16;

/// Binds an address, as often as these threads want it.
async fn open(address: SocketAddr, threads: Threads) -> io::Result<(Sockets, SocketAddr)> {
    match threads {
        Threads::Own { count, is_accepting: true, .. } => Sockets::each(address, count.get()),
        _ => Sockets::one(address).await,
    }
}

/// What is at other paths from now on.
async fn next(besides: &mut Option<Besides>) -> Vec<Beside> {
    if let Some(receiver) = besides
        && receiver.changed().await.is_ok()
    {
        return receiver.borrow_and_update().clone();
    }
    // Nobody will say any more, nor needs to be asked again.
    std::future::pending().await
}

/// Serves one client over any stream of bytes, as if it had connected to `address`. For wires that
/// are not sockets; a [`Listener`] does more.
pub async fn serve_stream<S>(
    stream: S,
    address: SocketAddr,
    service: Arc<dyn Service>,
    options: &Options,
    limits: &Limits,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let endpoint = Arc::new(Endpoint::new(service, address, options, limits));
    let (connection, after) = connections::begin(&connections::builder(limits), &endpoint, stream);
    // Whatever ends a connection, its client has noticed already.
    let _ = connection.await;
    if let Some(socket) = after.take() {
        socket.await;
    }
    // Nobody else can come back to its sessions.
    endpoint.sessions.end_all();
}
