//! A program on a small file system of its own, for tests of a full disk.

use crate::skip_for_kernel;
use std::path::Path;
use std::process::{Command, Stdio};

const UNSHARE: [&str; 3] = ["--user", "--map-root-user", "--mount"];

/// Mounts the file system over the directory, with what the directory holds. The working directory is
/// looked up again: it may be covered by the mount.
const SCRIPT: &str = "
    cp -a \"$0\" \"$0.kept\" && mount -t tmpfs -o size=$1 none \"$0\" &&
    cp -a \"$0.kept/.\" \"$0\" && rm -r \"$0.kept\" && shift && cd \"$PWD\" && exec \"$@\"";

/// Returns `command`, run with a file system of `bytes` bytes over `directory`. Only the command sees
/// that file system; other processes reach it through `/proc/PID/root`.
///
/// Returns `None`, and records the test as skipped, if the kernel does not permit such a mount.
pub fn on_small_disk(command: &Command, directory: &Path, bytes: usize) -> Option<Command> {
    if !can_mount() {
        skip_for_kernel("the kernel does not permit a file system of our own");
        return None;
    }
    let mut small = Command::new("unshare");
    small
        .args(UNSHARE)
        .args(["sh", "-c", SCRIPT])
        .arg(directory)
        .arg(bytes.to_string())
        .arg(command.get_program());
    Some(crate::user::with_settings_of(command, small))
}

fn can_mount() -> bool {
    let mut probe = Command::new("unshare");
    probe
        .args(UNSHARE)
        .args(["mount", "-t", "tmpfs", "none", "/mnt"])
        .stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}
