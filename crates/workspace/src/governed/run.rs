//! The governed files of one call, from before its commands start until the call is on record.

use super::entry::{GovernedEntry, SavedFile, pending_entry, remove_entry, write_entry};
use super::ignore_rules::IgnoreRules;
use super::restore::{restore, rules_of, sync_if_directory};
use super::saved_bytes::{SavedBytes, read_back};
use super::snapshot::{GovernedFile, Snapshot, SnapshotError, take_again, take_first};
use crate::plan::Operation;
use crate::write::{ChangeOrigin, SettleError, dir_of, hash_of};
use candor_disk::{Disk, DiskFile, Open};
use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

/// The governed files of one call.
pub(crate) struct GovernedRun<D: Disk> {
    root: D,
    state: D,
    entry: GovernedEntry,
    before: Snapshot,
    /// The files after the commands have run.
    after: Snapshot,
    rules: IgnoreRules,
}

/// A governed file that commands have changed. Hashes are SHA-256 in hex; of a link, that of its target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GovernedChange {
    pub(crate) path: String,
    pub(crate) operation: Operation,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
    pub(crate) bytes: Option<u64>,
    /// The mode afterwards as git writes it, if there is a file.
    pub(crate) mode: Option<&'static str>,
    /// The target, if the path is a link afterwards.
    pub(crate) link: Option<String>,
}

/// The governed files after commands have run.
#[derive(Debug, Default)]
pub(crate) struct GovernedChanges {
    pub(crate) changes: Vec<GovernedChange>,
    /// Things that appeared and are neither file, directory nor link, or whose names are not text.
    pub(crate) odd: Vec<PathBuf>,
    /// True if there are more files or bytes than may be governed.
    pub(crate) is_too_large: bool,
}

impl<D: Disk + Clone> GovernedRun<D> {
    /// Lists and saves the governed files. From now on they are put back unless the call is recorded.
    /// `tracked` are the files in git's index.
    pub(crate) fn begin(
        root: D,
        state: D,
        saved: &mut SavedBytes<D>,
        writable: &[String],
        tracked: BTreeSet<String>,
        about: ChangeOrigin,
    ) -> Result<GovernedRun<D>, SnapshotError> {
        let mut rules = IgnoreRules::new(&root, tracked);
        let before = take_first(&root, writable, &mut rules)?;
        let at = |source: io::Error| match source.raw_os_error() {
            Some(code) if code == rustix::io::Errno::FBIG.raw_os_error() => SnapshotError::TooLarge,
            _ => SnapshotError::NotSaved(source),
        };
        let offsets = saved.save(&root, &before.files).map_err(at)?;
        let files = before.files.iter().map(|(path, file)| {
            let saved = SavedFile {
                file: file.clone(),
                offset: offsets.get(path).copied().unwrap_or_default(),
            };
            (path.clone(), saved)
        });
        let entry = GovernedEntry {
            v: 1,
            about,
            writable: writable.to_vec(),
            saved: saved.path().to_owned(),
            files: files.collect(),
            dirs: before.dirs.clone(),
            tracked: rules.tracked_and_ignored().cloned().collect(),
        };
        write_entry(&state, &entry).map_err(at)?;
        Ok(GovernedRun {
            root,
            state,
            entry,
            before,
            after: Snapshot::default(),
            rules,
        })
    }

    /// Returns what has changed since.
    pub(crate) fn changes(&mut self) -> Result<GovernedChanges, SnapshotError> {
        let now = take_again(&self.root, &self.entry.writable, &mut self.rules)?;
        let paths: BTreeSet<&String> = self.before.files.keys().chain(now.files.keys()).collect();
        let mut changes = Vec::new();
        for path in paths {
            let (before, after) = (self.before.files.get(path), now.files.get(path));
            if before != after {
                changes.push(change(path, before, after));
            }
        }
        let odd = now.odd.clone();
        let is_too_large = now.is_too_large;
        self.after = now;
        Ok(GovernedChanges {
            changes,
            odd,
            is_too_large,
        })
    }

