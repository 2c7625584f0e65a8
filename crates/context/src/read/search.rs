//! Searches several caches as if they were one.

use crate::cache::CacheAccessError;
use crate::failure::Failure;
use crate::passages::{PassageHit, SelectedPassage, search};
use crate::query::reader::TRIES;
use crate::query::request::{Query, TokenBudget};
use crate::read::answers::{FoundPassage, SearchAnswer, SearchSelection, SearchedCache};
use crate::read::catalogue::{Catalogue, MAX_SEARCHED, NamedCache, failed, find_named};
use crate::read::failure::ReadFailure;
use crate::read::union_lists::UnionLists;
use crate::read::violations::{listed, missing, one};
use crate::serve::answer_room::{AnswerSpace, ENTRY_BYTES, rendering_bytes};
use crate::serve::open_caches::CacheLease;
use crate::tokenizer::Tokenizer;
use crate::{MAX_ANSWER, MAX_SERVED, passages};

/// A search over some caches.
#[derive(Debug, Clone)]
pub struct SearchRequest {
    pub query: Query,
    pub budget: TokenBudget,
    /// The names of the caches; `None` means all.
    pub caches: Option<Vec<String>>,
}

/// The error of a search, with the number of the cache that could not answer.
type SearchError = (usize, CacheAccessError);

impl Catalogue {
    /// Finds the passages that answer a query best.
    pub fn search(&self, request: &SearchRequest) -> Result<SearchAnswer, ReadFailure> {
        self.search_within(request, &AnswerSpace::unlimited())
    }

    /// Searches like [`Catalogue::search`], after claiming the space of the answer.
    pub(crate) fn search_within(
        &self,
        request: &SearchRequest,
        space: &AnswerSpace,
    ) -> Result<SearchAnswer, ReadFailure> {
        let served = self.caches()?;
        let caches = choose(&served, request.caches.as_deref())?;
        let lease = |cache: &&NamedCache| {
            let lease = self.open.lease(&cache.path);
            lease.map_err(|failure| failed(cache, failure))
        };
        let mut leases = caches.iter().map(lease).collect::<Result<Vec<_>, _>>()?;
        for _ in 0..TRIES + caches.len() {
            let (at, error) = match self.search_leased(request, &caches, &leases, space) {
                Ok(answer) => return answer,
                Err(error) => error,
            };
            let (Some(cache), Some(lease)) = (caches.get(at), leases.get_mut(at)) else {
                return Err(ReadFailure::Bug("a cache that was not searched has failed"));
            };
            *lease = match error {
                CacheAccessError::Failed(failure) => return Err(failed(cache, failure)),
                error => self
                    .open
                    .renew(lease, &cache.path, &error)
                    .map_err(|failure| failed(cache, failure))?,
            };
        }
        match caches.first() {
            Some(cache) => Err(failed(cache, Failure::Restless)),
            None => Err(ReadFailure::Bug("a search of no cache has failed")),
        }
    }

