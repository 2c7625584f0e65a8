//! Walks a source directory: through handles, several directories at once, without following links,
//! and with the rules of `.gitignore` files on request.

use crate::MAX_DOCUMENTS;
use crate::build::sources::{ListingRequest, SourceFile, SourceListing, unreadable};
use crate::failure::{Failure, SourceFlaw};
use crate::files::dir_handle::{DirHandle, ListedEntry, kind};
use crate::files::file_stamp::FileStamp;
use crate::format::document::id_of;
use crate::parallel::{self, lock};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::FileType;
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

const IGNORE_FILE: &str = ".gitignore";

/// The most bytes that are read of a file with ignore rules.
const MAX_RULES: u64 = 1024 * 1024;

/// A walk below one directory.
pub(crate) struct SourceWalk<'a> {
    pub(crate) request: &'a ListingRequest<'a>,
    /// The name of the source directory in messages.
    pub(crate) shown: &'a str,
    pub(crate) root: &'a DirHandle,
}

/// A directory that was entered. Its handle lives as long as a directory below it waits.
struct WalkedDirectory {
    handle: DirHandle,
    /// The path below the sources without a trailing slash, empty for the source directory itself.
    path: OsString,
    rules: Option<Arc<IgnoreRules>>,
}

/// The ignore rules of one directory, and those of its parents.
struct IgnoreRules {
    own: Gitignore,
    /// The number of bytes of a path that lead to the directory.
    depth: usize,
    above: Option<Arc<IgnoreRules>>,
}

impl IgnoreRules {
    /// Returns true if the path is ignored. The nearest matching rule decides.
    fn ignore(&self, path: &OsStr, directory: bool) -> bool {
        let mut level = Some(self);
        while let Some(rules) = level {
            let below = OsStr::from_bytes(&path.as_bytes()[rules.depth..]);
            match rules.own.matched(Path::new(below), directory) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => level = rules.above.as_deref(),
            }
        }
        false
    }
}

/// A directory that waits to be entered.
type QueuedDirectory = (Arc<WalkedDirectory>, OsString);

/// The directories that no worker has taken. Each worker has more of its own, last in first out, so that
/// few handles are open at once and most directories need no lock.
#[derive(Default)]
struct DirectoryQueue {
    shared: Mutex<SharedDirectories>,
    changed: Condvar,
    /// The number of workers that wait for a directory.
    hungry: AtomicUsize,
}

#[derive(Default)]
struct SharedDirectories {
    waiting: Vec<QueuedDirectory>,
    workers: usize,
    hungry: usize,
}

/// A worker at the queue. The others do not wait for one that has ended, even by a panic.
struct QueueWorker<'q>(&'q DirectoryQueue);

impl Drop for QueueWorker<'_> {
    fn drop(&mut self) {
        self.0.lock().workers -= 1;
        self.0.changed.notify_all();
    }
}

impl DirectoryQueue {
    fn lock(&self) -> MutexGuard<'_, SharedDirectories> {
        lock(&self.shared)
    }

    fn join(&self) -> QueueWorker<'_> {
        self.lock().workers += 1;
        QueueWorker(self)
    }
}

