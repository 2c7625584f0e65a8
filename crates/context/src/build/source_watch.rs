//! Watches the directories of sources for changes.

use crate::build::source_filter::SourceFilter;
use crate::build::target_names::TargetNames;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::{Errno, retry_on_intr};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const CHANGES: WatchFlags = WatchFlags::CLOSE_WRITE
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVE)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::DONT_FOLLOW);

/// A watch on the directories of sources.
#[derive(Debug)]
pub(crate) struct SourceWatch {
    queue: OwnedFd,
    /// The directories below the sources, by the numbers of their watches.
    directories: BTreeMap<i32, OsString>,
}

/// The largest change among the events since the last call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SourceChange {
    /// No source can have changed.
    Nothing,
    /// A file changed.
    Files,
    /// A directory appeared or disappeared: the watches have to be made anew.
    Directories,
    /// Events were lost.
    Overflow,
}

impl SourceWatch {
    /// Watches these directories below the sources. Directories that are gone by now are left out.
    pub(crate) fn new(sources: &Path, below: &[OsString]) -> Result<SourceWatch, Errno> {
        let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let mut directories = BTreeMap::new();
        for directory in below {
            let path: PathBuf = match directory.is_empty() {
                true => sources.to_owned(),
                false => sources.join(directory),
            };
            match inotify::add_watch(&queue, &path, CHANGES) {
                Ok(number) => {
                    directories.insert(number, directory.clone());
                }
                // The directory that held it reports that.
                Err(Errno::NOENT | Errno::NOTDIR) if !directory.is_empty() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(SourceWatch { queue, directories })
    }

    /// Waits until there are events, or for this long, or until `stop` is readable.
    pub(crate) fn wait(&self, stop: BorrowedFd<'_>, longest: Duration) -> Result<(), Errno> {
        wait(&[self.queue.as_fd(), stop], longest)
    }

    /// Reads all events, and calls `changed` with the path of every file that changed.
    pub(crate) fn changes(
        &self,
        filter: &SourceFilter,
        target: Option<&TargetNames>,
        mut changed: impl FnMut(OsString),
    ) -> SourceChange {
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let mut events = Reader::new(&self.queue, &mut buffer);
        let mut change = SourceChange::Nothing;
        loop {
            let event = match events.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return change,
                Err(_) => return SourceChange::Overflow,
            };
            let flags = event.events();
            let name = event
                .file_name()
                .map(|name| OsStr::from_bytes(name.to_bytes()));
            let directory = self.directories.get(&event.wd());
            let meaning = meaning(flags, directory, name, filter, target);
            if let (SourceChange::Files, Some(directory), Some(name)) = (meaning, directory, name) {
                changed(Path::new(directory).join(name).into_os_string());
            }
            change = change.max(meaning);
        }
    }
}

fn meaning(
    flags: ReadFlags,
    directory: Option<&OsString>,
    name: Option<&OsStr>,
    filter: &SourceFilter,
    target: Option<&TargetNames>,
) -> SourceChange {
    if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
        return SourceChange::Overflow;
    }
    let gone = ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::UNMOUNT;
    let (Some(directory), Some(name)) = (directory, name) else {
        return match flags.intersects(gone) {
            true => SourceChange::Directories,
            false => SourceChange::Nothing,
        };
    };
    if target.is_some_and(|target| target.contain(directory, name)) {
        return SourceChange::Nothing;
    }
    if flags.contains(ReadFlags::ISDIR) || (name == ".gitignore" && filter.respects_gitignore()) {
        return SourceChange::Directories;
    }
    let path = Path::new(directory).join(name);
    match filter.includes(&path.to_string_lossy()) {
        true => SourceChange::Files,
        false => SourceChange::Nothing,
    }
}

/// Waits until one of the handles is readable, or for this long.
pub(crate) fn wait(handles: &[BorrowedFd<'_>], longest: Duration) -> Result<(), Errno> {
    let timeout = Timespec {
        tv_sec: i64::try_from(longest.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: longest.subsec_nanos().into(),
    };
    let mut handles: Vec<_> = handles
        .iter()
        .map(|handle| PollFd::from_borrowed_fd(*handle, PollFlags::IN))
        .collect();
    retry_on_intr(|| rustix::event::poll(&mut handles, Some(&timeout))).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_mean_changes_of_sources() {
        let target = TargetNames::below(Path::new("/s"), Path::new("/s/.context"));
        let filter = |gitignore| SourceFilter::new(&[], &[], gitignore).unwrap();
        let meaning = |flags, directory: Option<&str>, name: Option<&str>, gitignore| {
            let directory = directory.map(OsString::from);
            let name = name.map(OsStr::new);
            super::meaning(
                flags,
                directory.as_ref(),
                name,
                &filter(gitignore),
                target.as_ref(),
            )
        };
        let modify = ReadFlags::MODIFY;
        for (flags, directory, name, gitignore, expected) in [
            (modify, Some(""), Some("a.md"), false, SourceChange::Files),
            (modify, Some("in"), Some("a.md"), false, SourceChange::Files),
            (
                modify,
                Some(""),
                Some("a.txt"),
                false,
                SourceChange::Nothing,
            ),
            (
                modify,
                Some(""),
                Some(".gitignore"),
                false,
                SourceChange::Nothing,
            ),
            (
                modify,
                Some(""),
                Some(".gitignore"),
                true,
                SourceChange::Directories,
            ),
            (
                modify | ReadFlags::ISDIR,
                Some(""),
                Some("in"),
                false,
                SourceChange::Directories,
            ),
            (
                modify | ReadFlags::ISDIR,
                Some(""),
                Some(".context"),
                false,
                SourceChange::Nothing,
            ),
            (
                modify | ReadFlags::ISDIR,
                Some(""),
                Some("..context.spare"),
                false,
                SourceChange::Nothing,
            ),
            (
                modify,
                Some(""),
                Some("..context.lock"),
                false,
                SourceChange::Nothing,
            ),
            (
                ReadFlags::DELETE_SELF,
                Some("in"),
                None,
                false,
                SourceChange::Directories,
            ),
            (
                ReadFlags::MOVE_SELF,
                Some(""),
                None,
                false,
                SourceChange::Directories,
            ),
            (
                ReadFlags::IGNORED,
                Some(""),
                None,
                false,
                SourceChange::Nothing,
            ),
            (
                ReadFlags::QUEUE_OVERFLOW,
                None,
                None,
                false,
                SourceChange::Overflow,
            ),
        ] {
            assert_eq!(
                meaning(flags, directory, name, gitignore),
                expected,
                "{flags:?} {name:?}"
            );
        }
    }
}
