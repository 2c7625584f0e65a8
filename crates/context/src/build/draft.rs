//! The draft of a cache: a directory beside the target, which becomes the cache in one step.

use crate::build::build_record::RECORD_FILE;
use crate::build::origins::ORIGINS_FILE;
use crate::build::target_names::{self, LOCK, SPARE, TargetNames};
use crate::failure::{Failure, TargetFlaw, shown};
use crate::files::dir_handle::{DirHandle, ListedEntry};
use crate::files::disk_steps;
use crate::files::location::Location;
use crate::format::manifest::{DOCUMENTS, INDEX, MANIFEST};
use crate::index::passage_index::PASSAGES_FILE;
use crate::index::writing::INDEX_FILE;
use crate::parallel;
use crate::proof::proof_file::{DocumentNames, PROOF_FILE};
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The files of a cache beside `documents`.
const FILES: [&str; 7] = [
    MANIFEST,
    INDEX,
    RECORD_FILE,
    INDEX_FILE,
    PASSAGES_FILE,
    PROOF_FILE,
    ORIGINS_FILE,
];

const PRIVATE: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW);

/// The target of a build: a name in a directory.
#[derive(Debug)]
pub(crate) struct BuildTarget {
    parent: DirHandle,
    /// The path of the directory that holds the target, without links.
    holder: PathBuf,
    name: OsString,
    shown: String,
}

impl BuildTarget {
    pub(crate) fn find(location: &Location, path: &Path) -> Result<BuildTarget, Failure> {
        let shown_path = path.to_string_lossy().into_owned();
        let Some(name) = path.file_name() else {
            return Err(Failure::Target(TargetFlaw::NoName(shown_path)));
        };
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let lost = |failure| match failure {
            Failure::Lookup {
                error: Errno::NOENT,
                ..
            } => Failure::Target(TargetFlaw::NoParent(parent.to_string_lossy().into_owned())),
            Failure::Lookup { error, .. } => Failure::System {
                doing: format!("write to `{}`", shown(&parent.to_string_lossy())),
                error: error.into(),
            },
            other => other,
        };
        let handle = location.find(parent).map_err(lost)?;
        Ok(BuildTarget {
            holder: location.real_path(&handle, parent)?,
            parent: handle,
            name: name.to_owned(),
            shown: shown_path,
        })
    }

    /// Returns the path of the directory that holds the target, without links.
    pub(crate) fn holder(&self) -> &Path {
        &self.holder
    }

    /// Returns the path of the target in messages.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// Checks that the target does not contain the sources. Returns its names below the sources, if it
    /// is there.
    pub(crate) fn names_below(&self, sources: &Path) -> Result<Option<TargetNames>, Failure> {
        let path = self.holder.join(&self.name);
        match sources.starts_with(&path) {
            true => Err(Failure::Target(TargetFlaw::Sources(self.shown.clone()))),
            false => Ok(TargetNames::below(sources, &path)),
        }
    }

    /// Checks that the target does not exist, or is a cache that may be replaced.
    pub(crate) fn check(&self, force: bool) -> Result<(), Failure> {
        self.check_with(force, None)
    }

    /// Checks that a proved cache whose documents have these names may be replaced.
    pub(crate) fn check_proved(&self, documents: &DocumentNames) -> Result<(), Failure> {
        self.check_with(true, Some(documents))
    }

    fn check_with(&self, force: bool, documents: Option<&DocumentNames>) -> Result<(), Failure> {
        let flaw = |flaw| Err(Failure::Target(flaw));
        let stat = rustix::fs::statat(&self.parent, &self.name, AtFlags::SYMLINK_NOFOLLOW);
        match stat {
            Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(self.system("look at", error)),
            Ok(stat) if crate::files::dir_handle::kind(&stat) != FileType::Directory => {
                flaw(TargetFlaw::NoDirectory(self.shown.clone()))
            }
            Ok(_) => match self.find_foreign(documents) {
                Ok(Some(name)) => flaw(TargetFlaw::Foreign(self.shown.clone(), name)),
                // Only a cache that is replaced has to be readable.
                _ if !force => flaw(TargetFlaw::Exists(self.shown.clone())),
                Ok(None) => Ok(()),
                Err(error) => Err(self.system("look at", error)),
            },
        }
    }

