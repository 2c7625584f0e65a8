//! What can be reached below a root, and what a path that cannot is called.

use crate::ground::{Ground, real, refusal};
use candor_context::{Location, Reader, list_caches};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

/// A root with a cache in it, beside a cache outside.
fn ground() -> (Ground, Location) {
    let ground = Ground::with(&[("a.md", "one")]);
    fs::create_dir(ground.path("root")).unwrap();
    ground.build_at("root/cache", false).unwrap();
    ground.build_at("outside", false).unwrap();
    let location = Location::below(&ground.path("root")).unwrap();
    (ground, location)
}

fn open(location: &Location, path: impl AsRef<Path>) -> String {
    refusal(Reader::open(location, path.as_ref(), &real))
}

#[test]
fn a_cache_is_found_by_name_by_path_and_by_links_that_stay_inside() {
    let (ground, location) = ground();
    let root = ground.path("root");
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
fn an_absolute_path_may_name_the_root_as_it_was_given_or_as_it_is() {
    let (ground, _) = ground();
    symlink("root", ground.path("alias")).unwrap();
    let location = Location::below(&ground.path("alias")).unwrap();
    assert_eq!(open(&location, ground.path("alias/cache")), "done");
    assert_eq!(open(&location, ground.path("root/cache")), "done");
}

#[test]
fn nothing_leads_out_of_the_root() {
    let (ground, location) = ground();
    let root = ground.path("root");
    let outside = ground.path("outside");
    symlink("../outside", root.join("link")).unwrap();
    symlink(&outside, root.join("absolute")).unwrap();
    symlink(root.join("cache"), root.join("roundabout")).unwrap();
    symlink("..", root.join("up")).unwrap();
    let beside = ground.path("root/../outside");
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
        // It would come back, but over the outside.
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
fn what_cannot_be_looked_up_is_missing() {
    let (ground, location) = ground();
    let root = ground.path("root");
    fs::write(root.join("file"), "").unwrap();
    symlink("loop", root.join("loop")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    let long = "x".repeat(300);
    let deep = "x/".repeat(3000);
    for (path, why) in [
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
            let told = open(location, &path);
            assert!(
                told.starts_with("cache_missing: there is no cache at `"),
                "{told}"
            );
            assert!(told.ends_with(&format!("`: {why}")), "{told}");
        }
    }
}

#[test]
fn a_name_that_is_not_utf8_is_looked_up_like_any_other() {
    let (_ground, location) = ground();
    let told = open(&location, Path::new(OsStr::from_bytes(b"\xff")));
    assert_eq!(
        told,
        "cache_missing: there is no cache at `\u{fffd}`: No such file or directory (os error 2)"
    );
}

#[test]
fn a_root_must_be_a_directory() {
    let (ground, _) = ground();
    fs::write(ground.path("file"), "").unwrap();
    for (root, why) in [
        (
            ground.path("nowhere"),
            "No such file or directory (os error 2)",
        ),
        (ground.path("file"), "Not a directory (os error 20)"),
    ] {
        let told = refusal(Location::below(&root));
        assert_eq!(
            told,
            format!(
                "cache_missing: there is no root at `{}`: {why}",
                root.display()
            )
        );
    }
}

#[test]
fn a_directory_without_a_manifest_is_no_missing_cache() {
    let (ground, location) = ground();
    fs::create_dir(ground.path("root/empty")).unwrap();
    for path in ["empty", "."] {
        assert_eq!(
            open(&location, path),
            "cache_invalid: the cache is invalid: manifest.json: missing (and 2 more problems)"
        );
    }
}

#[test]
fn caches_are_the_plain_directories_of_the_root() {
    let (ground, location) = ground();
    let root = ground.path("root");
    for folder in ["empty", "Z", "é", ".hidden", "empty/nested"] {
        fs::create_dir(root.join(folder)).unwrap();
    }
    fs::create_dir(root.join(OsStr::from_bytes(b"\xff"))).unwrap();
    fs::create_dir_all(root.join("odd/manifest.json")).unwrap();
    fs::write(root.join("file"), "").unwrap();
    symlink("cache", root.join("link")).unwrap();
    let told = list_caches(&location).unwrap();
    assert_eq!(
        serde_json::to_string(&told).unwrap(),
        r#"{"caches":[{"path":"Z","has_manifest":false},{"path":"cache","has_manifest":true},{"path":"empty","has_manifest":false},{"path":"odd","has_manifest":false},{"path":"é","has_manifest":false}]}"#
    );
    assert_eq!(
        refusal(list_caches(&Location::Anywhere)),
        "internal_error: a bug: caches are listed below a root"
    );
}
