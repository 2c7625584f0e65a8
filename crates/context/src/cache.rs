//! A cache that is open: proved to be what its manifest says, with an index to answer from.

use crate::failure::{BudgetFlaw, Failure};
use crate::files::dir_handle::{DirHandle, read_expected};
use crate::files::file_stamp::FileStamp;
use crate::format::codec::CorruptFile;
use crate::format::document::{self, Document, MAX_DOCUMENT_FILE};
use crate::format::manifest;
use crate::index::document_index::DocumentIndex;
use crate::index::passage_index::{PASSAGES_FILE, PassageGatherer, PassageIndex};
use crate::index::writing::{
    INDEX_FILE, IndexScope, WordGatherer, passages_in_memory, words_in_memory,
};
use crate::passages::{self, PassageHit, SelectedPassage, split};
use crate::proof::check::{self, Now};
use crate::proof::proof_file::{Proof, ProofValidity};
use crate::query::recent_documents::RecentDocuments;
use crate::query::request::{Budget, Query};
use crate::query::response::{DocumentExplanation, ResolveResponse, SelectedDocument, score};
use crate::query::selection::DocumentMatch;
use crate::{Digest, MAX_ANSWER};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// A cache that was proved to be right when it was opened.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: DirHandle,
    documents: DirHandle,
    proof: Proof,
    index: Arc<DocumentIndex>,
    /// Opened or made when it is first asked for.
    passages: OnceLock<Arc<PassageIndex>>,
    recent: RecentDocuments,
    by_hashing: bool,
    /// Whether our own files in it may be used.
    trusted: bool,
}

/// The most entries of the index, documents and tokens that are read on the calling thread.
const COUNTED_QUICKLY: usize = 1 << 20;
const READ_QUICKLY: usize = 64;
const TOKENS_QUICKLY: u64 = 1 << 16;

/// Why an open cache gives no answer.
#[derive(Debug)]
pub(crate) enum CacheAccessError {
    /// It is not what was proved any more.
    Changed,
    /// The index cannot be used.
    Index,
    /// There is no answer.
    Failed(Failure),
}

impl From<CorruptFile> for CacheAccessError {
    fn from(_: CorruptFile) -> Self {
        CacheAccessError::Index
    }
}

/// What is known of a cache before it is opened.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TrustBasis<'a> {
    /// What stands in the cache itself: its proof and its index.
    Sealed,
    /// What was proved before.
    Earlier(&'a Cache),
    /// Nothing: proof and index of the cache are not to be used.
    Nothing,
}

impl Cache {
    /// Opens a cache. Only what is not proved already is read.
    pub(crate) fn open(
        folder: DirHandle,
        known: TrustBasis<'_>,
        now: Now<'_>,
    ) -> Result<Cache, Failure> {
        let documents = match check::documents(&folder) {
            Ok(documents) => documents,
            Err(problem) => return Err(check::without_documents(&folder, problem)),
        };
        let (standing, proof) = best_proof(&folder, &documents, known);
        match (standing, proof) {
            (ProofValidity::Complete, Some(proof)) => {
                let index = find_index(&folder, known, proof.cache_version);
                let count = proof.documents.len();
                if let Some(index) = index.filter(|index| fits(index, count)) {
                    let by_hashing = known.by_hashing(&proof);
                    return Ok(Cache::of(
                        folder, documents, proof, index, known, by_hashing,
                    ));
                }
                Cache::check(folder, documents, None, known, now)
            }
            (ProofValidity::ListsOnly, proof) => {
                Cache::check(folder, documents, proof.as_ref(), known, now)
            }
            _ => Cache::check(folder, documents, None, known, now),
        }
    }

    /// Opens a cache by reading whatever `trusted` does not prove.
    fn check(
        folder: DirHandle,
        documents: DirHandle,
        trusted: Option<&Proof>,
        known: TrustBasis<'_>,
        now: Now<'_>,
    ) -> Result<Cache, Failure> {
        let lists = manifest::read(&folder);
        let listed = lists.manifest.as_ref();
        let version = listed.map(|manifest| manifest.cache_version);
        let index = version.and_then(|version| find_index(&folder, known, version));
        let count = listed.map_or(0, |manifest| manifest.documents.len());
        let (proof, index) = match index.filter(|index| fits(index, count)) {
            Some(index) => {
                let checked = check::check(lists, &documents, trusted, now, || ());
                (checked.sound()?.1, index)
            }
            None => {
                let checked = check::check(lists, &documents, None, now, WordGatherer::new);
                let (manifest, proof, gathered) = checked.sound()?;
                let index = words_in_memory(IndexScope::listed(&manifest), gathered)?;
                (proof, Arc::new(index))
            }
        };
        Ok(Cache::of(folder, documents, proof, index, known, true))
    }

