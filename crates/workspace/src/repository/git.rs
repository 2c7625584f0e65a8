//! Runs git on a repository that nobody trusts.
//!
//! Git sees only the objects, or the index, of that repository: its directory is one of ours, with our
//! configuration. So no configuration, hook, replacement, graft or filter of the repository has any effect,
//! and git starts no other program and no connection. Time, memory and output are bounded.

use super::error::RepositoryError;
use super::root_commits::{MAX_ROOT_COMMITS, RootCommits};
use crate::plan::durable::{self, IfExists};
use candor_disk::{Disk, DiskFile, Open, RealDisk};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The time after which git is ended.
pub const GIT_TIMEOUT: Duration = Duration::from_secs(30);

/// The address space of git, in bytes. Windows of pack files are kept smaller, see [`CONFIG`].
const GIT_MEMORY: u64 = 2 << 30;

/// The maximum size of a list of files, in bytes.
pub const MAX_FILE_LIST: usize = 16 * 1024 * 1024;

/// The interval at which the end of git is looked for after the end of its output.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// The directory of our own, below [`CACHE_DIR`](super::cache::CACHE_DIR).
const GIT_DIR: &str = "repository/git";

const DIR_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// The limits of pack files in memory keep the address space of git small.
const CONFIG: &str = "[core]\n\tbare = true\n\tpackedGitWindowSize = 32m\n\tpackedGitLimit = 256m\n\trepositoryformatversion = ";
const SHA1: &str = "0\n";
const SHA256: &str = "1\n[extensions]\n\tobjectFormat = sha256\n";

/// A program `git` and a directory of our own for it.
pub(super) struct Git {
    program: PathBuf,
    directory: PathBuf,
    timeout: Duration,
}

/// Finds git in the directories of `path`. Relative ones do not count, nor do those in the workspace, where an
/// agent could put a program of that name.
pub(super) fn find_program(path: &str, root: &Path) -> Option<PathBuf> {
    let trusted = |dir: &Path| dir.is_absolute() && !dir.starts_with(root);
    let programs = std::env::split_paths(path).map(|dir| dir.join("git"));
    let mut usable = programs.filter(|program| {
        let real = std::fs::canonicalize(program).unwrap_or_default();
        let is_program = std::fs::metadata(&real)
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
        is_program && trusted(program) && trusted(&real)
    });
    usable.next()
}

impl Git {
    /// Prepares our own directory, for hashes of the length of `commit`.
    pub(super) fn new(
        program: PathBuf,
        state: &RealDisk,
        state_path: &Path,
        commit: Option<&str>,
        timeout: Duration,
    ) -> io::Result<Git> {
        let format = match commit.map(str::len) {
            Some(64) => SHA256,
            _ => SHA1,
        };
        let config = format!("{CONFIG}{format}");
        let files = [("HEAD", "ref: refs/heads/none\n"), ("config", &config)];
        let is_written = |(name, text): &(&str, &str)| {
            let file = state.open(format!("{GIT_DIR}/{name}"), Open::Read);
            file.and_then(|file| file.read_all(text.len()))
                .is_ok_and(|bytes| bytes == text.as_bytes())
        };
        // The files come after the directories, so nothing is missing if they are there.
        if !files.iter().all(is_written) {
            durable::ensure_dir(state, "", super::cache::CACHE_DIR, DIR_MODE)?;
            durable::ensure_dir(state, super::cache::CACHE_DIR, GIT_DIR, DIR_MODE)?;
            for dir in ["objects", "refs"] {
                durable::ensure_dir(state, GIT_DIR, &format!("{GIT_DIR}/{dir}"), DIR_MODE)?;
            }
            for (name, text) in files {
                let text = text.as_bytes();
                durable::write(state, GIT_DIR, name, FILE_MODE, text, IfExists::Replace)?;
            }
        }
        Ok(Git {
            program,
            directory: state_path.join(GIT_DIR),
            timeout,
        })
    }

    /// Returns the root commits that a commit reaches.
    pub(super) fn root_commits(
        &self,
        common: &Path,
        commit: &str,
    ) -> Result<RootCommits, RepositoryError> {
        let most = format!("--max-count={}", MAX_ROOT_COMMITS + 1);
        let mut command = self.command(common);
        command.args(["rev-list", "--max-parents=0", &most, commit, "--"]);
        let output = run(command, self.timeout, (MAX_ROOT_COMMITS + 1) * 65)?;
        let text = std::str::from_utf8(&output.bytes).unwrap_or_default();
        let hashes: Vec<String> = text.lines().map(str::to_owned).collect();
        if hashes.len() > MAX_ROOT_COMMITS || output.cut {
            return Err(RepositoryError::TooManyRoots);
        }
        let unexpected =
            || RepositoryError::Git(String::from("its output is not a list of hashes"));
        RootCommits::from_unsorted(hashes).ok_or_else(unexpected)
    }

    /// Returns the tracked files at or below these paths, separated by NUL, and true if there are more.
    pub(super) fn tracked_files(
        &self,
        common: &Path,
        index: &Path,
        paths: &[PathBuf],
    ) -> Result<(Vec<u8>, bool), RepositoryError> {
        let mut command = self.command(common);
        command
            .env("GIT_INDEX_FILE", index)
            .args(["ls-files", "-z", "--cached", "--"])
            .args(paths);
        let output = run(command, self.timeout, MAX_FILE_LIST)?;
        Ok((output.bytes, output.cut))
    }

