//! Copies the files of objects as they are: packs with their indexes, loose objects, and those of
//! alternates. Objects that no ref reaches are copied too.

use super::errors::OrBroken;
use super::import::{ImportProgress, READ, WHAT};
use super::pack_index;
use crate::Failure;
use candor_fault::Cause;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The maximum number of object directories that alternates name.
pub const MAX_ALTERNATES: usize = 64;

/// The maximum number of alternates of alternates, as in git.
const MAX_ALTERNATE_LEVELS: usize = 5;

/// The maximum size of a file that names alternates.
const MAX_ALTERNATES_BYTES: u64 = 1 << 20;

/// The bytes that are copied between two reports of the progress.
const CHUNK: u64 = 8 << 20;

/// The mode of the files of objects.
const READ_ONLY: u32 = 0o444;

/// The files that are copied of a pack. Its index comes last, because a pack without one is ignored. A
/// `.keep` file is left behind: it says that its own repository must not pack the objects again.
const PACK_FILES: [&str; 4] = ["pack", "rev", "mtimes", "idx"];

/// Copies object files into one repository.
pub(super) struct ObjectFiles<'a> {
    /// The object directories of the source: its own and its alternates.
    sources: Vec<PathBuf>,
    to: PathBuf,
    copied: BTreeSet<PathBuf>,
    progress: &'a (dyn Fn(ImportProgress) + Send + Sync),
    bytes: ImportProgress,
}

fn refused(why: String) -> Failure {
    Failure::Broken(READ, Cause::Text(why))
}

impl<'a> ObjectFiles<'a> {
    pub(super) fn new(
        from: &Path,
        to: &Path,
        progress: &'a (dyn Fn(ImportProgress) + Send + Sync),
    ) -> Result<ObjectFiles<'a>, Failure> {
        Ok(ObjectFiles {
            sources: object_directories(from)?,
            to: to.to_path_buf(),
            copied: BTreeSet::new(),
            progress,
            bytes: ImportProgress::default(),
        })
    }

    /// Copies all files that were not copied yet. Returns false if a file has vanished meanwhile: then its
    /// objects are in another one, which the next attempt finds.
    pub(super) fn copy(&mut self) -> Result<bool, Failure> {
        let mut files = Vec::new();
        for source in self.sources.clone() {
            self.list_packs(&source, &mut files)?;
            self.list_loose(&source, &mut files)?;
        }
        self.bytes.total = self.bytes.copied + files.iter().map(|file| file.size).sum::<u64>();
        let mut is_complete = true;
        for file in files {
            is_complete &= self.copy_file(&file)?;
        }
        Ok(is_complete)
    }

    /// Fails if a copied pack does not fit its index.
    pub(super) fn check_packs(&self) -> Result<(), Failure> {
        let is_pack = |path: &&PathBuf| path.extension().is_some_and(|ending| ending == "pack");
        for pack in self.copied.iter().filter(is_pack) {
            let pack = self.to.join(pack);
            pack_index::check(&pack, &pack.with_extension("idx"))?;
        }
        Ok(())
    }

    fn list_packs(&self, source: &Path, files: &mut Vec<ObjectFile>) -> Result<(), Failure> {
        let dir = source.join("pack");
        let mut packs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for name in regular_files(&dir)? {
            let Some(name) = name.to_str() else { continue };
            if let Some((pack, ending)) = name.rsplit_once('.')
                && pack.starts_with("pack-")
            {
                let endings = packs.entry(pack.to_owned()).or_default();
                endings.insert(ending.to_owned());
            }
        }
        for (pack, endings) in packs {
            if endings.contains("promisor") {
                let fetch = "fetch its missing objects first: git fetch --refetch --no-filter";
                return Err(refused(format!("it is a partial clone; {fetch}")));
            }
            match (endings.contains("pack"), endings.contains("idx")) {
                (true, true) => {}
                (true, false) => {
                    let repair = "if no program is writing it, run `git index-pack` on it";
                    return Err(refused(format!("{pack}.pack has no index; {repair}")));
                }
                // Other files of a pack that was removed.
                (false, _) => continue,
            }
            let wanted = PACK_FILES.into_iter().filter(|one| endings.contains(*one));
            for ending in wanted {
                let name = format!("{pack}.{ending}");
                self.list_file(&dir.join(&name), Path::new("pack").join(name), files)?;
            }
        }
        Ok(())
    }

    fn list_loose(&self, source: &Path, files: &mut Vec<ObjectFile>) -> Result<(), Failure> {
        for first in 0..=u8::MAX {
            let first = format!("{first:02x}");
            let dir = source.join(&first);
            for name in regular_files(&dir)? {
                let Some(name) = name.to_str() else { continue };
                let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
                if name.len() == 38 && name.bytes().all(is_hex) {
                    self.list_file(&dir.join(name), Path::new(&first).join(name), files)?;
                }
            }
        }
        Ok(())
    }

    fn list_file(
        &self,
        from: &Path,
        name: PathBuf,
        files: &mut Vec<ObjectFile>,
    ) -> Result<(), Failure> {
        if self.copied.contains(&name) {
            return Ok(());
        }
        match fs::symlink_metadata(from) {
            Ok(found) => files.push(ObjectFile {
                from: from.to_path_buf(),
                name,
                size: found.len(),
            }),
            // It is missed when it is copied, unless it was an optional one.
            Err(error) if error.kind() == ErrorKind::NotFound => files.push(ObjectFile {
                from: from.to_path_buf(),
                name,
                size: 0,
            }),
            Err(error) => return Err(error).or_broken(READ),
        }
        Ok(())
    }

    /// Copies one file. Returns false if it has vanished.
    fn copy_file(&mut self, file: &ObjectFile) -> Result<bool, Failure> {
        if self.copied.contains(&file.name) {
            // Two alternates have it.
            self.advance(file.size);
            return Ok(true);
        }
        let from = match File::open(&file.from) {
            Ok(from) => from,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error).or_broken(READ),
        };
        let path = self.to.join(&file.name);
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir).or_broken(WHAT)?;
        }
        let mut to = File::create(&path).or_broken(WHAT)?;
        let mut left = from;
        loop {
            let copied = io::copy(&mut left.by_ref().take(CHUNK), &mut to).or_broken(WHAT)?;
            self.advance(copied);
            if copied < CHUNK {
                break;
            }
        }
        let permissions = Permissions::from_mode(READ_ONLY);
        to.set_permissions(permissions).or_broken(WHAT)?;
        self.copied.insert(file.name.clone());
        Ok(true)
    }

    fn advance(&mut self, bytes: u64) {
        self.bytes.copied += bytes;
        (self.progress)(self.bytes);
    }
}

