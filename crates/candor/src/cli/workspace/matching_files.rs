//! The files that a phase of a plan allows now.

use super::opened::is_protected;
use candor_workspace::plan::Scope;
use candor_workspace::protected::ExecutedFiles;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The number of names that are read.
const MAX_LOOKED_AT: usize = 100_000;

/// The number of files that are named.
pub(super) const MAX_NAMED: usize = 8;

/// The depth to which directories are entered.
const MAX_DEPTH: usize = 64;

/// The matching files, the dangerous ones apart.
#[derive(Debug, Default)]
pub(super) struct MatchingFiles {
    /// Files that other programs run or obey.
    pub(super) executed: NamedFiles,
    /// Descriptions of a build.
    pub(super) builds: NamedFiles,
    pub(super) others: NamedFiles,
    /// True if the search reached a limit, so that there may be more.
    pub(super) cut: bool,
}

/// The first files of a kind, and their number.
#[derive(Debug, Default)]
pub(super) struct NamedFiles {
    pub(super) named: Vec<PathBuf>,
    pub(super) count: usize,
}

impl NamedFiles {
    fn add(&mut self, path: PathBuf) {
        self.count += 1;
        if self.named.len() < MAX_NAMED {
            self.named.push(path);
        }
    }
}

/// Searches a workspace in the order of names; does not follow links.
pub(super) fn find(root: &Path, scope: &Scope<'_>, executed: &ExecutedFiles) -> MatchingFiles {
    let builds = ExecutedFiles::build_descriptions();
    let mut found = MatchingFiles::default();
    let mut left = MAX_LOOKED_AT;
    let mut queue = vec![(PathBuf::new(), 0)];
    while let Some((dir, depth)) = queue.pop() {
        // A directory that cannot be read is skipped.
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
                found.cut |= depth == MAX_DEPTH;
                inner.push((path, depth + 1));
            } else if scope.covers(bytes, executed) {
                let kind = match bytes {
                    bytes if executed.contains(bytes) => &mut found.executed,
                    bytes if builds.contains(bytes) => &mut found.builds,
                    _ => &mut found.others,
                };
                kind.add(path);
            }
        }
        inner.retain(|(_, depth)| *depth <= MAX_DEPTH);
        queue.extend(inner.into_iter().rev());
    }
    found
}
