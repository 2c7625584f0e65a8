//! Counts the tokens of texts, in one of two ways.

mod byte_pairs;
mod pieces;
mod vocabulary;

use vocabulary::Vocabulary;

/// A way to count tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tokenizer {
    /// Four bytes are a token; the last token may have fewer.
    #[default]
    Bytes4,
    /// The vocabulary `o200k_base`, ordinary text only, without special tokens. A text of more than
    /// [`MOST_PIECE`](Tokenizer::MOST_PIECE) bytes without a place to cut it is counted in parts.
    O200k,
}

impl Tokenizer {
    /// Every tokenizer, in the order of their numbers in index files.
    pub const ALL: [Tokenizer; 2] = [Tokenizer::Bytes4, Tokenizer::O200k];

    /// The most bytes that are counted as one piece, for example a word. It bounds the memory of a count.
    pub const MOST_PIECE: usize = pieces::MOST_PIECE;

    /// Returns the name in answers, flags and files.
    pub fn name(self) -> &'static str {
        match self {
            Tokenizer::Bytes4 => "bytes4",
            Tokenizer::O200k => "o200k",
        }
    }

    /// Returns the tokenizer with this name.
    pub fn named(name: &str) -> Option<Tokenizer> {
        Tokenizer::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Counts the tokens of a text. The first count with a vocabulary loads it.
    pub fn count(self, text: &str) -> u64 {
        // No text has more tokens than this.
        self.count_at_most(text, u64::MAX).unwrap_or(u64::MAX)
    }

    /// Counts the tokens of a text. If there are more than `most`, counting stops, and the error is about how many
    /// bytes fit.
    pub(crate) fn count_at_most(self, text: &str, most: u64) -> Result<u64, usize> {
        match self {
            Tokenizer::Bytes4 => match crate::index::words::tokens(text.len() as u64) {
                count if count <= most => Ok(count),
                _ => Err(usize::try_from(most.saturating_mul(4)).unwrap_or(usize::MAX)),
            },
            Tokenizer::O200k => Vocabulary::o200k().count_at_most(text, most),
        }
    }

    /// Returns its number in index files.
    pub(crate) fn number(self) -> u64 {
        match self {
            Tokenizer::Bytes4 => 0,
            Tokenizer::O200k => 1,
        }
    }

    /// Returns the tokenizer with this number.
    pub(crate) fn numbered(number: u64) -> Option<Tokenizer> {
        Tokenizer::ALL
            .into_iter()
            .find(|one| one.number() == number)
    }
}

#[cfg(test)]
mod tests;
