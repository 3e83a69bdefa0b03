//! In place of TLS and HTTP/3, where the feature `tls` is not: what nobody has, and an HTTP/3 that
//! never hears of anybody.

use crate::http::endpoint::Endpoint;
use crate::http::stall::StallGuard;
use crate::http::stopping::Stopping;
use crate::stop::Stop;
use haft_proto::limits::Limits;
use http::HeaderValue;
use std::future::pending;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

/// Nobody has one.
pub(in crate::http) enum Secure {}

/// Nobody has one.
pub(in crate::http) enum Way {}

/// No connection comes.
pub(in crate::http) struct Http3;

impl Secure {
    pub(in crate::http) fn alternative(&self) -> HeaderValue {
        match *self {}
    }

    pub(in crate::http) async fn shake(
        &self,
        _: TcpStream,
        _: &Limits,
        _: &Stopping,
    ) -> Option<StallGuard<TcpStream>> {
        match *self {}
    }
}

impl Way {
    pub(in crate::http) fn secure(&self, _: u16) -> Secure {
        match *self {}
    }
}

impl Http3 {
    pub(in crate::http) fn start(_: Option<Way>, _: &Arc<Endpoint>, _: &Arc<Semaphore>) -> Self {
        Self
    }

    pub(in crate::http) async fn work(&mut self) {
        pending::<()>().await;
    }

    pub(in crate::http) async fn end(self, _: Stop) {}
}
