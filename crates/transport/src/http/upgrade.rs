//! The handshake of a WebSocket (RFC 6455, 4.2) at the endpoint: who wants one is checked, and told
//! why not. What is said on it afterwards is `websocket`'s.

use super::answer::{self, Answer};
use super::endpoint::Endpoint;
use super::heads::Heads;
use super::refusals::refused;
use super::stopping::Stopping;
use super::timed::Departures;
use crate::bounds::Bound;
use crate::talk::Room;
use crate::websocket::{Peer, converse};
use haft_proto::error::{Mistake, Refusal};
use haft_proto::limits::Limits;
use haft_proto::service::Service;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use std::sync::Arc;
use tungstenite::handshake::derive_accept_key;

/// The sub-protocol, and the only one there is.
const PROTOCOL: &str = "mcp";

/// A connection that becomes a WebSocket; it travels with the answer that says so.
#[derive(Clone)]
pub(super) struct Upgrade {
    on: OnUpgrade,
    service: Arc<dyn Service>,
    limits: Arc<Limits>,
    room: Room,
    bodies: Arc<Bound>,
    stopping: Arc<Stopping>,
}

/// Whether a request is such a handshake, right or wrong.
pub(super) fn is_wanted(heads: &Heads<'_>) -> bool {
    has_token(heads, &header::UPGRADE, |token| token.eq_ignore_ascii_case("websocket"))
}

impl Endpoint {
    /// Agrees to a handshake, or says what is wrong with it.
    pub(super) fn upgrade(&self, parts: &Parts, heads: &Heads<'_>) -> Response<Answer> {
        let key = match key_of(heads) {
            Ok(key) => key,
            Err(wrong) => return wrong.refuse(),
        };
        let on = parts.extensions.get::<OnUpgrade>().cloned();
        let (Some(on), Ok(accept)) = (on, HeaderValue::from_str(&derive_accept_key(key))) else {
            return Wrong::Http.refuse();
        };
        let mut response = answer::empty(StatusCode::SWITCHING_PROTOCOLS);
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
        headers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL));
        response.extensions_mut().insert(Upgrade {
            on,
            service: Arc::clone(&self.service),
            limits: Arc::clone(&self.limits),
            room: Room {
                in_flight: Arc::clone(&self.in_flight),
                subscriptions: Arc::clone(&self.subscriptions),
            },
            bodies: Arc::clone(&self.bodies),
            stopping: Arc::clone(&self.stopping),
        });
        response
    }
}

impl Upgrade {
    /// Serves the WebSocket to its end, once HTTP has let go of the connection.
    pub(super) async fn serve(self, departures: &Departures) {
        let Self { on, service, limits, room, bodies, stopping } = self;
        // One that has ended instead needs no word.
        let Ok(stream) = on.await else { return };
        let mut stopped = stopping.wait();
        let peer = Peer { service, limits, room, bodies, reads: departures.reads() };
        converse(peer, TokioIo::new(stream), |cx| stopped.poll(cx)).await;
    }
}

/// What is wrong with a handshake.
#[derive(Clone, Copy, Debug)]
enum Wrong {
    Connection,
    Http,
    Key,
    Protocol,
    Version,
}

impl Wrong {
    fn refuse(self) -> Response<Answer> {
        let (status, message) = match self {
            Self::Connection => {
                (StatusCode::BAD_REQUEST, "Bad handshake: `Connection` must say `Upgrade`")
            }
            Self::Http => (
                StatusCode::BAD_REQUEST,
                "Bad handshake: a WebSocket begins with a GET of HTTP/1.1",
            ),
            Self::Key => (
                StatusCode::BAD_REQUEST,
                "Bad handshake: `Sec-WebSocket-Key` must be 16 bytes in base64, once",
            ),
            Self::Protocol => {
                (StatusCode::BAD_REQUEST, "Bad handshake: `Sec-WebSocket-Protocol` must list `mcp`")
            }
            Self::Version => {
                (StatusCode::UPGRADE_REQUIRED, "Bad handshake: `Sec-WebSocket-Version` must be 13")
            }
        };
        let mut response = refused(status, &Refusal::new(Mistake::InvalidRequest, message));
        if matches!(self, Self::Version) {
            let version = HeaderValue::from_static("13");
            response.headers_mut().insert(header::SEC_WEBSOCKET_VERSION, version);
        }
        response
    }
}

/// The key of a handshake that is as it should be.
fn key_of<'a>(heads: &Heads<'a>) -> Result<&'a [u8], Wrong> {
    if !has_token(heads, &header::CONNECTION, |token| token.eq_ignore_ascii_case("upgrade")) {
        return Err(Wrong::Connection);
    }
    if !has_token(heads, &header::SEC_WEBSOCKET_VERSION, |token| token == "13") {
        return Err(Wrong::Version);
    }
    if !has_token(heads, &header::SEC_WEBSOCKET_PROTOCOL, |token| token == PROTOCOL) {
        return Err(Wrong::Protocol);
    }
    let mut keys = heads.all.get_all(header::SEC_WEBSOCKET_KEY).iter().map(HeaderValue::as_bytes);
    match (keys.next(), keys.next()) {
        (Some(key), None) if is_key(key) => Ok(key),
        _ => Err(Wrong::Key),
    }
}

/// Whether it is 16 bytes in base64.
fn is_key(key: &[u8]) -> bool {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    key.len() == 24 && key.ends_with(b"==") && key[..22].iter().all(is_digit)
}

fn has_token(heads: &Heads<'_>, name: &HeaderName, is_it: impl Fn(&str) -> bool) -> bool {
    let values = heads.all.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|token| is_it(token.trim()))
}
