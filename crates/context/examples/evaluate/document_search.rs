//! BM25 over whole documents, to compare with: the same analyser, k1 1.2 and b 0.75, in floating point.

use candor_context::passages::Analyser;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Every document's terms.
pub(crate) struct DocumentSearch {
    postings: HashMap<String, Vec<(usize, f64)>>,
    lengths: Vec<f64>,
    average: f64,
}

impl DocumentSearch {
    /// Indexes documents, which must be sorted by id.
    pub(crate) fn new(contents: &[String]) -> Self {
        let mut analyser = Analyser::new();
        let mut postings: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
        let mut lengths = Vec::new();
        for (document, content) in contents.iter().enumerate() {
            let mut counts: BTreeMap<String, f64> = BTreeMap::new();
            let mut length = 0.0;
            analyser.analyse(content, |term| {
                length += 1.0;
                *counts.entry(term.to_owned()).or_default() += 1.0;
            });
            for (term, count) in counts {
                postings.entry(term).or_default().push((document, count));
            }
            lengths.push(length);
        }
        let average = lengths.iter().sum::<f64>() / lengths.len() as f64;
        DocumentSearch {
            postings,
            lengths,
            average,
        }
    }

    /// Returns the documents that contain a term of the query, best first.
    pub(crate) fn order(&self, query: &str) -> Vec<usize> {
        let mut terms = BTreeSet::new();
        Analyser::new().analyse(query, |term| {
            terms.insert(term.to_owned());
        });
        let mut scores: BTreeMap<usize, f64> = BTreeMap::new();
        for list in terms.iter().filter_map(|term| self.postings.get(term)) {
            let all = self.lengths.len() as f64;
            let holding = list.len() as f64;
            let idf = (1.0 + (all - holding + 0.5) / (holding + 0.5)).ln();
            for (document, tf) in list {
                let norm = 1.2 * (0.25 + 0.75 * self.lengths[*document] / self.average);
                *scores.entry(*document).or_default() += idf * tf / (tf + norm);
            }
        }
        let mut order: Vec<(usize, f64)> = scores.into_iter().collect();
        order.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        order.into_iter().map(|(document, _)| document).collect()
    }
}
