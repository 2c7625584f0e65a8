//! The identity of a repository: the hashes of its root commits.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The maximum number of root commits of a repository that has an identity.
pub const MAX_ROOT_COMMITS: usize = 256;

/// The number of digits of a hash that people are shown.
const SHORT: usize = 12;

/// The lengths of a hash in hexadecimal digits: SHA-1 and SHA-256.
const LENGTHS: [usize; 2] = [40, 64];

/// Returns true if a text is the hash of a git object, in lower case.
pub(super) fn is_hash(text: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    LENGTHS.contains(&text.len()) && text.bytes().all(is_digit)
}

/// The hashes of the root commits that a commit reaches: at least one, sorted, each once, in lower case and
/// of one length.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct RootCommits(Vec<String>);

impl RootCommits {
    /// Sorts the hashes. Returns `None` if they are not an identity.
    pub fn from_unsorted(mut hashes: Vec<String>) -> Option<RootCommits> {
        hashes.sort_unstable();
        hashes.dedup();
        RootCommits::try_from(hashes).ok()
    }

    pub fn hashes(&self) -> &[String] {
        &self.0
    }

    /// Returns true if each of these root commits is also one of `other`.
    pub fn is_part_of(&self, other: &RootCommits) -> bool {
        self.0
            .iter()
            .all(|hash| other.0.binary_search(hash).is_ok())
    }
}

impl TryFrom<Vec<String>> for RootCommits {
    type Error = &'static str;

    fn try_from(hashes: Vec<String>) -> Result<RootCommits, &'static str> {
        let Some(first) = hashes.first() else {
            return Err("a repository has at least one root commit");
        };
        if hashes.len() > MAX_ROOT_COMMITS {
            return Err("the repository has too many root commits");
        }
        let is_good = |hash: &String| is_hash(hash) && hash.len() == first.len();
        if !hashes.iter().all(is_good) {
            return Err("a root commit is named by 40 or 64 hexadecimal digits in lower case");
        }
        if !hashes.is_sorted_by(|one, other| one < other) {
            return Err("the root commits are sorted, each of them once");
        }
        Ok(RootCommits(hashes))
    }
}

impl From<RootCommits> for Vec<String> {
    fn from(roots: RootCommits) -> Vec<String> {
        roots.0
    }
}

/// Shows the first hash, shortened, and the number of the others.
impl fmt::Display for RootCommits {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.0.first().map(String::as_str).unwrap_or_default();
        out.write_str(first.get(..SHORT).unwrap_or(first))?;
        match self.0.len() {
            0 | 1 => Ok(()),
            2 => out.write_str(" and 1 more root commit"),
            count => write!(out, " and {} more root commits", count - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(hashes: &[&str]) -> Result<RootCommits, &'static str> {
        RootCommits::try_from(
            hashes
                .iter()
                .map(|hash| hash.repeat(40))
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn identity_has_one_notation() {
        assert!(of(&["a"]).is_ok() && of(&["0", "a", "f"]).is_ok());
        for wrong in [
            &[][..],
            &["A"],
            &["g"],
            &["b", "a"],
            &["a", "a"],
            &["ab"],
            &[""],
        ] {
            assert!(of(wrong).is_err(), "{wrong:?}");
        }
        let mixed = vec!["a".repeat(40), "b".repeat(64)];
        assert!(RootCommits::try_from(mixed).is_err());
        assert!(RootCommits::try_from(vec!["b".repeat(64)]).is_ok());
        let many = |count| {
            (0..count)
                .map(|number: usize| format!("{number:040x}"))
                .collect()
        };
        assert!(RootCommits::try_from(Vec::from_iter::<Vec<String>>(many(256))).is_ok());
        assert!(RootCommits::try_from(Vec::from_iter::<Vec<String>>(many(257))).is_err());
        let unsorted = vec!["b".repeat(40), "a".repeat(40), "b".repeat(40)];
        assert_eq!(RootCommits::from_unsorted(unsorted), of(&["a", "b"]).ok());
    }

    #[test]
    fn part_of_an_identity_is_found() {
        let here = of(&["1", "5", "9"]).unwrap();
        for part in [&["1"][..], &["5"], &["9"], &["1", "9"], &["1", "5", "9"]] {
            assert!(of(part).unwrap().is_part_of(&here), "{part:?}");
        }
        for other in [&["0"][..], &["1", "2"], &["1", "5", "9", "a"]] {
            assert!(!of(other).unwrap().is_part_of(&here), "{other:?}");
        }
    }

    #[test]
    fn people_see_the_first_digits() {
        assert_eq!(of(&["a"]).unwrap().to_string(), "aaaaaaaaaaaa");
        let two = of(&["a", "b"]).unwrap().to_string();
        assert_eq!(two, "aaaaaaaaaaaa and 1 more root commit");
        let three = of(&["a", "b", "c"]).unwrap().to_string();
        assert_eq!(three, "aaaaaaaaaaaa and 2 more root commits");
    }
}
