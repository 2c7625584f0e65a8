//! Serves the proxy: one thread for each connection, all of them bounded.

use super::request::{ProxyRequest, parse};
use super::{Hosts, Resolve};
use rustix::event::{PollFd, PollFlags, poll};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The maximum number of connections at once.
pub const MAX_CONNECTIONS: usize = 64;
/// The maximum size of the head of a request, in bytes.
pub const MAX_HEADER_BYTES: usize = 8 * 1024;
/// The time for a client to send the head of its request, and for a host to accept a connection.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// The stack of a connection's thread, in bytes.
const STACK: usize = 256 * 1024;

const FORBIDDEN: &str =
    "HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Type: text/plain\r\n";
const UNREACHABLE: &str =
    "HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\nContent-Type: text/plain\r\n";

/// Counts the connections of a proxy.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    connections: AtomicU64,
    refused: AtomicU64,
    open: AtomicUsize,
}

impl Traffic {
    /// Returns the number of connections to hosts.
    pub(crate) fn connections(&self) -> u64 {
        self.connections.load(Ordering::SeqCst)
    }

    /// Returns the number of requests that were refused.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::SeqCst)
    }
}

/// A forward proxy for some hosts.
pub(crate) struct Proxy {
    hosts: Hosts,
    resolver: Arc<dyn Resolve>,
    traffic: Arc<Traffic>,
    timeout: Duration,
}

impl Proxy {
    pub(crate) fn new(hosts: Hosts, resolver: Arc<dyn Resolve>) -> Proxy {
        Proxy {
            hosts,
            resolver,
            traffic: Arc::default(),
            timeout: REQUEST_TIMEOUT,
        }
    }

    /// Serves the listener in a thread, until the process ends.
    pub(crate) fn serve(self, listener: TcpListener) -> Arc<Traffic> {
        let traffic = Arc::clone(&self.traffic);
        let accept = move || self.accept(&listener);
        // Without a thread nobody answers, and nothing leaves.
        let _ = thread::Builder::new().stack_size(STACK).spawn(accept);
        traffic
    }

    fn accept(self, listener: &TcpListener) {
        let proxy = Arc::new(self);
        loop {
            let Ok((client, _)) = listener.accept() else {
                // Too many open files, or a connection that ended early: others go on.
                thread::yield_now();
                continue;
            };
            let open = OpenConnection::new(&proxy.traffic);
            if open.count > MAX_CONNECTIONS {
                continue;
            }
            let proxy = Arc::clone(&proxy);
            let serve = move || {
                let _open = open;
                let _ = proxy.answer(client);
            };
            let _ = thread::Builder::new().stack_size(STACK).spawn(serve);
        }
    }

    /// Answers one connection. An error closes it.
    fn answer(&self, mut client: TcpStream) -> io::Result<()> {
        let (head, rest) = read_head(&mut client, self.timeout)?;
        let request = parse(&head).ok_or(io::ErrorKind::InvalidData)?;
        let addresses = match self.judge(&request) {
            Ok(addresses) => addresses,
            Err(Refusal::Forbidden(why)) => {
                self.traffic.refused.fetch_add(1, Ordering::SeqCst);
                return refuse(client, FORBIDDEN, &why);
            }
            Err(Refusal::Unresolved(why)) => return refuse(client, UNREACHABLE, &why),
        };
        let mut host = match connect(&addresses, self.timeout) {
            Ok(host) => host,
            Err(error) => {
                return refuse(client, UNREACHABLE, &format!("{}: {error}", request.host));
            }
        };
        self.traffic.connections.fetch_add(1, Ordering::SeqCst);
        match &request.head {
            Some(head) => host.write_all(head)?,
            None => client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?,
        }
        host.write_all(&rest)?;
        relay(client, host)
    }

