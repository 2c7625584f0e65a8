//! Compares a cache with its sources.

use crate::MAX_CONTENT;
use crate::build::directory_snapshot::DirectorySnapshots;
use crate::build::origins;
use crate::build::sources::{SourceDirectory, SourceFile, SourceFilter, unreadable};
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

/// Compares a cache with its sources. Sources whose stamps are unchanged are not read.
pub fn status(
    location: &Location,
    sources: &Path,
    cache: &Path,
    filter: &SourceFilter,
    now: Now<'_>,
) -> Result<Freshness, Failure> {
    let cache = reader::open(location, cache, now)?;
    let sources = SourceDirectory::open(location, sources)?;
    let list = sources
        .list(filter, true, &DirectorySnapshots::default(), now)?
        .0;
    let known_sources = known_sources(&cache)?;
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

fn known_sources(cache: &Cache) -> Result<BTreeMap<String, KnownSource>, Failure> {
    let lists = manifest::read(cache.open_dir());
    let Some(manifest) = lists.manifest else {
        return Err(Failure::Restless);
    };
    let origins = origins::find(cache.open_dir(), cache.version());
    let mut origins = origins.unwrap_or_default().documents.into_iter();
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
    let same_path = before.path.as_ref().is_none_or(|path| *path == source.path);
    let failed = |error: rustix::io::Errno| unreadable(&source.path, error.into());
    if same_path && before.stamp.is_some() && before.stamp == source.stamp {
        return Ok(false);
    }
    let file = sources.directory.open(&source.path).map_err(failed)?;
    let mut content = Vec::new();
    let mut file = file.take(MAX_CONTENT + 1);
    file.read_to_end(&mut content)
        .map_err(|error| unreadable(&source.path, error))?;
    Ok(!same_path || Digest::of(&content) != before.version)
}
