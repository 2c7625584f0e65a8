//! The caches that a server keeps open. Each is proved once. Then its directories are watched, and
//! changes that watching does not show are searched for once a second.

use crate::cache::{Cache, CacheAccessError, TrustBasis};
use crate::failure::Failure;
use crate::files::dir_handle::DirHandle;
use crate::files::location::Location;
use crate::parallel::lock;
use crate::proof::check;
use crate::proof::inspect::{self, Inspection};
use crate::query::reader::TRIES;
use crate::serve::watch::DirectoryWatch;
use candor_street::Clock;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::Duration;

/// The most caches that are kept open.
pub const MAX_OPEN: usize = 64;

/// The time between two searches for changes that watching does not show.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// A cache that is not used during this many sweeps is closed.
const IDLE_SWEEPS: u64 = 60;

/// The way in which changes of an open cache are detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChangeDetection {
    /// By watching its directories. If they cannot be watched, every stamp is compared.
    #[default]
    Watch,
    /// By comparing every stamp before every response.
    Compare,
}

/// The open caches, by device and inode of their directories.
pub(crate) struct OpenCaches {
    location: Location,
    clock: Arc<dyn Clock>,
    detection: ChangeDetection,
    slots: Mutex<BTreeMap<(u64, u64), Arc<CacheSlot>>>,
    sweeps: AtomicU64,
    sweeper: Mutex<bool>,
}

/// The slot of one directory. The handle of its cache keeps the inode from being reused.
#[derive(Default)]
struct CacheSlot {
    open: Mutex<Option<OpenCache>>,
    used: AtomicU64,
}

/// An open cache that a request holds while it uses several.
pub(crate) struct CacheLease {
    slot: Arc<CacheSlot>,
    pub(crate) cache: Arc<Cache>,
}

struct OpenCache {
    cache: Arc<Cache>,
    watch: Option<DirectoryWatch>,
    /// True if there are unprocessed file-system events.
    has_events: bool,
    is_stale: bool,
}

impl OpenCache {
    fn new(cache: &Arc<Cache>, watch: Option<DirectoryWatch>) -> OpenCache {
        OpenCache {
            cache: Arc::clone(cache),
            watch,
            has_events: false,
            is_stale: false,
        }
    }

    /// Returns true if neither watching nor a sweep has shown a change.
    fn is_quiet(&mut self) -> bool {
        // Reading an event removes it, so it is recorded here.
        self.has_events |= !self.watch.as_ref().is_some_and(DirectoryWatch::is_quiet);
        !self.has_events && !self.is_stale
    }
}

impl OpenCaches {
    pub(crate) fn new(
        location: Location,
        clock: Arc<dyn Clock>,
        detection: ChangeDetection,
    ) -> Arc<OpenCaches> {
        Arc::new(OpenCaches {
            location,
            clock,
            detection,
            slots: Mutex::default(),
            sweeps: AtomicU64::new(0),
            sweeper: Mutex::default(),
        })
    }

