//! Copies the Markdown below a directory, so that the original is never changed.

use crate::report::thousands;
use std::fmt;
use std::io;
use std::path::Path;

/// The size of a copy.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct CopySize {
    files: usize,
    bytes: u64,
}

impl fmt::Display for CopySize {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabytes = self.bytes as f64 / 1e6;
        let files = thousands(self.files as f64);
        write!(out, "{files} files of Markdown, {megabytes:.1} MB")
    }
}

/// Copies every Markdown file below a directory into a new one. Links are not followed.
pub(crate) fn markdown(from: &Path, to: &Path) -> io::Result<CopySize> {
    let mut copied = CopySize::default();
    let failed =
        |error: io::Error| io::Error::other(format!("cannot copy {}: {error}", from.display()));
    below(from, to, &mut copied).map_err(failed)?;
    match copied.files {
        0 => Err(failed(io::Error::other("it has no Markdown"))),
        _ => Ok(copied),
    }
}

fn below(from: &Path, to: &Path, copied: &mut CopySize) -> io::Result<()> {
    std::fs::create_dir(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (kind, name) = (entry.file_type()?, entry.file_name());
        if kind.is_dir() {
            below(&entry.path(), &to.join(name), copied)?;
        } else if kind.is_file() && name.as_encoded_bytes().ends_with(b".md") {
            copied.bytes += std::fs::copy(entry.path(), to.join(name))?;
            copied.files += 1;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_markdown_is_copied() {
        let scratch = tempfile::tempdir().unwrap();
        let from = scratch.path().join("from");
        std::fs::create_dir_all(from.join("deep")).unwrap();
        std::fs::write(from.join("deep/one.md"), "one").unwrap();
        std::fs::write(from.join("deep/one.png"), "no").unwrap();
        let to = scratch.path().join("to");
        let copied = markdown(&from, &to).unwrap();
        assert_eq!(copied.to_string(), "1 files of Markdown, 0.0 MB");
        assert!(to.join("deep/one.md").exists() && !to.join("deep/one.png").exists());
        assert!(markdown(&to.join("deep/none"), &scratch.path().join("no")).is_err());
    }
}
