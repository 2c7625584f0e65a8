//! The `.gitignore` files that apply at the current directory of a walk.

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// Bytes of one `.gitignore` that are heeded.
pub const MAX_GITIGNORE_BYTES: u64 = 64 * 1024;

/// The files found so far, from the root downwards, each with its directory.
#[derive(Default)]
pub(super) struct IgnoreFiles(Vec<(PathBuf, Gitignore)>);

impl IgnoreFiles {
    /// Returns the number of files, for [`IgnoreFiles::truncate`].
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Adds the file of a directory, if there is one that can be read.
    pub(super) fn add(&mut self, dir: impl AsFd, path: &Path) {
        if let Some(rules) = read(dir) {
            self.0.push((path.to_path_buf(), rules));
        }
    }

    /// Returns true if a path from the root is ignored by itself; the directories above it were asked about
    /// on the way down.
    pub(super) fn ignores(&self, path: &Path, is_directory: bool) -> bool {
        for (dir, rules) in self.0.iter().rev() {
            let Ok(rest) = path.strip_prefix(dir) else {
                continue;
            };
            match rules.matched(rest, is_directory) {
                Match::None => {}
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
            }
        }
        false
    }
}

fn read(dir: impl AsFd) -> Option<Gitignore> {
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(dir, ".gitignore", flags, Mode::empty()).ok()?;
    let file = File::from(file);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MAX_GITIGNORE_BYTES)
        .read_to_end(&mut bytes)
        .ok()?;
    parse_rules(&bytes)
}

/// Parses the rules of a `.gitignore` file. Returns `None` if there are none.
pub(crate) fn parse_rules(bytes: &[u8]) -> Option<Gitignore> {
    let mut rules = GitignoreBuilder::new(".");
    for line in String::from_utf8_lossy(bytes).lines() {
        // A line that git could not use either is passed over, as git does.
        let _ = rules.add_line(None, line);
    }
    rules.build().ok().filter(|rules| !rules.is_empty())
}
