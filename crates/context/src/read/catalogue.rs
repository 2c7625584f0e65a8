//! The caches that are read together: found below their paths, called by the names of their directories.

use crate::cache::{Cache, CacheAccessError};
use crate::failure::Failure;
use crate::files::dir_handle::DirHandle;
use crate::files::location::Location;
use crate::format::manifest::{self, DOCUMENTS, INDEX, MANIFEST};
use crate::read::failure::{ReadFailure, UnknownCache};
use crate::serve::open_caches::{ChangeDetection, OpenCaches};
use crate::serve::source_follower::FollowedCaches;
use candor_street::Clock;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most caches that are served together.
pub const MAX_SERVED: usize = 64;

/// The most caches of one search.
pub const MAX_SEARCHED: usize = 16;

/// The most names that a failure lists.
const MAX_NAMES: usize = 10;

/// The cache that is meant if none is named: a hidden directory beside the sources.
pub const DEFAULT_CACHE: &str = ".context";

/// The caches at some paths. Each path is a cache, a directory of caches, or a directory with the cache
/// [`DEFAULT_CACHE`] and no other.
pub struct Catalogue {
    pub(crate) open: Arc<OpenCaches>,
    paths: Vec<PathBuf>,
    empty: EmptyDirectory,
    /// The caches whose sources are followed, if any are.
    pub(crate) followed: Option<Arc<FollowedCaches>>,
}

/// The meaning of a directory that contains no cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmptyDirectory {
    /// Caches may appear in it later.
    Served,
    /// It should have been a cache.
    InvalidCache,
}

/// A cache with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedCache {
    pub name: String,
    pub path: PathBuf,
}

/// A reason why the caches at some paths cannot be read together.
#[derive(Debug)]
pub enum PathFlaw {
    /// A path cannot be looked up or listed.
    Path(Failure),
    SameName {
        name: String,
        paths: [PathBuf; 2],
    },
    /// There are this many caches, which is too many.
    Many(usize),
}

impl Catalogue {
    /// Makes a catalogue of the caches at these paths, which are looked up at `location`.
    pub fn new(
        location: Location,
        paths: Vec<PathBuf>,
        empty: EmptyDirectory,
        clock: Arc<dyn Clock>,
        detection: ChangeDetection,
    ) -> Catalogue {
        // The working directory of the process may change.
        let absolute = |path: PathBuf| match &location {
            Location::Anywhere => std::path::absolute(&path).unwrap_or(path),
            Location::Below(_) => path,
        };
        let paths = paths.into_iter().map(absolute).collect();
        Catalogue {
            open: OpenCaches::new(location, clock, detection),
            paths,
            empty,
            followed: None,
        }
    }

    /// Returns the caches, or the reason why they cannot be read together.
    pub fn verify(&self) -> Result<Vec<NamedCache>, PathFlaw> {
        let mut all: Vec<NamedCache> = Vec::new();
        for path in &self.paths {
            for cache in self.at(path).map_err(PathFlaw::Path)? {
                if let Some(other) = all.iter().find(|other| other.name == cache.name) {
                    return Err(PathFlaw::SameName {
                        name: cache.name,
                        paths: [other.path.clone(), cache.path],
                    });
                }
                all.push(cache);
            }
        }
        match all.len() {
            0..=MAX_SERVED => Ok(sorted(all)),
            many => Err(PathFlaw::Many(many)),
        }
    }

    /// Returns the caches that exist now, sorted by name. Of two with one name the first path counts, and
    /// of too many the first.
    pub(crate) fn caches(&self) -> Result<Vec<NamedCache>, ReadFailure> {
        let mut all = self.found_caches()?;
        if all.len() > MAX_SERVED {
            tracing::warn!(caches = all.len(), "only the first caches are served");
            all.truncate(MAX_SERVED);
        }
        Ok(sorted(all))
    }

    /// Returns the same caches. For work in the background, which has no caller to be warned.
    pub(crate) fn caches_quietly(&self) -> Result<Vec<NamedCache>, ReadFailure> {
        let mut all = self.found_caches()?;
        all.truncate(MAX_SERVED);
        Ok(all)
    }

    /// Returns the caches that exist now, in the order of their paths. There may be too many.
    fn found_caches(&self) -> Result<Vec<NamedCache>, ReadFailure> {
        let mut all: Vec<NamedCache> = Vec::new();
        for path in &self.paths {
            let found = match self.at(path) {
                Ok(found) => found,
                // A server goes on without a path that has vanished.
                Err(Failure::Lookup { .. }) if self.empty == EmptyDirectory::Served => continue,
                Err(failure) => return Err(ReadFailure::Paths(failure)),
            };
            for cache in found {
                if all.iter().all(|other| other.name != cache.name) {
                    all.push(cache);
                }
            }
        }
        Ok(all)
    }

