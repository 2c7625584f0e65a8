//! Builds indexes from documents, in files of the cache or in memory.

use crate::cache::Cache;
use crate::failure::Failure;
use crate::format::codec::CorruptFile;
use crate::format::digest::{Digest, Digester};
use crate::format::document::Document;
use crate::format::manifest::Manifest;
use crate::index::document_index::{self, DocumentFacts, DocumentIndex};
use crate::index::inverted::{
    IndexHeader, IndexKind, IndexWriteError, IndexWriter, InvertedIndex, MergeInput, SortedShard,
    TermShard, TouchedTerms, merge,
};
use crate::index::passage_index::{self, PassageGatherer, PassageIndex, PassageNumbering};
use crate::index::words::WordCounter;
use crate::passages;
use crate::proof::check::DocumentVisitor;
use crate::tokenizer::Tokenizer;
use rustix::fs::MemfdFlags;
use std::fs::File;
use std::io::{BufWriter, Write};

/// The file of the index of documents in a cache.
pub(crate) const INDEX_FILE: &str = "accelerator.idx";

/// Gathers the words and facts of documents.
pub(crate) struct WordGatherer {
    shard: TermShard,
    counter: WordCounter,
    facts: Vec<(u32, DocumentFacts)>,
}

impl WordGatherer {
    pub(crate) fn new() -> WordGatherer {
        WordGatherer {
            shard: TermShard::default(),
            counter: WordCounter::default(),
            facts: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, number: u32, content: &str) {
        let facts = document_index::gather(&mut self.shard, &mut self.counter, number, content);
        self.facts.push((number, facts));
    }
}

impl DocumentVisitor for WordGatherer {
    fn document(&mut self, number: u32, document: &Document) {
        self.add(number, &document.content);
    }
}

impl DocumentVisitor for PassageGatherer {
    fn document(&mut self, number: u32, document: &Document) {
        self.add(number, &document.id, &document.content);
    }
}

/// Gathers for both indexes, or for the index of documents alone.
pub(crate) struct IndexGatherer {
    pub(crate) words: WordGatherer,
    pub(crate) passages: Option<PassageGatherer>,
}

impl IndexGatherer {
    /// Passages are gathered if there is a tokenizer for them.
    pub(crate) fn new(passages: Option<Tokenizer>) -> IndexGatherer {
        IndexGatherer {
            words: WordGatherer::new(),
            passages: passages.map(PassageGatherer::new),
        }
    }

    pub(crate) fn add(&mut self, number: u32, id: &str, content: &str) {
        self.words.add(number, content);
        if let Some(passages) = &mut self.passages {
            passages.add(number, id, content);
        }
    }

    /// Splits gatherers by index.
    pub(crate) fn apart(all: Vec<IndexGatherer>) -> (Vec<WordGatherer>, Vec<PassageGatherer>) {
        let (words, passages): (Vec<_>, Vec<_>) =
            all.into_iter().map(|one| (one.words, one.passages)).unzip();
        (words, passages.into_iter().flatten().collect())
    }
}

impl DocumentVisitor for IndexGatherer {
    fn document(&mut self, number: u32, document: &Document) {
        self.add(number, &document.id, &document.content);
    }
}

/// An existing index whose documents are reused.
pub(crate) struct ReusedIndex<'a, I> {
    pub(crate) index: &'a I,
    /// The new number of each reused document. Their order is unchanged.
    pub(crate) renumbered: &'a [Option<u32>],
}

/// The cache that an index is built for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IndexScope {
    pub(crate) cache_version: Digest,
    pub(crate) documents: usize,
}

impl IndexScope {
    pub(crate) fn listed(manifest: &Manifest) -> IndexScope {
        IndexScope {
            cache_version: manifest.cache_version,
            documents: manifest.documents.len(),
        }
    }
}

/// Sorts shards in parallel.
fn sorted(shards: Vec<TermShard>) -> Vec<SortedShard> {
    std::thread::scope(|scope| {
        let sort = |shard: TermShard| scope.spawn(|| shard.sorted());
        let sorting: Vec<_> = shards.into_iter().map(sort).collect();
        let mut sorted = Vec::new();
        for one in sorting {
            match one.join() {
                Ok(one) => sorted.push(one),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        sorted
    })
}

/// The most terms whose memory is freed sooner than a thread starts.
const MOST_FREED_HERE: usize = 4096;

/// Frees the memory of shards, on another thread if there is much of it.
fn free(shards: Vec<SortedShard>) {
    let terms: usize = shards.iter().map(SortedShard::len).sum();
    if terms > MOST_FREED_HERE {
        // If no thread can be started, it is freed here.
        let _ = std::thread::Builder::new().spawn(move || drop(shards));
    }
}

/// Returns the terms of an existing index, with the new numbers of its units.
fn merge_input<'a>(
    terms: &'a InvertedIndex,
    touched: Option<&'a TouchedTerms>,
    table: &'a [Option<u32>],
) -> Result<MergeInput<'a>, CorruptFile> {
    let unit = move |key| table.get(usize::try_from(key).ok()?).copied().flatten();
    Ok((Box::new(terms.stream(touched)?), Some(Box::new(unit))))
}

