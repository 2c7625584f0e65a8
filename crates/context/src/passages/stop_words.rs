//! The stop words: English words without a meaning for search.
//!
//! Articles, conjunctions, a few prepositions, pronouns, auxiliaries and question words. Words that are names in
//! documentation (`before`, `after`, `while`, `new`) are not among them.

pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Sorted by bytes.
const STOP_WORDS: &[&str] = &[
    "a", "am", "an", "and", "are", "as", "at", "be", "been", "being", "but", "by", "can", "could",
    "did", "do", "does", "for", "had", "has", "have", "he", "her", "him", "his", "how", "i", "if",
    "in", "into", "is", "it", "its", "may", "me", "might", "must", "my", "no", "not", "of", "on",
    "or", "our", "shall", "she", "should", "such", "that", "the", "their", "them", "then", "there",
    "these", "they", "this", "to", "us", "was", "we", "were", "what", "when", "where", "which",
    "who", "whom", "whose", "why", "will", "with", "would", "you", "your",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP_WORDS.is_sorted_by(|one, next| one < next));
        assert!(is_stop_word("a") && is_stop_word("your") && !is_stop_word("array"));
    }
}
