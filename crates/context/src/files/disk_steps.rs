//! The steps by which a cache is written. Tests record them, to try a crash after each of them.

use crate::files::dir_handle::DirHandle;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::{Errno, retry_on_intr};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;

const PRIVATE: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW);

/// Creates a file, which must not exist.
pub(crate) fn create(directory: &DirHandle, name: &str) -> Result<File, Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | PRIVATE;
    let mode = Mode::from_raw_mode(0o644);
    let file = rustix::fs::openat(directory.as_fd(), name, flags, mode).map(File::from)?;
    record(|| Step::Write(path(directory, name), Vec::new()));
    Ok(file)
}

/// Writes a new file.
pub(crate) fn write_new(directory: &DirHandle, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    create(directory, name)?.write_all(bytes)?;
    record(|| Step::Write(path(directory, name), bytes.to_vec()));
    Ok(())
}

pub(crate) fn make_dir(directory: &DirHandle, name: impl AsRef<OsStr>) -> Result<(), Errno> {
    let name = name.as_ref();
    rustix::fs::mkdirat(directory, name, Mode::from_raw_mode(0o755))?;
    record(|| Step::MakeDir(path(directory, name)));
    Ok(())
}

pub(crate) fn link(
    from: &DirHandle,
    name: &str,
    into: &DirHandle,
    new_name: &str,
) -> Result<(), Errno> {
    rustix::fs::linkat(from, name, into, new_name, AtFlags::empty())?;
    record(|| Step::Link(path(from, name), path(into, new_name)));
    Ok(())
}

/// Renames an entry of a directory.
pub(crate) fn rename(
    directory: &DirHandle,
    from: impl AsRef<OsStr>,
    to: impl AsRef<OsStr>,
    flags: RenameFlags,
) -> Result<(), Errno> {
    let (from, to) = (from.as_ref(), to.as_ref());
    rustix::fs::renameat_with(directory, from, directory, to, flags)?;
    record(|| {
        let (from, to) = (path(directory, from), path(directory, to));
        match flags == RenameFlags::EXCHANGE {
            true => Step::Exchange(from, to),
            false => Step::Rename(from, to),
        }
    });
    Ok(())
}

/// Removes a file.
pub(crate) fn unlink(directory: &DirHandle, name: impl AsRef<OsStr>) -> Result<(), Errno> {
    let name = name.as_ref();
    rustix::fs::unlinkat(directory, name, AtFlags::empty())?;
    record(|| Step::Unlink(path(directory, name)));
    Ok(())
}

/// Makes a file durable.
pub(crate) fn sync_file(directory: &DirHandle, name: &str) -> Result<(), Errno> {
    let flags = OFlags::RDONLY | PRIVATE;
    let file = rustix::fs::openat(directory, name, flags, Mode::empty())?;
    retry_on_intr(|| rustix::fs::fsync(&file))?;
    record(|| Step::SyncFile(path(directory, name)));
    Ok(())
}

/// Makes the names in a directory durable.
pub(crate) fn sync_dir(directory: &DirHandle) -> Result<(), Errno> {
    let handle = open_for_sync(directory)?;
    retry_on_intr(|| rustix::fs::fsync(&handle))?;
    record(|| Step::SyncDir(path(directory, "")));
    Ok(())
}

/// Makes everything on the file system of a directory durable.
pub(crate) fn sync_all(directory: &DirHandle) -> Result<(), Errno> {
    rustix::fs::syncfs(open_for_sync(directory)?)?;
    record(|| Step::SyncAll);
    Ok(())
}

/// Returns a handle that can be synced, unlike a handle that was opened with `O_PATH`.
fn open_for_sync(directory: &DirHandle) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(directory, ".", flags, Mode::empty())
}

/// One step, with absolute paths.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(test), allow(dead_code, reason = "only tests read recorded steps"))]
pub(crate) enum Step {
    /// A file has these bytes now.
    Write(PathBuf, Vec<u8>),
    MakeDir(PathBuf),
    Link(PathBuf, PathBuf),
    Rename(PathBuf, PathBuf),
    Exchange(PathBuf, PathBuf),
    Unlink(PathBuf),
    SyncFile(PathBuf),
    SyncDir(PathBuf),
    SyncAll,
}

fn path(directory: &DirHandle, name: impl AsRef<OsStr>) -> PathBuf {
    let handle = format!("/proc/self/fd/{}", directory.as_fd().as_raw_fd());
    let path = std::fs::read_link(handle).unwrap_or_default();
    match name.as_ref().is_empty() {
        true => path,
        false => path.join(name.as_ref()),
    }
}

#[cfg(not(test))]
fn record(_: impl FnOnce() -> Step) {}

#[cfg(test)]
fn record(step: impl FnOnce() -> Step) {
    if let Some(steps) = crate::parallel::lock(&STEPS).as_mut() {
        steps.push(step());
    }
}

#[cfg(test)]
static STEPS: std::sync::Mutex<Option<Vec<Step>>> = std::sync::Mutex::new(None);

/// Returns the steps of `work`, and of others that run at the same time.
#[cfg(test)]
pub(crate) fn recorded(work: impl FnOnce()) -> Vec<Step> {
    *crate::parallel::lock(&STEPS) = Some(Vec::new());
    work();
    crate::parallel::lock(&STEPS).take().unwrap_or_default()
}
