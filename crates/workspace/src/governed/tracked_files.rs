//! The files in git's index below some paths.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

/// The maximum size of git's answer, in bytes.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Returns the files in git's index below these paths. Returns none if the root is not a repository or there
/// is no git.
pub(crate) fn tracked_files(root: &Path, git: &str, paths: &[String]) -> BTreeSet<String> {
    list(root, git, paths).unwrap_or_default()
}

fn list(root: &Path, search_path: &str, paths: &[String]) -> Option<BTreeSet<String>> {
    let mut git = Command::new("git")
        // The configuration of the repository must not start a program.
        .args(["-c", "core.fsmonitor=false", "-c", "safe.directory=*"])
        .args(["--literal-pathspecs", "ls-files", "-z", "--cached", "--"])
        .args(paths)
        .current_dir(root)
        .env_clear()
        .env("PATH", search_path)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_CEILING_DIRECTORIES", root.parent().unwrap_or(root))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut bytes = Vec::new();
    let read = git
        .stdout
        .take()
        .map(|out| out.take(MAX_BYTES).read_to_end(&mut bytes));
    let status = git.wait();
    (matches!(read, Some(Ok(_))) && status.is_ok_and(|status| status.success())).then(|| {
        let names = bytes
            .split(|byte| *byte == 0)
            .filter(|name| !name.is_empty());
        let names = names.filter_map(|name| std::str::from_utf8(name).ok());
        names.map(String::from).collect()
    })
}