/// Returns the words of the documents that are not reused, if the reused ones keep their numbers and
/// the others are few. The lists of all other words stay unchanged.
pub(crate) fn touched(cache: &Cache, renumbered: &[Option<u32>]) -> Option<TouchedTerms> {
    let mut words = TouchedTerms::default();
    let (mut buffer, mut counter) = (Vec::new(), WordCounter::default());
    let mut left = MOST_TOUCHED;
    for (number, new) in (0..).zip(renumbered) {
        match new {
            Some(new) if *new == number => {}
            Some(_) => return None,
            None => {
                left = left.checked_sub(1)?;
                let document = cache.read_linked(number, &mut buffer)?;
                counter.count(&document.content);
                let spelled = |word| counter.spelled(word).to_vec();
                words.extend(counter.words().iter().map(spelled));
            }
        }
    }
    Some(words)
}

/// With more documents than this, decoding every list is not slower.
const MOST_TOUCHED: u32 = 256;

/// Writes the index of documents.
pub(crate) fn write_words(
    out: impl Write,
    of: IndexScope,
    gathered: Vec<WordGatherer>,
    reused: Option<ReusedIndex<'_, DocumentIndex>>,
    touched: Option<&TouchedTerms>,
) -> Result<(), IndexWriteError> {
    let mut facts = vec![DocumentFacts::default(); of.documents];
    let mut shards = Vec::new();
    for gatherer in gathered {
        for (number, one) in gatherer.facts {
            facts[number as usize] = one;
        }
        shards.push(gatherer.shard);
    }
    let shards = sorted(shards);
    let mut stream = None;
    if let Some(ReusedIndex { index, renumbered }) = &reused {
        let old = document_index::read_facts(index.terms().facts(), index.terms().units())?;
        for (one, number) in old.into_iter().zip(*renumbered) {
            if let Some(number) = number {
                facts[*number as usize] = one;
            }
        }
        stream = Some(merge_input(index.terms(), touched, renumbered)?);
    }
    let mut writer = IndexWriter::new(out, of.cache_version, None);
    merge(&mut writer, &shards, None, stream)?;
    writer.finish(&IndexHeader {
        kind: IndexKind::Documents,
        maker: document_index::MAKER,
        cache_version: of.cache_version,
        units: of.documents as u32,
        facts: &document_index::write_facts(&facts),
    })?;
    free(shards);
    Ok(())
}

/// Writes the index of passages.
pub(crate) fn write_passages(
    out: impl Write,
    of: IndexScope,
    tokenizer: Tokenizer,
    gathered: Vec<PassageGatherer>,
    reused: Option<ReusedIndex<'_, PassageIndex>>,
) -> Result<(), IndexWriteError> {
    let mut facts = vec![Vec::new(); of.documents];
    let mut shards = Vec::new();
    for gatherer in gathered {
        for (number, passages) in gatherer.facts {
            facts[number as usize] = passages;
        }
        shards.push(gatherer.shard);
    }
    if let Some(ReusedIndex { index, renumbered }) = &reused {
        let (counted_by, old) = passage_index::read_facts(index.terms().facts())?;
        if counted_by != tokenizer {
            return Err(IndexWriteError::CorruptFile);
        }
        for (passages, number) in old.into_iter().zip(*renumbered) {
            if let Some(number) = number {
                facts[*number as usize] = passages;
            }
        }
    }
    let numbering = PassageNumbering::new(facts.iter().map(Vec::len))?;
    let table;
    let shards = sorted(shards);
    let mut stream = None;
    if let Some(ReusedIndex { index, renumbered }) = &reused {
        table = index.numbering().renumbered(renumbered, &numbering);
        stream = Some(merge_input(index.terms(), None, &table)?);
    }
    // Answers name the digest of this index.
    let mut writer = IndexWriter::new(out, of.cache_version, Some(Digester::default()));
    let number = |key| numbering.of_key(key);
    merge(&mut writer, &shards, Some(&number), stream)?;
    writer.finish(&IndexHeader {
        kind: IndexKind::Passages,
        maker: passages::VERSION,
        cache_version: of.cache_version,
        units: numbering.passages(),
        facts: &passage_index::write_facts(tokenizer, &facts),
    })?;
    free(shards);
    Ok(())
}

/// Creates a file in memory and fills it by `write`.
fn in_memory(
    write: impl FnOnce(BufWriter<&File>) -> Result<(), IndexWriteError>,
) -> Result<File, Failure> {
    let made = rustix::fs::memfd_create("context-index", MemfdFlags::CLOEXEC);
    let file = File::from(made.map_err(Failure::system("make an index in memory"))?);
    write(BufWriter::with_capacity(1 << 20, &file)).map_err(write_failure)?;
    Ok(file)
}

fn unreadable(CorruptFile: CorruptFile) -> Failure {
    Failure::Bug("an index just made cannot be read")
}

/// Builds an index of documents in memory.
pub(crate) fn words_in_memory(
    of: IndexScope,
    gathered: Vec<WordGatherer>,
) -> Result<DocumentIndex, Failure> {
    let file = in_memory(|out| write_words(out, of, gathered, None, None))?;
    DocumentIndex::open(file, of.cache_version).map_err(unreadable)
}

/// Builds an index of passages in memory.
pub(crate) fn passages_in_memory(
    of: IndexScope,
    tokenizer: Tokenizer,
    gathered: Vec<PassageGatherer>,
) -> Result<PassageIndex, Failure> {
    let file = in_memory(|out| write_passages(out, of, tokenizer, gathered, None))?;
    PassageIndex::open(file, of.cache_version, of.documents).map_err(unreadable)
}

pub(crate) fn write_failure(why: IndexWriteError) -> Failure {
    match why {
        IndexWriteError::CorruptFile => Failure::Bug("what was gathered cannot be merged"),
        IndexWriteError::System(error) => Failure::System {
            doing: String::from("write the index"),
            error,
        },
    }
}
