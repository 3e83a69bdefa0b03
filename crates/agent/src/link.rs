//! A link, over QUIC or, where no datagrams pass, over TCP: streams in both directions, and one end
//! that says why it ends.

use crate::ending::Ending;
use crate::tcp::{Mux, Reading, Writing};
use crate::wire::{Incoming, Outgoing};
use quinn::{Connection, RecvStream, SendStream, VarInt, ZeroRttAccepted};
use rustls::pki_types::CertificateDer;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;

/// See above. All clones are the same link.
#[derive(Clone)]
pub struct Link {
    kind: Kind,
    /// Whether the handshake has ended, of a link that was there before that.
    proof: Option<watch::Receiver<bool>>,
    /// Where it comes from, if that does not change.
    from: Option<SocketAddr>,
}

#[derive(Clone)]
enum Kind {
    Quic(Connection),
    Tcp(Mux),
}

/// The frames of a stream that come, and the way for those that go.
pub(crate) type Streams = (Incoming<Receiving>, Outgoing<Sending>);

/// What comes on a stream.
pub(crate) enum Receiving {
    Quic(RecvStream),
    Tcp(Reading),
}

/// What goes.
pub(crate) enum Sending {
    Quic(SendStream),
    Tcp(Writing),
}

/// The code of a stream that nobody wants any more.
const UNWANTED: VarInt = VarInt::from_u32(1);

impl From<Connection> for Link {
    fn from(connection: Connection) -> Self {
        Self { kind: Kind::Quic(connection), proof: None, from: None }
    }
}

impl From<Mux> for Link {
    fn from(mux: Mux) -> Self {
        Self { kind: Kind::Tcp(mux), proof: None, from: None }
    }
}

impl Link {
    /// One whose other end has said who it is by what an earlier handshake left behind, and has not
    /// shown that it says so now: somebody may repeat what it said.
    pub(crate) fn unproven(connection: Connection, accepted: ZeroRttAccepted) -> Self {
        let (ended, proof) = watch::channel(false);
        let waiting = connection.clone();
        tokio::spawn(async move {
            _ = accepted.await;
            if waiting.close_reason().is_none() {
                // Nobody may wait for it any more.
                _ = ended.send(true);
            }
        });
        Self { proof: Some(proof), ..connection.into() }
    }

    /// The same, which comes from there.
    pub(crate) fn coming_from(self, address: SocketAddr) -> Self {
        Self { from: Some(address), ..self }
    }

    /// Where it comes from now, if that is known.
    pub(crate) fn remote(&self) -> Option<SocketAddr> {
        match &self.kind {
            Kind::Quic(connection) => Some(connection.remote_address()),
            Kind::Tcp(_) => self.from,
        }
    }

    /// Whether its other end was known before its handshake had ended.
    pub(crate) fn is_resumed(&self) -> bool {
        self.proof.is_some()
    }

    /// How long a round trip takes, smoothed, and at least; over TCP nobody knows.
    pub(crate) fn round_trip(&self) -> Option<(Duration, Duration)> {
        match &self.kind {
            Kind::Quic(connection) => Some((connection.rtt(), connection.min_rtt())),
            Kind::Tcp(_) => None,
        }
    }

    /// How many datagrams have come; over TCP nobody knows.
    pub(crate) fn heard(&self) -> Option<u64> {
        match &self.kind {
            Kind::Quic(connection) => Some(connection.stats().udp_rx.datagrams),
            Kind::Tcp(_) => None,
        }
    }

    /// Whether the other end has shown that it is there.
    pub(crate) fn is_proven(&self) -> bool {
        self.proof.as_ref().is_none_or(|proof| *proof.borrow())
    }

    /// Waits until it has.
    ///
    /// # Errors
    /// The link has ended before.
    pub(crate) async fn proven(&self) -> io::Result<()> {
        let Some(proof) = &self.proof else { return Ok(()) };
        let proven = proof.clone().wait_for(|is_proven| *is_proven).await.map(drop);
        proven.map_err(|_| io::ErrorKind::ConnectionAborted.into())
    }

    /// Whether it is over TCP, and so has its streams wait for one another.
    #[must_use]
    pub fn is_over_tcp(&self) -> bool {
        matches!(self.kind, Kind::Tcp(_))
    }

    /// Opens a stream on which frames of so many bytes may come.
    pub(crate) async fn open(&self, most: usize) -> io::Result<Streams> {
        match &self.kind {
            Kind::Quic(connection) => Ok(of_quic(connection.open_bi().await?, most)),
            Kind::Tcp(mux) => mux.open(most).await,
        }
    }

    /// The next stream that the other end opens.
    pub(crate) async fn accept(&self, most: usize) -> io::Result<Streams> {
        match &self.kind {
            Kind::Quic(connection) => Ok(of_quic(connection.accept_bi().await?, most)),
            Kind::Tcp(mux) => mux.accept(most).await,
        }
    }

    /// Ends it so, which the other end is told.
    pub(crate) fn end(&self, ending: Ending) {
        match &self.kind {
            Kind::Quic(connection) => {
                let code = VarInt::from_u32(ending.code());
                connection.close(code, ending.to_string().as_bytes());
            }
            Kind::Tcp(mux) => mux.end(ending),
        }
    }

    /// Waits until it has ended; why.
    pub(crate) async fn ended(&self) -> String {
        match &self.kind {
            Kind::Quic(connection) => Ending::why(&connection.closed().await),
            Kind::Tcp(mux) => mux.ended().await,
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        match &self.kind {
            Kind::Quic(connection) => connection.close_reason().is_some(),
            Kind::Tcp(mux) => mux.has_ended(),
        }
    }

    /// What the other end has shown of itself, which TLS has found to be good.
    pub(crate) fn certificates(&self) -> Option<Vec<CertificateDer<'static>>> {
        match &self.kind {
            Kind::Quic(connection) => {
                let chain = connection.peer_identity()?.downcast::<Vec<CertificateDer<'_>>>();
                chain.ok().map(|chain| *chain)
            }
            Kind::Tcp(mux) => mux.certificates(),
        }
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wire = if self.is_over_tcp() { "TCP" } else { "QUIC" };
        f.debug_tuple("Link").field(&wire).finish()
    }
}

fn of_quic((send, receive): (SendStream, RecvStream), most: usize) -> Streams {
    let incoming = Incoming::new(Receiving::Quic(receive), most);
    (incoming, Outgoing::new(Sending::Quic(send)))
}

impl Sending {
    /// Whether it is of a link over TCP.
    pub(crate) fn is_over_tcp(&self) -> bool {
        matches!(self, Self::Tcp(_))
    }

    /// Nothing more is sent; what was, arrives.
    pub(crate) fn finish(&mut self) {
        if let Self::Quic(stream) = self {
            // One that was stopped has nobody who waits for its end.
            _ = stream.finish();
        }
    }

    /// Nobody wants the stream any more.
    pub(crate) fn abandon(&mut self) {
        if let Self::Quic(stream) = self {
            // One that has ended cannot be given up.
            _ = stream.reset(UNWANTED);
        }
    }
}

impl AsyncRead for Receiving {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Quic(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Tcp(half) => Pin::new(half).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Sending {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Quic(stream) => AsyncWrite::poll_write(Pin::new(stream), cx, bytes),
            Self::Tcp(half) => Pin::new(half).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Quic(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tcp(half) => Pin::new(half).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Quic(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tcp(half) => Pin::new(half).poll_shutdown(cx),
        }
    }
}
