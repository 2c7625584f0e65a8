//! HTTP on the paused clock: a server in this process, and clients that send raw bytes.

mod capacity;
mod half_close;
mod long_calls;
mod refused_heads;
mod times;

use candor_fault::Timestamp;
use candor_fault::codes::candor::Code;
use candor_fault::dialects::Candor;
use candor_street::{
    CallContext, CancellationToken, Dispatcher, MetricsHub, Server, Tool, Tools, reply,
};
use candor_wire::http::{Admission, AdmissionToken, Endpoint, HttpPaths, bind, router, serve};
use serde::Deserialize;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// The answer to a request that the server has no capacity for, without its id.
const AT_CAPACITY: &str =
    r#""error":{"code":-32603,"message":"Internal error: the server is at capacity"}}"#;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// A server whose tools take as long as their arguments request.
struct PatientServer {
    tools: Tools<Self>,
    changes: Arc<AtomicUsize>,
}

impl Server for PatientServer {
    type Dialect = Candor<Code>;
    type Notes = ();

    fn tools(&self) -> &Tools<Self> {
        &self.tools
    }
}

#[derive(Deserialize)]
struct PatientArguments {
    seconds: u64,
}

fn patient_server(changes: Arc<AtomicUsize>) -> PatientServer {
    let schema = json!({ "type": "object", "properties": { "seconds": { "type": "integer" } } });
    let wait = Tool::read_only(
        "wait",
        "Waits.",
        schema.clone(),
        |_, arguments: PatientArguments, cx: CallContext| async move {
            cx.progress().report(1.0, None, None);
            tokio::time::sleep(Duration::from_secs(arguments.seconds)).await;
            reply(&json!({ "waited": arguments.seconds }))
        },
    );
    let change = Tool::mutating(
        "change",
        "Waits, then changes something.",
        schema,
        |server: Arc<PatientServer>, arguments: PatientArguments, cx: CallContext| async move {
            tokio::time::sleep(Duration::from_secs(arguments.seconds)).await;
            if cx.mark.begins().is_ok() {
                server.changes.fetch_add(1, Ordering::SeqCst);
                cx.mark.done();
            }
            reply(&json!({ "changed": true }))
        },
    );
    PatientServer {
        tools: Tools::new("test", "1").with(wait).with(change),
        changes,
    }
}

/// A server that listens in this process.
struct LocalServer {
    address: SocketAddr,
    changes: Arc<AtomicUsize>,
}

impl LocalServer {
    /// Starts a server; `setup` changes its paths.
    fn start(bearer: Option<&str>, setup: impl FnOnce(HttpPaths) -> HttpPaths) -> Self {
        let listener = bind("127.0.0.1:0".parse().unwrap()).unwrap();
        LocalServer::start_on(listener, bearer, setup)
    }

    /// As [`LocalServer::start`], on a listener of the test.
    fn start_on(
        listener: TcpListener,
        bearer: Option<&str>,
        setup: impl FnOnce(HttpPaths) -> HttpPaths,
    ) -> Self {
        let hub = MetricsHub::default();
        let changes = Arc::new(AtomicUsize::new(0));
        let server = patient_server(Arc::clone(&changes));
        let clock = Arc::new(|| Timestamp::UNIX_EPOCH);
        let dispatcher = Dispatcher::new(server, clock, &hub).unwrap();
        let admission = Arc::new(Admission {
            bearer: bearer.and_then(AdmissionToken::new),
            ..Admission::default()
        });
        let endpoint = Endpoint::new(dispatcher, Arc::clone(&admission));
        let paths = setup(router(admission, hub, "1").with("/mcp", endpoint));
        let address = listener.local_addr().unwrap();
        tokio::spawn(serve(listener, paths, CancellationToken::new()));
        LocalServer { address, changes }
    }

    fn plain() -> Self {
        LocalServer::start(None, |paths| paths)
    }

    async fn connect(&self) -> Client {
        connect(self.address).await
    }

    /// Sends bytes on a new connection.
    async fn send(&self, bytes: impl AsRef<[u8]>) -> Client {
        let mut client = self.connect().await;
        client.send(bytes).await;
        client
    }

