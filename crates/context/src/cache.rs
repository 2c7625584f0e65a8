//! An open cache: proved to match its manifest, with an index to answer queries from.

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
use crate::passages::{self, PassageHit, SelectedPassage, Syntax, split};
use crate::proof::check::{self, Now};
use crate::proof::proof_file::{Proof, ProofValidity};
use crate::query::recent_documents::RecentDocuments;
use crate::query::request::{Query, TokenBudget};
use crate::query::response::{DocumentExplanation, ResolveResponse, SelectedDocument, score};
use crate::query::selection::DocumentMatch;
use crate::read::document_ids::DocumentIds;
use crate::serve::answer_room::{AnswerSpace, ENTRY_BYTES, rendering_bytes};
use crate::tokenizer::Tokenizer;
use crate::{Digest, MAX_ANSWER};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// A cache that was proved when it was opened.
#[derive(Debug)]
pub(crate) struct Cache {
    directory: DirHandle,
    documents: DirHandle,
    proof: Proof,
    index: Arc<DocumentIndex>,
    /// Opened or built at the first query for passages.
    passages: OnceLock<Arc<PassageIndex>>,
    /// Found at the first request that counts tokens.
    tokenizer: OnceLock<Tokenizer>,
    recent: RecentDocuments,
    /// Loaded at the first request that names a document.
    contents: OnceLock<Arc<CacheContents>>,
    was_hashed: bool,
    /// True if the index files in the cache may be used.
    trusted: bool,
}

/// The parts of the manifest that a request for documents needs.
#[derive(Debug)]
pub(crate) struct CacheContents {
    /// The ids, in the order of the documents' numbers.
    pub(crate) ids: DocumentIds,
    /// The time of the build, as the manifest has it.
    pub(crate) created_at: String,
}

/// The most entries of the index, documents and tokens that are read on the calling thread.
const COUNTED_QUICKLY: usize = 1 << 20;
const READ_QUICKLY: usize = 64;
const TOKENS_QUICKLY: u64 = 1 << 16;

/// The reason why an open cache cannot answer.
#[derive(Debug)]
pub(crate) enum CacheAccessError {
    /// It has changed since it was proved.
    Changed,
    /// The index is corrupt.
    Index,
    Failed(Failure),
}

impl From<Failure> for CacheAccessError {
    fn from(failure: Failure) -> Self {
        CacheAccessError::Failed(failure)
    }
}

impl From<CorruptFile> for CacheAccessError {
    fn from(_: CorruptFile) -> Self {
        CacheAccessError::Index
    }
}

/// The basis on which a cache is trusted when it is opened.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TrustBasis<'a> {
    /// The proof and the indexes in the cache itself.
    Sealed,
    /// An earlier state of the same cache.
    Earlier(&'a Cache),
    /// Nothing. Proof and indexes in the cache are ignored.
    Nothing,
}

impl Cache {
    /// Opens a cache. Only documents that are not proved already are read.
    pub(crate) fn open(
        directory: DirHandle,
        basis: TrustBasis<'_>,
        now: Now<'_>,
    ) -> Result<Cache, Failure> {
        let documents = match check::open_documents(&directory) {
            Ok(documents) => documents,
            Err(problem) => return Err(check::missing_documents_failure(&directory, problem)),
        };
        let (validity, proof) = best_proof(&directory, &documents, basis);
        match (validity, proof) {
            (ProofValidity::Complete, Some(proof)) => {
                let index = find_index(&directory, basis, proof.cache_version);
                let count = proof.documents.len();
                if let Some(index) = index.filter(|index| covers(index, count)) {
                    let was_hashed = basis.was_hashed(&proof);
                    return Ok(Cache::new(
                        directory, documents, proof, index, basis, was_hashed,
                    ));
                }
                Cache::check(directory, documents, None, basis, now)
            }
            (ProofValidity::ListsOnly, proof) => {
                Cache::check(directory, documents, proof.as_ref(), basis, now)
            }
            _ => Cache::check(directory, documents, None, basis, now),
        }
    }

