//! The short forms of an address that people type. Read for command lines; binds nothing.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};

/// Reads `host:port`, `:port` or `port`; without a host, this machine alone is meant.
///
/// # Errors
/// One line that shows how an address is written.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix(':').unwrap_or(text);
    if let Ok(port) = port.parse() {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    let found = text.to_socket_addrs().ok().and_then(|mut found| found.next());
    found.ok_or_else(|| format!("{text:?} is no address; write one like 127.0.0.1:7300"))
}

#[cfg(test)]
mod tests {
    use super::{SocketAddr, address};

    #[test]
    fn an_address_without_a_host_is_this_machine() {
        let expected: SocketAddr = "127.0.0.1:8080".parse().expect("an address");
        for text in ["8080", ":8080", "127.0.0.1:8080"] {
            assert_eq!(address(text), Ok(expected), "{text}");
        }
        for text in ["", "127.0.0.1", "65536", "host:port"] {
            assert!(address(text).is_err(), "{text}");
        }
    }
}
