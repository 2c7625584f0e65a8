//! Drives a server over HTTP with raw bytes on plain connections.

// A test that cannot go on has nobody to return an error to.
#![allow(clippy::expect_used, clippy::panic)]

use crate::{Process, RawResponse, ReachedCodes};
use std::ffi::OsStr;
use std::io::{self, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::process::ChildStdin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The time that a server may take to start, and an answer to arrive.
const LIMIT: Duration = Duration::from_secs(30);

/// A server over HTTP.
#[derive(Debug)]
pub struct Http {
    process: Process,
    // Stays open: a shell between might care, although a server over HTTP does not.
    _stdin: ChildStdin,
    address: SocketAddr,
    path: String,
    headers: Vec<(String, String)>,
    reached: Mutex<ReachedCodes>,
}

impl Http {
    /// Starts a program with arguments and waits until it prints its address on stderr. The
    /// arguments should let it take any free port.
    pub fn spawn(program: impl AsRef<OsStr>, arguments: &[&str]) -> Self {
        let command = Process::command(program, arguments);
        let (process, stdin, _stdout) = Process::start(command);
        let line = process.stderr_line("http://", LIMIT);
        let line = line.unwrap_or_else(|| panic!("no address on stderr: {}", process.stderr()));
        let (address, path) = parse_address(&line).expect("a line with an address");
        Http {
            process,
            _stdin: stdin,
            address,
            path,
            headers: Vec::new(),
            reached: Mutex::new(ReachedCodes::default()),
        }
    }

    /// Posts to another path from now on.
    pub fn at(mut self, path: &str) -> Self {
        self.path = path.to_owned();
        self
    }

    /// Sends one more header with every [`Http::post`] from now on.
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Records failures under this dialect from now on, whatever their shape.
    pub fn reaching(&self, dialect: &str) -> &Self {
        let mut reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        reached.set_dialect(Some(dialect));
        drop(reached);
        self
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the path that requests are posted to.
    pub fn path(&self) -> &str {
        &self.path
    }

    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Sends a signal to the process, named as for `kill`.
    pub fn signal(&self, name: &str) {
        self.process.signal(name);
    }

    /// Opens a connection.
    pub fn connect(&self) -> Connection<'_> {
        let stream = TcpStream::connect(self.address).expect("the server accepts connections");
        stream
            .set_read_timeout(Some(LIMIT))
            .expect("a limit can be set");
        stream
            .set_nodelay(true)
            .expect("small pieces can be sent at once");
        Connection {
            stream: BufReader::new(stream),
            http: self,
        }
    }

    /// Sends raw bytes on a new connection and reads one response.
    pub fn raw(&self, bytes: impl AsRef<[u8]>) -> RawResponse {
        let mut connection = self.connect();
        connection.send(bytes.as_ref());
        connection.response()
    }

    /// Posts a body as JSON on a new connection. `headers` come after the usual ones and replace
    /// those of the same name.
    pub fn post(&self, body: impl AsRef<[u8]>, headers: &[(&str, &str)]) -> RawResponse {
        self.raw(self.request("POST", body.as_ref(), headers))
    }

    /// Gets a path on a new connection.
    pub fn get(&self, path: &str, headers: &[(&str, &str)]) -> RawResponse {
        let mut request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n", self.address);
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        self.raw(request + "\r\n")
    }

    /// Returns the bytes of a request to the server's path.
    pub fn request(&self, method: &str, body: &[u8], headers: &[(&str, &str)]) -> Vec<u8> {
        let host = self.address.to_string();
        let length = body.len().to_string();
        let usual = [
            ("Host", host.as_str()),
            ("Content-Type", "application/json"),
            ("Content-Length", length.as_str()),
        ];
        let own = self
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        let replaced = |name: &str| {
            headers
                .iter()
                .any(|(given, _)| given.eq_ignore_ascii_case(name))
        };
        let mut request = format!("{method} {} HTTP/1.1\r\n", self.path);
        let kept = usual
            .into_iter()
            .chain(own)
            .filter(|(name, _)| !replaced(name));
        for (name, value) in kept.chain(headers.iter().copied()) {
            request += &format!("{name}: {value}\r\n");
        }
        request += "\r\n";
        let mut request = request.into_bytes();
        request.extend_from_slice(body);
        request
    }

    fn record(&self, response: &RawResponse) {
        let mut reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        for message in response.messages() {
            reached.record(message.as_bytes());
        }
    }
}

/// A connection to a server.
#[derive(Debug)]
pub struct Connection<'a> {
    stream: BufReader<TcpStream>,
    http: &'a Http,
}

impl Connection<'_> {
    /// Sends raw bytes. An error is ignored: the server has answered and stopped reading.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.get_mut().write_all(bytes.as_ref());
    }

    /// Reads one response.
    pub fn response(&mut self) -> RawResponse {
        let read = self.try_response();
        let response = read.unwrap_or_else(|error| panic!("no response: {error}"));
        response.expect("the server answers before it closes the connection")
    }

    /// Reads one response. Returns `None` if the server has closed the connection.
    pub fn try_response(&mut self) -> io::Result<Option<RawResponse>> {
        let response = RawResponse::read(&mut self.stream)?;
        if let Some(response) = &response {
            self.http.record(response);
        }
        Ok(response)
    }

    /// Reads the head of a response without a body, whatever its headers announce.
    pub fn head(&mut self) -> RawResponse {
        let head = RawResponse::read_head(&mut self.stream);
        let head = head.unwrap_or_else(|error| panic!("no response: {error}"));
        head.expect("the server answers before it closes the connection")
    }

    /// Returns true if the server closes the connection without another byte.
    pub fn is_closed(&mut self) -> bool {
        match RawResponse::read(&mut self.stream) {
            Ok(response) => response.is_none(),
            Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
        }
    }

    /// Sets how long an answer may take.
    pub fn limit(&mut self, limit: Duration) {
        self.stream
            .get_ref()
            .set_read_timeout(Some(limit))
            .expect("a limit can be set");
    }

    /// Closes the sending side of the connection.
    pub fn finish_sending(&mut self) {
        let _ = self.stream.get_ref().shutdown(Shutdown::Write);
    }
}

/// Parses address and path of the first URL in a line.
fn parse_address(line: &str) -> Option<(SocketAddr, String)> {
    let (_, url) = line.split_once("http://")?;
    let url = url.split_whitespace().next()?;
    let (address, path) = url.split_once('/').unwrap_or((url, ""));
    Some((address.parse().ok()?, format!("/{path}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_parsed_from_a_log_line() {
        let parsed = parse_address("playground listening on http://127.0.0.1:4711/mcp\n");
        assert_eq!(
            parsed,
            Some(("127.0.0.1:4711".parse().unwrap(), "/mcp".into()))
        );
        let bare = parse_address("candor on http://[::1]:80\n");
        assert_eq!(bare, Some(("[::1]:80".parse().unwrap(), "/".into())));
        assert_eq!(parse_address("nowhere"), None);
    }
}
