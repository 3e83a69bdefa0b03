//! A bound address, served until it is told to stop: opens the doors, hands them to `threads`, and
//! sweeps what they share. Reads and writes no connection.

use super::Options;
use super::beside::{Beside, Besides};
use super::connections;
use super::door::Sockets;
use super::endpoint::Endpoint;
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
    options: Options,
    besides: Option<Besides>,
    roll: Roll,
    /// `None` without a certificate.
    way: Option<Way>,
}

impl Listener {
    /// Binds an address; port 0 is any free one.
    ///
    /// # Errors
    /// The address is in use or not ours; or each thread wants a socket
    /// ([`Threads::Own`], `is_accepting`), and the system is not Linux.
    pub async fn bind(address: SocketAddr, options: Options) -> io::Result<Self> {
        let (sockets, address) = match options.threads {
            Threads::Own { count, is_accepting: true, .. } => Sockets::each(address, count.get())?,
            _ => Sockets::one(address).await?,
        };
        Ok(Self { sockets, address, options, besides: None, roll: Roll::default(), way: None })
    }

    /// Speaks HTTPS, and nothing else, with HTTP/3 at the same port (UDP). In a runtime, which is
    /// the one that HTTP/3 is served on.
    ///
    /// # Errors
    /// The port is in use for UDP.
    #[cfg(feature = "tls")]
    pub fn over_tls(mut self, tls: Tls) -> io::Result<Self> {
        self.way = Some(Way::at(self.address, tls)?);
        Ok(self)
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
        let secure = self.way.as_ref().map(|way| way.secure(self.address.port()));
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
