//! Asks the admin interface of a haft that runs on this machine: at an address, or at a socket of
//! the file system. Used by `status`; what the pages mean is theirs.

use crate::exit::{Exit, Failure};
use haft_transport::http::address;
use http::header::{CONTENT_TYPE, HOST};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

/// The longest answer that is read. A thousand sessions, and as many tools, are less.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Where a haft answers to whoever runs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AdminAddress {
    /// At a port of this machine.
    Tcp(SocketAddr),
    /// At a socket of the file system.
    Socket(PathBuf),
}

impl fmt::Display for AdminAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "http://{address}"),
            Self::Socket(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Reads `127.0.0.1:7301`, `:7301`, `7301`, the address that `haft serve` says, or the path of a
/// socket, which has a `/` or begins with `unix:`.
pub(crate) fn admin_address(text: &str) -> Result<AdminAddress, String> {
    if let Some(path) = text.strip_prefix("unix:") {
        return match path.trim_start_matches("//") {
            "" => Err("write the path of the socket behind unix:".to_owned()),
            // `unix:///run/x` is /run/x.
            _ => Ok(AdminAddress::Socket(path.strip_prefix("//").unwrap_or(path).into())),
        };
    }
    if let Some(rest) = text.strip_prefix("http://") {
        let authority = rest.split('/').next().unwrap_or_default();
        return address(authority).map(AdminAddress::Tcp);
    }
    if text.contains("://") {
        return Err(format!("{text:?} is no address of an admin interface; it speaks http://"));
    }
    if text.contains('/') {
        return Ok(AdminAddress::Socket(text.into()));
    }
    address(text).map(AdminAddress::Tcp)
}

/// What is on a page below `/admin/v1/`.
///
/// # Errors
/// A failure if nobody answers, or somebody who is no haft.
pub(crate) async fn page(
    at: &AdminAddress,
    page: &str,
    patience: Duration,
) -> Result<Value, Failure> {
    let asked = timeout(patience, asked(at, page)).await;
    asked.unwrap_or_else(|_| {
        let why = format!("{at} has not answered for {} s", patience.as_secs_f64());
        Err(Failure::new(Exit::TimedOut, why).hint("--timeout 1m waits longer"))
    })
}

async fn asked(at: &AdminAddress, page: &str) -> Result<Value, Failure> {
    match at {
        AdminAddress::Tcp(address) => match TcpStream::connect(address).await {
            Ok(stream) => exchange(stream, at, page).await,
            Err(error) => Err(nobody(at, &error)),
        },
        AdminAddress::Socket(path) => match UnixStream::connect(path).await {
            Ok(stream) => exchange(stream, at, page).await,
            Err(error) => Err(nobody(at, &error)),
        },
    }
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    at: &AdminAddress,
    page: &str,
) -> Result<Value, Failure> {
    let cut_short = |error: hyper::Error| stranger(at, &error.to_string());
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(cut_short)?;
    // Ends with the answer; what goes wrong with it, the sender hears.
    tokio::spawn(connection);
    let host = match at {
        AdminAddress::Tcp(address) => address.to_string(),
        AdminAddress::Socket(_) => "localhost".to_owned(),
    };
    let request = Request::get(format!("/admin/v1/{page}")).header(HOST, host);
    let request = request.body(Empty::<Bytes>::new());
    let request = request.map_err(|error| Failure::new(Exit::Other, error.to_string()))?;
    let response = sender.send_request(request).await.map_err(cut_short)?;
    read(response, at).await
}

async fn read(response: http::Response<Incoming>, at: &AdminAddress) -> Result<Value, Failure> {
    let status = response.status();
    let kind = response.headers().get(CONTENT_TYPE);
    let is_json = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    if status != StatusCode::OK || !is_json {
        return Err(stranger(at, &format!("it answers with status {status}")));
    }
    let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await;
    let body = body.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
        Some(_) => stranger(at, &format!("its answer has more than {ANSWER_BYTES_MAX} bytes")),
        None => stranger(at, &error.to_string()),
    })?;
    serde_json::from_slice(&body.to_bytes()).map_err(|error| stranger(at, &error.to_string()))
}

fn nobody(at: &AdminAddress, error: &io::Error) -> Failure {
    let failure = Failure::new(Exit::Unreachable, format!("nobody answers at {at}: {error}"));
    match at {
        AdminAddress::Tcp(address) => {
            failure.hint(format!("haft serve FILE --admin {address} answers there"))
        }
        AdminAddress::Socket(_) => failure.hint("is haft running, and is it you who runs it?"),
    }
}

fn stranger(at: &AdminAddress, why: &str) -> Failure {
    let why = format!("what answers at {at} is no admin interface of haft: {why}");
    Failure::new(Exit::Unreachable, why).hint("`haft serve --admin ADDRESS` says where it is")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_port_or_a_socket() {
        let tcp = || Some(AdminAddress::Tcp(SocketAddr::from(([127, 0, 0, 1], 7301))));
        let socket = |path: &str| Some(AdminAddress::Socket(path.into()));
        for (text, expected) in [
            ("7301", tcp()),
            (":7301", tcp()),
            ("127.0.0.1:7301", tcp()),
            ("http://127.0.0.1:7301", tcp()),
            ("http://127.0.0.1:7301/admin/v1", tcp()),
            ("unix:admin.sock", socket("admin.sock")),
            ("unix:/run/haft.sock", socket("/run/haft.sock")),
            ("unix:///run/haft.sock", socket("/run/haft.sock")),
            ("/run/haft.sock", socket("/run/haft.sock")),
            ("./haft.sock", socket("./haft.sock")),
            ("unix:", None),
            ("unix://", None),
            ("https://127.0.0.1:7301", None),
            ("", None),
            ("127.0.0.1", None),
        ] {
            assert_eq!(admin_address(text).ok(), expected, "of {text:?}");
        }
    }
}
