//! What a connection over TCP is told and goes through where a listener has a certificate: the
//! handshake of TLS, and the word that HTTP/3 is to be had. Reads and writes no HTTP.

use super::certificate::Tls;
use crate::http::stall::StallGuard;
use crate::http::stopping::Stopping;
use haft_proto::limits::Limits;
use http::HeaderValue;
use std::future::poll_fn;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// See the head of this file.
pub(in crate::http) struct Secure {
    acceptor: TlsAcceptor,
    /// As a header has it.
    alternative: HeaderValue,
}

impl Secure {
    /// With HTTP/3 at that port, or nowhere at 0.
    pub(super) fn new(tls: &Tls, port: u16) -> Self {
        let told = match port {
            0 => "clear".to_owned(),
            _ => format!("h3=\":{port}\"; ma={ALTERNATIVE_AGE_S}"),
        };
        let alternative = HeaderValue::from_str(&told).expect("a number is ASCII");
        Self { acceptor: tls.acceptor(), alternative }
    }

    /// Where HTTP/3 is, in the header `Alt-Svc`.
    pub(in crate::http) fn alternative(&self) -> HeaderValue {
        self.alternative.clone()
    }

    /// Goes through the handshake; `None` if the client breaks it off, is too slow, or the server
    /// stops before.
    pub(in crate::http) async fn shake(
        &self,
        stream: TcpStream,
        limits: &Limits,
        stopping: &Stopping,
    ) -> Option<StallGuard<TlsStream<StallGuard<TcpStream>>>> {
        let mut stopped = stopping.wait();
        // The inner one sees writes that make no progress, which TLS would hold back; the outer
        // one, what comes before it is known which HTTP is spoken.
        let handshake = self.acceptor.accept(StallGuard::new(stream, limits));
        let stream = tokio::select! {
            shaken = timeout(limits.header_timeout, handshake) => shaken.ok()?.ok()?,
            () = poll_fn(|cx| stopped.poll(cx)) => return None,
        };
        Some(StallGuard::new(stream, limits))
    }
}

/// For how long clients may remember that HTTP/3 is there: a day.
const ALTERNATIVE_AGE_S: u32 = 86_400;
