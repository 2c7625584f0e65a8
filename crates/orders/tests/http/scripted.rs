//! An order system that plays answers to order and writes down every request.

use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

/// What is played to one request.
#[derive(Debug, Clone)]
pub(crate) enum Play {
    /// These bytes; the connection is kept.
    Answer(Vec<u8>),
    /// These bytes; then the connection is closed.
    Part(Vec<u8>),
    /// These bytes; then nothing, for as long as anybody waits.
    Hang(Vec<u8>),
    /// These bytes; then spaces for as long as anybody reads.
    Endless(Vec<u8>),
}

impl Play {
    pub(crate) fn new(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Play {
        let mut bytes = format!("HTTP/1.1 {status} Played\r\n").into_bytes();
        for (name, value) in headers {
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        bytes.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
        bytes.extend_from_slice(body);
        Play::Answer(bytes)
    }

    pub(crate) fn text(status: u16, body: &str) -> Play {
        Play::new(
            status,
            &[("content-type", "application/json")],
            body.as_bytes(),
        )
    }

    pub(crate) fn json(status: u16, body: &Value) -> Play {
        Play::text(status, &body.to_string())
    }

    /// An answer that promises more bytes than come.
    pub(crate) fn cut(status: u16, body: &str) -> Play {
        let head = format!(
            "HTTP/1.1 {status} Played\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n"
        );
        Play::Part([head.as_bytes(), body.as_bytes()].concat())
    }
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }
}

pub(crate) fn capabilities() -> Value {
    let operations = candor_orders::OrderOperation::ALL.map(candor_orders::OrderOperation::name);
    json!({ "protocol": 1, "operations": operations, "keepsKeys": true })
}

type Script = dyn Fn(&Request) -> Play + Send + Sync;

/// The order system.
pub(crate) struct Scripted {
    pub(crate) address: SocketAddr,
    state: Arc<State>,
    events: UnboundedReceiver<Event>,
    listening: JoinHandle<()>,
}

/// What a test may wait for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A hanging answer has begun.
    Hanging,
    /// The other side closed a connection that hung.
    Closed,
}

struct State {
    script: Box<Script>,
    seen: Mutex<Vec<Request>>,
    endless: AtomicUsize,
    events: UnboundedSender<Event>,
}

impl Scripted {
    pub(crate) async fn start(
        script: impl Fn(&Request) -> Play + Send + Sync + 'static,
    ) -> Scripted {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
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
        Scripted {
            address,
            state,
            events,
            listening,
        }
    }

    /// Offers everything, and plays this to every operation.
    pub(crate) async fn playing(play: Play) -> Scripted {
        Scripted::changing(Arc::new(Mutex::new(play))).await
    }

    /// Offers everything, and plays to every operation what stands here then.
    pub(crate) async fn changing(play: Arc<Mutex<Play>>) -> Scripted {
        Scripted::start(move |request| match request.line.as_str() {
            "GET /v1/capabilities" => Play::json(200, &capabilities()),
            _ => play.lock().unwrap().clone(),
        })
        .await
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Request> {
        self.state.seen.lock().unwrap().clone()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.seen()
            .into_iter()
            .map(|request| request.line)
            .collect()
    }

    /// How many bytes of endless answers were taken.
    pub(crate) fn endless(&self) -> usize {
        self.state.endless.load(Ordering::SeqCst)
    }

    pub(crate) async fn event(&mut self) -> Event {
        self.events.recv().await.unwrap()
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// Serves one connection for as long as it is kept.
async fn serve(stream: TcpStream, state: Arc<State>) {
    let mut stream = BufReader::new(stream);
    while let Some(request) = read(&mut stream).await {
        let play = (state.script)(&request);
        state.seen.lock().unwrap().push(request);
        let (Play::Answer(bytes) | Play::Part(bytes) | Play::Hang(bytes) | Play::Endless(bytes)) =
            &play;
        if stream.write_all(bytes).await.is_err() {
            return;
        }
        match play {
            Play::Answer(_) => {}
            Play::Part(_) => {
                let _gone = stream.shutdown().await;
                return;
            }
            Play::Hang(_) => {
                let _ = state.events.send(Event::Hanging);
                // Until the other side gives up.
                let _closed = stream.read_u8().await;
                let _ = state.events.send(Event::Closed);
                return;
            }
            Play::Endless(_) => {
                let chunk = vec![b' '; 64 * 1024];
                while stream.write_all(&chunk).await.is_ok() {
                    state.endless.fetch_add(chunk.len(), Ordering::SeqCst);
                }
                let _ = state.events.send(Event::Closed);
                return;
            }
        }
    }
}

/// Reads one request.
pub(crate) async fn read(stream: &mut BufReader<TcpStream>) -> Option<Request> {
    let (first, headers, body) = message(stream).await?;
    let mut parts = first.split_whitespace();
    let (method, target) = (parts.next()?, parts.next()?);
    Some(Request {
        line: format!("{method} {target}"),
        headers,
        body,
    })
}

type Message = (String, Vec<(String, String)>, Vec<u8>);

/// Reads a request or an answer: its first line, its headers and its body.
pub(crate) async fn message(stream: &mut BufReader<TcpStream>) -> Option<Message> {
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
    let length = length.map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    (!first.is_empty()).then_some((first, headers, body))
}
