//! Keeps a link to whoever answers at one address: dials, stays, and dials again when it is lost.

use super::link::{Stay, stay};
use super::pause::Pause;
use super::{Dialled, Shared};
use crate::ending::Ending;
use crate::limits::{GREETING_TIME_MAX, LASTED, REPROBE};
use quinn::{Connection, Endpoint};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::lookup_host;
use tokio::time::{Instant, sleep, timeout};

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
                _ = timeout(GREETING_TIME_MAX, endpoint.wait_idle()).await;
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

async fn dial(shared: &Shared, address: &str) -> Result<(Connection, Endpoint), String> {
    let (host, _) = address.rsplit_once(':').ok_or("write the address as host:port")?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let mut why = "its name has no address".to_owned();
    for at in lookup_host(address).await.map_err(|error| error.to_string())? {
        let here: SocketAddr = match at {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        // A socket of its own: one that the system has closed is not the next one's.
        let endpoint = Endpoint::client(here).map_err(|error| error.to_string())?;
        let dialling = shared.settings.dialling.clone();
        let connecting = match endpoint.connect_with(dialling, at, host) {
            Ok(connecting) => connecting,
            Err(error) => {
                why = error.to_string();
                continue;
            }
        };
        match timeout(GREETING_TIME_MAX, connecting).await {
            Ok(Ok(link)) => return Ok((link, endpoint)),
            Ok(Err(error)) => why = Ending::why(&error),
            Err(_) => why = "nobody answers there over UDP".to_owned(),
        }
    }
    Err(why)
}

fn seed(shared: &Shared, address: &str) -> u64 {
    let start = u64::from_le_bytes(shared.session_id[..8].try_into().expect("eight bytes"));
    address.bytes().fold(start, |seed, byte| seed.rotate_left(5) ^ u64::from(byte))
}
