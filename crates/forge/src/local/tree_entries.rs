//! The entries of a directory's object: parsed, looked up by name, and written.

use super::tree::kind_of_mode;
use crate::ItemKind;
use git2::Oid;
use std::cmp::Ordering;

/// The bytes of an object id.
const ID_BYTES: usize = 20;

/// The digits of a mode.
const MODE_DIGITS: usize = 7;

/// The entries of one directory in the order of git.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TreeEntries {
    bytes: Box<[u8]>,
    positions: Vec<EntryPosition>,
}

/// The offsets of a name. The id follows the NUL after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct EntryPosition {
    mode: u32,
    name: u32,
    end: u32,
}

/// One entry of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NamedEntry<'a> {
    pub(super) mode: u32,
    pub(super) name: &'a [u8],
    /// The bytes of its object's id.
    pub(super) raw_id: &'a [u8],
}

impl NamedEntry<'_> {
    pub(super) fn kind(&self) -> ItemKind {
        kind_of_mode(self.mode)
    }

    pub(super) fn id(&self) -> Oid {
        // The slice has the length of an id.
        Oid::from_bytes(self.raw_id).unwrap_or(Oid::ZERO_SHA1)
    }

    pub(super) fn is_directory(&self) -> bool {
        self.kind() == ItemKind::Dir
    }

    /// Returns the name, with U+FFFD instead of bytes that are not UTF-8.
    pub(super) fn shown_name(&self) -> String {
        String::from_utf8_lossy(self.name).into_owned()
    }

    /// Compares two entries in the order of git, which sorts directories as if their names ended with a
    /// slash.
    pub(super) fn order(&self, other: &NamedEntry<'_>) -> Ordering {
        let (one, two) = (self.is_directory(), other.is_directory());
        order((self.name, one), (other.name, two))
    }

    /// Appends the entry to the bytes of a directory's object.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("{:o} ", self.mode).as_bytes());
        out.extend_from_slice(self.name);
        out.push(0);
        out.extend_from_slice(self.raw_id);
    }
}

fn order((one, one_dir): (&[u8], bool), (two, two_dir): (&[u8], bool)) -> Ordering {
    let common = one.len().min(two.len());
    let next = |name: &[u8], is_dir: bool| match name.get(common) {
        Some(byte) => *byte,
        None if is_dir => b'/',
        None => 0,
    };
    one[..common]
        .cmp(&two[..common])
        .then_with(|| next(one, one_dir).cmp(&next(two, two_dir)))
        .then_with(|| one.len().cmp(&two.len()))
}

impl TreeEntries {
    /// Parses the object of a directory. Returns `None` if it is malformed.
    pub(super) fn parse(bytes: &[u8]) -> Option<TreeEntries> {
        let mut positions = Vec::with_capacity(bytes.len() / 32);
        let mut at = 0;
        while at < bytes.len() {
            let digits = bytes[at..].iter().take(MODE_DIGITS + 1);
            let digits = digits
                .take_while(|byte| (b'0'..=b'7').contains(byte))
                .count();
            if digits == 0 || digits > MODE_DIGITS || bytes.get(at + digits) != Some(&b' ') {
                return None;
            }
            let mode = bytes[at..at + digits].iter();
            let mode = mode.fold(0, |mode, digit| mode * 8 + u32::from(digit - b'0'));
            let name = at + digits + 1;
            let length = bytes[name..].iter().position(|byte| *byte == 0)?;
            let end = name + length;
            if length == 0 || length > usize::from(u16::MAX) || end + 1 + ID_BYTES > bytes.len() {
                return None;
            }
            positions.push(EntryPosition {
                mode,
                name: u32::try_from(name).ok()?,
                end: u32::try_from(end).ok()?,
            });
            at = end + 1 + ID_BYTES;
        }
        Some(TreeEntries {
            bytes: bytes.into(),
            positions,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.positions.len()
    }

    /// Returns the approximate memory that the entries take.
    pub(super) fn memory(&self) -> usize {
        self.bytes.len() + self.positions.len() * size_of::<EntryPosition>()
    }

    pub(super) fn get(&self, index: usize) -> Option<NamedEntry<'_>> {
        self.positions.get(index).map(|position| self.at(position))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = NamedEntry<'_>> {
        self.positions.iter().map(|position| self.at(position))
    }

    fn at(&self, position: &EntryPosition) -> NamedEntry<'_> {
        let (name, end) = (position.name as usize, position.end as usize);
        NamedEntry {
            mode: position.mode,
            name: &self.bytes[name..end],
            raw_id: &self.bytes[end + 1..end + 1 + ID_BYTES],
        }
    }

    /// Returns the entry of a name.
    pub(super) fn find(&self, name: &[u8]) -> Option<NamedEntry<'_>> {
        let found = |is_dir| {
            let found = self.positions.binary_search_by(|position| {
                let entry = self.at(position);
                order((entry.name, entry.is_directory()), (name, is_dir))
            });
            found.ok().and_then(|index| self.get(index))
        };
        found(false).or_else(|| found(true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(mode: u32, name: &[u8]) -> NamedEntry<'_> {
        NamedEntry {
            mode,
            name,
            raw_id: &[7; 20],
        }
    }

    #[test]
    fn written_entries_are_parsed_and_found() {
        let all = [
            entry(0o100_644, b"a"),
            entry(0o100_755, b"a-b"),
            entry(0o040_000, b"a.d"),
            entry(0o100_644, b"a.d0"),
            entry(0o120_000, b"a0"),
            entry(0o160_000, b"\xff"),
        ];
        assert!(all.is_sorted_by(|one, other| one.order(other) == Ordering::Less));
        let mut bytes = Vec::new();
        all.iter().for_each(|entry| entry.write(&mut bytes));
        let parsed = TreeEntries::parse(&bytes).unwrap();
        assert_eq!(parsed.iter().collect::<Vec<_>>(), all);
        for one in all {
            assert_eq!(parsed.find(one.name), Some(one));
        }
        for absent in [&b""[..], b"a.", b"a.d/", b"b", b"\0"] {
            assert_eq!(parsed.find(absent), None);
        }
    }

    #[test]
    fn malformed_entries_are_refused() {
        let mut good = Vec::new();
        entry(0o100_644, b"a").write(&mut good);
        assert!(TreeEntries::parse(&good).is_some() && TreeEntries::parse(b"").is_some());
        for cut in 1..good.len() {
            assert_eq!(TreeEntries::parse(&good[..cut]), None, "{cut}");
        }
        let id = [1; 20];
        for bad in [
            "100648 a\0",
            "100644 \0",
            " a\0",
            "100644a\0",
            "12345670 a\0",
        ] {
            assert_eq!(TreeEntries::parse(&[bad.as_bytes(), &id].concat()), None);
        }
    }
}