    fn of(
        folder: DirHandle,
        documents: DirHandle,
        proof: Proof,
        index: Arc<DocumentIndex>,
        known: TrustBasis<'_>,
        by_hashing: bool,
    ) -> Cache {
        let passages = match known {
            TrustBasis::Earlier(cache) if cache.version() == proof.cache_version => {
                cache.passages.clone()
            }
            _ => OnceLock::new(),
        };
        Cache {
            folder,
            documents,
            proof,
            index,
            passages,
            recent: RecentDocuments::default(),
            by_hashing,
            trusted: known.trusted(),
        }
    }

    /// The same cache, opened again after a setback.
    pub(crate) fn again(&self, setback: &CacheAccessError, now: Now<'_>) -> Result<Cache, Failure> {
        let folder = self.folder.folder(".");
        let folder = folder.map_err(Failure::system("open the cache again"))?;
        let known = match setback {
            CacheAccessError::Index => TrustBasis::Nothing,
            CacheAccessError::Changed | CacheAccessError::Failed(_) => TrustBasis::Earlier(self),
        };
        Cache::open(folder, known, now)
    }

    /// Whether documents had to be read to open it: it was copied, or made by somebody else.
    pub(crate) fn by_hashing(&self) -> bool {
        self.by_hashing
    }

    pub(crate) fn folder(&self) -> &DirHandle {
        &self.folder
    }

    pub(crate) fn documents(&self) -> &DirHandle {
        &self.documents
    }

    pub(crate) fn proof(&self) -> &Proof {
        &self.proof
    }

    /// What was proved, when the cache itself is not needed any more.
    pub(crate) fn into_proof(self) -> Proof {
        self.proof
    }

    pub(crate) fn index(&self) -> &DocumentIndex {
        &self.index
    }

    pub(crate) fn version(&self) -> Digest {
        self.proof.cache_version
    }

    /// Whether a pass over all signatures finds everything as it was.
    pub(crate) fn unchanged(&self, wide: bool) -> bool {
        let standing = self.proof.standing(&self.folder, &self.documents, wide);
        standing == ProofValidity::Complete
    }

