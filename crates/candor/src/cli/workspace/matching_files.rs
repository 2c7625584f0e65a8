//! The files that the globs of a plan mean now.

use super::opened::is_protected;
use candor_workspace::plan::Globs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How many names are looked at.
const LOOKED_AT_MAX: usize = 100_000;

/// How many files are named.
pub(super) const NAMED_MAX: usize = 8;

/// How deep directories are entered.
const DEPTH_MAX: usize = 64;

/// Some of the files, and how many there are.
#[derive(Debug, Default)]
pub(super) struct MatchingFiles {
    pub(super) named: Vec<PathBuf>,
    pub(super) count: usize,
    /// Whether there may be more, where nobody looked.
    pub(super) cut: bool,
}

/// Looks through a workspace, in the order of names; links are not followed.
pub(super) fn find(root: &Path, globs: &Globs) -> MatchingFiles {
    let mut found = MatchingFiles::default();
    let mut left = LOOKED_AT_MAX;
    let mut waiting = vec![(PathBuf::new(), 0)];
    while let Some((dir, depth)) = waiting.pop() {
        // What cannot be read has nothing to show.
        let Ok(entries) = std::fs::read_dir(root.join(&dir)) else {
            continue;
        };
        let entries = entries.flatten().take(left + 1);
        let mut all: Vec<_> = entries
            .filter_map(|entry| Some((entry.file_name(), entry.file_type().ok()?)))
            .collect();
        if all.len() > left {
            found.cut = true;
            all.truncate(left);
        }
        left -= all.len();
        all.sort_by(|one, other| one.0.cmp(&other.0));
        let mut inner = Vec::new();
        for (name, kind) in all {
            let path = dir.join(name);
            let bytes = path.as_os_str().as_bytes();
            if is_protected(bytes) {
                continue;
            }
            if kind.is_dir() {
                found.cut |= depth == DEPTH_MAX;
                inner.push((path, depth + 1));
            } else if globs.matches(bytes) {
                found.count += 1;
                if found.named.len() < NAMED_MAX {
                    found.named.push(path);
                }
            }
        }
        inner.retain(|(_, depth)| *depth <= DEPTH_MAX);
        waiting.extend(inner.into_iter().rev());
    }
    found
}
