//! Keeps a client from addresses of this machine and of private networks.

use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use tower_service::Service;

/// A name has no public address.
#[derive(Debug)]
pub(crate) struct PrivateAddress;

impl fmt::Display for PrivateAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the host has no public address")
    }
}

impl Error for PrivateAddress {}

/// Resolves names. The addresses are checked here and not before, because a name may have other addresses
/// when it is resolved again.
#[derive(Debug, Clone)]
pub(crate) struct CheckedResolver {
    system: GaiResolver,
    is_public_only: bool,
}

impl CheckedResolver {
    pub(crate) fn new(is_public_only: bool) -> CheckedResolver {
        CheckedResolver {
            system: GaiResolver::new(),
            is_public_only,
        }
    }
}

impl Service<Name> for CheckedResolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.system.poll_ready(context)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let found = self.system.call(name);
        let is_public_only = self.is_public_only;
        Box::pin(async move {
            let mut found: Vec<SocketAddr> = found.await?.collect();
            if is_public_only {
                found.retain(|address| is_public(address.ip()));
                if found.is_empty() {
                    return Err(io::Error::other(PrivateAddress));
                }
            }
            Ok(found.into_iter())
        })
    }
}

/// Returns true if an address can only be one of the internet.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let is_shared = first == 100 && second & 0xc0 == 64;
    let is_protocol = first == 192 && second == 0 && third == 0;
    let is_benchmark = first == 198 && second & 0xfe == 18;
    !(first == 0
        || first >= 224
        || is_shared
        || is_protocol
        || is_benchmark
        || address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_documentation())
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let embedded = |high: u16, low: u16| {
        is_public_v4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
    };
    match segments {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            embedded(high, low)
        }
        [0x2002, high, low, ..] => embedded(high, low),
        // Protocol assignments and documentation.
        [0x2001, second, ..] if second < 0x200 || second == 0xdb8 => false,
        [first, ..] => first & 0xe000 == 0x2000 && first != 0x3fff,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_and_of_private_networks_are_not_public() {
        for private in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "192.0.0.1",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "64:ff9b::10.0.0.1",
            "2002:7f00:1::",
            "2001:db8::1",
            "2001::1",
            "fc00::1",
            "fe80::1",
            "ff02::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
        for public in [
            "8.8.8.8",
            "100.63.0.1",
            "198.20.0.1",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }
}
