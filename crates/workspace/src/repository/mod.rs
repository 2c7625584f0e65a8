//! The repository that a workspace belongs to, and its identity: the root commits that HEAD reaches.
//!
//! An approval can be bound to a repository instead of a path, so that it holds in each of its clones. The
//! identity proves little against somebody who can write `.git`: a fork has the same root commits, and
//! everybody can add them to a history. It tells repositories of one owner apart.
//!
//! The commit of HEAD is read at every look, from small files. Its root commits are computed by git at most once
//! for each commit, and remembered in the state directory. Nothing in the repository is executed.

mod cache;
mod error;
mod git;
mod head;
mod reftable;
mod root_commits;

pub use cache::MAX_CACHED_COMMITS;
pub use error::RepositoryError;
pub use git::{GIT_TIMEOUT, MAX_FILE_LIST};
pub use head::MAX_PACKED_REFS;
pub use root_commits::{MAX_ROOT_COMMITS, RootCommits};

use crate::state;
use candor_disk::{Disk, DiskFile, Open, RealDisk};
use git::Git;
use head::GitDirectories;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The maximum size of a list of other object directories, in bytes.
const MAX_ALTERNATES: usize = 64 * 1024;

/// The maximum number of object directories of a repository.
const MAX_OBJECT_DIRECTORIES: usize = 64;

/// The time for which a failure of git is remembered, so that a repository that cannot be read does not
/// delay every call.
const FAILURE_AGE: Duration = Duration::from_secs(60);

/// Reads the identity of the repository of one workspace.
#[derive(Debug)]
pub struct RepositoryReader {
    root: PathBuf,
    /// The state directory of the root. It is created when git is needed.
    state: PathBuf,
    /// `PATH`, in which git is looked up.
    path: String,
    timeout: Duration,
    /// The result for the commit that HEAD had last.
    last: Mutex<Option<LastLookup>>,
}

#[derive(Debug)]
struct LastLookup {
    commit: String,
    at: Instant,
    result: Result<RootCommits, RepositoryError>,
}

/// The number of tracked files at or below a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrackedFiles {
    pub count: usize,
    /// True if there may be more, because a limit was reached.
    pub cut: bool,
}

/// A list of tracked files.
#[derive(Debug, Default)]
struct TrackedList {
    /// The paths from the top of the repository, each followed by NUL.
    listed: Vec<u8>,
    /// The path of the root from there, with a slash at its end.
    above: Vec<u8>,
    /// True if there are more.
    cut: bool,
}

impl TrackedList {
    /// Returns the paths from the root.
    fn files(&self) -> impl Iterator<Item = &[u8]> {
        let files = self.listed.split(|byte| *byte == 0);
        let files = files.filter_map(|file| file.strip_prefix(self.above.as_slice()));
        files.filter(|file| !file.is_empty())
    }
}

impl RepositoryReader {
    /// Reads the repository of a root, whose path has no links. `state` is the state directory of the
    /// root, and git is looked up in the directories of `path`.
    pub fn new(root: &Path, state: PathBuf, path: String) -> RepositoryReader {
        RepositoryReader {
            root: root.to_owned(),
            state,
            path,
            timeout: GIT_TIMEOUT,
            last: Mutex::new(None),
        }
    }

    /// Returns the root commits that HEAD reaches now.
    pub fn root_commits(&self) -> Result<RootCommits, RepositoryError> {
        let directories = GitDirectories::find(&self.root)?;
        if directories.is_shallow() {
            return Err(RepositoryError::Shallow);
        }
        let commit = directories.head()?;
        // Other calls wait, so that git runs once.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*last
            && known.commit == commit
            && (known.result.is_ok() || known.at.elapsed() < FAILURE_AGE)
        {
            return known.result.clone();
        }
        let result = self.look_up(&directories, &commit);
        *last = Some(LastLookup {
            commit,
            at: Instant::now(),
            result: result.clone(),
        });
        result
    }

    fn look_up(
        &self,
        directories: &GitDirectories,
        commit: &str,
    ) -> Result<RootCommits, RepositoryError> {
        let unusable = |error: io::Error| RepositoryError::State(error.to_string());
        let disk = state::open(&self.state).map_err(unusable)?;
        if let Some(roots) = cache::load(&disk, commit) {
            return Ok(roots);
        }
        let git = self.git(directories, Some(commit))?;
        let roots = git.root_commits(&directories.common, commit)?;
        // Without an entry the next process computes it again.
        cache::store(&disk, commit, &roots).ok();
        Ok(roots)
    }

