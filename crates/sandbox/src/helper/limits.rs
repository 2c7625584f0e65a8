//! The resource limits of a command, enforced by the kernel.

use crate::spec::Limits;
use rustix::process::{Resource, Rlimit, getrlimit, getuid, setrlimit};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

/// Limits this process and its descendants. Limits that are already tighter stay. In a user namespace the
/// kernel counts only the processes in it; else it counts `tasks` too.
pub(super) fn set(limits: &Limits, tasks: u64) -> io::Result<()> {
    let processes = tasks.saturating_add(limits.processes);
    for (resource, limit) in [
        (Resource::Core, 0),
        (Resource::Nproc, processes),
        // Memory that can be written: address space alone is reserved by the terabyte.
        (Resource::Data, limits.memory),
        (Resource::Fsize, limits.file),
        (Resource::Nofile, limits.files),
    ] {
        let before = getrlimit(resource);
        let limit = before.maximum.map_or(limit, |maximum| maximum.min(limit));
        let both = Rlimit {
            current: Some(limit),
            maximum: Some(limit),
        };
        setrlimit(resource, both)?;
    }
    Ok(())
}

/// Returns the number of threads of this user on the machine.
pub(super) fn tasks_of_user() -> u64 {
    let user = getuid().as_raw();
    let Ok(processes) = fs::read_dir("/proc") else {
        return 0;
    };
    processes
        .flatten()
        .filter(|entry| {
            entry
                .file_name()
                .as_encoded_bytes()
                .iter()
                .all(u8::is_ascii_digit)
        })
        .filter(|entry| {
            entry
                .metadata()
                .is_ok_and(|metadata| metadata.uid() == user)
        })
        .map(|entry| {
            let threads = entry.path().join("task").metadata();
            // A directory has two links more than it has subdirectories.
            threads.map_or(1, |metadata| metadata.nlink().saturating_sub(2).max(1))
        })
        .sum()
}
