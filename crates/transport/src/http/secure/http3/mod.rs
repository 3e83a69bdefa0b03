//! HTTP/3 (RFC 9114) at the port of a listener that has a certificate: lets connections in, and
//! ends them. All are on the runtime that serves the listener, whatever threads TCP has. What is
//! said on them is `connection`'s.

mod body;
mod connection;
mod frames;
mod limits;
mod quic;
mod receiving;
mod sending;

use super::certificate::Tls;
use super::handshake::Secure;
use crate::bounds::Bound;
use crate::http::endpoint::Endpoint;
use crate::stop::Stop;
use h3::error::Code;
use haft_proto::limits::Limits;
use limits::{
    CONNECTION_WINDOW, HANDSHAKE_BYTES, HANDSHAKES_BYTES, HANDSHAKES_UNPROVEN, HANDSHAKES_WAITING,
    ONE_WAY_STREAMS, PARTING, SEND_WINDOW, STREAM_WINDOW, UNFINISHED_BYTES,
};
use quinn::{EndpointConfig, Incoming, ServerConfig, TokioRuntime, TransportConfig, VarInt};
use std::future::{pending, poll_fn};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// The connections of one listener over QUIC; none, if it has no certificate.
pub(in crate::http) struct Http3(Option<Door>);

struct Door {
    quic: quinn::Endpoint,
    endpoint: Arc<Endpoint>,
    /// That of all connections of the listener.
    room: Arc<Semaphore>,
    /// How many handshakes are at work.
    handshakes: Arc<Bound>,
    /// What all connections hold of headers that are not whole.
    unfinished: Arc<Bound>,
    tasks: JoinSet<()>,
}

/// A certificate, and a port at which nobody is let in yet.
pub(in crate::http) struct Way {
    tls: Tls,
    quic: quinn::Endpoint,
}

impl Way {
    /// Takes that port for UDP. In a runtime.
    pub(in crate::http) fn at(address: SocketAddr, tls: Tls) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        let (config, runtime) = (EndpointConfig::default(), Arc::new(TokioRuntime));
        Ok(Self { tls, quic: quinn::Endpoint::new(config, None, socket, runtime)? })
    }

    /// What connections over TCP go through at that port.
    pub(in crate::http) fn secure(&self, port: u16) -> Secure {
        Secure::new(&self.tls, port)
    }
}

impl Http3 {
    pub(in crate::http) fn start(
        way: Option<Way>,
        endpoint: &Arc<Endpoint>,
        room: &Arc<Semaphore>,
    ) -> Self {
        Self(way.map(|Way { tls, quic }| {
            quic.set_server_config(Some(config(&tls, &endpoint.limits)));
            Door {
                quic,
                endpoint: Arc::clone(endpoint),
                room: Arc::clone(room),
                handshakes: Bound::new(HANDSHAKES_UNPROVEN),
                unfinished: Bound::new(UNFINISHED_BYTES),
                tasks: JoinSet::new(),
            }
        }))
    }

    /// Takes in the next connection, or lets go of one that has ended: to be awaited over and over.
    /// Nothing is lost if it is not awaited to its end.
    pub(in crate::http) async fn work(&mut self) {
        let Some(door) = &mut self.0 else { return pending().await };
        tokio::select! {
            biased;
            Some(_) = door.tasks.join_next() => {}
            Some(incoming) = door.quic.accept() => door.take(incoming),
            else => pending().await,
        }
    }

    /// Ends all connections, if there is time after their last answers.
    pub(in crate::http) async fn end(self, stop: Stop) {
        let Some(Door { quic, endpoint, mut tasks, .. }) = self.0 else { return };
        quic.set_server_config(None);
        if stop == Stop::Gracefully {
            endpoint.stop();
            let ended = async { while tasks.join_next().await.is_some() {} };
            _ = timeout(endpoint.limits.shutdown_grace, ended).await;
        }
        tasks.shutdown().await;
        let code = VarInt::from_u64(Code::H3_NO_ERROR.value()).expect("codes are short");
        quic.close(code, b"");
        _ = timeout(PARTING, quic.wait_idle()).await;
    }
}

impl Door {
    /// Lets one in, if there is room. QUIC cannot wait for it, as TCP does: the client would send
    /// its first packet again and again.
    fn take(&mut self, incoming: Incoming) {
        let Ok(place) = Arc::clone(&self.room).try_acquire_owned() else {
            return incoming.refuse();
        };
        // In a flood, an address that anybody could have written costs no handshake.
        let is_unproven = !incoming.remote_address_validated() && incoming.may_retry();
        if self.handshakes.is_full() && is_unproven {
            _ = incoming.retry();
            return;
        }
        let (endpoint, handshake) = (Arc::clone(&self.endpoint), self.handshakes.share_of(1));
        let unfinished = Arc::clone(&self.unfinished);
        self.tasks.spawn(async move {
            let mut stopped = endpoint.stopping.wait();
            let shaken = tokio::select! {
                shaken = timeout(endpoint.limits.header_timeout, incoming) => shaken,
                () = poll_fn(|cx| stopped.poll(cx)) => return,
            };
            drop((handshake, stopped));
            // Whatever ends a connection, there is nobody to tell.
            if let Ok(Ok(connection)) = shaken {
                connection::serve(endpoint, connection, unfinished).await;
            }
            drop(place);
        });
    }
}

/// QUIC with our limits. What may be held early, before the handshake has ended, is nothing: the
/// settings of TLS refuse it.
fn config(tls: &Tls, limits: &Limits) -> ServerConfig {
    let mut transport = TransportConfig::default();
    let silence = (limits.keep_alive + limits.write_stall).try_into().ok();
    transport
        .max_concurrent_bidi_streams(limits.streams_per_connection.into())
        .max_concurrent_uni_streams(ONE_WAY_STREAMS.into())
        .stream_receive_window(STREAM_WINDOW.into())
        .receive_window(CONNECTION_WINDOW.into())
        .send_window(SEND_WINDOW)
        .keep_alive_interval(Some(limits.keep_alive))
        .max_idle_timeout(silence)
        .datagram_receive_buffer_size(None);
    let mut config = ServerConfig::with_crypto(tls.quic());
    config
        .transport_config(Arc::new(transport))
        .max_incoming(HANDSHAKES_WAITING)
        .incoming_buffer_size(HANDSHAKE_BYTES)
        .incoming_buffer_size_total(HANDSHAKES_BYTES);
    config
}
