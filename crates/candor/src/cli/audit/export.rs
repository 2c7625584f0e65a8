//! `candor audit export`: prints entries of a log for other programs.

use super::log_entry::{COLUMNS, LogEntry};
use super::{BROKEN, NamedFile};
use crate::cli::CommandError;
use candor_audit::{LogLine, lines};
use candor_workspace::visible_text;
use clap::Args;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

/// Print entries of a log for other programs
///
/// jsonl prints the lines unchanged, so that their hashes can be checked; csv prints a table of the most
/// important members, with invisible characters escaped.
#[derive(Debug, Args)]
pub(in crate::cli) struct AuditExportArgs {
    /// The log: its newest file
    #[arg(value_name = "LOG")]
    path: PathBuf,
    /// The number of the first entry
    #[arg(long, value_name = "SEQ", default_value_t = 1)]
    from: u64,
    /// The number of the last entry [default: the end of the log]
    #[arg(long, value_name = "SEQ")]
    to: Option<u64>,
    /// The format of the output
    #[arg(long, value_enum, default_value_t = ExportFormat::Jsonl)]
    format: ExportFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ExportFormat {
    /// The unchanged lines
    Jsonl,
    /// A table with a header
    Csv,
}

impl AuditExportArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let log = NamedFile::at(&self.path)?;
        log.extent()?;
        let entries = lines(log.disk.clone(), &log.name, self.from);
        let entries = entries.map_err(|error| log.cannot_read(&error))?;
        let mut out = BufWriter::new(io::stdout().lock());
        let mut is_closed = match self.format {
            ExportFormat::Jsonl => false,
            ExportFormat::Csv => {
                is_pipe_closed(write_row(&mut out, COLUMNS.iter().map(|(name, _)| *name)))?
            }
        };
        let mut last = self.from.saturating_sub(1);
        for raw in entries {
            let raw = raw.map_err(|error| log.cannot_read(&error))?;
            if is_closed
                || self
                    .to
                    .is_some_and(|to| raw.seq.is_some_and(|seq| seq > to))
            {
                break;
            }
            is_closed = match self.format {
                ExportFormat::Jsonl => is_pipe_closed(write_line(&mut out, &raw))?,
                ExportFormat::Csv => {
                    let entry = LogEntry::parse(&raw).ok_or_else(|| {
                        let path = self.path.display();
                        CommandError::new(format!(
                            "the line after line {last} of {path} is not a log line"
                        ))
                        .with_exit_code(BROKEN)
                    })?;
                    let cells = entry.columns().map(|(_, text)| visible_text(&text));
                    is_pipe_closed(write_row(&mut out, cells.iter().map(String::as_str)))?
                }
            };
            last = raw.seq.unwrap_or(last);
        }
        is_pipe_closed(out.flush()).map(|_| ())
    }
}

/// Returns true if the reader closed the pipe, which is not a failure.
fn is_pipe_closed(written: io::Result<()>) -> Result<bool, CommandError> {
    match written {
        Ok(()) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(true),
        Err(error) => Err(error.into()),
    }
}

fn write_line(out: &mut impl Write, raw: &LogLine) -> io::Result<()> {
    out.write_all(&raw.bytes)?;
    out.write_all(b"\n")
}

/// Writes a row of a table as RFC 4180 defines it.
fn write_row<'a>(out: &mut impl Write, cells: impl Iterator<Item = &'a str>) -> io::Result<()> {
    for (index, cell) in cells.enumerate() {
        if index > 0 {
            out.write_all(b",")?;
        }
        // A spreadsheet would run such a text as a formula.
        let formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
        let guard = if formula && cell.parse::<i64>().is_err() {
            "'"
        } else {
            ""
        };
        if guard.is_empty() && !cell.contains([',', '"', '\n', '\r']) {
            out.write_all(cell.as_bytes())?;
        } else {
            write!(out, "\"{guard}{}\"", cell.replace('"', "\"\""))?;
        }
    }
    out.write_all(b"\r\n")
}
