//! Durable appends by one caller and by many that share a sync, compared with a bare append and
//! `fdatasync`.

use super::growth;
use crate::arguments::BenchOptions;
use crate::figures::{SubjectFigures, ratios};
use crate::report::terminal::ProgressLine;
use candor_audit::{Log, LogOptions};
use candor_sim_disk::{CountingDisk, DiskCounts};
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The numbers of simultaneous callers.
const CALLERS: [usize; 3] = [1, 8, 64];

pub(super) const NAME: &str = "log.jsonl";

/// Returns a line as long as one of the workspace server.
pub(super) fn members(number: u64) -> Map<String, Value> {
    let hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    let line = json!({
        "v": 1, "timestamp": "2026-01-19T15:32:10.123Z", "tool_name": "write_file",
        "session_id": "550e8400-e29b-41d4-a716-446655440000", "role": "WINDSURF",
        "request_id": number.to_string(), "args_hash": hash, "result": "ok", "error_code": null,
        "actor": { "os_user": "dev", "client": "bench", "client_version": "1", "candor": "1" },
        "subject": { "path": "src/lib.rs", "before": hash, "after": hash, "bytes": 4096 },
        "approval": { "approver": "dev", "key_id": "SHA256:xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" },
        "plan_hash": hash, "phase_id": "WORK", "cause": null, "envelope": null,
        "duration_us": 1234, "effect": "done", "invariant_id": null,
    });
    line.as_object().cloned().unwrap_or_default()
}

pub(super) fn open(directory: &Path) -> io::Result<(Log, Arc<DiskCounts>)> {
    let disk = CountingDisk::at(directory)?;
    let counts = Arc::clone(disk.counts());
    let log = Log::open(disk, NAME, LogOptions::default()).map_err(io::Error::other)?;
    Ok((log, counts))
}

/// Measures appends to the log.
pub(crate) fn appending(
    options: &BenchOptions,
    findings: &mut SubjectFigures,
    progress: &mut ProgressLine,
) -> io::Result<()> {
    let scratch = tempfile::tempdir()?;
    let (log, counts) = open(scratch.path())?;
    let mut bare = File::create_new(scratch.path().join("bare"))?;
    let mut line = serde_json::to_vec(&members(0))?;
    // Number, both hashes, and the line break.
    line.resize(line.len() + 180, b' ');
    line.push(b'\n');
    let mut alone = Vec::new();
    let mut together: [Vec<f64>; CALLERS.len()] = Default::default();
    let mut shared = Vec::new();
    let round = options.round() / 4;
    for number in 1..=options.rounds() {
        progress.say(&format!("log: round {number} of {}", options.rounds()));
        alone.push(bare_appends(&mut bare, &line, round)?);
        for (callers, speeds) in CALLERS.into_iter().zip(&mut together) {
            let before = counts.syncs();
            let (speed, appends) = appends(&log, callers, round)?;
            speeds.push(speed);
            if callers == CALLERS[2] {
                shared.push(appends as f64 / (counts.syncs() - before) as f64);
            }
        }
    }
    for (callers, speeds) in CALLERS.into_iter().zip(&together) {
        let times = ratios(speeds, &alone);
        let what = format!("{callers} callers: times the speed of a bare append and fdatasync");
        match callers {
            1 => findings.at_least(
                "1 caller: times the speed of a bare append and fdatasync",
                0.7,
                "×",
                Ok(&times),
            ),
            64 => findings.at_least(&what, 5.0, "×", Ok(&times)),
            _ => findings.note(what, "×", &times),
        }
        findings.note(format!("appends a second, {callers} callers"), "", speeds);
    }
    findings.at_least("64 callers: appends for a sync", 16.0, "", Ok(&shared));
    findings.note("bare appends a second", "", &alone);
    growth::growing(options, findings, progress)
}

fn bare_appends(file: &mut File, line: &[u8], round: Duration) -> io::Result<f64> {
    let since = Instant::now();
    let mut done = 0u32;
    while since.elapsed() < round {
        file.write_all(line)?;
        file.sync_data()?;
        done += 1;
    }
    Ok(f64::from(done) / since.elapsed().as_secs_f64())
}

/// Returns appends per second, and their number.
fn appends(log: &Log, callers: usize, round: Duration) -> io::Result<(f64, u64)> {
    let line = members(0);
    let since = Instant::now();
    let counted: io::Result<Vec<u64>> = std::thread::scope(|scope| {
        let append = || {
            let mut done = 0;
            while since.elapsed() < round {
                log.append_blocking(line.clone())
                    .map_err(io::Error::other)?;
                done += 1;
            }
            Ok(done)
        };
        let threads: Vec<_> = (0..callers).map(|_| scope.spawn(append)).collect();
        let ended = threads.into_iter().map(|thread| {
            let gone = || io::Error::other("a caller panicked");
            thread.join().map_err(|_| gone()).flatten()
        });
        ended.collect()
    });
    let done: u64 = counted?.iter().sum();
    Ok((done as f64 / since.elapsed().as_secs_f64(), done))
}
