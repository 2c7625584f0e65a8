//! Opens a cache for a few queries, and opens it again if it changes meanwhile.

use crate::cache::{Cache, CacheAccessError, TrustBasis};
use crate::failure::Failure;
use crate::files::location::Location;
use crate::passages;
use crate::proof::check::Now;
use crate::query::request::{Query, TokenBudget};
use crate::query::response::ResolveResponse;
use crate::serve::answer_room::AnswerSpace;
use std::path::{Path, PathBuf};

/// The most tries to answer while the cache changes.
pub(crate) const TRIES: usize = 3;

/// An open cache for a few queries.
pub struct Reader<'n> {
    cache: Cache,
    location: &'n Location,
    path: PathBuf,
    now: Now<'n>,
}

impl<'n> Reader<'n> {
    /// Opens and proves the cache at this path.
    pub fn open(location: &'n Location, path: &Path, now: Now<'n>) -> Result<Reader<'n>, Failure> {
        Ok(Reader {
            cache: open(location, path, now)?,
            location,
            path: path.to_owned(),
            now,
        })
    }

    /// Returns true if documents were hashed, because the cache is not sealed in its present place.
    pub fn was_hashed(&self) -> bool {
        self.cache.was_hashed()
    }

    /// Selects documents for a query within a budget.
    pub fn resolve<'q>(
        &mut self,
        query: &'q Query,
        budget: TokenBudget,
    ) -> Result<ResolveResponse<'q>, Failure> {
        self.query(|cache| cache.resolve(query, budget))
    }

    /// Selects passages for a query within a budget.
    pub fn passages(
        &mut self,
        query: &Query,
        budget: TokenBudget,
    ) -> Result<passages::PassagesResponse, Failure> {
        let (now, space) = (self.now, AnswerSpace::unlimited());
        self.query(|cache| cache.passages(query, budget, now, &space))
    }

    fn query<T>(
        &mut self,
        ask: impl Fn(&Cache) -> Result<T, CacheAccessError>,
    ) -> Result<T, Failure> {
        for _ in 0..TRIES {
            match ask(&self.cache) {
                Ok(answer) => return Ok(answer),
                Err(CacheAccessError::Failed(failure)) => return Err(failure),
                Err(error) => self.cache = self.reopen(&error)?,
            }
        }
        Err(Failure::Restless)
    }

    /// Opens the cache again. If that fails it may have been replaced: the path is resolved again.
    fn reopen(&self, error: &CacheAccessError) -> Result<Cache, Failure> {
        let again = self.cache.reopen(error, self.now);
        again.or_else(|_| open(self.location, &self.path, self.now))
    }
}

pub(crate) fn open(location: &Location, path: &Path, now: Now<'_>) -> Result<Cache, Failure> {
    let open = |directory| Cache::open(directory, TrustBasis::Sealed, now);
    location.with(path, |_| true, open)
}
