//! `candor audit retire`: moves the oldest full files of a workspace's log to another directory.

use super::known_checkpoints::CheckpointSearch;
use super::log_entry::LogEntry;
use super::verify::{broken_error, untrusted_error};
use super::{NamedFile, UNCHECKED, counted};
use crate::cli::workspace::directories::StateDirArgs;
use crate::cli::workspace::duration;
use crate::cli::{CommandError, print};
use crate::host::system_clock;
use candor_audit::{
    AppendError, Completeness, JudgedPart, LogEvidence, LogLine, RetiredFiles, Retirement, judge,
    retire,
};
use candor_disk::RealDisk;
use candor_fault::{Timestamp, iso_millis};
use candor_workspace::visible_text;
use clap::Args;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The time to wait for another process.
const PATIENCE: Duration = Duration::from_secs(5);

/// Move the oldest full files of a workspace's log to another directory
///
/// The log is verified first. A line of the log records which lines were moved, and the state directory keeps
/// the number and hash of the last one, so that the rest can still be verified; `candor audit verify --with DIR`
/// verifies both parts. A file is moved once all of its lines are older than --keep; the newest full file stays.
#[derive(Debug, Args)]
pub(in crate::cli) struct RetireArgs {
    /// The log: its newest file
    #[arg(value_name = "LOG")]
    path: PathBuf,
    /// The age from which on lines are moved: 12h, 30d
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    keep: Duration,
    /// The directory that the files are moved to, out of reach of agents; always the same one
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    #[command(flatten)]
    state: StateDirArgs,
}

impl RetireArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let log = NamedFile::at(&self.path)?;
        log.extent()?;
        let CheckpointSearch { remembered, known } =
            CheckpointSearch::new(&log, self.state.directory()?.as_deref(), &[])?;
        let Some(remembered) = remembered else {
            return Err(
                CommandError::new("only the log of a workspace can be retired")
                    .with_hint("name its state directory with --state-dir DIR"),
            );
        };
        let to = self.directory(&log)?;
        let anchor = remembered.anchor().cloned();
        if let Some(anchor) = anchor.as_ref().filter(|anchor| anchor.directory != to) {
            let before = visible_text(&anchor.directory.display().to_string());
            return Err(CommandError::new(format!(
                "earlier files of this log were moved to {before}; move these to the same directory"
            )));
        }
        let evidence = LogEvidence {
            checkpoints: known,
            keys: remembered.key().map_or(&[], std::slice::from_ref),
            anchor: anchor.as_ref(),
            retired: None,
        };
        let judged = judge(&log.disk, &log.name, evidence, JudgedPart::WholeLog);
        let judged = judged.map_err(|error| log.cannot_read(&error))?;
        let broken = untrusted_error(&judged, false).or_else(|| broken_error(&self.path, &judged));
        if let Some(error) = broken {
            return Err(error);
        }
        if judged.completeness != Completeness::Checked {
            return Err(CommandError::new(
                "nothing was moved: the completeness of the log is not checked, because a checkpoint is missing",
            )
            .with_exit_code(UNCHECKED));
        }
        let disk = RealDisk::at(&to);
        let disk = disk.map_err(|error| {
            CommandError::new(format!(
                "cannot use the directory {}: {error}",
                to.display()
            ))
        })?;
        let now = system_clock().now();
        let oldest = now - self.keep;
        let retirement = Retirement {
            disk: &disk,
            path: to.clone(),
            anchor,
            keeps: &|last| is_younger(last, oldest),
            save_anchor: &|anchor| remembered.save_anchor(anchor),
            line: &|retired| retire_line(retired, &to, now),
            patience: PATIENCE,
        };
        let retired = retire(log.disk.clone(), &log.name, &retirement);
        let retired = retired.map_err(|error| failed(&error))?;
        let text = match retired {
            None => String::from("nothing was moved: no full file has only lines of that age\n"),
            Some(retired) => format!(
                "moved lines {} to {} ({}) to {}\n",
                retired.first,
                retired.last.seq,
                counted(retired.files.len() as u64, "file"),
                visible_text(&to.display().to_string())
            ),
        };
        print(text.as_bytes())
    }

    /// Returns the directory for the files, which is created. It must not be where the log is.
    fn directory(&self, log: &NamedFile) -> Result<PathBuf, CommandError> {
        candor_workspace::state::open(&self.to).map_err(|error| {
            let to = self.to.display();
            CommandError::new(format!("cannot use the directory {to}: {error}"))
        })?;
        let to = std::fs::canonicalize(&self.to)?;
        let own = std::fs::canonicalize(log.dir())?;
        match to.starts_with(&own) {
            false => Ok(to),
            true => Err(CommandError::new(format!(
                "{} is in the directory of the log, where an agent could change it",
                visible_text(&to.display().to_string())
            ))
            .with_hint("name a directory elsewhere with --to DIR")),
        }
    }
}

/// Returns true if a line is younger than this, or its age is unknown.
fn is_younger(line: &[u8], oldest: Timestamp) -> bool {
    let raw = LogLine {
        seq: None,
        bytes: line.to_vec(),
    };
    let time = LogEntry::parse(&raw).map(|entry| entry.timestamp());
    let time: Option<Timestamp> = time.and_then(|time| time.parse().ok());
    time.is_none_or(|time| time > oldest)
}

/// Returns the line that records the move.
fn retire_line(retired: &RetiredFiles, to: &Path, now: Timestamp) -> Map<String, Value> {
    let members = json!({
        "v": 1,
        "timestamp": iso_millis(now),
        "kind": "retire",
        "range": { "first": retired.first, "last": retired.last.seq },
        "last_hash": retired.last.hash,
        "files": retired.files,
        "to": to.to_string_lossy(),
    });
    match members {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

fn failed(error: &AppendError) -> CommandError {
    let hint = match error {
        AppendError::Locked => "stop the server that writes the log, then run the command again",
        _ => "nothing is lost; run the command again to continue",
    };
    CommandError::new(format!("the files were not moved: {error}")).with_hint(hint)
}
