//! Moves this process into namespaces of its own.

use crate::level::{Missing, Namespace, Part};
use nix::sched::{CloneFlags, unshare};
use rustix::process::{getegid, geteuid};
use std::fs;
use std::io;

/// Enters a namespace. Children of this process enter the PID namespace, not the process itself.
pub(super) fn enter(namespace: Namespace) -> Result<(), Missing> {
    let (flag, part) = match namespace {
        Namespace::User => (CloneFlags::CLONE_NEWUSER, Part::User),
        Namespace::Mount => (CloneFlags::CLONE_NEWNS, Part::Mount),
        Namespace::Pid => (CloneFlags::CLONE_NEWPID, Part::Pid),
        Namespace::Ipc => (CloneFlags::CLONE_NEWIPC, Part::Ipc),
        Namespace::Net => (CloneFlags::CLONE_NEWNET, Part::Net),
        Namespace::Uts => (CloneFlags::CLONE_NEWUTS, Part::Uts),
    };
    let ids = (geteuid().as_raw(), getegid().as_raw());
    let what = format!("making a {} namespace", namespace.name());
    unshare(flag).map_err(|error| missing(part, &what, &error.into()))?;
    if namespace == Namespace::User {
        map_user(ids).map_err(|error| missing(part, "mapping the user to itself", &error))?;
    }
    Ok(())
}

/// Maps user and group to themselves. The kernel asks for `setgroups` to be given up first.
fn map_user((user, group): (u32, u32)) -> io::Result<()> {
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1\n"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1\n"))
}

/// Returns a part that cannot be had, with the step that failed and the name of the error.
pub(super) fn missing(part: Part, step: &str, error: &io::Error) -> Missing {
    let code = error.raw_os_error().map(nix::errno::Errno::from_raw);
    Missing {
        part,
        why: match code {
            Some(code) => format!("{step} failed with {code:?} ({})", code.desc()),
            None => format!("{step} failed: {error}"),
        },
    }
}
