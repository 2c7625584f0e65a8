//! Finds sources: the regular files below one directory, without following links, in the order of ids.

use crate::MAX_CONTENT;
use crate::build::source_filter::SourceFilter;
use crate::build::source_walk::SourceWalk;
use crate::build::target_names::TargetNames;
use crate::failure::{Failure, SourceFlaw, shown};
use crate::files::dir_handle::{DirHandle, stamp_of};
use crate::files::file_stamp::FileStamp;
use crate::files::location::Location;
use crate::parallel;
use crate::proof::check::Now;
use rustix::io::Errno;
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A file that becomes a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceFile {
    pub(crate) id: String,
    /// The path below the sources, in its original case.
    pub(crate) path: String,
    pub(crate) stamp: Option<FileStamp>,
}

/// The directory that sources are in.
#[derive(Debug)]
pub(crate) struct SourceDirectory {
    pub(crate) directory: DirHandle,
    /// Its path without links.
    pub(crate) real_path: PathBuf,
    shown: String,
}

/// The sources of a directory.
#[derive(Debug, Default)]
pub(crate) struct SourceListing {
    /// In the order of ids. No id occurs twice.
    pub(crate) files: Vec<SourceFile>,
    /// The paths of all directories that were entered, in no order.
    pub(crate) entered: Vec<OsString>,
    /// The files that cannot be documents because of their names.
    pub(crate) flaws: Vec<SourceFlaw>,
}

/// The sources to list.
pub(crate) struct ListingRequest<'a> {
    pub(crate) filter: &'a SourceFilter,
    /// True if the stamps of sources are taken too.
    pub(crate) sign: bool,
    /// The cache, which is not a source.
    pub(crate) target: Option<&'a TargetNames>,
}

impl SourceDirectory {
    pub(crate) fn open(location: &Location, path: &Path) -> Result<SourceDirectory, Failure> {
        let lost = |failure| match failure {
            // The sources are not a cache: if they are missing, that is an I/O error.
            Failure::Lookup { path, error } => Failure::NoSources { path, error },
            Failure::Outside { path } => Failure::NoSources {
                path,
                error: Errno::XDEV,
            },
            other => other,
        };
        let directory = location.find(path).map_err(lost)?;
        Ok(SourceDirectory {
            real_path: location.real_path(&directory, path)?,
            shown: path.to_string_lossy().into_owned(),
            directory,
        })
    }

    /// Returns every source.
    pub(crate) fn list(&self, request: &ListingRequest<'_>) -> Result<SourceListing, Failure> {
        let walk = SourceWalk {
            request,
            shown: &self.shown,
            root: &self.directory,
        };
        let mut listing = walk.run()?;
        let files = &mut listing.files;
        files.sort_unstable_by(|one, other| (&one.id, &one.path).cmp(&(&other.id, &other.path)));
        listing.remove_same_ids();
        Ok(listing)
    }

    /// Reads a source. Returns its stamp, or `None` if it was changed too recently.
    pub(crate) fn read(
        &self,
        path: &str,
        content: &mut Vec<u8>,
        now: Now<'_>,
    ) -> Result<Option<FileStamp>, Failure> {
        let failed = |error: Errno| unreadable(path, error.into());
        let (file, before) = self.directory.open_stamped(path).map_err(failed)?;
        content.clear();
        let mut read_on = |most: u64| -> Result<u64, Failure> {
            let read = (&file).take(most).read_to_end(content);
            read.map_err(|error| unreadable(path, error))?;
            Ok(content.len() as u64)
        };
        let mut length = read_on(before.size().min(MAX_CONTENT + 1))?;
        let unchanged = stamp_of(&file).map_err(failed)? == before;
        // Some file systems do not report sizes.
        if !unchanged || length == 0 || length != before.size() {
            length = read_on(MAX_CONTENT + 1 - length)?;
        }
        if length > MAX_CONTENT {
            let large = SourceFlaw::Large(path.to_owned(), before.size());
            return Err(Failure::Sources(vec![large]));
        }
        let whole = unchanged && length == before.size();
        Ok(Some(before).filter(|origin| whole && origin.is_settled(now.now())))
    }

    /// Returns the flaws of the contents of those sources that are not `known` to be documents, with
    /// the positions of the sources in the list.
    pub(crate) fn find_flaws(
        &self,
        files: &[SourceFile],
        known: impl Fn(&SourceFile) -> bool + Sync,
        now: Now<'_>,
    ) -> Result<Vec<(usize, SourceFlaw)>, Failure> {
        let make = || (Vec::new(), Vec::new(), None);
        let workers = parallel::over(files.len(), make, |(content, flaws, failed), number| {
            let file = &files[number];
            if known(file) {
                return;
            }
            match self.read(&file.path, content, now) {
                Ok(_) => flaws.extend(
                    content_of(&file.path, content)
                        .err()
                        .map(|one| (number, one)),
                ),
                Err(Failure::Sources(more)) => {
                    flaws.extend(more.into_iter().map(|one| (number, one)));
                }
                Err(failure) => {
                    failed.get_or_insert((number, failure));
                }
            }
        });
        let (mut flaws, mut failures) = (Vec::new(), Vec::new());
        for (_, more, failed) in workers {
            flaws.extend(more);
            failures.extend(failed);
        }
        if let Some((_, failure)) = failures.into_iter().min_by_key(|(number, _)| *number) {
            return Err(failure);
        }
        flaws.sort_unstable_by_key(|(number, _)| *number);
        Ok(flaws)
    }
}

impl SourceListing {
    /// Removes files whose ids are equal.
    fn remove_same_ids(&mut self) {
        let files = std::mem::take(&mut self.files);
        for same in files.chunk_by(|one, other| one.id == other.id) {
            match same {
                [file] => self.files.push(file.clone()),
                [first, second, ..] => {
                    let flaw = |(number, file): (usize, &SourceFile)| {
                        let other = if number == 0 { second } else { first };
                        SourceFlaw::SameId(file.path.clone(), other.path.clone())
                    };
                    self.flaws.extend(same.iter().enumerate().map(flaw));
                }
                [] => {}
            }
        }
    }

    /// Removes the files with these flaws, whose positions ascend.
    pub(crate) fn remove_flawed(&mut self, flawed: Vec<(usize, SourceFlaw)>) {
        let mut flawed = flawed.into_iter().peekable();
        let mut number = 0;
        let flaws = &mut self.flaws;
        self.files.retain(|_| {
            let flaw = flawed.next_if(|(position, _)| *position == number);
            number += 1;
            let keep = flaw.is_none();
            flaws.extend(flaw.map(|(_, flaw)| flaw));
            keep
        });
    }
}

/// Returns the content of a source as text.
pub(crate) fn content_of<'c>(path: &str, content: &'c [u8]) -> Result<&'c str, SourceFlaw> {
    std::str::from_utf8(content)
        .map_err(|error| SourceFlaw::Content(path.to_owned(), error.valid_up_to()))
}

pub(crate) fn unreadable(path: &str, error: io::Error) -> Failure {
    Failure::System {
        doing: format!("read the source `{}`", shown(path)),
        error,
    }
}
