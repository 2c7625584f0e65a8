//! Load over HTTP: a fixed number of open connections, one request at a time on each. Written on
//! sockets: a client library would cost more than the measured servers.

use super::{Load, check, mark, unexpected};
use crate::process::{BenchProgram, ServerProcess};
use crate::requests::{Case, FIRST_ID, RequestTemplate, answered_id};
use crate::statistics::Latencies;
use std::cmp;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// The number of connections.
pub(crate) const CONNECTIONS: u64 = 16;

/// The distance between the ids of two connections: no id is used twice, and the last digits, which
/// choose rows, differ between simultaneous requests.
const APART: u64 = 100_000_617;

/// As [`APART`], for load beside the measured one. Its ids are above the measured ones.
const DISTURBING_APART: u64 = 1_000_003;

/// The ids of a connection in one round of load beside the measured one.
const DISTURBING_ROUND: u64 = 20_000;

const CHUNK: usize = 16 * 1024;

/// Load on one server.
#[derive(Debug)]
pub(crate) struct HttpLoad {
    process: ServerProcess,
    target: PostTarget,
    bare: bool,
    runtime: Runtime,
    connections: Vec<Connection>,
}

impl HttpLoad {
    /// Starts the program, whose tools are at this path.
    pub(crate) fn new(program: &BenchProgram, path: &'static str) -> io::Result<Self> {
        HttpLoad::with_connections(program, path, CONNECTIONS)
    }

    /// As [`HttpLoad::new`], with this many connections.
    pub(crate) fn with_connections(
        program: &BenchProgram,
        path: &'static str,
        connections: u64,
    ) -> io::Result<Self> {
        let (process, address) = program.listen()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let connections = runtime.block_on(async {
            let mut all = Vec::new();
            for number in 0..connections {
                let stream = TcpStream::connect(&address).await?;
                let apart = number * APART % (FIRST_ID * 8);
                all.push(Connection::new(stream, FIRST_ID + apart)?);
            }
            io::Result::Ok(all)
        })?;
        Ok(HttpLoad {
            process,
            target: PostTarget {
                address,
                path,
                token: None,
            },
            bare: program.bare,
            runtime,
            connections,
        })
    }

    /// Sends this token with every request.
    pub(crate) fn with_token(mut self, token: &'static str) -> Self {
        self.target.token = Some(token);
        self
    }

    pub(crate) fn address(&self) -> &str {
        &self.target.address
    }

    /// Sends requests of this case from other connections, on a thread of its own, until
    /// [`Disturbance::end`]. Each `round` has ids of its own.
    pub(crate) fn disturb(&self, case: Case, connections: u64, round: u32) -> Disturbance {
        self.disturb_with(self.target.token, case, connections, round)
    }

    /// As [`HttpLoad::disturb`], by the client with this token.
    pub(crate) fn disturb_with(
        &self,
        token: Option<&'static str>,
        case: Case,
        connections: u64,
        round: u32,
    ) -> Disturbance {
        let stop = Arc::new(AtomicBool::new(false));
        let target = PostTarget {
            address: self.target.address.clone(),
            path: self.target.path,
            token,
        };
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            let first = FIRST_ID * 9 + u64::from(round) * DISTURBING_ROUND;
            runtime.block_on(disturb(target, (case, first), connections, stopped))
        });
        Disturbance {
            stop,
            thread: Some(thread),
        }
    }

    /// Sends one request.
    pub(crate) fn once(&mut self, case: Case) -> io::Result<()> {
        let mut request = self.target.request(case);
        let mark = mark(case, self.bare);
        let Some(connection) = self.connections.first_mut() else {
            return Ok(());
        };
        let asked = connection.once(&mut request, mark);
        self.runtime.block_on(asked)
    }
}

/// Load beside the measured one.
#[derive(Debug)]
pub(crate) struct Disturbance {
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<io::Result<()>>>,
}

impl Disturbance {
    /// Ends the load and returns its first error.
    pub(crate) fn end(mut self) -> io::Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        match self.thread.take().map(thread::JoinHandle::join) {
            Some(Ok(ended)) => ended,
            Some(Err(_)) => Err(io::Error::other(
                "the load beside the measured one panicked",
            )),
            None => Ok(()),
        }
    }
}

async fn disturb(
    target: PostTarget,
    (case, first): (Case, u64),
    connections: u64,
    stop: Arc<AtomicBool>,
) -> io::Result<()> {
    let mut asking = JoinSet::new();
    for number in 0..connections {
        let stream = TcpStream::connect(&target.address).await?;
        let mut connection = Connection::new(stream, first + number * DISTURBING_APART)?;
        let (mut request, stop) = (target.request(case), Arc::clone(&stop));
        asking.spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                connection.once(&mut request, case.mark()).await?;
            }
            io::Result::Ok(())
        });
    }
    while let Some(ended) = asking.join_next().await {
        ended.map_err(io::Error::other)??;
    }
    Ok(())
}

/// The address and the path of tools, and the token of the client.
#[derive(Debug)]
pub(crate) struct PostTarget {
    pub(crate) address: String,
    pub(crate) path: &'static str,
    pub(crate) token: Option<&'static str>,
}

