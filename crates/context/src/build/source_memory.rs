//! Remembers the sources of a cache between two updates, so that a changed file does not cost a walk
//! through all directories.

use crate::build::build_record::BuildRecord;
use crate::build::sources::{SourceDirectory, SourceFile};
use crate::files::dir_handle::kind;
use crate::files::file_stamp::FileStamp;
use crate::format::document::id_of;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::ffi::OsString;
use std::time::{Duration, Instant};

/// The sources are walked again after this time: some changes cause no event, for example those through a
/// link from elsewhere.
const MAX_AGE: Duration = Duration::from_secs(60);

/// With more changed files than this, the sources are walked again.
const MAX_CHANGED: usize = 256;

/// The sources of the last update, and the files that have changed since.
#[derive(Debug, Default)]
pub(crate) struct SourceMemory {
    known: Option<KnownSources>,
    changed: Vec<OsString>,
}

#[derive(Debug)]
struct KnownSources {
    files: Vec<SourceFile>,
    /// The device and the inode of their directory.
    identity: (u64, u64),
    record: BuildRecord,
    walked: Instant,
}

impl SourceMemory {
    /// Adds the path of a file that has changed.
    pub(crate) fn add_change(&mut self, path: OsString) {
        if self.changed.contains(&path) {
            return;
        }
        match self.changed.len() < MAX_CHANGED {
            true => self.changed.push(path),
            false => self.forget(),
        }
    }

    /// Forgets everything, so that the next update walks through the sources.
    pub(crate) fn forget(&mut self) {
        *self = SourceMemory::default();
    }

    /// Returns the sources with new stamps for those that have changed, and the time of the walk that
    /// found them. Returns `None` if they have to be walked through: nothing is remembered, or a file has
    /// appeared or disappeared.
    pub(crate) fn take(
        &mut self,
        sources: &SourceDirectory,
        record: &BuildRecord,
        now: Instant,
    ) -> Option<(Vec<SourceFile>, Instant)> {
        let SourceMemory { known, changed } = std::mem::take(self);
        let known = known.filter(|known| {
            known.record == *record
                && sources.directory.identity() == Ok(known.identity)
                && now.saturating_duration_since(known.walked) < MAX_AGE
        })?;
        let mut files = known.files;
        for path in changed {
            let path = path.to_str()?;
            let id = id_of(path);
            let found = files.binary_search_by(|file| file.id.as_str().cmp(&id));
            let stat = sources.directory.stat(path);
            match (found, stat) {
                (Ok(at), Ok(stat))
                    if files[at].path == path && kind(&stat) == FileType::RegularFile =>
                {
                    files[at].stamp = Some(FileStamp::of(&stat));
                }
                // A file that existed only for a moment.
                (Err(_), Err(Errno::NOENT)) => {}
                _ => return None,
            }
        }
        Some((files, known.walked))
    }