    /// Returns a name in the target that no cache contains. Proved documents are known to be files.
    fn find_foreign(&self, proved: Option<&DocumentNames>) -> Result<Option<String>, Errno> {
        let directory = self.parent.open_dir(&self.name)?;
        for (name, kind) in directory.list()? {
            let known = match kind {
                FileType::RegularFile => FILES
                    .iter()
                    .any(|file| name == *file || name == *draft_name(file)),
                FileType::Directory => name == DOCUMENTS,
                _ => false,
            };
            if !known {
                return Ok(Some(name.to_string_lossy().into_owned()));
            }
        }
        let ours = |name: &[u8]| name.ends_with(b".json");
        let shown = |name: &str| format!("{DOCUMENTS}/{name}");
        if let Some(proved) = proved {
            let mut names = (0..proved.len()).map(|number| proved.get(number));
            return Ok(names.find(|name| !ours(name.as_bytes())).map(shown));
        }
        let documents = match directory.open_dir(DOCUMENTS) {
            Err(Errno::NOENT) => return Ok(None),
            documents => documents?.list()?,
        };
        let foreign = documents
            .into_iter()
            .find(|(name, kind)| *kind != FileType::RegularFile || !ours(name.as_encoded_bytes()));
        Ok(foreign.map(|(name, _)| shown(&name.to_string_lossy())))
    }

