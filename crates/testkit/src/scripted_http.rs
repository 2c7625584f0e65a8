//! An HTTP server that sends scripted responses and records every request.

// A test that cannot go on has nobody to return an error to.
#![allow(clippy::expect_used)]

use serde_json::Value;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

/// The response to one request.
#[derive(Debug, Clone)]
pub enum ScriptedResponse {
    /// These bytes; the connection is kept.
    Answer(Vec<u8>),
    /// These bytes; then the connection is closed.
    Part(Vec<u8>),
    /// These bytes; then nothing until the client gives up.
    Hang(Vec<u8>),
    /// These bytes; then spaces for as long as the client reads.
    Endless(Vec<u8>),
}

impl ScriptedResponse {
    /// Returns a complete response.
    pub fn new(status: u16, headers: &[(&str, &str)], body: &[u8]) -> ScriptedResponse {
        let mut bytes = format!("HTTP/1.1 {status} Played\r\n").into_bytes();
        for (name, value) in headers {
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        if status != 204 && status != 304 {
            let length = format!("content-length: {}\r\n", body.len());
            bytes.extend_from_slice(length.as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(body);
        ScriptedResponse::Answer(bytes)
    }

    /// Returns a response whose content type is JSON.
    pub fn text(status: u16, body: &str) -> ScriptedResponse {
        let headers = [("content-type", "application/json")];
        ScriptedResponse::new(status, &headers, body.as_bytes())
    }

    pub fn json(status: u16, body: &Value) -> ScriptedResponse {
        ScriptedResponse::text(status, &body.to_string())
    }

    /// Returns a response that is shorter than its `Content-Length`.
    pub fn cut(status: u16, body: impl AsRef<[u8]>) -> ScriptedResponse {
        let head = format!(
            "HTTP/1.1 {status} Played\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n"
        );
        ScriptedResponse::Part([head.as_bytes(), body.as_ref()].concat())
    }

    fn bytes(&self) -> &[u8] {
        match self {
            ScriptedResponse::Answer(bytes)
            | ScriptedResponse::Part(bytes)
            | ScriptedResponse::Hang(bytes)
            | ScriptedResponse::Endless(bytes) => bytes,
        }
    }
}

/// A received request.
#[derive(Debug, Clone)]
pub struct RecordedRequest {
    pub method: String,
    pub target: String,
    /// The headers in order; names are in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl RecordedRequest {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }

    /// `GET /path?query`.
    pub fn line(&self) -> String {
        format!("{} {}", self.method, self.target)
    }

    /// Reads one request. Returns `None` if the connection ends before it is complete.
    pub async fn read(stream: &mut BufReader<TcpStream>) -> Option<RecordedRequest> {
        let HttpMessage {
            first,
            headers,
            body,
        } = HttpMessage::read(stream).await?;
        let mut parts = first.split_whitespace().map(str::to_owned);
        Some(RecordedRequest {
            method: parts.next()?,
            target: parts.next()?,
            headers,
            body,
        })
    }
}

/// A request or a response, not interpreted.
#[derive(Debug)]
pub struct HttpMessage {
    /// The first line.
    pub first: String,
    /// The headers in order; names are in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl HttpMessage {
    /// Reads one message. Returns `None` if the connection ends before it is complete.
    pub async fn read(stream: &mut BufReader<TcpStream>) -> Option<HttpMessage> {
        let mut first = String::new();
        stream.read_line(&mut first).await.ok()?;
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).await.ok()?;
            let Some((name, value)) = line.trim_end().split_once(':') else {
                break;
            };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let length = length.map_or(0, |(_, value)| value.parse().expect("a length"));
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.ok()?;
        (!first.is_empty()).then_some(HttpMessage {
            first,
            headers,
            body,
        })
    }
}

/// An event that a test may wait for.
#[derive(Debug, PartialEq, Eq)]
pub enum ConnectionEvent {
    /// A hanging response has begun.
    Hanging,
    /// The client closed a connection whose response hung or did not end.
    Closed,
}

type Script = dyn Fn(&RecordedRequest) -> ScriptedResponse + Send + Sync;

/// The server.
pub struct ScriptedServer {
    pub address: SocketAddr,
    state: Arc<State>,
    events: UnboundedReceiver<ConnectionEvent>,
    listening: JoinHandle<()>,
}

struct State {
    script: Box<Script>,
    seen: Mutex<Vec<RecordedRequest>>,
    endless: AtomicUsize,
    events: UnboundedSender<ConnectionEvent>,
}

impl ScriptedServer {
    /// Starts a server on a free port of the loopback interface.
    pub async fn start(
        script: impl Fn(&RecordedRequest) -> ScriptedResponse + Send + Sync + 'static,
    ) -> ScriptedServer {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("a port is free");
        let address = listener.local_addr().expect("a listener has an address");
        let (sender, events) = unbounded_channel();
        let state = Arc::new(State {
            script: Box::new(script),
            seen: Mutex::default(),
            endless: AtomicUsize::new(0),
            events: sender,
        });
        let shared = Arc::clone(&state);
        let listening = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&shared)));
            }
        });
        ScriptedServer {
            address,
            state,
            events,
            listening,
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns every request so far.
    pub fn seen(&self) -> Vec<RecordedRequest> {
        let seen = self.state.seen.lock();
        seen.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the method and the target of every request so far.
    pub fn lines(&self) -> Vec<String> {
        self.seen().iter().map(RecordedRequest::line).collect()
    }

    /// Returns the bytes of endless responses that were sent.
    pub fn endless(&self) -> usize {
        self.state.endless.load(Ordering::SeqCst)
    }

    /// Waits for the next event.
    pub async fn event(&mut self) -> ConnectionEvent {
        self.events.recv().await.expect("the server holds a sender")
    }
}

impl fmt::Debug for ScriptedServer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ScriptedServer")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// Serves one connection for as long as it is kept.
async fn serve(stream: TcpStream, state: Arc<State>) {
    let mut stream = BufReader::new(stream);
    while let Some(request) = RecordedRequest::read(&mut stream).await {
        let response = (state.script)(&request);
        let seen = state.seen.lock();
        seen.unwrap_or_else(PoisonError::into_inner).push(request);
        if stream.write_all(response.bytes()).await.is_err() {
            return;
        }
        match response {
            ScriptedResponse::Answer(_) => {}
            ScriptedResponse::Part(_) => {
                let _gone = stream.shutdown().await;
                return;
            }
            ScriptedResponse::Hang(_) => {
                let _ = state.events.send(ConnectionEvent::Hanging);
                // Waits until the client gives up.
                let _closed = stream.read_u8().await;
                let _ = state.events.send(ConnectionEvent::Closed);
                return;
            }
            ScriptedResponse::Endless(_) => {
                let chunk = vec![b' '; 64 * 1024];
                while stream.write_all(&chunk).await.is_ok() {
                    state.endless.fetch_add(chunk.len(), Ordering::SeqCst);
                }
                let _ = state.events.send(ConnectionEvent::Closed);
                return;
            }
        }
    }
}
