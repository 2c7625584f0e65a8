//! Root commits that were found before, one file for each commit in the state directory. The root commits of a
//! commit never change, so no entry can be out of date; a damaged one counts as absent.

use super::root_commits::{RootCommits, is_hash};
use crate::plan::durable::{self, IfExists};
use crate::write::hash_of;
use candor_disk::{Disk, DiskFile, Open};
use std::io;

/// The directory of the entries in the state directory.
pub(super) const CACHE_DIR: &str = "repository";

/// The maximum number of entries; all others are removed when it is reached.
pub const MAX_CACHED_COMMITS: usize = 64;

/// The maximum size of an entry, in bytes.
const MAX_BYTES: usize = 32 * 1024;

const FORMAT: &str = "candor-root-commits/1";

const DIR_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// Returns the remembered root commits of a commit.
pub(super) fn load(state: &impl Disk, commit: &str) -> Option<RootCommits> {
    let file = state
        .open(format!("{CACHE_DIR}/{commit}"), Open::Read)
        .ok()?;
    let text = String::from_utf8(file.read_all(MAX_BYTES).ok()?).ok()?;
    let (head, hashes) = text.split_once('\n')?;
    let expected = head.strip_prefix(FORMAT)?.strip_prefix(' ')?;
    if hash_of(keyed(commit, hashes).as_bytes()) != expected {
        return None;
    }
    let hashes: Vec<String> = hashes.lines().map(str::to_owned).collect();
    RootCommits::try_from(hashes).ok()
}

/// Remembers the root commits of a commit.
pub(super) fn store(state: &impl Disk, commit: &str, roots: &RootCommits) -> io::Result<()> {
    durable::ensure_dir(state, "", CACHE_DIR, DIR_MODE)?;
    let names = state.list(CACHE_DIR)?;
    let entries = names.iter().filter_map(|name| name.to_str());
    let entries: Vec<_> = entries.filter(|name| is_hash(name)).collect();
    if entries.len() >= MAX_CACHED_COMMITS {
        for name in entries {
            // Another process may have removed it.
            state.unlink(format!("{CACHE_DIR}/{name}")).ok();
        }
    }
    let hashes: String = roots
        .hashes()
        .iter()
        .map(|hash| format!("{hash}\n"))
        .collect();
    let check = hash_of(keyed(commit, &hashes).as_bytes());
    let text = format!("{FORMAT} {check}\n{hashes}");
    let replace = IfExists::Replace;
    durable::write(
        state,
        CACHE_DIR,
        commit,
        FILE_MODE,
        text.as_bytes(),
        replace,
    )
}

/// Returns the bytes that the checksum of an entry covers: an entry under another name is damaged too.
fn keyed(commit: &str, hashes: &str) -> String {
    format!("{commit}\n{hashes}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_sim_disk::{SimDisk, Trials};

    fn roots(digit: &str) -> RootCommits {
        RootCommits::try_from(vec![digit.repeat(40)]).unwrap()
    }

    fn commit(number: usize) -> String {
        format!("{number:040x}")
    }

    #[test]
    fn damaged_entry_counts_as_absent() {
        let state = SimDisk::new(0);
        assert_eq!(load(&state, &commit(1)), None);
        store(&state, &commit(1), &roots("a")).unwrap();
        assert_eq!(load(&state, &commit(1)), Some(roots("a")));
        let path = format!("{CACHE_DIR}/{}", commit(1));
        let file = state.open(&path, Open::Edit).unwrap();
        let good = file.read_all(MAX_BYTES).unwrap();
        let write = |bytes: &[u8]| {
            file.set_len(0).unwrap();
            file.write_all_at(bytes, 0).unwrap();
        };
        for index in 0..good.len() {
            let mut bytes = good.clone();
            bytes[index] ^= 1;
            write(&bytes);
            assert_eq!(load(&state, &commit(1)), None, "{index}");
        }
        for length in 0..good.len() {
            write(&good[..length]);
            assert_eq!(load(&state, &commit(1)), None, "{length}");
        }
        // The entry of another commit.
        write(&good);
        state
            .rename(&path, format!("{CACHE_DIR}/{}", commit(2)))
            .unwrap();
        assert_eq!(load(&state, &commit(2)), None);
        store(&state, &commit(2), &roots("b")).unwrap();
        assert_eq!(load(&state, &commit(2)), Some(roots("b")));
    }

    #[test]
    fn entries_are_bounded() {
        let state = SimDisk::new(0);
        state.create_dir(CACHE_DIR, DIR_MODE).unwrap();
        state
            .create_dir(format!("{CACHE_DIR}/git"), DIR_MODE)
            .unwrap();
        for number in 0..3 * MAX_CACHED_COMMITS {
            store(&state, &commit(number), &roots("a")).unwrap();
            assert_eq!(load(&state, &commit(number)), Some(roots("a")));
            let names = state.list(CACHE_DIR).unwrap();
            assert!(names.len() <= MAX_CACHED_COMMITS + 1);
            assert!(names.iter().any(|name| name == "git"));
        }
    }

    #[test]
    fn entry_is_whole_or_absent_after_any_fault() {
        let workload = |disk: &SimDisk| {
            store(disk, &commit(1), &roots("a")).ok();
            store(disk, &commit(1), &roots("a")).ok();
        };
        let check = |disk: &SimDisk, _: &[String]| {
            assert!(load(disk, &commit(1)).is_none_or(|found| found == roots("a")));
        };
        Trials::new()
            .images(4)
            .crash_after_faults()
            .run(workload, check)
            .unwrap();
    }
}
