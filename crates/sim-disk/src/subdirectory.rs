//! A directory of a simulated disk, as a disk of its own.

use crate::{SimDisk, SimFile};
use candor_disk::{Disk, Open};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// The directory of this name.
#[derive(Debug, Clone)]
pub struct Subdirectory(pub SimDisk, pub &'static str);

impl Subdirectory {
    fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        Path::new(self.1).join(path)
    }
}

impl Disk for Subdirectory {
    type File = SimFile;

    fn open(&self, path: impl AsRef<Path>, how: Open) -> io::Result<SimFile> {
        self.0.open(self.at(path), how)
    }

    fn create_dir(&self, path: impl AsRef<Path>, mode: u32) -> io::Result<()> {
        self.0.create_dir(self.at(path), mode)
    }

    fn remove_dir(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.0.remove_dir(self.at(path))
    }

    fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
        self.0.rename(self.at(from), self.at(to))
    }

    fn rename_new(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
        self.0.rename_new(self.at(from), self.at(to))
    }

    fn exchange(&self, one: impl AsRef<Path>, other: impl AsRef<Path>) -> io::Result<()> {
        self.0.exchange(self.at(one), self.at(other))
    }

    fn unlink(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.0.unlink(self.at(path))
    }

    fn sync_dir(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.0.sync_dir(self.at(path))
    }

    fn list(&self, path: impl AsRef<Path>) -> io::Result<Vec<OsString>> {
        self.0.list(self.at(path))
    }
}
