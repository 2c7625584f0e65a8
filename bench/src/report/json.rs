//! All figures of all rounds as JSON.

use super::Report;
use std::io;
use std::path::Path;

/// Writes the file.
pub(crate) fn write(report: &Report, file: &Path) -> io::Result<()> {
    let mut text = serde_json::to_string_pretty(report)?;
    text.push('\n');
    std::fs::write(file, text)
}
