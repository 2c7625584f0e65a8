//! The forward proxy of a process that may reach some hosts: the only way out of its network namespace.

mod hosts;
mod public;
mod request;
mod serve;

pub use hosts::{HostError, HostPattern, Hosts, MAX_HOSTS};
pub use public::is_public;
pub use serve::{MAX_CONNECTIONS, MAX_HEADER_BYTES, REQUEST_TIMEOUT};
pub(crate) use serve::{Proxy, Traffic};

use std::io;
use std::net::{IpAddr, ToSocketAddrs, UdpSocket};

/// Finds the addresses of hosts and judges them.
pub trait Resolve: Send + Sync {
    /// Returns the addresses of a host, which may also be an address in any notation.
    fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>>;
    /// Returns true if a process in the sandbox may connect to the address.
    fn is_allowed(&self, address: IpAddr) -> bool;
}

/// The resolver of the system. Allows public addresses that are not the machine's own.
#[derive(Debug, Clone, Copy)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let found = (host, 0).to_socket_addrs()?;
        Ok(found.map(|address| address.ip()).collect())
    }

    fn is_allowed(&self, address: IpAddr) -> bool {
        // Only the machine's own addresses can be bound to.
        is_public(address) && UdpSocket::bind((address, 0)).is_err()
    }
}
