//! Asking a cache once: opened, answered, and opened again where it changed meanwhile.

use crate::cache::{Cache, CacheAccessError, TrustBasis};
use crate::failure::Failure;
use crate::files::location::Location;
use crate::passages;
use crate::proof::check::Now;
use crate::query::request::{Budget, Query};
use crate::query::response::ResolveResponse;
use std::path::{Path, PathBuf};

/// How often an answer is tried again when the cache changes under it.
pub(crate) const TRIES: usize = 3;

/// A cache for a few questions.
pub struct Reader<'n> {
    cache: Cache,
    location: &'n Location,
    path: PathBuf,
    now: Now<'n>,
}

impl<'n> Reader<'n> {
    /// Opens the cache at this path, proving that it is what its manifest says.
    pub fn open(location: &'n Location, path: &Path, now: Now<'n>) -> Result<Reader<'n>, Failure> {
        Ok(Reader {
            cache: open(location, path, now)?,
            location,
            path: path.to_owned(),
            now,
        })
    }

    /// Whether documents had to be hashed, because the cache was not sealed where it is.
    pub fn by_hashing(&self) -> bool {
        self.cache.by_hashing()
    }

    /// The documents for a query, within a budget.
    pub fn resolve<'q>(
        &mut self,
        query: &'q Query,
        budget: Budget,
    ) -> Result<ResolveResponse<'q>, Failure> {
        self.ask(|cache| cache.resolve(query, budget))
    }

    /// The passages for a query, within a budget.
    pub fn passages(
        &mut self,
        query: &Query,
        budget: Budget,
    ) -> Result<passages::PassagesResponse, Failure> {
        let now = self.now;
        self.ask(|cache| cache.passages(query, budget, now))
    }

    fn ask<T>(
        &mut self,
        ask: impl Fn(&Cache) -> Result<T, CacheAccessError>,
    ) -> Result<T, Failure> {
        for _ in 0..TRIES {
            match ask(&self.cache) {
                Ok(answer) => return Ok(answer),
                Err(CacheAccessError::Failed(failure)) => return Err(failure),
                Err(setback) => self.cache = self.again(&setback)?,
            }
        }
        Err(Failure::Restless)
    }

    /// Opens the cache again. Where that fails it may have been replaced: the path is gone once more.
    fn again(&self, setback: &CacheAccessError) -> Result<Cache, Failure> {
        let again = self.cache.again(setback, self.now);
        again.or_else(|_| open(self.location, &self.path, self.now))
    }
}

/// Opens the cache at a path.
pub(crate) fn open(location: &Location, path: &Path, now: Now<'_>) -> Result<Cache, Failure> {
    let open = |folder| Cache::open(folder, TrustBasis::Sealed, now);
    location.with(path, |_| true, open)
}
