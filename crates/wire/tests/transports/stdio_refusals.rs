//! Refusals are recorded too: a slow recorder slows the connection, and fills no memory.

use crate::lines;
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

/// Records nothing before it is allowed to.
struct Slow {
    tools: Tools<Self>,
    recording: Arc<AtomicUsize>,
    begun: Sender<()>,
    allowed: Arc<Semaphore>,
}

impl Server for Slow {
    type Dialect = Candor<Code>;
    type Notes = ();

    fn tools(&self) -> &Tools<Self> {
        &self.tools
    }

    async fn record(&self, _: &CallRecord<'_, Self::Dialect>) -> Result<Option<Receipt>, Cause> {
        self.recording.fetch_add(1, Ordering::SeqCst);
        // The test may have seen enough.
        let _ = self.begun.send(());
        let _allowed = self.allowed.acquire().await;
        self.recording.fetch_sub(1, Ordering::SeqCst);
        Ok(None)
    }
}

#[test]
fn so_many_are_recorded_at_once_and_no_more() {
    const SENT: usize = 3 * MAX_WAITING;
    let (begun, beginning) = channel();
    let recording = Arc::new(AtomicUsize::new(0));
    let allowed = Arc::new(Semaphore::new(0));
    let server = Slow {
        tools: Tools::new("test", "1"),
        recording: Arc::clone(&recording),
        begun,
        allowed: Arc::clone(&allowed),
    };
    let lines = lines(server, &"x\n".repeat(SENT), || {
        for _ in 0..MAX_WAITING {
            beginning.recv().unwrap();
        }
        // Nothing more comes, however long one waits.
        let more = beginning.recv_timeout(Duration::from_millis(200));
        assert!(more.is_err());
        assert_eq!(recording.load(Ordering::SeqCst), MAX_WAITING);
        allowed.add_permits(1);
    });
    assert_eq!(lines.len(), SENT);
}
