//! Finds sources: the regular files below one directory, without following links, in the order of ids.

use crate::build::directory_snapshot::{DirectorySnapshot, DirectorySnapshots};
use crate::build::source_walk::SourceWalk;
use crate::failure::{Failure, SourceFlaw, shown};
use crate::files::dir_handle::DirHandle;
use crate::files::file_stamp::FileStamp;
use crate::files::location::Location;
use crate::proof::check::Now;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use rustix::io::Errno;
use std::io;
use std::path::Path;

/// The rules that decide which files are sources.
#[derive(Debug, Clone, Default)]
pub struct SourceFilter {
    include: Option<GlobSet>,
    exclude: Option<GlobSet>,
    respect_gitignore: bool,
}

/// A glob that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidGlob {
    pub glob: String,
    pub reason: String,
}

impl SourceFilter {
    /// Includes every file that matches one of `include` (if empty: whose name ends in `.md`) and none of
    /// `exclude`. A glob without `/` is compared with the name, one with `/` with the path below the
    /// sources. `*` does not cross `/`, `**` does.
    pub fn new(
        include: &[String],
        exclude: &[String],
        respect_gitignore: bool,
    ) -> Result<SourceFilter, InvalidGlob> {
        Ok(SourceFilter {
            include: globs(include)?,
            exclude: globs(exclude)?,
            respect_gitignore,
        })
    }

    pub(crate) fn includes(&self, source: &str) -> bool {
        let included = match &self.include {
            Some(include) => include.is_match(source),
            None => {
                let name = source.rsplit('/').next().unwrap_or(source);
                name.len() > ".md".len() && name.ends_with(".md")
            }
        };
        included && !self.excludes(source)
    }

    pub(crate) fn respects_gitignore(&self) -> bool {
        self.respect_gitignore
    }

    pub(crate) fn excludes(&self, source: &str) -> bool {
        let exclude = self.exclude.as_ref();
        exclude.is_some_and(|exclude| exclude.is_match(source))
    }
}

fn globs(patterns: &[String]) -> Result<Option<GlobSet>, InvalidGlob> {
    if patterns.is_empty() {
        return Ok(None);
    }
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let bad = |error: globset::Error| InvalidGlob {
            glob: pattern.clone(),
            reason: error.kind().to_string(),
        };
        // A trailing slash means a directory. Excluding a directory excludes everything in it anyway.
        let path = pattern.trim_end_matches('/');
        let whole = match path.strip_prefix("./").or(path.strip_prefix('/')) {
            Some(anchored) => anchored.to_owned(),
            None if path.contains('/') => path.to_owned(),
            None => format!("**/{path}"),
        };
        let glob = GlobBuilder::new(&whole).literal_separator(true).build();
        set.add(glob.map_err(bad)?);
    }
    let bad = |error: globset::Error| InvalidGlob {
        glob: patterns.join(" "),
        reason: error.kind().to_string(),
    };
    set.build().map(Some).map_err(bad)
}

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
    shown: String,
}

impl SourceDirectory {
    pub(crate) fn open(location: &Location, path: &Path) -> Result<SourceDirectory, Failure> {
        let shown = path.to_string_lossy().into_owned();
        let lost = |failure| match failure {
            // The sources are not a cache: if they are missing, that is an I/O error.
            Failure::Lookup { path, error } => unreadable(&path, error.into()),
            Failure::Outside { path } => unreadable(&path, Errno::XDEV.into()),
            other => other,
        };
        let directory = location.find(path).map_err(lost)?;
        Ok(SourceDirectory { directory, shown })
    }

    /// Returns every source in the order of ids, with its stamp if `sign` is set, and the listings of the
    /// source directories. Directories in `known` that are unchanged are not listed again.
    pub(crate) fn list(
        &self,
        filter: &SourceFilter,
        sign: bool,
        known: &DirectorySnapshots,
        now: Now<'_>,
    ) -> Result<(Vec<SourceFile>, Vec<DirectorySnapshot>), Failure> {
        let walk = SourceWalk {
            filter,
            sign,
            shown: &self.shown,
            known,
            now,
            root: &self.directory,
        };
        let (mut found, snapshots) = walk.run()?;
        found.sort_unstable_by(|one, other| (&one.id, &one.path).cmp(&(&other.id, &other.path)));
        let twins = found.windows(2).find(|pair| pair[0].id == pair[1].id);
        match twins {
            Some([one, other]) => Err(Failure::Sources(SourceFlaw::Twins(
                one.path.clone(),
                other.path.clone(),
            ))),
            _ => Ok((found, snapshots)),
        }
    }
}

pub(crate) fn unreadable(path: &str, error: io::Error) -> Failure {
    Failure::System {
        doing: format!("read the source `{}`", shown(path)),
        error,
    }
}
