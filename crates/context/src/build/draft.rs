//! Where a cache is written: in a draft beside its place, which becomes the cache in one step.

use crate::build::origins::ORIGINS_FILE;
use crate::failure::{Failure, TargetFlaw, shown};
use crate::files::dir_handle::DirHandle;
use crate::files::location::Location;
use crate::format::manifest::{DOCUMENTS, INDEX, MANIFEST};
use crate::index::passage_index::PASSAGES_FILE;
use crate::index::writing::INDEX_FILE;
use crate::proof::proof_file::{DocumentNames, PROOF_FILE};
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// Everything that stands in a cache beside `documents`.
const FILES: [&str; 6] = [
    MANIFEST,
    INDEX,
    INDEX_FILE,
    PASSAGES_FILE,
    PROOF_FILE,
    ORIGINS_FILE,
];

const PRIVATE: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW);

/// The place of a cache: a name in a directory.
#[derive(Debug)]
pub(crate) struct BuildTarget {
    parent: DirHandle,
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
            Failure::Lookup { error, .. } => Failure::System {
                doing: format!("write to `{}`", shown(&parent.to_string_lossy())),
                error: error.into(),
            },
            other => other,
        };
        Ok(BuildTarget {
            parent: location.find(parent).map_err(lost)?,
            name: name.to_owned(),
            shown: shown_path,
        })
    }

    /// Whether something may be written there: nothing is there, or a cache that may be replaced.
    pub(crate) fn check(&self, force: bool) -> Result<(), Failure> {
        self.check_with(force, None)
    }

    /// Whether a cache may be replaced that was proved, and whose documents have these names.
    pub(crate) fn check_proved(&self, documents: &DocumentNames) -> Result<(), Failure> {
        self.check_with(true, Some(documents))
    }

    fn check_with(&self, force: bool, documents: Option<&DocumentNames>) -> Result<(), Failure> {
        let flaw = |flaw| Err(Failure::Target(flaw));
        let stat = rustix::fs::statat(&self.parent, &self.name, AtFlags::SYMLINK_NOFOLLOW);
        match stat {
            Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(self.system("look at", error)),
            Ok(_) if !force => flaw(TargetFlaw::Exists(self.shown.clone())),
            Ok(stat) if crate::files::dir_handle::kind(&stat) != FileType::Directory => {
                flaw(TargetFlaw::NoDirectory(self.shown.clone()))
            }
            Ok(_) => match self
                .foreign(documents)
                .map_err(|error| self.system("look at", error))?
            {
                Some(name) => flaw(TargetFlaw::Foreign(self.shown.clone(), name)),
                None => Ok(()),
            },
        }
    }

    /// A name in the directory that no cache has. Documents that are proved are files.
    fn foreign(&self, proved: Option<&DocumentNames>) -> Result<Option<String>, Errno> {
        let folder = self.parent.folder(&self.name)?;
        for (name, kind) in folder.list()? {
            let known = match kind {
                FileType::RegularFile => FILES
                    .iter()
                    .any(|file| name == *file || name == *unfinished(file)),
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
        let documents = match folder.folder(DOCUMENTS) {
            Err(Errno::NOENT) => return Ok(None),
            documents => documents?.list()?,
        };
        let foreign = documents
            .into_iter()
            .find(|(name, kind)| *kind != FileType::RegularFile || !ours(name.as_encoded_bytes()));
        Ok(foreign.map(|(name, _)| shown(&name.to_string_lossy())))
    }

    /// The draft of an update: what the last update has left, with most of its documents already in
    /// place, or a new one.
    pub(crate) fn draft_of_update(&self, random: u64) -> Result<CacheDraft<'_>, Failure> {
        match self.draft_from_spare(random) {
            Some(draft) => Ok(draft),
            None => self.draft(random),
        }
    }

    fn draft_from_spare(&self, random: u64) -> Option<CacheDraft<'_>> {
        let spare = self.spare();
        let lock = self.lock(&spare).ok()?;
        if !self.is_spare(&spare) {
            return None;
        }
        let name = self.beside(&format!("tmp-{}-{random:016x}", std::process::id()));
        let (parent, flags) = (&self.parent, RenameFlags::NOREPLACE);
        rustix::fs::renameat_with(parent, &spare, parent, &name, flags).ok()?;
        let folder = parent.folder(&name).ok()?;
        let documents = folder.folder(DOCUMENTS).ok()?;
        Some(CacheDraft {
            target: self,
            name: Some(name),
            folder,
            documents,
            filled: true,
            _lock: lock,
        })
    }

    /// What an update calls the documents of the cache that it replaced.
    fn spare(&self) -> OsString {
        self.beside("spare")
    }

    /// Whether an update has left this: nothing but documents. Anything else is somebody's own.
    fn is_spare(&self, name: &OsStr) -> bool {
        let looks = || -> Result<bool, Errno> {
            let folder = self.parent.readable(name)?;
            let only = folder.names()?;
            if only != [(OsString::from(DOCUMENTS), FileType::Directory)] {
                return Ok(false);
            }
            let names = folder.readable(DOCUMENTS)?.names()?;
            Ok(names.iter().all(|(name, kind)| {
                *kind == FileType::RegularFile && is_document(name.as_encoded_bytes())
            }))
        };
        looks().unwrap_or(false)
    }

    /// Removes what an update has left for the next one.
    fn remove_spare(&self) {
        let spare = self.spare();
        if let Ok(_lock) = self.lock(&spare)
            && self.is_spare(&spare)
        {
            // What cannot be removed harms nobody.
            let _ = self.remove(&spare);
        }
    }

    /// A new draft; what killed builds have left is removed.
    pub(crate) fn draft(&self, random: u64) -> Result<CacheDraft<'_>, Failure> {
        self.sweep();
        let failed = |error| self.system("write beside", error);
        for turn in 0..8u64 {
            let process = std::process::id();
            let name = self.beside(&format!("tmp-{process}-{:016x}", random ^ turn));
            match rustix::fs::mkdirat(&self.parent, &name, Mode::from_raw_mode(0o755)) {
                Err(Errno::EXIST) => continue,
                made => made.map_err(failed)?,
            }
            // Another build may have taken it for a dead one's before the lock was there.
            let Ok(lock) = self.lock(&name) else { continue };
            let folder = match self.parent.folder(&name) {
                Err(Errno::NOENT) => continue,
                folder => folder.map_err(failed)?,
            };
            let mode = Mode::from_raw_mode(0o755);
            rustix::fs::mkdirat(&folder, DOCUMENTS, mode).map_err(failed)?;
            let documents = folder.folder(DOCUMENTS).map_err(failed)?;
            return Ok(CacheDraft {
                target: self,
                name: Some(name),
                folder,
                documents,
                filled: false,
                _lock: lock,
            });
        }
        Err(failed(Errno::EXIST))
    }

    fn beside(&self, ending: &str) -> OsString {
        let mut name = OsString::from(".");
        name.push(&self.name);
        name.push(".");
        name.push(ending);
        name
    }

    /// Locks a directory as long as the handle lives, if nobody else has.
    fn lock(&self, name: &OsStr) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | PRIVATE;
        let handle = rustix::fs::openat(&self.parent, name, flags, Mode::empty())?;
        rustix::fs::flock(&handle, FlockOperation::NonBlockingLockExclusive)?;
        Ok(handle)
    }

    /// Removes the drafts of builds that live no more. What cannot be removed harms nobody.
    pub(crate) fn sweep(&self) {
        for (name, kind) in self.parent.list().unwrap_or_default() {
            if kind == FileType::Directory
                && self.is_left(&name)
                && let Ok(_lock) = self.lock(&name)
            {
                let _ = self.remove(&name);
            }
        }
    }

    /// Whether a build has given this name: to its draft, or to the cache that it moved aside.
    fn is_left(&self, name: &OsStr) -> bool {
        let beside = self.beside("");
        let ending = |name: &[u8]| {
            let ending = name.strip_prefix(beside.as_encoded_bytes())?;
            str::from_utf8(ending).ok().map(str::to_owned)
        };
        let draft = |ending: &str| {
            let numbers = ending.strip_prefix("tmp-")?.split_once('-')?;
            let (process, random) = numbers;
            let hex = random.len() == 16 && random.bytes().all(|one| one.is_ascii_hexdigit());
            (process.parse::<u32>().is_ok() && hex).then_some(())
        };
        let Some(ending) = ending(name.as_encoded_bytes()) else {
            return false;
        };
        match ending.strip_prefix("old-") {
            Some(moved) => self.is_left(OsStr::new(moved)),
            None => draft(&ending).is_some(),
        }
    }

    /// Makes a cache that was replaced the spare: its documents alone.
    fn spare_of(&self, name: &OsStr) -> Result<(), Errno> {
        let folder = self.parent.folder(name)?;
        for (file, kind) in folder.list()? {
            if kind != FileType::Directory {
                rustix::fs::unlinkat(&folder, &file, AtFlags::empty())?;
            }
        }
        let (parent, flags) = (&self.parent, RenameFlags::NOREPLACE);
        match rustix::fs::renameat_with(parent, name, parent, self.spare(), flags) {
            Ok(()) => Ok(()),
            // There is one already: another update was quicker.
            Err(_) => self.remove(name),
        }
    }

    /// Removes a directory of the shape of a cache.
    fn remove(&self, name: &OsStr) -> Result<(), Errno> {
        let folder = self.parent.folder(name)?;
        if let Ok(documents) = folder.folder(DOCUMENTS) {
            for (name, _) in documents.list()? {
                rustix::fs::unlinkat(&documents, &name, AtFlags::empty())?;
            }
        }
        for (name, kind) in folder.list()? {
            let flags = match kind {
                FileType::Directory => AtFlags::REMOVEDIR,
                _ => AtFlags::empty(),
            };
            rustix::fs::unlinkat(&folder, &name, flags)?;
        }
        rustix::fs::unlinkat(&self.parent, name, AtFlags::REMOVEDIR)
    }

    fn system(&self, doing: &str, error: Errno) -> Failure {
        Failure::system(format!("{doing} `{}`", shown(&self.shown)))(error)
    }
}