impl PostTarget {
    /// Returns a request as MCP clients send it.
    pub(crate) fn request(&self, case: Case) -> RequestTemplate {
        let (path, address) = (self.path, &self.address);
        let token = self
            .token
            .map(|token| format!("authorization: Bearer {token}\r\n"));
        let token = token.unwrap_or_default();
        let head = |length| {
            format!(
                "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
                 accept: application/json, text/event-stream\r\nmcp-protocol-version: 2025-11-25\r\n\
                 {token}content-length: {length}\r\n\r\n"
            )
        };
        RequestTemplate::new(case, head, "")
    }
}

impl Load for HttpLoad {
    fn process(&self) -> &ServerProcess {
        &self.process
    }

    fn ask(&mut self, case: Case, how_long: Duration) -> io::Result<Latencies> {
        let until = Instant::now() + how_long;
        let mark = mark(case, self.bare);
        let request = self.target.request(case);
        self.runtime.block_on(async {
            let mut asking = JoinSet::new();
            for connection in self.connections.drain(..) {
                asking.spawn(connection.ask(request.clone(), mark, until));
            }
            let mut all = Latencies::default();
            while let Some(ended) = asking.join_next().await {
                let (connection, latencies) = ended.map_err(io::Error::other)??;
                self.connections.push(connection);
                all.append(latencies);
            }
            Ok(all)
        })
    }
}

/// One connection, with one request at a time.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    id: u64,
    buffer: Vec<u8>,
    end: usize,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream, id: u64) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Connection {
            stream,
            id,
            buffer: vec![0; CHUNK],
            end: 0,
        })
    }

    /// Sends one request and checks the answer.
    pub(crate) async fn once(
        &mut self,
        template: &mut RequestTemplate,
        mark: &'static str,
    ) -> io::Result<()> {
        self.id += 1;
        self.stream.write_all(template.with_id(self.id)).await?;
        check(self.answer().await?, mark)
    }

    async fn ask(
        mut self,
        mut template: RequestTemplate,
        mark: &'static str,
        until: Instant,
    ) -> io::Result<(Self, Latencies)> {
        let mut latencies = Latencies::default();
        let mut now = Instant::now();
        while now < until {
            self.id += 1;
            let id = self.id;
            self.stream.write_all(template.with_id(id)).await?;
            let answer = self.answer().await?;
            if latencies.len() == 0 {
                check(answer, mark)?;
            }
            if answered_id(answer) != Some(id) {
                return Err(unexpected(answer));
            }
            let answered = Instant::now();
            latencies.note(answered - now);
            now = answered;
        }
        Ok((self, latencies))
    }

    /// Returns the body of the next answer. Nothing else may arrive.
    async fn answer(&mut self) -> io::Result<&[u8]> {
        self.end = 0;
        loop {
            if self.buffer.len() == self.end {
                self.buffer.resize(self.end + CHUNK, 0);
            }
            let read = self.stream.read(&mut self.buffer[self.end..]).await?;
            if read == 0 {
                return Err(io::Error::other("the server closed a connection"));
            }
            self.end += read;
            if let Some(body) = body(&self.buffer[..self.end])? {
                return Ok(&self.buffer[body..self.end]);
            }
        }
    }
}

/// Sends one `GET` and reads the answer.
pub(crate) async fn get(stream: &mut TcpStream, address: &str, path: &str) -> io::Result<()> {
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut arrived = Vec::with_capacity(512);
    while body(&arrived)?.is_none() {
        if stream.read_buf(&mut arrived).await? == 0 {
            return Err(io::Error::other("the server closed a connection"));
        }
    }
    Ok(())
}

/// Returns the offset of the body once it is complete.
fn body(arrived: &[u8]) -> io::Result<Option<usize>> {
    let Some(head) = memchr::memmem::find(arrived, b"\r\n\r\n") else {
        return Ok(None);
    };
    if !arrived.starts_with(b"HTTP/1.1 200 ") {
        return Err(unexpected(arrived));
    }
    let length = length(&arrived[..head]).ok_or_else(|| unexpected(arrived))?;
    let start = head + 4;
    match arrived.len().cmp(&(start + length)) {
        cmp::Ordering::Less => Ok(None),
        cmp::Ordering::Equal => Ok(Some(start)),
        cmp::Ordering::Greater => Err(unexpected(arrived)),
    }
}

fn length(head: &[u8]) -> Option<usize> {
    const NAME: &[u8] = b"\r\ncontent-length: ";
    // Both servers write header names in lower case.
    let value = &head[memchr::memmem::find(head, NAME)? + NAME.len()..];
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit());
    Some(digits.fold(0, |length, digit| length * 10 + usize::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_is_found_when_it_is_complete() {
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ndate: now\r\n\r\n{}";
        assert_eq!(body(answer).unwrap(), Some(answer.len() - 2));
        assert_eq!(body(&answer[..answer.len() - 1]).unwrap(), None);
        assert_eq!(body(&answer[..20]).unwrap(), None);
        assert!(body(&[answer, &b"x"[..]].concat()).is_err());
        assert!(body(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").is_err());
    }
}