    /// Remembers the sources of an update.
    pub(crate) fn remember(
        &mut self,
        files: Vec<SourceFile>,
        sources: &SourceDirectory,
        record: &BuildRecord,
        walked: Instant,
    ) {
        self.known = sources
            .directory
            .identity()
            .ok()
            .map(|identity| KnownSources {
                files,
                identity,
                record: record.clone(),
                walked,
            });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::build_record::BuildSettings;
    use crate::build::source_filter::SourceFilter;
    use crate::build::sources::ListingRequest;
    use crate::files::location::Location;
    use crate::tokenizer::Tokenizer;
    use std::fs;
    use std::path::Path;

    fn record(sources: &Path, passages: bool) -> BuildRecord {
        let settings = BuildSettings {
            filter: &SourceFilter::default(),
            skip_invalid: false,
            passages,
            tokenizer: Tokenizer::Bytes4,
        };
        BuildRecord::new(sources, sources, &settings).unwrap()
    }

    fn walk(sources: &SourceDirectory) -> Vec<SourceFile> {
        let request = ListingRequest {
            filter: &SourceFilter::default(),
            sign: true,
            target: None,
        };
        sources.list(&request).unwrap().files
    }

    /// Remembers three files, makes a change, and returns what is taken from memory.
    fn taken_after(
        change: impl FnOnce(&Path) -> &'static [&'static str],
    ) -> Option<Vec<SourceFile>> {
        let root = tempfile::tempdir().unwrap();
        let path = root.path();
        fs::create_dir(path.join("in")).unwrap();
        for name in ["a.md", "in/B.md", "in/c.md"] {
            fs::write(path.join(name), name).unwrap();
        }
        let sources = SourceDirectory::open(&Location::Anywhere, path).unwrap();
        let (record, now) = (record(path, true), Instant::now());
        let mut memory = SourceMemory::default();
        assert_eq!(memory.take(&sources, &record, now), None);
        memory.remember(walk(&sources), &sources, &record, now);
        for changed in change(path) {
            memory.add_change(OsString::from(changed));
        }
        let taken = memory.take(&sources, &record, now);
        assert_eq!(memory.take(&sources, &record, now), None, "taken twice");
        let (files, walked) = taken?;
        assert_eq!(walked, now);
        assert_eq!(files, walk(&sources));
        Some(files)
    }

    #[test]
    fn changed_files_get_new_stamps() {
        let taken = taken_after(|root| {
            fs::write(root.join("in/B.md"), "longer than before").unwrap();
            fs::write(root.join("new.md"), "saved").unwrap();
            fs::rename(root.join("new.md"), root.join("a.md")).unwrap();
            &["in/B.md", "new.md", "a.md"]
        });
        let paths: Vec<_> = taken.unwrap().into_iter().map(|file| file.path).collect();
        assert_eq!(paths, ["a.md", "in/B.md", "in/c.md"]);
        assert!(taken_after(|_| &[]).is_some());
    }

    #[test]
    fn files_that_come_and_go_need_a_walk() {
        let gone = |root: &Path| -> &'static [&'static str] {
            fs::remove_file(root.join("a.md")).unwrap();
            &["a.md"]
        };
        let new = |root: &Path| -> &'static [&'static str] {
            fs::write(root.join("d.md"), "").unwrap();
            &["d.md"]
        };
        let linked = |root: &Path| -> &'static [&'static str] {
            fs::remove_file(root.join("a.md")).unwrap();
            std::os::unix::fs::symlink("in/c.md", root.join("a.md")).unwrap();
            &["a.md"]
        };
        let same_id = |root: &Path| -> &'static [&'static str] {
            fs::write(root.join("A.md"), "").unwrap();
            &["A.md"]
        };
        assert_eq!(taken_after(gone), None);
        assert_eq!(taken_after(new), None);
        assert_eq!(taken_after(linked), None);
        assert_eq!(taken_after(same_id), None);
    }

    #[test]
    fn other_and_old_sources_need_a_walk() {
        let root = tempfile::tempdir().unwrap();
        let (first, second) = (root.path().join("first"), root.path().join("second"));
        fs::create_dir(&first).unwrap();
        fs::create_dir(&second).unwrap();
        let sources = SourceDirectory::open(&Location::Anywhere, &first).unwrap();
        let others = SourceDirectory::open(&Location::Anywhere, &second).unwrap();
        let (own, now) = (record(&first, true), Instant::now());
        let memory = || {
            let mut memory = SourceMemory::default();
            memory.remember(Vec::new(), &sources, &own, now);
            memory
        };
        assert!(memory().take(&sources, &own, now).is_some());
        assert_eq!(memory().take(&others, &own, now), None);
        assert_eq!(memory().take(&sources, &record(&first, false), now), None);
        let last = now + MAX_AGE - Duration::from_nanos(1);
        assert!(memory().take(&sources, &own, last).is_some());
        assert_eq!(memory().take(&sources, &own, now + MAX_AGE), None);
        let mut many = memory();
        (0..=MAX_CHANGED).for_each(|number| many.add_change(format!("{number}.md").into()));
        assert_eq!(many.take(&sources, &own, now), None);
    }
}
