//! Load: as many requests as a server answers, each answer matched with its request.

pub(crate) mod http;
pub(crate) mod stdio;

use crate::process::Process;
use crate::requests::Case;
use crate::statistics::Latencies;
use serde::Serialize;
use std::io;
use std::time::{Duration, Instant};

/// What one round of one case came to.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Round {
    /// Answers a second.
    pub(crate) per_second: f64,
    /// Half of the answers came within so many microseconds.
    pub(crate) p50_us: f64,
    /// Ninety-nine of a hundred did.
    pub(crate) p99_us: f64,
    /// The server's processor time for one answer, in microseconds.
    pub(crate) cpu_us: f64,
}

/// What the slices of one round came to so far.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    latencies: Latencies,
    took: Duration,
    used: Duration,
}

impl Tally {
    /// The round, once all slices are there.
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
    /// Asks for as long as it is told, and waits for what is under way.
    fn ask(&mut self, case: Case, how_long: Duration) -> io::Result<Latencies>;

    /// The server.
    fn process(&self) -> &Process;

    /// One slice of a round.
    fn slice(&mut self, case: Case, how_long: Duration, tally: &mut Tally) -> io::Result<()> {
        let used = self.process().processor_time()?;
        let started = Instant::now();
        tally.latencies.append(self.ask(case, how_long)?);
        tally.took += started.elapsed();
        tally.used += self.process().processor_time()?.saturating_sub(used);
        Ok(())
    }
}

/// The mark of the answers to a case.
fn mark(case: Case, bare: bool) -> &'static str {
    if bare { case.bare_mark() } else { case.mark() }
}

/// Whether the answer is what the case is about: figures about anything else would be worthless.
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
