//! Who serves the connections of a listener: the runtime that accepts them, or threads with a
//! runtime each, on which a connection stays. Accepts nothing itself.

use super::connections::Connections;
use super::endpoint::Endpoint;
use crate::bounds::{Bound, Share};
use crate::stop::Stop;
use std::convert::Infallible;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::runtime;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::watch;
use tokio::time::timeout;

/// Which threads answer the clients of a listener.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// Those of the runtime that serves. In a runtime of many, a connection is taken up by
    /// whichever is free, so that a tool that keeps one busy holds up few others.
    #[default]
    Shared,
    /// Threads of the listener's own. Each has a share of the connections, for as long as those
    /// last: nothing moves between threads. A tool that keeps one busy holds up its connections,
    /// and what others wait for there: connections to other servers are shared by all.
    Own {
        /// How many. Those that the system does not grant are left out.
        count: NonZeroUsize,
        /// Whether each stays on one of the processors that this process may use (Linux), with the
        /// programs and threads that its tools start.
        is_pinned: bool,
    },
}

/// The threads of one listener.
pub(super) enum Crew {
    Here(Box<Connections>),
    Threads { workers: Vec<Worker>, order: watch::Sender<Option<Stop>>, ended: Ended },
}

/// Nothing is ever sent; it is closed when the last thread has ended.
type Ended = Receiver<Infallible>;

/// A thread, seen from the one that accepts.
pub(super) struct Worker {
    /// Never full: it has room for all connections that the listener has room for.
    inbox: Sender<Handed>,
    /// How many connections it has.
    load: Arc<Bound>,
}

/// A connection on its way to its thread, with the places that it takes.
struct Handed {
    stream: std::net::TcpStream,
    room: OwnedSemaphorePermit,
    load: Share,
}

impl Crew {
    pub(super) fn start(threads: Threads, endpoint: &Arc<Endpoint>) -> Self {
        let Threads::Own { count, is_pinned } = threads else {
            return Self::here(endpoint);
        };
        let (order, orders) = watch::channel(None);
        let (alive, ended) = mpsc::channel(1);
        let processors = if is_pinned { processors() } else { Vec::new() };
        let start = |number: usize| {
            let processor = processors.get(number % processors.len().max(1)).copied();
            let (inbox, handed) = mpsc::channel(endpoint.limits.connections.max(1));
            let (endpoint, orders, alive) = (Arc::clone(endpoint), orders.clone(), alive.clone());
            let runtime = runtime::Builder::new_current_thread().enable_all().build().ok()?;
            let work = move || {
                if let Some(processor) = processor {
                    stay_on(processor);
                }
                runtime.block_on(work(Connections::new(endpoint), handed, orders, alive));
                // A tool that blocks another thread must not keep this one.
                runtime.shutdown_background();
            };
            thread::Builder::new().name(format!("haft-http-{number}")).spawn(work).ok()?;
            Some(Worker { inbox, load: Bound::new(usize::MAX) })
        };
        let workers: Vec<Worker> = (0..count.get()).map_while(start).collect();
        match workers.is_empty() {
            true => Self::here(endpoint),
            false => Self::Threads { workers, order, ended },
        }
    }

    fn here(endpoint: &Arc<Endpoint>) -> Self {
        Self::Here(Box::new(Connections::new(Arc::clone(endpoint))))
    }

    /// Serves a connection, on the thread that has the fewest.
    pub(super) fn begin(&mut self, stream: TcpStream, room: OwnedSemaphorePermit) {
        match self {
            Self::Here(connections) => connections.begin(stream, room),
            Self::Threads { workers, .. } => {
                let alive = workers.iter().filter(|worker| !worker.inbox.is_closed());
                let freest = alive.min_by_key(|worker| worker.load.taken());
                // A socket that cannot be moved, or no thread left: the client is told by its end.
                if let (Some(freest), Ok(stream)) = (freest, stream.into_std()) {
                    let load = freest.load.share_of(1);
                    _ = freest.inbox.try_send(Handed { stream, room, load });
                }
            }
        }
    }

    /// Lets go of connections that have ended, one for each time. For ever, if there are none.
    pub(super) async fn reap(&mut self) {
        match self {
            Self::Here(connections) => connections.reap().await,
            Self::Threads { .. } => std::future::pending().await,
        }
    }

    /// Ends all connections, and then the threads: until all have ended, one may work for another.
    /// A thread that a tool keeps busy is left behind.
    pub(super) async fn end(self, stop: Stop, grace: Duration) {
        match self {
            Self::Here(connections) => connections.end(stop).await,
            Self::Threads { workers, order, mut ended } => {
                order.send_replace(Some(stop));
                drop(workers);
                _ = timeout(grace + LAST_LOOK, ended.recv()).await;
                drop(order);
            }
        }
    }
}

/// How much longer than their requests threads may take to end.
const LAST_LOOK: Duration = Duration::from_secs(1);

/// What a thread does: takes connections, until there is an order to stop or nobody to give one.
async fn work(
    mut connections: Connections,
    mut handed: Receiver<Handed>,
    mut orders: watch::Receiver<Option<Stop>>,
    alive: Sender<Infallible>,
) {
    let stop = {
        let mut ordered = std::pin::pin!(orders.wait_for(Option::is_some));
        loop {
            tokio::select! {
                biased;
                ordered = &mut ordered => {
                    break ordered.ok().and_then(|stop| *stop).unwrap_or(Stop::AtOnce);
                }
                () = connections.reap() => {}
                Some(Handed { stream, room, load }) = handed.recv() => {
                    if let Ok(stream) = TcpStream::from_std(stream) {
                        connections.begin(stream, (room, load));
                    }
                }
            }
        }
    };
    connections.end(stop).await;
    drop(alive);
    // Until nobody is left to give orders.
    _ = orders.wait_for(|_| false).await;
}

/// The processors that this process may use.
#[cfg(target_os = "linux")]
fn processors() -> Vec<usize> {
    let Ok(allowed) = rustix::thread::sched_getaffinity(None) else { return Vec::new() };
    (0..rustix::thread::CpuSet::MAX_CPU).filter(|&number| allowed.is_set(number)).collect()
}

#[cfg(not(target_os = "linux"))]
fn processors() -> Vec<usize> {
    Vec::new()
}

/// Keeps this thread on a processor; where that is refused, it goes where the system likes.
#[cfg(target_os = "linux")]
fn stay_on(processor: usize) {
    let mut only = rustix::thread::CpuSet::new();
    only.set(processor);
    _ = rustix::thread::sched_setaffinity(None, &only);
}

#[cfg(not(target_os = "linux"))]
fn stay_on(_: usize) {}
