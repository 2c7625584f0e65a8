//! `candor audit tail`: the last entries of a log.

use super::NamedFile;
use super::log_entry::LogEntry;
use crate::cli::{CommandError, print};
use anstyle::{AnsiColor, Style};
use candor_audit::{LogLine, last_lines};
use candor_fault::escape_invisible_into;
use clap::Args;
use std::path::PathBuf;

/// From how many bytes of a log's end entries are shown.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// How many characters of what an entry was about are shown.
const DETAIL_CHARS: usize = 80;

/// Show the last entries of a log
///
/// One line for each: number, time, tool, how it ended, what it was about.
#[derive(Debug, Args)]
pub(in crate::cli) struct AuditTailArgs {
    /// The log: the file that is being written
    #[arg(value_name = "LOG")]
    path: PathBuf,
    /// How many entries
    #[arg(short = 'n', value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    count: u32,
    /// Print the entries as they stand in the log, one JSON object a line
    #[arg(long)]
    json: bool,
}

impl AuditTailArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let log = NamedFile::at(&self.path)?;
        log.extent()?;
        let last = last_lines(log.disk.clone(), &log.name, self.count as usize, MAX_BYTES);
        let last = last.map_err(|error| log.cannot_read(&error))?;
        let mut out = Vec::new();
        for raw in &last {
            match self.json {
                true => out.extend_from_slice(&raw.bytes),
                false => out.extend_from_slice(line(raw).as_bytes()),
            }
            out.push(b'\n');
        }
        print(&out)
    }
}

const DIM: Style = Style::new().dimmed();
const TOOL: Style = AnsiColor::Cyan.on_default();
const FAILED: Style = AnsiColor::Red.on_default();

/// An entry on one line.
fn line(raw: &LogLine) -> String {
    let (Some(seq), Some(entry)) = (raw.seq, LogEntry::read(raw)) else {
        return format!(
            "{FAILED}     ?  no line of a log: {} bytes{FAILED:#}",
            raw.bytes.len()
        );
    };
    let outcome = match entry.code().is_empty() {
        true => Style::new(),
        false => FAILED,
    };
    let (when, tool) = (visible(&entry.when()), visible(&entry.tool()));
    let (ended, detail) = (visible(&entry.outcome()), visible(&entry.detail()));
    let text = format!(
        "{seq:>6}  {DIM}{when:<24}{DIM:#}  {TOOL}{tool:<20}{TOOL:#}  {outcome}{ended}{outcome:#}  {detail}"
    );
    text.trim_end().to_owned()
}

/// Text of others, such that it does nothing to a terminal.
fn visible(text: &str) -> String {
    let mut shown = String::new();
    escape_invisible_into(text.chars().take(DETAIL_CHARS), &mut shown);
    shown
}
