//! Finding sources: regular files below one directory, links not followed, in the order of their ids.

use crate::MAX_DOCUMENTS;
use crate::document::id_of;
use crate::failure::{Failure, SourceFlaw, shown};
use crate::folder::Folder;
use crate::location::Location;
use crate::parallel;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::{DirEntry, WalkBuilder, WalkState};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Which files are sources.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    include: Option<GlobSet>,
    exclude: Option<GlobSet>,
    respect_gitignore: bool,
}

/// A glob that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadGlob {
    /// What was given.
    pub glob: String,
    /// What is wrong with it.
    pub why: String,
}

impl Wanted {
    /// Every file that matches one of `include` (without any: whose name ends in `.md`), and none of
    /// `exclude`. A glob without `/` is compared with the name, one with `/` with the path below the
    /// sources; `*` does not cross `/`, `**` does.
    pub fn new(
        include: &[String],
        exclude: &[String],
        respect_gitignore: bool,
    ) -> Result<Wanted, BadGlob> {
        Ok(Wanted {
            include: globs(include)?,
            exclude: globs(exclude)?,
            respect_gitignore,
        })
    }

    fn wants(&self, source: &str) -> bool {
        let included = match &self.include {
            Some(include) => include.is_match(source),
            None => {
                let name = source.rsplit('/').next().unwrap_or(source);
                name.len() > ".md".len() && name.ends_with(".md")
            }
        };
        included && !self.excludes(source)
    }

    fn excludes(&self, source: &str) -> bool {
        let exclude = self.exclude.as_ref();
        exclude.is_some_and(|exclude| exclude.is_match(source))
    }
}

fn globs(patterns: &[String]) -> Result<Option<GlobSet>, BadGlob> {
    if patterns.is_empty() {
        return Ok(None);
    }
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let bad = |error: globset::Error| BadGlob {
            glob: pattern.clone(),
            why: error.kind().to_string(),
        };
        let whole = match pattern.trim_start_matches("./") {
            name if !name.contains('/') => format!("**/{name}"),
            path => path.trim_start_matches('/').to_owned(),
        };
        let glob = GlobBuilder::new(&whole).literal_separator(true).build();
        set.add(glob.map_err(bad)?);
    }
    let bad = |error: globset::Error| BadGlob {
        glob: patterns.join(" "),
        why: error.kind().to_string(),
    };
    set.build().map(Some).map_err(bad)
}

/// A file that becomes a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) id: String,
    /// The path below the sources, case kept.
    pub(crate) path: String,
}

/// The directory that sources are in.
#[derive(Debug)]
pub(crate) struct Sources {
    pub(crate) folder: Folder,
    shown: String,
}

impl Sources {
    pub(crate) fn open(location: &Location, path: &Path) -> Result<Sources, Failure> {
        let shown = path.to_string_lossy().into_owned();
        let lost = |failure| match failure {
            // The sources are no cache: that they are not there is a matter of the system.
            Failure::Lookup { path, error } => unreadable(&path, error.into()),
            Failure::Outside { path } => unreadable(&path, Errno::XDEV.into()),
            other => other,
        };
        let folder = location.find(path).map_err(lost)?;
        Ok(Sources { folder, shown })
    }

    /// Every wanted file, in the order of ids.
    pub(crate) fn list(&self, wanted: &Wanted) -> Result<Vec<Source>, Failure> {
        // The walk goes by names; through the handle it begins at the directory that was found.
        let root = PathBuf::from(format!(
            "/proc/self/fd/{}/",
            self.folder.as_fd().as_raw_fd()
        ));
        let found = Mutex::new(Found::default());
        walk(&root, wanted).run(|| {
            let mut own = Handing {
                to: &found,
                found: Found::default(),
            };
            let (root, wanted) = (&root, wanted);
            Box::new(move |entry| {
                own.found.take(self.look(root, wanted, entry));
                match own.found.sources.len() > MAX_DOCUMENTS {
                    true => WalkState::Quit,
                    false => WalkState::Continue,
                }
            })
        });
        found
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .sorted()
    }

