//! Known items: does a query made from a document find that document again within a budget?

use crate::document_search::DocumentSearch;
use crate::queries::{EvaluationQuery, QueryKind};
use crate::v0::V0;
use candor_context::passages::{MemoryIndex, Syntax, split};
use std::ops::Range;
use std::path::Path;

pub(crate) const BUDGETS: [u64; 4] = [2_000, 4_000, 8_000, 16_000];
const SAMPLE: usize = 400;

/// The numbers of sampled documents that were found, by kind of query and budget.
pub(crate) struct KnownItemResults {
    pub(crate) documents: usize,
    pub(crate) bytes: usize,
    pub(crate) passages: usize,
    pub(crate) kinds: Vec<QueryKindResult>,
}

pub(crate) struct QueryKindResult {
    pub(crate) kind: QueryKind,
    pub(crate) queries: usize,
    pub(crate) example: (String, String),
    pub(crate) rows: Vec<ResultRow>,
}

/// The results within one budget.
#[derive(Default)]
pub(crate) struct ResultRow {
    pub(crate) budget: u64,
    pub(crate) v0: usize,
    pub(crate) whole: usize,
    pub(crate) passages: usize,
    /// Not only the document: the passage that the query was made from.
    pub(crate) exact: usize,
}

/// A tree of Markdown files, and the indexes that are compared.
pub(crate) struct Corpus {
    pub(crate) ids: Vec<String>,
    pub(crate) contents: Vec<String>,
    pub(crate) tokens: Vec<u64>,
    pub(crate) ranges: Vec<Vec<Range<usize>>>,
    pub(crate) v0: V0,
    pub(crate) whole: DocumentSearch,
    pub(crate) passages: MemoryIndex,
}

/// Searches for a sample of the documents in every way.
pub(crate) fn measure(corpus: &Corpus) -> KnownItemResults {
    KnownItemResults {
        documents: corpus.ids.len(),
        bytes: corpus.contents.iter().map(String::len).sum(),
        passages: corpus.ranges.iter().map(Vec::len).sum(),
        kinds: QueryKind::ALL
            .iter()
            .map(|kind| ask(corpus, *kind))
            .collect(),
    }
}

/// Reads and indexes the Markdown files below a directory.
pub(crate) fn read(directory: &Path) -> std::io::Result<Corpus> {
    let mut files = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(next) = directories.pop() {
        for entry in std::fs::read_dir(next)? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                let content = std::fs::read_to_string(&path)?;
                let relative = path.strip_prefix(directory).unwrap_or(&path);
                let id = relative.to_string_lossy().replace('\\', "/").to_lowercase();
                files.push((id, content));
            }
        }
    }
    files.sort();
    let (ids, contents): (Vec<String>, Vec<String>) = files.into_iter().unzip();
    let ranges = |content: &String| {
        split(content, Syntax::Markdown)
            .into_iter()
            .map(|passage| passage.range)
            .collect()
    };
    Ok(Corpus {
        tokens: contents
            .iter()
            .map(|content| content.len().div_ceil(4) as u64)
            .collect(),
        ranges: contents.iter().map(ranges).collect(),
        v0: V0::new(&contents),
        whole: DocumentSearch::new(&contents),
        passages: MemoryIndex::new(contents.iter().map(String::as_str)),
        ids,
        contents,
    })
}

fn ask(corpus: &Corpus, kind: QueryKind) -> QueryKindResult {
    let sample = sample(corpus, kind);
    let mut rows: Vec<ResultRow> = BUDGETS
        .iter()
        .map(|budget| ResultRow {
            budget: *budget,
            ..ResultRow::default()
        })
        .collect();
    for (document, query) in &sample {
        let v0 = corpus.v0.order(&query.text);
        let whole = corpus.whole.order(&query.text);
        for row in &mut rows {
            row.v0 += usize::from(taken(&v0, &corpus.tokens, row.budget, *document));
            row.whole += usize::from(taken(&whole, &corpus.tokens, row.budget, *document));
            passages(corpus, *document, query, row);
        }
    }
    let example = sample
        .first()
        .map(|(document, query)| (corpus.ids[*document].clone(), query.text.clone()));
    QueryKindResult {
        kind,
        queries: sample.len(),
        example: example.unwrap_or_default(),
        rows,
    }
}

fn passages(corpus: &Corpus, document: usize, query: &EvaluationQuery, row: &mut ResultRow) {
    let found = corpus.passages.search(&query.text, row.budget);
    let own: Vec<usize> = found
        .hits
        .iter()
        .map(|hit| corpus.passages.locate(hit.passage))
        .filter(|place| place.0 == document)
        .map(|place| place.1)
        .collect();
    row.passages += usize::from(!own.is_empty());
    let holds = |passage: &usize| {
        query.source.as_ref().is_some_and(|source| {
            let range = &corpus.ranges[document][*passage];
            range.start <= source.start && source.start < range.end
        })
    };
    row.exact += usize::from(own.iter().any(holds));
}

/// Returns true if greedy selection in this order takes the document within the budget.
pub(crate) fn taken(order: &[usize], tokens: &[u64], budget: u64, wanted: usize) -> bool {
    let mut left = budget;
    for document in order {
        let fits = tokens[*document] <= left;
        if *document == wanted {
            return fits;
        }
        if fits {
            left -= tokens[*document];
        }
    }
    false
}

/// Returns the documents with the smallest hashes of their ids, of those that a query can be made from.
fn sample(corpus: &Corpus, kind: QueryKind) -> Vec<(usize, EvaluationQuery)> {
    let mut hashed: Vec<(u64, usize)> = (0..corpus.ids.len())
        .map(|document| (hash(&corpus.ids[document]), document))
        .collect();
    hashed.sort_unstable();
    hashed
        .into_iter()
        .filter_map(|(hash, document)| {
            Some((document, kind.query(&corpus.contents[document], hash)?))
        })
        .take(SAMPLE)
        .collect()
}

/// FNV-1a with a finish that mixes the high bits down: the same sample on every machine.
fn hash(id: &str) -> u64 {
    let mut hash = id.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 33)
}
