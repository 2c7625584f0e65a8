//! Drafts of killed builds are removed by the next build. Drafts in use and other directories stay.

use crate::fixture::{CacheFixture, outcome_of};
use rustix::fs::{FlockOperation, flock};
use std::fs;

const DRAFT: &str = ".cache.tmp-4242-00000000deadbeef";

/// Creates a draft like the one of a killed build.
fn leave(fixture: &CacheFixture, name: &str) {
    let draft = fixture.path(name);
    fs::create_dir_all(draft.join("documents")).unwrap();
    fs::write(draft.join("documents/0.json"), "{").unwrap();
    fs::write(draft.join("manifest.json"), "{").unwrap();
}

#[test]
fn drafts_of_killed_builds_are_removed() {
    let fixture = CacheFixture::with(&[("a.md", "one")]);
    leave(&fixture, DRAFT);
    leave(&fixture, ".cache.old-.cache.tmp-4242-00000000deadbeef");
    fs::create_dir(fixture.path(".cache.tmp-1-0000000000000000")).unwrap();
    assert_eq!(outcome_of(fixture.build()), "done");
    assert_eq!(fixture.names(), ["cache", "sources"]);
}

#[test]
fn locked_draft_stays() {
    let fixture = CacheFixture::with(&[("a.md", "one")]);
    leave(&fixture, DRAFT);
    let held = fs::File::open(fixture.path(DRAFT)).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();
    assert_eq!(outcome_of(fixture.build()), "done");
    assert_eq!(fixture.names(), [DRAFT, "cache", "sources"]);
    drop(held);
    assert_eq!(outcome_of(fixture.build_at("cache", true)), "done");
    assert_eq!(fixture.names(), ["cache", "sources"]);
}

#[test]
fn directory_resembling_a_draft_stays() {
    let fixture = CacheFixture::with(&[("a.md", "one")]);
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
        leave(&fixture, name);
    }
    assert_eq!(outcome_of(fixture.build()), "done");
    for name in others {
        assert!(fixture.path(name).join("manifest.json").exists(), "{name}");
    }
}

#[test]
fn foreign_files_in_a_draft_stay() {
    let fixture = CacheFixture::with(&[("a.md", "one")]);
    leave(&fixture, DRAFT);
    fs::create_dir_all(fixture.path(DRAFT).join("mine/deep")).unwrap();
    assert_eq!(outcome_of(fixture.build()), "done");
    assert!(fixture.path(DRAFT).join("mine/deep").exists());
}

#[test]
fn update_leaves_a_spare_and_build_removes_it() {
    let fixture = CacheFixture::sealed(&[("a.md", "one"), ("b.md", "two"), ("c.md", "two")]);
    let spare = fixture.path(".cache.spare");
    let mut before = Vec::new();
    for turn in 0..3 {
        fixture.put("a.md", format!("turn {turn}"));
        fixture.update().unwrap();
        assert_eq!(fixture.names(), [".cache.spare", "cache", "sources"]);
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
        // The spare is the previous cache.
        if turn > 0 {
            assert_eq!(names(&spare.join("documents")), before);
        }
        before = names(&fixture.cache().join("documents"));
        assert!(!fixture.reader().unwrap().was_hashed());
    }
    fixture.build_at("cache", true).unwrap();
    assert_eq!(fixture.names(), ["cache", "sources"]);
}

#[test]
fn directory_resembling_a_spare_stays() {
    for file in ["documents/notes.txt", "documents/abc.json", "notes.txt"] {
        let fixture = CacheFixture::sealed(&[("a.md", "one")]);
        let mine = fixture.path(".cache.spare").join(file);
        fs::create_dir_all(fixture.path(".cache.spare/documents")).unwrap();
        fs::write(&mine, "mine").unwrap();
        fixture.put("a.md", "two");
        fixture.update().unwrap();
        fixture.build_at("cache", true).unwrap();
        assert_eq!(fs::read(&mine).unwrap(), b"mine", "{file}");
    }
}
