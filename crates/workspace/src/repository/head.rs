//! Finds the repository of a workspace and the commit of HEAD, without git: few small files are read, none of
//! them through a link, and none is executed.

use super::error::RepositoryError;
use super::reftable::{self, RefValue};
use super::root_commits::is_hash;
use candor_disk::{Disk, DiskFile, Open, RealDisk};
use memchr::memmem;
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The maximum size of `HEAD`, of a ref and of the files that lead to another directory, in bytes.
const MAX_SMALL: usize = 4096;

/// The maximum size of `packed-refs` and of a reftable, in bytes.
pub const MAX_PACKED_REFS: usize = 16 * 1024 * 1024;

/// The maximum number of refs that lead to each other.
const MAX_REFS: usize = 5;

/// The refs that each worktree has for itself.
const OF_WORKTREE: [&str; 3] = ["refs/bisect/", "refs/rewritten/", "refs/worktree/"];

/// The branch that HEAD names if all refs are in reftables; git writes it for programs that do not know them.
const IN_REFTABLE: &str = "refs/heads/.invalid";

/// The directories of a repository.
#[derive(Debug)]
pub(super) struct GitDirectories {
    /// The directory that contains `.git`, without links.
    pub(super) top: PathBuf,
    /// The directory with `HEAD` and the index of this worktree.
    pub(super) own: PathBuf,
    /// The directory with refs and objects, which worktrees share.
    pub(super) common: PathBuf,
    own_disk: RealDisk,
    common_disk: RealDisk,
}

fn unreadable(file: &'static str, why: impl ToString) -> RepositoryError {
    RepositoryError::Unreadable {
        file,
        why: why.to_string(),
    }
}

impl GitDirectories {
    /// Finds the repository of a directory, whose path has no links.
    pub(super) fn find(root: &Path) -> Result<GitDirectories, RepositoryError> {
        for top in root.ancestors() {
            let git = top.join(".git");
            let found = match std::fs::metadata(&git) {
                Ok(found) => found,
                Err(error) if is_missing(&error) => continue,
                Err(error) => return Err(unreadable(".git", error)),
            };
            // The person who named the root trusts it, and nothing above it.
            if top != root && !is_own(found.uid()) {
                return Err(RepositoryError::OtherOwner);
            }
            let own = match found.is_dir() {
                true => git,
                false => git_file(top)?,
            };
            return GitDirectories::open(top, &own);
        }
        Err(RepositoryError::NoRepository)
    }

    fn open(top: &Path, own: &Path) -> Result<GitDirectories, RepositoryError> {
        let (own, own_disk) = directory(".git", own)?;
        let (common, common_disk) = match read_small(&own_disk, "commondir") {
            Ok(None) => (own.clone(), own_disk.clone()),
            Ok(Some(path)) => {
                let path = Path::new(OsStr::from_bytes(trimmed(&path)));
                directory("commondir", &own.join(path))?
            }
            Err(error) => return Err(unreadable("commondir", error)),
        };
        Ok(GitDirectories {
            top: top.to_owned(),
            own,
            common,
            own_disk,
            common_disk,
        })
    }

    /// Returns true if the history is cut off.
    pub(super) fn is_shallow(&self) -> bool {
        match std::fs::symlink_metadata(self.common.join("shallow")) {
            Err(error) => !is_missing(&error),
            Ok(_) => true,
        }
    }

    /// Returns the hash of the commit that is checked out.
    pub(super) fn head(&self) -> Result<String, RepositoryError> {
        let Some(mut bytes) =
            read_small(&self.own_disk, "HEAD").map_err(|error| unreadable("HEAD", error))?
        else {
            return Err(unreadable("HEAD", "it does not exist"));
        };
        for _ in 0..=MAX_REFS {
            let text = std::str::from_utf8(trimmed(&bytes))
                .map_err(|_| unreadable("HEAD", "it is not text"))?;
            let Some(name) = text.strip_prefix("ref:") else {
                return match is_hash(text) {
                    true => Ok(text.to_owned()),
                    false => Err(unreadable("HEAD", "it names neither a branch nor a commit")),
                };
            };
            let name = name.trim_start();
            if name == IN_REFTABLE {
                return self.head_in_reftable();
            }
            if !is_ref_name(name) {
                return Err(unreadable("HEAD", "it names no ref that is a file"));
            }
            bytes = match self.loose_ref(name)? {
                Some(bytes) => bytes,
                None => return self.packed_ref(name)?.ok_or(RepositoryError::NoCommit),
            };
        }
        Err(unreadable("HEAD", "too many refs lead to each other"))
    }

    /// Returns the hash of the commit that is checked out, if all refs are in reftables.
    fn head_in_reftable(&self) -> Result<String, RepositoryError> {
        let mut name = String::from("HEAD");
        for _ in 0..=MAX_REFS {
            let found = reftable::find(self.disk_of(&name), &name, MAX_PACKED_REFS);
            name = match found.map_err(|error| unreadable("reftable", error))? {
                Some(RefValue::Object(hash)) => return Ok(hash),
                Some(RefValue::Symbolic(target)) => target,
                Some(RefValue::Deleted) | None => return Err(RepositoryError::NoCommit),
            };
        }
        Err(unreadable("HEAD", "too many refs lead to each other"))
    }

