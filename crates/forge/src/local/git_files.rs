//! Syncs the directories that git creates but does not sync.

use super::errors::OrBroken;
use super::repository_root::OpenRepository;
use crate::Failure;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

/// Replaces a small file atomically.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    let mut file = File::create(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    path.parent().map_or(Ok(()), sync_directory)
}

pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Syncs everything below a directory.
pub(super) fn sync_all(path: &Path) -> io::Result<()> {
    let mut waiting = vec![path.to_path_buf()];
    while let Some(dir) = waiting.pop() {
        for entry in fs::read_dir(&dir)? {
            let entry = entry?;
            match entry.file_type()? {
                kind if kind.is_dir() => waiting.push(entry.path()),
                kind if kind.is_file() => File::open(entry.path())?.sync_all()?,
                _ => {}
            }
        }
        sync_directory(&dir)?;
    }
    Ok(())
}

impl OpenRepository {
    /// Syncs new directories of objects. Git syncs each object and its directory, but not the parent
    /// directory.
    pub(super) fn sync_objects(&self) -> Result<(), Failure> {
        sync_directory(&self.git.path().join("objects"))
            .or_broken("the objects could not be made lasting")
    }

    /// Syncs the directories above a ref that was written or deleted.
    pub(super) fn sync_ref(&self, name: &str) -> Result<(), Failure> {
        let root = self.git.path();
        let path = root.join(name);
        for dir in path.ancestors().skip(1) {
            // Git removes empty directories with the last ref in them.
            match sync_directory(dir) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                synced => synced.or_broken("a ref could not be made lasting")?,
            }
            if dir == root {
                break;
            }
        }
        Ok(())
    }
}