    /// Makes everything durable that commands wrote, before it is recorded.
    pub(crate) fn sync(&self) -> io::Result<()> {
        let mut dirs = BTreeSet::new();
        for path in self.after.touched_since(&self.before) {
            self.root.open(path, Open::Read)?.sync_all()?;
            dirs.insert(dir_of(path).to_owned());
        }
        let (before, after) = (&self.before, &self.after);
        let is_other = |path: &&String| before.files.get(*path) != after.files.get(*path);
        let paths = before.files.keys().chain(after.files.keys());
        dirs.extend(paths.filter(is_other).map(|path| dir_of(path).to_owned()));
        let other_dirs = after.dirs.symmetric_difference(&before.dirs);
        dirs.extend(other_dirs.map(|dir| dir_of(dir).to_owned()));
        dirs.iter()
            .try_for_each(|dir| sync_if_directory(&self.root, dir))
    }

    /// Returns the bytes of a file before the commands ran, or `None` if there was no file.
    pub(crate) fn bytes_before(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        let Some(saved) = self.entry.files.get(path) else {
            return Ok(None);
        };
        match saved.file {
            GovernedFile::File { length, .. } => {
                let file = self.state.open(&self.entry.saved, Open::Read)?;
                read_back(&file, saved.offset, length).map(Some)
            }
            GovernedFile::Link { .. } => Ok(None),
        }
    }

    /// Puts everything back.
    pub(crate) fn undo(mut self) -> io::Result<()> {
        let before = &self.before;
        let restored = restore(
            &self.root,
            &self.state,
            &self.entry,
            before,
            &mut self.rules,
        );
        restored.map_err(|error| match error {
            SettleError::Io(error) => error,
            _ => io::Error::other("the tree has more files than can be put back"),
        })?;
        remove_entry(&self.state, true)
    }

    /// Leaves everything as it is, because the call is on record or nothing has changed. If a crash loses
    /// that, it is done again.
    pub(crate) fn keep(self) -> io::Result<()> {
        remove_entry(&self.state, false)
    }
}

fn change(
    path: &str,
    before: Option<&GovernedFile>,
    after: Option<&GovernedFile>,
) -> GovernedChange {
    let hash = |file: &GovernedFile| match file {
        GovernedFile::File { hash, .. } => hash.clone(),
        GovernedFile::Link { target } => hash_of(target.as_bytes()),
    };
    let operation = match (before, after) {
        (None, _) => Operation::Create,
        (_, None) => Operation::Delete,
        _ => Operation::Modify,
    };
    let (bytes, mode, link) = match after {
        Some(GovernedFile::File { mode, length, .. }) => {
            let mode = if mode & 0o111 == 0 {
                "100644"
            } else {
                "100755"
            };
            (Some(*length), Some(mode), None)
        }
        Some(GovernedFile::Link { target }) => (None, None, Some(target.clone())),
        None => (None, None, None),
    };
    GovernedChange {
        path: path.to_owned(),
        operation,
        before: before.map(hash),
        after: after.map(hash),
        bytes,
        mode,
        link,
    }
}

/// The governed files that were put back after the server of a call died.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) about: ChangeOrigin,
    pub(crate) paths: Vec<String>,
}

/// Settles the entry of a dead process. `recorded` returns true if the log has the line of a call; `record`
/// records what was put back.
pub(crate) fn recover<D: Disk>(
    root: &D,
    state: &D,
    recorded: impl FnOnce(&ChangeOrigin) -> Result<bool, SettleError>,
    record: impl FnOnce(&Recovered) -> Result<(), SettleError>,
) -> Result<(), SettleError> {
    let Some(entry) = pending_entry(state)? else {
        return Ok(());
    };
    if !recorded(&entry.about)? {
        let mut rules = rules_of(root, state, &entry)?;
        // Without stamps, every file counts as written since.
        let before = entry.snapshot();
        let paths = restore(root, state, &entry, &before, &mut rules)?;
        record(&Recovered {
            about: entry.about.clone(),
            paths,
        })?;
    }
    Ok(remove_entry(state, true)?)
}
