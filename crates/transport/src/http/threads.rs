//! Who serves the connections of a listener: the runtime that accepts them, or threads with a
//! runtime each, on which a connection stays. Reads and writes none itself.

use super::connections::Connections;
use super::door::{Door, Sockets};
use super::endpoint::Endpoint;
use crate::bounds::{Bound, Share};
use crate::stop::Stop;
use std::convert::Infallible;
use std::future::pending;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::watch;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
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
        /// Whether each accepts its connections by a socket of its own, over which the system
        /// spreads them by a hash of their addresses (Linux, `SO_REUSEPORT`); else one thread
        /// accepts them all, and gives each to the one that has the fewest. While a tool keeps a
        /// thread busy, new connections wait there that other threads would have taken. Other
        /// processes of the same user can take a share of such a port.
        is_accepting: bool,
    },
}

/// The threads of one listener.
pub(super) enum Crew {
    Here { connections: Box<Connections>, door: Option<Door> },
    Threads { workers: Vec<Worker>, door: Option<Door>, orders: Orders, ended: Ended },
}

/// Says when to stop.
type Orders = watch::Sender<Option<Stop>>;

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
    places: Places,
}

/// What a connection takes until it ends: room in the listener, and among those of its thread.
type Places = (OwnedSemaphorePermit, Option<Share>);

/// Where a thread has its connections from.
enum Source {
    Inbox(Receiver<Handed>),
    Door(Door),
}

impl Source {
    /// The next connection; nothing is lost if this is not awaited to its end.
    async fn next(&mut self) -> (TcpStream, Places) {
        let inbox = match self {
            Self::Inbox(inbox) => inbox,
            Self::Door(door) => {
                let (stream, room) = door.accept().await;
                return (stream, (room, None));
            }
        };
        while let Some(Handed { stream, places }) = inbox.recv().await {
            // One that cannot be moved ends, which tells its client.
            if let Ok(stream) = TcpStream::from_std(stream) {
                return (stream, places);
            }
        }
        // The listener has gone, and its order to stop is on its way.
        pending().await
    }
}

impl Crew {
    /// `room` is that of all connections of the listener.
    pub(super) fn start(
        threads: Threads,
        endpoint: &Arc<Endpoint>,
        sockets: Sockets,
        room: Arc<Semaphore>,
    ) -> Self {
        let (count, is_pinned) = match threads {
            Threads::Shared => (0, false),
            Threads::Own { count, is_pinned, .. } => (count.get(), is_pinned),
        };
        let (orders, hiring, ended) = Hiring::begin(endpoint, is_pinned);
        match sockets {
            Sockets::One(socket) => {
                let door = Some(Door::new(socket, room));
                let workers: Vec<Worker> =
                    (0..count).map_while(|number| hiring.hire_for_inbox(number)).collect();
                match workers.is_empty() {
                    true => Self::here(endpoint, door),
                    false => Self::Threads { workers, door, orders, ended },
                }
            }
            Sockets::Each(sockets) => {
                let spare = sockets.first().and_then(|socket| socket.try_clone().ok());
                let mut sockets = sockets.into_iter().enumerate();
                let hire = |(number, socket)| hiring.hire_for_door(number, socket, &room);
                if sockets.by_ref().map_while(hire).count() > 0 {
                    return Self::Threads { workers: Vec::new(), door: None, orders, ended };
                }
                let socket = spare.and_then(|socket| TcpListener::from_std(socket).ok());
                Self::here(endpoint, socket.map(|socket| Door::new(socket, room)))
            }
        }
    }

    fn here(endpoint: &Arc<Endpoint>, door: Option<Door>) -> Self {
        Self::Here { connections: Box::new(Connections::new(Arc::clone(endpoint))), door }
    }

    /// Takes in the next connection, or lets go of one that has ended: to be awaited over and over.
    /// Nothing is lost if it is not awaited to its end.
    pub(super) async fn work(&mut self) {
        match self {
            Self::Here { connections, door } => tokio::select! {
                biased;
                () = connections.reap() => {}
                (stream, room) = accept(door) => connections.begin(stream, room),
            },
            Self::Threads { workers, door, .. } => {
                let (stream, room) = accept(door).await;
                hand(workers, stream, room);
            }
        }
    }

