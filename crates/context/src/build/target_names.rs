//! The names of a cache and of everything that builds write beside it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The names of a cache below its sources. They are never sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TargetNames {
    /// The path below the sources of the directory that holds the cache, empty for the source directory.
    directory: OsString,
    name: OsString,
}

impl TargetNames {
    /// Returns the names, or `None` if the cache is not below the sources. Both paths are without links.
    pub(crate) fn below(sources: &Path, cache: &Path) -> Option<TargetNames> {
        let directory = cache.parent()?.strip_prefix(sources).ok()?;
        Some(TargetNames {
            directory: directory.as_os_str().to_owned(),
            name: cache.file_name()?.to_owned(),
        })
    }

    /// Returns true if the entry of this directory below the sources belongs to the cache.
    pub(crate) fn contain(&self, directory: &OsStr, entry: &OsStr) -> bool {
        directory == self.directory && (entry == self.name || is_beside(&self.name, entry))
    }
}

/// Returns the name of something that belongs to the cache `name` and is beside it.
pub(crate) fn sibling_name(name: &OsStr, ending: &str) -> OsString {
    let mut sibling = OsString::from(".");
    sibling.push(name);
    sibling.push(".");
    sibling.push(ending);
    sibling
}

pub(crate) const SPARE: &str = "spare";
pub(crate) const LOCK: &str = "lock";

/// Returns true if `entry` is the name of a draft, a replaced cache, a spare or a lock of the cache `name`.
fn is_beside(name: &OsStr, entry: &OsStr) -> bool {
    is_leftover(name, entry)
        || [SPARE, LOCK]
            .iter()
            .any(|ending| sibling_name(name, ending) == entry)
}

/// Returns true if the name is one of a draft, or of a cache that a build moved aside.
pub(crate) fn is_leftover(name: &OsStr, entry: &OsStr) -> bool {
    let beside = sibling_name(name, "");
    let ending = entry.as_bytes().strip_prefix(beside.as_bytes());
    let Some(ending) = ending.and_then(|ending| str::from_utf8(ending).ok()) else {
        return false;
    };
    let draft = |ending: &str| {
        let numbers = ending.strip_prefix("tmp-")?.split_once('-')?;
        let (process, random) = numbers;
        let hex = random.len() == 16 && random.bytes().all(|one| one.is_ascii_hexdigit());
        (process.parse::<u32>().is_ok() && hex).then_some(())
    };
    match ending.strip_prefix("old-") {
        // A moved name contains one more draft, so this ends.
        Some(moved) => is_leftover(name, OsStr::new(moved)),
        None => draft(ending).is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(sources: &str, cache: &str) -> Option<TargetNames> {
        TargetNames::below(Path::new(sources), Path::new(cache))
    }

    #[test]
    fn names_of_a_cache_are_recognised_beside_it_only() {
        let own = names("/docs", "/docs/a/.context").unwrap();
        let contain =
            |directory: &str, entry: &str| own.contain(OsStr::new(directory), OsStr::new(entry));
        for entry in [
            ".context",
            "..context.spare",
            "..context.lock",
            "..context.tmp-12-00000000deadbeef",
            "..context.old-..context.tmp-12-00000000deadbeef",
        ] {
            assert!(contain("a", entry), "{entry}");
            assert!(!contain("", entry), "{entry}");
            assert!(!contain("b", entry), "{entry}");
        }
        for entry in [
            "context",
            ".context.spare",
            "..context.tmp-12-1",
            "..context.old-x",
            "x.md",
        ] {
            assert!(!contain("a", entry), "{entry}");
        }
    }

    #[test]
    fn cache_outside_the_sources_has_no_names() {
        assert_eq!(names("/docs", "/cache"), None);
        assert_eq!(names("/docs", "/docs"), None);
        assert_eq!(names("/docs", "/docs-2/cache"), None);
        assert!(names("/docs", "/docs/cache").is_some());
    }
}
