//! The line that says where a server listens, on stderr, for whoever started it with port 0.

use std::io::{self, Write};
use std::net::SocketAddr;

/// Says it.
pub fn listening(address: SocketAddr) {
    // Who closed stderr does not want to know.
    let _ = writeln!(io::stderr(), "listening at http://{address}/mcp");
}
