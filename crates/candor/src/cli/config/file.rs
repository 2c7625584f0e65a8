//! Reads the file, within its bounds.

use crate::cli::CommandError;
use rustix::fs::OFlags;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The most bytes of a file.
pub const MAX_CONFIG_FILE: usize = 1024 * 1024;

/// A file that was read.
#[derive(Debug)]
pub(super) struct ConfigFile {
    pub(super) path: PathBuf,
    pub(super) text: String,
    /// True if only its owner can read it.
    pub(super) is_private: bool,
}

impl ConfigFile {
    /// Returns a path of the file's text as the program sees it: a relative one is relative to the file.
    pub(super) fn resolve(&self, path: &str) -> PathBuf {
        let directory = self.path.parent().unwrap_or(Path::new(""));
        directory.join(path)
    }
}

pub(super) fn read(path: &Path) -> Result<ConfigFile, CommandError> {
    let (bytes, metadata) = read_bytes(path)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let bytes = &error.as_bytes()[..valid];
        let (line, column) = position(&String::from_utf8_lossy(bytes), valid);
        CommandError::new(format!(
            "the configuration is not UTF-8\n  --> {}:{line}:{column}",
            path.display()
        ))
        .with_hint("save the file as UTF-8")
    })?;
    Ok(ConfigFile {
        path: path.to_owned(),
        text,
        is_private: metadata.mode() & 0o077 == 0,
    })
}

fn read_bytes(path: &Path) -> Result<(Vec<u8>, Metadata), CommandError> {
    let unreadable = |error: io::Error| {
        let path = path.display();
        CommandError::new(format!("cannot read the configuration {path}: {error}"))
            .with_hint("name a file that exists and that you can read, or omit --config")
    };
    // Before it is opened: opening can already do something to a device.
    check_kind(path, &std::fs::metadata(path).map_err(unreadable)?)?;
    let file = open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    check_kind(path, &metadata)?;
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_CONFIG_FILE + 1).unwrap_or(u64::MAX);
    file.take(limit)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() > MAX_CONFIG_FILE {
        let path = path.display();
        let message = format!("the configuration {path} is larger than 1 MiB");
        return Err(CommandError::new(message).with_hint("name a TOML file with settings"));
    }
    Ok((bytes, metadata))
}

/// Opens without waiting: a pipe that was put in the file's place in the meantime would wait for a writer.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    options.read(true).custom_flags(flags).open(path)
}

fn check_kind(path: &Path, metadata: &Metadata) -> Result<(), CommandError> {
    let kind = match metadata.is_dir() {
        _ if metadata.is_file() => return Ok(()),
        true => "a directory",
        false => "a pipe, a socket or a device",
    };
    let message = format!("the configuration {} is {kind}", path.display());
    Err(CommandError::new(message).with_hint("name a regular file"))
}

/// Returns the line and the column of an offset, both from 1, the column in characters.
pub(super) fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(offset)];
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    (line, before[start..].chars().count() + 1)
}