    /// What one entry of the walk is: a source, or nothing.
    fn look(
        &self,
        root: &Path,
        wanted: &Wanted,
        entry: Result<DirEntry, ignore::Error>,
    ) -> Result<Option<Source>, (PathBuf, Failure)> {
        let entry = entry.map_err(|error| {
            let at = path_of(&error).unwrap_or(root).to_owned();
            (at, self.lost(root, error))
        })?;
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            return Ok(None);
        }
        let at = || entry.path().to_owned();
        let inside = entry.path().strip_prefix(root);
        let inside = inside.map_err(|_| (at(), Failure::Bug("a walk left its root")))?;
        match inside.to_str() {
            Some(path) if wanted.wants(path) => Ok(Some(Source {
                id: id_of(path),
                path: path.to_owned(),
            })),
            Some(_) => Ok(None),
            None => check_name(inside, wanted)
                .map(|()| None)
                .map_err(|failure| (at(), failure)),
        }
    }

    fn lost(&self, root: &Path, error: ignore::Error) -> Failure {
        let path = path_of(&error).map(|path| match path.strip_prefix(root) {
            Ok(inside) => inside.to_string_lossy().into_owned(),
            Err(_) => self.shown.clone(),
        });
        let path = path.filter(|path| !path.is_empty());
        let name = path.unwrap_or_else(|| self.shown.clone());
        // Its words name the handle that the walk goes through; the kind is what a person needs.
        let kind = error.io_error().map(io::Error::kind);
        unreadable(&name, kind.unwrap_or(io::ErrorKind::InvalidInput).into())
    }
}

/// What a walk has found.
#[derive(Default)]
struct Found {
    sources: Vec<Source>,
    failed: Option<(PathBuf, Failure)>,
}

impl Found {
    fn take(&mut self, seen: Result<Option<Source>, (PathBuf, Failure)>) {
        match seen {
            Ok(source) => self.sources.extend(source),
            // Of several failures the one with the smallest path is told, whoever met it.
            Err(new) => match &self.failed {
                Some(old) if old.0 <= new.0 => {}
                _ => self.failed = Some(new),
            },
        }
    }

    fn sorted(self) -> Result<Vec<Source>, Failure> {
        if let Some((_, failure)) = self.failed {
            return Err(failure);
        }
        let mut found = self.sources;
        if found.len() > MAX_DOCUMENTS {
            return Err(Failure::Sources(SourceFlaw::Many));
        }
        found.sort_unstable_by(|one, other| (&one.id, &one.path).cmp(&(&other.id, &other.path)));
        let twins = found.windows(2).find(|pair| pair[0].id == pair[1].id);
        match twins {
            Some([one, other]) => Err(Failure::Sources(SourceFlaw::Twins(
                one.path.clone(),
                other.path.clone(),
            ))),
            _ => Ok(found),
        }
    }
}

/// What one worker of a walk has found; handed over when the worker ends.
struct Handing<'a> {
    to: &'a Mutex<Found>,
    found: Found,
}

impl Drop for Handing<'_> {
    fn drop(&mut self) {
        let mut all = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        all.sources.append(&mut self.found.sources);
        if let Some(failed) = self.found.failed.take() {
            all.take(Err(failed));
        }
    }
}

/// A name that is not UTF-8 matters only where it would be a source.
fn check_name(inside: &Path, wanted: &Wanted) -> Result<(), Failure> {
    let shown = inside.to_string_lossy();
    match wanted.wants(&shown) {
        true => Err(Failure::Sources(SourceFlaw::Name(shown.into_owned()))),
        false => Ok(()),
    }
}

fn walk(root: &Path, wanted: &Wanted) -> ignore::WalkParallel {
    let mut walk = WalkBuilder::new(root);
    walk.standard_filters(false).follow_links(false);
    if wanted.respect_gitignore {
        walk.git_ignore(true).require_git(false).parents(false);
    }
    let (root, wanted) = (root.to_owned(), wanted.clone());
    walk.filter_entry(move |entry: &DirEntry| {
        // A directory that is excluded is not entered: `--exclude node_modules`.
        let inside = entry.path().strip_prefix(&root).unwrap_or(entry.path());
        let directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        !(directory && inside.to_str().is_some_and(|path| wanted.excludes(path)))
    });
    walk.threads(parallel::cores());
    walk.build_parallel()
}

fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            path_of(err)
        }
        _ => None,
    }
}

pub(crate) fn unreadable(path: &str, error: io::Error) -> Failure {
    Failure::System {
        doing: format!("read the source `{}`", shown(path)),
        error,
    }
}