    pub(crate) fn location(&self) -> &Location {
        &self.location
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    /// Queries the cache at a path. If it changes meanwhile, it is opened and queried again.
    pub(crate) fn query<T>(
        self: &Arc<Self>,
        path: impl AsRef<Path>,
        query: impl Fn(&Cache) -> Result<T, CacheAccessError>,
    ) -> Result<T, Failure> {
        let path = path.as_ref();
        let query = |directory| self.query_directory(path, directory, &query);
        self.location.with(path, |_| true, query)
    }

    /// Returns the cache at a path, proved as of now, for a request that needs several caches.
    pub(crate) fn lease(self: &Arc<Self>, path: &Path) -> Result<CacheLease, Failure> {
        let lease = |directory: DirHandle| {
            let slot = self.slot(&directory)?;
            let cache = self.current(&slot, path, directory)?;
            Ok(CacheLease { slot, cache })
        };
        self.location.with(path, |_| true, lease)
    }

    /// Opens a leased cache again after an error. If that fails it may have been replaced: the path is
    /// resolved again.
    pub(crate) fn renew(
        self: &Arc<Self>,
        lease: &CacheLease,
        path: &Path,
        error: &CacheAccessError,
    ) -> Result<CacheLease, Failure> {
        match self.reopen(&lease.slot, &lease.cache, error) {
            Ok(cache) => Ok(CacheLease {
                slot: Arc::clone(&lease.slot),
                cache,
            }),
            Err(_) => self.lease(path),
        }
    }

    fn query_directory<T>(
        self: &Arc<Self>,
        path: &Path,
        directory: DirHandle,
        query: impl Fn(&Cache) -> Result<T, CacheAccessError>,
    ) -> Result<T, Failure> {
        let slot = self.slot(&directory)?;
        let mut cache = self.current(&slot, path, directory)?;
        for _ in 0..TRIES {
            match query(&cache) {
                Ok(answer) => return Ok(answer),
                Err(CacheAccessError::Failed(failure)) => return Err(failure),
                Err(error) => cache = self.reopen(&slot, &cache, &error)?,
            }
        }
        Err(Failure::Restless)
    }

    /// Describes a cache. An invalid cache is described too.
    pub(crate) fn inspect(self: &Arc<Self>, path: &str) -> Result<Inspection, Failure> {
        let directory = self.location.find(Path::new(path))?;
        inspect::inspect_directory(&directory, || {
            self.query(path, |cache| Ok(inspect::describe(cache)))
        })
    }

    fn slot(&self, directory: &DirHandle) -> Result<Arc<CacheSlot>, Failure> {
        let identity = directory.identity();
        let identity = identity.map_err(Failure::system("look at the cache"))?;
        let mut slots = lock(&self.slots);
        let now = self.sweeps.load(Ordering::Relaxed);
        if !slots.contains_key(&identity) && slots.len() >= MAX_OPEN {
            let used =
                |(_, slot): &(&(u64, u64), &Arc<CacheSlot>)| slot.used.load(Ordering::Relaxed);
            if let Some(oldest) = slots.iter().min_by_key(used).map(|(key, _)| *key) {
                slots.remove(&oldest);
            }
        }
        let slot = slots.entry(identity).or_default();
        slot.used.store(now, Ordering::Relaxed);
        Ok(Arc::clone(slot))
    }

    /// Returns the cache of a slot, proved as of now.
    fn current(
        self: &Arc<Self>,
        slot: &CacheSlot,
        path: &Path,
        directory: DirHandle,
    ) -> Result<Arc<Cache>, Failure> {
        let mut open = lock(&slot.open);
        if let Some(open) = open.as_mut() {
            // Without a watch, or after an event, every stamp is compared.
            if open.is_quiet() || (!open.is_stale && open.cache.is_unchanged(true)) {
                open.has_events = false;
                return Ok(Arc::clone(&open.cache));
            }
        }
        self.open(&mut open, path, directory)
    }

    /// Returns the cache at a path if it is open and unchanged, without waiting for a lock.
    pub(crate) fn ready(&self, path: impl AsRef<Path>) -> Option<Arc<Cache>> {
        let directory = self.location.find(path.as_ref()).ok()?;
        let identity = directory.identity().ok()?;
        let slot = Arc::clone(lock(&self.slots).get(&identity)?);
        let now = self.sweeps.load(Ordering::Relaxed);
        slot.used.store(now, Ordering::Relaxed);
        let mut open = slot.open.try_lock().ok()?;
        let open = open.as_mut()?;
        open.is_quiet().then(|| Arc::clone(&open.cache))
    }

    /// Returns true if the cache at a path is open and its documents were hashed to open it.
    pub(crate) fn was_hashed(&self, path: &Path) -> bool {
        let directory = self.location.find(path).ok();
        let identity = directory.and_then(|directory| directory.identity().ok());
        let slot = identity.and_then(|identity| lock(&self.slots).get(&identity).cloned());
        slot.is_some_and(|slot| {
            let open = lock(&slot.open);
            open.as_ref().is_some_and(|open| open.cache.was_hashed())
        })
    }

    fn open(
        self: &Arc<Self>,
        open: &mut Option<OpenCache>,
        path: &Path,
        directory: DirHandle,
    ) -> Result<Arc<Cache>, Failure> {
        let before = open.take();
        // The watch starts before the check, so that changes during the check are noticed.
        let watch = match self.detection {
            ChangeDetection::Watch => match check::open_documents(&directory) {
                Ok(documents) => DirectoryWatch::over(&directory, &documents).ok(),
                Err(_) => None,
            },
            ChangeDetection::Compare => None,
        };
        let known = match &before {
            Some(before) => TrustBasis::Earlier(&before.cache),
            None => TrustBasis::Sealed,
        };
        let cache = Arc::new(Cache::open(directory, known, &*self.clock)?);
        // A command, which compares, reports it by itself.
        let is_server = self.detection == ChangeDetection::Watch;
        if is_server && before.is_none() && cache.was_hashed() {
            tracing::warn!(
                "the cache `{}` is not sealed where it is; `candor context seal` makes it fast to open",
                crate::failure::shown(&path.to_string_lossy())
            );
        }
        *open = Some(OpenCache::new(&cache, watch));
        self.begin_sweeping();
        Ok(cache)
    }

    /// Opens a cache again after an error, unless another call has done so meanwhile.
    fn reopen(
        self: &Arc<Self>,
        slot: &CacheSlot,
        failed: &Arc<Cache>,
        error: &CacheAccessError,
    ) -> Result<Arc<Cache>, Failure> {
        let mut open = lock(&slot.open);
        if let Some(other) = open
            .as_ref()
            .filter(|open| !Arc::ptr_eq(&open.cache, failed))
        {
            return Ok(Arc::clone(&other.cache));
        }
        let watch = open.take().and_then(|open| open.watch);
        let cache = Arc::new(failed.reopen(error, &*self.clock)?);
        *open = Some(OpenCache::new(&cache, watch));
        Ok(cache)
    }

    fn begin_sweeping(self: &Arc<Self>) {
        let mut begun = lock(&self.sweeper);
        if *begun {
            return;
        }
        let caches = Arc::downgrade(self);
        let thread = thread::Builder::new().name(String::from("context-sweep"));
        *begun = thread.spawn(move || sweep_on(&caches)).is_ok();
    }

    /// Compares the stamps of all open caches. No lock is held meanwhile, so calls do not wait.
    pub(crate) fn sweep(&self) {
        let now = self.sweeps.fetch_add(1, Ordering::Relaxed) + 1;
        let open: Vec<_> = {
            let mut slots = lock(&self.slots);
            slots.retain(|_, slot| now - slot.used.load(Ordering::Relaxed) <= IDLE_SWEEPS);
            slots.values().cloned().collect()
        };
        for slot in open {
            let cache = lock(&slot.open)
                .as_ref()
                .map(|open| Arc::clone(&open.cache));
            let Some(cache) = cache else { continue };
            if cache.is_unchanged(false) {
                continue;
            }
            if let Some(open) = lock(&slot.open).as_mut()
                && Arc::ptr_eq(&open.cache, &cache)
            {
                open.is_stale = true;
            }
        }
    }
}

fn sweep_on(caches: &Weak<OpenCaches>) {
    loop {
        thread::sleep(SWEEP_INTERVAL);
        match caches.upgrade() {
            Some(caches) => caches.sweep(),
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Build, Query, SourceFilter, TokenBudget};

    fn now() -> candor_fault::Timestamp {
        // Later than anything that is written here: all stamps are settled.
        candor_fault::Timestamp::MAX
    }

    fn build(root: &Path, name: &str) {
        std::fs::create_dir_all(root.join("sources")).unwrap();
        std::fs::write(root.join("sources/a.md"), "one two").unwrap();
        let build = Build {
            location: &Location::Anywhere,
            sources: &root.join("sources"),
            cache: &root.join(name),
            filter: &SourceFilter::default(),
            skip_invalid: false,
            passages: false,
            tokenizer: crate::Tokenizer::Bytes4,
            force: false,
            created_at: candor_fault::Timestamp::UNIX_EPOCH,
            now: &now,
            random: 7,
            progress: &(),
        };
        build.run().unwrap();
    }

    fn caches(root: &Path) -> Arc<OpenCaches> {
        let location = Location::below(root).unwrap();
        let caches = OpenCaches::new(location, Arc::new(now), ChangeDetection::Watch);
        // These tests sweep by hand.
        *lock(&caches.sweeper) = true;
        caches
    }

    fn query(caches: &Arc<OpenCaches>, cache: &str) -> Result<usize, Failure> {
        let (query, budget) = (Query::new("one").unwrap(), TokenBudget::new(10).unwrap());
        let answer = caches.query(cache, |cache| cache.resolve(&query, budget))?;
        answer.to_line().map(|bytes| bytes.len())
    }

    #[test]
    fn least_recently_used_cache_is_closed() {
        let root = tempfile::tempdir().unwrap();
        let caches = caches(root.path());
        for number in 0..=MAX_OPEN {
            let name = format!("cache-{number}");
            build(root.path(), &name);
            query(&caches, &name).unwrap();
            caches.sweeps.fetch_add(1, Ordering::Relaxed);
        }
        assert_eq!(lock(&caches.slots).len(), MAX_OPEN);
        // The first cache was closed, and is opened again.
        query(&caches, "cache-0").unwrap();
        assert_eq!(lock(&caches.slots).len(), MAX_OPEN);
    }

    #[test]
    fn idle_cache_is_closed() {
        let root = tempfile::tempdir().unwrap();
        build(root.path(), "cache");
        let caches = caches(root.path());
        query(&caches, "cache").unwrap();
        (0..IDLE_SWEEPS).for_each(|_| caches.sweep());
        assert_eq!(lock(&caches.slots).len(), 1);
        caches.sweep();
        assert_eq!(lock(&caches.slots).len(), 0);
        query(&caches, "cache").unwrap();
    }

    #[test]
    fn sweep_finds_changes_through_hard_links() {
        let root = tempfile::tempdir().unwrap();
        build(root.path(), "cache");
        let documents = root.path().join("cache/documents");
        let document = std::fs::read_dir(&documents)
            .unwrap()
            .next()
            .unwrap()
            .unwrap();
        let outside = root.path().join("outside");
        std::fs::hard_link(document.path(), &outside).unwrap();
        let caches = caches(root.path());
        query(&caches, "cache").unwrap();
        let good = std::fs::read(&outside).unwrap();
        let mut bad = good.clone();
        *bad.iter_mut().find(|byte| **byte == b'w').unwrap() = b'W';
        std::fs::write(&outside, bad).unwrap();
        caches.sweep();
        assert!(matches!(
            query(&caches, "cache"),
            Err(Failure::Invalid { .. })
        ));
        std::fs::write(&outside, good).unwrap();
        query(&caches, "cache").unwrap();
    }
}
