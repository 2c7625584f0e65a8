//! Refs that were read before. Every call looks at the file of a ref, and reads it only if it may have changed.
//!
//! A file that is written twice within one tick of the file system's clock can look the same. So what was read
//! counts only if it was read some time after its stamp was first seen: a later write has another stamp.

use git2::Oid;
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The maximum number of remembered refs of a repository.
pub const MAX_CACHED_REFS: usize = 64;

/// The time after which a file has another stamp once it is written again.
const SETTLING: Duration = Duration::from_secs(1);

/// The target of a ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RefTarget {
    Object(Oid),
    /// The name of another ref.
    Ref(String),
}

/// The identity and the last change of a ref's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RefStamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl RefStamp {
    /// Reads the stamp of a ref's file. `None` if the ref has no file of its own.
    fn read(repository: &Path, name: &str) -> Option<RefStamp> {
        let metadata = fs::symlink_metadata(repository.join(name)).ok()?;
        metadata.is_file().then(|| RefStamp {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

#[derive(Debug)]
struct CachedRef {
    stamp: RefStamp,
    first_seen: Instant,
    /// The target, if it was read after the stamp had settled.
    target: Option<RefTarget>,
}

/// The refs of one repository, by their names.
#[derive(Debug, Default)]
pub(super) struct RefCache(Mutex<HashMap<String, CachedRef>>);

impl RefCache {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, CachedRef>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the target of a ref, read again if it may have changed. `read` returns `None` for a ref that does
    /// not exist; only names for which it has returned a target are looked up in the file system here.
    pub(super) fn get<E>(
        &self,
        repository: &Path,
        name: &str,
        read: impl FnOnce() -> Result<Option<RefTarget>, E>,
    ) -> Result<Option<RefTarget>, E> {
        self.get_at(repository, name, Instant::now(), read)
    }

    fn get_at<E>(
        &self,
        repository: &Path,
        name: &str,
        now: Instant,
        read: impl FnOnce() -> Result<Option<RefTarget>, E>,
    ) -> Result<Option<RefTarget>, E> {
        let is_known = self.lock().contains_key(name);
        if !is_known {
            let found = read()?;
            // Only now it is known to be the name of a ref.
            if found.is_some()
                && let Some(stamp) = RefStamp::read(repository, name)
            {
                self.see(name, stamp, now);
            }
            return Ok(found);
        }
        // Before the ref is read: a stamp that is older than the target is found to differ next time.
        let stamp = RefStamp::read(repository, name);
        let is_settled = {
            let mut known = self.lock();
            match (known.get(name), stamp) {
                (Some(cached), Some(stamp)) if cached.stamp == stamp => {
                    if let Some(target) = &cached.target {
                        return Ok(Some(target.clone()));
                    }
                    now.saturating_duration_since(cached.first_seen) >= SETTLING
                }
                (_, None) => {
                    known.remove(name);
                    false
                }
                (_, Some(_)) => false,
            }
        };
        let found = read()?;
        match (stamp, &found) {
            (Some(stamp), Some(target)) if is_settled => self.keep(name, stamp, target),
            (Some(stamp), Some(_)) => self.see(name, stamp, now),
            _ => {
                self.lock().remove(name);
            }
        }
        Ok(found)
    }

    /// Records the stamp of a ref that has not settled.
    fn see(&self, name: &str, stamp: RefStamp, now: Instant) {
        let mut known = self.lock();
        if known.get(name).is_some_and(|cached| cached.stamp == stamp) {
            return;
        }
        if known.len() >= MAX_CACHED_REFS && !known.contains_key(name) {
            known.clear();
        }
        let cached = CachedRef {
            stamp,
            first_seen: now,
            target: None,
        };
        known.insert(name.to_owned(), cached);
    }

    fn keep(&self, name: &str, stamp: RefStamp, target: &RefTarget) {
        if let Some(cached) = self.lock().get_mut(name)
            && cached.stamp == stamp
        {
            cached.target = Some(target.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::time::SystemTime;
    use tempfile::TempDir;

    const NAME: &str = "HEAD";

    struct Watched {
        dir: TempDir,
        cache: RefCache,
        reads: Cell<usize>,
        start: Instant,
    }

    impl Watched {
        fn new(text: &str) -> Watched {
            let watched = Watched {
                dir: TempDir::new().unwrap(),
                cache: RefCache::default(),
                reads: Cell::new(0),
                start: Instant::now(),
            };
            watched.write(text);
            watched
        }

        fn write(&self, text: &str) {
            fs::write(self.dir.path().join(NAME), text).unwrap();
        }

        /// Returns the text of the file, as the cache knows it this long after the start.
        fn text(&self, after: Duration) -> Option<String> {
            let path = self.dir.path();
            let read = || {
                self.reads.set(self.reads.get() + 1);
                let text = fs::read_to_string(path.join(NAME)).ok();
                Ok::<_, ()>(text.map(RefTarget::Ref))
            };
            let at = self.start + after;
            match self.cache.get_at(path, NAME, at, read).unwrap()? {
                RefTarget::Ref(text) => Some(text),
                RefTarget::Object(id) => panic!("{id}"),
            }
        }
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn settled_ref_is_not_read_again() {
        let watched = Watched::new("one");
        for after in [0, 0, 2, 3, 4] {
            assert_eq!(watched.text(seconds(after)).as_deref(), Some("one"));
        }
        assert_eq!(watched.reads.get(), 3);
    }

    #[test]
    fn changed_replaced_and_removed_refs_are_noticed() {
        let watched = Watched::new("one");
        let path = watched.dir.path().join(NAME);
        for after in [0, 2, 3] {
            watched.text(seconds(after));
        }
        watched.write("two");
        // The seconds have not really passed, so a file system with a coarse clock needs help.
        let later = SystemTime::UNIX_EPOCH + seconds(4);
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(later).unwrap();
        assert_eq!(watched.text(seconds(4)).as_deref(), Some("two"));
        watched.text(seconds(6));
        let next = watched.dir.path().join("HEAD.lock");
        fs::write(&next, "six").unwrap();
        fs::rename(next, &path).unwrap();
        assert_eq!(watched.text(seconds(7)).as_deref(), Some("six"));
        watched.text(seconds(9));
        fs::remove_file(&path).unwrap();
        assert_eq!(watched.text(seconds(10)), None);
        watched.write("new");
        assert_eq!(watched.text(seconds(11)).as_deref(), Some("new"));
    }

    /// Within a tick of the clock a file can be written twice and keep its stamp.
    #[test]
    fn ref_that_has_just_changed_is_read_each_time() {
        let watched = Watched::new("one");
        for number in 0..100 {
            let text = format!("{:03}", number);
            watched.write(&text);
            assert_eq!(watched.text(Duration::ZERO), Some(text));
        }
        assert_eq!(watched.reads.get(), 100);
    }

    #[test]
    fn remembered_refs_are_bounded() {
        let watched = Watched::new("one");
        for number in 0..3 * MAX_CACHED_REFS {
            let name = format!("ref-{number}");
            fs::write(watched.dir.path().join(&name), "x").unwrap();
            let read = || Ok::<_, ()>(Some(RefTarget::Ref(String::from("x"))));
            let path = watched.dir.path();
            watched.cache.get(path, &name, read).unwrap();
            assert!(watched.cache.lock().len() <= MAX_CACHED_REFS);
        }
    }
}
