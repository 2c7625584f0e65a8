//! `candor audit tail`: shows the last entries of a log.

use super::NamedFile;
use super::log_entry::LogEntry;
use crate::cli::{CommandError, print};
use anstyle::{AnsiColor, Style};
use candor_audit::{LogLine, last_lines};
use candor_workspace::visible_text;
use clap::Args;
use std::path::PathBuf;

/// The number of bytes at the end of a log in which entries are looked for.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The number of characters of a text that are shown.
const DETAIL_CHARS: usize = 80;

/// Show the last entries of a log
///
/// Prints one line for each: number, time, tool, result, and the path or message.
#[derive(Debug, Args)]
pub(in crate::cli) struct AuditTailArgs {
    /// The log: its newest file
    #[arg(value_name = "LOG")]
    path: PathBuf,
    /// The number of entries
    #[arg(short = 'n', value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    count: u32,
    /// Print the unchanged entries, one JSON object per line
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

/// Formats an entry as one line.
fn line(raw: &LogLine) -> String {
    let (Some(seq), Some(entry)) = (raw.seq, LogEntry::parse(raw)) else {
        return format!(
            "{FAILED}     ?  not a log line: {} bytes{FAILED:#}",
            raw.bytes.len()
        );
    };
    let outcome = match entry.code().is_empty() {
        true => Style::new(),
        false => FAILED,
    };
    let (when, tool) = (visible(&entry.timestamp()), visible(&entry.tool()));
    let (ended, detail) = (visible(&entry.outcome()), visible(&entry.detail()));
    let text = format!(
        "{seq:>6}  {DIM}{when:<24}{DIM:#}  {TOOL}{tool:<20}{TOOL:#}  {outcome}{ended}{outcome:#}  {detail}"
    );
    text.trim_end().to_owned()
}

/// Escapes the text of other people, so that it does nothing to a terminal.
fn visible(text: &str) -> String {
    visible_text(&text.chars().take(DETAIL_CHARS).collect::<String>())
}
