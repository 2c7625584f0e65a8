//! The vocabulary `o200k_base`, from the file that its authors publish. `docs/dependencies.md` has its origin.

use super::byte_pairs::BytePairs;
use super::pieces::Pieces;
use crate::index::words::hash_of;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::ops::ControlFlow;
use std::sync::OnceLock;

/// The file, compressed.
const FILE: &[u8] = include_bytes!("o200k_base.tiktoken.zlib");

/// The size of the file when it is decompressed.
const FILE_SIZE: usize = 3_613_922;

/// The number of tokens in it.
const TOKENS: usize = 199_998;

/// A vocabulary, ready to count.
pub(super) struct Vocabulary {
    /// The bytes of all tokens, by rank.
    text: Vec<u8>,
    /// The end of each token in the text.
    ends: Vec<u32>,
    /// The ranks, by the hashes of their tokens.
    ranks: HashTable<u32>,
    hash: FixedState,
    pieces: Pieces,
}

impl Vocabulary {
    /// Returns the vocabulary, which is loaded once.
    pub(super) fn o200k() -> &'static Vocabulary {
        static LOADED: OnceLock<Vocabulary> = OnceLock::new();
        LOADED.get_or_init(|| match Vocabulary::load() {
            Some(vocabulary) => vocabulary,
            // The file is a part of the program, and a test reads it.
            None => unreachable!("the vocabulary in the program can be read"),
        })
    }

    fn load() -> Option<Vocabulary> {
        let file = decompressed()?;
        let mut vocabulary = Vocabulary {
            text: Vec::with_capacity(file.len() / 2),
            ends: Vec::with_capacity(TOKENS),
            ranks: HashTable::with_capacity(TOKENS),
            hash: FixedState::with_seed(0),
            pieces: Pieces::new()?,
        };
        // A line has a token in base 64 and its rank. Ranks are ascending.
        for line in file.split(|byte| *byte == b'\n') {
            let Some(space) = line.iter().position(|byte| *byte == b' ') else {
                continue;
            };
            let start = vocabulary.text.len();
            let encoded = line.get(..space)?;
            STANDARD.decode_vec(encoded, &mut vocabulary.text).ok()?;
            let rank: u32 = str::from_utf8(line.get(space + 1..)?).ok()?.parse().ok()?;
            (rank as usize == vocabulary.ends.len()).then_some(())?;
            vocabulary.ends.push(vocabulary.text.len() as u32);
            let hash = vocabulary.hash_of(vocabulary.text.get(start..)?);
            let Vocabulary {
                text,
                ends,
                ranks,
                hash: state,
                ..
            } = &mut vocabulary;
            ranks.insert_unique(hash, rank, |rank| hash_of(state, token(text, ends, *rank)));
        }
        (vocabulary.ends.len() == TOKENS).then_some(vocabulary)
    }

    fn hash_of(&self, bytes: &[u8]) -> u64 {
        hash_of(&self.hash, bytes)
    }

    fn rank(&self, bytes: &[u8]) -> Option<u32> {
        let same = |rank: &u32| token(&self.text, &self.ends, *rank) == bytes;
        self.ranks.find(self.hash_of(bytes), same).copied()
    }

    /// Counts the tokens of a text. Fails with the end of the pieces that fit if there are more than `most`.
    pub(super) fn count_at_most(&self, text: &str, most: u64) -> Result<u64, usize> {
        let mut pairs = BytePairs::default();
        let (mut count, mut end) = (0, 0);
        let visited = self.pieces.visit(text, |piece| {
            let bytes = piece.as_bytes();
            count += match self.rank(bytes) {
                Some(_) => 1,
                None => pairs.count(bytes, |bytes| self.rank(bytes)),
            };
            if count > most {
                return ControlFlow::Break(());
            }
            end += piece.len();
            ControlFlow::Continue(())
        });
        match visited {
            ControlFlow::Continue(()) => Ok(count),
            ControlFlow::Break(()) => Err(end),
        }
    }
}

/// Returns the bytes of the token with this rank.
fn token<'a>(text: &'a [u8], ends: &[u32], rank: u32) -> &'a [u8] {
    let rank = rank as usize;
    let start = rank.checked_sub(1).and_then(|before| ends.get(before));
    let end = ends.get(rank).map_or(0, |end| *end as usize);
    let start = start.map_or(0, |start| *start as usize);
    text.get(start..end).unwrap_or(&[])
}

pub(super) fn decompressed() -> Option<Vec<u8>> {
    miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(FILE, FILE_SIZE).ok()
}
