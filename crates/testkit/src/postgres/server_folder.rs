//! The folder of a server: its socket and its cluster, removed with it or by the next one.
//!
//! In memory, or else below the temporary folder, one folder a user holds what is made once, and the
//! folders of running servers. A lock guards the making. Each server's folder has a lock of its own:
//! what nobody holds any more was left by a test that was killed.

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

/// Files in memory: a cluster is a thousand of them, which a disk takes a second to make.
const MEMORY: &str = "/dev/shm";

/// How much room there has to be in memory, in bytes; containers often have next to none.
const ROOM: u64 = 2 << 30;

/// A longer folder leaves no room for the name of a socket below it.
const LONGEST: usize = 60;

/// The beginning of the names of servers' folders.
const RUN: &str = "run-";

/// A file in a server's folder that its test holds locked.
const HELD: &str = "held";

/// A server's folder with its cluster, removed with this value.
#[derive(Debug)]
pub(super) struct ServerFolder {
    run: TempDir,
    _held: File,
}

impl ServerFolder {
    /// A new cluster, ready to start.
    pub(super) fn new(programs: &Path, account: ServerAccount) -> Result<ServerFolder, Error> {
        let base = base()?;
        let lock = base.join("lock");
        let guard = locked(&lock)?;
        sweep(&base);
        let template = ClusterTemplate::in_base(&base, programs, account, COPIED)?;
        if !template.exists() {
            template.make()?;
        }
        let folder = ServerFolder::in_use(&base, account)?;
        drop(guard);
        if folder.fill(&template)? {
            return Ok(folder);
        }
        // Something has cleared old files away, and somebody may be mending that already.
        let _guard = locked(&lock)?;
        if folder.fill(&template)? {
            return Ok(folder);
        }
        template.make()?;
        if folder.fill(&template)? {
            return Ok(folder);
        }
        Err(Error::NotMade("files of it vanish".into()))
    }

    /// Where the sockets are.
    pub(super) fn path(&self) -> &Path {
        self.run.path()
    }

    /// Where the cluster is.
    pub(super) fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    fn in_use(base: &Path, account: ServerAccount) -> Result<ServerFolder, Error> {
        let run = tempfile::Builder::new().prefix(RUN).tempdir_in(base);
        let run = run.map_err(doing("cannot make a folder in", base))?;
        let held = locked(&run.path().join(HELD))?;
        account.own(run.path())?;
        // A client may be any user; the password is what lets it in.
        open(run.path())?;
        Ok(ServerFolder { run, _held: held })
    }

    /// Copies a cluster, and says whether all of it was there.
    fn fill(&self, template: &ClusterTemplate<'_>) -> Result<bool, Error> {
        let data = self.data();
        if data.exists() {
            fs::remove_dir_all(&data).map_err(doing("cannot remove", &data))?;
        }
        template.copy(&data)
    }
}

/// The cluster that is kept below this folder, made where it is missing.
pub(super) fn kept(
    folder: &Path,
    programs: &Path,
    account: ServerAccount,
) -> Result<PathBuf, Error> {
    fs::create_dir_all(folder).map_err(doing("cannot make", folder))?;
    account.own(folder)?;
    open(folder)?;
    let template = ClusterTemplate::in_base(folder, programs, account, KEPT)?;
    if !template.exists() {
        template.make()?;
    }
    Ok(template.data())
}

/// Where files may be that need not outlive anything.
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

/// Whether the server's account gets through a folder.
fn is_open(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|folder| folder.mode() & 0o001 != 0)
}

/// Our own folder for all of this. A temporary folder is everybody's: one that another user made
/// in our name is not used.
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
    open(&base)?;
    Ok(base)
}

/// Lets everybody in, whatever the umask says: the server's account is another than ours.
fn open(folder: &Path) -> Result<(), Error> {
    let everybody = Permissions::from_mode(0o755);
    fs::set_permissions(folder, everybody).map_err(doing("cannot open", folder))
}

/// Removes what tests left that did not come to their end.
fn sweep(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(RUN) {
            continue;
        }
        let held = File::open(entry.path().join(HELD));
        if held.map_or(true, |held| held.try_lock().is_ok()) {
            end_server(&entry.path());
            // Whoever cannot remove it now leaves it to the next.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Kills a server that outlived its test: it stood still, or nothing here has it die with us.
fn end_server(run: &Path) {
    let data = run.join("data");
    let noted = fs::read_to_string(data.join("postmaster.pid")).unwrap_or_default();
    let postmaster = noted.lines().next().and_then(|line| line.parse().ok());
    let Some(postmaster) = postmaster else { return };
    // The number may be another process's by now; where it works tells.
    let works_in = fs::read_link(format!("/proc/{postmaster}/cwd"));
    if works_in.is_ok_and(|folder| folder == data) {
        ServerProcesses::of(postmaster).kill();
    }
}

fn locked(path: &Path) -> Result<File, Error> {
    let file = File::create(path).map_err(doing("cannot make", path))?;
    file.lock().map_err(doing("cannot lock", path))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_holds_is_swept_and_what_somebody_holds_stays() {
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
