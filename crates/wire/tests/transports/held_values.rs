//! Values that a server holds for a call are dropped once its answer is written, and not before.

use crate::http::{Client, connect, post, start_server};
use candor_fault::Timestamp;
use candor_fault::codes::candor::Code;
use candor_fault::dialects::Candor;
use candor_street::{CallContext, CancellationToken, Dispatcher, MetricsHub, Server, Tool, Tools};
use candor_street::{Reply, reply_text};
use candor_wire::http::UNREAD_TIMEOUT;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// More than the buffers of a connection hold.
const LARGE: usize = 8_000_000;

struct HoldingServer {
    tools: Tools<Self>,
    held: Arc<AtomicUsize>,
}

impl Server for HoldingServer {
    type Dialect = Candor<Code>;
    type Notes = ();

    fn tools(&self) -> &Tools<Self> {
        &self.tools
    }
}

/// A value that counts itself.
struct CountedValue(Arc<AtomicUsize>);

impl Drop for CountedValue {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Returns a server with a tool that answers at once, and one that waits a little first.
fn holding_server() -> (HoldingServer, Arc<AtomicUsize>) {
    let schema = json!({ "type": "object" });
    let answer = |server: &HoldingServer, cx: &CallContext| {
        server.held.fetch_add(1, Ordering::SeqCst);
        let value = CountedValue(Arc::clone(&server.held));
        cx.call.hold_until_written(value);
        cx.progress().report(1.0, None, None);
        reply_text::<Candor<Code>>("x".repeat(LARGE))
    };
    let at_once = move |server: Arc<HoldingServer>, _: Value, cx: CallContext| async move {
        answer(&server, &cx)
    };
    let later = move |server: Arc<HoldingServer>, _: Value, cx: CallContext| async move {
        let reply: Result<Reply, _> = answer(&server, &cx);
        tokio::time::sleep(Duration::from_millis(20)).await;
        reply
    };
    let held = Arc::new(AtomicUsize::new(0));
    let server = HoldingServer {
        tools: Tools::new("test", "1")
            .with(Tool::read_only(
                "now",
                "Answers at once.",
                schema.clone(),
                at_once,
            ))
            .with(Tool::read_only("later", "Answers later.", schema, later)),
        held: Arc::clone(&held),
    };
    (server, held)
}

fn request(tool: &str, has_progress: bool) -> String {
    let meta = match has_progress {
        true => json!({ "progressToken": 1 }),
        false => json!({}),
    };
    let params = json!({ "name": tool, "_meta": meta });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
}

/// Sends a request, and waits until its answer has begun.
async fn send(address: SocketAddr, tool: &str, accept: &str) -> Client {
    let mut client = connect(address).await;
    let accept = format!("Accept: {accept}\r\n");
    client.send(post(&request(tool, true), &accept)).await;
    client.wait_for_byte().await;
    client
}

#[tokio::test(start_paused = true)]
async fn http_holds_values_until_the_answer_is_read() {
    let (server, held) = holding_server();
    let address = start_server(server);
    for tool in ["now", "later"] {
        for accept in ["application/json", "text/event-stream"] {
            let mut client = send(address, tool, accept).await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(held.load(Ordering::SeqCst), 1, "{tool} {accept}");
            let response = client.response().await.unwrap();
            assert!(response.body.len() >= LARGE);
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(held.load(Ordering::SeqCst), 0, "{tool} {accept}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn http_drops_values_with_their_connection() {
    let (server, held) = holding_server();
    let address = start_server(server);
    for accept in ["application/json", "text/event-stream"] {
        let client = send(address, "later", accept).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(held.load(Ordering::SeqCst), 1);
        client.reset();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(held.load(Ordering::SeqCst), 0, "reset, {accept}");
        // A peer that never reads holds nothing for longer than its time.
        let _unread = send(address, "later", accept).await;
        tokio::time::sleep(UNREAD_TIMEOUT - Duration::from_secs(1)).await;
        assert_eq!(held.load(Ordering::SeqCst), 1);
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(held.load(Ordering::SeqCst), 0, "unread, {accept}");
    }
}

/// A single byte makes no room for more, so a peer that reads one now and then reads nothing.
#[tokio::test(start_paused = true)]
async fn byte_read_every_nine_seconds_does_not_keep_a_connection() {
    let (server, held) = holding_server();
    let address = start_server(server);
    let mut client = send(address, "later", "application/json").await;
    let started = tokio::time::Instant::now();
    while held.load(Ordering::SeqCst) > 0 {
        tokio::time::sleep(Duration::from_secs(9)).await;
        client.read_byte().await;
        // Others are served meanwhile.
        let mut other = connect(address).await;
        other
            .send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .await;
        assert!(other.response().await.is_some());
        assert!(started.elapsed() < 2 * UNREAD_TIMEOUT);
    }
    assert!(started.elapsed() >= UNREAD_TIMEOUT);
}

#[test]
fn stdio_holds_values_until_the_answer_is_read() {
    let (server, held) = holding_server();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let clock = Arc::new(|| Timestamp::UNIX_EPOCH);
    let dispatcher = Dispatcher::new(server, clock, &MetricsHub::default()).unwrap();
    let (stdin, mut client) = std::io::pipe().unwrap();
    let (answers, stdout) = std::io::pipe().unwrap();
    let serving = candor_wire::stdio::serve(dispatcher, stdin, stdout, CancellationToken::new());
    let serving = runtime.spawn(serving);
    let wait_for = |count: usize| {
        let start = Instant::now();
        while held.load(Ordering::SeqCst) != count {
            assert!(start.elapsed() < Duration::from_secs(30), "{count}");
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    let mut answers = BufReader::new(answers);
    // An answer that waits, and one that only follows its progress.
    for (tool, has_progress) in [("later", false), ("now", true), ("later", true)] {
        writeln!(client, "{}", request(tool, has_progress)).unwrap();
        wait_for(1);
        let mut line = String::new();
        while line.len() < LARGE {
            line.clear();
            answers.read_line(&mut line).unwrap();
        }
        wait_for(0);
    }
    drop(client);
    runtime.block_on(serving).unwrap().unwrap();
}
