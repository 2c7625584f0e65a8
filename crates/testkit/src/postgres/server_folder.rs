//! The folder of a server: its socket and its cluster. It is removed with the server, or by the
//! next start.
//!
//! In memory, or else below the temporary folder, there is one folder for each user. It contains
//! the template and the folders of running servers. A lock guards the creation of the template.
//! Each server's folder has a lock of its own: a folder whose lock is free was left by a test that
//! was killed.

use super::Error;
use super::cluster_template::{COPIED, ClusterTemplate, KEPT};
use super::error::doing;
use super::server_account::ServerAccount;
use super::server_processes::ServerProcesses;
use rustix::fs::{StatVfs, statvfs};
use rustix::process::geteuid;
use std::fs::{self, File, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A file system in memory: a cluster has a thousand files, which take a second to create on a
/// disk.
const MEMORY: &str = "/dev/shm";

/// The free bytes that are required in memory; containers often have hardly any.
const ROOM: u64 = 2 << 30;

/// A longer path leaves no room for the name of a socket.
const LONGEST: usize = 60;

/// The prefix of the names of servers' folders.
const RUN: &str = "run-";

/// A file in a server's folder that the test keeps locked.
const HELD: &str = "held";

/// A server's folder with its cluster. Dropping it removes the folder.
#[derive(Debug)]
pub(super) struct ServerFolder {
    run: TempDir,
    _held: File,
}

impl ServerFolder {
    /// Creates a cluster that is ready to start.
    pub(super) fn new(programs: &Path, account: ServerAccount) -> Result<ServerFolder, Error> {
        let base = base()?;
        let lock_file = base.join("lock");
        let guard = lock(&lock_file)?;
        sweep(&base);
        let template = ClusterTemplate::in_base(&base, programs, account, COPIED)?;
        if !template.exists() {
            template.create()?;
        }
        let folder = ServerFolder::in_use(&base, account)?;
        drop(guard);
        if folder.fill(&template)? {
            return Ok(folder);
        }
        // Files of the template were deleted, and another process may be creating it again.
        let _guard = lock(&lock_file)?;
        if folder.fill(&template)? {
            return Ok(folder);
        }
        template.create()?;
        if folder.fill(&template)? {
            return Ok(folder);
        }
        Err(Error::NotMade("files of it vanish".into()))
    }

    /// Returns the folder of the sockets.
    pub(super) fn path(&self) -> &Path {
        self.run.path()
    }

    /// Returns the folder of the cluster.
    pub(super) fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    fn in_use(base: &Path, account: ServerAccount) -> Result<ServerFolder, Error> {
        let run = tempfile::Builder::new().prefix(RUN).tempdir_in(base);
        let run = run.map_err(doing("cannot make a folder in", base))?;
        let held = lock(&run.path().join(HELD))?;
        account.give(run.path())?;
        // A client may be any user; it needs the password.
        open_to_all(run.path())?;
        Ok(ServerFolder { run, _held: held })
    }

    /// Copies a cluster. Returns false if files of the template are missing.
    fn fill(&self, template: &ClusterTemplate<'_>) -> Result<bool, Error> {
        let data = self.data();
        if data.exists() {
            fs::remove_dir_all(&data).map_err(doing("cannot remove", &data))?;
        }
        template.copy(&data)
    }
}

/// Returns the cluster that is kept below this folder. Creates it if it is missing.
pub(super) fn kept_cluster(
    folder: &Path,
    programs: &Path,
    account: ServerAccount,
) -> Result<PathBuf, Error> {
    fs::create_dir_all(folder).map_err(doing("cannot make", folder))?;
    account.give(folder)?;
    open_to_all(folder)?;
    let template = ClusterTemplate::in_base(folder, programs, account, KEPT)?;
    if !template.exists() {
        template.create()?;
    }
    Ok(template.data())
}

/// Returns a folder for short-lived files.
pub(super) fn temporary() -> PathBuf {
    let roomy = |room: StatVfs| room.f_bavail.saturating_mul(room.f_frsize) >= ROOM;
    if statvfs(MEMORY).is_ok_and(roomy) {
        return MEMORY.into();
    }
    let named = std::env::temp_dir();
    if named.as_os_str().len() <= LONGEST && named.ancestors().all(is_open) {
        return named;
    }
    "/tmp".into()
}

/// Returns true if the server's account can enter a folder.
fn is_open(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|folder| folder.mode() & 0o001 != 0)
}

/// Returns our own folder. A folder of that name that belongs to another user is refused.
fn base() -> Result<PathBuf, Error> {
    let us = geteuid().as_raw();
    let temporary = temporary();
    let temporary = fs::canonicalize(&temporary).map_err(doing("cannot find", &temporary))?;
    let base = temporary.join(format!("candor-postgres-{us}"));
    match fs::create_dir(&base) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(doing("cannot make", &base)(error));
        }
        _ => {}
    }
    let there = fs::symlink_metadata(&base).map_err(doing("cannot look at", &base))?;
    if !there.is_dir() || there.uid() != us {
        let whose = format!("{} is not a folder of ours", base.display());
        return Err(Error::NotMade(whose));
    }
    open_to_all(&base)?;
    Ok(base)
}

/// Lets every user enter, whatever the umask is: the server has another account.
fn open_to_all(folder: &Path) -> Result<(), Error> {
    let everybody = Permissions::from_mode(0o755);
    fs::set_permissions(folder, everybody).map_err(doing("cannot open", folder))
}

/// Removes the folders of tests that were killed.
fn sweep(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(RUN) {
            continue;
        }
        let held = File::open(entry.path().join(HELD));
        if held.map_or(true, |held| held.try_lock().is_ok()) {
            end_server(&entry.path());
            // A folder that cannot be removed now is left to the next start.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Kills a server that outlived its test: it was paused, or `setpriv` is not installed.
fn end_server(run: &Path) {
    let data = run.join("data");
    let noted = fs::read_to_string(data.join("postmaster.pid")).unwrap_or_default();
    let postmaster = noted.lines().next().and_then(|line| line.parse().ok());
    let Some(postmaster) = postmaster else { return };
    // The id may belong to another process by now; its working directory identifies it.
    let works_in = fs::read_link(format!("/proc/{postmaster}/cwd"));
    if works_in.is_ok_and(|folder| folder == data) {
        ServerProcesses::of(postmaster).kill();
    }
}

fn lock(path: &Path) -> Result<File, Error> {
    let file = File::create(path).map_err(doing("cannot make", path))?;
    file.lock().map_err(doing("cannot lock", path))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_with_a_free_lock_are_removed() {
        let base = tempfile::tempdir().unwrap();
        let account = ServerAccount::of_server();
        let held = ServerFolder::in_use(base.path(), account).unwrap();
        let ServerFolder { run, _held } = ServerFolder::in_use(base.path(), account).unwrap();
        let left = run.keep();
        sweep(base.path());
        assert!(left.exists() && held.path().exists());
        drop(_held);
        sweep(base.path());
        assert!(!left.exists() && held.path().exists());
    }
}