    /// Selects the documents for a query and reads them.
    pub(crate) fn resolve<'q>(
        &self,
        query: &'q Query,
        budget: Budget,
    ) -> Result<ResolveResponse<'q>, CacheAccessError> {
        let selection = self.index.select(query, budget)?;
        self.read_selection(query, budget, &selection)
    }

    /// Selects the documents for a query. Returns `None` if that would take so long that it belongs
    /// on a thread of its own, or if the index is corrupt.
    pub(crate) fn select_quickly(
        &self,
        query: &Query,
        budget: Budget,
    ) -> Option<Vec<DocumentMatch>> {
        let documents = self.index.sizes().documents();
        match documents.saturating_mul(query.terms().len()) <= COUNTED_QUICKLY {
            true => self.index.select(query, budget).ok(),
            false => None,
        }
    }

    /// Returns true if the documents of a selection are few and small enough to be read on the
    /// calling thread.
    pub(crate) fn reads_quickly(&self, selection: &[DocumentMatch]) -> bool {
        let tokens = |one: &DocumentMatch| self.index.sizes().tokens(one.document);
        selection.len() <= READ_QUICKLY
            && selection.iter().map(tokens).sum::<u64>() <= TOKENS_QUICKLY
    }

    /// Reads the documents of a selection.
    pub(crate) fn read_selection<'q>(
        &self,
        query: &'q Query,
        budget: Budget,
        selection: &[DocumentMatch],
    ) -> Result<ResolveResponse<'q>, CacheAccessError> {
        self.check_size(query, selection)?;
        let mut buffer = Vec::new();
        let read = |one: &DocumentMatch| self.read_selected(query, one, &mut buffer);
        let documents = selection.iter().map(read).collect::<Result<_, _>>()?;
        let considered = self.index.sizes().documents() as u64;
        Ok(ResolveResponse::new(query, budget, considered, documents))
    }

    /// Refuses a selection whose response would be too large, before anything is read.
    fn check_size(
        &self,
        query: &Query,
        selection: &[DocumentMatch],
    ) -> Result<(), CacheAccessError> {
        let terms: usize = query.terms().iter().map(|term| term.len() + 3).sum();
        let sizes = self.index.sizes();
        let size =
            |one: &DocumentMatch| sizes.tokens(one.document).saturating_sub(1) * 4 + terms as u64;
        match selection.iter().map(size).sum::<u64>() <= MAX_ANSWER as u64 {
            true => Ok(()),
            false => Err(CacheAccessError::Failed(Failure::Budget(
                BudgetFlaw::ResponseTooLarge,
            ))),
        }
    }

    fn read_selected<'q>(
        &self,
        query: &'q Query,
        selected: &DocumentMatch,
        buffer: &mut Vec<u8>,
    ) -> Result<SelectedDocument<'q>, CacheAccessError> {
        let document = self.document(selected.document, buffer)?;
        let sizes = self.index.sizes();
        let tokens = sizes.tokens(selected.document);
        if tokens != crate::index::words::tokens(document.content.len() as u64) {
            return Err(CacheAccessError::Index);
        }
        let total_words = sizes.words(selected.document);
        Ok(SelectedDocument {
            document,
            score: score(selected.matches, total_words),
            tokens,
            why: DocumentExplanation {
                query_terms: query.terms(),
                term_matches: selected.matches,
                total_words,
            },
        })
    }

    /// A document that is still the one that was proved: one that was read before, or read now.
    fn document(
        &self,
        number: u32,
        buffer: &mut Vec<u8>,
    ) -> Result<Arc<Document>, CacheAccessError> {
        if let Some(document) = self.recent.get(number)
            && self.proof.holds(number as usize, &self.documents)
        {
            return Ok(document);
        }
        let document = Arc::new(self.read(number, buffer)?);
        self.recent.keep(number, &document);
        Ok(document)
    }

    /// The passages for a query.
    pub(crate) fn passages(
        &self,
        query: &Query,
        budget: Budget,
        now: Now<'_>,
    ) -> Result<passages::PassagesResponse, CacheAccessError> {
        let index = self.passage_index(now).map_err(CacheAccessError::Failed)?;
        let found = index.search(query.raw(), budget.tokens())?;
        if found.tokens_used.saturating_mul(4) > MAX_ANSWER as u64 {
            return Err(CacheAccessError::Failed(Failure::Budget(
                BudgetFlaw::ResponseTooLarge,
            )));
        }
        let passages = self.taken(&index, found.hits)?;
        let digest = index.terms().digest().to_string();
        let (raw, tokens) = (query.raw(), budget.tokens());
        Ok(passages::PassagesResponse::new(
            raw,
            tokens,
            found.considered,
            passages,
            &digest,
        ))
    }

    /// Hits with their texts; each document is read once.
    fn taken(
        &self,
        index: &PassageIndex,
        hits: Vec<PassageHit>,
    ) -> Result<Vec<SelectedPassage>, CacheAccessError> {
        let mut by_document: BTreeMap<u32, Vec<(usize, u32, PassageHit)>> = BTreeMap::new();
        let mut answers = Vec::new();
        answers.resize_with(hits.len(), || None);
        for (place, hit) in hits.into_iter().enumerate() {
            let (document, ordinal) = index.numbering().place(hit.passage);
            by_document
                .entry(document)
                .or_default()
                .push((place, ordinal, hit));
        }
        let mut buffer = Vec::new();
        for (number, hits) in by_document {
            let document = self.document(number, &mut buffer)?;
            let passages = split(&document.content);
            let version = document.version.to_string();
            for (place, ordinal, hit) in hits {
                let passage = passages
                    .get(ordinal as usize)
                    .ok_or(CacheAccessError::Index)?
                    .clone();
                let answer =
                    SelectedPassage::new(&document.id, &version, &document.content, passage, hit);
                answers[place] = Some(answer);
            }
        }
        answers
            .into_iter()
            .collect::<Option<_>>()
            .ok_or(CacheAccessError::Index)
    }

    /// The index of passages: the cache's own, or one in memory.
    pub(crate) fn passage_index(&self, now: Now<'_>) -> Result<Arc<PassageIndex>, Failure> {
        if let Some(index) = self.passages.get() {
            return Ok(Arc::clone(index));
        }
        let index = match self.own_passage_index() {
            Some(index) => index,
            None => {
                let lists = manifest::read(&self.folder);
                let documents = &self.documents;
                let checked = check::check(lists, documents, None, now, PassageGatherer::new);
                let (manifest, _, gathered) = checked.sound()?;
                passages_in_memory(IndexScope::listed(&manifest), gathered)?
            }
        };
        Ok(Arc::clone(self.passages.get_or_init(|| Arc::new(index))))
    }

    /// The index of passages that is in the cache, if it can be used.
    pub(crate) fn own_passage_index(&self) -> Option<PassageIndex> {
        let file = self
            .folder
            .open(PASSAGES_FILE)
            .ok()
            .filter(|_| self.trusted)?;
        PassageIndex::open(file, self.version(), self.proof.documents.len()).ok()
    }

    /// A document, if it is still the one that was proved, though links to it may be made meanwhile.
    pub(crate) fn read_linked(&self, number: u32, buffer: &mut Vec<u8>) -> Option<Document> {
        self.read_if(FileStamp::is_same_but_for_links, number, buffer)
            .ok()
    }

    /// A document, if it is still the one that was proved.
    fn read(&self, number: u32, buffer: &mut Vec<u8>) -> Result<Document, CacheAccessError> {
        self.read_if(FileStamp::eq, number, buffer)
    }

    fn read_if(
        &self,
        same: impl Fn(&FileStamp, &FileStamp) -> bool,
        number: u32,
        buffer: &mut Vec<u8>,
    ) -> Result<Document, CacheAccessError> {
        let number = number as usize;
        let mark = self
            .proof
            .documents
            .get(number)
            .ok_or(CacheAccessError::Index)?;
        let name = self.proof.names.get(number);
        let size = mark.signature.size().min(MAX_DOCUMENT_FILE);
        match read_expected(&self.documents, name, size, buffer) {
            Ok(signature) if same(&signature, &mark.signature) => {
                document::read(buffer).map_err(|_| CacheAccessError::Changed)
            }
            _ => Err(CacheAccessError::Changed),
        }
    }
}

