//! Lists what there is: the caches, or one level of the tree of documents of one of them.

use crate::cache::{Cache, CacheAccessError};
use crate::faults::code_of_read_failure;
use crate::passages::{Syntax, title};
use crate::read::answers::{CachesAnswer, LevelAnswer, LevelEntry, ListAnswer, ListedCache};
use crate::read::catalogue::{Catalogue, NamedCache, find_named};
use crate::read::document_ids::DocumentIds;
use crate::read::failure::ReadFailure;
use crate::read::violations::{missing_cache, one, violation};
use crate::serve::answer_room::{AnswerSpace, ENTRY_BYTES, rendering_bytes};
use serde_json::json;
use std::ops::Range;

/// The most entries of one answer.
pub const MAX_ENTRIES: usize = 1_000;

/// The number of entries of an answer, if the caller gives none.
pub const DEFAULT_ENTRIES: usize = 200;

/// A request for the caches, or for one level of a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListRequest {
    /// The name of the cache; `None` lists the caches.
    pub cache: Option<String>,
    /// The folder, with a `/` at its end; empty for the topmost level.
    pub under: String,
    /// The `next` of the page before.
    pub after: Option<String>,
    pub limit: usize,
}

impl Catalogue {
    /// Lists the caches, or one level of one of them.
    pub fn list(&self, request: &ListRequest) -> Result<ListAnswer, ReadFailure> {
        self.list_within(request, &AnswerSpace::unlimited())
    }

    /// Lists like [`Catalogue::list`], after claiming the space of the answer.
    pub(crate) fn list_within(
        &self,
        request: &ListRequest,
        space: &AnswerSpace,
    ) -> Result<ListAnswer, ReadFailure> {
        let caches = self.caches()?;
        let Some(name) = &request.cache else {
            if !request.under.is_empty() || request.after.is_some() {
                return Err(ReadFailure::Arguments(one(missing_cache())));
            }
            let caches = caches.iter().map(|cache| self.describe(cache)).collect();
            return Ok(ListAnswer::Caches(CachesAnswer { caches }));
        };
        let cache = find_named(&caches, name)?;
        let outside = |after: &&String| !after.starts_with(&request.under);
        if let Some(after) = request.after.as_ref().filter(outside) {
            return Err(ReadFailure::Arguments(one(violation(
                "after",
                "format",
                String::from("must be the 'next' of a page of the same folder"),
                &json!(after),
                String::from("text that starts with 'under'"),
            ))));
        }
        let level = self.query(cache, |open| level(open, cache, request, space))??;
        Ok(ListAnswer::Level(level))
    }

    /// Returns true if a cache matches its sources, or `None` if they are not followed.
    fn freshness(&self, cache: &NamedCache) -> Option<bool> {
        let followed = self.followed.as_ref()?;
        followed.freshness(self.open.location(), &cache.path)
    }

    fn describe(&self, cache: &NamedCache) -> ListedCache {
        let described = self.query(cache, |open| {
            let tokens = open.document_tokens();
            Ok(ListedCache {
                cache: cache.name.clone(),
                cache_version: Some(open.version().to_string()),
                document_count: Some(open.index().sizes().documents() as u64),
                tokens: Some(tokens.sum()),
                tokenizer: Some(tokens.tokenizer().name().to_owned()),
                fresh: self.freshness(cache),
                updated_at: Some(open.contents()?.created_at.clone()),
                problem: None,
            })
        });
        described.unwrap_or_else(|failure| ListedCache {
            cache: cache.name.clone(),
            cache_version: None,
            document_count: None,
            tokens: None,
            tokenizer: None,
            fresh: None,
            updated_at: None,
            problem: Some(code_of_read_failure(&failure)),
        })
    }
}

/// Returns one page of one level. The inner failure is final.
fn level(
    open: &Cache,
    cache: &NamedCache,
    request: &ListRequest,
    space: &AnswerSpace,
) -> Result<Result<LevelAnswer, ReadFailure>, CacheAccessError> {
    let contents = open.contents()?;
    let under = &request.under;
    if !under.is_empty() && contents.ids.starting_with(under).is_empty() {
        return Ok(Err(ReadFailure::UnknownFolder {
            cache: cache.name.clone(),
            under: under.clone(),
        }));
    }
    let after = request.after.as_deref();
    let (found, next) = entries(&contents.ids, under, after, request.limit);
    let file = |found: &FoundEntry<'_>| match found {
        FoundEntry::Folder { .. } => 0,
        FoundEntry::Document(number) => open.file_bytes(*number as u32),
    };
    let largest = found.iter().map(file).max().unwrap_or(0);
    // The answer contains the entries as text, too.
    let answer = 2 * found.len() as u64 * ENTRY_BYTES;
    if let Err(no_room) = space.claim(rendering_bytes(answer, largest)) {
        return Ok(Err(no_room.into()));
    }
    let tokens = open.document_tokens();
    let mut buffer = Vec::new();
    let entry = |found: FoundEntry<'_>| match found {
        FoundEntry::Folder { name, documents } => Ok(LevelEntry::Folder {
            name: name.to_owned(),
            documents: documents as u64,
        }),
        FoundEntry::Document(number) => {
            let document = open.document(number as u32, &mut buffer)?;
            Ok(LevelEntry::Document {
                id: document.id.clone(),
                title: title(&document.content, Syntax::of(&document.id)),
                tokens: tokens.of(number as u32, &document.content),
                version: document.version.to_string(),
            })
        }
    };
    let entries: Result<Vec<_>, CacheAccessError> = found.into_iter().map(entry).collect();
    Ok(Ok(LevelAnswer {
        cache: cache.name.clone(),
        under: under.clone(),
        entries: entries?,
        next,
    }))
}

