//! Accepts connections and serves each on a task of its own, HTTP/1.1 or HTTP/2 as it begins.

use super::Options;
use super::endpoint::Endpoint;
use super::stall::StallGuard;
use super::timed::{Departures, Timed};
use crate::bounds::Bound;
use crate::stop::Stop;
use haft_proto::limits::Limits;
use haft_proto::service::Service;
use haft_stages::Trip;
use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulConnection, GracefulShutdown};
use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{interval, sleep, timeout};

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
        let mut connections = Connections::new(Arc::clone(&endpoint));
        let mut stop = std::pin::pin!(stop);
        let mut sweep = interval(endpoint.sessions.sweep_interval());
        let stop = loop {
            tokio::select! {
                biased;
                stop = &mut stop => break stop,
                _ = sweep.tick() => endpoint.sessions.sweep(),
                Some(_) = connections.tasks.join_next() => {}
                (stream, room) = accept(&self.socket, &connections.room) => {
                    connections.begin(stream, room);
                }
            }
        };
        drop(self.socket);
        connections.end(stop).await;
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
    let connection = begin(&builder(limits), &endpoint, stream);
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

struct Connections {
    endpoint: Arc<Endpoint>,
    builder: Builder<TokioExecutor>,
    graceful: GracefulShutdown,
    tasks: JoinSet<()>,
    room: Arc<Semaphore>,
}

impl Connections {
    fn new(endpoint: Arc<Endpoint>) -> Self {
        let builder = builder(&endpoint.limits);
        let room = Arc::new(Semaphore::new(endpoint.limits.connections));
        Self { endpoint, builder, graceful: GracefulShutdown::new(), tasks: JoinSet::new(), room }
    }

    fn begin(&mut self, stream: TcpStream, room: OwnedSemaphorePermit) {
        // A reply is one write; waiting to fill a packet would only delay it. Failing is harmless.
        let _ = stream.set_nodelay(true);
        let stream = StallGuard::new(stream, &self.endpoint.limits);
        let connection = self.graceful.watch(begin(&self.builder, &self.endpoint, stream));
        self.tasks.spawn(async move {
            // As above: there is nobody to tell.
            let _ = connection.await;
            drop(room);
        });
    }

    async fn end(mut self, stop: Stop) {
        if stop == Stop::Gracefully {
            self.endpoint.stopping.stop();
            let grace = self.endpoint.limits.shutdown_grace;
            let _ = timeout(grace, self.graceful.shutdown()).await;
        }
        self.tasks.shutdown().await;
    }
}

/// hyper with our limits.
fn builder(limits: &Limits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
        // hyper's own least buffer.
        .max_buf_size(limits.header_bytes.max(8192));
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams_per_connection)
        .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX))
        .keep_alive_interval(limits.keep_alive)
        .keep_alive_timeout(limits.write_stall);
    builder
}

/// One connection, to be awaited.
fn begin<S>(
    builder: &Builder<TokioExecutor>,
    endpoint: &Arc<Endpoint>,
    stream: S,
) -> impl GracefulConnection<Output = Result<(), Box<dyn Error + Send + Sync>>> + Send + 'static
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let unread = Bound::new(endpoint.limits.output_bytes);
    let departures = Departures::default();
    let stream = Timed::new(stream, departures.clone());
    let shared = Arc::new((Arc::clone(endpoint), unread, departures));
    let service = service_fn(move |request: Request<Incoming>| {
        // Here, on the thread that has just read the connection.
        let (shared, trip) = (Arc::clone(&shared), Trip::begin());
        async move {
            let (endpoint, unread, departures) = &*shared;
            let departure = departures.of(trip.clone());
            Ok::<_, Infallible>(endpoint.answer(request, unread, &trip, departure).await)
        }
    });
    builder.serve_connection(TokioIo::new(stream), service).into_owned()
}
