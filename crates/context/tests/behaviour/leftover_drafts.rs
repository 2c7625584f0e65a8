//! What killed builds have left is removed by the next one; what others still write, or what is no
//! draft at all, is not.

use crate::ground::{Ground, refusal};
use rustix::fs::{FlockOperation, flock};
use std::fs;

const DRAFT: &str = ".cache.tmp-4242-00000000deadbeef";

/// A draft as a build leaves it that was killed in the middle.
fn leave(ground: &Ground, name: &str) {
    let draft = ground.path(name);
    fs::create_dir_all(draft.join("documents")).unwrap();
    fs::write(draft.join("documents/0.json"), "{").unwrap();
    fs::write(draft.join("manifest.json"), "{").unwrap();
}

#[test]
fn the_drafts_of_killed_builds_are_removed() {
    let ground = Ground::with(&[("a.md", "one")]);
    leave(&ground, DRAFT);
    leave(&ground, ".cache.old-.cache.tmp-4242-00000000deadbeef");
    fs::create_dir(ground.path(".cache.tmp-1-0000000000000000")).unwrap();
    assert_eq!(refusal(ground.build()), "done");
    assert_eq!(ground.names(), ["cache", "sources"]);
}

#[test]
fn a_draft_that_somebody_still_writes_stays() {
    let ground = Ground::with(&[("a.md", "one")]);
    leave(&ground, DRAFT);
    let held = fs::File::open(ground.path(DRAFT)).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();
    assert_eq!(refusal(ground.build()), "done");
    assert_eq!(ground.names(), [DRAFT, "cache", "sources"]);
    drop(held);
    assert_eq!(refusal(ground.build_at("cache", true)), "done");
    assert_eq!(ground.names(), ["cache", "sources"]);
}

#[test]
fn what_only_looks_like_a_draft_stays() {
    let ground = Ground::with(&[("a.md", "one")]);
    let others = [
        ".cache.tmp-backup",
        ".cache.tmp-4242",
        ".cache.tmp-4242-short",
        ".cache.tmp-x-00000000deadbeef",
        ".cache.old-mine",
        ".other.tmp-4242-00000000deadbeef",
        "cache.tmp-4242-00000000deadbeef",
    ];
    for name in others {
        leave(&ground, name);
    }
    assert_eq!(refusal(ground.build()), "done");
    for name in others {
        assert!(ground.path(name).join("manifest.json").exists(), "{name}");
    }
}

#[test]
fn a_draft_with_something_of_somebodys_in_it_stays_in_part() {
    let ground = Ground::with(&[("a.md", "one")]);
    leave(&ground, DRAFT);
    fs::create_dir_all(ground.path(DRAFT).join("mine/deep")).unwrap();
    assert_eq!(refusal(ground.build()), "done");
    assert!(ground.path(DRAFT).join("mine/deep").exists());
}

#[test]
fn an_update_keeps_documents_for_the_next_and_a_build_removes_them() {
    let ground = Ground::sealed(&[("a.md", "one"), ("b.md", "two"), ("c.md", "two")]);
    let spare = ground.path(".cache.spare");
    let mut before = Vec::new();
    for turn in 0..3 {
        ground.put("a.md", format!("turn {turn}"));
        ground.update().unwrap();
        assert_eq!(ground.names(), [".cache.spare", "cache", "sources"]);
        let names = |folder: &std::path::Path| -> Vec<String> {
            let entries = fs::read_dir(folder).unwrap();
            let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
            let mut names: Vec<_> = entries
                .map(|entry| name(entry).into_string().unwrap())
                .collect();
            names.sort();
            names
        };
        assert_eq!(names(&spare), ["documents"]);
        // What is kept is the cache before, and nothing is read or written that did not change.
        if turn > 0 {
            assert_eq!(names(&spare.join("documents")), before);
        }
        before = names(&ground.cache().join("documents"));
        assert!(!ground.reader().unwrap().by_hashing());
    }
    ground.build_at("cache", true).unwrap();
    assert_eq!(ground.names(), ["cache", "sources"]);
}

#[test]
fn what_only_looks_like_the_documents_of_an_update_stays() {
    for file in ["documents/notes.txt", "documents/abc.json", "notes.txt"] {
        let ground = Ground::sealed(&[("a.md", "one")]);
        let mine = ground.path(".cache.spare").join(file);
        fs::create_dir_all(ground.path(".cache.spare/documents")).unwrap();
        fs::write(&mine, "mine").unwrap();
        ground.put("a.md", "two");
        ground.update().unwrap();
        ground.build_at("cache", true).unwrap();
        assert_eq!(fs::read(&mine).unwrap(), b"mine", "{file}");
    }
}
