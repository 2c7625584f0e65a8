//! Syncs the directories that git creates but does not sync.

use super::errors::OrBroken;
use super::repository_root::OpenRepository;
use crate::Failure;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::thread;

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

/// The number of files that are synced at the same time.
const SYNC_THREADS: usize = 8;

/// Syncs everything below a directory. Several files at a time share the work of the file system's journal.
pub(super) fn sync_all(path: &Path) -> io::Result<()> {
    let (mut files, mut dirs) = (Vec::new(), Vec::new());
    let mut waiting = vec![path.to_path_buf()];
    while let Some(dir) = waiting.pop() {
        for entry in fs::read_dir(&dir)? {
            let entry = entry?;
            match entry.file_type()? {
                kind if kind.is_dir() => waiting.push(entry.path()),
                kind if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
        dirs.push(dir);
    }
    sync_each(&files)?;
    sync_each(&dirs)
}

fn sync_each(paths: &[PathBuf]) -> io::Result<()> {
    let share = paths.len().div_ceil(SYNC_THREADS).max(1);
    let sync_share = |share: &[PathBuf]| {
        let mut share = share.iter();
        share.try_for_each(|path| File::open(path)?.sync_all())
    };
    thread::scope(|scope| {
        let shares = paths.chunks(share);
        let threads: Vec<_> = shares
            .map(|share| scope.spawn(move || sync_share(share)))
            .collect();
        let mut first = Ok(());
        // Every thread is joined, and the first error is returned.
        for thread in threads {
            let ended = thread.join();
            let ended = ended.unwrap_or_else(|_| Err(io::Error::other("a thread has panicked")));
            first = first.and(ended);
        }
        first
    })
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