    /// Returns the caches at a path: the one that it is, or those in it.
    fn at(&self, path: &Path) -> Result<Vec<NamedCache>, Failure> {
        let directory = self.open.location().find(path)?;
        let itself = || NamedCache {
            name: name_of(path),
            path: path.to_owned(),
        };
        if is_cache(&directory) {
            return Ok(vec![itself()]);
        }
        let listed = match directory.list() {
            Ok(listed) => listed,
            Err(error) => {
                let doing = format!("list `{}`", crate::failure::shown(&path.to_string_lossy()));
                return Err(Failure::system(doing)(error));
            }
        };
        let (mut found, mut default) = (Vec::new(), None);
        for (name, of_kind) in listed {
            // Links lead elsewhere, and drafts of builds are hidden.
            let is_visible = |name: &&str| !name.starts_with('.') || *name == DEFAULT_CACHE;
            let Some(name) = name.to_str().filter(is_visible) else {
                continue;
            };
            if of_kind == FileType::Directory
                && directory.open_dir(name).is_ok_and(|it| is_cache(&it))
            {
                let cache = NamedCache {
                    name: name.to_owned(),
                    path: path.join(name),
                };
                match name == DEFAULT_CACHE {
                    true => default = Some(cache),
                    false => found.push(cache),
                }
            }
        }
        if found.is_empty() {
            found.extend(default);
        }
        match found.is_empty() && self.empty == EmptyDirectory::InvalidCache {
            true => Ok(vec![itself()]),
            false => Ok(found),
        }
    }

    /// Queries one cache. If it changes meanwhile, it is opened and queried again.
    pub(crate) fn query<T>(
        &self,
        cache: &NamedCache,
        query: impl Fn(&Cache) -> Result<T, CacheAccessError>,
    ) -> Result<T, ReadFailure> {
        let answer = self.open.query(&cache.path, query);
        answer.map_err(|failure| failed(cache, failure))
    }

    /// Returns the caches with the numbers of documents that their manifests state. Opens no cache.
    pub(crate) fn outline(&self) -> Vec<(NamedCache, Option<u64>)> {
        let caches = self.caches().unwrap_or_default().into_iter();
        let counted = |cache: NamedCache| {
            let directory = self.open.location().find(&cache.path).ok();
            let count = directory.and_then(|directory| manifest::stated_count(&directory));
            (cache, count)
        };
        caches.map(counted).collect()
    }

    /// Returns the paths of the open caches whose documents were hashed, because they are not sealed.
    pub fn unsealed(&self) -> Vec<PathBuf> {
        let caches = self.caches().unwrap_or_default().into_iter();
        let hashed = caches.filter(|cache| self.open.was_hashed(&cache.path));
        hashed.map(|cache| cache.path).collect()
    }
}

fn sorted(mut caches: Vec<NamedCache>) -> Vec<NamedCache> {
    caches.sort_by(|one, other| one.name.cmp(&other.name));
    caches
}

/// Returns the failure of a cache.
pub(crate) fn failed(cache: &NamedCache, failure: Failure) -> ReadFailure {
    match failure {
        Failure::Bug(what) => ReadFailure::Bug(what),
        Failure::Budget(_) => ReadFailure::AnswerTooLarge,
        failure => ReadFailure::Cache {
            name: cache.name.clone(),
            failure,
        },
    }
}

/// Returns the cache with this name.
pub(crate) fn find_named<'c>(
    caches: &'c [NamedCache],
    name: &str,
) -> Result<&'c NamedCache, ReadFailure> {
    let found = caches.iter().find(|cache| cache.name == name);
    found.ok_or_else(|| {
        let names = || caches.iter().map(|cache| cache.name.as_str());
        ReadFailure::UnknownCache(UnknownCache {
            asked: name.to_owned(),
            near: candor_schema::nearest(name, names()).map(str::to_owned),
            names: names().take(MAX_NAMES).map(str::to_owned).collect(),
            more: caches.len().saturating_sub(MAX_NAMES),
        })
    })
}

/// Returns the name of a cache: the one of its directory.
fn name_of(path: &Path) -> String {
    let resolved = || path.canonicalize().ok()?.file_name().map(OsStr::to_owned);
    match path.file_name().map(OsStr::to_owned).or_else(resolved) {
        Some(name) => name.to_string_lossy().into_owned(),
        None => path.to_string_lossy().into_owned(),
    }
}

/// Returns true if a directory is a cache, perhaps a broken one. One that cannot be searched may be one:
/// a caller learns why it cannot be read.
fn is_cache(directory: &DirHandle) -> bool {
    match directory.stat(MANIFEST) {
        Ok(_) => true,
        Err(Errno::NOENT) => directory.stat(INDEX).is_ok() && directory.stat(DOCUMENTS).is_ok(),
        Err(_) => true,
    }
}
