//! A server that plays answers to order and writes down every request.

use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What is played to one request.
#[derive(Debug, Clone)]
pub(crate) enum Play {
    /// A whole answer.
    Answer(Vec<u8>),
    /// The beginning of an answer; then the connection is gone.
    Part(Vec<u8>),
    /// Nothing, for as long as anybody waits.
    Silence,
}

impl Play {
    pub(crate) fn new(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Play {
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
        Play::Answer(bytes)
    }

    pub(crate) fn json(status: u16, body: &Value) -> Play {
        Play::new(status, &[], body.to_string().as_bytes())
    }

    /// An answer that promises more bytes than come.
    pub(crate) fn cut(status: u16, body: &[u8]) -> Play {
        let head = format!("HTTP/1.1 {status} Played\r\ncontent-length: 1000000\r\n\r\n");
        Play::Part([head.as_bytes(), body].concat())
    }
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// `GET /path?query`.
    pub(crate) fn line(&self) -> String {
        format!("{} {}", self.method, self.target)
    }
}

#[derive(Debug, Default)]
struct Script {
    plays: BTreeMap<String, VecDeque<Play>>,
    seen: Vec<Request>,
    unexpected: Vec<String>,
}

/// The server.
#[derive(Debug)]
pub(crate) struct Scripted {
    pub(crate) address: SocketAddr,
    script: Arc<Mutex<Script>>,
    listening: JoinHandle<()>,
}

impl Scripted {
    pub(crate) async fn start() -> Scripted {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let script = Arc::<Mutex<Script>>::default();
        let shared = Arc::clone(&script);
        let listening = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&shared)));
            }
        });
        Scripted {
            address,
            script,
            listening,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Plays this to the next request of this line, after what is to be played already.
    pub(crate) fn play(&self, line: &str, play: Play) -> &Self {
        let mut script = self.script.lock().unwrap();
        script
            .plays
            .entry(line.to_owned())
            .or_default()
            .push_back(play);
        drop(script);
        self
    }

    pub(crate) fn seen(&self) -> Vec<Request> {
        self.script.lock().unwrap().seen.clone()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.seen().iter().map(Request::line).collect()
    }

    /// Everything was played, and nothing else was asked for.
    pub(crate) fn assert_played(&self) {
        let script = self.script.lock().unwrap();
        assert_eq!(
            script.unexpected,
            Vec::<String>::new(),
            "asked for, not played"
        );
        let mut left = script.plays.iter().filter(|(_, plays)| !plays.is_empty());
        assert!(
            left.next().is_none(),
            "not asked for: {:?}",
            script.plays.keys()
        );
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// Serves one connection for as long as it is kept.
async fn serve(stream: TcpStream, script: Arc<Mutex<Script>>) {
    let mut stream = BufReader::new(stream);
    while let Some(request) = read(&mut stream).await {
        match next(&script, request) {
            Play::Answer(bytes) => {
                if stream.write_all(&bytes).await.is_err() {
                    return;
                }
            }
            Play::Part(bytes) => {
                let _gone = stream.write_all(&bytes).await;
                let _gone = stream.shutdown().await;
                return;
            }
            Play::Silence => {
                // Until the other side gives up.
                let _closed = stream.read_u8().await;
                return;
            }
        }
    }
}

fn next(script: &Mutex<Script>, request: Request) -> Play {
    let line = request.line();
    let mut script = script.lock().unwrap();
    script.seen.push(request);
    let play = script.plays.get_mut(&line).and_then(VecDeque::pop_front);
    play.unwrap_or_else(|| {
        script.unexpected.push(line);
        Play::new(599, &[], b"")
    })
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut first = String::new();
    stream.read_line(&mut first).await.ok()?;
    let mut parts = first.split_whitespace();
    let (method, target) = (parts.next()?.to_owned(), parts.next()?.to_owned());
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
    Some(Request {
        method,
        target,
        headers,
        body,
    })
}
