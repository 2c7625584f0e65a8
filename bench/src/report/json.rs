//! All figures of all rounds as JSON.

use super::BenchReport;
use std::io;
use std::path::Path;

pub(crate) fn write(report: &BenchReport, file: &Path) -> io::Result<()> {
    let mut text = serde_json::to_string_pretty(report)?;
    text.push('\n');
    std::fs::write(file, text)
}
