//! Playground servers on both transports.

use crate::fixture::{CANDOR, LIMIT};
use candor_testkit::{Http, Stdio};
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