    fn loose_ref(&self, name: &str) -> Result<Option<Vec<u8>>, RepositoryError> {
        read_small(self.disk_of(name), name).map_err(|error| unreadable("the ref of HEAD", error))
    }

    /// Returns the directory that contains a ref.
    fn disk_of(&self, name: &str) -> &RealDisk {
        match name == "HEAD" || OF_WORKTREE.iter().any(|prefix| name.starts_with(prefix)) {
            true => &self.own_disk,
            false => &self.common_disk,
        }
    }

    fn packed_ref(&self, name: &str) -> Result<Option<String>, RepositoryError> {
        let failed = |error: io::Error| unreadable("packed-refs", error);
        let file = match self.common_disk.open("packed-refs", Open::Read) {
            Err(error) if is_missing(&error) => return Ok(None),
            opened => opened.map_err(failed)?,
        };
        let bytes = file.read_all(MAX_PACKED_REFS).map_err(failed)?;
        Ok(find_packed(&bytes, name))
    }
}

/// Finds a ref among lines of the form `<hash> <name>`.
fn find_packed(bytes: &[u8], name: &str) -> Option<String> {
    let needle = format!(" {name}");
    for found in memmem::find_iter(bytes, needle.as_bytes()) {
        let (before, after) = (bytes.get(..found)?, bytes.get(found + needle.len()..)?);
        let start = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
        let hash = std::str::from_utf8(before.get(start..)?).unwrap_or_default();
        if is_hash(hash) && matches!(after.first(), None | Some(b'\n' | b'\r')) {
            return Some(hash.to_owned());
        }
    }
    None
}

/// Reads the path in a `.git` that is a file.
fn git_file(top: &Path) -> Result<PathBuf, RepositoryError> {
    let failed = |error: io::Error| unreadable(".git", error);
    let disk = RealDisk::at(top).map_err(failed)?;
    let bytes = read_small(&disk, ".git").map_err(failed)?;
    let bytes = bytes.unwrap_or_default();
    match trimmed(&bytes).strip_prefix(b"gitdir: ") {
        Some(path) if !path.is_empty() => Ok(top.join(Path::new(OsStr::from_bytes(path)))),
        _ => Err(unreadable(".git", "it is not a file of git")),
    }
}

/// Opens a directory of a repository. Returns its path without links too.
fn directory(name: &'static str, path: &Path) -> Result<(PathBuf, RealDisk), RepositoryError> {
    let failed = |error: io::Error| unreadable(name, error);
    let path = std::fs::canonicalize(path).map_err(failed)?;
    let disk = RealDisk::at(&path).map_err(failed)?;
    Ok((path, disk))
}

/// Reads a small file. Returns `None` if it does not exist.
fn read_small(disk: &RealDisk, name: &str) -> io::Result<Option<Vec<u8>>> {
    match disk.open(name, Open::Read) {
        Err(error) if is_missing(&error) => Ok(None),
        opened => opened?.read_all(MAX_SMALL).map(Some),
    }
}

/// Returns true if nothing is there. A directory with the name of a ref contains other refs.
fn is_missing(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(errno, Some(Errno::NOENT | Errno::NOTDIR | Errno::ISDIR))
}

fn is_own(uid: u32) -> bool {
    uid == 0 || uid == rustix::process::geteuid().as_raw()
}

fn trimmed(bytes: &[u8]) -> &[u8] {
    bytes.trim_ascii_end()
}

/// Returns true if a name is one of a ref below `refs`: a path that stays there.
fn is_ref_name(name: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.');
    let is_plain = |c: char| !c.is_control() && c != ' ' && c != '\\';
    name.starts_with("refs/") && name.split('/').all(is_part) && name.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ref_names_stay_below_refs() {
        for good in [
            "refs/heads/main",
            "refs/heads/a/b.c",
            "refs/heads/ä",
            "refs/x",
        ] {
            assert!(is_ref_name(good), "{good}");
        }
        for bad in [
            "",
            "HEAD",
            "refs",
            "refs/",
            "refs//a",
            "refs/heads/../../HEAD",
            "refs/heads/.invalid",
            "/refs/heads/a",
            "refs/heads/a\0",
            "refs/heads/a b",
        ] {
            assert!(!is_ref_name(bad), "{bad:?}");
        }
    }

    #[test]
    fn packed_ref_needs_its_whole_name() {
        let (a, b, c) = ("a".repeat(40), "b".repeat(40), "c".repeat(64));
        let text = format!(
            "# pack-refs with: peeled fully-peeled sorted \n{a} refs/heads/main2\n{b} refs/heads/main\n^{a}\n{c} refs/tags/x"
        );
        let find = |name| find_packed(text.as_bytes(), name);
        assert_eq!(find("refs/heads/main"), Some(b));
        assert_eq!(find("refs/heads/main2"), Some(a));
        assert_eq!(find("refs/tags/x"), Some(c));
        assert_eq!(find("refs/heads/mai"), None);
        assert_eq!(find("refs/heads/other"), None);
        assert_eq!(find_packed(b" refs/x\nzz refs/x\n", "refs/x"), None);
    }
}
