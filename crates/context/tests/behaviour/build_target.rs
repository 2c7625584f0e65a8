//! What a build may replace, and what it must leave alone.

use crate::ground::{Ground, refusal};
use std::fs;
use std::os::unix::fs::symlink;
use std::thread;

fn ground() -> Ground {
    Ground::with(&[("a.md", "one")])
}

#[test]
fn what_exists_is_not_replaced_unasked() {
    let ground = ground();
    let path = ground.cache().display().to_string();
    let exists = format!("io_error: `{path}` exists already");
    fs::write(ground.cache(), "mine").unwrap();
    assert_eq!(refusal(ground.build()), exists);
    assert_eq!(fs::read_to_string(ground.cache()).unwrap(), "mine");
    fs::remove_file(ground.cache()).unwrap();
    symlink("nowhere", ground.cache()).unwrap();
    assert_eq!(refusal(ground.build()), exists);
    fs::remove_file(ground.cache()).unwrap();
    fs::create_dir(ground.cache()).unwrap();
    assert_eq!(refusal(ground.build()), exists);
    fs::remove_dir(ground.cache()).unwrap();
    assert_eq!(refusal(ground.build()), "done");
    assert_eq!(refusal(ground.build()), exists);
}

#[test]
fn force_replaces_a_cache_even_a_broken_or_an_empty_one() {
    let mut ground = ground();
    ground.force = true;
    fs::create_dir(ground.cache()).unwrap();
    assert_eq!(refusal(ground.build()), "done");
    fs::write(ground.cache().join("manifest.json"), "broken").unwrap();
    fs::write(ground.cache().join("documents/stray.json"), "broken").unwrap();
    fs::remove_file(ground.cache().join("accelerator.idx")).unwrap();
    assert_eq!(refusal(ground.build()), "done");
    assert!(!ground.reader().unwrap().by_hashing());
    assert_eq!(ground.names(), ["cache", "sources"]);
}

#[test]
fn force_replaces_nothing_that_is_more_than_a_cache() {
    let mut ground = ground();
    ground.force = true;
    let path = ground.cache().display().to_string();
    for (name, folder) in [
        ("notes.txt", false),
        (".git", true),
        ("documents/notes.txt", false),
        ("documents/folder.json", true),
        ("manifest.json.bak", false),
        ("manifest.json", true),
    ] {
        fs::create_dir_all(ground.cache().join("documents")).unwrap();
        let place = ground.cache().join(name);
        match folder {
            true => fs::create_dir(&place).unwrap(),
            false => fs::write(&place, "mine").unwrap(),
        }
        assert_eq!(
            refusal(ground.build()),
            format!(
                "io_error: `{path}` is not replaced: it holds `{name}`, which is no file of a cache"
            )
        );
        assert!(place.exists());
        fs::remove_dir_all(ground.cache()).unwrap();
    }
    fs::create_dir(ground.cache()).unwrap();
    symlink("/etc", ground.cache().join("documents")).unwrap();
    assert_eq!(
        refusal(ground.build()),
        format!(
            "io_error: `{path}` is not replaced: it holds `documents`, which is no file of a cache"
        )
    );
}

#[test]
fn force_follows_no_link() {
    let mut ground = ground();
    ground.force = true;
    let path = ground.cache().display().to_string();
    ground.build_at("real", false).unwrap();
    symlink("real", ground.cache()).unwrap();
    assert_eq!(
        refusal(ground.build()),
        format!("io_error: `{path}` exists and is no directory")
    );
    assert_eq!(ground.names(), ["cache", "real", "sources"]);
}

#[test]
fn a_path_without_a_last_name_is_refused() {
    let ground = ground();
    for path in ["..", "/", "cache/.."] {
        let told = refusal(ground.build_at(path, false));
        assert!(
            told.starts_with("io_error: `") && told.ends_with("` names no directory to create"),
            "{told}"
        );
    }
}

#[test]
fn a_parent_that_is_missing_is_a_matter_of_the_system() {
    let ground = ground();
    let parent = ground.path("nowhere").display().to_string();
    assert_eq!(
        refusal(ground.build_at("nowhere/cache", false)),
        format!("io_error: cannot write to `{parent}`: No such file or directory (os error 2)")
    );
    assert_eq!(ground.names(), ["sources"]);
}

/// What several builds say that run at once, sorted. They draw the same random number.
fn at_once(ground: &Ground, force: bool) -> Vec<String> {
    let build = || refusal(ground.build_at("cache", force));
    let mut told: Vec<_> = thread::scope(|scope| {
        let builds: Vec<_> = (0..4).map(|_| scope.spawn(build)).collect();
        builds.into_iter().map(|one| one.join().unwrap()).collect()
    });
    told.sort();
    told
}

#[test]
fn of_several_builds_at_once_one_makes_the_cache() {
    let ground = ground();
    let exists = format!("io_error: `{}` exists already", ground.cache().display());
    for _ in 0..10 {
        let told = at_once(&ground, false);
        assert_eq!(told, ["done", &exists, &exists, &exists]);
        assert_eq!(ground.names(), ["cache", "sources"]);
        fs::remove_dir_all(ground.cache()).unwrap();
    }
}

#[test]
fn several_forced_builds_at_once_leave_one_whole_cache() {
    let ground = ground();
    for _ in 0..10 {
        assert_eq!(at_once(&ground, true), ["done"; 4]);
        assert!(!ground.reader().unwrap().by_hashing());
    }
    ground.build_at("cache", true).unwrap();
    assert_eq!(ground.names(), ["cache", "sources"]);
}
