//! Walking through a directory of sources: by handle, several directories at once, links never
//! followed, with the rules of `.gitignore` files where they count.

use crate::MAX_DOCUMENTS;
use crate::build::directory_snapshot::{DirectorySnapshot, DirectorySnapshots};
use crate::build::sources::{SourceFile, SourceFilter, unreadable};
use crate::failure::{Failure, SourceFlaw};
use crate::files::dir_handle::{DirHandle, kind};
use crate::files::file_stamp::FileStamp;
use crate::format::document::id_of;
use crate::parallel::{self, lock};
use crate::proof::check::Now;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The longest path that a directory is found again by, in bytes: what lies in it has longer ones.
const LONGEST: usize = 2048;

const IGNORE_FILE: &str = ".gitignore";

/// The most bytes of a file with rules that are read.
const MAX_RULES: u64 = 1024 * 1024;

/// A walk below one directory.
pub(crate) struct SourceWalk<'a> {
    pub(crate) wanted: &'a SourceFilter,
    /// Whether the signatures of sources are taken too.
    pub(crate) sign: bool,
    /// How the directory itself is called, for a person.
    pub(crate) shown: &'a str,
    /// What was found before.
    pub(crate) known: &'a DirectorySnapshots,
    pub(crate) now: Now<'a>,
    pub(crate) root: &'a DirHandle,
}

/// A directory that was entered. Its handle lives as long as something below it waits; one that is
/// known needs none.
struct WalkedDirectory {
    folder: Option<DirHandle>,
    /// Below the sources, without a slash at the end; empty for the sources themselves.
    path: OsString,
    rules: Option<Arc<IgnoreRules>>,
}

impl WalkedDirectory {
    fn stat(&self, root: &DirHandle, path: &OsStr, name: &OsStr) -> Result<Stat, Errno> {
        match &self.folder {
            Some(folder) => folder.stat(name),
            None => root.stat(path),
        }
    }
}

/// The rules of one directory, and those above it.
struct IgnoreRules {
    own: Gitignore,
    /// How many bytes of a path lead to the directory.
    depth: usize,
    above: Option<Arc<IgnoreRules>>,
}

impl IgnoreRules {
    /// The nearest rule that says anything decides.
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

/// Directories that wait, the last one first: few handles are open at once.
#[derive(Default)]
struct DirectoryQueue {
    state: Mutex<(Vec<QueuedDirectory>, usize)>,
    changed: Condvar,
}

/// A directory that is being worked on; dropped, it counts as done, even by a panic.
struct BusyDirectory<'q>(&'q DirectoryQueue);

impl Drop for BusyDirectory<'_> {
    fn drop(&mut self) {
        self.0.lock().1 -= 1;
        self.0.changed.notify_all();
    }
}

