//! How far a request may reach: to the internet only, to named places of the own network too, or
//! anywhere. Asked by `dial` for each address that a name has.

use crate::address::is_public;
use ipnet::IpNet;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// Which addresses may be dialled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reach {
    /// Any. For addresses that the caller of a tool has no say in.
    Anywhere,
    /// Those of the internet, and these.
    Listed(Vec<Allowed>),
    /// Those of the internet: no loopback, private, link-local or otherwise special ones, so no
    /// metadata service of a cloud either.
    #[default]
    Public,
}

/// A place that may be reached although it is private.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Allowed {
    /// A host, whatever its address is.
    Host(String),
    /// Addresses.
    Network(IpNet),
}

/// A text that is no host, address or network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadAllowed;

impl fmt::Display for BadAllowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("write a host, an address or a network, like 10.0.0.0/8")
    }
}

impl std::error::Error for BadAllowed {}

impl Reach {
    /// Whether a host may be dialled at an address.
    #[must_use]
    pub fn allows(&self, host: &str, address: IpAddr) -> bool {
        let address = address.to_canonical();
        match self {
            Self::Anywhere => true,
            Self::Public => is_public(address),
            Self::Listed(list) => {
                is_public(address) || list.iter().any(|allowed| allowed.has(host, address))
            }
        }
    }
}

impl Reach {
    /// Whether a host is let in by its name, whatever its address is.
    pub(crate) fn names(&self, host: &str) -> bool {
        match self {
            Self::Anywhere => true,
            Self::Public => false,
            Self::Listed(list) => list.iter().any(|allowed| allowed.is_host(host)),
        }
    }
}

impl Allowed {
    fn is_host(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.');
        matches!(self, Self::Host(allowed) if allowed.eq_ignore_ascii_case(host))
    }

    fn has(&self, host: &str, address: IpAddr) -> bool {
        match self {
            Self::Host(_) => self.is_host(host),
            Self::Network(network) => network.contains(&address),
        }
    }
}

impl FromStr for Allowed {
    type Err = BadAllowed;

    /// `10.0.0.0/8`, `::1`, `127.0.0.1` or `db.internal`.
    fn from_str(text: &str) -> Result<Self, BadAllowed> {
        if let Ok(address) = text.trim_matches(['[', ']']).parse::<IpAddr>() {
            return Ok(Self::Network(address.to_canonical().into()));
        }
        if text.contains('/') {
            return text.parse().map(Self::Network).map_err(|_| BadAllowed);
        }
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        let is_host = !text.is_empty() && text.bytes().all(is_part);
        // `300.1.2.3` is an address with a mistake in it, and no host.
        let is_name = text.bytes().any(|byte| byte.is_ascii_alphabetic());
        if is_host && is_name { Ok(Self::Host(text.to_owned())) } else { Err(BadAllowed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(list: &[&str]) -> Reach {
        Reach::Listed(list.iter().map(|text| text.parse().expect("a place")).collect())
    }

    #[test]
    fn a_listed_place_may_be_reached_and_its_neighbour_may_not() {
        let reach = listed(&["10.1.0.0/16", "127.0.0.1", "db.internal", "::1"]);
        for (host, address, expected) in [
            ("a", "10.1.2.3", true),
            ("a", "10.2.2.3", false),
            ("a", "127.0.0.1", true),
            ("a", "::ffff:127.0.0.1", true),
            ("a", "127.0.0.2", false),
            ("DB.internal.", "192.168.0.1", true),
            ("xdb.internal", "192.168.0.1", false),
            ("a", "::1", true),
            ("a", "8.8.8.8", true),
        ] {
            let address = address.parse().expect("an address");
            assert_eq!(reach.allows(host, address), expected, "{host} {address}");
        }
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for text in ["", "10.0.0.0/33", "300.1.2.3", "a b", "http://x", "a/b", "*"] {
            assert_eq!(text.parse::<Allowed>(), Err(BadAllowed), "{text}");
        }
    }
}
