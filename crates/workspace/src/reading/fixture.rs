//! A workspace for tests, beside a directory that must not be read.

use super::{ReadError, WorkspaceReader};
use crate::path::Root;
use crate::protected::DenyRead;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

pub(super) struct Fixture {
    _dir: tempfile::TempDir,
    pub(super) top: PathBuf,
    pub(super) root: Root,
    deny: DenyRead,
}

impl Fixture {
    pub(super) fn new() -> Fixture {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir(top.join("ws")).unwrap();
        fs::create_dir(top.join("evil")).unwrap();
        fs::write(top.join("evil/secret"), "SECRET\n").unwrap();
        let root = Root::open(top.join("ws")).unwrap();
        Fixture {
            _dir: dir,
            top,
            root,
            deny: DenyRead::default(),
        }
    }

    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.top.join("ws").join(path)
    }

    pub(super) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(super) fn link(&self, path: &str, target: impl AsRef<Path>) {
        symlink(target, self.at(path)).unwrap();
    }

    pub(super) fn fifo(&self, path: &str) {
        use rustix::fs::{FileType, Mode};
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mknodat(&self.root, path, FileType::Fifo, mode, 0).unwrap();
    }

    pub(super) fn reading(&self) -> WorkspaceReader<'_> {
        self.until(&|| false)
    }

    pub(super) fn until<'a>(&'a self, stop: &'a dyn Fn() -> bool) -> WorkspaceReader<'a> {
        WorkspaceReader {
            root: &self.root,
            deny: &self.deny,
            stop,
        }
    }
}

/// Renders a result as it is sent, or an error as a person reads it.
pub(super) fn json<T: serde::Serialize>(answer: Result<T, ReadError>) -> String {
    match answer {
        Ok(answer) => serde_json::to_string(&answer).unwrap(),
        Err(error) => error.to_string(),
    }
}