impl TrustBasis<'_> {
    fn trusted(self) -> bool {
        match self {
            TrustBasis::Sealed => true,
            TrustBasis::Earlier(cache) => cache.trusted,
            TrustBasis::Nothing => false,
        }
    }

    /// Whether a proof that holds was come by through hashing.
    fn by_hashing(self, proof: &Proof) -> bool {
        match self {
            TrustBasis::Earlier(cache) => cache.by_hashing && cache.proof == *proof,
            TrustBasis::Sealed | TrustBasis::Nothing => false,
        }
    }
}

/// What is proved about a cache, and how far it holds: what was proved before, or what stands in the
/// cache itself where that holds and the other does not, as after an update.
fn best_proof(
    folder: &DirHandle,
    documents: &DirHandle,
    known: TrustBasis<'_>,
) -> (ProofValidity, Option<Proof>) {
    let before = match known {
        TrustBasis::Earlier(cache) => Some(cache.proof.clone()),
        TrustBasis::Sealed | TrustBasis::Nothing => None,
    };
    let standing = |proof: &Proof| proof.standing(folder, documents, true);
    let held = before.as_ref().map_or(ProofValidity::Nothing, standing);
    if held == ProofValidity::Complete || !known.trusted() {
        return (held, before);
    }
    match Proof::find(folder) {
        Some(sealed) => match standing(&sealed) {
            ProofValidity::Complete => (ProofValidity::Complete, Some(sealed)),
            ProofValidity::ListsOnly if held == ProofValidity::Nothing => {
                (ProofValidity::ListsOnly, Some(sealed))
            }
            _ => (held, before),
        },
        None => (held, before),
    }
}

/// The index of a cache of this version, if there is one to be used.
fn find_index(
    folder: &DirHandle,
    known: TrustBasis<'_>,
    version: Digest,
) -> Option<Arc<DocumentIndex>> {
    match known {
        TrustBasis::Earlier(cache) if cache.proof.cache_version == version => {
            Some(Arc::clone(&cache.index))
        }
        _ if !known.trusted() => None,
        _ => {
            let file = folder.open(INDEX_FILE).ok()?;
            DocumentIndex::open(file, version).ok().map(Arc::new)
        }
    }
}

fn fits(index: &DocumentIndex, documents: usize) -> bool {
    index.sizes().documents() == documents
}
