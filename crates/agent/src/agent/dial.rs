//! Keeps a link to whoever answers at one address: dials, stays, and dials again when it is lost.

use super::link::{FirstWords, Met, Stay, Welcomed, stay};
use super::pause::Pause;
use super::{Dialled, Shared};
use crate::ending::Ending;
use crate::limits::{GREETING_TIME_MAX, LASTED, UDP_HEADSTART, UDP_PATIENCE};
use crate::link::{Link, Streams};
use crate::quic::client_config;
use crate::tcp::{Mux, Side};
use crate::trust::{GATEWAY_NAME, gateway_name};
use haft_link::limits::CONTROL_FRAME_MAX;
use quinn::{ClientConfig, Connecting, ConnectionError, Endpoint, TokenMemoryCache};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::TlsConnector;

/// Does so until the agent stops, or nobody has answered there for so long: where that was.
pub(super) async fn keep(shared: Arc<Shared>, address: String, patience: Duration) -> String {
    let mut answered = Instant::now();
    let mut pause = Pause::new(seed(&shared, &address));
    let (met, mut better) = (Met::default(), None);
    loop {
        let tried = match better.take() {
            Some(better) => Ok(better),
            None => tokio::select! {
                tried = dial_as(&shared, &address, &met) => tried,
                () = shared.stopped() => return address,
            },
        };
        let (why, again) = match tried {
            Err(why) => (why, pause.next()),
            Ok(Greeted { link, endpoint, welcomed }) => {
                let began = Instant::now();
                let stayed = tokio::select! {
                    stayed = stay(&shared, (&address, &met), &link, welcomed) => stayed,
                    found = over_datagrams(&shared, &address, &met), if link.is_over_tcp() => {
                        better = Some(found);
                        link.end(Ending::Replaced);
                        continue;
                    }
                };
                answered = Instant::now();
                said_last(endpoint).await;
                let was_of_use = matches!(stayed, Stay::Ended { was_of_use: true, .. });
                if was_of_use || began.elapsed() >= LASTED {
                    pause.reset();
                }
                match stayed {
                    Stay::Stopped => return address,
                    Stay::Ended { why, .. } => (why, pause.next()),
                    // It may be another one's address later.
                    Stay::Duplicate => {
                        if rest(&shared, shared.settings.reprobe).await {
                            return address;
                        }
                        continue;
                    }
                }
            }
        };
        (shared.settings.hears)(&Dialled::Failed { address: address.clone(), why, again });
        if answered.elapsed() > patience || rest(&shared, again).await {
            return address;
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

/// A link over which the gateway has said which it is.
struct Greeted {
    link: Link,
    /// It must be there for as long as the link, if it is that one's own.
    endpoint: Option<Endpoint>,
    welcomed: Welcomed,
}

impl Greeted {
    async fn over(reached: Reached, first: FirstWords) -> Result<Self, String> {
        let Reached { link, endpoint, control } = reached;
        match Welcomed::over(&link, control, first).await {
            Ok(welcomed) => Ok(Self { link, endpoint, welcomed }),
            Err(why) => {
                said_last(endpoint).await;
                Err(why)
            }
        }
    }
}

async fn dial_as(shared: &Shared, address: &str, met: &Met) -> Result<Greeted, String> {
    let first = FirstWords::new(shared, &last(met));
    let reached = dial(&Dialling::of(shared, &first)?, address).await?;
    Greeted::over(reached, first).await
}

/// A link over QUIC for one over TCP to the same gateway, as soon as datagrams pass: there calls do
/// not wait for one another.
async fn over_datagrams(shared: &Shared, address: &str, met: &Met) -> Greeted {
    loop {
        sleep(shared.settings.reprobe).await;
        // It has a link, and says what it has once this one takes its place.
        let first = FirstWords::new(shared, "");
        let Ok(dialling) = Dialling::of(shared, &first) else { continue };
        let Ok(found) = lookup_host(address).await else { continue };
        let found: Vec<SocketAddr> = found.collect();
        let Ok(reached) = any_over_quic(&dialling, &found).await else { continue };
        let Ok(greeted) = Greeted::over(reached, first).await else { continue };
        if greeted.welcomed.gateway() == last(met) {
            return greeted;
        }
        // Whoever stands before the replicas has chosen another for datagrams.
        greeted.link.end(Ending::Duplicate);
        said_last(greeted.endpoint).await;
    }
}

fn last(met: &Met) -> String {
    met.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Waits until what was said last is on its way.
async fn said_last(endpoint: Option<Endpoint>) {
    if let Some(endpoint) = endpoint {
        _ = timeout(GREETING_TIME_MAX, endpoint.wait_idle()).await;
    }
}

/// How it is dialled.
pub(super) struct Dialling {
    quic: ClientConfig,
    tls: Arc<rustls::ClientConfig>,
    /// What is said before the handshake has ended, if the gateway hears that; or nothing.
    early: Vec<u8>,
}

impl Dialling {
    fn of(shared: &Shared, first: &FirstWords) -> Result<Self, String> {
        let tls = shared.identity().client_config().map_err(|error| error.to_string())?;
        Self::new(tls, shared.settings.slots, &shared.tokens, first.frames.clone())
    }

    pub(super) fn new(
        tls: Arc<rustls::ClientConfig>,
        slots: usize,
        tokens: &Arc<TokenMemoryCache>,
        early: Vec<u8>,
    ) -> Result<Self, String> {
        let tokens = Arc::<TokenMemoryCache>::clone(tokens);
        let quic = client_config(Arc::clone(&tls), slots, tokens);
        let quic = quic.map_err(|error| error.to_string())?;
        Ok(Self { quic, tls, early })
    }
}

/// A link that is there.
pub(super) struct Reached {
    pub(super) link: Link,
    /// It must be there for as long as the link, if it is that one's own.
    pub(super) endpoint: Option<Endpoint>,
    /// The stream on which was said what was to be said early, and was heard.
    pub(super) control: Option<Streams>,
}

impl Reached {
    fn over_tcp(link: Link) -> Self {
        Self { link, endpoint: None, control: None }
    }
}

/// A link by the first address that answers: over QUIC, or else over TCP.
pub(super) async fn dial(dialling: &Dialling, address: &str) -> Result<Reached, String> {
    let found = lookup_host(address).await.map_err(|error| error.to_string())?;
    let found: Vec<SocketAddr> = found.collect();
    let began = Instant::now();
    let quic = any_over_quic(dialling, &found);
    let tcp = async {
        // Who waits for datagrams that do not pass shall not wait for long.
        sleep(UDP_HEADSTART).await;
        let mut last = "nobody answers".to_owned();
        for at in &found {
            let began = Instant::now();
            match timeout(GREETING_TIME_MAX, over_tcp(dialling, *at)).await {
                Ok(Ok(link)) => return Ok((link, began.elapsed())),
                Ok(Err(error)) => last = error.to_string(),
                Err(_) => {}
            }
        }
        Err(last)
    };
    tokio::pin!(quic, tcp);
    let (mut no_quic, mut no_tcp) = (None, None);
    loop {
        tokio::select! {
            dialled = &mut quic, if no_quic.is_none() => match dialled {
                Ok(reached) => return Ok(reached),
                Err(Undialled::Refused(why)) => return Err(why),
                Err(Undialled::Unreached(why)) => no_quic = Some(why),
            },
            dialled = &mut tcp, if no_tcp.is_none() => match dialled {
                Ok((link, took)) => {
                    let better = match began.elapsed() < UDP_HEADSTART * 2 {
                        // One who has much to do answers late, whatever it is asked over.
                        true if no_quic.is_none() => timeout(took * 3, &mut quic).await,
                        true => return Ok(Reached::over_tcp(link)),
                        // Nothing else came through before: that says nothing of datagrams now.
                        false => timeout(UDP_HEADSTART, any_over_quic(dialling, &found)).await,
                    };
                    let Ok(Ok(better)) = better else { return Ok(Reached::over_tcp(link)) };
                    link.end(Ending::Duplicate);
                    return Ok(better);
                }
                Err(why) => no_tcp = Some(why),
            },
        }
        if let (Some(quic), Some(tcp)) = (&no_quic, &no_tcp) {
            return Err(format!("{quic}; over TCP: {tcp}"));
        }
    }
}

/// Why an address was dialled in vain.
enum Undialled {
    /// Somebody is there, and says this.
    Refused(String),
    /// Nobody is, or none of it comes through.
    Unreached(String),
}

/// By the first address that answers.
async fn any_over_quic(dialling: &Dialling, found: &[SocketAddr]) -> Result<Reached, Undialled> {
    let mut last = Undialled::Unreached("its name has no address".to_owned());
    for at in found {
        match over_quic(dialling, *at).await {
            Err(unreached @ Undialled::Unreached(_)) => last = unreached,
            dialled => return dialled,
        }
    }
    Err(last)
}

async fn over_quic(dialling: &Dialling, at: SocketAddr) -> Result<Reached, Undialled> {
    let here: SocketAddr = match at {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let unreached = |error: String| Undialled::Unreached(error);
    // A socket of its own: one that the system has closed is not the next one's.
    let endpoint = Endpoint::client(here).map_err(|error| unreached(error.to_string()))?;
    let connecting = endpoint.connect_with(dialling.quic.clone(), at, GATEWAY_NAME);
    let connecting = connecting.map_err(|error| Undialled::Refused(error.to_string()))?;
    match timeout(UDP_PATIENCE, connected(connecting, &dialling.early)).await {
        Ok(Ok((link, control))) => Ok(Reached { link, endpoint: Some(endpoint), control }),
        Ok(Err(error @ ConnectionError::TimedOut)) => Err(unreached(error.to_string())),
        Ok(Err(error)) => Err(Undialled::Refused(Ending::why(&error))),
        Err(_) => Err(unreached("nobody answers over UDP".to_owned())),
    }
}

/// A link once its handshake has ended, and the stream on which something was said before, if that
/// was heard.
async fn connected(
    connecting: Connecting,
    early: &[u8],
) -> Result<(Link, Option<Streams>), ConnectionError> {
    if early.is_empty() {
        return Ok((connecting.await?.into(), None));
    }
    let (connection, accepted) = match connecting.into_0rtt() {
        Ok(begun) => begun,
        Err(connecting) => return Ok((connecting.await?.into(), None)),
    };
    let link = Link::from(connection.clone());
    let said = async {
        let mut control = link.open(CONTROL_FRAME_MAX).await.ok()?;
        control.1.put_written(early);
        control.1.flush().await.ok()?;
        Some(control)
    };
    // What was said and not heard is said again, on another stream.
    let (control, is_heard) = tokio::join!(said, accepted);
    match connection.close_reason() {
        Some(error) => Err(error),
        None => Ok((link, control.filter(|_| is_heard))),
    }
}

async fn over_tcp(dialling: &Dialling, at: SocketAddr) -> io::Result<Link> {
    let socket = TcpStream::connect(at).await?;
    socket.set_nodelay(true)?;
    let connector = TlsConnector::from(Arc::clone(&dialling.tls));
    let stream = connector.connect(gateway_name(), socket).await?;
    let chain = stream.get_ref().1.peer_certificates();
    let chain = chain.map(|chain| chain.iter().map(|one| one.clone().into_owned()).collect());
    Ok(Mux::new(stream, Side::Agent, chain).into())
}

fn seed(shared: &Shared, address: &str) -> u64 {
    let start = u64::from_le_bytes(shared.session_id[..8].try_into().expect("eight bytes"));
    address.bytes().fold(start, |seed, byte| seed.rotate_left(5) ^ u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::sample::Sample;
    use std::time::SystemTime;
    use tempfile::TempDir;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn a_gateway_that_was_named_and_is_not_there_is_given_up_after_its_time() {
        let directory = TempDir::new().expect("a directory");
        let agent = Sample::joined(&directory, SystemTime::now()).agent;
        let nobody = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let address = nobody.local_addr().expect("it has one").to_string();
        drop(nobody);
        let named = keep(Arc::clone(&agent.shared), address.clone(), Duration::ZERO);
        let own = keep(Arc::clone(&agent.shared), address.clone(), Duration::MAX);
        tokio::select! {
            given_up = named => assert_eq!(given_up, address),
            _ = own => panic!("its own gateways it dials for ever"),
        }
    }
}
