//! Numbers and byte strings in our own files: little-endian, varints, and checksums that are tied to
//! what they belong to. Reading never trusts a length.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A file of ours that cannot be used: cut, changed, or of another version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Broken;

/// The checksum of a block that begins at `offset` in a file with this `seed`.
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

/// What is left to read of some bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading<'a>(pub(crate) &'a [u8]);

impl<'a> Reading<'a> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Broken> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Broken)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Broken> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Broken)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Broken> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Broken> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(crate) fn i64(&mut self) -> Result<i64, Broken> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, Broken> {
        let (&first, rest) = self.0.split_first().ok_or(Broken)?;
        if first < 0x80 {
            self.0 = rest;
            return Ok(u64::from(first));
        }
        self.long_varint()
    }

    fn long_varint(&mut self) -> Result<u64, Broken> {
        let mut number = 0u64;
        for (place, &byte) in self.0.iter().take(10).enumerate() {
            let bits = u64::from(byte & 0x7f);
            if place == 9 && bits > 1 {
                return Err(Broken);
            }
            number |= bits << (7 * place);
            if byte < 0x80 {
                self.0 = &self.0[place + 1..];
                return Ok(number);
            }
        }
        Err(Broken)
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Broken> {
        let length = self.varint()?;
        self.take(usize::try_from(length).map_err(|_| Broken)?)
    }
}

/// Splits bytes from the checksum that ends them.
pub(crate) fn checked(bytes: &[u8], seed: u64, offset: u64) -> Result<&[u8], Broken> {
    let (body, sum) = bytes.split_last_chunk::<8>().ok_or(Broken)?;
    match checksum(body, seed, offset) == u64::from_le_bytes(*sum) {
        true => Ok(body),
        false => Err(Broken),
    }
}

/// Appends the checksum of everything from `start` on.
pub(crate) fn seal(out: &mut Vec<u8>, start: usize, seed: u64, offset: u64) {
    let sum = checksum(&out[start..], seed, offset);
    out.extend_from_slice(&sum.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn varints_come_back(numbers in proptest::collection::vec(any::<u64>().prop_flat_map(|n| (0..64u32).prop_map(move |by| n >> by)), 0..50)) {
            let mut out = Vec::new();
            numbers.iter().for_each(|number| put_varint(&mut out, *number));
            let mut reading = Reading(&out);
            for number in numbers {
                prop_assert_eq!(reading.varint(), Ok(number));
            }
            prop_assert!(reading.is_empty());
            prop_assert_eq!(reading.varint(), Err(Broken));
        }

        #[test]
        fn no_bytes_are_trusted(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut reading = Reading(&bytes);
            while reading.bytes().is_ok() {}
        }
    }

    #[test]
    fn a_number_of_more_than_64_bits_is_none() {
        assert_eq!(Reading(&[0xff; 11]).varint(), Err(Broken));
        let mut most = [0xff; 10];
        most[9] = 1;
        assert_eq!(Reading(&most).varint(), Ok(u64::MAX));
        most[9] = 2;
        assert_eq!(Reading(&most).varint(), Err(Broken));
    }

    #[test]
    fn a_checksum_belongs_to_its_place() {
        let mut block = b"block".to_vec();
        seal(&mut block, 0, 7, 64);
        assert_eq!(checked(&block, 7, 64), Ok(&b"block"[..]));
        assert_eq!(checked(&block, 7, 65), Err(Broken));
        assert_eq!(checked(&block, 8, 64), Err(Broken));
        block[2] ^= 1;
        assert_eq!(checked(&block, 7, 64), Err(Broken));
        assert_eq!(checked(b"short", 7, 64), Err(Broken));
    }
}
