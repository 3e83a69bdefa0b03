//! The stream of events that belongs to no request, over HTTP in the legacy era. One for each
//! connection, shared by all who need it: a server sends each message on one stream only.

use crate::error::ClientError;
use crate::http::Http;
use crate::reply::{Body, is_event_stream};
use crate::stream::Stream;
use crate::wire::nobody;
use std::sync::{Arc, Weak};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

/// The stream while it is open; dropping it closes it.
#[derive(Debug)]
pub(crate) struct Standing(JoinHandle<()>);

impl Drop for Standing {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The stream of one connection, if somebody needs it at the moment.
#[derive(Debug, Default)]
pub(crate) struct Shared(Mutex<Weak<Standing>>);

impl Shared {
    /// Opens it, or takes the open one.
    ///
    /// # Errors
    /// [`ClientError::NoStandingStream`] if the server has none, or that it cannot be reached.
    pub(crate) async fn open(&self, http: &Http) -> Result<Arc<Standing>, ClientError> {
        let mut shared = self.0.lock().await;
        if let Some(standing) = shared.upgrade().filter(|standing| !standing.0.is_finished()) {
            return Ok(standing);
        }
        let response = http.open_stream(None).await?;
        if !response.status().is_success() || !is_event_stream(&response) {
            let status = response.status().as_u16();
            return Err(ClientError::NoStandingStream { status });
        }
        let task = tokio::spawn(read(http.clone(), response.into_body()));
        let standing = Arc::new(Standing(task));
        *shared = Arc::downgrade(&standing);
        Ok(standing)
    }
}

async fn read(http: Http, body: Body) {
    let mut stream = Stream::new(&http, None);
    let why = stream.stand(body, &mut nobody).await;
    http.desk().hub().end(&why.to_string());
}