    /// Ends all connections, and then the threads: until all have ended, one may work for another.
    /// A thread that a tool keeps busy is left behind.
    pub(super) async fn end(self, stop: Stop, grace: Duration) {
        match self {
            Self::Here { connections, door } => {
                drop(door);
                connections.end(stop).await;
            }
            Self::Threads { workers, door, orders, mut ended } => {
                drop(door);
                orders.send_replace(Some(stop));
                drop(workers);
                _ = timeout(grace + LAST_LOOK, ended.recv()).await;
                drop(orders);
            }
        }
    }
}

/// The next connection; for ever, if they all come in by the doors of threads.
async fn accept(door: &mut Option<Door>) -> (TcpStream, OwnedSemaphorePermit) {
    match door {
        Some(door) => door.accept().await,
        None => pending().await,
    }
}

/// Gives a connection to the thread that has the fewest.
fn hand(workers: &[Worker], stream: TcpStream, room: OwnedSemaphorePermit) {
    let alive = workers.iter().filter(|worker| !worker.inbox.is_closed());
    let freest = alive.min_by_key(|worker| worker.load.taken());
    // A socket that cannot be moved, or no thread left: the client is told by its end.
    if let (Some(freest), Ok(stream)) = (freest, stream.into_std()) {
        let places = (room, Some(freest.load.share_of(1)));
        _ = freest.inbox.try_send(Handed { stream, places });
    }
}

/// What each thread is given.
struct Hiring {
    endpoint: Arc<Endpoint>,
    ordered: watch::Receiver<Option<Stop>>,
    alive: Sender<Infallible>,
    /// None where threads go where the system likes.
    processors: Vec<usize>,
}

impl Hiring {
    fn begin(endpoint: &Arc<Endpoint>, is_pinned: bool) -> (Orders, Self, Ended) {
        let (orders, ordered) = watch::channel(None);
        let (alive, ended) = mpsc::channel(1);
        let processors = if is_pinned { processors() } else { Vec::new() };
        (orders, Self { endpoint: Arc::clone(endpoint), ordered, alive, processors }, ended)
    }

    /// Starts a thread that serves what it is handed; `None` if the system does not grant it.
    fn hire_for_inbox(&self, number: usize) -> Option<Worker> {
        let (inbox, handed) = mpsc::channel(self.endpoint.limits.connections.max(1));
        self.hire(number, || Some(Source::Inbox(handed)))?;
        Some(Worker { inbox, load: Bound::new(usize::MAX) })
    }

    /// Starts a thread that serves what it accepts; `None` if the system does not grant it.
    fn hire_for_door(
        &self,
        number: usize,
        socket: std::net::TcpListener,
        room: &Arc<Semaphore>,
    ) -> Option<()> {
        let room = Arc::clone(room);
        let door = || Some(Source::Door(Door::new(TcpListener::from_std(socket).ok()?, room)));
        self.hire(number, door)
    }

    fn hire(
        &self,
        number: usize,
        source: impl FnOnce() -> Option<Source> + Send + 'static,
    ) -> Option<()> {
        let processor = self.processors.get(number % self.processors.len().max(1)).copied();
        let (ordered, alive) = (self.ordered.clone(), self.alive.clone());
        let endpoint = Arc::clone(&self.endpoint);
        let runtime = runtime::Builder::new_current_thread().enable_all().build().ok()?;
        let work = move || {
            if let Some(processor) = processor {
                stay_on(processor);
            }
            runtime.block_on(async {
                if let Some(source) = source() {
                    work(Connections::new(endpoint), source, ordered, alive).await;
                }
            });
            // A tool that blocks another thread must not keep this one.
            runtime.shutdown_background();
        };
        thread::Builder::new().name(format!("haft-http-{number}")).spawn(work).ok().map(drop)
    }
}

/// How much longer than their requests threads may take to end.
const LAST_LOOK: Duration = Duration::from_secs(1);

/// What a thread does: serves connections, until there is an order to stop or nobody to give one.
async fn work(
    mut connections: Connections,
    mut source: Source,
    mut ordered: watch::Receiver<Option<Stop>>,
    alive: Sender<Infallible>,
) {
    let stop = {
        let mut order = std::pin::pin!(ordered.wait_for(Option::is_some));
        loop {
            tokio::select! {
                biased;
                order = &mut order => {
                    break order.ok().and_then(|stop| *stop).unwrap_or(Stop::AtOnce);
                }
                () = connections.reap() => {}
                (stream, places) = source.next() => connections.begin(stream, places),
            }
        }
    };
    drop(source);
    connections.end(stop).await;
    drop(alive);
    // Until nobody is left to give orders.
    _ = ordered.wait_for(|_| false).await;
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