    /// Opens a cache by reading every document that `trusted` does not prove.
    fn check(
        directory: DirHandle,
        documents: DirHandle,
        trusted: Option<&Proof>,
        basis: TrustBasis<'_>,
        now: Now<'_>,
    ) -> Result<Cache, Failure> {
        let lists = manifest::read(&directory);
        let listed = lists.manifest.as_ref();
        let version = listed.map(|manifest| manifest.cache_version);
        let index = version.and_then(|version| find_index(&directory, basis, version));
        let count = listed.map_or(0, |manifest| manifest.documents.len());
        let (proof, index) = match index.filter(|index| covers(index, count)) {
            Some(index) => {
                let checked = check::check(lists, &documents, trusted, now, || ());
                (checked.into_valid()?.1, index)
            }
            None => {
                let checked = check::check(lists, &documents, None, now, WordGatherer::new);
                let (manifest, proof, gathered) = checked.into_valid()?;
                let index = words_in_memory(IndexScope::listed(&manifest), gathered)?;
                (proof, Arc::new(index))
            }
        };
        Ok(Cache::new(directory, documents, proof, index, basis, true))
    }

    fn new(
        directory: DirHandle,
        documents: DirHandle,
        proof: Proof,
        index: Arc<DocumentIndex>,
        basis: TrustBasis<'_>,
        was_hashed: bool,
    ) -> Cache {
        let passages = match basis {
            TrustBasis::Earlier(cache) if cache.version() == proof.cache_version => {
                cache.passages.clone()
            }
            _ => OnceLock::new(),
        };
        Cache {
            directory,
            documents,
            proof,
            index,
            passages,
            tokenizer: OnceLock::new(),
            recent: RecentDocuments::default(),
            contents: OnceLock::new(),
            was_hashed,
            trusted: basis.is_trusted(),
        }
    }

    /// Opens the same cache again after an error.
    pub(crate) fn reopen(&self, error: &CacheAccessError, now: Now<'_>) -> Result<Cache, Failure> {
        let directory = self.directory.open_dir(".");
        let directory = directory.map_err(Failure::system("open the cache again"))?;
        let basis = match error {
            CacheAccessError::Index => TrustBasis::Nothing,
            CacheAccessError::Changed | CacheAccessError::Failed(_) => TrustBasis::Earlier(self),
        };
        Cache::open(directory, basis, now)
    }

    /// Returns true if documents were hashed to open it, because it was copied or written by another
    /// program.
    pub(crate) fn was_hashed(&self) -> bool {
        self.was_hashed
    }

    pub(crate) fn open_dir(&self) -> &DirHandle {
        &self.directory
    }

    pub(crate) fn documents(&self) -> &DirHandle {
        &self.documents
    }

    pub(crate) fn proof(&self) -> &Proof {
        &self.proof
    }

    pub(crate) fn into_proof(self) -> Proof {
        self.proof
    }

    pub(crate) fn index(&self) -> &DocumentIndex {
        &self.index
    }

    pub(crate) fn version(&self) -> Digest {
        self.proof.cache_version
    }

    /// Returns true if the stamps of all files are unchanged.
    pub(crate) fn is_unchanged(&self, wide: bool) -> bool {
        let validity = self.proof.validity(&self.directory, &self.documents, wide);
        validity == ProofValidity::Complete
    }

