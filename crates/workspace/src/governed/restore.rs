//! Puts the governed files back as they were, wherever a command or an earlier attempt stopped.

use super::entry::GovernedEntry;
use super::ignore_rules::IgnoreRules;
use super::saved_bytes::copy_back;
use super::snapshot::{GovernedFile, Snapshot, take_again};
use crate::write::{SettleError, dir_of, is_unreachable, sync_if_exists};
use candor_disk::{Disk, DiskFile, Open};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// The mode of a directory that is made again, before the umask.
const DIR_MODE: u32 = 0o755;

/// The beginning of the names of files that are about to be put back.
const ASIDE: &str = ".candor-back-";

/// Puts everything back; durable when this returns. Returns the paths that had to be. `before` are the files of
/// the entry, with their stamps if these are known.
pub(super) fn restore<D: Disk>(
    root: &D,
    state: &D,
    entry: &GovernedEntry,
    before: &Snapshot,
    rules: &mut IgnoreRules,
) -> Result<Vec<String>, SettleError> {
    let now = take_again(root, &entry.writable, rules).map_err(|error| match error {
        super::SnapshotError::Io { source, .. } => SettleError::Io(source),
        _ => SettleError::Contradiction,
    })?;
    let mut back = Vec::new();
    let mut dirs = BTreeSet::new();
    let mut touch = |path: &str| {
        dirs.insert(dir_of(path).to_owned());
    };
    for odd in &now.odd {
        root.unlink(odd)?;
        let path = odd.to_string_lossy();
        touch(&path);
        back.push(path.into_owned());
    }
    for path in now
        .files
        .keys()
        .filter(|path| !before.files.contains_key(*path))
    {
        root.unlink(path)?;
        touch(path);
        back.push(path.clone());
    }
    let made: Vec<_> = now.dirs.difference(&before.dirs).collect();
    for dir in made.into_iter().rev() {
        match root.remove_dir(dir) {
            // Files that git ignores are left.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
            removed => removed?,
        }
        touch(dir);
    }
    for dir in before.dirs.difference(&now.dirs) {
        root.create_dir(dir, DIR_MODE)?;
    }
    if before.stamps.is_empty() {
        // The names of an earlier attempt may not be durable yet.
        before.dirs.iter().for_each(|dir| touch(dir));
    }
    before.dirs.difference(&now.dirs).for_each(|dir| touch(dir));
    let touched: BTreeSet<&String> = now.touched_since(before).collect();
    let saved = match state.open(&entry.saved, Open::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        opened => Some(opened?),
    };
    for (index, (path, was)) in entry.files.iter().enumerate() {
        if now.files.get(path) == Some(&was.file) {
            if touched.contains(path) {
                // The bytes are right, but perhaps not on the disk.
                root.open(path, Open::Read)?.sync_all()?;
                touch(path);
            }
            continue;
        }
        let aside = match dir_of(path) {
            "" => format!("{ASIDE}{index}"),
            dir => format!("{dir}/{ASIDE}{index}"),
        };
        match &was.file {
            GovernedFile::File { mode, length, .. } => {
                let file = root.open(&aside, Open::CreateNew(0o600))?;
                if *length > 0 {
                    let saved = saved.as_ref().ok_or(SettleError::Contradiction)?;
                    copy_back::<D>(saved, was.offset, *length, &file)?;
                }
                file.set_mode(*mode)?;
                file.sync_all()?;
            }
            GovernedFile::Link { target } => root.symlink(target, &aside)?,
        }
        root.rename(&aside, path)?;
        touch(path);
        back.push(path.clone());
    }
    for dir in dirs {
        sync_if_directory(root, &dir)?;
    }
    back.sort_unstable();
    Ok(back)
}

/// Returns the rules that held before the commands ran, from the entry and the saved bytes.
pub(super) fn rules_of<D: Disk>(
    root: &D,
    state: &D,
    entry: &GovernedEntry,
) -> Result<IgnoreRules, SettleError> {
    let mut rules = IgnoreRules::new(root, entry.tracked.clone());
    for path in &entry.writable {
        for above in Path::new(path).ancestors().skip(1) {
            rules.read(root, above);
        }
    }
    for (path, was) in &entry.files {
        let GovernedFile::File { length, .. } = was.file else {
            continue;
        };
        let path = Path::new(path);
        if path
            .file_name()
            .is_some_and(|name| name == super::ignore_rules::GITIGNORE)
        {
            let saved = state.open(&entry.saved, Open::Read)?;
            let bytes = super::saved_bytes::read_back(&saved, was.offset, length)?;
            rules.add(path.parent().unwrap_or(Path::new("")), &bytes);
        }
    }
    Ok(rules)
}

/// Makes the names in a directory durable, unless it is gone or something else is there now.
pub(super) fn sync_if_directory<D: Disk>(root: &D, dir: &str) -> io::Result<()> {
    match sync_if_exists(root, dir) {
        Err(error) if is_unreachable(&error) => Ok(()),
        synced => synced,
    }
}
