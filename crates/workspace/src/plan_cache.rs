//! A cache of parsed plans, verified approvals and compiled globs. Files are read at every call;
//! the cache is keyed by their bytes, so no entry can be out of date.

use crate::approval::{Approval, ApprovalFile, SignedError, SignedStatement, find_approvals_by};
use crate::path::Root;
use crate::plan::store::{self, LoadError, PLANS_DIR, StoredPlan};
use crate::plan::{Globs, Phase, PlanHash, PlanNames, Scope, ScopeError, hash};
use crate::protected::{DenyRead, ExecutedFiles, PathRulesError};
use crate::write::hash_of;
use candor_disk::{Disk, DiskFile, Open};
use candor_fault::Timestamp;
use rustix::fs::OFlags;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The maximum number of entries; the cache is cleared when it is reached.
const MOST: usize = 256;

/// The maximum size of a stored plan that is looked up, in bytes.
const PLAN_BYTES: usize = 2 * crate::plan::MAX_PLAN_BYTES;

/// The age of a directory's last change from which a later change has another stamp, in seconds.
const STAMP_AGE_S: i64 = 2;

type Verified = Result<SignedStatement<Approval>, SignedError>;

#[derive(Debug, Default)]
pub(crate) struct PlanCache {
    plans: Mutex<BTreeMap<PlanHash, StoredPlan>>,
    approvals: Mutex<BTreeMap<String, Verified>>,
    /// Compiled globs, keyed by their texts.
    globs: Mutex<BTreeMap<Vec<String>, Arc<Globs>>>,
    names: Mutex<Option<(DirStamp, Arc<PlanNames>)>>,
    deny: ParsedFile<DenyRead>,
    executed: ParsedFile<ExecutedFiles>,
}

/// The identity of a directory and the time of its last change. The time is the kernel's: no program can
/// set it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DirStamp {
    device: u64,
    inode: u64,
    seconds: i64,
    nanoseconds: u64,
}

impl DirStamp {
    /// Returns the stamp of the directory of plans, if it exists.
    fn of_plans(root: &Root) -> Option<DirStamp> {
        let dir = root.open_dir(Path::new(PLANS_DIR), OFlags::PATH).ok()?;
        let stat = rustix::fs::fstat(dir).ok()?;
        Some(DirStamp {
            device: stat.st_dev,
            inode: stat.st_ino,
            seconds: stat.st_ctime,
            nanoseconds: stat.st_ctime_nsec,
        })
    }

    /// Returns true if another change would have another stamp: the kernel's clock advances in steps.
    fn is_settled(&self, now: Timestamp) -> bool {
        now.as_second().saturating_sub(self.seconds) >= STAMP_AGE_S
    }
}

/// The bytes of a person's file that were parsed last, and the result.
type ParsedFile<T> = Mutex<Option<(Vec<u8>, Arc<T>)>>;

fn parsed<T>(
    last: &ParsedFile<T>,
    bytes: &[u8],
    parse: impl FnOnce(&[u8]) -> Result<T, PathRulesError>,
) -> Result<Arc<T>, PathRulesError> {
    let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
    match &*last {
        Some((of, parsed)) if of == bytes => Ok(Arc::clone(parsed)),
        _ => {
            let parsed = Arc::new(parse(bytes)?);
            *last = Some((bytes.to_vec(), Arc::clone(&parsed)));
            Ok(parsed)
        }
    }
}

fn remembered<K: Ord, V: Clone>(all: &Mutex<BTreeMap<K, V>>, key: &K) -> Option<V> {
    let all = all.lock().unwrap_or_else(PoisonError::into_inner);
    all.get(key).cloned()
}

fn remember<K: Ord, V>(all: &Mutex<BTreeMap<K, V>>, key: K, value: V) {
    let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
    if all.len() >= MOST {
        all.clear();
    }
    all.insert(key, value);
}

impl PlanCache {
    /// Returns a stored plan whose text still hashes to its name.
    pub(crate) fn plan(
        &self,
        disk: &impl Disk,
        name: &PlanHash,
        protected: &dyn Fn(&[u8]) -> bool,
    ) -> Result<StoredPlan, LoadError> {
        if let Some(stored) = remembered(&self.plans, name)
            && holds(disk, name)
        {
            return Ok(stored);
        }
        let stored = store::load(disk, name, protected)?;
        remember(&self.plans, name.clone(), stored.clone());
        Ok(stored)
    }

    /// Returns the names in the directory of plans. They are remembered while the directory has not
    /// changed, so that thousands of drafts cost nothing.
    pub(crate) fn names(&self, root: &Root, now: Timestamp) -> io::Result<Arc<PlanNames>> {
        let stamp = DirStamp::of_plans(root);
        let mut known = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(stamp), Some((of, names))) = (stamp, &*known)
            && *of == stamp
        {
            return Ok(Arc::clone(names));
        }
        let names = Arc::new(PlanNames::new(store::names(&root.disk())?));
        *known = match stamp.filter(|stamp| stamp.is_settled(now)) {
            Some(stamp) => Some((stamp, Arc::clone(&names))),
            None => None,
        };
        Ok(names)
    }

    /// Returns the scope of a phase.
    pub(crate) fn scope<'p>(&self, phase: &'p Phase) -> Result<Scope<'p>, ScopeError> {
        if let Some(globs) = remembered(&self.globs, &phase.allow) {
            return Ok(Scope::with(phase, globs));
        }
        let scope = Scope::of(phase)?;
        remember(&self.globs, phase.allow.clone(), scope.globs());
        Ok(scope)
    }

    /// Returns the approvals of a plan; signatures over the same bytes are checked once.
    pub(crate) fn approvals(
        &self,
        disk: &impl Disk,
        names: &PlanNames,
        plan: &PlanHash,
    ) -> io::Result<Vec<ApprovalFile>> {
        find_approvals_by(disk, names, plan, |bytes| {
            let key = hash_of(bytes);
            let known = remembered(&self.approvals, &key);
            known.unwrap_or_else(|| {
                let verified = SignedStatement::read(bytes);
                remember(&self.approvals, key, verified.clone());
                verified
            })
        })
    }

    /// Returns the parsed `deny_read` file.
    pub(crate) fn deny(&self, bytes: &[u8]) -> Result<Arc<DenyRead>, PathRulesError> {
        parsed(&self.deny, bytes, DenyRead::parse)
    }

    /// Returns the parsed `executed` file.
    pub(crate) fn executed(&self, bytes: &[u8]) -> Result<Arc<ExecutedFiles>, PathRulesError> {
        parsed(&self.executed, bytes, ExecutedFiles::parse)
    }
}

/// Returns true if the file of a plan holds the text that its name was made from.
fn holds(disk: &impl Disk, name: &PlanHash) -> bool {
    let bytes = disk
        .open(store::path(name), Open::Read)
        .and_then(|file| file.read_all(PLAN_BYTES));
    bytes.is_ok_and(|bytes| std::str::from_utf8(&bytes).is_ok_and(|text| hash(text) == *name))
}
