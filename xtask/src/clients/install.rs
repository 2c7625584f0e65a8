//! Installs Node, its packages and the Python environment below the target folder.
//!
//! The folder's name is a hash of the lock files. A marker, written last, shows that a
//! part is complete. The runner scripts are copied each time, because changing one needs no
//! new download. A lock file keeps two runs from installing at once.

use crate::problem::{Problem, ProblemContext};
use crate::program::Program;
use crate::repo::Repo;
use crate::retry::retried;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

const SOURCES: &str = "tests/clients";
const MANIFESTS: [&str; 4] = [
    ".npmrc",
    "package.json",
    "package-lock.json",
    "requirements.txt",
];
const NODE: &str = "node_modules/node/bin/node";
const PYTHON: &str = "venv/bin/python";

/// An installed part, or the reason why it is not available on this machine.
pub(crate) enum Installation<T> {
    Ready(T),
    Unavailable(String),
}

/// The folder of the clients.
pub(crate) struct Kit {
    folder: PathBuf,
    _lock: File,
}

impl Kit {
    /// Creates the folder with the current scripts. Downloads nothing.
    pub(crate) fn prepare(repo: &Repo) -> Result<Installation<Kit>, Problem> {
        let sources = repo.root.join(SOURCES);
        if !sources.is_dir() {
            return Ok(Installation::Unavailable(format!("there is no {SOURCES}")));
        }
        let folder = repo.target.join("clients").join(fingerprint(&sources)?);
        fs::create_dir_all(&folder).context(|| format!("cannot make {folder:?}"))?;
        let lock = locked(&folder.with_extension("lock"))?;
        copy_files(&sources, &folder)?;
        Ok(Installation::Ready(Kit {
            folder,
            _lock: lock,
        }))
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Installs the Node of the lock file with all packages.
    pub(crate) fn node(&self) -> Result<Installation<PathBuf>, Problem> {
        if self.program("npm").args(["--version"]).captured().is_err() {
            return Ok(Installation::Unavailable(
                "npm was not found: install Node with npm, any version that is maintained".into(),
            ));
        }
        self.part("node", NODE, || self.install_node())
    }

    /// Installs a Python environment with all packages.
    pub(crate) fn python(&self) -> Result<Installation<PathBuf>, Problem> {
        let able = ["-c", "import ensurepip, venv"];
        if self.program("python3").args(able).captured().is_err() {
            return Ok(Installation::Unavailable(
                "python3 with venv was not found (Debian: python3-venv)".into(),
            ));
        }
        self.part("python", PYTHON, || self.install_python())
    }

    /// Installs a part unless its marker exists and its program still runs.
    fn part(
        &self,
        name: &str,
        program: &str,
        install: impl FnMut() -> Result<(), Problem>,
    ) -> Result<Installation<PathBuf>, Problem> {
        let marker = self.folder.join(format!(".{name}-complete"));
        let program = self.folder.join(program);
        let runs = || self.program(&program).args(["--version"]).captured();
        if marker.exists() && runs().is_ok() {
            return Ok(Installation::Ready(program));
        }
        if let Err(problem) = retried(name, install).and_then(|()| runs().map(drop)) {
            return Ok(Installation::Unavailable(format!(
                "{name} could not be installed: {}",
                problem.message()
            )));
        }
        fs::write(&marker, "").context(|| format!("cannot write {marker:?}"))?;
        Ok(Installation::Ready(program))
    }

    /// Runs no install script of a package except that of `node`, which fetches the binary.
    fn install_node(&self) -> Result<(), Problem> {
        let quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
        let packages = self.program("npm").args(["ci", "--ignore-scripts"]);
        packages.args(quiet).run()?;
        let binary = self.program("npm").args(["rebuild", "node"]);
        binary.args(quiet).run()
    }

    fn install_python(&self) -> Result<(), Problem> {
        let make = ["-m", "venv", "--clear", "venv"];
        self.program("python3").args(make).run()?;
        let install = ["-m", "pip", "install", "--quiet", "-r", "requirements.txt"];
        let pip = self.program(self.folder.join(PYTHON)).args(install);
        pip.args(["--disable-pip-version-check"]).run()
    }

    fn program(&self, name: impl AsRef<std::ffi::OsStr>) -> Program {
        Program::new(name, &self.folder)
    }
}

/// Hashes the files that determine the installation. The hash names a cache, so a collision costs a download.
fn fingerprint(sources: &Path) -> Result<String, Problem> {
    let mut hasher = DefaultHasher::new();
    for name in MANIFESTS {
        let path = sources.join(name);
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            bytes => bytes.context(|| format!("cannot read {path:?}"))?,
        };
        (name, bytes).hash(&mut hasher);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

fn locked(path: &Path) -> Result<File, Problem> {
    let file = File::create(path).context(|| format!("cannot write {path:?}"))?;
    file.lock().context(|| format!("cannot lock {path:?}"))?;
    Ok(file)
}

fn copy_files(from: &Path, to: &Path) -> Result<(), Problem> {
    for entry in fs::read_dir(from).context(|| format!("cannot read {from:?}"))? {
        let path = entry.context(|| format!("cannot read {from:?}"))?.path();
        if let (true, Some(name)) = (path.is_file(), path.file_name()) {
            fs::copy(&path, to.join(name)).context(|| format!("cannot copy {path:?}"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_changes_the_folder_and_a_script_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let of = || fingerprint(folder.path()).unwrap();
        let nothing = of();
        fs::write(folder.path().join("runner.mjs"), "x").unwrap();
        assert_eq!(of(), nothing);
        fs::write(folder.path().join("requirements.txt"), "mcp==2.3.0").unwrap();
        assert_ne!(of(), nothing);
    }

    #[test]
    fn files_are_copied_and_folders_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("node_modules")).unwrap();
        fs::create_dir(&to).unwrap();
        fs::write(from.join(".npmrc"), "fund=false").unwrap();
        copy_files(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join(".npmrc")).unwrap(), "fund=false");
        assert!(!to.join("node_modules").exists());
    }

    fn kit(folder: &Path) -> Kit {
        Kit {
            folder: folder.to_owned(),
            _lock: File::create(folder.join("lock")).unwrap(),
        }
    }

    #[test]
    fn a_complete_part_is_not_installed_again() {
        let folder = tempfile::tempdir().unwrap();
        let kit = kit(folder.path());
        let mut installs = 0;
        for _ in 0..2 {
            let part = kit.part("shell", "/bin/true", || {
                installs += 1;
                Ok(())
            });
            assert!(matches!(part, Ok(Installation::Ready(_))));
        }
        assert_eq!(installs, 1);
    }

    #[test]
    fn part_that_does_not_run_has_no_marker() {
        let folder = tempfile::tempdir().unwrap();
        let kit = kit(folder.path());
        let part = kit.part("shell", "/bin/false", || Ok(())).unwrap();
        assert!(matches!(part, Installation::Unavailable(_)));
        assert!(!folder.path().join(".shell-complete").exists());
    }
}
