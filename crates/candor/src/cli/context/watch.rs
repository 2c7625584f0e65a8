//! `candor context update --watch`: updates a cache after every change of its sources.

use super::{CommonArgs, now};
use crate::cli::CommandError;
use crate::host;
use candor_context::{
    BuildOutcome, ChangeDetection, Failure, Location, RETRY_INTERVAL, StopSignal, UpdateReports,
    Updater,
};
use candor_fault::Timestamp;
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// Updates the cache once and then after every change, until SIGTERM or SIGINT.
pub(super) fn watch(
    common: &CommonArgs,
    cache: &Path,
    force: bool,
    created_at: fn() -> Result<Timestamp, CommandError>,
) -> Result<(), CommandError> {
    // A wrong variable is reported before anything starts; it does not change afterwards.
    created_at()?;
    let location = common.run(|_| match &common.root {
        Some(root) => Location::below(root),
        None => Ok(Location::Anywhere),
    })?;
    let updater = Updater {
        location: Arc::new(location),
        cache: cache.to_owned(),
        force,
        detection: ChangeDetection::Watch,
        clock: Arc::new(now),
        created_at: Box::new(move || created_at().unwrap_or_else(|_| now())),
        random: Box::new(|| fastrand::u64(..)),
        retry_interval: RETRY_INTERVAL,
        turn: Arc::default(),
    };
    let stop = Arc::new(StopSignal::new()?);
    host::run(|signals| async move {
        let running = {
            let stop = Arc::clone(&stop);
            tokio::task::spawn_blocking(move || updater.run(&stop, &WatchReports))
        };
        let stopping = tokio::spawn(async move {
            signals.cancelled().await;
            stop.stop();
        });
        let ended = running.await.map_err(io::Error::other);
        stopping.abort();
        ended
    })
    .map_err(|error: io::Error| {
        common.error(&Failure::System {
            doing: String::from("watch the sources"),
            error,
        })
    })
}

/// Prints updates to stdout and failures to stderr, each as one line of JSON.
struct WatchReports;

#[derive(Serialize)]
struct FailureLine<'a> {
    error: FailureCode<'a>,
    reason: String,
}

#[derive(Serialize)]
struct FailureCode<'a> {
    code: String,
    message: &'a str,
}

impl UpdateReports for WatchReports {
    fn updated(&self, outcome: &BuildOutcome) {
        print_line(io::stdout().lock(), outcome);
    }

    fn failed(&self, failure: &Failure) {
        let fault = failure.fault();
        let row = fault.row();
        let line = FailureLine {
            error: FailureCode {
                code: row.code.to_string(),
                message: row.message,
            },
            reason: failure.to_string(),
        };
        print_line(io::stderr().lock(), &line);
    }

    fn comparing(&self, reason: &str) {
        host::print_note(&format!(
            "the sources are compared every 2 seconds instead of being watched: {reason}"
        ));
    }
}

/// Prints a line of JSON. A reader that has closed the pipe does not end the updates.
fn print_line(mut out: impl Write, value: &impl Serialize) {
    let mut line = candor_fault::to_json(value);
    line.push('\n');
    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}
