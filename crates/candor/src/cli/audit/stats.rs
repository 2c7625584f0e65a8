//! `candor audit stats`: counts the entries, tools and codes of a log.

use super::NamedFile;
use super::log_entry::LogEntry;
use crate::cli::{CommandError, print};
use candor_audit::lines;
use candor_workspace::visible_text;
use clap::Args;
use serde_json::{Map, Value, json};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The number of different names that are counted; further names are counted together.
const MAX_NAMES: usize = 1000;

/// Count the entries of a log
///
/// Prints its size, the time it covers, and how often each tool and each code occurs. It does not check the
/// hashes: that is `candor audit verify`.
#[derive(Debug, Args)]
pub(in crate::cli) struct AuditStatsArgs {
    /// The log: its newest file
    #[arg(value_name = "LOG")]
    path: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Default)]
struct LogCounts {
    lines: u64,
    unreadable: u64,
    first: Option<String>,
    last: Option<String>,
    tools: BTreeMap<String, u64>,
    codes: BTreeMap<String, u64>,
}

impl AuditStatsArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let log = NamedFile::at(&self.path)?;
        let extent = log.extent()?;
        let mut counts = LogCounts::default();
        let all = lines(log.disk.clone(), &log.name, 0).map_err(|error| log.cannot_read(&error))?;
        for raw in all {
            let raw = raw.map_err(|error| log.cannot_read(&error))?;
            match LogEntry::parse(&raw) {
                Some(entry) => counts.add(&entry),
                None => counts.unreadable += 1,
            }
        }
        let text = match self.json {
            true => {
                let object = json!({
                    "log": self.path.to_string_lossy(),
                    "lines": counts.lines,
                    "not_lines": counts.unreadable,
                    "files": extent.files,
                    "bytes": extent.bytes,
                    "first": counts.first,
                    "last": counts.last,
                    "tools": object(&counts.tools),
                    "codes": object(&counts.codes),
                });
                serde_json::to_string_pretty(&object).map_err(std::io::Error::from)? + "\n"
            }
            false => counts.text(extent.files, extent.bytes),
        };
        print(text.as_bytes())
    }
}

impl LogCounts {
    fn add(&mut self, entry: &LogEntry) {
        self.lines += 1;
        let when = Some(entry.timestamp()).filter(|when| !when.is_empty());
        if let Some(when) = when {
            self.first.get_or_insert_with(|| when.clone());
            self.last = Some(when);
        }
        count(&mut self.tools, entry.tool());
        count(&mut self.codes, entry.code());
    }

    fn text(&self, files: usize, bytes: u64) -> String {
        let mut text = format!("lines  {}\nfiles  {files}\nbytes  {bytes}\n", self.lines);
        if self.unreadable > 0 {
            text += &format!("not log lines  {}\n", self.unreadable);
        }
        for (name, when) in [("first", &self.first), ("last", &self.last)] {
            if let Some(when) = when {
                text += &format!("{name:<5}  {}\n", visible_text(when));
            }
        }
        for (title, counts) in [("tools", &self.tools), ("codes", &self.codes)] {
            if !counts.is_empty() {
                text += &format!("\n{title}\n");
            }
            for (name, count) in sorted(counts) {
                text += &format!("{count:>8}  {}\n", visible_text(name));
            }
        }
        text
    }
}

fn count(counts: &mut BTreeMap<String, u64>, name: String) {
    if name.is_empty() {
        return;
    }
    let name = match counts.len() < MAX_NAMES || counts.contains_key(&name) {
        true => name,
        false => String::from("(others)"),
    };
    *counts.entry(name).or_default() += 1;
}

/// Returns the counts, the most frequent first, and equal ones by name.
fn sorted(counts: &BTreeMap<String, u64>) -> Vec<(&str, u64)> {
    let all = counts.iter().map(|(name, count)| (name.as_str(), *count));
    let mut all: Vec<_> = all.collect();
    all.sort_by_key(|(_, count)| Reverse(*count));
    all
}

fn object(counts: &BTreeMap<String, u64>) -> Value {
    let all = sorted(counts).into_iter();
    let all = all.map(|(name, count)| (name.to_owned(), Value::from(count)));
    Value::Object(all.collect::<Map<_, _>>())
}
