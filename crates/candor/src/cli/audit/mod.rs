//! `candor audit`: shows and verifies chained logs of any server, and moves broken ones aside.

mod checkpoint;
mod export;
mod known_checkpoints;
mod log_entry;
mod quarantine;
mod retire;
mod stats;
mod tail;
mod verify;

use super::CommandError;
use candor_audit::{Checkpoint, CheckpointFile, LogFlaw, LogSize, PrivateKey, Signer, log_size};
use candor_disk::RealDisk;
use clap::Subcommand;
use std::io;
use std::path::{Path, PathBuf};

/// The exit code for a log that was changed.
const BROKEN: u8 = 3;

/// The exit code for a log whose chain is valid, but whose completeness was not checked.
const UNCHECKED: u8 = 4;

#[derive(Debug, Subcommand)]
pub(super) enum AuditCommand {
    Verify(verify::AuditVerifyArgs),
    Tail(tail::AuditTailArgs),
    Export(export::AuditExportArgs),
    Stats(stats::AuditStatsArgs),
    Checkpoint(checkpoint::CheckpointArgs),
    Retire(retire::RetireArgs),
    Quarantine(quarantine::QuarantineArgs),
}

pub(super) const AFTER_HELP: &str = "\
Exit codes: 0 success, 1 wrong usage or a failure, 3 the log was changed or contradicts a checkpoint,
4 the chain is valid, but no checkpoint shows that the log is complete.
Results go to stdout, messages to stderr.

Try:
  candor audit verify audit-log.jsonl
  candor audit tail audit-log.jsonl -n 20
  candor audit export audit-log.jsonl --from 100 --format csv > log.csv
  candor audit stats audit-log.jsonl";

impl AuditCommand {
    pub(super) fn run(self) -> Result<(), CommandError> {
        match self {
            AuditCommand::Verify(verify) => verify.run(),
            AuditCommand::Tail(tail) => tail.run(),
            AuditCommand::Export(export) => export.run(),
            AuditCommand::Stats(stats) => stats.run(),
            AuditCommand::Checkpoint(checkpoint) => checkpoint.run(),
            AuditCommand::Retire(retire) => retire.run(),
            AuditCommand::Quarantine(quarantine) => quarantine.run(),
        }
    }
}

/// A file that was named on the command line: its directory, held open, and its name there.
struct NamedFile {
    path: PathBuf,
    disk: RealDisk,
    name: String,
}

impl NamedFile {
    fn at(path: &Path) -> Result<NamedFile, CommandError> {
        let shown = path.display();
        let name = path.file_name().and_then(|name| name.to_str());
        let name =
            name.ok_or_else(|| CommandError::new(format!("{shown} does not name a file")))?;
        let disk = RealDisk::at(parent_of(path));
        let disk =
            disk.map_err(|error| CommandError::new(format!("cannot open {shown}: {error}")))?;
        Ok(NamedFile {
            path: path.to_owned(),
            disk,
            name: name.to_owned(),
        })
    }

    /// Returns the directory of the file.
    fn dir(&self) -> &Path {
        parent_of(&self.path)
    }

    fn cannot_read(&self, error: &io::Error) -> CommandError {
        CommandError::new(format!("cannot read {}: {error}", self.path.display()))
    }

    /// Returns the size of the log. A log without a file is an error.
    fn extent(&self) -> Result<LogSize, CommandError> {
        let extent =
            log_size(self.disk.clone(), &self.name).map_err(|error| self.cannot_read(&error))?;
        match extent.files {
            0 => Err(
                CommandError::new(format!("there is no log {}", self.path.display()))
                    .with_hint("name its newest file, such as audit-log.jsonl"),
            ),
            _ => Ok(extent),
        }
    }

    /// Reads the checkpoint in this file.
    fn checkpoint(&self) -> Result<Checkpoint, CommandError> {
        let checkpoint = self
            .checkpoint_file()
            .read()
            .map_err(|error| self.cannot_read(&error))?;
        checkpoint.ok_or_else(|| {
            CommandError::new(format!("there is no checkpoint {}", self.path.display()))
        })
    }

    fn checkpoint_file(&self) -> CheckpointFile {
        CheckpointFile::new(self.disk.clone(), &self.name)
    }
}

/// Returns the directory that contains a path.
fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Reads the private key that signs checkpoints.
pub(in crate::cli) fn read_signer(path: &Path) -> Result<Signer, CommandError> {
    let shown = path.display();
    let key = PrivateKey::from_openssh(verify::key_text(path)?);
    let key =
        key.map_err(|_| CommandError::new(format!("{shown} is not an OpenSSH private key")))?;
    Signer::new(key).map_err(|why| CommandError::new(format!("cannot sign with {shown}: {why}")))
}

/// Describes the flaw of a log. `verify --json` prints these words too, so they do not change.
fn describe(flaw: LogFlaw) -> &'static str {
    match flaw {
        LogFlaw::NotALine(_) => "it is no line of a log",
        LogFlaw::Changed(_) => "it is not what its hash says",
        LogFlaw::Missing(_) => "another line stands in its place",
        LogFlaw::Torn(_) => "it is cut off",
        LogFlaw::Truncated(_) => "the log ends before it, but a checkpoint has seen it",
        LogFlaw::Rewritten(_) => "it is not the line that a checkpoint has seen",
    }
}

/// Returns the name of a flaw, for programs.
fn kind_of(flaw: LogFlaw) -> &'static str {
    match flaw {
        LogFlaw::NotALine(_) => "not_a_line",
        LogFlaw::Changed(_) => "changed",
        LogFlaw::Missing(_) => "missing",
        LogFlaw::Torn(_) => "torn",
        LogFlaw::Truncated(_) => "truncated",
        LogFlaw::Rewritten(_) => "rewritten",
    }
}

/// Returns a number and the noun that it counts.
fn counted(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}
