//! Caches that a server keeps open. Each is proved once; after that its directories are watched, and
//! what watching does not show is looked for once a second.

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

/// How many caches are kept open.
pub const MAX_OPEN: usize = 32;

/// The time between two looks at what watching does not show.
const SWEEP: Duration = Duration::from_secs(1);

/// A cache that nobody has asked for so many sweeps is closed.
const IDLE: u64 = 60;

/// How changes are noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChangeDetection {
    /// By watching, and by looking at every file where that cannot be had.
    #[default]
    Watch,
    /// By looking at every file before every answer.
    Compare,
}

/// The open caches.
pub(crate) struct OpenCaches {
    location: Location,
    clock: Arc<dyn Clock>,
    noticing: ChangeDetection,
    slots: Mutex<BTreeMap<(u64, u64), Arc<CacheSlot>>>,
    sweeps: AtomicU64,
    sweeper: Mutex<bool>,
}

/// One directory; the handle of the cache in it keeps its identity from being given to another.
#[derive(Default)]
struct CacheSlot {
    kept: Mutex<Option<OpenCache>>,
    used: AtomicU64,
}

struct OpenCache {
    cache: Arc<Cache>,
    watch: Option<DirectoryWatch>,
    /// Whether something was heard that nobody has looked into yet.
    stirred: bool,
    doubted: bool,
}

impl OpenCache {
    fn new(cache: &Arc<Cache>, watch: Option<DirectoryWatch>) -> OpenCache {
        OpenCache {
            cache: Arc::clone(cache),
            watch,
            stirred: false,
            doubted: false,
        }
    }

    /// Whether watching says that nothing has happened.
    fn quiet(&mut self) -> bool {
        // What was heard is not heard again: it is remembered.
        self.stirred |= !self.watch.as_ref().is_some_and(DirectoryWatch::quiet);
        !self.stirred && !self.doubted
    }
}