    /// Selects the documents for a query and reads them.
    pub(crate) fn resolve<'q>(
        &self,
        query: &'q Query,
        budget: TokenBudget,
    ) -> Result<ResolveResponse<'q>, CacheAccessError> {
        let selection = self.index.select(query, budget)?;
        self.read_selection(query, budget, &selection)
    }

    /// Selects the documents for a query. Returns `None` if that would take so long that it belongs
    /// on a thread of its own, or if the index is corrupt.
    pub(crate) fn select_quickly(
        &self,
        query: &Query,
        budget: TokenBudget,
    ) -> Option<Vec<DocumentMatch>> {
        let documents = self.index.sizes().documents();
        match documents.saturating_mul(query.terms().len()) <= COUNTED_QUICKLY {
            true => self.index.select(query, budget).ok(),
            false => None,
        }
    }

    /// Returns the size of the file of a document.
    pub(crate) fn file_bytes(&self, number: u32) -> u64 {
        let mark = self.proof.documents.get(number as usize);
        mark.map_or(0, |mark| mark.stamp.size())
    }

    /// Returns the bytes of the files of a selection, in which texts are escaped as in an answer.
    pub(crate) fn stored_bytes(&self, selection: &[DocumentMatch]) -> u64 {
        let bytes = selection.iter().map(|one| self.file_bytes(one.document));
        bytes.sum()
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
        budget: TokenBudget,
        selection: &[DocumentMatch],
    ) -> Result<ResolveResponse<'q>, CacheAccessError> {
        self.check_size(query, selection)?;
        let mut buffer = Vec::new();
        let read = |one: &DocumentMatch| self.read_selected(query, one, &mut buffer);
        let documents = selection.iter().map(read).collect::<Result<_, _>>()?;
        let considered = self.index.sizes().documents() as u64;
        Ok(ResolveResponse::new(query, budget, considered, documents))
    }

    /// Returns the least size of a response. Refuses one that would be too large, before anything is read.
    pub(crate) fn check_size(
        &self,
        query: &Query,
        selection: &[DocumentMatch],
    ) -> Result<u64, CacheAccessError> {
        let terms: usize = query.terms().iter().map(|term| term.len() + 3).sum();
        let sizes = self.index.sizes();
        let size =
            |one: &DocumentMatch| sizes.tokens(one.document).saturating_sub(1) * 4 + terms as u64;
        let bytes = selection.iter().map(size).sum::<u64>();
        match bytes <= MAX_ANSWER as u64 {
            true => Ok(bytes),
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

    /// Returns the ids of the documents and the time of the build.
    pub(crate) fn contents(&self) -> Result<Arc<CacheContents>, CacheAccessError> {
        if let Some(contents) = self.contents.get() {
            return Ok(Arc::clone(contents));
        }
        let lists = manifest::read(&self.directory);
        let (Some(manifest), Some(created_at), true) =
            (lists.manifest, lists.created_at, lists.problems.is_empty())
        else {
            return Err(CacheAccessError::Changed);
        };
        if !self.proof.matches(&manifest) {
            return Err(CacheAccessError::Changed);
        }
        let ids = manifest.documents.iter().map(|one| one.id.as_str());
        let contents = CacheContents {
            ids: ids.collect(),
            created_at,
        };
        Ok(Arc::clone(self.contents.get_or_init(|| Arc::new(contents))))
    }

    /// Returns a document that is unchanged since it was proved, from memory or from its file.
    pub(crate) fn document(
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

    /// Selects the passages for a query and reads them.
    pub(crate) fn passages(
        &self,
        query: &Query,
        budget: TokenBudget,
        now: Now<'_>,
        space: &AnswerSpace,
    ) -> Result<passages::PassagesResponse, CacheAccessError> {
        let index = self.passage_index(now).map_err(CacheAccessError::Failed)?;
        let found = index.search(query.raw(), budget.tokens())?;
        let most = match index.tokenizer() {
            Tokenizer::Bytes4 => found.tokens_used.saturating_mul(4),
            Tokenizer::O200k => (found.hits.len() * passages::MOST_BYTES) as u64,
        };
        if most > MAX_ANSWER as u64 {
            return Err(CacheAccessError::Failed(Failure::Budget(
                BudgetFlaw::ResponseTooLarge,
            )));
        }
        let answer = most + found.hits.len() as u64 * ENTRY_BYTES;
        let largest = self.largest_file(&index, &found.hits);
        let claimed = space.claim(rendering_bytes(answer, largest));
        claimed.map_err(Failure::from)?;
        let passages = self.read_passages(&index, found.hits)?;
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

    /// Returns the size of the largest file among the documents of hits.
    pub(crate) fn largest_file(&self, index: &PassageIndex, hits: &[PassageHit]) -> u64 {
        let documents = hits
            .iter()
            .map(|hit| index.numbering().locate(hit.passage).0);
        let files = documents.map(|number| self.file_bytes(number));
        files.max().unwrap_or(0)
    }

    /// Reads the texts of hits. Each document is read once.
    pub(crate) fn read_passages(
        &self,
        index: &PassageIndex,
        hits: Vec<PassageHit>,
    ) -> Result<Vec<SelectedPassage>, CacheAccessError> {
        let mut by_document: BTreeMap<u32, Vec<(usize, u32, PassageHit)>> = BTreeMap::new();
        let mut answers = Vec::new();
        answers.resize_with(hits.len(), || None);
        for (position, hit) in hits.into_iter().enumerate() {
            let (document, ordinal) = index.numbering().locate(hit.passage);
            by_document
                .entry(document)
                .or_default()
                .push((position, ordinal, hit));
        }
        let mut buffer = Vec::new();
        for (number, hits) in by_document {
            let document = self.document(number, &mut buffer)?;
            let passages = split(&document.content, Syntax::of(&document.id));
            let version = document.version.to_string();
            for (position, ordinal, hit) in hits {
                let passage = passages
                    .get(ordinal as usize)
                    .ok_or(CacheAccessError::Index)?
                    .clone();
                let answer =
                    SelectedPassage::new(&document.id, &version, &document.content, passage, hit);
                answers[position] = Some(answer);
            }
        }
        answers
            .into_iter()
            .collect::<Option<_>>()
            .ok_or(CacheAccessError::Index)
    }

    /// Returns the index of passages: the one in the cache, or one that is built in memory.
    pub(crate) fn passage_index(&self, now: Now<'_>) -> Result<Arc<PassageIndex>, Failure> {
        if let Some(index) = self.passages.get() {
            return Ok(Arc::clone(index));
        }
        let index = match self.stored_passage_index() {
            Some(index) => index,
            None => {
                let lists = manifest::read(&self.directory);
                let documents = &self.documents;
                // Only an index names another tokenizer.
                let tokenizer = Tokenizer::default();
                let make = || PassageGatherer::new(tokenizer);
                let checked = check::check(lists, documents, None, now, make);
                let (manifest, _, gathered) = checked.into_valid()?;
                passages_in_memory(IndexScope::listed(&manifest), tokenizer, gathered)?
            }
        };
        Ok(Arc::clone(self.passages.get_or_init(|| Arc::new(index))))
    }

    /// Returns the tokenizer of the index of passages in the cache. Without one, bytes are counted.
    pub(crate) fn tokenizer(&self) -> Tokenizer {
        if let Some(index) = self.passages.get() {
            return index.tokenizer();
        }
        *self.tokenizer.get_or_init(|| {
            let Some(index) = self.stored_passage_index() else {
                return Tokenizer::default();
            };
            // The next search uses it.
            let index = self.passages.get_or_init(|| Arc::new(index));
            index.tokenizer()
        })
    }

    /// Returns the tokens of documents, as lists have them. They are not counted anew: with a vocabulary
    /// they are the sum of the tokens of the passages.
    pub(crate) fn document_tokens(&self) -> DocumentTokens<'_> {
        let tokenizer = self.tokenizer();
        let index = self.passages.get();
        DocumentTokens {
            tokenizer,
            sizes: &self.index,
            passages: index.filter(|_| tokenizer != Tokenizer::Bytes4),
        }
    }

    /// Returns the index of passages in the cache, or `None` if it is missing or corrupt.
    pub(crate) fn stored_passage_index(&self) -> Option<PassageIndex> {
        let file = self
            .directory
            .open(PASSAGES_FILE)
            .ok()
            .filter(|_| self.trusted)?;
        PassageIndex::open(file, self.version(), self.proof.documents.len()).ok()
    }

    /// Reads a document that is unchanged since it was proved, except for the number of its links.
    pub(crate) fn read_linked(&self, number: u32, buffer: &mut Vec<u8>) -> Option<Document> {
        self.read_if(FileStamp::is_same_but_for_links, number, buffer)
            .ok()
    }

    /// Reads a document that is unchanged since it was proved.
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
        let size = mark.stamp.size().min(MAX_DOCUMENT_FILE);
        match read_expected(&self.documents, name, size, buffer) {
            Ok(stamp) if same(&stamp, &mark.stamp) => {
                document::read(buffer).map_err(|_| CacheAccessError::Changed)
            }
            _ => Err(CacheAccessError::Changed),
        }
    }
}

/// The tokens of the documents of a cache, counted when it was built.
pub(crate) struct DocumentTokens<'c> {
    tokenizer: Tokenizer,
    sizes: &'c DocumentIndex,
    /// The index that has the counts of a vocabulary.
    passages: Option<&'c Arc<PassageIndex>>,
}

