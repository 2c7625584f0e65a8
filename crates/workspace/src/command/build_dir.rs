//! The private build directory of an approval, outside the tree: what agents build there is never run by
//! the owner. It is kept as long as the approval is valid, so that builds are incremental.

use super::scratch::remove_tree;
use crate::approval::{NotApproved, ValidApproval};
use rustix::fs::{FlockOperation, flock};
use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The variable with the path of the directory.
const OWN_VARIABLE: &str = "CANDOR_BUILD_DIR";

/// The variables of tools, and the directories that they name.
const VARIABLES: [(&str, &str); 7] = [
    ("CARGO_TARGET_DIR", "cargo"),
    ("GOCACHE", "go"),
    ("GOTMPDIR", "go-tmp"),
    ("PYTHONPYCACHEPREFIX", "python"),
    ("npm_config_cache", "npm"),
    ("PIP_CACHE_DIR", "pip"),
    ("XDG_CACHE_HOME", "cache"),
];

const DIR_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// The end of the name of the file beside a directory, which contains the hash of its plan and is locked
/// while the directory is used.
const MARK: &str = ".plan";

/// The maximum size of such a file, in bytes.
const MAX_MARK_BYTES: u64 = 4096;

/// The beginning of the names of directories for one call.
const FRESH: &str = "fresh-";

/// A build directory in use.
#[derive(Debug)]
pub struct BuildDir {
    path: PathBuf,
    mark: PathBuf,
    /// True if it is removed after use.
    fresh: bool,
    /// Locked, so that no other process removes the directory.
    _lock: File,
}

impl BuildDir {
    /// Opens the directory of an approval below the directory of a root, and creates it if it is missing.
    pub fn open(of_root: &Path, approval: &str, plan: &str) -> io::Result<BuildDir> {
        BuildDir::create(of_root, approval, plan, false)
    }

    /// Creates an empty directory for one call.
    pub fn fresh(of_root: &Path, id: &str) -> io::Result<BuildDir> {
        BuildDir::create(of_root, &format!("{FRESH}{id}"), "", true)
    }

    fn create(of_root: &Path, name: &str, plan: &str, fresh: bool) -> io::Result<BuildDir> {
        create_all(of_root)?;
        let of_root = of_root.canonicalize()?;
        let (path, mark) = (of_root.join(name), of_root.join(format!("{name}{MARK}")));
        let lock = lock_mark(&mark, plan)?;
        match DirBuilder::new().mode(DIR_MODE).create(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !fresh => {}
            created => created?,
        }
        let dir = BuildDir {
            path,
            mark,
            fresh,
            _lock: lock,
        };
        for (_, name) in VARIABLES {
            match DirBuilder::new().mode(DIR_MODE).create(dir.path.join(name)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => created?,
            }
        }
        Ok(dir)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if it was empty and is removed after use.
    pub fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// Returns the variables that a plan may replace.
    pub fn variables(&self) -> Vec<(String, OsString)> {
        let all = VARIABLES.iter();
        all.map(|(name, dir)| ((*name).to_owned(), self.path.join(dir).into()))
            .collect()
    }

    /// Returns the variable that names the directory itself.
    pub fn own_variable(&self) -> (String, OsString) {
        (OWN_VARIABLE.to_owned(), self.path.clone().into())
    }
}

impl Drop for BuildDir {
    fn drop(&mut self) {
        if !self.fresh {
            return;
        }
        if let Err(error) = remove_tree(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "a build directory was left behind");
        } else {
            let _ = std::fs::remove_file(&self.mark);
        }
    }
}

/// Returns true if a variable of a plan has no effect, because it names the directory itself.
pub(crate) fn is_own_variable(name: &str) -> bool {
    name == OWN_VARIABLE
}

fn create_all(path: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(DIR_MODE)
        .create(path)
}

/// Opens the file beside a directory, and locks it together with others who use the directory.
fn lock_mark(mark: &Path, plan: &str) -> io::Result<File> {
    loop {
        let mut file = open_mark(mark)?;
        flock(&file, FlockOperation::LockShared)?;
        // Another process may have removed the directory meanwhile, and the file with it.
        if file.metadata()?.nlink() == 0 {
            continue;
        }
        if file.metadata()?.len() == 0 {
            file.write_all(plan.as_bytes())?;
        }
        return Ok(file);
    }
}