/// A cache that is being written. Dropped, it leaves nothing.
#[derive(Debug)]
pub(crate) struct CacheDraft<'t> {
    target: &'t BuildTarget,
    name: Option<OsString>,
    pub(crate) folder: DirHandle,
    pub(crate) documents: DirHandle,
    /// Whether documents of an earlier cache are in it already.
    pub(crate) filled: bool,
    _lock: OwnedFd,
}

/// What becomes of a cache that is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplacedCache {
    /// It is removed.
    Remove,
    /// Its documents are kept beside the new one, which shares most of them: the next update begins
    /// with them, and nothing has to be unlinked now.
    KeepAsSpare,
}

impl CacheDraft<'_> {
    /// Writes one file of the cache.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        write_new(&self.folder, name, bytes).map_err(|error| Failure::System {
            doing: format!("write {name}"),
            error,
        })
    }

    /// Begins one file of the cache.
    pub(crate) fn create(&self, name: &str) -> std::io::Result<File> {
        create(&self.folder, name).map_err(Into::into)
    }

    /// Begins to make durable what is there already, while other files are still being made.
    pub(crate) fn sync_early(&self) -> Result<(), Failure> {
        let failed = |error| self.target.system("write", error);
        rustix::fs::syncfs(open_for_sync(&self.folder).map_err(failed)?).map_err(failed)
    }

    /// Makes everything durable and puts it into its place, whole.
    pub(crate) fn publish(
        mut self,
        force: bool,
        replaced: ReplacedCache,
    ) -> Result<DirHandle, Failure> {
        let target = self.target;
        let failed = |error| target.system("write", error);
        rustix::fs::syncfs(open_for_sync(&self.folder).map_err(failed)?).map_err(failed)?;
        let Some(name) = self.name.clone() else {
            return Err(Failure::Bug("a draft was published twice"));
        };
        let rename = |how| {
            let parent = &target.parent;
            rustix::fs::renameat_with(parent, &name, parent, &target.name, how)
        };
        let placed = match force {
            true => rename(RenameFlags::EXCHANGE),
            false => Err(Errno::NOENT),
        };
        match placed {
            // What was there is now where the draft was.
            Ok(()) => {}
            // The file system cannot exchange names: a moment without a cache.
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
        rustix::fs::fsync(open_for_sync(&target.parent).map_err(failed)?).map_err(failed)?;
        // The next build removes what cannot be removed now.
        if replaced == ReplacedCache::Remove {
            target.remove_spare();
        }
        if let Some(old) = self.name.take() {
            let _ = match replaced {
                ReplacedCache::Remove => target.remove(&old),
                ReplacedCache::KeepAsSpare => target.spare_of(&old),
            };
        }
        self.folder.folder(".").map_err(failed)
    }

    /// Removes the documents that were written, which have no final names yet.
    fn forget_written(&self) -> Result<(), Errno> {
        for (name, _) in self.documents.list()? {
            if name.as_encoded_bytes().starts_with(b"~") {
                rustix::fs::unlinkat(&self.documents, &name, AtFlags::empty())?;
            }
        }
        Ok(())
    }

    fn move_aside(&mut self, name: &OsStr) -> Result<(), Failure> {
        let target = self.target;
        let parent = &target.parent;
        let failed = |error| target.system("replace", error);
        let mut old = target.beside("old-");
        old.push(name);
        rustix::fs::renameat(parent, &target.name, parent, &old).map_err(failed)?;
        rustix::fs::renameat(parent, name, parent, &target.name).map_err(failed)?;
        self.name = Some(old);
        Ok(())
    }
}