/// An entry of a level, before its document is read.
#[derive(Debug, PartialEq, Eq)]
enum FoundEntry<'i> {
    Folder { name: &'i str, documents: usize },
    Document(usize),
}

/// Returns the entries directly under a folder after the one with the path `after`, and the path of the
/// last one if there are more. Entries are sorted by the bytes of their paths.
fn entries<'i>(
    ids: &'i DocumentIds,
    under: &str,
    after: Option<&str>,
    limit: usize,
) -> (Vec<FoundEntry<'i>>, Option<String>) {
    let all = ids.starting_with(under);
    let mut at = after.map_or(all.start, |after| resume(ids, &all, under, after));
    let mut found = Vec::new();
    let mut last = None;
    while at < all.end {
        if found.len() == limit {
            return (found, last);
        }
        let id = ids.get(at);
        let name = &id[under.len()..];
        match name.find('/') {
            None => {
                found.push(FoundEntry::Document(at));
                last = Some(id.to_owned());
                at += 1;
            }
            Some(slash) => {
                let folder = &id[..under.len() + slash + 1];
                let inside = ids.starting_with(folder);
                found.push(FoundEntry::Folder {
                    name: &name[..slash + 1],
                    documents: inside.len(),
                });
                last = Some(folder.to_owned());
                at = inside.end;
            }
        }
    }
    (found, None)
}

/// Returns the number of the first document after an entry.
fn resume(ids: &DocumentIds, all: &Range<usize>, under: &str, after: &str) -> usize {
    let is_folder = after.len() > under.len() && after.ends_with('/');
    let at = match is_folder {
        true => ids.starting_with(after).end,
        false => ids.first_after(after),
    };
    at.max(all.start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reads every level by pages, and returns the ids of all documents.
    fn walk(ids: &DocumentIds, under: &str, limit: usize, found: &mut Vec<String>) {
        let mut after = None;
        let mut before: Option<String> = None;
        loop {
            let (entries, next) = entries(ids, under, after.as_deref(), limit);
            assert!(entries.len() <= limit);
            for entry in entries {
                let path = match entry {
                    FoundEntry::Document(number) => {
                        found.push(ids.get(number).to_owned());
                        ids.get(number).to_owned()
                    }
                    FoundEntry::Folder { name, documents } => {
                        let folder = format!("{under}{name}");
                        let count = found.len();
                        walk(ids, &folder, limit, found);
                        assert_eq!(found.len() - count, documents);
                        folder
                    }
                };
                assert!(before.as_ref().is_none_or(|before| *before < path));
                before = Some(path);
            }
            match next {
                Some(next) => after = Some(next),
                None => return,
            }
        }
    }

    #[test]
    fn folders_and_documents_are_sorted_by_bytes() {
        let ids = ["a-b.md", "a.md", "a/x.md", "a/y/z.md", "ab.md"];
        let ids = DocumentIds::from_iter(ids);
        let (top, next) = entries(&ids, "", None, 10);
        assert_eq!(
            top,
            [
                FoundEntry::Document(0),
                FoundEntry::Document(1),
                FoundEntry::Folder {
                    name: "a/",
                    documents: 2
                },
                FoundEntry::Document(4),
            ]
        );
        assert_eq!(next, None);
        let (page, next) = entries(&ids, "", Some("a.md"), 1);
        assert_eq!(page.len(), 1);
        assert_eq!(next.as_deref(), Some("a/"));
        let (page, next) = entries(&ids, "", Some("a/"), 1);
        assert_eq!((page, next), (vec![FoundEntry::Document(4)], None));
    }

    proptest! {
        #[test]
        fn pages_give_every_id_once(
            ids in proptest::collection::btree_set("[ab/.-]{1,6}", 0..60),
            limit in 1usize..5,
        ) {
            let sorted: Vec<&str> = ids.iter().map(String::as_str).collect();
            let all = DocumentIds::from_iter(sorted.iter().copied());
            let mut found = Vec::new();
            walk(&all, "", limit, &mut found);
            found.sort();
            prop_assert_eq!(found, sorted);
        }
    }
}
