//! The bare programs on files: one checks every file that a cache lists and prints some of them,
//! the other writes the documents of a cache. One thread, one system call after the other.

use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

/// Checks every listed file, then prints some: the least that is needed to detect changes.
pub(crate) fn stat(folder: &Path, looked_at: &Path, printed: &Path) -> io::Result<()> {
    let folder = open(folder)?;
    for name in std::fs::read_to_string(looked_at)?.lines() {
        rustix::fs::statx(
            &folder,
            name,
            AtFlags::SYMLINK_NOFOLLOW,
            StatxFlags::BASIC_STATS,
        )?;
    }
    let mut out = io::stdout().lock();
    for name in std::fs::read_to_string(printed)?.lines() {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&folder, name, flags, Mode::empty())?;
        io::copy(&mut File::from(file), &mut out)?;
    }
    out.flush()
}

/// Writes files into a new directory and syncs them all at once.
pub(crate) fn write(files: &[(String, Vec<u8>)], into: &Path) -> io::Result<()> {
    std::fs::create_dir(into)?;
    for (name, bytes) in files {
        File::create_new(into.join(name))?.write_all(bytes)?;
    }
    Ok(rustix::fs::syncfs(open(into)?)?)
}

/// Makes everything durable that was written so far.
pub(crate) fn settle(folder: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(open(folder)?)?)
}

fn open(folder: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(CWD, folder, flags, Mode::empty())?)
}