impl DirectoryQueue {
    fn lock(&self) -> MutexGuard<'_, (Vec<QueuedDirectory>, usize)> {
        lock(&self.state)
    }

    fn push(&self, more: Vec<QueuedDirectory>) {
        if !more.is_empty() {
            self.lock().0.extend(more);
            self.changed.notify_all();
        }
    }

    /// The next directory; none when all are done.
    fn next(&self) -> Option<(QueuedDirectory, BusyDirectory<'_>)> {
        let mut state = self.lock();
        loop {
            if let Some(waiting) = state.0.pop() {
                state.1 += 1;
                return Some((waiting, BusyDirectory(self)));
            }
            if state.1 == 0 {
                return None;
            }
            let woken = self.changed.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// What a worker has found. Of several failures the one with the smallest path is told.
#[derive(Default)]
struct WalkOutcome {
    sources: Vec<SourceFile>,
    surveyed: Vec<DirectorySnapshot>,
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
    /// Every wanted file, and every directory that was entered, in no order.
    pub(crate) fn run(&self) -> Result<(Vec<SourceFile>, Vec<DirectorySnapshot>), Failure> {
        let queue = DirectoryQueue::default();
        let mut found = WalkOutcome::default();
        self.visit(None, OsString::new(), &queue, &mut found);
        let workers = parallel::each(|| {
            let mut found = WalkOutcome::default();
            while let Some(((parent, name), _busy)) = queue.next() {
                self.visit(Some(&parent), name, &queue, &mut found);
            }
            found
        });
        for worker in workers {
            found.sources.extend(worker.sources);
            found.surveyed.extend(worker.surveyed);
            if let Some((path, failure)) = worker.failed {
                found.fail(path, failure);
            }
        }
        match found.failed {
            Some((_, failure)) => Err(failure),
            None if found.sources.len() > MAX_DOCUMENTS => Err(Failure::Sources(SourceFlaw::Many)),
            None => Ok((found.sources, found.surveyed)),
        }
    }

    /// Goes into a directory: the sources themselves, or one in another.
    fn visit(
        &self,
        parent: Option<&WalkedDirectory>,
        name: OsString,
        queue: &DirectoryQueue,
        found: &mut WalkOutcome,
    ) {
        let (path, above) = match parent {
            Some(parent) => (joined(&parent.path, &name), parent.rules.clone()),
            None => (OsString::new(), None),
        };
        if let Some(surveyed) = self.unchanged(&path) {
            found.surveyed.push(surveyed.clone());
            let names = surveyed.names();
            let rules = above;
            let folder = None;
            let place = Arc::new(WalkedDirectory {
                folder,
                path,
                rules,
            });
            return self.enter(&place, names, queue, found);
        }
        match self.list(parent, &path, &name, found) {
            Ok((folder, names)) => {
                let rules = match self.wanted.respects_gitignore() {
                    true => rules_of(&folder, &path, above, &names),
                    false => None,
                };
                let folder = Some(folder);
                let place = Arc::new(WalkedDirectory {
                    folder,
                    path,
                    rules,
                });
                self.enter(&place, names, queue, found);
            }
            Err(error) => {
                let name = match path.is_empty() {
                    true => self.shown.to_owned(),
                    false => path.to_string_lossy().into_owned(),
                };
                found.fail(path, unreadable(&name, error.into()));
            }
        }
    }

    /// What is known of a directory that has not changed since. Where rules are written in the
    /// sources, they have to be read in any case.
    fn unchanged(&self, path: &OsStr) -> Option<&DirectorySnapshot> {
        let known = self.known.get(path)?;
        if self.wanted.respects_gitignore() {
            return None;
        }
        let stat = match path.is_empty() {
            true => self.root.own_signature(),
            false => self.root.stat(path).map(|stat| FileStamp::of(&stat)),
        };
        (stat == Ok(known.signature())).then_some(known)
    }

    /// Opens a directory and lists it.
    fn list(
        &self,
        parent: Option<&WalkedDirectory>,
        path: &OsStr,
        name: &OsStr,
        found: &mut WalkOutcome,
    ) -> Result<(DirHandle, Vec<(OsString, FileType)>), Errno> {
        let folder = match parent {
            None => self.root.readable(OsStr::new(".")),
            Some(WalkedDirectory {
                folder: Some(parent),
                ..
            }) => parent.readable(name),
            Some(_) => self.root.readable(path),
        }?;
        let signature = folder.own_signature()?;
        let mut names = folder.names()?;
        for (name, of_kind) in &mut names {
            // Some file systems do not say.
            if *of_kind == FileType::Unknown {
                *of_kind = folder
                    .stat(&*name)
                    .map_or(FileType::Unknown, |stat| kind(&stat));
            }
        }
        if path.len() <= LONGEST && signature.long_settled(self.now.now()) {
            found
                .surveyed
                .push(DirectorySnapshot::new(path, signature, &names));
        }
        Ok((folder, names))
    }

    fn enter(
        &self,
        place: &Arc<WalkedDirectory>,
        names: Vec<(OsString, FileType)>,
        queue: &DirectoryQueue,
        found: &mut WalkOutcome,
    ) {
        let mut below = Vec::new();
        for (name, of_kind) in names {
            let path = joined(&place.path, &name);
            match of_kind {
                FileType::Directory if self.enters(place, &path, &name) => {
                    below.push((Arc::clone(place), name));
                }
                FileType::RegularFile => self.look(place, path, &name, found),
                _ => {}
            }
        }
        if found.sources.len() <= MAX_DOCUMENTS {
            queue.push(below);
        }
    }

    fn enters(&self, place: &WalkedDirectory, path: &OsStr, name: &OsStr) -> bool {
        if path.to_str().is_some_and(|path| self.wanted.excludes(path)) {
            return false;
        }
        match &place.rules {
            Some(rules) => name != ".git" && !rules.ignore(path, true),
            None => name != ".git" || !self.wanted.respects_gitignore(),
        }
    }

    fn look(&self, place: &WalkedDirectory, path: OsString, name: &OsStr, found: &mut WalkOutcome) {
        let shown = path.to_string_lossy();
        if !self.wanted.wants(&shown) {
            return;
        }
        if place
            .rules
            .as_ref()
            .is_some_and(|rules| rules.ignore(&path, false))
        {
            return;
        }
        match path.to_str() {
            Some(path) => found.sources.push(SourceFile {
                id: id_of(path),
                signature: match self.sign {
                    true => place
                        .stat(self.root, OsStr::new(path), name)
                        .ok()
                        .map(|stat| FileStamp::of(&stat)),
                    false => None,
                },
                path: path.to_owned(),
            }),
            None => {
                let failure = Failure::Sources(SourceFlaw::Name(shown.into_owned()));
                found.fail(path, failure);
            }
        }
    }
}

fn joined(path: &OsStr, name: &OsStr) -> OsString {
    let mut joined = OsString::with_capacity(path.len() + 1 + name.len());
    if !path.is_empty() {
        joined.push(path);
        joined.push("/");
    }
    joined.push(name);
    joined
}

/// The rules that count in a directory. A line that is no rule is none, as for git.
fn rules_of(
    folder: &DirHandle,
    path: &OsStr,
    above: Option<Arc<IgnoreRules>>,
    names: &[(OsString, FileType)],
) -> Option<Arc<IgnoreRules>> {
    if !names.iter().any(|(name, _)| name == IGNORE_FILE) {
        return above;
    }
    let mut text = Vec::new();
    let read = folder.open(IGNORE_FILE).ok()?;
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