    /// Searches caches that are open. The inner failure is final.
    fn search_leased(
        &self,
        request: &SearchRequest,
        caches: &[&NamedCache],
        leases: &[CacheLease],
        space: &AnswerSpace,
    ) -> Result<Result<SearchAnswer, ReadFailure>, SearchError> {
        let now = self.open.clock();
        let index = |(at, lease): (usize, &CacheLease)| {
            let index = lease.cache.passage_index(now);
            index.map_err(|failure| (at, CacheAccessError::Failed(failure)))
        };
        let indexes = leases.iter().enumerate().map(index);
        let indexes = indexes.collect::<Result<Vec<_>, _>>()?;
        let tokenizer = indexes
            .first()
            .map_or(Tokenizer::default(), |index| index.tokenizer());
        if indexes.iter().any(|index| index.tokenizer() != tokenizer) {
            let counted = caches.iter().zip(&indexes);
            let counted = counted.map(|(cache, index)| (cache.name.clone(), index.tokenizer()));
            return Ok(Err(ReadFailure::MixedTokenizers(counted.collect())));
        }
        let Some(union) = UnionLists::new(&indexes) else {
            return Ok(Err(ReadFailure::AnswerTooLarge));
        };
        let found = search(&union, request.query.raw(), request.budget.tokens())
            .map_err(|(at, error)| (at, error.into()))?;
        let most = match tokenizer {
            Tokenizer::Bytes4 => found.tokens_used.saturating_mul(4),
            Tokenizer::O200k => (found.hits.len() * passages::MOST_BYTES) as u64,
        };
        if most > MAX_ANSWER as u64 {
            return Ok(Err(ReadFailure::AnswerTooLarge));
        }
        // The hits of each cache, with their positions in the answer.
        let mut by_cache: Vec<Vec<(usize, PassageHit)>> = vec![Vec::new(); leases.len()];
        let selected = found.hits.len();
        for (position, mut hit) in found.hits.into_iter().enumerate() {
            let (at, passage) = union.locate(hit.passage);
            hit.passage = passage;
            by_cache[at].push((position, hit));
        }
        let hits_of_cache = by_cache.iter().zip(leases).zip(&indexes);
        let largest = hits_of_cache.flat_map(|((hits, lease), index)| {
            let hits = hits.iter().map(|(_, hit)| hit);
            hits.map(|hit| {
                lease
                    .cache
                    .file_bytes(index.numbering().locate(hit.passage).0)
            })
        });
        // The answer contains the passages as text, too.
        let answer = 2 * (most + selected as u64 * ENTRY_BYTES);
        if let Err(no_room) = space.claim(rendering_bytes(answer, largest.max().unwrap_or(0))) {
            return Ok(Err(no_room.into()));
        }
        let mut passages: Vec<Option<FoundPassage>> = vec![None; selected];
        for (at, hits) in by_cache.into_iter().enumerate() {
            let (positions, hits): (Vec<usize>, Vec<PassageHit>) = hits.into_iter().unzip();
            let read = leases[at].cache.read_passages(&indexes[at], hits);
            let read: Vec<SelectedPassage> = read.map_err(|error| (at, error))?;
            for (position, passage) in positions.into_iter().zip(read) {
                let cache = caches[at].name.clone();
                passages[position] = Some(FoundPassage { cache, passage });
            }
        }
        let searched = |(at, cache): (usize, &&NamedCache)| SearchedCache {
            cache: cache.name.clone(),
            cache_version: leases[at].cache.version().to_string(),
            index: indexes[at].terms().digest().to_string(),
        };
        Ok(Ok(SearchAnswer {
            passages: passages.into_iter().flatten().collect(),
            selection: SearchSelection {
                query: request.query.raw().to_owned(),
                budget: request.budget.tokens(),
                tokenizer: tokenizer.name().to_owned(),
                tokens_used: found.tokens_used,
                caches: caches.iter().enumerate().map(searched).collect(),
                passages_considered: found.considered,
                passages_selected: selected as u64,
            },
        }))
    }
}

/// Returns the caches of a search, sorted by name.
fn choose<'c>(
    served: &'c [NamedCache],
    asked: Option<&[String]>,
) -> Result<Vec<&'c NamedCache>, ReadFailure> {
    let Some(names) = asked else {
        if served.len() <= MAX_SEARCHED {
            return Ok(served.iter().collect());
        }
        let names: Vec<&str> = served.iter().map(|cache| cache.name.as_str()).collect();
        return Err(ReadFailure::Arguments(one(missing(
            "caches",
            format!("an array of at most {MAX_SEARCHED} names of caches"),
            format!("the caches are {}", listed(&names, MAX_SERVED)),
        ))));
    };
    let chosen = names.iter().map(|name| find_named(served, name));
    let mut chosen = chosen.collect::<Result<Vec<_>, _>>()?;
    // Passages with the same score are ordered by the names of their caches.
    chosen.sort_by(|one, other| one.name.cmp(&other.name));
    chosen.dedup_by(|one, other| one.name == other.name);
    Ok(chosen)
}