    /// Returns the draft of an update: the spare of the last update, which contains most documents
    /// already, or a new draft.
    pub(crate) fn draft_of_update(
        &self,
        spare: Option<SpareCache>,
        random: u64,
    ) -> Result<CacheDraft<'_>, Failure> {
        match spare.and_then(|spare| self.draft_from_spare(spare, random)) {
            Some(draft) => Ok(draft),
            None => self.draft(random),
        }
    }

    /// Locks the spare of the last update and lists its documents.
    pub(crate) fn find_spare(&self) -> Option<SpareCache> {
        let name = self.spare();
        let lock = self.lock(&name).ok()?;
        let links = self.spare_documents(&name)?;
        Some(SpareCache { lock, links })
    }

    fn draft_from_spare(&self, found: SpareCache, random: u64) -> Option<CacheDraft<'_>> {
        let SpareCache { lock, links } = found;
        let spare = self.spare();
        let name = self.sibling_name(&format!("tmp-{}-{random:016x}", std::process::id()));
        let (parent, flags) = (&self.parent, RenameFlags::NOREPLACE);
        disk_steps::rename(parent, &spare, &name, flags).ok()?;
        let directory = parent.open_dir(&name).ok()?;
        let documents = directory.open_dir(DOCUMENTS).ok()?;
        Some(CacheDraft {
            target: self,
            name: Some(name),
            directory,
            documents,
            links: Some(links),
            _lock: lock,
        })
    }

    /// Returns the name under which an update keeps the documents of the previous cache.
    fn spare(&self) -> OsString {
        self.sibling_name(SPARE)
    }

    /// Returns the documents of a directory that an update has left. Returns `None` if it contains
    /// anything else.
    fn spare_documents(&self, name: &OsStr) -> Option<Vec<ListedEntry>> {
        let directory = self.parent.open_readable_dir(name).ok()?;
        let is_only =
            |entry: &ListedEntry| entry.name == DOCUMENTS && entry.kind == FileType::Directory;
        match directory.listing().ok()?.as_slice() {
            [only] if is_only(only) => {}
            _ => return None,
        }
        let documents = directory.open_readable_dir(DOCUMENTS).ok()?;
        let documents = documents.listing().ok()?;
        let is_document = |entry: &ListedEntry| {
            entry.kind == FileType::RegularFile && is_document(entry.name.as_encoded_bytes())
        };
        documents.iter().all(is_document).then_some(documents)
    }

    /// Removes the spare of an update.
    fn remove_spare(&self) {
        let spare = self.spare();
        if let Ok(_lock) = self.lock(&spare)
            && self.spare_documents(&spare).is_some()
        {
            // A spare that cannot be removed does no harm.
            let _ = self.remove(&spare);
        }
    }

    /// Creates a draft, and removes the drafts of killed builds.
    pub(crate) fn draft(&self, random: u64) -> Result<CacheDraft<'_>, Failure> {
        self.remove_leftovers();
        let failed = |error| match is_full(error) {
            true => Failure::unwritten(error),
            false => self.system("write beside", error),
        };
        for turn in 0..8u64 {
            let process = std::process::id();
            let name = self.sibling_name(&format!("tmp-{process}-{:016x}", random ^ turn));
            match disk_steps::make_dir(&self.parent, &name) {
                Err(Errno::EXIST) => continue,
                made => made.map_err(failed)?,
            }
            // Another build may have removed it as a leftover before it was locked.
            let Ok(lock) = self.lock(&name) else { continue };
            let directory = match self.parent.open_dir(&name) {
                Err(Errno::NOENT) => continue,
                directory => directory.map_err(failed)?,
            };
            disk_steps::make_dir(&directory, DOCUMENTS).map_err(failed)?;
            let documents = directory.open_dir(DOCUMENTS).map_err(failed)?;
            return Ok(CacheDraft {
                target: self,
                name: Some(name),
                directory,
                documents,
                links: None,
                _lock: lock,
            });
        }
        Err(failed(Errno::EXIST))
    }

    fn sibling_name(&self, ending: &str) -> OsString {
        target_names::sibling_name(&self.name, ending)
    }

    /// Locks a directory for the lifetime of the handle. Fails if another process has locked it.
    fn lock(&self, name: &OsStr) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | PRIVATE;
        let handle = rustix::fs::openat(&self.parent, name, flags, Mode::empty())?;
        rustix::fs::flock(&handle, FlockOperation::NonBlockingLockExclusive)?;
        Ok(handle)
    }

    /// Waits until no other process updates the cache, and keeps others from doing so for the lifetime of
    /// the lock. Returns `None` if the wait is `stopped`.
    pub(crate) fn lock_for_update(
        &self,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Option<UpdateLock<'_>>, Failure> {
        let name = self.sibling_name(LOCK);
        let failed = |error| self.system("write beside", error);
        // Without NONBLOCK, opening a FIFO blocks until another process opens its other end.
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NONBLOCK | PRIVATE;
        while !stopped() {
            let mode = Mode::from_raw_mode(0o644);
            let file = rustix::fs::openat(&self.parent, &name, flags, mode).map_err(failed)?;
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {
                    let target = self;
                    let name = name.clone();
                    let lock = UpdateLock { target, name, file };
                    // Its last owner may have removed the file before it was locked here.
                    if lock.is_in_place() {
                        return Ok(Some(lock));
                    }
                }
                Err(Errno::WOULDBLOCK | Errno::INTR) => std::thread::sleep(LOCK_INTERVAL),
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(None)
    }

    /// Removes the drafts of killed builds. A draft that cannot be removed does no harm.
    pub(crate) fn remove_leftovers(&self) {
        for (name, kind) in self.parent.list().unwrap_or_default() {
            if kind == FileType::Directory
                && target_names::is_leftover(&self.name, &name)
                && let Ok(_lock) = self.lock(&name)
            {
                let _ = self.remove(&name);
            }
        }
    }

    /// Reduces a replaced cache to its documents and keeps it as the spare.
    fn keep_as_spare(&self, name: &OsStr) -> Result<(), Errno> {
        let directory = self.parent.open_dir(name)?;
        for (file, kind) in directory.list()? {
            if kind != FileType::Directory {
                disk_steps::unlink(&directory, &file)?;
            }
        }
        let (parent, flags) = (&self.parent, RenameFlags::NOREPLACE);
        match disk_steps::rename(parent, name, self.spare(), flags) {
            Ok(()) => Ok(()),
            // A spare exists already: another update was faster.
            Err(_) => self.remove(name),
        }
    }

    /// Removes a directory that has the shape of a cache.
    fn remove(&self, name: &OsStr) -> Result<(), Errno> {
        let directory = self.parent.open_dir(name)?;
        if let Ok(documents) = directory.open_dir(DOCUMENTS) {
            for (name, _) in documents.list()? {
                rustix::fs::unlinkat(&documents, &name, AtFlags::empty())?;
            }
        }
        for (name, kind) in directory.list()? {
            let flags = match kind {
                FileType::Directory => AtFlags::REMOVEDIR,
                _ => AtFlags::empty(),
            };
            rustix::fs::unlinkat(&directory, &name, flags)?;
        }
        rustix::fs::unlinkat(&self.parent, name, AtFlags::REMOVEDIR)
    }

    fn system(&self, doing: &str, error: Errno) -> Failure {
        Failure::system(format!("{doing} `{}`", shown(&self.shown)))(error)
    }
}

