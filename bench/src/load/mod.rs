//! Load: as many requests as a server answers, each answer matched with its request.

pub(crate) mod http;
pub(crate) mod stdio;

use crate::process::ServerProcess;
use crate::requests::Case;
use crate::statistics::Latencies;
use serde::Serialize;
use std::io;
use std::time::{Duration, Instant};

/// The figures of one round of one case.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Round {
    /// Answers per second.
    pub(crate) per_second: f64,
    /// The median latency in microseconds.
    pub(crate) p50_us: f64,
    /// The 99th percentile of the latency in microseconds.
    pub(crate) p99_us: f64,
    /// The server's processor time for one answer, in microseconds.
    pub(crate) cpu_us: f64,
}

/// The sums of a round's slices so far.
#[derive(Debug, Default)]
pub(crate) struct RoundTally {
    latencies: Latencies,
    took: Duration,
    used: Duration,
}

impl RoundTally {
    /// Returns the round after its last slice.
    pub(crate) fn round(mut self) -> Round {
        let answers = self.latencies.len() as f64;
        Round {
            per_second: answers / self.took.as_secs_f64(),
            p50_us: self.latencies.percentile(50),
            p99_us: self.latencies.percentile(99),
            cpu_us: self.used.as_secs_f64() * 1e6 / answers,
        }
    }
}

/// Load on one server.
pub(crate) trait Load {
    /// Sends requests for this long, and waits for those in flight.
    fn ask(&mut self, case: Case, how_long: Duration) -> io::Result<Latencies>;

    fn process(&self) -> &ServerProcess;

    /// Measures one slice of a round.
    fn slice(&mut self, case: Case, how_long: Duration, tally: &mut RoundTally) -> io::Result<()> {
        let used = self.process().processor_time()?;
        let started = Instant::now();
        tally.latencies.append(self.ask(case, how_long)?);
        tally.took += started.elapsed();
        tally.used += self.process().processor_time()?.saturating_sub(used);
        Ok(())
    }
}

/// Returns the text that identifies answers to a case.
fn mark(case: Case, bare: bool) -> &'static str {
    if bare { case.bare_mark() } else { case.mark() }
}

/// Checks that an answer belongs to its case. Figures about other answers would be worthless.
fn check(answer: &[u8], mark: &str) -> io::Result<()> {
    match memchr::memmem::find(answer, mark.as_bytes()) {
        Some(_) => Ok(()),
        None => Err(unexpected(answer)),
    }
}

pub(crate) fn unexpected(answer: &[u8]) -> io::Error {
    let answer = String::from_utf8_lossy(answer);
    let start: String = answer.chars().take(300).collect();
    io::Error::other(format!("an answer that was not expected: {start}"))
}
