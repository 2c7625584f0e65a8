//! The bare sandbox: six new namespaces with a fresh `/proc`, and `true` in them. Nothing is hidden,
//! filtered, bounded or recorded.

use nix::sched::{CloneFlags, unshare};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{getegid, geteuid};
use rustix::thread::{
    CapabilitySet, capabilities, configure_capability_in_ambient_set, set_capabilities,
};
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The subcommand that [`process_one`] runs as.
pub(crate) const PROCESS_ONE: &str = "bare-process-one";

/// Makes the namespaces and starts this program again as process 1 of them.
pub(crate) fn run() -> io::Result<()> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    unshare(
        CloneFlags::CLONE_NEWUSER
            | CloneFlags::CLONE_NEWNS
            | CloneFlags::CLONE_NEWPID
            | CloneFlags::CLONE_NEWIPC
            | CloneFlags::CLONE_NEWNET
            | CloneFlags::CLONE_NEWUTS,
    )?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1\n"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1\n"))?;
    // Only root keeps the capability to mount without this.
    let mut sets = capabilities(None)?;
    sets.inheritable |= CapabilitySet::SYS_ADMIN;
    set_capabilities(None, sets)?;
    configure_capability_in_ambient_set(CapabilitySet::SYS_ADMIN, true)?;
    let status = Command::new("/proc/self/exe").arg(PROCESS_ONE).status()?;
    match status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("process 1 ended with {status}"))),
    }
}

/// Mounts `/proc` and becomes `true`. Returns only if that fails.
pub(crate) fn process_one() -> io::Result<()> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None)?;
    Err(Command::new("true").exec())
}
