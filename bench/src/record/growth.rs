//! A log of a million lines compared with one of a thousand, and the speed of verifying the long
//! one.

use super::appends::{NAME, members, open};
use crate::arguments::BenchOptions;
use crate::figures::{SubjectFigures, ratios};
use crate::report::terminal::ProgressLine;
use crate::statistics::median;
use candor_audit::Log;
use candor_sim_disk::CountingDisk;
use std::io;
use std::path::Path;
use std::time::Instant;

const SHORT: u64 = 1_000;
const LONG: u64 = 1_000_000;
const LONG_QUICK: u64 = 50_000;

/// The appends to each log in one round.
const APPENDS: usize = 200;

/// The callers that fill the logs.
const FILLERS: u64 = 64;

pub(super) fn growing(
    options: &BenchOptions,
    findings: &mut SubjectFigures,
    progress: &mut ProgressLine,
) -> io::Result<()> {
    let (short, long) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let lines = if options.quick { LONG_QUICK } else { LONG };
    progress.say(&format!("log: filling one with {lines} lines"));
    fill(short.path(), SHORT)?;
    fill(long.path(), lines)?;
    let (short_log, short_counts) = open(short.path())?;
    let (long_log, long_counts) = open(long.path())?;
    let (mut short_us, mut long_us) = (Vec::new(), Vec::new());
    let (read_short, read_long) = (short_counts.bytes_read(), long_counts.bytes_read());
    for number in 1..=options.rounds() {
        progress.say(&format!(
            "log, growth: round {number} of {}",
            options.rounds()
        ));
        let (mut one, mut other) = (Vec::new(), Vec::new());
        for _ in 0..APPENDS {
            one.push(append(&short_log)?);
            other.push(append(&long_log)?);
        }
        short_us.push(median(one));
        long_us.push(median(other));
    }
    let read = [
        short_counts.bytes_read() - read_short,
        long_counts.bytes_read() - read_long,
    ];
    let what = format!("append at {lines} lines: times as long as at 1,000");
    findings.at_most(&what, 1.3, "×", Ok(&ratios(&long_us, &short_us)));
    let bytes = read[1] as f64 / read[0].max(1) as f64;
    findings.at_most(
        "the same: times as many bytes read",
        1.01,
        "×",
        Ok(&[bytes]),
    );
    findings.note("append at 1,000 lines", "µs", &short_us);
    findings.note(format!("append at {lines} lines"), "µs", &long_us);
    drop((short_log, long_log));
    let mut speeds = Vec::new();
    for number in 1..=options.rounds() {
        progress.say(&format!(
            "log, verification: round {number} of {}",
            options.rounds()
        ));
        let since = Instant::now();
        let disk = CountingDisk::at(long.path())?;
        let verified = candor_audit::verify(disk, NAME)?;
        if let Some(flaw) = verified.flaw {
            return Err(io::Error::other(format!("the log is broken: {flaw:?}")));
        }
        speeds.push(verified.bytes as f64 / 1e6 / since.elapsed().as_secs_f64());
    }
    findings.at_least("verification", 200.0, "MB/s", Ok(&speeds));
    Ok(())
}

fn append(log: &Log) -> io::Result<f64> {
    let since = Instant::now();
    log.append_blocking(members(0)).map_err(io::Error::other)?;
    Ok(since.elapsed().as_secs_f64() * 1e6)
}

fn fill(directory: &Path, lines: u64) -> io::Result<()> {
    let (log, _) = open(directory)?;
    std::thread::scope(|scope| {
        let fill = |part: u64| {
            let (from, to) = (lines * part / FILLERS, lines * (part + 1) / FILLERS);
            for number in from..to {
                log.append_blocking(members(number))
                    .map_err(io::Error::other)?;
            }
            Ok(())
        };
        let threads: Vec<_> = (0..FILLERS)
            .map(|part| scope.spawn(move || fill(part)))
            .collect();
        let ended = threads.into_iter().map(|thread| {
            let gone = || io::Error::other("a caller panicked");
            thread.join().map_err(|_| gone()).flatten()
        });
        ended.collect()
    })
}
