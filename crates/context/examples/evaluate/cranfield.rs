//! The Cranfield collection: 1,400 abstracts, 225 queries, and which abstracts answer which query.
//!
//! Measured as trec_eval does, with 50 results a query; a document is scored by its best passage.

use candor_context::passages::MemoryIndex;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const RESULTS: usize = 50;

/// Means over the queries.
pub(crate) struct CranfieldFigures {
    pub(crate) documents: usize,
    pub(crate) queries: usize,
    pub(crate) judgements: usize,
    pub(crate) map: f64,
    pub(crate) p5: f64,
    pub(crate) mrr: f64,
}

/// Reads the collection and measures the passages on it.
pub(crate) fn measure(directory: &Path) -> std::io::Result<CranfieldFigures> {
    let read = |name: &str| {
        std::fs::read(directory.join(name))
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    let documents: Vec<String> = records(&read("cran.all.1400")?)
        .iter()
        .map(|record| {
            format!(
                "# {}\n\n{}",
                field(record, ".T").replace('\n', " "),
                field(record, ".W")
            )
        })
        .collect();
    let queries: Vec<String> = records(&read("cran.qry")?)
        .iter()
        .map(|record| field(record, ".W"))
        .collect();
    let relevant = judgements(&read("cranqrel")?);
    let index = MemoryIndex::new(documents.iter().map(String::as_str));
    let ranked = |query: &String| ranking(&index, query);
    let rankings: Vec<Vec<usize>> = queries.iter().map(ranked).collect();
    Ok(figures(documents.len(), &rankings, &relevant))
}

/// Returns the parts that start with a line `.I`.
fn records(text: &str) -> Vec<String> {
    let mut records: Vec<String> = Vec::new();
    for line in text.lines() {
        if line.starts_with(".I ") {
            records.push(String::new());
        } else if let Some(record) = records.last_mut() {
            record.push_str(line);
            record.push('\n');
        }
    }
    records
}

/// Returns the lines below `.T`, `.W` and so on, up to the next of them.
fn field(record: &str, name: &str) -> String {
    let lines = record.lines().skip_while(|line| *line != name).skip(1);
    let own = lines.take_while(|line| !matches!(*line, ".T" | ".A" | ".B" | ".W"));
    own.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// Returns the documents that answer a query. Both are counted from 1, queries by their position and not by their `.I`.
fn judgements(text: &str) -> BTreeMap<usize, BTreeSet<usize>> {
    let mut relevant: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for line in text.lines() {
        let mut numbers = line.split_whitespace().map(str::parse::<usize>);
        if let (Some(Ok(query)), Some(Ok(document))) = (numbers.next(), numbers.next()) {
            relevant.entry(query).or_default().insert(document);
        }
    }
    relevant
}

/// Returns the best documents, counted from 1.
fn ranking(index: &MemoryIndex, query: &str) -> Vec<usize> {
    let mut ranking = Vec::new();
    for hit in index.search(query, u64::MAX).hits {
        let document = index.locate(hit.passage).0 + 1;
        if !ranking.contains(&document) {
            ranking.push(document);
        }
        if ranking.len() == RESULTS {
            break;
        }
    }
    ranking
}

fn figures(
    documents: usize,
    rankings: &[Vec<usize>],
    relevant: &BTreeMap<usize, BTreeSet<usize>>,
) -> CranfieldFigures {
    let (mut map, mut p5, mut mrr) = (0.0, 0.0, 0.0);
    for (query, ranking) in (1..).zip(rankings) {
        let Some(wanted) = relevant.get(&query) else {
            continue;
        };
        let mut found = 0;
        for (rank, document) in (1..).zip(ranking) {
            if !wanted.contains(document) {
                continue;
            }
            found += 1;
            map += f64::from(found) / f64::from(rank) / wanted.len() as f64;
            if found == 1 {
                mrr += 1.0 / f64::from(rank);
            }
            if rank <= 5 {
                p5 += 0.2;
            }
        }
    }
    let queries = relevant.len();
    let mean = |sum: f64| sum / queries as f64;
    CranfieldFigures {
        documents,
        queries,
        judgements: relevant.values().map(BTreeSet::len).sum(),
        map: mean(map),
        p5: mean(p5),
        mrr: mean(mrr),
    }
}