/// The time between two tries to lock a cache.
const LOCK_INTERVAL: Duration = Duration::from_millis(5);

/// Keeps other processes from updating a cache. The system releases it when the process ends, however it
/// ends.
#[derive(Debug)]
pub(crate) struct UpdateLock<'t> {
    target: &'t BuildTarget,
    name: OsString,
    file: OwnedFd,
}

impl UpdateLock<'_> {
    /// Returns true if the locked file is the one with the name of the lock.
    fn is_in_place(&self) -> bool {
        let inode = |stat: rustix::fs::Stat| (stat.st_dev, stat.st_ino);
        let named = self.target.parent.stat(&self.name).map(inode);
        named.is_ok() && named == rustix::fs::fstat(&self.file).map(inode)
    }
}

impl Drop for UpdateLock<'_> {
    fn drop(&mut self) {
        // While it is locked: whoever opened it before notices that it is gone. A killed process leaves
        // it, and the next update takes it.
        if self.is_in_place() {
            let _ = rustix::fs::unlinkat(&self.target.parent, &self.name, AtFlags::empty());
        }
    }
}

/// The documents that the last update has left, for the next one.
#[derive(Debug)]
pub(crate) struct SpareCache {
    lock: OwnedFd,
    links: Vec<ListedEntry>,
}

/// A cache that is being written. It is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct CacheDraft<'t> {
    target: &'t BuildTarget,
    name: Option<OsString>,
    pub(crate) directory: DirHandle,
    pub(crate) documents: DirHandle,
    /// The documents of an earlier cache that it contains already, if it was the spare of an update.
    pub(crate) links: Option<Vec<ListedEntry>>,
    _lock: OwnedFd,
}

/// The fate of a cache that is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplacedCache {
    Remove,
    /// Its documents are kept for the next update, which starts with them. Most of them are shared
    /// with the new cache, and nothing has to be unlinked now.
    KeepAsSpare,
}