    /// Returns the sample of a metric.
    async fn metric(&self, name: &str) -> Option<u64> {
        let mut client = self
            .send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .await;
        let text = client.response().await.unwrap().body;
        let mut values = text.lines().filter_map(|line| line.strip_prefix(name));
        values.next()?.trim().parse().ok()
    }

    fn changes(&self) -> usize {
        self.changes.load(Ordering::SeqCst)
    }
}

/// Starts a server without a token at `/mcp`.
pub(crate) fn start_server<S: Server>(server: S) -> SocketAddr {
    let hub = MetricsHub::default();
    let clock = Arc::new(|| Timestamp::UNIX_EPOCH);
    let dispatcher = Dispatcher::new(server, clock, &hub).unwrap();
    let admission = Arc::new(Admission::default());
    let endpoint = Endpoint::new(dispatcher, Arc::clone(&admission));
    let listener = bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = listener.local_addr().unwrap();
    let paths = router(admission, hub, "1").with("/mcp", endpoint);
    tokio::spawn(serve(listener, paths, CancellationToken::new()));
    address
}

pub(crate) async fn connect(address: SocketAddr) -> Client {
    Client(BufReader::new(TcpStream::connect(address).await.unwrap()))
}

/// A connection to a server.
pub(crate) struct Client(BufReader<TcpStream>);

/// A response with the parts that tests compare.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Response {
    status: u16,
    head: String,
    pub(crate) body: String,
}

impl Client {
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        // Sending fails if the server has closed the connection.
        let _ = self.0.get_mut().write_all(bytes.as_ref()).await;
    }

    /// Waits until the answer has begun, and reads nothing.
    pub(crate) async fn wait_for_byte(&mut self) {
        self.0.get_mut().peek(&mut [0]).await.unwrap();
    }

    /// Reads one byte from the connection itself, past any buffer.
    pub(crate) async fn read_byte(&mut self) {
        self.0.get_mut().read_u8().await.unwrap();
    }

    async fn half_close(&mut self) {
        self.0.get_mut().shutdown().await.unwrap();
    }

    /// Closes the connection with a reset.
    pub(crate) fn reset(self) {
        let stream = self.0.into_inner();
        #[allow(deprecated)] // There is no other way to a reset.
        stream.set_linger(Some(Duration::ZERO)).unwrap();
    }

    /// Reads one response. Returns `None` if the connection ends before it begins.
    pub(crate) async fn response(&mut self) -> Option<Response> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.0.read_line(&mut head).await.unwrap_or(0) == 0 {
                assert_eq!(head, "");
                return None;
            }
        }
        let header = |name: &str| {
            let line = head.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.trim().to_owned())
        };
        let mut body = String::new();
        match header("content-length:") {
            Some(length) => {
                let mut bytes = vec![0; length.parse().unwrap()];
                self.0.read_exact(&mut bytes).await.unwrap();
                body = String::from_utf8(bytes).unwrap();
            }
            None if header("transfer-encoding:").is_some() => {
                while !body.ends_with("0\r\n\r\n") {
                    assert!(self.0.read_line(&mut body).await.unwrap() > 0, "{body}");
                }
            }
            None => {}
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Some(Response { status, head, body })
    }

    /// Returns true if the server closes the connection without another byte.
    async fn is_closed(&mut self) -> bool {
        match self.0.read(&mut [0]).await {
            Ok(count) => count == 0,
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

/// Returns a POST request.
pub(crate) fn post(body: &str, headers: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Returns a request of the handshake era that calls a tool.
fn call(tool: &str, seconds: u64) -> String {
    let params = json!({ "name": tool, "arguments": { "seconds": seconds } });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    post(&body.to_string(), "")
}

/// Returns a request of the stateless era that calls a tool.
fn stateless_call(tool: &str, seconds: u64, headers: &str) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": 1,
    });
    let params = json!({ "name": tool, "arguments": { "seconds": seconds }, "_meta": meta });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let own = format!(
        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n{headers}"
    );
    post(&body.to_string(), &own)
}

fn parse(body: &str) -> Value {
    serde_json::from_str(body).expect(body)
}

/// Returns the body of a refusal.
fn refusal(message: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":-32600,"message":"Invalid Request: {message}"}}}}"#
    )
}

/// Returns true if a time has passed, and not much more.
fn is_about(expected: Duration, measured: Duration) -> bool {
    measured >= expected && measured < expected + Duration::from_millis(100)
}
