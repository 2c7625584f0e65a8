//! Makes queries from a document: four ways in which a person may search for it.

use crate::prose::sentences;
use std::collections::BTreeSet;
use std::ops::Range;

/// A query, and the stretch of the document that it was made from, if it was made from its text.
pub(crate) struct EvaluationQuery {
    pub(crate) text: String,
    pub(crate) source: Option<Range<usize>>,
}

/// The way in which queries are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueryKind {
    /// The title, as it is.
    Title,
    /// The title as spoken: identifiers split, in lower case, without punctuation.
    Spoken,
    /// The first sentence without the words of the title.
    Opening,
    /// A sentence from anywhere, half of its words.
    Sentence,
}

impl QueryKind {
    pub(crate) const ALL: [QueryKind; 4] = [
        QueryKind::Title,
        QueryKind::Spoken,
        QueryKind::Opening,
        QueryKind::Sentence,
    ];

    /// The name on the page.
    pub(crate) fn name(self) -> &'static str {
        match self {
            QueryKind::Title => "title",
            QueryKind::Spoken => "spoken",
            QueryKind::Opening => "opening",
            QueryKind::Sentence => "sentence",
        }
    }

    /// Returns true if its queries are made from one position in the text.
    pub(crate) fn has_source(self) -> bool {
        matches!(self, QueryKind::Opening | QueryKind::Sentence)
    }

    /// Makes the query for a document, if the document is suitable. `seed` determines the random choices.
    pub(crate) fn query(self, content: &str, seed: u64) -> Option<EvaluationQuery> {
        let title = title(content)?;
        match self {
            QueryKind::Title => Some(EvaluationQuery {
                text: title,
                source: None,
            }),
            QueryKind::Spoken => Some(EvaluationQuery {
                text: spoken(&title),
                source: None,
            }),
            QueryKind::Opening => opening(content, &title),
            QueryKind::Sentence => sentence(content, seed),
        }
    }
}

fn title(content: &str) -> Option<String> {
    let head = content.split("\n---\n").next()?;
    let line = head.lines().find_map(|line| line.strip_prefix("title: "))?;
    Some(line.trim().trim_matches(['"', '\'']).to_owned())
}

/// `AudioParam: setTargetAtTime() method` becomes `audio param set target at time method`.
fn spoken(title: &str) -> String {
    let mut spoken = String::new();
    let mut small = false;
    for char in title.chars() {
        if !char.is_alphanumeric() || (small && char.is_uppercase()) {
            spoken.push(' ');
        }
        if char.is_alphanumeric() {
            spoken.extend(char.to_lowercase());
        }
        small = char.is_lowercase();
    }
    spoken.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn opening(content: &str, title: &str) -> Option<EvaluationQuery> {
    let first = sentences(content).into_iter().next()?;
    let named: BTreeSet<String> = pieces(title).collect();
    let left = content_words(&first.text)
        .into_iter()
        .filter(|word| !pieces(word).any(|piece| named.contains(&piece)));
    let words: Vec<String> = left.take(10).collect();
    (words.len() >= 4).then(|| EvaluationQuery {
        text: words.join(" "),
        source: Some(first.range),
    })
}

fn sentence(content: &str, seed: u64) -> Option<EvaluationQuery> {
    let mut eligible = sentences(content);
    eligible.retain(|sentence| content_words(&sentence.text).len() >= 8);
    if eligible.is_empty() {
        return None;
    }
    let chosen = eligible.swap_remove((seed % eligible.len() as u64) as usize);
    let words = content_words(&chosen.text);
    let kept = words.into_iter().skip((seed >> 32) as usize % 2).step_by(2);
    let words: Vec<String> = kept.take(8).collect();
    Some(EvaluationQuery {
        text: words.join(" "),
        source: Some(chosen.range),
    })
}

/// Returns the words of a sentence as they are written, without punctuation around them, small words and repetitions.
fn content_words(text: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    text.split_whitespace()
        .map(|word| word.trim_matches(|edge: char| !edge.is_alphanumeric()))
        .filter(|word| word.chars().count() >= 3 && !SMALL.contains(&word.to_lowercase().as_str()))
        .filter(|word| seen.insert(word.to_lowercase()))
        .map(str::to_owned)
        .collect()
}

/// Returns the runs of letters and digits in lower case, and each without an `s` at its end.
fn pieces(text: &str) -> impl Iterator<Item = String> {
    text.split(|edge: char| !edge.is_alphanumeric())
        .filter(|piece| !piece.is_empty())
        .map(|piece| piece.to_lowercase().trim_end_matches('s').to_owned())
}

/// Words that are not typed in searches.
const SMALL: &[&str] = &[
    "the", "and", "are", "but", "for", "into", "not", "such", "that", "their", "then", "there",
    "these", "they", "this", "was", "will", "with", "can", "you", "your", "its", "has", "have",
    "from", "when", "which", "also", "any", "all", "may", "been", "than", "other", "more", "how",
    "what", "who", "should", "would", "could", "does", "each", "only", "some", "very", "our",
];