impl<'t> CacheDraft<'t> {
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        disk_steps::write_new(&self.directory, name, bytes).map_err(Failure::unwritten)
    }

    pub(crate) fn create(&self, name: &str) -> std::io::Result<File> {
        disk_steps::create(&self.directory, name).map_err(Into::into)
    }

    /// Syncs the whole file system.
    pub(crate) fn sync_all(&self) -> Result<(), Failure> {
        disk_steps::sync_all(&self.directory).map_err(Failure::unwritten)
    }

    /// Syncs the lists and the record, these documents, and the directories. The index files need not be
    /// durable, because a torn one is ignored.
    pub(crate) fn sync(&self, documents: &[&str]) -> Result<(), Failure> {
        sync_together(
            &[
                &self.lists()[..],
                &self.documents_and_directories(documents),
            ]
            .concat(),
        )
    }

    /// Syncs the lists and the record.
    pub(crate) fn sync_lists(&self) -> Result<(), Failure> {
        sync_together(&self.lists())
    }

    /// Syncs these documents and the directories.
    pub(crate) fn sync_documents(&self, documents: &[&str]) -> Result<(), Failure> {
        sync_together(&self.documents_and_directories(documents))
    }

    fn lists(&self) -> [Unsynced<'_>; 3] {
        [MANIFEST, INDEX, RECORD_FILE].map(|name| Unsynced::File(&self.directory, name))
    }

    fn documents_and_directories<'d>(&'d self, documents: &[&'d str]) -> Vec<Unsynced<'d>> {
        let file = |name: &&'d str| Unsynced::File(&self.documents, name);
        let directories = [&self.documents, &self.directory, &self.target.parent];
        let directories = directories.into_iter().map(Unsynced::Directory);
        documents.iter().map(file).chain(directories).collect()
    }

    /// Moves the draft to its target in one step. Everything that must survive a crash is synced before.
    pub(crate) fn publish(mut self, force: bool) -> Result<PublishedCache<'t>, Failure> {
        let target = self.target;
        let failed = Failure::unwritten;
        let Some(name) = self.name.clone() else {
            return Err(Failure::Bug("a draft was published twice"));
        };
        let directory = self.directory.open_dir(".").map_err(failed)?;
        let rename = |how| disk_steps::rename(&target.parent, &name, &target.name, how);
        let placed = match force {
            true => rename(RenameFlags::EXCHANGE),
            false => Err(Errno::NOENT),
        };
        match placed {
            // The previous cache now has the name of the draft.
            Ok(()) => {}
            // The file system cannot exchange names: for a moment there is no cache.
            Err(Errno::INVAL | Errno::NOSYS) => self.move_aside(&name)?,
            Err(Errno::NOENT) => {
                match rename(RenameFlags::NOREPLACE) {
                    Err(Errno::INVAL | Errno::NOSYS) => rename(RenameFlags::empty()),
                    renamed => renamed,
                }
                .map_err(|error| match error {
                    Errno::EXIST | Errno::NOTEMPTY => {
                        Failure::Target(TargetFlaw::Exists(target.shown.clone()))
                    }
                    error => failed(error),
                })?;
                self.name = None;
            }
            Err(error) => return Err(failed(error)),
        }
        Ok(PublishedCache {
            target,
            replaced: self.name.take(),
            directory,
        })
    }

    /// Removes the written documents, which do not have their final names yet.
    fn forget_written(&self) -> Result<(), Errno> {
        for (name, _) in self.documents.list()? {
            if name.as_encoded_bytes().starts_with(b"~") {
                disk_steps::unlink(&self.documents, &name)?;
            }
        }
        Ok(())
    }

    fn move_aside(&mut self, name: &OsStr) -> Result<(), Failure> {
        let target = self.target;
        let parent = &target.parent;
        let failed = |error| target.system("replace", error);
        let mut old = target.sibling_name("old-");
        old.push(name);
        rustix::fs::renameat(parent, &target.name, parent, &old).map_err(failed)?;
        rustix::fs::renameat(parent, name, parent, &target.name).map_err(failed)?;
        self.name = Some(old);
        Ok(())
    }
}

/// A draft that has the name of its target now.
#[derive(Debug)]
pub(crate) struct PublishedCache<'t> {
    target: &'t BuildTarget,
    /// The present name of the cache that it has replaced.
    replaced: Option<OsString>,
    directory: DirHandle,
}

impl PublishedCache<'_> {
    /// Returns the handle of the new cache.
    pub(crate) fn directory(&self) -> &DirHandle {
        &self.directory
    }

    /// Makes the exchange durable, then removes the replaced cache or keeps it.
    pub(crate) fn finish(&self, fate: ReplacedCache) -> Result<(), Failure> {
        let target = self.target;
        disk_steps::sync_dir(&target.parent).map_err(Failure::unwritten)?;
        // The next build removes files that cannot be removed now.
        if fate == ReplacedCache::Remove {
            target.remove_spare();
        }
        if let Some(old) = &self.replaced {
            let _ = match fate {
                ReplacedCache::Remove => target.remove(old),
                ReplacedCache::KeepAsSpare => target.keep_as_spare(old),
            };
        }
        Ok(())
    }
}

