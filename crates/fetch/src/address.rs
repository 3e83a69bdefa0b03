//! Which addresses are everybody's. Asked by `reach` for every address before it is dialled.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is one of the public internet: no private, loopback, link-local, shared,
/// documentation, benchmark, multicast or reserved one, and none of IPv6 that leads to such an
/// address of IPv4 (the special-purpose registries of IANA, RFC 6890).
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Whether a name is one that no proxy should be asked for: of the machine or network itself
/// (RFC 6761, 6762, 8375, and `.internal`), of a metadata service, or a number, which resolvers
/// read as an address (`127.1`, `2130706433`, `0x7f.1`).
pub(crate) fn is_private_name(host: &str) -> bool {
    const OWN: [&str; 8] = [
        "home.arpa",
        "instance-data",
        "internal",
        "local",
        "localdomain",
        "localhost",
        "metadata",
        "metadata.goog",
    ];
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let is_own = |own: &str| {
        let before = host.strip_suffix(own);
        before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
    };
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_number = match last.strip_prefix("0x") {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => last.bytes().all(|byte| byte.is_ascii_digit()),
    };
    is_number || OWN.into_iter().any(is_own)
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    // The host of a virtual machine at Azure, which hands out its secrets too.
    const AZURE_HOST: Ipv4Addr = Ipv4Addr::new(168, 63, 129, 16);
    if address == AZURE_HOST {
        return false;
    }
    let [a, b, c, _] = address.octets();
    !matches!(
        (a, b, c),
        (0 | 10 | 127, _, _)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (192, 168, _)
            | (198, 18..=19, _)
            | (198, 51, 100)
            | (203, 0, 113)
            | (224.., _, _)
    )
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return is_public_v4(mapped);
    }
    let part = address.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match part {
        // NAT64 and 6to4 lead to an address of IPv4.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4(high, low),
        [0x2002, high, low, ..] => v4(high, low),
        // Protocol assignments (Teredo among them) and documentation.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_own_network_and_numbers_are_private() {
        for name in [
            "localhost",
            "LOCALHOST.",
            "a.localhost",
            "127.1",
            "2130706433",
            "0x7f.1",
            "0x7f000001",
            "1.0x1",
            "0177.0.0.1",
            "",
            "metadata.google.internal",
            "metadata",
            "metadata.goog",
            "instance-data.ec2.internal",
            "nas.local",
            "x.home.arpa",
        ] {
            assert!(is_private_name(name), "{name}");
        }
        for name in
            ["example.com", "notlocalhost", "localhost.example.com", "1.example", "0xg", "a.b0x1"]
        {
            assert!(!is_private_name(name), "{name}");
        }
    }

    #[test]
    fn only_addresses_of_the_internet_are_public() {
        for text in [
            "8.8.8.8",
            "1.1.1.1",
            "172.15.0.1",
            "172.32.0.1",
            "100.63.0.1",
            "100.128.0.1",
            "192.0.1.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:4860:4860::8888",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2002:808:808::1",
        ] {
            assert!(is_public(text.parse().expect("an address")), "{text}");
        }
        for text in [
            "0.0.0.0",
            "10.1.2.3",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.169.254",
            "168.63.129.16",
            "::ffff:168.63.129.16",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.0.1",
            "100.64.0.1",
            "100.100.100.200",
            "192.0.0.192",
            "192.0.2.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "fec0::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::127.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2002:c0a8:1::1",
            "2001::1",
            "2001:db8::1",
            "100::1",
            "3fff::1",
        ] {
            assert!(!is_public(text.parse().expect("an address")), "{text}");
        }
    }
}
