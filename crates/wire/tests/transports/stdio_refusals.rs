//! Refusals are recorded: a slow recorder slows the connection down and takes bounded memory.

use crate::run_stdio;
use candor_fault::codes::candor::Code;
use candor_fault::dialects::Candor;
use candor_fault::{Cause, Receipt};
use candor_street::{CallRecord, Server, Tools};
use candor_wire::stdio::MAX_WAITING;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Records calls only while it holds a permit.
struct SlowRecorder {
    tools: Tools<Self>,
    recording: Arc<AtomicUsize>,
    recording_started: Sender<()>,
    allowed: Arc<Semaphore>,
}

impl Server for SlowRecorder {
    type Dialect = Candor<Code>;
    type Notes = ();

    fn tools(&self) -> &Tools<Self> {
        &self.tools
    }

    async fn record(&self, _: &CallRecord<'_, Self::Dialect>) -> Result<Option<Receipt>, Cause> {
        self.recording.fetch_add(1, Ordering::SeqCst);
        // Sending fails if the test has ended its loop.
        let _ = self.recording_started.send(());
        let _allowed = self.allowed.acquire().await;
        self.recording.fetch_sub(1, Ordering::SeqCst);
        Ok(None)
    }
}

#[test]
fn refusals_beyond_the_limit_wait_to_be_recorded() {
    const SENT: usize = 3 * MAX_WAITING;
    let (recording_started, starts) = channel();
    let recording = Arc::new(AtomicUsize::new(0));
    let allowed = Arc::new(Semaphore::new(0));
    let server = SlowRecorder {
        tools: Tools::new("test", "1"),
        recording: Arc::clone(&recording),
        recording_started,
        allowed: Arc::clone(&allowed),
    };
    let lines = run_stdio(server, &"x\n".repeat(SENT), || {
        for _ in 0..MAX_WAITING {
            starts.recv().unwrap();
        }
        // No further record starts.
        let more = starts.recv_timeout(Duration::from_millis(200));
        assert!(more.is_err());
        assert_eq!(recording.load(Ordering::SeqCst), MAX_WAITING);
        allowed.add_permits(1);
    });
    assert_eq!(lines.len(), SENT);
}
