//! Listening sockets, and the room for what they accept: one socket, or one for each thread
//! (`SO_REUSEPORT`). Reads and writes no connection.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;

/// A bound address.
pub(super) enum Sockets {
    One(TcpListener),
    /// As many as threads will accept. They are of no runtime yet.
    Each(Vec<std::net::TcpListener>),
}

impl Sockets {
    /// One; port 0 is any free one.
    pub(super) async fn one(address: SocketAddr) -> io::Result<(Self, SocketAddr)> {
        let socket = TcpListener::bind(address).await?;
        let address = socket.local_addr()?;
        Ok((Self::One(socket), address))
    }

    /// So many, at an address where nobody else listens: the system would let any process of the
    /// same user take part.
    #[cfg(target_os = "linux")]
    pub(super) fn each(address: SocketAddr, count: usize) -> io::Result<(Self, SocketAddr)> {
        let first = socket_for(address)?;
        first.bind(address)?;
        // Held until all are bound, and never listening.
        let address = first.local_addr()?;
        let bind = || {
            let socket = socket_for(address)?;
            socket.set_reuseport(true)?;
            socket.bind(address)?;
            socket.listen(BACKLOG)?.into_std()
        };
        let sockets = (0..count).map(|_| bind()).collect::<io::Result<_>>()?;
        Ok((Self::Each(sockets), address))
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn each(_: SocketAddr, _: usize) -> io::Result<(Self, SocketAddr)> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "only Linux spreads connections over sockets",
        ))
    }
}

#[cfg(target_os = "linux")]
fn socket_for(address: SocketAddr) -> io::Result<tokio::net::TcpSocket> {
    use tokio::net::TcpSocket;
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    Ok(socket)
}

/// How many connections may wait to be accepted; the same as of a lone socket.
#[cfg(target_os = "linux")]
const BACKLOG: u32 = 1024;

/// A socket that is listened at.
pub(super) struct Door {
    socket: TcpListener,
    room: Arc<Semaphore>,
    /// Accepted, and waits for room.
    next: Option<TcpStream>,
}

impl Door {
    pub(super) fn new(socket: TcpListener, room: Arc<Semaphore>) -> Self {
        Self { socket, room, next: None }
    }

    /// The next connection, once there is room for it. Nothing is lost if this is not awaited to
    /// its end. One is accepted before there is room: of many doors, each keeping a place for what
    /// may never come, the last could have none.
    pub(super) async fn accept(&mut self) -> (TcpStream, OwnedSemaphorePermit) {
        let stream = match self.next.take() {
            Some(stream) => stream,
            None => accept(&self.socket).await,
        };
        self.next = Some(stream);
        let room = Arc::clone(&self.room).acquire_owned().await;
        let stream = self.next.take().expect("it was put there above");
        (stream, room.expect("the semaphore is never closed"))
    }
}

async fn accept(socket: &TcpListener) -> TcpStream {
    loop {
        match socket.accept().await {
            Ok((stream, _)) => return stream,
            // Out of descriptors or memory, or a client that has gone: the next may fare better.
            Err(_) => sleep(RETRY_ACCEPT).await,
        }
    }
}

/// How long to wait after an `accept` that failed.
const RETRY_ACCEPT: Duration = Duration::from_millis(20);
