//! Reads one ref of a repository whose refs are in reftables (`git init --ref-format=reftable`).
//!
//! A stack of tables is a directory with `tables.list`, which names its tables from the oldest to the newest. A
//! table begins with blocks of refs in the order of their names; each name continues a prefix of the one
//! before. The newest table that contains a name decides. Every number in a table is checked against its
//! size, because anybody may have written it.

use crate::hex::hex;
use candor_disk::{Disk, DiskFile, Open, RealDisk};
use std::io;

/// The directory of a stack.
const DIRECTORY: &str = "reftable";

/// The maximum size of the list of tables, in bytes.
const MAX_LIST: usize = 64 * 1024;

/// The maximum number of tables. Git merges them long before.
const MAX_TABLES: usize = 256;

/// The number of times the list is read again because git has merged tables meanwhile.
const MAX_TRIES: usize = 5;

/// The size of the header of a table, by its version.
const HEADERS: [(u8, usize); 2] = [(1, 24), (2, 28)];

const REF_BLOCK: u8 = b'r';

/// The size of the type and the length at the beginning of a block.
const BLOCK_START: usize = 4;

/// The value of a ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RefValue {
    /// The hash of an object.
    Object(String),
    /// The name of another ref.
    Symbolic(String),
    /// The ref was removed.
    Deleted,
}

/// Returns the value of a ref in the stack of a git directory, or `None` if no table contains it.
pub(super) fn find(disk: &RealDisk, name: &str, max_table: usize) -> io::Result<Option<RefValue>> {
    let mut tried = 0;
    loop {
        tried += 1;
        match find_once(disk, name, max_table) {
            // Git replaces the list before it removes a table.
            Err(error) if error.kind() == io::ErrorKind::NotFound && tried < MAX_TRIES => {}
            found => return found,
        }
    }
}

fn find_once(disk: &RealDisk, name: &str, max_table: usize) -> io::Result<Option<RefValue>> {
    let read = |path: &str, most| {
        let file = disk.open(format!("{DIRECTORY}/{path}"), Open::Read)?;
        file.read_all(most)
    };
    let list = String::from_utf8(read("tables.list", MAX_LIST)?).map_err(|_| damaged())?;
    let tables: Vec<&str> = list.lines().collect();
    if tables.len() > MAX_TABLES || !tables.iter().all(|table| is_table_name(table)) {
        return Err(damaged());
    }
    for table in tables.iter().rev() {
        let bytes = read(table, max_table)?;
        let found = find_in_table(&bytes, name).ok_or_else(damaged)?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a reftable is damaged")
}

/// Returns true for names such as `0x000000000001-0x000000000002-eae1e749.ref`.
fn is_table_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_hexdigit() || matches!(c, 'x' | '-');
    let stem = name.strip_suffix(".ref");
    stem.is_some_and(|stem| stem.starts_with("0x") && stem.chars().all(is_plain))
}

/// Returns the value of a ref in a table. The outer `None` means that the table is damaged.
fn find_in_table(table: &[u8], name: &str) -> Option<Option<RefValue>> {
    let version = *table.strip_prefix(b"REFT")?.first()?;
    let (_, header) = HEADERS.into_iter().find(|(known, _)| *known == version)?;
    let hash_length = match version {
        1 => 20,
        _ => match table.get(24..header)? {
            b"sha1" => 20,
            b"s256" => 32,
            _ => return None,
        },
    };
    let block_size = big_endian(table.get(5..8)?);
    // A table without refs has a footer at least.
    table.get(header)?;
    // The first block contains the header.
    let (mut start, mut records) = (0, header);
    while table.get(start + records) == Some(&REF_BLOCK) {
        let length = big_endian(table.get(start + records + 1..start + records + BLOCK_START)?);
        let block = table.get(start..start.checked_add(length)?)?;
        let found = find_in_block(block, records + BLOCK_START, hash_length, name)?;
        if found.is_some() {
            return Some(found);
        }
        // A block is followed by zeros up to the size of a block, or by the next one.
        let is_padded = length < block_size && table.get(start + length) == Some(&0);
        start += if is_padded { block_size } else { length };
        records = 0;
    }
    Some(None)
}

