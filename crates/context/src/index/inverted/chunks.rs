//! Storage for many growing byte lists: chunks of one size in one vector, each with the index of the
//! next chunk of its list. All lists are freed at once.

/// The bytes of a list in one chunk.
const ROOM: usize = 28;

/// The bytes of a list that are stored beside its term. Most lists have no more.
const NEAR: usize = 12;

#[derive(Clone, Copy)]
struct Chunk {
    bytes: [u8; ROOM],
    next: u32,
}

#[derive(Default)]
pub(super) struct Chunks(Vec<Chunk>);

/// A list of bytes in chunks.
#[derive(Clone, Copy, Default)]
pub(super) struct ChunkList {
    near: [u8; NEAR],
    length: u32,
    first: u32,
    last: u32,
}

impl ChunkList {
    pub(super) fn len(&self) -> usize {
        self.length as usize
    }
}

impl Chunks {
    /// Appends a number in seven-bit groups, the lowest first.
    pub(super) fn put_varint(&mut self, list: &mut ChunkList, mut number: u64) {
        while number >= 0x80 {
            self.put(list, number as u8 | 0x80);
            number >>= 7;
        }
        self.put(list, number as u8);
    }

    #[inline]
    fn put(&mut self, list: &mut ChunkList, byte: u8) {
        let position = list.len();
        list.length += 1;
        if let Some(near) = list.near.get_mut(position) {
            *near = byte;
            return;
        }
        let position = (position - NEAR) % ROOM;
        if position == 0 {
            self.grow(list);
        }
        self.0[list.last as usize].bytes[position] = byte;
    }

    fn grow(&mut self, list: &mut ChunkList) {
        let new = self.0.len() as u32;
        match list.len() == NEAR + 1 {
            true => list.first = new,
            false => self.0[list.last as usize].next = new,
        }
        list.last = new;
        self.0.push(Chunk {
            bytes: [0; ROOM],
            next: 0,
        });
    }

    /// Appends the bytes of a list.
    pub(super) fn append(&self, list: &ChunkList, out: &mut Vec<u8>) {
        let mut left = list.len();
        out.extend_from_slice(&list.near[..left.min(NEAR)]);
        left -= left.min(NEAR);
        let mut next = list.first;
        while left > 0 {
            let chunk = &self.0[next as usize];
            out.extend_from_slice(&chunk.bytes[..left.min(ROOM)]);
            left -= left.min(ROOM);
            next = chunk.next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::codec::ByteReader;

    #[test]
    fn interleaved_lists_round_trip() {
        let mut chunks = Chunks::default();
        let mut lists = [ChunkList::default(); 50];
        let number = |list: usize, step: usize| (list as u64 * 77 + 1) << (step % 40);
        for step in 0..200 {
            for (position, list) in lists.iter_mut().enumerate().filter(|(n, _)| n * 5 > step) {
                chunks.put_varint(list, number(position, step));
            }
        }
        let mut bytes = Vec::new();
        for (position, list) in lists.iter().enumerate() {
            bytes.clear();
            chunks.append(list, &mut bytes);
            assert_eq!(bytes.len(), list.len());
            let mut reading = ByteReader(&bytes);
            for step in 0..position * 5 {
                if step < 200 {
                    assert_eq!(reading.varint(), Ok(number(position, step)));
                }
            }
            assert!(reading.is_empty());
        }
    }
}