    fn command(&self, common: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .env("GIT_DIR", &self.directory)
            .env("GIT_OBJECT_DIRECTORY", common.join("objects"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_GRAFT_FILE", "/dev/null")
            // Missing objects are not fetched.
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_ALLOW_PROTOCOL", "none")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("LC_ALL", "C")
            .args(["--no-pager", "--no-replace-objects", "--literal-pathspecs"])
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        command
    }
}

/// The output of a process that succeeded.
#[derive(Debug)]
struct Output {
    bytes: Vec<u8>,
    /// True if there was more.
    cut: bool,
}

/// A child process that is ended when this is dropped.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        // It may have ended already.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Runs a command and returns at most `most` bytes of its output.
fn run(mut command: Command, timeout: Duration, most: usize) -> Result<Output, RepositoryError> {
    let failed = |error: io::Error| RepositoryError::Git(error.to_string());
    let until = Instant::now() + timeout;
    let mut child = Guard(command.spawn().map_err(failed)?);
    limit(&child.0, timeout).map_err(failed)?;
    let mut bytes = Vec::new();
    let mut cut = false;
    if let Some(mut output) = child.0.stdout.take() {
        let mut buffer = vec![0; 64 * 1024];
        while !cut {
            let left = until.saturating_duration_since(Instant::now());
            let pause = Timespec::try_from(left).unwrap_or_default();
            let mut watched = [PollFd::new(&output, PollFlags::IN)];
            match poll(&mut watched, Some(&pause)) {
                Ok(0) => return Err(RepositoryError::TimedOut(timeout)),
                Ok(_) => match output.read(&mut buffer).map_err(failed)? {
                    0 => break,
                    read => bytes.extend_from_slice(&buffer[..read]),
                },
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(failed(error.into())),
            }
            cut = bytes.len() > most;
        }
    }
    if cut {
        bytes.truncate(most);
        return Ok(Output { bytes, cut });
    }
    loop {
        match child.0.try_wait().map_err(failed)? {
            Some(status) if status.success() => return Ok(Output { bytes, cut }),
            Some(status) => return Err(RepositoryError::Git(status.to_string())),
            None if Instant::now() >= until => return Err(RepositoryError::TimedOut(timeout)),
            None => std::thread::sleep(LOOK_AGAIN),
        }
    }
}

/// Bounds the memory and the processor time of a child, also if this process dies.
fn limit(child: &Child, timeout: Duration) -> io::Result<()> {
    let id = i32::try_from(child.id()).ok();
    let Some(id) = id.and_then(Pid::from_raw) else {
        return Ok(());
    };
    let limits = [
        (Resource::As, GIT_MEMORY),
        (Resource::Cpu, timeout.as_secs().max(1)),
        (Resource::Core, 0),
        (Resource::Fsize, 0),
    ];
    for (resource, most) in limits {
        let both = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        match prlimit(Some(id), resource, both) {
            // It has ended already.
            Err(rustix::io::Errno::SRCH) => return Ok(()),
            // Its limit is lower than this one.
            Err(rustix::io::Errno::PERM) => {}
            limited => {
                limited?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(text: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", text]).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        command
    }

    #[test]
    fn output_and_time_are_bounded() {
        let limit = Duration::from_secs(20);
        let output = run(shell("echo ab"), limit, 100).unwrap();
        assert_eq!((output.bytes.as_slice(), output.cut), (&b"ab\n"[..], false));
        let output = run(shell("while :; do echo abc; done"), limit, 5).unwrap();
        assert_eq!((output.bytes.len(), output.cut), (5, true));
        let failed = run(shell("exit 3"), limit, 5).unwrap_err();
        assert!(matches!(failed, RepositoryError::Git(why) if why.contains('3')));
        let short = Duration::from_millis(50);
        for hanging in ["exec sleep 60", "exec >&-; exec sleep 60"] {
            let started = Instant::now();
            let error = run(shell(hanging), short, 5).unwrap_err();
            assert_eq!(error, RepositoryError::TimedOut(short), "{hanging}");
            assert!(started.elapsed() < limit, "{hanging}");
        }
        let missing = run(Command::new("/nonexistent"), limit, 5);
        assert!(matches!(missing, Err(RepositoryError::Git(_))));
    }

    #[test]
    fn program_in_the_workspace_is_not_run() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let (root, other) = (dir.join("ws"), dir.join("bin"));
        for place in [&root, &other] {
            std::fs::create_dir(place).unwrap();
            std::fs::write(place.join("git"), "").unwrap();
        }
        let search = |path: &str| find_program(path, &root);
        let path = format!(":ws:{}:{}", root.display(), other.display());
        assert_eq!(search(&path), None);
        for place in [&root, &other] {
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(place.join("git"), mode).unwrap();
        }
        assert_eq!(search(&path), Some(other.join("git")));
        let linked = dir.join("linked");
        std::fs::create_dir(&linked).unwrap();
        std::os::unix::fs::symlink(root.join("git"), linked.join("git")).unwrap();
        assert_eq!(search(linked.to_str().unwrap()), None);
    }
}
