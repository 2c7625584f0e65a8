//! Paths below a root, and the failures of other paths.

use crate::fixture::{CacheFixture, outcome_of, real};
use candor_context::{Location, Reader, list_caches};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Returns a root that contains a cache, beside a cache outside.
fn fixture() -> (CacheFixture, Location) {
    let fixture = CacheFixture::with(&[("a.md", "one")]);
    fs::create_dir(fixture.path("root")).unwrap();
    fixture.build_at("root/cache", false).unwrap();
    fixture.build_at("outside", false).unwrap();
    let location = Location::below(&fixture.path("root")).unwrap();
    (fixture, location)
}

fn open(location: &Location, path: impl AsRef<Path>) -> String {
    outcome_of(Reader::open(location, path.as_ref(), &real))
}

#[test]
fn cache_is_found_by_name_path_and_inner_link() {
    let (fixture, location) = fixture();
    let root = fixture.path("root");
    fs::create_dir(root.join("folder")).unwrap();
    symlink("cache", root.join("link")).unwrap();
    symlink("../cache", root.join("folder/link")).unwrap();
    symlink("link", root.join("second")).unwrap();
    for path in [
        "cache",
        "./cache",
        "cache/",
        "cache/.",
        "folder/../cache",
        "link",
        "folder/link",
        "second",
        "link/../cache",
    ] {
        assert_eq!(open(&location, path), "done", "{path}");
    }
    assert_eq!(open(&location, root.join("cache")), "done");
    assert_eq!(open(&location, root.join("./folder/../cache")), "done");
}

#[test]
fn absolute_path_may_use_either_name_of_the_root() {
    let (fixture, _) = fixture();
    symlink("root", fixture.path("alias")).unwrap();
    let location = Location::below(&fixture.path("alias")).unwrap();
    assert_eq!(open(&location, fixture.path("alias/cache")), "done");
    assert_eq!(open(&location, fixture.path("root/cache")), "done");
}

#[test]
fn path_outside_the_root_is_refused() {
    let (fixture, location) = fixture();
    let root = fixture.path("root");
    let outside = fixture.path("outside");
    symlink("../outside", root.join("link")).unwrap();
    symlink(&outside, root.join("absolute")).unwrap();
    symlink(root.join("cache"), root.join("roundabout")).unwrap();
    symlink("..", root.join("up")).unwrap();
    let beside = fixture.path("root/../outside");
    let prefix = format!("{}side", root.display());
    for path in [
        "..",
        "../outside",
        "../root/cache",
        "cache/../../outside",
        "/",
        "/etc",
        "link",
        "absolute",
        // It leads back, but through the outside.
        "roundabout",
        "up/outside",
        outside.to_str().unwrap(),
        beside.to_str().unwrap(),
        &prefix,
    ] {
        let out = format!("cache_missing: `{path}` leads out of the root");
        assert_eq!(open(&location, path), out);
    }
}

#[test]
fn path_that_cannot_be_resolved_is_cache_missing() {
    let (fixture, location) = fixture();
    let root = fixture.path("root");
    fs::write(root.join("file"), "").unwrap();
    symlink("loop", root.join("loop")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    let long = "x".repeat(300);
    let deep = "x/".repeat(3000);
    for (path, reason) in [
        ("", "No such file or directory (os error 2)"),
        ("nowhere", "No such file or directory (os error 2)"),
        ("nowhere/cache", "No such file or directory (os error 2)"),
        ("dangling", "No such file or directory (os error 2)"),
        ("file", "Not a directory (os error 20)"),
        ("file/cache", "Not a directory (os error 20)"),
        ("cache/manifest.json", "Not a directory (os error 20)"),
        ("loop", "Too many levels of symbolic links (os error 40)"),
        ("a\0b", "Invalid argument (os error 22)"),
        (&long, "File name too long (os error 36)"),
        (&deep, "File name too long (os error 36)"),
    ] {
        for location in [&location, &Location::Anywhere] {
            let path = match location {
                Location::Anywhere if !path.is_empty() => root.join(path),
                _ => Path::new(path).to_owned(),
            };
            let message = open(location, &path);
            assert!(
                message.starts_with("cache_missing: there is no cache at `"),
                "{message}"
            );
            assert!(message.ends_with(&format!("`: {reason}")), "{message}");
        }
    }
}

#[test]
fn path_that_is_not_utf8_is_cache_missing() {
    let (_ground, location) = fixture();
    let message = open(&location, Path::new(OsStr::from_bytes(b"\xff")));
    assert_eq!(
        message,
        "cache_missing: there is no cache at `\u{fffd}`: No such file or directory (os error 2)"
    );
}

#[test]
fn root_that_is_not_a_directory_is_refused() {
    let (fixture, _) = fixture();
    fs::write(fixture.path("file"), "").unwrap();
    for (root, reason) in [
        (
            fixture.path("nowhere"),
            "No such file or directory (os error 2)",
        ),
        (fixture.path("file"), "Not a directory (os error 20)"),
    ] {
        let message = outcome_of(Location::below(&root));
        assert_eq!(
            message,
            format!(
                "cache_missing: there is no root at `{}`: {reason}",
                root.display()
            )
        );
    }
}

#[test]
fn directory_without_a_manifest_is_an_invalid_cache() {
    let (fixture, location) = fixture();
    fs::create_dir(fixture.path("root/empty")).unwrap();
    for path in ["empty", "."] {
        assert_eq!(
            open(&location, path),
            "cache_invalid: the cache is invalid: manifest.json: missing (and 2 more problems)"
        );
    }
}

#[test]
fn visible_directories_of_the_root_are_listed() {
    let (fixture, location) = fixture();
    let root = fixture.path("root");
    for folder in ["empty", "Z", "é", ".hidden", "empty/nested"] {
        fs::create_dir(root.join(folder)).unwrap();
    }
    fs::create_dir(root.join(OsStr::from_bytes(b"\xff"))).unwrap();
    fs::create_dir_all(root.join("odd/manifest.json")).unwrap();
    fs::write(root.join("file"), "").unwrap();
    symlink("cache", root.join("link")).unwrap();
    let message = list_caches(&location).unwrap();
    assert_eq!(
        serde_json::to_string(&message).unwrap(),
        r#"{"caches":[{"path":"Z","has_manifest":false},{"path":"cache","has_manifest":true},{"path":"empty","has_manifest":false},{"path":"odd","has_manifest":false},{"path":"é","has_manifest":false}]}"#
    );
    assert_eq!(
        outcome_of(list_caches(&Location::Anywhere)),
        "internal_error: a bug: caches are listed below a root"
    );
}
