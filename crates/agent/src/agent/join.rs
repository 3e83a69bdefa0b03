//! How an agent comes by its certificate: it brings a token, and keeps what it gets for it.

use super::dial::{Dialling, Reached, dial};
use crate::ending::Ending;
use crate::limits::GREETING_TIME_MAX;
use crate::link::Link;
use crate::trust::{Identity, Issued, Token, TrustError, Wish};
use haft_link::limits::CONTROL_FRAME_MAX;
use haft_link::{Frame, Join, Joined};
use std::path::Path;
use std::sync::Arc;
use tokio::time::timeout;

/// Why an agent has not joined.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// No gateway was reached that let it in: the last, and why not.
    #[error("{address} does not let this agent in: {why}")]
    Refused {
        /// Where it was dialled.
        address: String,
        /// Why.
        why: String,
    },
    /// The token is of no use any more: it was used, revoked, or its time is over.
    #[error("{address} does not let this agent in: {why}")]
    Spent {
        /// Where it was dialled.
        address: String,
        /// Which of these.
        why: String,
    },
    /// What it got is of no use, or cannot be kept.
    #[error(transparent)]
    Trust(#[from] TrustError),
}

/// Joins the first of these gateways that can be reached, and keeps who it is now in a file.
///
/// # Errors
/// [`JoinError`]. The token may have been used up.
pub async fn join(
    gateways: &[String],
    token: &Token,
    identity: &Path,
) -> Result<Identity, JoinError> {
    let tls = Identity::joining(token)?;
    let refused =
        |address: &str, why: String| JoinError::Refused { address: address.to_owned(), why };
    let mut last = refused("no gateway", "none was named".to_owned());
    for address in gateways {
        let dialling = Dialling::new(tls.clone(), 1, &Arc::default(), Vec::new())
            .map_err(|why| refused(address, why))?;
        let Reached { link, endpoint: _endpoint, .. } = match dial(&dialling, address).await {
            Ok(reached) => reached,
            Err(why) => {
                last = refused(address, why);
                continue;
            }
        };
        let wish = Wish::new()?;
        let issued = match timeout(GREETING_TIME_MAX, ask(&link, token, &wish.request)).await {
            Ok(Ok(issued)) => issued,
            Ok(Err(why))
                if [Ending::Token, Ending::LateToken].iter().any(|it| it.to_string() == why) =>
            {
                return Err(JoinError::Spent { address: address.clone(), why });
            }
            Ok(Err(why)) => return Err(refused(address, why)),
            Err(_) => return Err(refused(address, "it did not answer in time".to_owned())),
        };
        link.end(Ending::Joined);
        return Ok(wish.granted(&issued, identity, Some(&token.fingerprint()))?);
    }
    Err(last)
}

async fn ask(link: &Link, token: &Token, request: &[u8]) -> Result<Issued, String> {
    let asked = async {
        let (mut incoming, mut outgoing) = link.open(CONTROL_FRAME_MAX).await.ok()?;
        let token = token.reveal();
        outgoing.send(Join { token: &token, agent: "", request }).await.ok()?;
        incoming.next().await.ok()?
    };
    match asked.await.as_ref().map(|came| came.frame()) {
        Some(Frame::Joined(joined)) => Ok(issued(&joined)),
        Some(_) => Err("it answered with another frame".to_owned()),
        None => Err(link.ended().await),
    }
}

/// What came, to be kept.
pub(super) fn issued(joined: &Joined<'_>) -> Issued {
    Issued {
        agent: String::new(),
        certificate: joined.certificate.to_vec(),
        authority: joined.authority.to_vec(),
        expires: joined.expires,
    }
}
