//! QUIC, as both ends of a link set it up.

use crate::limits::{HEARTBEAT, LINK_WINDOW, LISTENING_MAX, SILENCE_MAX, STREAM_WINDOW};
use crate::qlog;

use quinn::congestion::BbrConfig;
use quinn::crypto::rustls::{NoInitialCipherSuite, QuicClientConfig, QuicServerConfig};
use quinn::{TokenStore, TransportConfig};
use std::sync::Arc;

/// The name of the protocol in the handshake of TLS.
pub const ALPN: &[u8] = b"haft-link/1";

/// How a gateway takes links: `tls` has [`ALPN`].
///
/// # Errors
/// The settings have no cipher that QUIC begins with.
pub(crate) fn server_config(
    tls: Arc<rustls::ServerConfig>,
) -> Result<quinn::ServerConfig, NoInitialCipherSuite> {
    let mut config = quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    config.transport_config(Arc::new(transport(AGENT_STREAMS)));
    Ok(config)
}

/// The same for one link, whose packets are told somewhere.
pub(crate) fn told(config: &quinn::ServerConfig) -> Arc<quinn::ServerConfig> {
    let (mut config, mut transport) = (config.clone(), transport(AGENT_STREAMS));
    transport.qlog_stream(qlog::next("gateway"));
    config.transport_config(Arc::new(transport));
    Arc::new(config)
}

/// The control stream is all that an agent opens.
const AGENT_STREAMS: u32 = 1;

/// How an agent dials, which works on so many calls at once; `tokens` show that it was where it is
/// before.
///
/// # Errors
/// As of [`server_config`].
pub(crate) fn client_config(
    tls: Arc<rustls::ClientConfig>,
    slots: usize,
    tokens: Arc<dyn TokenStore>,
) -> Result<quinn::ClientConfig, NoInitialCipherSuite> {
    let mut config = quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    config.token_store(tokens);
    // Besides those that work and those that listen, those that are taken up again or refused.
    let streams = slots.saturating_mul(2).saturating_add(LISTENING_MAX);
    let streams = u32::try_from(streams).unwrap_or(u32::MAX);
    let mut transport = transport(streams);
    transport.qlog_stream(qlog::next("agent"));
    config.transport_config(Arc::new(transport));
    Ok(config)
}

fn transport(streams: u32) -> TransportConfig {
    let mut config = TransportConfig::default();
    let silence = SILENCE_MAX.try_into().expect("it is seconds");
    config
        .congestion_controller_factory(Arc::new(BbrConfig::default()))
        .max_idle_timeout(Some(silence))
        .keep_alive_interval(Some(HEARTBEAT))
        .max_concurrent_bidi_streams(streams.into())
        .max_concurrent_uni_streams(0_u32.into())
        .stream_receive_window(STREAM_WINDOW.into())
        .receive_window(LINK_WINDOW.into())
        .datagram_receive_buffer_size(None);
    config
}
