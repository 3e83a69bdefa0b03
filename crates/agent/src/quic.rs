//! QUIC as both ends of a link set it up, and the streams of a link.

use crate::limits::{GREETING_TIME_MAX, HEARTBEAT, LINK_WINDOW, SILENCE_MAX, STREAM_WINDOW};
use crate::wire::{Incoming, Outgoing};
use haft_link::limits::{CONTROL_FRAME_MAX, REQUEST_FRAME_MAX, RESPONSE_FRAME_MAX};
use quinn::crypto::rustls::{NoInitialCipherSuite, QuicClientConfig, QuicServerConfig};
use quinn::{Connection, ConnectionError, RecvStream, SendStream, TransportConfig, VarInt};
use std::sync::Arc;

/// The name of the protocol in the handshake of TLS.
pub const ALPN: &[u8] = b"haft-link/1";

/// The frames of a stream that come, and the way for those that go.
pub(crate) type Streams = (Incoming<RecvStream>, Outgoing<SendStream>);

/// The code of a stream that nobody wants any more.
pub(crate) const UNWANTED: VarInt = VarInt::from_u32(1);

/// How a gateway takes links: `tls` has [`ALPN`].
///
/// # Errors
/// The settings have no cipher that QUIC begins with.
pub fn server_config(
    tls: Arc<rustls::ServerConfig>,
) -> Result<quinn::ServerConfig, NoInitialCipherSuite> {
    let mut config = quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    // The control stream is all that an agent opens.
    config.transport_config(Arc::new(transport(1)));
    Ok(config)
}

/// How an agent dials, which works on so many calls at once.
///
/// # Errors
/// As of [`server_config`].
pub fn client_config(
    tls: Arc<rustls::ClientConfig>,
    slots: usize,
) -> Result<quinn::ClientConfig, NoInitialCipherSuite> {
    let mut config = quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    // Besides those that work, those that are taken up again or refused.
    let streams = u32::try_from(slots.saturating_mul(2)).unwrap_or(u32::MAX);
    config.transport_config(Arc::new(transport(streams)));
    Ok(config)
}

fn transport(streams: u32) -> TransportConfig {
    let mut config = TransportConfig::default();
    let silence = SILENCE_MAX.try_into().expect("it is seconds");
    config
        .max_idle_timeout(Some(silence))
        .keep_alive_interval(Some(HEARTBEAT))
        .max_concurrent_bidi_streams(streams.into())
        .max_concurrent_uni_streams(0_u32.into())
        .stream_receive_window(STREAM_WINDOW.into())
        .receive_window(LINK_WINDOW.into())
        .datagram_receive_buffer_size(None);
    config
}

/// The control stream, from whoever opens it.
pub(crate) async fn open_control(link: &Connection) -> Result<Streams, ConnectionError> {
    let (send, receive) = link.open_bi().await?;
    Ok((Incoming::new(receive, CONTROL_FRAME_MAX), Outgoing::new(send)))
}

/// The same at the other end; nothing, if none comes in time.
pub(crate) async fn accept_control(link: &Connection) -> Option<Streams> {
    let opened = tokio::time::timeout(GREETING_TIME_MAX, link.accept_bi()).await;
    let (send, receive) = opened.ok()?.ok()?;
    Some((Incoming::new(receive, CONTROL_FRAME_MAX), Outgoing::new(send)))
}

/// A stream for a call, from the gateway.
pub(crate) async fn open_call(link: &Connection) -> Result<Streams, ConnectionError> {
    let (send, receive) = link.open_bi().await?;
    Ok((Incoming::new(receive, RESPONSE_FRAME_MAX), Outgoing::new(send)))
}

/// The same at the agent.
pub(crate) async fn accept_call(link: &Connection) -> Result<Streams, ConnectionError> {
    let (send, receive) = link.accept_bi().await?;
    Ok((Incoming::new(receive, REQUEST_FRAME_MAX), Outgoing::new(send)))
}
