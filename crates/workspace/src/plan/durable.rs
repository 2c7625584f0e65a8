//! Writes a small file completely or not at all.

use candor_disk::{Disk, DiskFile, Open};
use rustix::io::Errno;
use std::io;

/// The maximum number of temporary files that crashed writers may leave.
const MAX_TEMPORARY: usize = 64;

/// The behaviour if the file exists already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfExists {
    /// It stays, and the write fails with EEXIST.
    Keep,
    /// It is replaced in one step.
    Replace,
}

/// Makes a directory if it is missing, and its name durable.
pub(crate) fn ensure_dir(disk: &impl Disk, parent: &str, dir: &str, mode: u32) -> io::Result<()> {
    match disk.create_dir(dir, mode) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made?,
    }
    // The process that created it may have died before the name was on the disk.
    disk.sync_dir(parent)
}

/// Writes a file in a directory: when this succeeds it is on the disk.
pub(crate) fn write(
    disk: &impl Disk,
    dir: &str,
    name: &str,
    mode: u32,
    bytes: &[u8],
    existing: IfExists,
) -> io::Result<()> {
    let (temporary, file) = temporary(disk, dir, name, mode)?;
    let target = format!("{dir}/{name}");
    let named = fill(&file, bytes).and_then(|()| match existing {
        IfExists::Keep => disk.rename_new(&temporary, &target),
        IfExists::Replace => disk.rename(&temporary, &target),
    });
    if named.is_err() {
        // An error does not matter: temporary files are ignored.
        disk.unlink(&temporary).ok();
    }
    named?;
    let synced = disk.sync_dir(dir);
    if synced.is_err() && existing == IfExists::Keep {
        // A name whose sync failed is never sure again: the next writer makes it anew.
        disk.unlink(&target).ok();
    }
    synced
}

fn fill(file: &impl DiskFile, bytes: &[u8]) -> io::Result<()> {
    file.write_all_at(bytes, 0)?;
    file.sync_all()
}

/// Creates a file with a name that no other writer uses and that every reader ignores.
fn temporary<D: Disk>(disk: &D, dir: &str, name: &str, mode: u32) -> io::Result<(String, D::File)> {
    for number in 0..MAX_TEMPORARY {
        let path = format!("{dir}/.{name}.{number}.tmp");
        match disk.open(&path, Open::CreateNew(mode)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return Ok((path, opened?)),
        }
    }
    Err(Errno::EXIST.into())
}

/// Returns true if a name is one of a temporary file of ours.
pub(crate) fn is_temporary(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(".tmp")
}
