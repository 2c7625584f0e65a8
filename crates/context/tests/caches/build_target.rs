//! Targets of builds: those that are replaced, and those that are refused.

use crate::fixture::{CacheFixture, outcome_of};
use std::fs;
use std::os::unix::fs::symlink;
use std::thread;

fn fixture() -> CacheFixture {
    CacheFixture::with(&[("a.md", "one")])
}

#[test]
fn existing_target_is_not_replaced_without_force() {
    let fixture = fixture();
    let path = fixture.cache().display().to_string();
    let exists = format!("io_error: `{path}` exists already");
    let no_directory = format!("io_error: `{path}` exists and is no directory");
    fs::write(fixture.cache(), "mine").unwrap();
    assert_eq!(outcome_of(fixture.build()), no_directory);
    assert_eq!(fs::read_to_string(fixture.cache()).unwrap(), "mine");
    fs::remove_file(fixture.cache()).unwrap();
    symlink("nowhere", fixture.cache()).unwrap();
    assert_eq!(outcome_of(fixture.build()), no_directory);
    fs::remove_file(fixture.cache()).unwrap();
    fs::create_dir(fixture.cache()).unwrap();
    assert_eq!(outcome_of(fixture.build()), exists);
    // Neither `--force` nor an update would help here.
    fs::write(fixture.cache().join("notes"), "mine").unwrap();
    assert_eq!(
        outcome_of(fixture.build()),
        format!(
            "io_error: `{path}` is not replaced: it holds `notes`, which is no file of a cache"
        )
    );
    fs::remove_dir_all(fixture.cache()).unwrap();
    assert_eq!(outcome_of(fixture.build()), "done");
    assert_eq!(outcome_of(fixture.build()), exists);
}

#[test]
fn force_replaces_broken_and_empty_caches() {
    let mut fixture = fixture();
    fixture.force = true;
    fs::create_dir(fixture.cache()).unwrap();
    assert_eq!(outcome_of(fixture.build()), "done");
    fs::write(fixture.cache().join("manifest.json"), "broken").unwrap();
    fs::write(fixture.cache().join("documents/stray.json"), "broken").unwrap();
    fs::remove_file(fixture.cache().join("accelerator.idx")).unwrap();
    assert_eq!(outcome_of(fixture.build()), "done");
    assert!(!fixture.reader().unwrap().was_hashed());
    assert_eq!(fixture.names(), ["cache", "sources"]);
}

#[test]
fn force_does_not_replace_foreign_files() {
    let mut fixture = fixture();
    fixture.force = true;
    let path = fixture.cache().display().to_string();
    for (name, folder) in [
        ("notes.txt", false),
        (".git", true),
        ("documents/notes.txt", false),
        ("documents/folder.json", true),
        ("manifest.json.bak", false),
        ("manifest.json", true),
    ] {
        fs::create_dir_all(fixture.cache().join("documents")).unwrap();
        let position = fixture.cache().join(name);
        match folder {
            true => fs::create_dir(&position).unwrap(),
            false => fs::write(&position, "mine").unwrap(),
        }
        assert_eq!(
            outcome_of(fixture.build()),
            format!(
                "io_error: `{path}` is not replaced: it holds `{name}`, which is no file of a cache"
            )
        );
        assert!(position.exists());
        fs::remove_dir_all(fixture.cache()).unwrap();
    }
    fs::create_dir(fixture.cache()).unwrap();
    symlink("/etc", fixture.cache().join("documents")).unwrap();
    assert_eq!(
        outcome_of(fixture.build()),
        format!(
            "io_error: `{path}` is not replaced: it holds `documents`, which is no file of a cache"
        )
    );
}

#[test]
fn force_does_not_follow_links() {
    let mut fixture = fixture();
    fixture.force = true;
    let path = fixture.cache().display().to_string();
    fixture.build_at("real", false).unwrap();
    symlink("real", fixture.cache()).unwrap();
    assert_eq!(
        outcome_of(fixture.build()),
        format!("io_error: `{path}` exists and is no directory")
    );
    assert_eq!(fixture.names(), ["cache", "real", "sources"]);
}

#[test]
fn path_without_a_file_name_is_refused() {
    let fixture = fixture();
    for path in ["..", "/", "cache/.."] {
        let message = outcome_of(fixture.build_at(path, false));
        assert!(
            message.starts_with("io_error: `")
                && message.ends_with("` names no directory to create"),
            "{message}"
        );
    }
}

#[test]
fn missing_parent_is_an_io_error() {
    let fixture = fixture();
    let parent = fixture.path("nowhere").display().to_string();
    assert_eq!(
        outcome_of(fixture.build_at("nowhere/cache", false)),
        format!("io_error: there is no directory `{parent}`")
    );
    assert_eq!(fixture.names(), ["sources"]);
}

/// Returns the sorted outcomes of concurrent builds, which use the same random number.
fn build_concurrently(fixture: &CacheFixture, force: bool) -> Vec<String> {
    let build = || outcome_of(fixture.build_at("cache", force));
    let mut message: Vec<_> = thread::scope(|scope| {
        let builds: Vec<_> = (0..4).map(|_| scope.spawn(build)).collect();
        builds.into_iter().map(|one| one.join().unwrap()).collect()
    });
    message.sort();
    message
}

#[test]
fn only_one_of_concurrent_builds_succeeds() {
    let fixture = fixture();
    let exists = format!("io_error: `{}` exists already", fixture.cache().display());
    for _ in 0..10 {
        let message = build_concurrently(&fixture, false);
        assert_eq!(message, ["done", &exists, &exists, &exists]);
        assert_eq!(fixture.names(), ["cache", "sources"]);
        fs::remove_dir_all(fixture.cache()).unwrap();
    }
}

#[test]
fn concurrent_forced_builds_leave_one_complete_cache() {
    let fixture = fixture();
    for _ in 0..10 {
        assert_eq!(build_concurrently(&fixture, true), ["done"; 4]);
        assert!(!fixture.reader().unwrap().was_hashed());
    }
    fixture.build_at("cache", true).unwrap();
    assert_eq!(fixture.names(), ["cache", "sources"]);
}
