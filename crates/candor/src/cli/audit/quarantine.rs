//! `candor audit quarantine`: moves a log aside, so that a new one can begin.

use super::verify::describe_broken;
use super::{NamedFile, counted, kind_of, read_signer};
use crate::cli::{CommandError, print};
use crate::host::{print_note, system_clock};
use candor_audit::{CheckpointWriter, QuarantineError, QuarantinedLog, quarantine, verify_against};
use candor_fault::iso_millis;
use clap::Args;
use serde_json::{Map, Value, json};
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

/// The time to wait for another process.
const PATIENCE: Duration = Duration::from_secs(5);

/// Move a log aside, so that a new one can begin
///
/// Every file of the log is renamed, and none is removed. The first line of the new log records the move, and
/// the checkpoints that are given continue with the new log.
#[derive(Debug, Args)]
pub(in crate::cli) struct QuarantineArgs {
    /// The log: its newest file
    #[arg(value_name = "LOG")]
    path: PathBuf,
    /// A checkpoint of the log, which continues with the new log (repeatable)
    #[arg(long, value_name = "FILE")]
    checkpoint: Vec<PathBuf>,
    /// A file with the Ed25519 key that signs the new checkpoints, without a passphrase
    #[arg(long, value_name = "FILE", requires = "checkpoint")]
    sign_with: Option<PathBuf>,
    /// The reason, recorded in the new log
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

impl QuarantineArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let log = NamedFile::at(&self.path)?;
        let checkpoints = self.checkpoint.iter().map(|path| NamedFile::at(path));
        let checkpoints = checkpoints.collect::<Result<Vec<_>, _>>()?;
        if checkpoints.is_empty() {
            log.extent()?;
        }
        let signer = match &self.sign_with {
            Some(path) => Some(read_signer(path)?),
            None => None,
        };
        if !self.yes && !self.confirm(&log, &checkpoints)? {
            return Err(CommandError::new("the log was not moved"));
        }
        let clock = system_clock();
        let checkpoints = CheckpointWriter {
            files: checkpoints.iter().map(NamedFile::checkpoint_file).collect(),
            signer,
            now: Box::new(move || iso_millis(clock.now())),
        };
        let first_line = |quarantined: &QuarantinedLog| self.first_line(quarantined);
        let moved = quarantine(
            log.disk.clone(),
            &log.name,
            PATIENCE,
            Some(&checkpoints),
            &first_line,
        );
        let (quarantined, _) = moved.map_err(|error| self.failed(&error))?;
        let path = self.path.display();
        let files = counted(quarantined.files.len() as u64, "file");
        let mut text = format!("{path} was moved aside ({files}), and a new log was started\n");
        for name in &quarantined.files {
            text += &format!("  {}\n", self.path.with_file_name(name).display());
        }
        print(text.as_bytes())
    }

    /// Asks the person at the terminal for confirmation.
    fn confirm(&self, log: &NamedFile, checkpoints: &[NamedFile]) -> Result<bool, CommandError> {
        if !io::stdin().is_terminal() {
            return Err(CommandError::new(
                "the log was not moved: there is no terminal to ask for confirmation",
            )
            .with_hint("run it in a terminal, or confirm with --yes"));
        }
        // A checkpoint that cannot be read may be the reason for the move.
        let seen = checkpoints
            .iter()
            .filter_map(|place| place.checkpoint().ok());
        let seen: Vec<_> = seen.collect();
        let verified = verify_against(log.disk.clone(), &log.name, &seen);
        let verified = verified.map_err(|error| log.cannot_read(&error))?;
        let path = self.path.display();
        match describe_broken(&self.path, &verified) {
            Some(broken) => print_note(&broken),
            None => print_note(&format!(
                "{path} is intact: {}",
                counted(verified.lines, "line")
            )),
        }
        let mut err = anstream::stderr();
        write!(
            err,
            "Move every file of {path} aside and start a new log? [y/N] "
        )?;
        err.flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
    }

    /// Returns the first line of the new log, which describes the old one.
    fn first_line(&self, quarantined: &QuarantinedLog) -> Map<String, Value> {
        let clock = system_clock();
        let flaw = quarantined
            .flaw
            .map(|flaw| json!({ "kind": kind_of(flaw), "seq": flaw.seq() }));
        let members = json!({
            "v": 1,
            "timestamp": iso_millis(clock.now()),
            "kind": "quarantine",
            "why": self.why,
            "old": { "last": quarantined.last, "flaw": flaw, "files": quarantined.files },
        });
        match members {
            Value::Object(members) => members,
            _ => Map::new(),
        }
    }

    fn failed(&self, error: &QuarantineError) -> CommandError {
        let shown = CommandError::new(format!("{}: {error}", self.path.display()));
        shown.with_hint(match error {
            QuarantineError::Locked => "stop the server that writes it, then run the command again",
            QuarantineError::TooLong | QuarantineError::NotCanonical(_) => {
                "shorten the text of --why, then run the command again"
            }
            QuarantineError::Failed(_) | QuarantineError::Checkpoint(_) => {
                "nothing is lost; run the command again to continue"
            }
        })
    }
}