impl QueueWorker<'_> {
    /// Returns the next directory, or `None` when all are done.
    fn next(&self, own: &mut Vec<QueuedDirectory>) -> Option<QueuedDirectory> {
        let queue = self.0;
        if let Some(next) = own.pop() {
            if queue.hungry.load(Ordering::Relaxed) > 0 && !own.is_empty() {
                // The first ones are nearest to the root and lead to the most directories.
                let half = own.len().div_ceil(2);
                queue.lock().waiting.extend(own.drain(..half));
                queue.changed.notify_all();
            }
            return Some(next);
        }
        let mut shared = queue.lock();
        shared.hungry += 1;
        loop {
            if let Some(next) = shared.waiting.pop() {
                shared.hungry -= 1;
                queue.hungry.store(shared.hungry, Ordering::Relaxed);
                return Some(next);
            }
            if shared.hungry >= shared.workers {
                queue.changed.notify_all();
                return None;
            }
            queue.hungry.store(shared.hungry, Ordering::Relaxed);
            let woken = queue.changed.wait(shared);
            shared = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The results of a worker. Of several failures the one with the smallest path is reported.
#[derive(Default)]
struct WalkOutcome {
    listing: SourceListing,
    failed: Option<(OsString, Failure)>,
}

impl WalkOutcome {
    fn fail(&mut self, path: OsString, failure: Failure) {
        match &self.failed {
            Some((before, _)) if *before <= path => {}
            _ => self.failed = Some((path, failure)),
        }
    }
}

impl SourceWalk<'_> {
    /// Returns the sources and the paths of all directories, in no order.
    pub(crate) fn run(&self) -> Result<SourceListing, Failure> {
        let mut outcome = WalkOutcome::default();
        let mut first = Vec::new();
        self.visit(None, OsString::new(), &mut first, &mut outcome);
        let queue = DirectoryQueue::default();
        queue.lock().waiting = first;
        let workers = parallel::each(|| {
            let (mut outcome, mut own) = (WalkOutcome::default(), Vec::new());
            let worker = queue.join();
            while let Some((parent, name)) = worker.next(&mut own) {
                self.visit(Some(&parent), name, &mut own, &mut outcome);
            }
            outcome
        });
        for worker in workers {
            let SourceListing {
                files,
                entered,
                flaws,
            } = worker.listing;
            outcome.listing.entered.extend(entered);
            outcome.listing.files.extend(files);
            outcome.listing.flaws.extend(flaws);
            if let Some((path, failure)) = worker.failed {
                outcome.fail(path, failure);
            }
        }
        match outcome.failed {
            Some((_, failure)) => Err(failure),
            None if outcome.listing.files.len() > MAX_DOCUMENTS => {
                Err(Failure::Sources(vec![SourceFlaw::Many]))
            }
            None => Ok(outcome.listing),
        }
    }

    /// Reads a directory, the source directory itself or one below it, and adds the directories in it to
    /// `below`.
    fn visit(
        &self,
        parent: Option<&WalkedDirectory>,
        name: OsString,
        below: &mut Vec<QueuedDirectory>,
        outcome: &mut WalkOutcome,
    ) {
        let (path, above) = match parent {
            Some(parent) => (join(&parent.path, &name), parent.rules.clone()),
            None => (OsString::new(), None),
        };
        match self.list(parent, &name) {
            Ok((handle, entries)) => {
                let rules = match self.request.filter.respects_gitignore() {
                    true => rules_of(&handle, &path, above, &entries),
                    false => None,
                };
                outcome.listing.entered.push(path.clone());
                let directory = Arc::new(WalkedDirectory {
                    handle,
                    path,
                    rules,
                });
                self.enter(&directory, entries, below, outcome);
            }
            Err(error) => {
                let name = match path.is_empty() {
                    true => self.shown.to_owned(),
                    false => path.to_string_lossy().into_owned(),
                };
                outcome.fail(path, unreadable(&name, error.into()));
            }
        }
    }

    /// Opens a directory and lists it, which also finds new files. A `stat` of the directory would find
    /// that there are some, but trees of documentation have about as many directories as files.
    fn list(
        &self,
        parent: Option<&WalkedDirectory>,
        name: &OsStr,
    ) -> Result<(DirHandle, Vec<ListedEntry>), Errno> {
        let handle = match parent {
            None => self.root.open_readable_dir(OsStr::new(".")),
            Some(parent) => parent.handle.open_readable_dir(name),
        }?;
        let mut entries = handle.listing()?;
        for entry in &mut entries {
            if entry.kind == FileType::Unknown {
                let stat = handle.stat(&entry.name);
                entry.kind = stat.map_or(FileType::Unknown, |stat| kind(&stat));
            }
        }
        Ok((handle, entries))
    }

    fn enter(
        &self,
        directory: &Arc<WalkedDirectory>,
        entries: Vec<ListedEntry>,
        below: &mut Vec<QueuedDirectory>,
        outcome: &mut WalkOutcome,
    ) {
        if outcome.listing.files.len() > MAX_DOCUMENTS {
            return;
        }
        for ListedEntry { name, kind, .. } in entries {
            if self.is_target(&directory.path, &name) {
                continue;
            }
            let path = join(&directory.path, &name);
            match kind {
                FileType::Directory if self.is_entered(directory, &path, &name) => {
                    below.push((Arc::clone(directory), name));
                }
                FileType::RegularFile => self.add_source(directory, path, &name, outcome),
                _ => {}
            }
        }
    }

    fn is_target(&self, directory: &OsStr, name: &OsStr) -> bool {
        let target = self.request.target;
        target.is_some_and(|target| target.contain(directory, name))
    }

    fn is_entered(&self, directory: &WalkedDirectory, path: &OsStr, name: &OsStr) -> bool {
        let filter = self.request.filter;
        if filter.excludes_directory(&path.to_string_lossy()) {
            return false;
        }
        match &directory.rules {
            Some(rules) => name != ".git" && !rules.ignore(path, true),
            None => name != ".git" || !self.request.filter.respects_gitignore(),
        }
    }

    fn add_source(
        &self,
        directory: &WalkedDirectory,
        path: OsString,
        name: &OsStr,
        outcome: &mut WalkOutcome,
    ) {
        let shown = path.to_string_lossy();
        if !self.request.filter.includes(&shown) {
            return;
        }
        if directory
            .rules
            .as_ref()
            .is_some_and(|rules| rules.ignore(&path, false))
        {
            return;
        }
        match path.to_str() {
            Some(path) => outcome.listing.files.push(SourceFile {
                id: id_of(path),
                stamp: match self.request.sign {
                    true => {
                        let stat = directory.handle.stat(name).ok();
                        stat.map(|stat| FileStamp::of(&stat))
                    }
                    false => None,
                },
                path: path.to_owned(),
            }),
            None => {
                let flaw = SourceFlaw::Name(shown.into_owned());
                outcome.listing.flaws.push(flaw);
            }
        }
    }
}

fn join(path: &OsStr, name: &OsStr) -> OsString {
    let mut joined = OsString::with_capacity(path.len() + 1 + name.len());
    if !path.is_empty() {
        joined.push(path);
        joined.push("/");
    }
    joined.push(name);
    joined
}

/// Returns the ignore rules that apply in a directory. Invalid lines are skipped, as git does.
fn rules_of(
    handle: &DirHandle,
    path: &OsStr,
    above: Option<Arc<IgnoreRules>>,
    entries: &[ListedEntry],
) -> Option<Arc<IgnoreRules>> {
    if !entries.iter().any(|entry| entry.name == IGNORE_FILE) {
        return above;
    }
    let mut text = Vec::new();
    let read = handle.open(IGNORE_FILE).ok()?;
    read.take(MAX_RULES).read_to_end(&mut text).ok()?;
    let text = String::from_utf8_lossy(&text);
    let mut builder = GitignoreBuilder::new("");
    for line in text.trim_start_matches('\u{feff}').lines() {
        let _ = builder.add_line(None, line);
    }
    let own = builder.build().ok()?;
    let depth = match path.len() {
        0 => 0,
        length => length + 1,
    };
    Some(Arc::new(IgnoreRules { own, depth, above }))
}
