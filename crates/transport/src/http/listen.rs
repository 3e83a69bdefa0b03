//! A listening socket: accepts connections while there is room, and hands them to `threads`. Reads
//! and writes none of them.

use super::Options;
use super::connections;
use super::endpoint::Endpoint;
use super::threads::Crew;
use crate::stop::Stop;
use haft_proto::limits::Limits;
use haft_proto::service::Service;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{interval, sleep};

/// A bound address that does not serve yet.
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    options: Options,
}

impl Listener {
    /// Binds an address; port 0 is any free one.
    ///
    /// # Errors
    /// The address is in use or not ours.
    pub async fn bind(address: SocketAddr, options: Options) -> io::Result<Self> {
        let socket = TcpListener::bind(address).await?;
        let address = socket.local_addr()?;
        Ok(Self { socket, address, options })
    }

    /// Where clients find the endpoint.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, self.options.path)
    }

    /// Serves until `stop` comes; requests in flight then have
    /// [`shutdown_grace`](Limits::shutdown_grace) left.
    pub async fn serve(
        self,
        service: Arc<dyn Service>,
        limits: &Limits,
        stop: impl Future<Output = Stop>,
    ) {
        let endpoint = Arc::new(Endpoint::new(service, self.address, &self.options, limits));
        let room = Arc::new(Semaphore::new(endpoint.limits.connections));
        let mut crew = Crew::start(self.options.threads, &endpoint);
        let mut stop = std::pin::pin!(stop);
        let mut sweep = interval(endpoint.sessions.sweep_interval());
        let mut idle = interval(endpoint.buffers.sweep_interval());
        let stop = loop {
            tokio::select! {
                biased;
                stop = &mut stop => break stop,
                _ = sweep.tick() => endpoint.sessions.sweep(),
                _ = idle.tick() => endpoint.buffers.sweep(),
                () = crew.reap() => {}
                (stream, room) = accept(&self.socket, &room) => crew.begin(stream, room),
            }
        };
        drop(self.socket);
        crew.end(stop, limits.shutdown_grace).await;
        endpoint.sessions.end_all();
    }
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
    let connection = connections::begin(&connections::builder(limits), &endpoint, stream);
    // Whatever ends a connection, its client has noticed already.
    let _ = connection.await;
    // Nobody else can come back to its sessions.
    endpoint.sessions.end_all();
}

/// The next connection, once there is room for it.
async fn accept(socket: &TcpListener, room: &Arc<Semaphore>) -> (TcpStream, OwnedSemaphorePermit) {
    let room = Arc::clone(room).acquire_owned().await.expect("the semaphore is never closed");
    loop {
        match socket.accept().await {
            Ok((stream, _)) => return (stream, room),
            // Out of descriptors or memory, or a client that has gone: the next may fare better.
            Err(_) => sleep(RETRY_ACCEPT).await,
        }
    }
}

/// How long to wait after an `accept` that failed.
const RETRY_ACCEPT: Duration = Duration::from_millis(20);
