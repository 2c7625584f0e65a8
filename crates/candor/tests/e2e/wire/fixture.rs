//! Playground servers on both transports.

use crate::fixture::{CANDOR, LIMIT};
use candor_testkit::{Connection, Http, Stdio};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::Mutex;
use std::time::Instant;

/// A lock for tests that open hundreds of connections, because the number per process is limited.
/// Runners that give each test a process do not need it.
pub(crate) static MANY_CONNECTIONS: Mutex<()> = Mutex::new(());

/// Starts a playground on stdio.
pub(crate) fn stdio(flags: &[&str]) -> Stdio {
    let arguments: Vec<_> = ["playground"].iter().chain(flags).copied().collect();
    Stdio::spawn(CANDOR, &arguments)
}

/// Starts a playground over HTTP.
pub(crate) fn http(flags: &[&str]) -> Http {
    let fixed = ["playground", "--http", "--port", "0"];
    let arguments: Vec<_> = fixed.iter().chain(flags).copied().collect();
    Http::spawn(CANDOR, &arguments)
}

/// Sends a ping and waits for its answer: the server has then read everything sent before.
pub(crate) fn wait_until_read(server: &mut Stdio) {
    let answer = server.ask(r#"{"jsonrpc":"2.0","id":"settled?","method":"ping"}"#);
    assert_eq!(answer, r#"{"jsonrpc":"2.0","id":"settled?","result":{}}"#);
}

/// Polls until there is a value.
pub(crate) fn poll_until<T>(mut poll: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = poll() {
            return value;
        }
        assert!(start.elapsed() < LIMIT, "no value within {LIMIT:?}");
    }
}

/// Lets this process open as many files as it may.
pub(crate) fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, raised).unwrap();
}

/// Opens connections that ask for the health and then stay idle.
pub(crate) fn connect_idle(server: &Http, count: usize) -> Vec<Connection<'_>> {
    let request = format!("GET /health HTTP/1.1\r\nHost: {}\r\n\r\n", server.address());
    let mut all: Vec<_> = (0..count)
        .map(|_| {
            let mut connection = server.connect();
            connection.send(&request);
            connection
        })
        .collect();
    for connection in &mut all {
        // One that was evicted already is closed.
        if let Ok(Some(response)) = connection.try_response() {
            assert_eq!(response.status, 200);
        }
    }
    all
}

/// Returns the value of a metric, or 0 if it is absent. The name includes the labels and a space.
pub(crate) fn metric(server: &Http, name: &str) -> u64 {
    let text = server.get("/metrics", &[]).text();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.map_or(0, |value| value.trim().parse().unwrap())
}
