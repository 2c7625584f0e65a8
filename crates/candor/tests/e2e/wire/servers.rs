//! The servers that the tests talk to, each with a process of its own.

use candor_testkit::{Http, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Held by tests that open hundreds of connections: one process has only so many.
pub(crate) static CROWD: Mutex<()> = Mutex::new(());

/// How long anything may take before a test fails.
const LIMIT: Duration = Duration::from_secs(30);

/// The program.
pub(crate) const CANDOR: &str = env!("CARGO_BIN_EXE_candor");

/// A playground on stdio.
pub(crate) fn stdio(flags: &[&str]) -> Stdio {
    let arguments: Vec<_> = ["playground"].iter().chain(flags).copied().collect();
    Stdio::spawn(CANDOR, &arguments)
}

/// A playground over HTTP.
pub(crate) fn http(flags: &[&str]) -> Http {
    let fixed = ["playground", "--http", "--port", "0"];
    let arguments: Vec<_> = fixed.iter().chain(flags).copied().collect();
    Http::spawn(CANDOR, &arguments)
}

/// Asks for something harmless and waits for its answer: everything sent before has been read.
pub(crate) fn settle(server: &mut Stdio) {
    let answer = server.ask(r#"{"jsonrpc":"2.0","id":"settled?","method":"ping"}"#);
    assert_eq!(answer, r#"{"jsonrpc":"2.0","id":"settled?","result":{}}"#);
}

/// Asks again and again until there is something; everything that is asked for takes its own time.
pub(crate) fn until<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = ask() {
            return found;
        }
        assert!(start.elapsed() < LIMIT, "nothing within {LIMIT:?}");
    }
}
