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
