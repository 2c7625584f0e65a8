//! Follows the sources of the served caches: each cache with a record of its build is updated after every
//! change, on a thread of its own.

use crate::build::build_record::{RecordLookup, find_record};
use crate::build::builder::BuildOutcome;
use crate::build::source_watch::wait;
use crate::build::updater::{RETRY_INTERVAL, StopSignal, UpdateReports, Updater};
use crate::failure::{Failure, shown};
use crate::files::location::Location;
use crate::parallel::lock;
use crate::read::catalogue::{Catalogue, NamedCache};
use crate::serve::open_caches::ChangeDetection;
use candor_fault::Timestamp;
use candor_street::Clock;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The time between two searches for caches that have appeared or disappeared.
pub const SEARCH_INTERVAL: Duration = Duration::from_secs(2);

/// The settings of all updates.
#[derive(Clone)]
pub struct UpdateSettings {
    pub detection: ChangeDetection,
    /// The real time.
    pub clock: Arc<dyn Clock>,
    /// Returns the time that is written as `created_at`.
    pub created_at: fn() -> Timestamp,
    /// Returns a random part of the name of a draft.
    pub random: fn() -> u64,
}

/// The caches whose sources are followed, by their paths in the catalogue.
#[derive(Debug, Default)]
pub(crate) struct FollowedCaches(Mutex<BTreeMap<PathBuf, Arc<FollowedCache>>>);

/// A cache whose sources are followed.
#[derive(Debug)]
struct FollowedCache {
    /// Its path without links.
    real_path: PathBuf,
    is_fresh: AtomicBool,
    stop: StopSignal,
}

impl FollowedCaches {
    /// Returns true if the cache at a path matches its sources, as far as is known. Returns `None` if it
    /// has no record, so that they cannot be followed.
    pub(crate) fn freshness(&self, location: &Location, path: &Path) -> Option<bool> {
        let followed = lock(&self.0).get(path).map(Arc::clone);
        match followed {
            Some(cache) => Some(cache.is_fresh.load(Ordering::Relaxed)),
            // It has appeared since the last search.
            None => match find_record(location, path) {
                Ok(RecordLookup::Found(_)) => Some(false),
                _ => None,
            },
        }
    }
}

/// Follows the sources of every cache of a catalogue until it is ended.
pub struct SourceFollower {
    stop: Arc<StopSignal>,
    search: JoinHandle<()>,
}

impl SourceFollower {
    /// Starts to follow the caches of a catalogue, which must have `followed`.
    pub(crate) fn start(
        catalogue: Arc<Catalogue>,
        followed: Arc<FollowedCaches>,
        settings: UpdateSettings,
    ) -> io::Result<SourceFollower> {
        let stop = Arc::new(StopSignal::new()?);
        let mut search = CacheSearch {
            catalogue,
            followed,
            settings,
            turn: Arc::default(),
            threads: Vec::new(),
            unfollowed: BTreeMap::new(),
        };
        let thread = thread::Builder::new().name(String::from("context-follow"));
        let stopping = Arc::clone(&stop);
        let search = thread.spawn(move || search.run(&stopping))?;
        Ok(SourceFollower { stop, search })
    }

    /// Ends all updates. Waits for the one that is running.
    pub fn end(self) {
        self.stop.stop();
        // A panic is in the log.
        let _ = self.search.join();
    }
}

/// Searches for caches to follow.
struct CacheSearch {
    catalogue: Arc<Catalogue>,
    followed: Arc<FollowedCaches>,
    settings: UpdateSettings,
    /// Shared by all updates, which take turns: each of them uses all processors.
    turn: Arc<Mutex<()>>,
    threads: Vec<JoinHandle<()>>,
    /// The caches that cannot be followed, with the reasons that were logged.
    unfollowed: BTreeMap<PathBuf, String>,
}

impl CacheSearch {
    fn run(&mut self, stop: &StopSignal) {
        while !stop.is_stopped() {
            self.search();
            self.threads.retain(|thread| !thread.is_finished());
            let _ = wait(&[stop.as_fd()], SEARCH_INTERVAL);
        }
        for cache in lock(&self.followed.0).values() {
            cache.stop.stop();
        }
        for thread in self.threads.drain(..) {
            // A panic is in the log.
            let _ = thread.join();
        }
    }

