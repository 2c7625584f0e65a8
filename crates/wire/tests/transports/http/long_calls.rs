//! Calls that take longer than a connection may be idle.

use candor_fault::Timestamp;
use candor_fault::codes::candor::Code;
use candor_fault::dialects::Candor;
use candor_street::{
    CallContext, CancellationToken, Dispatcher, MetricsHub, Server, Tool, Tools, reply,
};
use candor_wire::http::{Admission, Endpoint, IDLE_TIMEOUT, router, serve};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

struct SlowServer(Tools<Self>);

impl Server for SlowServer {
    type Dialect = Candor<Code>;
    type Notes = ();

    fn tools(&self) -> &Tools<Self> {
        &self.0
    }
}

/// A server whose tool reports progress and then works for much longer than a connection may be idle.
fn slow_server() -> SlowServer {
    let run = |_, _: Value, cx: CallContext| async move {
        cx.progress().report(1.0, None, None);
        tokio::time::sleep(5 * IDLE_TIMEOUT).await;
        reply(&json!({ "worked": true }))
    };
    let tool = Tool::read_only(
        "silent",
        "Works for long.",
        json!({ "type": "object" }),
        run,
    );
    SlowServer(Tools::new("test", "1").with(tool))
}

/// Sends one request and returns everything up to the end of the connection.
async fn send_request(accept: &str) -> String {
    let hub = MetricsHub::default();
    let dispatcher =
        Dispatcher::new(slow_server(), Arc::new(|| Timestamp::UNIX_EPOCH), &hub).unwrap();
    let admission = Arc::new(Admission::default());
    let paths =
        router(Arc::clone(&admission), hub, "1").with("/mcp", Endpoint::new(dispatcher, admission));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, paths, CancellationToken::new()));
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"silent","_meta":{"progressToken":1}}}"#;
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: {accept}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(request.as_bytes()).await.unwrap();
    let mut all = String::new();
    let _ = client.read_to_string(&mut all).await;
    all
}

/// A call may take longer than a connection may be idle, whether its answer has begun or not.
#[tokio::test(start_paused = true)]
async fn connection_with_a_running_call_does_not_time_out() {
    let events = send_request("text/event-stream").await;
    assert!(events.contains("notifications/progress"), "{events}");
    assert!(events.contains(r#""worked":true"#), "{events}");
    let plain = send_request("application/json").await;
    assert!(plain.contains(r#""worked":true"#), "{plain}");
}
