//! The server that the official conformance suite of MCP asks for: everything that a server can
//! have, in both eras, under the names that the suite knows. `cargo xtask conformance` runs the
//! suite against it; people read it to see how a thing is done. It keeps nothing between runs.
//!
//! ```text
//! haft-conformance --http 127.0.0.1:0     at any free port, which it prints
//! haft-conformance --https 127.0.0.1:0 CERTIFICATE KEY    the same over TLS and HTTP/3
//! haft-conformance --stdio                to whoever started it
//! ```

#![expect(clippy::print_stderr, reason = "programs that start us wait for a line on stderr")]

mod asking;
mod assembly;
mod changing;
mod content;
mod prompts;
mod resources;
mod rounds;
mod running;
mod schemas;
mod tasks;

use haft_transport::http::{Listener, Options, Tls};
use haft_transport::stdio;
use haft_transport::stop::{self, Stop};
use std::env;
use std::error::Error;
use std::fs;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

const USAGE: &str =
    "usage: haft-conformance --http ADDRESS | --https ADDRESS CERTIFICATE KEY | --stdio";

#[tokio::main]
async fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let served = match words[..] {
        ["--http", address] => serve_http(address, None).await,
        ["--https", address, certificate, key] => serve_https(address, certificate, key).await,
        ["--stdio"] => serve_stdio().await,
        _ => Err(USAGE.into()),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("haft-conformance: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve_https(address: &str, certificate: &str, key: &str) -> Result<(), Box<dyn Error>> {
    let tls = Tls::from_pem(&fs::read(certificate)?, &fs::read(key)?)?;
    serve_http(address, Some(tls)).await
}

async fn serve_http(address: &str, tls: Option<Tls>) -> Result<(), Box<dyn Error>> {
    let address: SocketAddr = address.parse().map_err(|_| USAGE)?;
    let server = assembly::server()?;
    let mut listener = Listener::bind(address, Options::default()).await?;
    if let Some(tls) = tls {
        listener = listener.over_tls(tls).await?;
    }
    eprintln!("serving {} at {}", server.name(), listener.url());
    let limits = server.limits().clone();
    listener.serve(Arc::new(server), &limits, stopped()).await;
    Ok(())
}

async fn serve_stdio() -> Result<(), Box<dyn Error>> {
    let server = assembly::server()?;
    let limits = server.limits().clone();
    Ok(stdio::serve(Arc::new(server), &limits, stopped()).await?)
}

async fn stopped() -> Stop {
    tokio::select! {
        signal = stop::signalled() => signal.unwrap_or(Stop::AtOnce),
        gone = stop::parent_died() => gone,
    }
}
