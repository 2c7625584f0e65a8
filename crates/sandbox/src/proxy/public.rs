//! Decides which addresses are public: reachable on the internet, and not this machine or its networks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Networks of IPv4 that are not public unicast: the special-purpose registry of IANA, multicast and
/// reserved space.
const SPECIAL_V4: &[([u8; 4], u32)] = &[
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 31, 196, 0], 24),
    ([192, 52, 193, 0], 24),
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([192, 175, 48, 0], 24),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 4),
    ([240, 0, 0, 0], 4),
];

/// Networks in 2000::/3, the global unicast space of IPv6, that are not public. Everything outside that space
/// is refused, except for the translation prefix 64:ff9b::/96.
const SPECIAL_V6: &[([u16; 8], u32)] = &[
    // Protocol assignments, Teredo and benchmarking among them.
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23),
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32),
    ([0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0], 48),
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20),
];

/// Returns true for a public unicast address. An IPv6 address that embeds an IPv4 address is as public as
/// that one.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let bits = address.to_bits();
    !SPECIAL_V4.iter().any(|(network, length)| {
        let mask = u32::MAX << (32 - length);
        bits & mask == u32::from_be_bytes(*network)
    })
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, third, _, _, _, high, low] = address.segments();
    let embedded = |high: u16, low: u16| {
        is_public_v4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
    };
    // ::ffff:0:0/96 (mapped): the kernel connects to the IPv4 address itself.
    if let Some(mapped) = address.to_ipv4_mapped() {
        return is_public_v4(mapped);
    }
    // 64:ff9b::/96 (NAT64) leads to the IPv4 address at its end.
    if address.segments()[..6] == [0x64, 0xff9b, 0, 0, 0, 0] {
        return embedded(high, low);
    }
    let is_global = first & 0xe000 == 0x2000;
    // 2002::/16 (6to4) has the IPv4 address after its prefix.
    if first == 0x2002 && !embedded(second, third) {
        return false;
    }
    // Interface identifiers of ISATAP end with an IPv4 address.
    let [.., isatap_high, isatap_low, _, _] = address.segments();
    if isatap_high & 0xfdff == 0 && isatap_low == 0x5efe && !embedded(high, low) {
        return false;
    }
    is_global
        && !SPECIAL_V6.iter().any(|(network, length)| {
            let mask = u128::MAX << (128 - length);
            address.to_bits() & mask == Ipv6Addr::from(*network).to_bits()
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxy::{Resolve, SystemResolver};
    use proptest::prelude::*;

    /// First and last address of each refused range, and the public neighbours.
    #[test]
    fn special_ranges_are_not_public() {
        let refused = "0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 \
            127.0.0.0 127.0.0.1 127.255.255.255 169.254.0.0 169.254.169.254 169.254.255.255 \
            172.16.0.0 172.31.255.255 192.0.0.0 192.0.0.255 192.0.2.0 192.0.2.255 \
            192.31.196.0 192.31.196.255 192.52.193.0 192.52.193.255 192.88.99.0 192.88.99.255 \
            192.168.0.0 192.168.255.255 192.175.48.0 192.175.48.255 198.18.0.0 198.19.255.255 \
            198.51.100.0 198.51.100.255 203.0.113.0 203.0.113.255 224.0.0.0 239.255.255.255 \
            240.0.0.0 255.255.255.254 255.255.255.255 \
            :: ::1 ::2 ::7f00:1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:10.1.2.3 ::ffff:169.254.169.254 \
            ::ffff:0:127.0.0.1 ::ffff:0:8.8.8.8 64:ff9b::127.0.0.1 64:ff9b::10.0.0.1 \
            64:ff9b::192.168.1.1 64:ff9b:1:: 64:ff9b:1::8.8.8.8 64:ff9b:1:ffff:ffff:ffff:ffff:ffff \
            100:: 100::ffff:ffff:ffff:ffff 100:0:0:1:: 1fff:ffff:: \
            2001:: 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:1::1 2001:2:: 2001:3:: 2001:4:112:: \
            2001:10:: 2001:20:: 2001:30:: 2001:1ff:ffff:: 2001:db8:: 2001:db8:ffff:: \
            2002:7f00:1:: 2002:a00:1::1 2002:c0a8:101:: 2002:a9fe:a9fe:: \
            2620:4f:8000:: 2620:4f:8000:ffff:: 3fff:: 3fff:fff:ffff:: 4000:: 5f00:: \
            2600::5efe:7f00:1 2600::200:5efe:10.0.0.1 \
            fc00:: fd00::1 fdff:ffff:: fe80:: fe80::1 febf:ffff:: fec0:: feff:: ff00:: ff02::1 \
            ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
        for address in refused.split_whitespace() {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        let allowed = "1.0.0.0 1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 \
            126.255.255.255 128.0.0.0 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 \
            192.0.1.0 192.0.3.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 \
            198.51.99.255 198.51.101.0 203.0.112.255 203.0.114.0 223.255.255.255 \
            ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2000:: 2001:200:: 2001:4860:4860::8888 2001:db7:: \
            2001:db9:: 2002:808:808:: 2600::1 2600::5efe:8.8.8.8 2606:4700::1111 2a00:1450:: \
            3ffe:ffff:: 3fff:1000::";
        for address in allowed.split_whitespace() {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }

    fn refused_address() -> impl Strategy<Value = Ipv4Addr> {
        let network = proptest::sample::select(SPECIAL_V4);
        (network, any::<u32>()).prop_map(|((network, length), bits)| {
            let mask = u32::MAX << (32 - length);
            Ipv4Addr::from_bits(u32::from_be_bytes(network) | (bits & !mask))
        })
    }

    /// Returns the notations of an address that the C library accepts.
    fn notations(address: Ipv4Addr) -> Vec<String> {
        let [a, b, c, d] = address.octets();
        let bits = address.to_bits();
        let (last_two, last_three) = (bits & 0xffff, bits & 0xff_ffff);
        vec![
            address.to_string(),
            format!("{bits}"),
            format!("{bits:#x}"),
            format!("{bits:#o}").replace("0o", "0"),
            format!("{a}.{last_three}"),
            format!("{a}.{b}.{last_two}"),
            format!("{a:#x}.{b:#x}.{c:#x}.{d:#x}"),
            format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
            format!("{a:#x}.{last_three}"),
            format!("::ffff:{address}"),
            format!("::ffff:{:x}:{:x}", bits >> 16, last_two),
            format!("0:0:0:0:0:FFFF:{address}"),
            format!("64:ff9b::{address}"),
            format!("2002:{:x}:{:x}::1", bits >> 16, last_two),
            format!("::{address}"),
        ]
    }

    proptest! {
        #[test]
        fn no_notation_of_a_refused_address_is_accepted(address in refused_address()) {
            for text in notations(address) {
                let addresses = SystemResolver.addresses(&text).unwrap_or_default();
                for found in addresses {
                    prop_assert!(!SystemResolver.is_allowed(found), "{text} is {found}");
                }
            }
        }
    }
}
