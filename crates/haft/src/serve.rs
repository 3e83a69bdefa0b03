//! Serves a built server over one wire, until its client is gone or a signal comes. Called by the
//! builder; reads no command line and knows no tool.

use crate::command_line::Wire;
use crate::error::{Error, Result};
use haft_server::Server;
use haft_transport::http::{Listener, Options as HttpOptions};
use haft_transport::stdio;
use haft_transport::stop::{self, Stop};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::runtime::Builder;

/// Serves until SIGTERM, SIGINT or SIGHUP; over stdio also until the end of the input or of the
/// process that started this one. Requests in flight have
/// [`Limits::shutdown_grace`](crate::Limits::shutdown_grace) to end.
///
/// # Errors
/// [`Error::Listen`], [`Error::Start`] or [`Error::Stdio`].
pub async fn serve(server: Arc<Server>, wire: Wire, http: HttpOptions) -> Result<()> {
    match wire {
        Wire::Stdio => over_stdio(server).await,
        Wire::Http(address) => over_http(server, address, http).await,
    }
}

/// The same from a `main` that is not async, on a runtime of its own: one thread for stdio, where a
/// client is one client, and one for each core for HTTP. A blocking tool that does not end does not
/// keep the process.
pub(crate) fn run(server: Arc<Server>, wire: Wire, http: HttpOptions) -> Result<()> {
    let runtime = match wire {
        Wire::Stdio => Builder::new_current_thread().enable_all().build(),
        Wire::Http(_) => Builder::new_multi_thread().enable_all().build(),
    };
    let runtime = runtime.map_err(Error::Start)?;
    let served = runtime.block_on(serve(server, wire, http));
    runtime.shutdown_background();
    served
}

async fn over_stdio(server: Arc<Server>) -> Result<()> {
    let limits = server.limits().clone();
    let stop = async {
        tokio::select! {
            signal = stop::signalled() => signal.unwrap_or(Stop::AtOnce),
            gone = stop::parent_died() => gone,
        }
    };
    stdio::serve(server, &limits, stop).await.map_err(Error::Stdio)
}

async fn over_http(server: Arc<Server>, address: SocketAddr, http: HttpOptions) -> Result<()> {
    let listener =
        Listener::bind(address, http).await.map_err(|reason| Error::Listen { address, reason })?;
    let mut said = format!("haft: serving {} at {}\n", server.name(), listener.url());
    if !address.ip().is_loopback() {
        said.push_str("haft: other machines can reach this address, and nobody is asked who they ");
        said.push_str("are\n");
    }
    // Whoever waits for this line reads stderr; who closed it does not want to know.
    let _ = io::stderr().write_all(said.as_bytes());
    let limits = server.limits().clone();
    let stop = async { stop::signalled().await.unwrap_or(Stop::AtOnce) };
    listener.serve(server, &limits, stop).await;
    Ok(())
}
