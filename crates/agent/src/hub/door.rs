//! Where agents come to a gateway: one port, for QUIC and for TLS over TCP. Each link is served by
//! a task of its own.

use super::Hub;
use super::strangers::{Stranger, Strangers};
use crate::ending::Ending;
use crate::limits::{ACCEPT_PAUSE, GREETING_TIME_MAX, LAST_WORD_TIME_MAX, LINKS_MAX};
use crate::link::Link;
use crate::qlog;
use crate::quic::{server_config, told};
use crate::tcp::{Mux, Side};
use crate::trust::{Authority, tokens};
use quinn::{ConnectionError, Endpoint, EndpointConfig, Incoming, TokioRuntime, VarInt};
use quinn_proto::HashedConnectionIdGenerator;
use ring::{hkdf, hmac};
use rustix::system::uname;
use rustls::ServerConfig;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::error::Elapsed;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

/// See above.
pub struct Door {
    endpoint: Endpoint,
    /// How links over QUIC are taken.
    quic: quinn::ServerConfig,
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

/// Hears of links that ended: where they came from, and why.
pub type Guests = Arc<dyn Fn(SocketAddr, &str) + Send + Sync>;

/// Why there is no door.
#[derive(Debug, thiserror::Error)]
pub enum DoorError {
    /// The port cannot be had.
    #[error("cannot listen on {address}: {error}; choose another address")]
    Taken {
        /// Which.
        address: SocketAddr,
        /// What the system said.
        error: io::Error,
    },
    /// The settings of TLS are of no use to QUIC.
    #[error("TLS has no cipher that QUIC begins with")]
    NoCipher,
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Door").field("at", &self.endpoint.local_addr()).finish_non_exhaustive()
    }
}

impl Door {
    /// Opens it, with settings that have [`ALPN`](crate::ALPN). In a runtime. If the port is 0, it
    /// is any free one.
    ///
    /// # Errors
    /// [`DoorError`].
    pub async fn open(
        address: SocketAddr,
        tls: Arc<ServerConfig>,
        authority: &Authority,
    ) -> Result<Self, DoorError> {
        let taken = |error| DoorError::Taken { address, error };
        let mut config = server_config(Arc::clone(&tls)).map_err(|_| DoorError::NoCipher)?;
        let key = authority.secret("tokens of addresses");
        let key = hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(&key);
        config.token_key(Arc::new(key)).validation_token_config(tokens());
        let listener = TcpListener::bind(address).await.map_err(taken)?;
        let at = listener.local_addr().map_err(taken)?;
        let socket = std::net::UdpSocket::bind(at).map_err(taken)?;
        let endpoint = Endpoint::new(
            known_again(authority, at),
            Some(config.clone()),
            socket,
            Arc::new(TokioRuntime),
        );
        let endpoint = endpoint.map_err(taken)?;
        // QUIC's windows bound what is said early; over TCP it would be kept, whatever it is.
        let mut tls = Arc::unwrap_or_clone(tls);
        tls.max_early_data_size = 0;
        Ok(Self { endpoint, quic: config, listener, acceptor: TlsAcceptor::from(Arc::new(tls)) })
    }

    /// Where it is.
    ///
    /// # Errors
    /// The system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.endpoint.local_addr()
    }

    /// Lets agents in until the hub stops, and then waits until they have been told, if that does
    /// not take long. Dropping the future ends all links.
    pub async fn serve(self, hub: Arc<Hub>, guests: Guests) {
        let (mut links, room) = (JoinSet::new(), Arc::new(Semaphore::new(LINKS_MAX)));
        let strangers = Strangers::new();
        loop {
            while links.try_join_next().is_some() {}
            let (place, threshold) = tokio::select! {
                places = places(&room, &strangers) => places,
                () = hub.stopped() => break,
            };
            let (hub, guests) = (Arc::clone(&hub), Arc::clone(&guests));
            tokio::select! {
                () = hub.stopped() => break,
                Some(incoming) = self.endpoint.accept() => {
                    // An address that anybody could have written costs no handshake, and gets less
                    // than it sent. QUIC's own bound lets a whole datagram pass where one byte is
                    // left. Agents that come again have a token.
                    if !incoming.remote_address_validated() && incoming.may_retry() {
                        _ = incoming.retry();
                        continue;
                    }
                    let from = incoming.remote_address();
                    let Some(stranger) = strangers.comes(from.ip(), threshold) else {
                        incoming.refuse();
                        guests(from, &Ending::Crowd.to_string());
                        continue;
                    };
                    let told = qlog::is_on().then(|| told(&self.quic));
                    links.spawn(async move {
                        let greeted = timeout(GREETING_TIME_MAX, over_quic(incoming, told)).await;
                        meet((&hub, &guests), from, greeted, stranger).await;
                        drop(place);
                    });
                }
                accepted = self.listener.accept() => {
                    let Ok((socket, from)) = accepted else {
                        // As too many files are open, and it would not wait for that itself.
                        sleep(ACCEPT_PAUSE).await;
                        continue;
                    };
                    let Some(stranger) = strangers.comes(from.ip(), threshold) else {
                        guests(from, &Ending::Crowd.to_string());
                        continue;
                    };
                    let acceptor = self.acceptor.clone();
                    links.spawn(async move {
                        let link = over_tls(acceptor, socket, from);
                        let greeted = timeout(GREETING_TIME_MAX, link).await;
                        meet((&hub, &guests), from, greeted, stranger).await;
                        drop(place);
                    });
                }
            }
        }
        let told = async {
            while links.join_next().await.is_some() {}
            self.endpoint.wait_idle().await;
        };
        _ = timeout(LAST_WORD_TIME_MAX, told).await;
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        // Others may hold links, and would keep them.
        let code = VarInt::from_u32(Ending::Stopped.code());
        self.endpoint.close(code, Ending::Stopped.to_string().as_bytes());
    }
}

