//! Keeps a link to whoever answers at one address: dials, stays, and dials again when it is lost.

use super::link::{Stay, stay};
use super::pause::Pause;
use super::{Dialled, Shared};
use crate::ending::Ending;
use crate::limits::{GREETING_TIME_MAX, LASTED, REPROBE, UDP_PATIENCE};
use crate::link::Link;
use crate::tcp::{Mux, Side};
use quinn::{ConnectionError, Endpoint};
use rustls::pki_types::ServerName;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::TlsConnector;

/// Does so until the agent stops.
pub(super) async fn keep(shared: Arc<Shared>, address: String) {
    let mut pause = Pause::new(seed(&shared, &address));
    loop {
        let tried = tokio::select! {
            tried = dial(&shared, &address) => tried,
            () = shared.stopped() => return,
        };
        let (why, again) = match tried {
            Err(why) => (why, pause.next()),
            Ok((link, endpoint)) => {
                let began = Instant::now();
                let stayed = stay(&shared, &address, &link).await;
                // What was said last is on its way.
                if let Some(endpoint) = endpoint {
                    _ = timeout(GREETING_TIME_MAX, endpoint.wait_idle()).await;
                }
                if began.elapsed() >= LASTED {
                    pause.reset();
                }
                match stayed {
                    Stay::Stopped => return,
                    Stay::Ended(why) => (why, pause.next()),
                    // It may be another one's address later.
                    Stay::Duplicate => {
                        if rest(&shared, REPROBE).await {
                            return;
                        }
                        continue;
                    }
                }
            }
        };
        (shared.settings.hears)(&Dialled::Failed { address: address.clone(), why, again });
        if rest(&shared, again).await {
            return;
        }
    }
}

/// Waits; whether the agent is to stop.
async fn rest(shared: &Shared, time: Duration) -> bool {
    tokio::select! {
        () = sleep(time) => false,
        () = shared.stopped() => true,
    }
}

/// A link by the first address that answers: over QUIC, or else over TCP. An endpoint must be there
/// for as long as a link of its own.
async fn dial(shared: &Shared, address: &str) -> Result<(Link, Option<Endpoint>), String> {
    let (host, _) = address.rsplit_once(':').ok_or("write the address as host:port")?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let found = lookup_host(address).await.map_err(|error| error.to_string())?;
    let found: Vec<SocketAddr> = found.collect();
    let mut why = "its name has no address".to_owned();
    for at in &found {
        match over_quic(shared, *at, host).await {
            Ok((link, endpoint)) => return Ok((link, Some(endpoint))),
            Err(Undialled::Refused(why)) => return Err(why),
            Err(Undialled::Unreached(error)) => why = error,
        }
    }
    for at in found {
        let dialled = timeout(GREETING_TIME_MAX, over_tcp(shared, at, host)).await;
        match dialled {
            Ok(Ok(link)) => return Ok((link, None)),
            Ok(Err(error)) => why = format!("{why}; over TCP: {error}"),
            Err(_) => why = format!("{why}; over TCP: nobody answers"),
        }
    }
    Err(why)
}

/// Why an address was dialled in vain.
enum Undialled {
    /// Somebody is there, and says this.
    Refused(String),
    /// Nobody is, or none of it comes through.
    Unreached(String),
}

async fn over_quic(
    shared: &Shared,
    at: SocketAddr,
    host: &str,
) -> Result<(Link, Endpoint), Undialled> {
    let here: SocketAddr = match at {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let unreached = |error: String| Undialled::Unreached(error);
    // A socket of its own: one that the system has closed is not the next one's.
    let endpoint = Endpoint::client(here).map_err(|error| unreached(error.to_string()))?;
    let dialling = shared.settings.dialling.clone();
    let connecting = endpoint.connect_with(dialling, at, host);
    let connecting = connecting.map_err(|error| Undialled::Refused(error.to_string()))?;
    match timeout(UDP_PATIENCE, connecting).await {
        Ok(Ok(link)) => Ok((link.into(), endpoint)),
        Ok(Err(error @ ConnectionError::TimedOut)) => Err(unreached(error.to_string())),
        Ok(Err(error)) => Err(Undialled::Refused(Ending::why(&error))),
        Err(_) => Err(unreached("nobody answers over UDP".to_owned())),
    }
}

async fn over_tcp(shared: &Shared, at: SocketAddr, host: &str) -> io::Result<Link> {
    let socket = TcpStream::connect(at).await?;
    socket.set_nodelay(true)?;
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    let connector = TlsConnector::from(Arc::clone(&shared.settings.tls));
    let stream = connector.connect(name, socket).await?;
    let chain = stream.get_ref().1.peer_certificates();
    let chain = chain.map(|chain| chain.iter().map(|one| one.clone().into_owned()).collect());
    Ok(Mux::new(stream, Side::Agent, chain).into())
}

fn seed(shared: &Shared, address: &str) -> u64 {
    let start = u64::from_le_bytes(shared.session_id[..8].try_into().expect("eight bytes"));
    address.bytes().fold(start, |seed, byte| seed.rotate_left(5) ^ u64::from(byte))
}
