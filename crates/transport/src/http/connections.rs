//! Connections of one runtime, each served on a task of its own, HTTP/1.1 or HTTP/2 as it begins.
//! Given to it by `threads`; accepts none.

use super::endpoint::Endpoint;
use super::stall::StallGuard;
use super::timed::{Departures, Timed};
use super::upgrade::Upgrade;
use crate::bounds::Bound;
use crate::stop::Stop;
use haft_proto::limits::Limits;
use http::{Request, StatusCode, header};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulConnection, GracefulShutdown};
use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

/// See the head of this file.
pub(super) struct Connections {
    endpoint: Arc<Endpoint>,
    builder: Builder<TokioExecutor>,
    graceful: GracefulShutdown,
    tasks: JoinSet<()>,
    /// How many of them are WebSockets.
    sockets: Arc<Bound>,
}

/// How much longer than its requests a WebSocket may take to end.
const PARTING: Duration = Duration::from_millis(600);

impl Connections {
    pub(super) fn new(endpoint: Arc<Endpoint>) -> Self {
        let builder = builder(&endpoint.limits);
        Self {
            endpoint,
            builder,
            graceful: GracefulShutdown::new(),
            tasks: JoinSet::new(),
            sockets: Bound::new(usize::MAX),
        }
    }

    /// Serves one; `places` are what it takes up, until it ends.
    pub(super) fn begin(&mut self, stream: TcpStream, places: impl Send + 'static) {
        // A reply is one write; waiting to fill a packet would only delay it. Failing is harmless.
        let _ = stream.set_nodelay(true);
        if self.endpoint.secure.is_some() {
            return self.begin_over_tls(stream, places);
        }
        let stream = StallGuard::new(stream, &self.endpoint.limits);
        let (connection, after) = begin(&self.builder, &self.endpoint, stream);
        let connection = self.graceful.watch(connection);
        self.tasks.spawn(to_the_end(connection, after, Arc::clone(&self.sockets), places));
    }

    fn begin_over_tls(&mut self, stream: TcpStream, places: impl Send + 'static) {
        let (watcher, sockets) = (self.graceful.watcher(), Arc::clone(&self.sockets));
        let (builder, endpoint) = (self.builder.clone(), Arc::clone(&self.endpoint));
        self.tasks.spawn(async move {
            let Some(secure) = &endpoint.secure else { return };
            let shaken = secure.shake(stream, &endpoint.limits, &endpoint.stopping).await;
            let Some(stream) = shaken else { return };
            let (connection, after) = begin(&builder, &endpoint, stream);
            to_the_end(watcher.watch(connection), after, sockets, places).await;
        });
    }

    /// Lets go of one that has ended. For ever, if there are none.
    pub(super) async fn reap(&mut self) {
        if self.tasks.join_next().await.is_none() {
            std::future::pending::<()>().await;
        }
    }

    /// Ends all of them, if there is time after their last answers.
    pub(super) async fn end(mut self, stop: Stop) {
        if stop == Stop::Gracefully {
            self.endpoint.stop();
            let grace = self.endpoint.limits.shutdown_grace;
            let end = Instant::now() + grace;
            let _ = timeout_at(end, self.graceful.shutdown()).await;
            // These end by themselves.
            let _ = timeout_at(end + PARTING, async {
                while self.sockets.taken() > 0 && self.tasks.join_next().await.is_some() {}
            })
            .await;
        }
        self.tasks.shutdown().await;
    }
}

/// Serves a connection, and what it becomes.
async fn to_the_end<T>(
    connection: impl Future<Output = T>,
    after: After,
    sockets: Arc<Bound>,
    places: impl Send + 'static,
) {
    // Whatever ends a connection, there is nobody to tell.
    let _ = connection.await;
    if let Some(socket) = after.take() {
        let _counted = sockets.share_of(1);
        socket.await;
    }
    drop(places);
}

/// hyper with our limits.
pub(super) fn builder(limits: &Limits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
        // A head has to fit, and hyper has a least size of its own.
        .max_buf_size(limits.read_bytes.max(limits.header_bytes).max(8192));
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams_per_connection)
        .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX))
        .keep_alive_interval(limits.keep_alive)
        .keep_alive_timeout(limits.write_stall);
    builder
}

/// What the requests of one connection share.
struct Shared {
    endpoint: Arc<Endpoint>,
    unread: Arc<Bound>,
    departures: Departures,
    /// What the connection becomes.
    upgrade: Mutex<Option<Upgrade>>,
}

/// What may come after HTTP on a connection.
pub(super) struct After(Arc<Shared>);

impl After {
    /// What the connection has become, if it is HTTP no longer. Small, as most never do.
    pub(super) fn take(&self) -> Option<Pin<Box<dyn Future<Output = ()> + Send + '_>>> {
        let upgrade = self.0.upgrade.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(Box::pin(upgrade.serve(&self.0.departures)))
    }
}

/// One connection, to be awaited, and what comes after it.
pub(super) fn begin<S>(
    builder: &Builder<TokioExecutor>,
    endpoint: &Arc<Endpoint>,
    stream: S,
) -> (
    impl GracefulConnection<Output = Result<(), Box<dyn Error + Send + Sync>>> + Send + 'static,
    After,
)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let unread = Bound::new(endpoint.limits.output_bytes);
    let departures = Departures::default();
    let stream = Timed::new(stream, departures.clone());
    let (endpoint, upgrade) = (Arc::clone(endpoint), Mutex::default());
    let shared = Arc::new(Shared { endpoint, unread, departures, upgrade });
    let after = After(Arc::clone(&shared));
    let service = service_fn(move |request: Request<Incoming>| {
        // Here, where HTTP has just taken it from what was read.
        let (shared, trip) = (Arc::clone(&shared), shared.departures.begin());
        async move {
            let Shared { endpoint, unread, departures, upgrade } = &*shared;
            let departure = departures.of(trip.clone());
            let mut response = endpoint.answer(request, unread, &trip, departure).await;
            if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                let mut upgrade = upgrade.lock().unwrap_or_else(PoisonError::into_inner);
                *upgrade = response.extensions_mut().remove();
            }
            if let Some(secure) = &endpoint.secure {
                response.headers_mut().insert(header::ALT_SVC, secure.alternative());
            }
            Ok::<_, Infallible>(response)
        }
    });
    (builder.serve_connection_with_upgrades(TokioIo::new(stream), service).into_owned(), after)
}
