//! Hearing of changes in a cache's directories as they happen.

use crate::files::dir_handle::DirHandle;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::{Errno, retry_on_intr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Everything that can change what the format protects.
const CHANGES: WatchFlags = WatchFlags::MODIFY
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVE)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

/// A watch over a cache.
#[derive(Debug)]
pub(crate) struct DirectoryWatch(OwnedFd);

impl DirectoryWatch {
    /// Watches from now on. Without `/proc`, or where too much is watched already, there is none.
    pub(crate) fn over(cache: &DirHandle, documents: &DirHandle) -> Result<DirectoryWatch, Errno> {
        let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        for folder in [cache, documents] {
            // By handle: the name may mean another directory by now.
            let path = format!("/proc/self/fd/{}", folder.as_fd().as_raw_fd());
            inotify::add_watch(&queue, path, CHANGES)?;
        }
        Ok(DirectoryWatch(queue))
    }

    /// Whether nothing has happened since the last question. An event of a system call is here when
    /// the call returns; a queue that overflowed says so by an event.
    pub(crate) fn quiet(&self) -> bool {
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