    /// Returns the addresses of the host to connect to, all of them public.
    fn judge(&self, request: &ProxyRequest) -> Result<Vec<SocketAddr>, Refusal> {
        let (host, port) = (&request.host, request.port);
        if !self.hosts.matches(host, port) {
            return Err(Refusal::Forbidden(format!("{host}:{port} is not granted")));
        }
        let found = self
            .resolver
            .addresses(host)
            .map_err(|error| Refusal::Unresolved(format!("{host}: {error}")))?;
        let allowed = found
            .iter()
            .filter(|address| self.resolver.is_allowed(**address));
        let allowed: Vec<SocketAddr> = allowed.map(|address| (*address, port).into()).collect();
        match allowed.is_empty() {
            true => Err(Refusal::Forbidden(format!("{host} has no public address"))),
            false => Ok(allowed),
        }
    }
}

enum Refusal {
    Forbidden(String),
    Unresolved(String),
}

/// Counts a connection while it exists.
struct OpenConnection {
    traffic: Arc<Traffic>,
    count: usize,
}

impl OpenConnection {
    fn new(traffic: &Arc<Traffic>) -> OpenConnection {
        OpenConnection {
            traffic: Arc::clone(traffic),
            count: traffic.open.fetch_add(1, Ordering::SeqCst) + 1,
        }
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.traffic.open.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Reads until the empty line. Returns the head and what followed it.
fn read_head(client: &mut TcpStream, timeout: Duration) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let until = Instant::now() + timeout;
    let mut head = Vec::new();
    let mut buffer = [0; 2048];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        client.set_read_timeout(Some(left))?;
        let read = client.read(&mut buffer)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        head.extend_from_slice(&buffer[..read]);
        let end = head.windows(4).position(|four| four == b"\r\n\r\n");
        match end {
            Some(at) if at + 4 <= MAX_HEADER_BYTES => {
                let rest = head.split_off(at + 4);
                client.set_read_timeout(None)?;
                return Ok((head, rest));
            }
            None if head.len() <= MAX_HEADER_BYTES => {}
            _ => return Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

fn refuse(mut client: TcpStream, status: &str, why: &str) -> io::Result<()> {
    let length = why.len() + 1;
    write!(client, "{status}Content-Length: {length}\r\n\r\n{why}\n")?;
    client.shutdown(Shutdown::Write)
}

fn connect(addresses: &[SocketAddr], timeout: Duration) -> io::Result<TcpStream> {
    let mut failure = io::Error::from(io::ErrorKind::NotFound);
    for address in addresses {
        match TcpStream::connect_timeout(address, timeout) {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// Copies both ways until both ends have nothing more to send.
fn relay(client: TcpStream, host: TcpStream) -> io::Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    let mut open = [true, true];
    while open[0] || open[1] {
        let flags = open.map(|open| {
            if open {
                PollFlags::IN
            } else {
                PollFlags::empty()
            }
        });
        let mut polled = [
            PollFd::from_borrowed_fd(client.as_fd(), flags[0]),
            PollFd::from_borrowed_fd(host.as_fd(), flags[1]),
        ];
        match poll(&mut polled, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready = polled.map(|one| !one.revents().is_empty());
        for (index, (mut from, mut to)) in
            [(&client, &host), (&host, &client)].into_iter().enumerate()
        {
            if !ready[index] {
                continue;
            }
            // A closed end that is polled for nothing reports an error: the connection is over.
            if !open[index] {
                return Ok(());
            }
            match from.read(&mut buffer)? {
                0 => {
                    open[index] = false;
                    to.shutdown(Shutdown::Write)?;
                }
                read => to.write_all(&buffer[..read])?,
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxy::SystemResolver;

    #[test]
    fn a_silent_client_is_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut proxy = Proxy::new(Hosts::Any, Arc::new(SystemResolver));
        proxy.timeout = Duration::from_millis(50);
        proxy.serve(listener);
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(b"GET http://").unwrap();
        assert_eq!(client.read(&mut [0; 16]).unwrap(), 0);
    }

    #[test]
    fn a_client_that_sends_byte_by_byte_is_closed_in_time() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let started = Instant::now();
        let slow = thread::spawn(move || {
            while client.write_all(b"x").is_ok() {
                thread::yield_now();
            }
        });
        let read = read_head(&mut server, Duration::from_millis(100));
        assert!(read.is_err() && started.elapsed() < Duration::from_secs(5));
        drop(server);
        slow.join().unwrap();
    }
}
