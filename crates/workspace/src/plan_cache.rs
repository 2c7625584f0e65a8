//! A cache of parsed plans, verified approvals and compiled globs. Files are read at every call;
//! the cache is keyed by their bytes, so no entry can be out of date.

use crate::approval::{Approval, ApprovalFile, SignedError, SignedStatement, find_approvals_by};
use crate::plan::store::{self, LoadError, StoredPlan};
use crate::plan::{Globs, Phase, PlanHash, Scope, ScopeError, hash};
use crate::protected::{DenyRead, ExecutedFiles, PathRulesError};
use crate::write::hash_of;
use candor_disk::{Disk, DiskFile, Open};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// The maximum number of entries; the cache is cleared when it is reached.
const MOST: usize = 256;

/// The maximum size of a stored plan that is looked up, in bytes.
const PLAN_BYTES: usize = 2 * crate::plan::MAX_PLAN_BYTES;

type Verified = Result<SignedStatement<Approval>, SignedError>;

#[derive(Debug, Default)]
pub(crate) struct PlanCache {
    plans: Mutex<BTreeMap<PlanHash, StoredPlan>>,
    approvals: Mutex<BTreeMap<String, Verified>>,
    /// Compiled globs, keyed by their texts.
    globs: Mutex<BTreeMap<Vec<String>, Arc<Globs>>>,
    deny: ParsedFile<DenyRead>,
    executed: ParsedFile<ExecutedFiles>,
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
        names: &[String],
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