/// A file to copy.
struct ObjectFile {
    from: PathBuf,
    /// Its name below the directory of objects.
    name: PathBuf,
    size: u64,
}

/// Returns the names of the files in a directory that may be absent. Links are refused: they could lead to
/// files of somebody else.
fn regular_files(dir: &Path) -> Result<Vec<OsString>, Failure> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).or_broken(READ),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.or_broken(READ)?;
        let kind = match entry.file_type() {
            Ok(kind) => kind,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error).or_broken(READ),
        };
        if kind.is_symlink() {
            let path = entry.path();
            return Err(refused(format!("{} is a symbolic link", path.display())));
        }
        if kind.is_file() {
            names.push(entry.file_name());
        }
    }
    Ok(names)
}

/// Returns the object directories of a repository: its own, its alternates, and theirs.
fn object_directories(own: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut all: Vec<PathBuf> = Vec::new();
    let mut waiting = vec![(own.to_path_buf(), 0)];
    while let Some((dir, level)) = waiting.pop() {
        let missing = || format!("its alternate {} cannot be read", dir.display());
        let path = dir.canonicalize().map_err(|_| refused(missing()))?;
        if all.contains(&path) {
            continue;
        }
        if level > MAX_ALTERNATE_LEVELS || all.len() > MAX_ALTERNATES {
            return Err(refused(String::from("it has too many alternates")));
        }
        for alternate in alternates(&path)? {
            waiting.push((path.join(alternate), level + 1));
        }
        all.push(path);
    }
    Ok(all)
}

/// Returns the alternates that an object directory names, relative to it or absolute.
fn alternates(objects: &Path) -> Result<Vec<PathBuf>, Failure> {
    let file = match File::open(objects.join("info/alternates")) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).or_broken(READ),
    };
    let mut text = String::new();
    let mut file = file.take(MAX_ALTERNATES_BYTES);
    file.read_to_string(&mut text).or_broken(READ)?;
    let lines = text.lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(lines.map(PathBuf::from).collect())
}