/// Returns the value of a ref in a block, whose records begin at `at`. The outer `None` means that the block
/// is damaged.
fn find_in_block(
    block: &[u8],
    at: usize,
    hash_length: usize,
    name: &str,
) -> Option<Option<RefValue>> {
    // The end of the block is the offsets of names without a prefix, and their number.
    let count_at = block.len().checked_sub(2)?;
    let restarts = big_endian(block.get(count_at..)?);
    let end = count_at.checked_sub(restarts.checked_mul(3)?)?;
    let mut reader = Reader {
        bytes: block.get(at..end)?,
    };
    let mut key = Vec::new();
    while !reader.bytes.is_empty() {
        let prefix = reader.number()?;
        if prefix > key.len() {
            return None;
        }
        key.truncate(prefix);
        let length_and_kind = reader.number()?;
        key.extend_from_slice(reader.take(length_and_kind >> 3)?);
        let _update_index = reader.number()?;
        let value = match length_and_kind & 7 {
            0 => RefValue::Deleted,
            1 => RefValue::Object(hex(reader.take(hash_length)?)),
            // An annotated tag, and the object that it leads to.
            2 => {
                let tag = hex(reader.take(hash_length)?);
                reader.take(hash_length)?;
                RefValue::Object(tag)
            }
            3 => {
                let length = reader.number()?;
                let target = std::str::from_utf8(reader.take(length)?).ok()?;
                RefValue::Symbolic(target.to_owned())
            }
            _ => return None,
        };
        match key.as_slice().cmp(name.as_bytes()) {
            std::cmp::Ordering::Less => {}
            std::cmp::Ordering::Equal => return Some(Some(value)),
            std::cmp::Ordering::Greater => break,
        }
    }
    Some(None)
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(taken)
    }

    /// Reads a number of seven bits a byte; each byte but the last adds one to what follows.
    fn number(&mut self) -> Option<usize> {
        let mut number = 0usize;
        loop {
            let byte = *self.take(1)?.first()?;
            number |= usize::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                return Some(number);
            }
            number = number.checked_add(1)?.checked_mul(128)?;
        }
    }
}

fn big_endian(bytes: &[u8]) -> usize {
    let join = |number: usize, byte: &u8| (number << 8) | usize::from(*byte);
    bytes.iter().fold(0, join)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A table that git wrote: HEAD and `refs/heads/master`, followed by a log.
    const TABLE: &[u8] = b"REFT\x01\0\x10\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x02r\0\0\x66\0\x23HEAD\0\x11refs/heads/master\
\0\x80\x09refs/heads/master\x01\x14\x33\xb9\x53\xdc\x26\xfb\x21\xad\x52\xe8\x9a\x9b\x8d\x3b\x03\xad\x63\x8e\xee\0\0\x1c\0\0\x35\0\x02g\0\0\xcc";

    #[test]
    fn ref_of_a_table_is_found() {
        let find = |name| find_in_table(TABLE, name).unwrap();
        let target = String::from("refs/heads/master");
        assert_eq!(find("HEAD"), Some(RefValue::Symbolic(target)));
        let hash = String::from("1433b953dc26fb21ad52e89a9b8d3b03ad638eee");
        assert_eq!(find("refs/heads/master"), Some(RefValue::Object(hash)));
        for absent in ["A", "refs/heads/maste", "refs/heads/master2", "refs/z"] {
            assert_eq!(find(absent), None, "{absent}");
        }
    }

    #[test]
    fn damaged_table_never_answers_beyond_its_bytes() {
        for length in 0..0x66 {
            assert_eq!(find_in_table(&TABLE[..length], "refs/z"), None, "{length}");
        }
        for (index, value) in [(4, 3), (0x1b, 0xff), (0x65, 0xff), (0x1c, 5)] {
            let mut bytes = TABLE.to_vec();
            bytes[index] = value;
            assert_eq!(find_in_table(&bytes, "refs/z"), None, "{index}");
        }
        for name in ["../x.ref", "0x1-0x2-a.lock", "x.ref", "0x1/../0x2.ref", ""] {
            assert!(!is_table_name(name), "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered(
            changes in proptest::collection::vec((24..TABLE.len(), any::<u8>()), 0..8),
            cut in 0..TABLE.len(),
        ) {
            let mut bytes = TABLE.to_vec();
            for (index, value) in changes {
                bytes[index] = value;
            }
            bytes.truncate(TABLE.len() - cut);
            let _ = find_in_table(&bytes, "refs/heads/master");
        }
    }
}
