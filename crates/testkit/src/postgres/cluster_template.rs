//! The cluster that every server starts as a copy of: made once for what decides it, then kept.

use super::error::doing;
use super::server_account::ServerAccount;
use super::{Error, PASSWORD, USER};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use xxhash_rust::xxh3::xxh3_64;

/// What every cluster is made with.
const MADE_WITH: [&str; 3] = ["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"];

/// What else one is made with that is copied and thrown away: WAL in small pieces is quick to copy.
pub(super) const COPIED: &[&str] = &["--no-sync", "--wal-segsize=1"];

/// What else one is made with that is kept.
pub(super) const KEPT: &[&str] = &[];

/// Where a cluster is below its folder.
const DATA: &str = "data";

/// Beside a made cluster: how many files it has.
const COUNT: &str = "files";

/// A made cluster, or the place for it.
#[derive(Debug)]
pub(super) struct ClusterTemplate<'a> {
    programs: &'a Path,
    account: ServerAccount,
    made_with: &'static [&'static str],
    place: PathBuf,
}

impl ClusterTemplate<'_> {
    /// The place for it in `base`, named after all that decides what a cluster looks like.
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
            place: base.join(name),
        })
    }

    /// Where the cluster itself is, once it is made.
    pub(super) fn data(&self) -> PathBuf {
        self.place.join(DATA)
    }

    /// Whether it was ever made.
    pub(super) fn exists(&self) -> bool {
        self.place.exists()
    }

    /// Makes it beside its place, and moves it there when it is whole.
    pub(super) fn make(&self) -> Result<(), Error> {
        let new = self.place.with_extension("new");
        for old in [&self.place, &new] {
            if old.exists() {
                fs::remove_dir_all(old).map_err(doing("cannot remove", old))?;
            }
        }
        fs::create_dir(&new).map_err(doing("cannot make", &new))?;
        self.account.own(&new)?;
        self.initialize(&new)?;
        let files = count(&new.join(DATA))?;
        fs::write(new.join(COUNT), files.to_string()).map_err(doing("cannot write in", &new))?;
        fs::rename(&new, &self.place).map_err(doing("cannot move", &new))
    }

    fn initialize(&self, new: &Path) -> Result<(), Error> {
        let password = new.join("password");
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600);
        file.open(&password)
            .and_then(|mut file| file.write_all(PASSWORD.as_bytes()))
            .map_err(doing("cannot write", &password))?;
        self.account.own(&password)?;
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
        self.account.run(&mut command);
        let said = command.output().map_err(doing("cannot run", &initdb))?;
        if !said.status.success() {
            let why = String::from_utf8_lossy(&said.stderr).into_owned();
            return Err(Error::NotMade(why));
        }
        fs::remove_file(&password).map_err(doing("cannot remove", &password))
    }

    /// Copies the cluster, and says whether all of it was there.
    pub(super) fn copy(&self, to: &Path) -> Result<bool, Error> {
        let wanted = match fs::read_to_string(self.place.join(COUNT)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            wanted => wanted.map_err(doing("cannot read in", &self.place))?,
        };
        match copy(&self.data(), to, self.account) {
            Ok(files) => Ok(wanted == files.to_string()),
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

/// Copies a folder for its new owner, and gives how many files there were.
fn copy(from: &Path, to: &Path, account: ServerAccount) -> Result<usize, Error> {
    let made = DirBuilder::new().mode(0o700).create(to);
    made.map_err(doing("cannot make", to))?;
    account.own(to)?;
    let mut files = 0;
    for entry in entries(from)? {
        let place = to.join(entry.file_name().unwrap_or_default());
        if entry.is_dir() {
            files += copy(&entry, &place, account)?;
        } else {
            fs::copy(&entry, &place).map_err(doing("cannot copy", &entry))?;
            account.own(&place)?;
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
    fn a_cluster_that_lost_a_file_is_not_whole_until_it_is_made_again() {
        let Some(programs) = programs::folder() else {
            return crate::skip(Error::Missing);
        };
        let base = tempfile::tempdir_in(temporary()).unwrap();
        // The server's account has to look into it.
        fs::set_permissions(base.path(), Permissions::from_mode(0o755)).unwrap();
        let account = ServerAccount::of_server();
        let template = ClusterTemplate::in_base(base.path(), &programs, account, COPIED).unwrap();
        let copies = tempfile::tempdir_in(temporary()).unwrap();
        let copied = |name: &str| template.copy(&copies.path().join(name)).unwrap();
        assert!(!template.exists() && !copied("none"));
        template.make().unwrap();
        assert!(template.exists() && copied("first"));
        fs::remove_file(template.place.join("data/base/1/PG_VERSION")).unwrap();
        assert!(!copied("second"));
        fs::remove_dir_all(template.place.join("data/base/1")).unwrap();
        assert!(!copied("third"));
        fs::remove_dir_all(template.place.join("data")).unwrap();
        assert!(!copied("fourth"));
        template.make().unwrap();
        assert!(copied("fifth"));
        assert!(copies.path().join("fifth/base/1/PG_VERSION").exists());
        assert_eq!(entries(base.path()).unwrap(), [template.place]);
    }
}
