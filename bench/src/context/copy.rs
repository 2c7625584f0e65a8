//! Copies the Markdown below a directory, so that the original is never changed; and divides a copy.

use crate::report::thousands;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

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

/// Returns all files below a directory, sorted.
pub(crate) fn files(below: &Path) -> io::Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    let mut folders = vec![below.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            match entry.file_type()?.is_dir() {
                true => folders.push(entry.path()),
                false => all.push(entry.path()),
            }
        }
    }
    all.sort();
    Ok(all)
}

/// Links every file below a directory into one of these new ones, in turn.
pub(crate) fn divide(from: &Path, into: &[PathBuf]) -> io::Result<()> {
    for (file, part) in files(from)?.iter().zip(into.iter().cycle()) {
        let below = file.strip_prefix(from).map_err(io::Error::other)?;
        let link = part.join(below);
        if let Some(folder) = link.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::hard_link(file, link)?;
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

    #[test]
    fn every_file_is_in_one_part() {
        let scratch = tempfile::tempdir().unwrap();
        let from = scratch.path().join("from");
        std::fs::create_dir_all(from.join("deep")).unwrap();
        for name in ["a.md", "b.md", "deep/c.md"] {
            std::fs::write(from.join(name), name).unwrap();
        }
        let parts = ["one", "two"].map(|name| scratch.path().join(name));
        divide(&from, &parts).unwrap();
        let found = parts.each_ref().map(|part| files(part).unwrap());
        let expected = [
            vec![parts[0].join("a.md"), parts[0].join("deep/c.md")],
            vec![parts[1].join("b.md")],
        ];
        assert_eq!(found, expected);
    }
}