impl OpenCaches {
    pub(crate) fn new(
        location: Location,
        clock: Arc<dyn Clock>,
        noticing: ChangeDetection,
    ) -> Arc<OpenCaches> {
        Arc::new(OpenCaches {
            location,
            clock,
            noticing,
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

    /// Asks a cache; where it changed meanwhile, opens it again and asks again.
    pub(crate) fn ask<T>(
        self: &Arc<Self>,
        path: &str,
        ask: impl Fn(&Cache) -> Result<T, CacheAccessError>,
    ) -> Result<T, Failure> {
        let ask = |folder| self.ask_there(folder, &ask);
        self.location.with(Path::new(path), |_| true, ask)
    }

    fn ask_there<T>(
        self: &Arc<Self>,
        folder: DirHandle,
        ask: impl Fn(&Cache) -> Result<T, CacheAccessError>,
    ) -> Result<T, Failure> {
        let slot = self.slot(&folder)?;
        let mut cache = self.current(&slot, folder)?;
        for _ in 0..TRIES {
            match ask(&cache) {
                Ok(answer) => return Ok(answer),
                Err(CacheAccessError::Failed(failure)) => return Err(failure),
                Err(setback) => cache = self.again(&slot, &cache, &setback)?,
            }
        }
        Err(Failure::Restless)
    }

    /// What a cache is; an invalid one is an answer too.
    pub(crate) fn inspect(self: &Arc<Self>, path: &str) -> Result<Inspection, Failure> {
        let folder = self.location.find(Path::new(path))?;
        inspect::inspect_folder(&folder, || {
            self.ask(path, |cache| Ok(inspect::of_cache(cache)))
        })
    }

    fn slot(&self, folder: &DirHandle) -> Result<Arc<CacheSlot>, Failure> {
        let identity = folder.identity();
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

    /// The cache in a slot, proved as of now.
    fn current(
        self: &Arc<Self>,
        slot: &CacheSlot,
        folder: DirHandle,
    ) -> Result<Arc<Cache>, Failure> {
        let mut kept = lock(&slot.kept);
        if let Some(kept) = kept.as_mut() {
            // Without a watch, or after an event, every signature is compared.
            if kept.quiet() || (!kept.doubted && kept.cache.unchanged(true)) {
                kept.stirred = false;
                return Ok(Arc::clone(&kept.cache));
            }
        }
        self.open(&mut kept, folder)
    }

    /// The cache at a path, where it is open, nothing has happened to it, and nobody has to be
    /// waited for.
    pub(crate) fn ready(&self, path: &str) -> Option<Arc<Cache>> {
        let folder = self.location.find(Path::new(path)).ok()?;
        let identity = folder.identity().ok()?;
        let slot = Arc::clone(lock(&self.slots).get(&identity)?);
        let now = self.sweeps.load(Ordering::Relaxed);
        slot.used.store(now, Ordering::Relaxed);
        let mut kept = slot.kept.try_lock().ok()?;
        let kept = kept.as_mut()?;
        kept.quiet().then(|| Arc::clone(&kept.cache))
    }

    fn open(
        self: &Arc<Self>,
        kept: &mut Option<OpenCache>,
        folder: DirHandle,
    ) -> Result<Arc<Cache>, Failure> {
        let before = kept.take();
        // The watch begins before the check: what changes during it is heard.
        let watch = match self.noticing {
            ChangeDetection::Watch => match check::documents(&folder) {
                Ok(documents) => DirectoryWatch::over(&folder, &documents).ok(),
                Err(_) => None,
            },
            ChangeDetection::Compare => None,
        };
        let known = match &before {
            Some(before) => TrustBasis::Earlier(&before.cache),
            None => TrustBasis::Sealed,
        };
        let cache = Arc::new(Cache::open(folder, known, &*self.clock)?);
        if before.is_none() && cache.by_hashing() {
            tracing::warn!(
                "a cache is not sealed where it is; `context seal` makes it fast to open"
            );
        }
        *kept = Some(OpenCache::new(&cache, watch));
        self.begin_sweeping();
        Ok(cache)
    }

    /// Opens a cache again that gave no answer, unless somebody else has meanwhile.
    fn again(
        self: &Arc<Self>,
        slot: &CacheSlot,
        failed: &Arc<Cache>,
        setback: &CacheAccessError,
    ) -> Result<Arc<Cache>, Failure> {
        let mut kept = lock(&slot.kept);
        if let Some(other) = kept
            .as_ref()
            .filter(|kept| !Arc::ptr_eq(&kept.cache, failed))
        {
            return Ok(Arc::clone(&other.cache));
        }
        let watch = kept.take().and_then(|kept| kept.watch);
        let cache = Arc::new(failed.again(setback, &*self.clock)?);
        *kept = Some(OpenCache::new(&cache, watch));
        Ok(cache)
    }

    fn begin_sweeping(self: &Arc<Self>) {
        let mut begun = lock(&self.sweeper);
        if *begun {
            return;
        }
        let shelf = Arc::downgrade(self);
        let thread = thread::Builder::new().name(String::from("context-sweep"));
        *begun = thread.spawn(move || sweep_on(&shelf)).is_ok();
    }

    /// Looks once at everything that is open. No lock is held meanwhile: calls do not wait.
    pub(crate) fn sweep(&self) {
        let now = self.sweeps.fetch_add(1, Ordering::Relaxed) + 1;
        let open: Vec<_> = {
            let mut slots = lock(&self.slots);
            slots.retain(|_, slot| now - slot.used.load(Ordering::Relaxed) <= IDLE);
            slots.values().cloned().collect()
        };
        for slot in open {
            let cache = lock(&slot.kept)
                .as_ref()
                .map(|kept| Arc::clone(&kept.cache));
            let Some(cache) = cache else { continue };
            if cache.unchanged(false) {
                continue;
            }
            if let Some(kept) = lock(&slot.kept).as_mut()
                && Arc::ptr_eq(&kept.cache, &cache)
            {
                kept.doubted = true;
            }
        }
    }
}

fn sweep_on(shelf: &Weak<OpenCaches>) {
    loop {
        thread::sleep(SWEEP);
        match shelf.upgrade() {
            Some(shelf) => shelf.sweep(),
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, Build, Query, SourceFilter};

    fn now() -> candor_fault::Timestamp {
        // Later than anything that is written here: all signatures are settled.
        candor_fault::Timestamp::MAX
    }

    fn build(root: &Path, name: &str) {
        std::fs::create_dir_all(root.join("sources")).unwrap();
        std::fs::write(root.join("sources/a.md"), "one two").unwrap();
        let build = Build {
            location: &Location::Anywhere,
            sources: &root.join("sources"),
            cache: &root.join(name),
            wanted: &SourceFilter::default(),
            passages: false,
            force: false,
            created_at: candor_fault::Timestamp::UNIX_EPOCH,
            now: &now,
            random: 7,
            progress: &(),
        };
        build.run().unwrap();
    }

    fn shelf(root: &Path) -> Arc<OpenCaches> {
        let location = Location::below(root).unwrap();
        OpenCaches::new(location, Arc::new(now), ChangeDetection::Watch)
    }

    fn ask(shelf: &Arc<OpenCaches>, cache: &str) -> Result<usize, Failure> {
        let (query, budget) = (Query::new("one").unwrap(), Budget::new(10).unwrap());
        let answer = shelf.ask(cache, |cache| cache.resolve(&query, budget))?;
        answer.compact().map(|bytes| bytes.len())
    }

    #[test]
    fn least_recently_used_cache_is_closed() {
        let root = tempfile::tempdir().unwrap();
        let shelf = shelf(root.path());
        for number in 0..=MAX_OPEN {
            let name = format!("cache-{number}");
            build(root.path(), &name);
            ask(&shelf, &name).unwrap();
            shelf.sweeps.fetch_add(1, Ordering::Relaxed);
        }
        assert_eq!(lock(&shelf.slots).len(), MAX_OPEN);
        // The first is gone, and is opened again.
        ask(&shelf, "cache-0").unwrap();
        assert_eq!(lock(&shelf.slots).len(), MAX_OPEN);
    }

    #[test]
    fn idle_cache_is_closed() {
        let root = tempfile::tempdir().unwrap();
        build(root.path(), "cache");
        let shelf = shelf(root.path());
        ask(&shelf, "cache").unwrap();
        (0..IDLE).for_each(|_| shelf.sweep());
        assert_eq!(lock(&shelf.slots).len(), 1);
        shelf.sweep();
        assert_eq!(lock(&shelf.slots).len(), 0);
        ask(&shelf, "cache").unwrap();
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
        let shelf = shelf(root.path());
        ask(&shelf, "cache").unwrap();
        let good = std::fs::read(&outside).unwrap();
        let mut bad = good.clone();
        *bad.iter_mut().find(|byte| **byte == b'w').unwrap() = b'W';
        std::fs::write(&outside, bad).unwrap();
        shelf.sweep();
        assert!(matches!(ask(&shelf, "cache"), Err(Failure::Invalid { .. })));
        std::fs::write(&outside, good).unwrap();
        ask(&shelf, "cache").unwrap();
    }
}