fn open_mark(mark: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(FILE_MODE)
        .open(mark)
}

/// A build directory that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundBuildDir {
    /// The id of its approval.
    pub approval: String,
    /// The hash of its plan.
    pub plan: String,
}

impl FoundBuildDir {
    /// Returns true if the directory is still needed, by the answer whether its plan is approved. It stays if
    /// that cannot be judged now.
    pub fn is_needed<E>(&self, approved: Result<Result<ValidApproval, NotApproved>, E>) -> bool {
        match approved {
            Ok(Ok(approval)) => approval.id == self.approval,
            Ok(Err(why)) => why.is_about_repository(),
            Err(_) => true,
        }
    }
}

/// Removes the directories of a root that are not used and that `is_valid` does not accept. Returns their
/// number.
pub fn remove_ended(
    of_root: &Path,
    mut is_valid: impl FnMut(&FoundBuildDir) -> bool,
) -> io::Result<usize> {
    let mut removed = 0;
    for name in marks(of_root)? {
        let mark = of_root.join(format!("{name}{MARK}"));
        let mut file = match OpenOptions::new().read(true).write(true).open(&mark) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened?,
        };
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        let mut plan = String::new();
        file.rewind()?;
        Read::by_ref(&mut file)
            .take(MAX_MARK_BYTES)
            .read_to_string(&mut plan)?;
        let found = FoundBuildDir {
            approval: name.clone(),
            plan,
        };
        if !name.starts_with(FRESH) && is_valid(&found) {
            continue;
        }
        match remove_tree(&of_root.join(&name)) {
            Err(rustix::io::Errno::NOENT) => {}
            done => done?,
        }
        std::fs::remove_file(&mark)?;
        removed += 1;
    }
    Ok(removed)
}

/// Returns the names of the directories of a root.
fn marks(of_root: &Path) -> io::Result<Vec<String>> {
    let entries = match std::fs::read_dir(of_root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name().into_string().ok();
        names.extend(name.and_then(|name| Some(name.strip_suffix(MARK)?.to_owned())));
    }
    names.sort_unstable();
    Ok(names)
}

/// The maximum number of files that are looked at to measure build directories.
const MAX_MEASURED: usize = 1_000_000;

/// Returns the size of the build directories of a root, in bytes; at least that if there are very many
/// files.
pub fn measure(of_root: &Path) -> u64 {
    let mut todo = vec![of_root.to_path_buf()];
    let (mut bytes, mut seen) = (0, 0);
    while let Some(dir) = todo.pop() {
        let Ok(entries) = std::fs::read_dir(&dir) else {
            continue;
        };
        for entry in entries.flatten() {
            seen += 1;
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            if metadata.is_dir() {
                todo.push(entry.path());
            }
            bytes += metadata.blocks() * 512;
        }
        if seen > MAX_MEASURED {
            break;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_is_kept_for_its_approval_and_fresh_ones_are_not() {
        let base = tempfile::tempdir().unwrap();
        let of_root = base.path().join("build/root");
        let kept = BuildDir::open(&of_root, "a1", "p1").unwrap();
        std::fs::write(kept.path().join("cargo/x"), "built").unwrap();
        let mode = std::fs::metadata(kept.path()).unwrap().mode() & 0o777;
        assert_eq!(mode, 0o700);
        let fresh = BuildDir::fresh(&of_root, "f1").unwrap();
        assert!(fresh.is_fresh() && fresh.path().join("cargo").is_dir());
        let path = fresh.path().to_owned();
        drop(fresh);
        assert!(!path.exists());
        let again = BuildDir::open(&of_root, "a1", "p1").unwrap();
        assert!(again.path().join("cargo/x").exists());
        assert!(measure(&of_root) > 0);
        // A directory in use stays.
        assert_eq!(remove_ended(&of_root, |_| false).unwrap(), 0);
        drop((kept, again));
        let mut seen = Vec::new();
        let ended = |found: &FoundBuildDir| {
            seen.push((found.approval.clone(), found.plan.clone()));
            false
        };
        assert_eq!(remove_ended(&of_root, ended).unwrap(), 1);
        assert_eq!(seen, [(String::from("a1"), String::from("p1"))]);
        assert_eq!(std::fs::read_dir(&of_root).unwrap().count(), 0);
    }
}
