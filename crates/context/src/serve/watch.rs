//! Watches the directories of a cache for changes.

use crate::files::dir_handle::DirHandle;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::{Errno, retry_on_intr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// The events that can change files which the format protects.
const CHANGES: WatchFlags = WatchFlags::MODIFY
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVE)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

/// A watch on the two directories of a cache.
#[derive(Debug)]
pub(crate) struct DirectoryWatch(OwnedFd);

impl DirectoryWatch {
    /// Starts to watch. Fails without `/proc`, or if the limit of watches is reached.
    pub(crate) fn over(cache: &DirHandle, documents: &DirHandle) -> Result<DirectoryWatch, Errno> {
        let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        for directory in [cache, documents] {
            // By handle: the path may lead to another directory by now.
            let path = format!("/proc/self/fd/{}", directory.as_fd().as_raw_fd());
            inotify::add_watch(&queue, path, CHANGES)?;
        }
        Ok(DirectoryWatch(queue))
    }

    /// Returns true if there were no events since the last call. The event of a system call is readable
    /// when that call returns; an overflow of the queue is an event too.
    pub(crate) fn is_quiet(&self) -> bool {
        let mut events = [0u8; 4096];
        let mut quiet = true;
        loop {
            match retry_on_intr(|| rustix::io::read(&self.0, &mut events)) {
                Ok(0) | Err(Errno::AGAIN) => return quiet,
                Ok(_) => quiet = false,
                Err(_) => return false,
            }
        }
    }
}