/// Settings by which a gateway that was started again is known to be the same: agents hear from it
/// that their links are gone, and do not wait for that. Of replicas each has its own, as one must
/// not say so of the links of another (RFC 9000, 21.11).
fn known_again(authority: &Authority, at: SocketAddr) -> EndpointConfig {
    let machine = uname();
    let here = format!("{} at {at}", machine.nodename().to_string_lossy());
    let reset = authority.secret(&format!("stateless reset of {here}"));
    let reset = hmac::Key::new(hmac::HMAC_SHA256, &reset);
    let ids = authority.secret(&format!("connection ids of {here}"));
    let ids = u64::from_le_bytes(ids[..8].try_into().expect("eight bytes"));
    let mut config = EndpointConfig::new(Arc::new(reset));
    config.cid_generator(move || Box::new(HashedConnectionIdGenerator::from_key(ids)));
    // Usually 20 ms, after which a thousand agents have heard of it in 20 s. Each is answered: what
    // says it is shorter than what it answers, and is said to ids alone that are ours.
    config.min_reset_interval(Duration::ZERO);
    config
}

/// A place for a link, and one for whoever has not said who it is.
async fn places(
    room: &Arc<Semaphore>,
    strangers: &Strangers,
) -> (OwnedSemaphorePermit, OwnedSemaphorePermit) {
    let place = Arc::clone(room).acquire_owned().await.expect("it is never closed");
    (place, strangers.place().await)
}

/// Serves a link, if there is one, and says why it has ended.
async fn meet<E: fmt::Display>(
    (hub, guests): (&Hub, &Guests),
    from: SocketAddr,
    greeted: Result<Result<Link, E>, Elapsed>,
    stranger: Stranger,
) {
    match greeted {
        Ok(Ok(link)) => guests(from, &hub.serve(link, stranger).await),
        Ok(Err(error)) => guests(from, &error.to_string()),
        Err(_) => guests(from, &Ending::Silent.to_string()),
    }
}

/// A link as soon as it is known whose it is: by what an earlier handshake left behind, that is
/// before this one has ended.
async fn over_quic(
    incoming: Incoming,
    told: Option<Arc<quinn::ServerConfig>>,
) -> Result<Link, ConnectionError> {
    let mut connecting = match told {
        Some(config) => incoming.accept_with(config)?,
        None => incoming.accept()?,
    };
    connecting.handshake_data().await?;
    let (connection, accepted) = match connecting.into_0rtt() {
        Ok(begun) => begun,
        Err(connecting) => return connecting.await.map(Link::from),
    };
    if connection.peer_identity().is_some() {
        return Ok(Link::unproven(connection, accepted));
    }
    _ = accepted.await;
    connection.close_reason().map_or_else(|| Ok(connection.into()), Err)
}

async fn over_tls(acceptor: TlsAcceptor, socket: TcpStream, from: SocketAddr) -> io::Result<Link> {
    socket.set_nodelay(true)?;
    let stream = acceptor.accept(socket).await?;
    let chain = stream.get_ref().1.peer_certificates();
    let chain = chain.map(|chain| chain.iter().map(|one| one.clone().into_owned()).collect());
    Ok(Link::from(Mux::new(stream, Side::Gateway, chain)).coming_from(from))
}
