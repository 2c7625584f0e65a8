//! The cluster that every server is a copy of: created once for each set of options, then kept.

use super::error::doing;
use super::server_account::ServerAccount;
use super::{Error, PASSWORD, USER};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use xxhash_rust::xxh3::xxh3_64;

/// The options of every cluster.
const MADE_WITH: [&str; 3] = ["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"];

/// Further options of a cluster that is copied and thrown away: small WAL segments are quick to
/// copy.
pub(super) const COPIED: &[&str] = &["--no-sync", "--wal-segsize=1"];

/// Further options of a cluster that is kept.
pub(super) const KEPT: &[&str] = &[];

/// The folder of the cluster below the template.
const DATA: &str = "data";

/// The file beside the cluster that contains the number of its files.
const COUNT: &str = "files";

/// A template in its folder, created or not.
#[derive(Debug)]
pub(super) struct ClusterTemplate<'a> {
    programs: &'a Path,
    account: ServerAccount,
    made_with: &'static [&'static str],
    folder: PathBuf,
}

impl ClusterTemplate<'_> {
    /// Returns the template in `base`, named after everything that decides its content.
    pub(super) fn in_base<'a>(
        base: &Path,
        programs: &'a Path,
        account: ServerAccount,
        made_with: &'static [&'static str],
    ) -> Result<ClusterTemplate<'a>, Error> {
        let postgres = programs.join("postgres");
        let version = Command::new(&postgres).arg("--version").output();
        let version = version.map_err(doing("cannot run", &postgres))?.stdout;
        let settings = format!(
            "{:?}",
            (MADE_WITH, made_with, USER, PASSWORD, account, version)
        );
        let name = format!("made-{:016x}", xxh3_64(settings.as_bytes()));
        Ok(ClusterTemplate {
            programs,
            account,
            made_with,
            folder: base.join(name),
        })
    }

    /// Returns the folder of the cluster.
    pub(super) fn data(&self) -> PathBuf {
        self.folder.join(DATA)
    }

    /// Returns true if it was created, even if files of it have vanished since.
    pub(super) fn exists(&self) -> bool {
        self.folder.exists()
    }

    /// Creates it under a temporary name, and renames it when it is complete.
    pub(super) fn create(&self) -> Result<(), Error> {
        let new = self.folder.with_extension("new");
        for old in [&self.folder, &new] {
            if old.exists() {
                fs::remove_dir_all(old).map_err(doing("cannot remove", old))?;
            }
        }
        fs::create_dir(&new).map_err(doing("cannot make", &new))?;
        self.account.give(&new)?;
        self.initialize(&new)?;
        let files = count(&new.join(DATA))?;
        fs::write(new.join(COUNT), files.to_string()).map_err(doing("cannot write in", &new))?;
        fs::rename(&new, &self.folder).map_err(doing("cannot move", &new))
    }

    fn initialize(&self, new: &Path) -> Result<(), Error> {
        let password = new.join("password");
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600);
        file.open(&password)
            .and_then(|mut file| file.write_all(PASSWORD.as_bytes()))
            .map_err(doing("cannot write", &password))?;
        self.account.give(&password)?;
        let initdb = self.programs.join("initdb");
        let mut command = Command::new(&initdb);
        command
            .args(MADE_WITH)
            .args(self.made_with)
            .args(["--username", USER, "--pgdata"])
            .arg(new.join(DATA))
            .arg("--pwfile")
            .arg(&password)
            .current_dir(new)
            .env_clear()
            .stdin(Stdio::null());
        self.account.apply_to(&mut command);
        let output = command.output().map_err(doing("cannot run", &initdb))?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(Error::NotMade(why));
        }
        fs::remove_file(&password).map_err(doing("cannot remove", &password))
    }

    /// Copies the cluster. Returns false if files of it are missing.
    pub(super) fn copy(&self, to: &Path) -> Result<bool, Error> {
        let expected = match fs::read_to_string(self.folder.join(COUNT)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            expected => expected.map_err(doing("cannot read in", &self.folder))?,
        };
        match copy(&self.data(), to, self.account) {
            Ok(files) => Ok(expected == files.to_string()),
            Err(Error::Io { cause, .. }) if cause.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn count(folder: &Path) -> Result<usize, Error> {
    let mut files = 0;
    for entry in entries(folder)? {
        files += if entry.is_dir() { count(&entry)? } else { 1 };
    }
    Ok(files)
}

/// Copies a folder for its new owner. Returns the number of files.
fn copy(from: &Path, to: &Path, account: ServerAccount) -> Result<usize, Error> {
    let made = DirBuilder::new().mode(0o700).create(to);
    made.map_err(doing("cannot make", to))?;
    account.give(to)?;
    let mut files = 0;
    for entry in entries(from)? {
        let target = to.join(entry.file_name().unwrap_or_default());
        if entry.is_dir() {
            files += copy(&entry, &target, account)?;
        } else {
            fs::copy(&entry, &target).map_err(doing("cannot copy", &entry))?;
            account.give(&target)?;
            files += 1;
        }
    }
    Ok(files)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = fs::read_dir(folder).map_err(doing("cannot read", folder))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let paths: Result<_, _> = paths.collect();
    paths.map_err(doing("cannot read", folder))
}

#[cfg(test)]
mod tests {
    use super::super::programs;
    use super::super::server_folder::temporary;
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn template_with_missing_files_is_incomplete_until_created_again() {
        let Some(programs) = programs::folder() else {
            return crate::skip(Error::Missing);
        };
        let base = tempfile::tempdir_in(temporary()).unwrap();
        // The server's account has to read it.
        fs::set_permissions(base.path(), Permissions::from_mode(0o755)).unwrap();
        let account = ServerAccount::of_server();
        let template = ClusterTemplate::in_base(base.path(), &programs, account, COPIED).unwrap();
        let copies = tempfile::tempdir_in(temporary()).unwrap();
        let copied = |name: &str| template.copy(&copies.path().join(name)).unwrap();
        assert!(!template.exists() && !copied("none"));
        template.create().unwrap();
        assert!(template.exists() && copied("first"));
        fs::remove_file(template.folder.join("data/base/1/PG_VERSION")).unwrap();
        assert!(!copied("second"));
        fs::remove_dir_all(template.folder.join("data/base/1")).unwrap();
        assert!(!copied("third"));
        fs::remove_dir_all(template.folder.join("data")).unwrap();
        assert!(!copied("fourth"));
        template.create().unwrap();
        assert!(copied("fifth"));
        assert!(copies.path().join("fifth/base/1/PG_VERSION").exists());
        assert_eq!(entries(base.path()).unwrap(), [template.folder]);
    }
}