    /// Counts the tracked files at or below paths from the root.
    pub fn tracked_files(&self, paths: &[&Path]) -> Result<Vec<TrackedFiles>, RepositoryError> {
        let list = self.list_tracked(paths)?;
        let count = |path: &&Path| {
            let path = path.as_os_str().as_bytes();
            let within = |file: &&[u8]| {
                let rest = file.strip_prefix(path);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
            };
            TrackedFiles {
                count: list.files().filter(within).count(),
                cut: list.cut,
            }
        };
        Ok(paths.iter().map(count).collect())
    }

    /// Returns the names of all tracked files at or below paths from the root, as far as they are text. There
    /// are none if the workspace is not in a repository of this user.
    pub(crate) fn tracked_names(
        &self,
        paths: &[&Path],
    ) -> Result<BTreeSet<String>, RepositoryError> {
        let list = match self.list_tracked(paths) {
            Err(RepositoryError::NoRepository | RepositoryError::OtherOwner) => {
                return Ok(BTreeSet::new());
            }
            list => list?,
        };
        if list.cut {
            return Err(RepositoryError::Git(String::from(
                "there are too many tracked files",
            )));
        }
        let names = list
            .files()
            .filter_map(|file| std::str::from_utf8(file).ok());
        Ok(names.map(String::from).collect())
    }

    fn list_tracked(&self, paths: &[&Path]) -> Result<TrackedList, RepositoryError> {
        if paths.is_empty() {
            return Ok(TrackedList::default());
        }
        let directories = GitDirectories::find(&self.root)?;
        let index = directories.own.join("index");
        match std::fs::symlink_metadata(&index) {
            Ok(found) if found.is_file() => {}
            // Git would wait for a FIFO.
            Ok(_) => {
                return Err(RepositoryError::Unreadable {
                    file: "index",
                    why: String::from("it is not a file"),
                });
            }
            Err(_) => return Ok(TrackedList::default()),
        }
        let below = self
            .root
            .strip_prefix(&directories.top)
            .unwrap_or(Path::new(""));
        let paths: Vec<PathBuf> = paths.iter().map(|path| below.join(path)).collect();
        let commit = directories.head().ok();
        let git = self.git(&directories, commit.as_deref())?;
        let (listed, cut) = git.tracked_files(&directories.common, &index, &paths)?;
        let mut above = below.as_os_str().as_bytes().to_vec();
        if !above.is_empty() {
            above.push(b'/');
        }
        Ok(TrackedList { listed, above, cut })
    }

    fn git(
        &self,
        directories: &GitDirectories,
        commit: Option<&str>,
    ) -> Result<Git, RepositoryError> {
        check_alternates(&directories.common)?;
        let unusable = |error: io::Error| RepositoryError::State(error.to_string());
        let disk = state::open(&self.state).map_err(unusable)?;
        let program = git::find_program(&self.path, &self.root).ok_or(RepositoryError::NoGit)?;
        Git::new(program, &disk, &self.state, commit, self.timeout).map_err(unusable)
    }
}

/// Checks the lists of other object directories, which git reads to their end.
fn check_alternates(common: &Path) -> Result<(), RepositoryError> {
    let refused = |why: String| RepositoryError::Unreadable {
        file: "objects/info/alternates",
        why,
    };
    let mut directories = vec![common.join("objects")];
    let mut next = 0;
    while let Some(objects) = directories.get(next).cloned() {
        next += 1;
        // Git passes over directories that do not exist.
        let Ok(disk) = RealDisk::at(&objects) else {
            continue;
        };
        let list = match disk.open("info/alternates", Open::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened.and_then(|file| file.read_all(MAX_ALTERNATES)),
        };
        let list = list.map_err(|error| refused(error.to_string()))?;
        for line in list.split(|byte| *byte == b'\n') {
            match line.first() {
                None | Some(b'#') => continue,
                Some(b'"') => return Err(refused(String::from("a path is quoted"))),
                Some(_) => {}
            }
            let other = objects.join(Path::new(OsStr::from_bytes(line)));
            if !directories.contains(&other) {
                directories.push(other);
            }
        }
        if directories.len() > MAX_OBJECT_DIRECTORIES {
            return Err(refused(String::from("it names too many directories")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