    /// Starts and ends updaters, so that every cache with a record has one.
    fn search(&mut self) {
        let Ok(caches) = self.catalogue.caches_quietly() else {
            // The calls say why. The caches that are followed may be fine.
            return;
        };
        let mut lost: BTreeMap<PathBuf, Arc<FollowedCache>> = lock(&self.followed.0).clone();
        for cache in &caches {
            let known = lost.get(&cache.path);
            match self.real_path(cache) {
                Ok(Some(path)) if known.is_none_or(|known| known.real_path != path) => {
                    self.follow(cache, path);
                }
                Ok(None) => {}
                // A record that cannot be read now may be readable later.
                Ok(Some(_)) | Err(_) => drop(lost.remove(&cache.path)),
            }
        }
        let mut followed = lock(&self.followed.0);
        for (path, cache) in lost {
            cache.stop.stop();
            if followed
                .get(&path)
                .is_some_and(|now| Arc::ptr_eq(now, &cache))
            {
                followed.remove(&path);
            }
        }
    }

    /// Returns the path of a cache without links, or `None` if it has no record that can be used.
    fn real_path(&mut self, cache: &NamedCache) -> Result<Option<PathBuf>, Failure> {
        let location = self.catalogue.open.location();
        let reason = match find_record(location, &cache.path)? {
            RecordLookup::Found(found) => return Ok(found.file.parent().map(Path::to_owned)),
            RecordLookup::Absent => return Ok(None),
            RecordLookup::Unusable(reason) => reason,
        };
        self.warn_once(cache, format!("build.json is ignored: {reason}"));
        Ok(None)
    }

    fn follow(&mut self, cache: &NamedCache, real_path: PathBuf) {
        match self.start_updater(cache, real_path) {
            Ok(()) => drop(self.unfollowed.remove(&cache.path)),
            Err(error) => self.warn_once(cache, error.to_string()),
        }
    }

    /// Logs why a cache is not followed. A search finds the same reason again, every two seconds.
    fn warn_once(&mut self, cache: &NamedCache, reason: String) {
        if self.unfollowed.get(&cache.path) != Some(&reason) {
            tracing::warn!(cache = %shown(&cache.name), "the sources are not followed: {reason}");
            self.unfollowed.insert(cache.path.clone(), reason);
        }
    }

    fn start_updater(&mut self, cache: &NamedCache, real_path: PathBuf) -> io::Result<()> {
        let followed = Arc::new(FollowedCache {
            real_path: real_path.clone(),
            is_fresh: AtomicBool::new(false),
            stop: StopSignal::new()?,
        });
        let UpdateSettings {
            detection,
            clock,
            created_at,
            random,
        } = self.settings.clone();
        let updater = Updater {
            // The path is absolute and without links.
            location: Arc::new(Location::Anywhere),
            cache: real_path,
            force: false,
            detection,
            clock,
            created_at: Box::new(created_at),
            random: Box::new(random),
            retry_interval: RETRY_INTERVAL,
            turn: Arc::clone(&self.turn),
        };
        let reports = LoggedReports {
            name: shown(&cache.name),
            cache: Arc::clone(&followed),
        };
        let thread = thread::Builder::new().name(String::from("context-update"));
        let thread = thread.spawn(move || updater.run(&reports.cache.stop, &reports))?;
        self.threads.push(thread);
        lock(&self.followed.0).insert(cache.path.clone(), followed);
        Ok(())
    }
}

/// Logs updates, and keeps whether the cache is fresh.
struct LoggedReports {
    name: String,
    cache: Arc<FollowedCache>,
}

impl LoggedReports {
    fn set_fresh(&self, is_fresh: bool) {
        self.cache.is_fresh.store(is_fresh, Ordering::Relaxed);
    }
}

impl Drop for LoggedReports {
    fn drop(&mut self) {
        // The updater has ended, perhaps by a panic.
        self.set_fresh(false);
    }
}

impl UpdateReports for LoggedReports {
    fn updated(&self, outcome: &BuildOutcome) {
        self.set_fresh(true);
        tracing::info!(
            cache = %self.name,
            documents = outcome.document_count,
            read = outcome.read,
            "a cache was updated"
        );
    }

    fn failed(&self, failure: &Failure) {
        self.set_fresh(false);
        let code = failure.fault().row().code;
        tracing::warn!(cache = %self.name, %code, "an update failed: {failure}");
    }

    fn changed(&self) {
        self.set_fresh(false);
    }

    fn matched(&self) {
        self.set_fresh(true);
    }

    fn comparing(&self, reason: &str) {
        tracing::warn!(
            cache = %self.name,
            "the sources are compared every 2 seconds instead of being watched: {reason}"
        );
    }
}