/// A file or a directory that is not durable yet.
#[derive(Debug, Clone, Copy)]
enum Unsynced<'a> {
    File(&'a DirHandle, &'a str),
    Directory(&'a DirHandle),
}

impl Unsynced<'_> {
    fn sync(self) -> Result<(), Errno> {
        match self {
            Unsynced::File(directory, name) => match disk_steps::sync_file(directory, name) {
                // The record is missing if JSON cannot contain it.
                Err(Errno::NOENT) if name == RECORD_FILE => Ok(()),
                synced => synced,
            },
            Unsynced::Directory(directory) => disk_steps::sync_dir(directory),
        }
    }
}

/// Syncs all of them at the same time, so that they share transactions of the file system.
fn sync_together(unsynced: &[Unsynced<'_>]) -> Result<(), Failure> {
    let synced = parallel::waiting(unsynced.len(), |number| unsynced[number].sync());
    let synced: Result<(), Errno> = synced.into_iter().collect();
    synced.map_err(Failure::unwritten)
}

impl Drop for CacheDraft<'_> {
    fn drop(&mut self) {
        let Some(name) = self.name.take() else {
            return;
        };
        // Unlinking documents that a cache shares would change their ctimes there.
        let _ = match self.links {
            Some(_) => self
                .forget_written()
                .and_then(|()| self.target.keep_as_spare(&name)),
            None => self.target.remove(&name),
        };
    }
}

fn is_full(error: Errno) -> bool {
    matches!(error, Errno::NOSPC | Errno::DQUOT)
}

/// Returns true if the name is one of a document: twelve digits, and a number if other digests start
/// alike.
fn is_document(name: &[u8]) -> bool {
    let Some((digits, rest)) = name.split_at_checked(12) else {
        return false;
    };
    let number = rest.strip_suffix(b".json");
    let number = number.map(|number| number.strip_prefix(b"-").unwrap_or(number));
    digits.iter().all(u8::is_ascii_hexdigit)
        && number.is_some_and(|number| number.iter().all(u8::is_ascii_digit))
}

/// Returns the name of a file while it is being written.
fn draft_name(name: &str) -> String {
    format!(".{name}.tmp")
}

/// Replaces a file of a published cache in one step.
pub(crate) fn replace_file(
    directory: &DirHandle,
    name: &str,
    write: impl FnOnce(&mut File) -> Result<(), Failure>,
) -> Result<(), Failure> {
    replace_by(directory, name, |file| {
        write(file)?;
        rustix::fs::fdatasync(file).map_err(Failure::unwritten)
    })
}

fn replace_by(
    directory: &DirHandle,
    name: &str,
    write: impl FnOnce(&mut File) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let draft = draft_name(name);
    match rustix::fs::unlinkat(directory, &draft, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(Failure::unwritten(error)),
    }
    let mut file = disk_steps::create(directory, &draft).map_err(Failure::unwritten)?;
    write(&mut file)?;
    rustix::fs::renameat(directory, &draft, directory, name).map_err(Failure::unwritten)
}

/// Replaces a file of a published cache by these bytes.
pub(crate) fn replace_bytes(
    directory: &DirHandle,
    name: &str,
    bytes: &[u8],
) -> Result<(), Failure> {
    replace_file(directory, name, |file| {
        file.write_all(bytes).map_err(Failure::unwritten)
    })
}

/// Replaces a file that has a checksum. It need not be durable: a torn one is ignored.
pub(crate) fn replace_checksummed(
    directory: &DirHandle,
    name: &str,
    bytes: &[u8],
) -> Result<(), Failure> {
    replace_by(directory, name, |file| {
        file.write_all(bytes).map_err(Failure::unwritten)
    })
}
