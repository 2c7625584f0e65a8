//! Byte-pair encoding of one piece: of all neighbours whose join is a token, the pair with the lowest rank is joined first,
//! and among equals the leftmost.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Buffers that are reused by all pieces of a text.
#[derive(Default)]
pub(super) struct BytePairs {
    /// For each start of a part: the end of the part. 0 for other offsets.
    ends: Vec<u32>,
    /// For each start of a part: the start of the part before it.
    before: Vec<u32>,
    /// Pairs of neighbours by rank: the rank of their join, its start and its end.
    queue: BinaryHeap<Reverse<(u32, u32, u32)>>,
}

impl BytePairs {
    /// Counts the tokens of a piece. `rank` returns the rank of a token.
    pub(super) fn count(&mut self, piece: &[u8], rank: impl Fn(&[u8]) -> Option<u32>) -> u64 {
        // Pieces have at most `MOST_PIECE` bytes.
        let length = piece.len() as u32;
        self.ends.clear();
        self.ends.extend(1..=length);
        self.before.clear();
        self.before
            .extend((0..length).map(|start| start.saturating_sub(1)));
        self.queue.clear();
        let rank = |start: u32, end: u32| rank(piece.get(start as usize..end as usize)?);
        let pairs = (0..length.saturating_sub(1)).filter_map(|start| {
            let end = start + 2;
            Some(Reverse((rank(start, end)?, start, end)))
        });
        self.queue.extend(pairs);
        let mut parts = u64::from(length);
        while let Some(Reverse((_, start, end))) = self.queue.pop() {
            let Some(middle) = self.middle(start, end) else {
                continue;
            };
            self.ends[start as usize] = end;
            self.ends[middle as usize] = 0;
            parts -= 1;
            if end < length {
                self.before[end as usize] = start;
                let next = self.ends[end as usize];
                if let Some(rank) = rank(start, next) {
                    self.queue.push(Reverse((rank, start, next)));
                }
            }
            if start > 0 {
                let before = self.before[start as usize];
                if let Some(rank) = rank(before, end) {
                    self.queue.push(Reverse((rank, before, end)));
                }
            }
        }
        parts
    }

    /// Returns the border between the two parts from `start` to `end`, or `None` if they are not two parts any more.
    fn middle(&self, start: u32, end: u32) -> Option<u32> {
        let middle = *self.ends.get(start as usize)?;
        let is_pair = middle > start && self.ends.get(middle as usize) == Some(&end);
        is_pair.then_some(middle)
    }
}
