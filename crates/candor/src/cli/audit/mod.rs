//! `candor audit`: looks at chained logs of any server, and the one thing a person may do to them.

mod export;
mod log_entry;
mod quarantine;
mod stats;
mod tail;
mod verify;

use super::CommandError;
use candor_audit::{Checkpoint, CheckpointFile, LogFlaw, LogSize, log_size};
use candor_disk::RealDisk;
use clap::Subcommand;
use std::io;
use std::path::{Path, PathBuf};

/// Exit code of a log that is not what it was.
const BROKEN: u8 = 3;

#[derive(Debug, Subcommand)]
pub(super) enum AuditCommand {
    Verify(verify::AuditVerifyArgs),
    Tail(tail::AuditTailArgs),
    Export(export::AuditExportArgs),
    Stats(stats::AuditStatsArgs),
    Quarantine(quarantine::QuarantineArgs),
}

pub(super) const AFTER_HELP: &str = "\
Exit codes: 0 done, 1 wrong usage or a failure, 3 the log is not what it was. Answers go to stdout, talk to stderr.

Try:
  candor audit verify audit-log.jsonl --checkpoint ~/.local/state/candor/ID/checkpoint.json
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
            AuditCommand::Quarantine(quarantine) => quarantine.run(),
        }
    }
}

/// A file that somebody named: the directory that holds it, held open, and its name there.
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
        let dir = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let disk = RealDisk::at(dir);
        let disk =
            disk.map_err(|error| CommandError::new(format!("cannot open {shown}: {error}")))?;
        Ok(NamedFile {
            path: path.to_owned(),
            disk,
            name: name.to_owned(),
        })
    }

    fn cannot_read(&self, error: &io::Error) -> CommandError {
        CommandError::new(format!("cannot read {}: {error}", self.path.display()))
    }

    /// How large the log of this name is; a log without a file is a mistake.
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

    /// The checkpoint in this file.
    fn checkpoint(&self) -> Result<Checkpoint, CommandError> {
        let there = self
            .place()
            .read()
            .map_err(|error| self.cannot_read(&error))?;
        there.ok_or_else(|| {
            CommandError::new(format!("there is no checkpoint {}", self.path.display()))
        })
    }

    fn place(&self) -> CheckpointFile {
        CheckpointFile::new(self.disk.clone(), &self.name)
    }
}

/// What is wrong with a log, in words.
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

/// What is wrong with a log, for programs.
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

/// A number and what it counts.
fn counted(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}
