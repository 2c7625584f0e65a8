//! Encodes numbers and byte strings in index files: little-endian, varints, and checksums that depend
//! on file and offset. Lengths are checked before they are used.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The error for an index file that cannot be used: truncated, changed, or of another version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CorruptFile;

/// Returns the checksum of a block at `offset` in a file with this `seed`.
pub(crate) fn checksum(bytes: &[u8], seed: u64, offset: u64) -> u64 {
    xxh3_64_with_seed(bytes, seed ^ offset.rotate_left(32))
}

/// Appends a number in seven-bit groups, the lowest first.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a length and the bytes.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// A reader over bytes. Contains the bytes that are not read yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ByteReader<'a>(pub(crate) &'a [u8]);

impl<'a> ByteReader<'a> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], CorruptFile> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(CorruptFile)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], CorruptFile> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(CorruptFile)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, CorruptFile> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, CorruptFile> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(crate) fn i64(&mut self) -> Result<i64, CorruptFile> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, CorruptFile> {
        let (&first, rest) = self.0.split_first().ok_or(CorruptFile)?;
        if first < 0x80 {
            self.0 = rest;
            return Ok(u64::from(first));
        }
        self.long_varint()
    }

    fn long_varint(&mut self) -> Result<u64, CorruptFile> {
        let mut number = 0u64;
        for (position, &byte) in self.0.iter().take(10).enumerate() {
            let bits = u64::from(byte & 0x7f);
            if position == 9 && bits > 1 {
                return Err(CorruptFile);
            }
            number |= bits << (7 * position);
            if byte < 0x80 {
                self.0 = &self.0[position + 1..];
                return Ok(number);
            }
        }
        Err(CorruptFile)
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], CorruptFile> {
        let length = self.varint()?;
        self.take(usize::try_from(length).map_err(|_| CorruptFile)?)
    }
}

/// Returns the bytes before the checksum at their end, if it is right.
pub(crate) fn verify_checksum(bytes: &[u8], seed: u64, offset: u64) -> Result<&[u8], CorruptFile> {
    let (body, sum) = bytes.split_last_chunk::<8>().ok_or(CorruptFile)?;
    match checksum(body, seed, offset) == u64::from_le_bytes(*sum) {
        true => Ok(body),
        false => Err(CorruptFile),
    }
}

/// Appends the checksum of everything from `start` on.
pub(crate) fn append_checksum(out: &mut Vec<u8>, start: usize, seed: u64, offset: u64) {
    let sum = checksum(&out[start..], seed, offset);
    out.extend_from_slice(&sum.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn varints_round_trip(numbers in proptest::collection::vec(any::<u64>().prop_flat_map(|n| (0..64u32).prop_map(move |by| n >> by)), 0..50)) {
            let mut out = Vec::new();
            numbers.iter().for_each(|number| put_varint(&mut out, *number));
            let mut reading = ByteReader(&out);
            for number in numbers {
                prop_assert_eq!(reading.varint(), Ok(number));
            }
            prop_assert!(reading.is_empty());
            prop_assert_eq!(reading.varint(), Err(CorruptFile));
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut reading = ByteReader(&bytes);
            while reading.bytes().is_ok() {}
        }
    }

    #[test]
    fn varint_beyond_64_bits_is_corrupt() {
        assert_eq!(ByteReader(&[0xff; 11]).varint(), Err(CorruptFile));
        let mut most = [0xff; 10];
        most[9] = 1;
        assert_eq!(ByteReader(&most).varint(), Ok(u64::MAX));
        most[9] = 2;
        assert_eq!(ByteReader(&most).varint(), Err(CorruptFile));
    }

    #[test]
    fn checksum_depends_on_offset_and_seed() {
        let mut block = b"block".to_vec();
        append_checksum(&mut block, 0, 7, 64);
        assert_eq!(verify_checksum(&block, 7, 64), Ok(&b"block"[..]));
        assert_eq!(verify_checksum(&block, 7, 65), Err(CorruptFile));
        assert_eq!(verify_checksum(&block, 8, 64), Err(CorruptFile));
        block[2] ^= 1;
        assert_eq!(verify_checksum(&block, 7, 64), Err(CorruptFile));
        assert_eq!(verify_checksum(b"short", 7, 64), Err(CorruptFile));
    }
}