impl DocumentTokens<'_> {
    pub(crate) fn tokenizer(&self) -> Tokenizer {
        self.tokenizer
    }

    /// Returns the tokens of a document with this content.
    pub(crate) fn of(&self, document: u32, content: &str) -> u64 {
        match self.passages {
            Some(index) => index.document_tokens(document),
            None => Tokenizer::Bytes4.count(content),
        }
    }

    pub(crate) fn sum(&self) -> u64 {
        let sizes = self.sizes.sizes();
        let tokens = |document| match self.passages {
            Some(index) => index.document_tokens(document),
            None => sizes.tokens(document),
        };
        (0..sizes.documents() as u32).map(tokens).sum()
    }
}

impl TrustBasis<'_> {
    fn is_trusted(self) -> bool {
        match self {
            TrustBasis::Sealed => true,
            TrustBasis::Earlier(cache) => cache.trusted,
            TrustBasis::Nothing => false,
        }
    }

    /// Returns true if this proof was made by hashing documents.
    fn was_hashed(self, proof: &Proof) -> bool {
        match self {
            TrustBasis::Earlier(cache) => cache.was_hashed && cache.proof == *proof,
            TrustBasis::Sealed | TrustBasis::Nothing => false,
        }
    }
}

/// Returns the best proof of a cache, and how far it is still valid: the earlier one, or the one in the
/// cache if only that is valid, as after an update.
fn best_proof(
    directory: &DirHandle,
    documents: &DirHandle,
    basis: TrustBasis<'_>,
) -> (ProofValidity, Option<Proof>) {
    let before = match basis {
        TrustBasis::Earlier(cache) => Some(cache.proof.clone()),
        TrustBasis::Sealed | TrustBasis::Nothing => None,
    };
    let validity = |proof: &Proof| proof.validity(directory, documents, true);
    let held = before.as_ref().map_or(ProofValidity::Nothing, validity);
    if held == ProofValidity::Complete || !basis.is_trusted() {
        return (held, before);
    }
    match Proof::find(directory) {
        Some(sealed) => match validity(&sealed) {
            ProofValidity::Complete => (ProofValidity::Complete, Some(sealed)),
            ProofValidity::ListsOnly if held == ProofValidity::Nothing => {
                (ProofValidity::ListsOnly, Some(sealed))
            }
            _ => (held, before),
        },
        None => (held, before),
    }
}

/// Returns the index of a cache of this version, or `None` if it is missing, corrupt or not trusted.
fn find_index(
    directory: &DirHandle,
    basis: TrustBasis<'_>,
    version: Digest,
) -> Option<Arc<DocumentIndex>> {
    match basis {
        TrustBasis::Earlier(cache) if cache.proof.cache_version == version => {
            Some(Arc::clone(&cache.index))
        }
        _ if !basis.is_trusted() => None,
        _ => {
            let file = directory.open(INDEX_FILE).ok()?;
            DocumentIndex::open(file, version).ok().map(Arc::new)
        }
    }
}

fn covers(index: &DocumentIndex, documents: usize) -> bool {
    index.sizes().documents() == documents
}