impl Drop for CacheDraft<'_> {
    fn drop(&mut self) {
        let Some(name) = self.name.take() else {
            return;
        };
        // Unlinking documents that a cache shares would change their times there.
        let _ = match self.filled {
            true => self
                .forget_written()
                .and_then(|()| self.target.spare_of(&name)),
            false => self.target.remove(&name),
        };
    }
}

/// A handle that can be synced: those that only name a directory cannot.
fn open_for_sync(folder: &DirHandle) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(folder, ".", flags, Mode::empty())
}

/// Whether this is how the file of a document is called: twelve digits, and a number where others
/// begin with the same.
fn is_document(name: &[u8]) -> bool {
    let Some((digits, rest)) = name.split_at_checked(12) else {
        return false;
    };
    let number = rest.strip_suffix(b".json");
    let number = number.map(|number| number.strip_prefix(b"-").unwrap_or(number));
    digits.iter().all(u8::is_ascii_hexdigit)
        && number.is_some_and(|number| number.iter().all(u8::is_ascii_digit))
}

fn create(folder: &DirHandle, name: &str) -> Result<File, Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | PRIVATE;
    let mode = Mode::from_raw_mode(0o644);
    rustix::fs::openat(folder.as_fd(), name, flags, mode).map(File::from)
}

/// Writes a file that was not there.
pub(crate) fn write_new(folder: &DirHandle, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    create(folder, name)?.write_all(bytes)
}

/// What a file is called as long as it is not whole.
fn unfinished(name: &str) -> String {
    format!(".{name}.tmp")
}

/// Puts a file into a cache that is already in its place: whole or not at all.
pub(crate) fn replace_file(
    folder: &DirHandle,
    name: &str,
    write: impl FnOnce(&mut File) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let failed = || Failure::system(format!("write {name}"));
    let draft = unfinished(name);
    match rustix::fs::unlinkat(folder, &draft, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(failed()(error)),
    }
    let mut file = create(folder, &draft).map_err(failed())?;
    write(&mut file)?;
    rustix::fs::fdatasync(&file).map_err(failed())?;
    rustix::fs::renameat(folder, &draft, folder, name).map_err(failed())
}

/// The same with bytes that are at hand.
pub(crate) fn replace_bytes(folder: &DirHandle, name: &str, bytes: &[u8]) -> Result<(), Failure> {
    replace_file(folder, name, |file| {
        file.write_all(bytes).map_err(|error| Failure::System {
            doing: format!("write {name}"),
            error,
        })
    })
}
