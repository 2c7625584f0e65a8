//! Compares a cache with its sources.

use crate::MAX_CONTENT;
use crate::build::origins;
use crate::build::source_filter::SourceFilter;
use crate::build::sources::{ListingRequest, SourceDirectory, SourceFile, unreadable};
use crate::build::target_names::TargetNames;
use crate::cache::Cache;
use crate::failure::Failure;
use crate::files::file_stamp::FileStamp;
use crate::files::location::Location;
use crate::format::digest::Digest;
use crate::format::manifest;
use crate::parallel;
use crate::proof::check::Now;
use crate::query::reader;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// The differences between a cache and its sources, as sorted paths of sources.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Freshness {
    fresh: bool,
    added: Vec<String>,
    changed: Vec<String>,
    removed: Vec<String>,
}

impl Freshness {
    pub fn fresh(&self) -> bool {
        self.fresh
    }
}

/// A cache and the sources that it is compared with.
pub struct Comparison<'a> {
    /// The directory that relative paths start at.
    pub location: &'a Location,
    /// The directory of the sources.
    pub sources: &'a Path,
    /// The directory of the cache.
    pub cache: &'a Path,
    /// Selects the files that are sources.
    pub filter: &'a SourceFilter,
    /// True if files that cannot be documents are left out.
    pub skip_invalid: bool,
    /// The real time.
    pub now: Now<'a>,
}

/// Compares a cache with its sources. Sources whose stamps are unchanged are not read.
pub fn status(comparison: &Comparison<'_>) -> Result<Freshness, Failure> {
    let Comparison { location, now, .. } = *comparison;
    let cache = reader::open(location, comparison.cache, now)?;
    let sources = SourceDirectory::open(location, comparison.sources)?;
    let cache_path = location.real_path(cache.open_dir(), comparison.cache)?;
    let mut listing = sources.list(&ListingRequest {
        filter: comparison.filter,
        sign: true,
        target: TargetNames::below(&sources.real_path, &cache_path).as_ref(),
    })?;
    let known_sources = known_sources(&cache)?;
    if comparison.skip_invalid {
        let known = |file: &SourceFile| {
            let known = known_sources.get(&file.id);
            known.is_some_and(|known| known.is_unchanged(file))
        };
        let flawed = sources.find_flaws(&listing.files, known, now)?;
        listing.remove_flawed(flawed);
    } else if !listing.flaws.is_empty() {
        let mut flaws = listing.flaws;
        flaws.sort_by(|one, other| one.path().cmp(other.path()));
        return Err(Failure::Sources(flaws));
    }
    let list = listing.files;
    let make = || (Vec::new(), None);
    let workers = parallel::over(list.len(), make, |(changed, failed), number| {
        let source = &list[number];
        if let Some(before) = known_sources.get(&source.id) {
            match differs(&sources, source, before) {
                Ok(true) => changed.push(source.path.clone()),
                Ok(false) => {}
                Err(failure) => {
                    failed.get_or_insert((number, failure));
                }
            }
        }
    });
    let mut changed = Vec::new();
    let mut failures = Vec::new();
    for (more, failed) in workers {
        changed.extend(more);
        failures.extend(failed);
    }
    if let Some((_, failure)) = failures.into_iter().min_by_key(|(number, _)| *number) {
        return Err(failure);
    }
    let is_new = |source: &&SourceFile| !known_sources.contains_key(&source.id);
    let added: Vec<_> = list
        .iter()
        .filter(is_new)
        .map(|one| one.path.clone())
        .collect();
    let ids: std::collections::BTreeSet<_> = list.iter().map(|one| one.id.as_str()).collect();
    let gone = known_sources
        .iter()
        .filter(|(id, _)| !ids.contains(id.as_str()));
    let removed: Vec<_> = gone
        .map(|(id, before)| before.path.clone().unwrap_or_else(|| id.clone()))
        .collect();
    Ok(Freshness::of(added, changed, removed))
}

impl Freshness {
    fn of(mut added: Vec<String>, mut changed: Vec<String>, mut removed: Vec<String>) -> Freshness {
        let fresh = added.is_empty() && changed.is_empty() && removed.is_empty();
        for paths in [&mut added, &mut changed, &mut removed] {
            paths.sort_unstable();
        }
        Freshness {
            fresh,
            added,
            changed,
            removed,
        }
    }
}

/// The record of one source in a cache.
struct KnownSource {
    version: Digest,
    path: Option<String>,
    stamp: Option<FileStamp>,
}

impl KnownSource {
    fn has_path(&self, path: &str) -> bool {
        self.path.as_deref().is_none_or(|known| known == path)
    }

    /// Returns true if the file is proved to be the one that was read.
    fn is_unchanged(&self, file: &SourceFile) -> bool {
        self.has_path(&file.path) && self.stamp.is_some() && self.stamp == file.stamp
    }
}

fn known_sources(cache: &Cache) -> Result<BTreeMap<String, KnownSource>, Failure> {
    let lists = manifest::read(cache.open_dir());
    let Some(manifest) = lists.manifest else {
        return Err(Failure::Restless);
    };
    let origins = origins::find(cache.open_dir(), cache.version());
    let mut origins = origins.unwrap_or_default().into_iter();
    let all = manifest.documents.into_iter().map(|one| {
        let (path, stamp) = match origins.next() {
            Some(origin) => (Some(origin.path), origin.stamp),
            None => (None, None),
        };
        let version = one.version;
        let known_sources = KnownSource {
            version,
            path,
            stamp,
        };
        (one.id, known_sources)
    });
    Ok(all.collect())
}

fn differs(
    sources: &SourceDirectory,
    source: &SourceFile,
    before: &KnownSource,
) -> Result<bool, Failure> {
    let failed = |error: rustix::io::Errno| unreadable(&source.path, error.into());
    if before.is_unchanged(source) {
        return Ok(false);
    }
    let file = sources.directory.open(&source.path).map_err(failed)?;
    let mut content = Vec::new();
    let mut file = file.take(MAX_CONTENT + 1);
    file.read_to_end(&mut content)
        .map_err(|error| unreadable(&source.path, error))?;
    Ok(!before.has_path(&source.path) || Digest::of(&content) != before.version)
}
