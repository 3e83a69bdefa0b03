//! Streamable HTTP, as a server (Transports, "Streamable HTTP"): an endpoint for both eras, over
//! HTTP/1.1 and HTTP/2, over TLS and HTTP/3 if there is a certificate, and others at other paths.

mod address;
mod answer;
mod beside;
mod buffers;
mod call_stream;
mod coding;
mod connections;
mod door;
mod endpoint;
mod guard;
mod heads;
mod legacy;
mod listen;
mod long;
mod modern;
mod news;
mod refusals;
mod replay;
mod request;
mod roll;
mod secure;
mod sessionless;
mod sessions;
mod sse;
mod stall;
mod stopping;
mod streams;
mod subscription;
mod threads;
mod timed;
mod two_paths;
mod unkept;
mod unread;
mod upgrade;

pub use address::address;
pub use beside::{Beside, Besides};
pub use listen::{Listener, serve_stream};
pub use roll::{Attendee, Roll};
#[cfg(feature = "tls")]
pub use secure::{Tls, TlsError};
pub use threads::Threads;
pub use two_paths::TwoPaths;

/// What a listener serves, and to whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The path of the endpoint.
    pub path: String,
    /// The web origins that may call, like `https://app.example`, and read the answers (CORS);
    /// `*` is any. Pages served from this machine may call a loopback address in any case. One that
    /// no request can have is an error as the address is bound.
    pub origins: Vec<String>,
    /// The names that requests may be addressed to, without a port; `*` is any. Without a list, an
    /// address of loopback answers to loopback names only, and others answer to any name. One that
    /// no request can have is an error as the address is bound.
    pub hosts: Vec<String>,
    /// Whether `initialize` over HTTP begins a session, as a legacy client's requests then need it.
    /// Without, each request is answered for itself, as a load balancer before several servers
    /// wants it: nothing is told or asked beside a request, and its client cancels it by going.
    pub has_sessions: bool,
    /// Whether clients of 2024-11-05 are served as well, which GET one path and POST to another.
    pub two_paths: Option<TwoPaths>,
    /// Which threads answer.
    pub threads: Threads,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            path: "/mcp".to_owned(),
            origins: Vec::new(),
            hosts: Vec::new(),
            has_sessions: true,
            two_paths: None,
            threads: Threads::Shared,
        }
    }
}
